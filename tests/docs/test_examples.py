"""Every example in the docs runs, every name they mention exists, every link leads somewhere."""

import contextlib
import doctest
import importlib
import io
import math
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import oeuvre
from oeuvre.experiments import coverage, datasets, monitored, paper, tasks

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
MODULES = [
    name
    for _, name, _ in pkgutil.walk_packages(oeuvre.__path__, "oeuvre.")
    if not name.startswith("oeuvre._kernels.")
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_of_a_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S):
        with contextlib.redirect_stdout(io.StringIO()):
            exec(block, names)  # noqa: S102
    for block in re.findall(r"^```pycon\n(.*?)^```", page.read_text(), re.M | re.S):
        test = doctest.DocTestParser().get_doctest(block, names, page.name, str(page), 0)
        report = io.StringIO()
        runner = doctest.DocTestRunner()
        runner.run(test, out=report.write, clear_globs=False)
        names = test.globs
        assert runner.failures == 0, report.getvalue()


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name))
    assert results.failed == 0


def test_the_estimators_have_examples() -> None:
    finder = doctest.DocTestFinder()
    for kind in oeuvre.estimators.KINDS.values():
        assert any(test.examples for test in finder.find(kind, kind.__name__)), kind


def test_the_readme_prints_what_it_should() -> None:
    block = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)[1]
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(block, {})  # noqa: S102
    estimate, truth, lower, upper = map(float, re.findall(r"\d+\.\d+", said.getvalue()))
    assert estimate == pytest.approx(truth, rel=0.15)
    assert lower < truth < upper


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        assert target.startswith(("https://", "http://")) or (page.parent / target).exists(), target


@pytest.mark.parametrize(
    ("page", "least"), [("paper.md", 30), ("beyond.md", 15), ("confidence.md", 10)]
)
def test_names_on_the_pages_about_the_theory_exist(page: str, least: int) -> None:
    text = (ROOT / "docs" / page).read_text()
    found = re.findall(r"`([a-z_/]+\.py)::(\w+)`", text)
    assert len(found) > least
    for path, name in found:
        under = ROOT / ("tests" if "test_" in path else "src/oeuvre") / path
        assert re.search(rf"(def|class) {name}\b", under.read_text()), f"{path}::{name}"


def test_every_target_the_pages_name_is_in_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z/.-]+):", (ROOT / "Makefile").read_text(), re.M))
    named = set()
    for page in PAGES:
        named |= set(re.findall(r"(?:`|^    )make ([a-z/.-]+)", page.read_text(), re.M))
    assert {"demo", "test"} <= named <= targets


def test_numbers_of_the_readme_are_those_the_demo_prints(tmp_path: Path) -> None:
    """Run the demo as a user does and find its table in the README."""
    command = [str(Path(sys.executable).with_name("oeuvre")), "demo"]
    done = subprocess.run(
        [*command, "--out", "made/demo.png"],
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=True,
    )
    rows = re.findall(r"│ ([\w ]+?) +│ +\S+ │ +(\d\.\d+) │ +(\d\.\d+) │", done.stdout)
    assert len(rows) == 4
    readme = (ROOT / "README.md").read_text()
    for name, error, later in rows:
        assert f"| {name} | {error} | {later} |" in readme
    assert (tmp_path / "made" / "demo.png").read_bytes().startswith(b"\x89PNG")


def test_monitors_on_real_data_are_as_the_page_says() -> None:
    """Run what takes a moment again; MNIST is held to what the page claims for it."""
    page = (ROOT / "docs" / "monitor.md").read_text()
    runs = [run() for run in monitored.RUNS[:4]]
    for _, *rows in monitored.rows(runs), monitored.quality_rows():
        for row in rows[0]:
            assert f"\n| {' | '.join(row)} |\n" in page
    number = r"(-?\d+\.\d+)"
    judged = re.findall(
        rf"\| {number} \| {number} \| {number} to {number} \| {number} \| {number} ± {number} \|",
        page,
    )
    assert len(judged) == 5  # TrumpApproval has nothing to be judged by
    for row in judged:
        running, now, lower, upper, blended, aside, error = map(float, row)
        assert abs(now - aside) < abs(running - aside)
        assert abs(blended - aside) < abs(running - aside)
        assert lower - 2 * error < aside < upper + 2 * error


def test_the_results_are_those_of_a_whole_run() -> None:
    """The page is written by `make paper`, and a short run must not take its place."""
    page = (ROOT / "docs" / "results.md").read_text()
    assert "`make paper` wrote this page, from 10 seeds" in page
    verdicts = re.findall(r"\*\*(holds|holds in part|does not hold here)\*\*", page)
    again = sum(claim.groups == ("drift",) for claim in paper.CLAIMS)  # on standardised data
    assert len(verdicts) == len(paper.CLAIMS) + again
    for claim in paper.CLAIMS:
        assert f"| {claim.says} |" in page
    for task in tasks.choose((*tasks.PAPER, *tasks.BEYOND)):
        assert f"| {task.name} |" in page


