"""The study of intervals: its learners, what it counts, and what it writes."""

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from oeuvre import Oeuvre, cli
from oeuvre.errors import DataError
from oeuvre.experiments import confidence, coverage, datasets
from oeuvre.experiments.coverage import BOUNDED, KINDS, STEPS, Coverage, Part, kinds_of, watch
from oeuvre.experiments.tasks import LinearRegression, LogisticRegression, NeuralNetwork, Stream
from oeuvre.experiments.tasks.bounded import BoundedMean, HedgeChange, mean_change
from oeuvre.experiments.tasks.gradient import before
from oeuvre.report import pages
from tests.experiments.data import DIABETES, csv, publish, write_emnist


def test_the_bounded_mean_by_hand() -> None:
    stream = BoundedMean(steps=6).stream(3)
    z = np.random.default_rng(3).random(6)
    model = last = 0.5
    for t in range(1, 7):
        if t > 1:
            last, model = model, float(np.mean(z[: t - 1]))
        assert stream.loss[t - 1] == pytest.approx((z[t - 1] - model) ** 2)
        assert stream.previous[t - 1] == pytest.approx((z[t - 1] - last) ** 2)
        fine = (np.arange(100_000) + 0.5) / 100_000
        assert stream.truth[t - 1] == pytest.approx(np.mean((fine - model) ** 2), rel=1e-6)


@pytest.mark.parametrize("draw", ["coins", "jump"])
def test_no_mean_changes_its_loss_by_more_than_is_said(draw: str) -> None:
    rng = np.random.default_rng(0)
    points = np.linspace(0.0, 1.0, 101)
    tightest = 0.0
    for _ in range(50):
        z = rng.integers(2, size=30).astype(float) if draw == "coins" else np.r_[0.0, np.ones(29)]
        means = np.concatenate(([0.5], np.cumsum(z[:-1]) / np.arange(1, 30)))
        for t in range(2, 31):
            now, last = means[t - 1], means[t - 2]
            change = np.abs((points - now) ** 2 - (points - last) ** 2).max()
            assert change <= BoundedMean.c * mean_change(t) + 1e-12
            tightest = max(tightest, change / (BoundedMean.c * mean_change(t)))
    assert tightest > 0.3  # a bound, and no vain one


