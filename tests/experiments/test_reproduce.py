"""`oeuvre reproduce`, through its installed entry point."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from oeuvre.cli import Group
from oeuvre.errors import InvalidParameter
from oeuvre.experiments import reproduce
from oeuvre.experiments.tasks import GROUPS
from tests.experiments.data import files, write_emnist
from tests.unit.test_cli import COMMAND, run

NOWHERE = {"HTTP_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9"}


@pytest.fixture(scope="module")
def experts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """An uninterrupted run: the eight expert tasks with one seed each."""
    folder = tmp_path_factory.mktemp("run")
    done = run("reproduce", "experts", "--seeds", "1", "--out", "whole", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "whole", done.stdout


def test_what_a_run_leaves(experts: tuple[Path, str]) -> None:
    folder, said = experts
    assert re.search(r"│ Expert advice +│ paper │ +8 │( +\d\.\d\d \(\d\.\d\d\) │){4}", said)
    assert re.search(r"\d+ of \d+ claims: holds\n", said)
    assert "results.md" in said
    page = (folder / "results.md").read_text()
    assert "A partial run (experts; seeds: 1): verdicts can differ" in page
    for name in ("experts", "experts-all"):
        assert (folder / "results" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in (folder / "results" / f"{name}.svg").read_bytes()[:2000]
        assert f"](results/{name}.png)" in page
    assert (folder / "board.csv").read_text().startswith("group,task,truth,family,setting")
    assert len(list((folder / "cells").rglob("*.parquet"))) == 8 * 10


def test_a_killed_run_goes_on_and_ends_with_the_same_files(experts: tuple[Path, str]) -> None:
    whole, _ = experts
    folder = whole.with_name("killed")
    arguments = ["reproduce", "experts", "--seeds", "1", "--out", str(folder)]
    with subprocess.Popen(
        [COMMAND, *arguments],
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        while len(list(folder.rglob("*.parquet"))) < 10:
            assert process.poll() is None
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    left = {name for name in files(folder) if name.endswith(".parquet")}
    assert 10 <= len(left) < 8 * 10
    assert not (folder / "results.md").exists()
    done = run(*arguments, cwd=whole.parent)
    assert done.returncode == 0, done.stderr
    found = {name: data for name, data in files(folder).items() if "/." not in name}
    assert found == files(whole)


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_stopped_by_hand(tmp_path: Path, stop: signal.Signals) -> None:
    with subprocess.Popen(
        [COMMAND, "reproduce", "experts", "--seeds", "1", "--jobs", "1", "--out", "x"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        while not list(tmp_path.rglob("*.parquet")):
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(stop)
        said, _ = process.communicate()
    assert process.returncode == 130
    assert "Stopped. The same command goes on from here." in said
    assert "Traceback" not in said


def test_a_folder_that_cannot_be_written_to(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "cells").write_text("in the way")
    done = run("reproduce", "experts", "--out", "x", cwd=tmp_path)
    assert done.returncode == 1
    assert re.fullmatch(r"oeuvre: .*cells.*\n", done.stderr)


def test_no_data_and_no_network(tmp_path: Path) -> None:
    empty = {"OEUVRE_DATA": "", "XDG_CACHE_HOME": str(tmp_path / "cache"), **NOWHERE}
    done = run("reproduce", "drift", cwd=tmp_path, **empty)
    assert done.returncode == 1
    assert "UCI Bike Sharing is not at hand, and could not be fetched" in done.stderr
    assert "Also missing: Toulouse Bikes, Chick Weights, Wine Quality." in done.stderr
    assert f"Searched: {tmp_path / 'cache' / 'oeuvre'}" in done.stderr
    assert "(hour.csv.gz) into a folder named 'bike_sharing_uci'" in done.stderr
    assert "OEUVRE_DATA" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.rglob("*.parquet"))


def test_the_wrong_data(tmp_path: Path) -> None:
    for name in ("bike_sharing_uci", "chick_weights"):
        (tmp_path / name).mkdir()
    (tmp_path / "bike_sharing_uci" / "hour.csv.gz").write_bytes(b"not gzip")
    done = run("reproduce", "drift", cwd=tmp_path, OEUVRE_DATA=str(tmp_path))
    assert done.returncode == 1
    assert re.fullmatch(
        r"oeuvre: .*hour.csv.gz is not a whole gzip file.*\nAlso missing: .*\n", done.stderr
    )


@pytest.mark.parametrize(
    "arguments", [("nothing",), ("linear", "--seeds", "0"), ("linear", "--jobs", "0")]
)
def test_a_bad_argument_is_refused(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = run("reproduce", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_emnist_when_its_files_are_there(tmp_path: Path) -> None:
    write_emnist(tmp_path, train=1400, test=64)
    done = run(
        *("reproduce", "emnist", "--quick", "--seeds", "1", "--out", "e"),
        cwd=tmp_path,
        OEUVRE_DATA=str(tmp_path),
    )
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "e" / "results.md").read_text()
    assert "| neural-emnist-8-epochs1, sharp truth |" in page
    assert "on both image sets" not in page
    assert "fewer epochs" in page
    assert "ADWIN has a lower RMSE" not in page  # that is about MNIST


def test_the_words_of_the_command_line_are_the_groups() -> None:
    assert [group.value for group in Group] == list(GROUPS)


def test_unknown_groups_are_refused_in_python_too(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="The 'groups' parameter of reproduce"):
        reproduce.prepare(["linnear"], tmp_path)
    with pytest.raises(InvalidParameter, match="The 'seeds' parameter of Sweep"):
        reproduce.prepare(["linear"], tmp_path, seeds=0)


@pytest.mark.parametrize("gone", ["polars", "torch"])
def test_a_missing_extra_is_one_line(tmp_path: Path, gone: str) -> None:
    hook = tmp_path / "sitecustomize.py"
    hook.write_text(
        "import sys\n"
        "class Gone:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.split('.')[0] == {gone!r}:\n"
        f"            raise ModuleNotFoundError('gone', name={gone!r})\n"
        "sys.meta_path.insert(0, Gone())\n"
    )
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    done = run("reproduce", "emnist", "--out", "x", cwd=tmp_path, PYTHONPATH=path)
    assert done.returncode == 1
    assert "pip install 'oeuvre[paper]'" in done.stderr
    assert "Traceback" not in done.stderr