def test_numbers_of_the_readme_are_those_of_the_results() -> None:
    readme, page = ((ROOT / name).read_text() for name in ("README.md", "docs/results.md"))
    rows = re.findall(
        r"^\| [A-Z][\w, ()]+ \| \w+ \| \d+ \|(?: [\d.]+ \([\d.]+\) \|){4}$", readme, re.M
    )
    assert len(rows) == 10
    for row in rows:
        assert f"\n{row}\n" in page


def test_what_the_page_of_results_must_show_of_what_goes_beyond() -> None:
    """The README says that nothing needs tuning: no group may say otherwise."""
    page = (ROOT / "docs" / "results.md").read_text()
    rows = re.findall(
        r"^\| ([A-Z][\w, ()]+) \| (\w+) \| \d+ \|" + r" ([\d.]+) \(([\d.]+)\) \|" * 4 + "$",
        page,
        re.M,
    )
    found = {(row[0], row[1]): [float(number) for number in row[2:]] for row in rows}
    stationary = [("Linear regression", 12), ("Expert advice", 8), ("Logistic regression", 1)]
    for place, mean, worst in ((2, 0.66, 0.95), (4, 0.62, 0.95), (6, 0.62, 0.96)):
        logs = [n * math.log(found[name, "paper"][place]) for name, n in stationary]
        assert math.exp(sum(logs) / 21) <= mean
        assert max(found[name, "paper"][place + 1] for name, _ in stationary) <= worst
    for name, mean, worst in (
        ("Drifting data", 1.0, 1.03),
        ("Drifting data, standardised", 1.05, 1.1),
        ("Shifting targets (ours)", 1.1, 1.2),
        ("Fast learners (ours)", 0.9, 1.1),
        ("Other learners (ours)", 1.1, 1.4),
    ):
        *_, ensemble, its_worst = found[name, "paper"]
        assert ensemble <= mean
        assert its_worst <= worst
    share = re.search(r"^\| all \| 378 \| (\d+)% \|", page, re.M)
    assert share is not None
    assert int(share[1]) >= 90


def test_what_the_study_of_coverage_must_show() -> None:
    """The README says that intervals hold: the page that `make coverage` writes must say so too."""
    page = (ROOT / "docs" / "confidence.md").read_text()
    written = page.partition("<!-- written by make coverage -->")[2]
    share, other = r" ([\d.]+) ± ([\d.]+) \|", r" [\d.]+ \|"
    rows = re.findall(r"^\| ([a-z][\w.-]+) \|" + 4 * share + 4 * other + "$", written, re.M)
    assert [row[0] for row in rows] == [task.name for task in coverage.board_tasks()]
    for name, *cells in rows:
        held, errors = [float(x) for x in cells[::2]], [float(x) for x in cells[1::2]]
        for place in (0, 1):  # OEUVRE and Adaptive; networks a little too often
            assert 0.93 <= held[place] <= (0.99 if name.startswith("neural") else 0.97)
            assert errors[place] < 0.01
        assert held[2] >= 0.93  # Ensemble
    kinds = re.findall(
        r"^\| [\w, ]+ \| ([\w, ]+) \| \w+ steps? \| ([\d.]+) ± ([\d.]+) \|(.*)\|$", written, re.M
    )
    assert len(kinds) == len(coverage.BOUNDED) * len(coverage.KINDS)
    assert f"{coverage.FULL['paths']:,} paths" in written
    tight: list[float] = []
    for kind, missed, error, widths in kinds:
        if kind not in ("normal", "conservative"):
            assert float(missed) <= 0.05 + 2 * float(error)
        halves = [float(each) for each in widths.split("|")]  # at 300, 1,000, 2,000; of Hoeffding's
        tight = halves if kind == "hoeffding" else tight
        if kind == "bernstein":
            assert halves[-1] <= 0.5
            assert halves[1] <= 0.5 * tight[1]


def test_every_data_set_is_on_the_page_about_the_reproduction() -> None:
    page = (ROOT / "docs" / "reproduce.md").read_text()
    for key, dataset in datasets.DATASETS.items():
        assert f"| `{key}` |" in page
        assert f"]({dataset.home})" in page
        for source in dataset.files:
            assert f"`{source.name}`" in page
    for word in tasks.GROUPS:
        assert f"| `{word}` |" in page


def test_every_estimator_is_in_the_reference() -> None:
    reference = (ROOT / "docs" / "api.md").read_text()
    for name in oeuvre.estimators.KINDS:
        assert f"::: oeuvre.{name}\n" in reference


def test_the_site_builds(tmp_path: Path) -> None:
    tool = shutil.which("mkdocs", path=str(Path(sys.executable).parent))
    assert tool is not None
    done = subprocess.run(
        [tool, "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "for_learner" in (tmp_path / "site" / "api" / "index.html").read_text()