@pytest.mark.parametrize("experts", [2, 5, 20])
def test_hedge_moves_by_no_more_than_is_said(experts: int) -> None:
    rng = np.random.default_rng(experts)
    steps = 60
    tightest = 0.0
    for trial in range(60):
        losses = rng.integers(2, size=(steps, experts)).astype(float)
        if trial % 3 == 0:  # one expert far ahead, and then the other way round
            losses[:, 0], losses[:, 1:] = 0.0, 1.0
            losses[trial // 3 :] = 1.0 - losses[trial // 3 :]
        past = np.vstack((np.zeros(experts), np.cumsum(losses[:-1], axis=0)))
        eta = np.sqrt(np.log(experts) / np.arange(1, steps + 1))
        weights = np.exp(-eta[:, None] * (past - past.min(axis=1, keepdims=True)))
        weights /= weights.sum(axis=1, keepdims=True)
        moved = 0.5 * np.abs(weights - before(weights)).sum(axis=1)
        said = [HedgeChange(experts)(t) for t in range(1, steps + 1)]
        assert np.all(moved <= np.array(said) + 1e-12)
        tightest = max(tightest, float(np.max(moved[1:] / said[1:])))
    assert tightest > 0.5


def test_losses_of_the_bounded_learners_stay_in_their_range_and_pace() -> None:
    for task in BOUNDED:
        stream = task.stream(0)
        pace = task.c * np.array([task.stability(t) for t in range(1, len(stream.loss) + 1)])
        for values in (stream.loss, stream.previous, stream.truth):
            assert np.all((values >= 0.0) & (values <= 1.0))
        assert np.all(np.abs(stream.loss - stream.previous) <= pace + 1e-12)


def test_replicas_of_a_network_share_a_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_emnist(tmp_path, train=300, test=100)
    monkeypatch.setenv("OEUVRE_DATA", str(tmp_path))
    datasets.content.cache_clear()
    task = NeuralNetwork("emnist", samples=8, epochs=2)
    one, two = task.replicas(5, 2)
    again = task.replicas(5, 2)[0]
    for name in ("loss", "previous", "truth", "rates"):
        np.testing.assert_array_equal(getattr(one, name), getattr(again, name))
    np.testing.assert_array_equal(one.truth, two.truth)
    assert not np.array_equal(one.loss, two.loss)
    assert len(one.loss) == 6
    assert one.truth[-1] < one.truth[0]
    # many draws at once: their mean is the truth, and that of the change is its change
    many = task.replicas(5, 1000)
    losses = np.array([stream.loss for stream in many])
    changes = losses - np.array([stream.previous for stream in many])
    error = losses.std(axis=0) / math.sqrt(len(many))
    assert np.all(np.abs(losses.mean(axis=0) - many[0].truth) < 5 * error)
    moved = changes[:, 1:].std(axis=0) / math.sqrt(len(many))
    assert np.all(np.abs(changes[:, 1:].mean(axis=0) - np.diff(many[0].truth)) < 5 * moved)


def test_the_whole_file_as_the_truth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OEUVRE_DATA", str(tmp_path))
    rng = np.random.default_rng(1)
    target = rng.integers(2, size=500)
    features = rng.normal(3.0, 2.0, size=(500, 2)) + target[:, None]
    text = csv("Diabetes_binary,BMI,Age", np.column_stack((target, features)))
    publish(monkeypatch, tmp_path, "diabetes_brfss2015", DIABETES, text)
    part, whole = (LogisticRegression(500, whole=each).stream(2) for each in (False, True))
    np.testing.assert_array_equal(part.loss, whole.loss)
    known = ~np.isnan(whole.truth)
    assert list(np.flatnonzero(known)) == [249, 499]
    # all rows are streamed here, so both truths are about the same rows
    np.testing.assert_allclose(whole.truth[known], part.truth[known], rtol=1e-12)


def test_what_is_watched_by_hand() -> None:
    stream = BoundedMean(steps=60).stream(1)
    est = Oeuvre("1/t", b=1.0, c=2.0)
    rows = watch(stream, {"a": (est, {}), "b": (est, {"kind": "hoeffding"})}, [10, 11, 40])
    fresh = est.clone()
    expected = []
    for t in range(1, 61):
        fresh.update(stream.loss[t - 1], stream.previous[t - 1])
        if t in (10, 11, 40):
            for name, kind in (("a", "normal"), ("b", "hoeffding")):
                made = fresh.interval(0.95, kind)
                expected.append((name, t, stream.truth[t - 1] in made, made.width / 2))
    assert [tuple(row.values()) for row in rows] == expected


def test_networks_and_gaps_in_the_truth_are_watched_where_it_is_known() -> None:
    truth = np.full(1000, np.nan)
    truth[49::50] = 1.0
    stream = Stream(np.ones(1000), np.ones(1000), truth)
    places = coverage.places_of(stream, LinearRegression(25, 0.05))
    assert places == list(range(150, 1001, 50))
    many = Stream(np.ones(1000), np.ones(1000), np.ones(1000))
    places = coverage.places_of(many, LinearRegression(25, 0.05))
    assert (len(places), places[0], places[-1]) == (100, 101, 1000)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Coverage, pl.DataFrame]:
    made = Coverage(tmp_path_factory.mktemp("parts"), paths=2, seeds={"experts": 1})
    made.prepare()
    assert len(list(made.run(2))) == len(made.parts) == 3 + 8
    return made, made.results()


def test_a_finished_part_is_not_done_again(
    study: tuple[Coverage, pl.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, results = study

    def refuse(part: Part) -> Any:
        raise AssertionError(part)

    assert not re.search("0x[0-9a-f]+", repr([part.maker for part in made.parts]))
    monkeypatch.setattr(coverage, "finish", refuse)
    assert len(list(made.run(1))) == len(made.parts)
    assert made.results().equals(results)


def test_a_part_that_is_not_done_is_missed(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match="bounded-mean/seeds0-1 is not done"):
        Coverage(tmp_path, paths=2, seeds={}).results()


def test_the_tables_are_the_means_of_the_runs(study: tuple[Coverage, pl.DataFrame]) -> None:
    _, results = study
    header, *rows = confidence.bounded_rows(results)
    assert header[:4] == ("learner", "kind", "holds for", "missed")
    assert len(rows) == 3 * len(KINDS)
    for row in rows:
        (task,) = (name for name, title in confidence.TITLES.items() if title == row[0])
        paths = results.filter(task=task, asked=row[1])
        assert len(paths) == 2 * len(STEPS)
        last = paths.filter(step=2000)["half"]
        assert float(row[6]) == pytest.approx(math.sqrt(last[0] * last[1]), rel=5e-3)
        share = "always" if row[2] == "all steps" else "held"
        by_step = paths.group_by("step").agg(pl.col(share).mean())
        assert float(row[3].split()[0]) == pytest.approx(1 - min(by_step[share]))
    header, *rows = confidence.board_rows(results)
    assert header[1:5] == ("OEUVRE", "Adaptive", "Ensemble", "OEUVRE, conservative")
    for row in rows:
        found = {each["asked"]: each for each in results.filter(task=row[0]).iter_rows(named=True)}
        assert float(row[2].split()[0]) == pytest.approx(found["Adaptive"]["held"], abs=6e-4)
        ratio = found["Adaptive"]["half"] / found["OEUVRE, conservative"]["half"]
        assert float(row[6]) == pytest.approx(ratio, abs=6e-3)
    logs = [math.log(float(row[6])) for row in rows]
    assert confidence.ratios(results)["Adaptive"] == pytest.approx(
        math.exp(np.mean(logs)), rel=0.02
    )
    low, high = confidence.ranges(results)["Adaptive"]
    assert low == min(results.filter(pl.col("task") != "x", asked="Adaptive")["held"])
    assert low <= high


def test_a_miss_anywhere_counts_for_a_sequence() -> None:
    table = Part(BoundedMean(), (0,)).work()
    for name, how in KINDS.items():
        rows = table.filter(asked=name).sort("step")
        assert rows["step"].to_list() == list(STEPS)
        falling = rows["always"].to_list()
        assert falling == sorted(falling, reverse=True)
        if "horizon" in how:
            assert all(a <= h for a, h in zip(falling, rows["held"], strict=True))
    assert set(kinds_of(BoundedMean())) == set(KINDS)


def test_the_command_writes_a_page_and_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coverage, "QUICK", {"paths": 2, "seeds": {"experts": 1}})
    begin, end = pages.marks(confidence.COMMAND)
    page = tmp_path / "page.md"
    page.write_text(f"before\n{begin}\nlast time\n{end}\nafter\n")
    arguments = ["coverage", "--quick", "--jobs", "1", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(cli.app, [*arguments, "--page", str(page)])
    assert done.exit_code == 0, done.output
    assert "How often intervals of 95 % held" in done.output
    text = page.read_text()
    assert text.startswith(f"before\n{begin}\n\n### Losses in [0, 1]")
    assert text.endswith(f"{end}\nafter\n")
    assert "last time" not in text
    assert re.search(r"Over the tasks: OEUVRE [\d.]+ to [\d.]+, Adaptive [\d.]+ to", text)
    for name in ("coverage", "widths"):
        assert f"(page/{name}.png)" in text
        assert (tmp_path / "page" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    again = CliRunner().invoke(cli.app, arguments)
    assert again.exit_code == 0
    assert (tmp_path / "out" / "coverage.md").read_text().strip() in text.replace("(page/", "(./")


def test_a_page_without_marks_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("nothing to see")
    with pytest.raises(DataError, match="must hold the marks"):
        pages.splice(page, "text", confidence.COMMAND)
    assert page.read_text() == "nothing to see"
