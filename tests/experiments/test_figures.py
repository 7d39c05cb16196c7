"""The figures of the experiments show the numbers they are given."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.container import BarContainer, ErrorbarContainer

from oeuvre.experiments import pictures
from oeuvre.experiments.board import Board
from oeuvre.experiments.sweep import Job, Sweep
from oeuvre.experiments.tasks import (
    ExpertAdvice,
    LinearRegression,
    NeuralNetwork,
    ShiftingRegression,
)
from oeuvre.report.figures import COLOURS, Panel, bars, lines, over_time, save

SERIES = {
    "OEUVRE": ([1.0, 2.0], [0.1, 0.2]),
    "SW size=5": ([3.0, 4.0], [0.0, 0.5]),
    "something": ([5.0, 6.0], [1.0, 1.0]),
}


@pytest.mark.parametrize("logarithmic", [True, False])
def test_lines(logarithmic: bool) -> None:
    panel = Panel("a title", ("25", "50"), SERIES, "dimension", "RMSE", logarithmic)
    figure = lines([[panel, panel]])
    left, right = figure.axes
    assert left.get_title() == right.get_title() == "a title"
    assert (left.get_xlabel(), left.get_ylabel()) == ("dimension", "RMSE")
    assert [label.get_text() for label in left.get_xticklabels()] == ["25", "50"]
    assert left.get_yscale() == ("log" if logarithmic else "linear")
    drawn = {c.get_label(): c for c in left.containers if isinstance(c, ErrorbarContainer)}
    for name, (means, spreads) in SERIES.items():
        np.testing.assert_array_equal(drawn[name].lines[0].get_ydata(), means)
        (ranges,) = drawn[name].lines[2]
        ends = [np.asarray(path.vertices)[:, 1] for path in ranges.get_paths()]
        for (low, high), mean, spread in zip(ends, means, spreads, strict=True):
            assert (low, high) == (pytest.approx(mean - spread), pytest.approx(mean + spread))
    colours = {name: drawn[name].lines[0].get_color() for name in SERIES}
    assert colours == {"OEUVRE": COLOURS[0], "SW size=5": COLOURS[2], "something": COLOURS[2]}


def test_bars() -> None:
    figure = bars([[Panel("bias", ("MNIST", "other"), SERIES)]])
    (axes,) = figure.axes
    drawn = {c.get_label(): c for c in axes.containers if isinstance(c, BarContainer)}
    assert {name: [bar.get_height() for bar in bars] for name, bars in drawn.items()} == {
        name: means for name, (means, _) in SERIES.items()
    }


def test_over_time_has_a_panel_for_each_competitor() -> None:
    truth = np.linspace(1.0, 0.5, 5000)
    figure = over_time(truth, {"OEUVRE": truth, "SW": truth + 0.1, "EMA": truth - 0.1}, title="x")
    assert len(figure.axes) == 2
    for axes, name, shift in zip(figure.axes, ("SW", "EMA"), (0.1, -0.1), strict=True):
        shown = {str(line.get_label()): line for line in axes.get_lines()}
        assert set(shown) == {"true loss", name, "OEUVRE"}
        x, y = (np.asarray(axis, float) for axis in shown[name].get_data())
        assert len(x) == 1000
        assert (x[0], x[-1]) == (1, 5000)
        np.testing.assert_allclose(y, truth[x.astype(int) - 1] + shift)


def test_saved_as_png_and_svg_the_same_each_time(tmp_path: Path) -> None:
    panel = Panel("a title", ("25", "50"), SERIES)
    first, again = (
        [path.read_bytes() for path in save(lines([[panel]]), tmp_path / "x")] for _ in "ab"
    )
    assert first == again
    assert first[0].startswith(b"\x89PNG")
    assert b"</svg>" in first[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.png", "x.svg"]


def test_what_is_drawn_follows_from_the_tasks(tmp_path: Path) -> None:
    tasks = [
        *(LinearRegression(d, noise, steps=60) for noise in (0.1, 0.2) for d in (2, 3)),
        *(ExpertAdvice("beta", k, steps=60) for k in (3, 4)),
        ShiftingRegression("abrupt"),
    ]
    sweep = Sweep(tasks, 2, tmp_path)
    assert len(list(sweep.run(1))) == 14
    board = Board(sweep.scores())
    figures = dict(pictures.draw(sweep, board))
    shapes = {name: len(figure.axes) for name, figure in figures.items()}
    assert shapes == {
        "contest": 1,
        "linear": 6,
        "linear-all": 6,
        "experts": 2,
        "experts-all": 3,
        "shifts-abrupt": 8,
    }
    (axes,) = figures["contest"].axes
    drawn = {c.get_label(): c.lines[0].get_ydata() for c in axes.containers}  # type: ignore[attr-defined]
    assert list(drawn) == board.contenders
    for family, ratios in drawn.items():
        expected = board.summary().filter(family=family)["rmse_to_best"].to_list()
        assert list(ratios) == expected
    assert "Ensemble" in figures["shifts-abrupt"].axes[0].get_legend_handles_labels()[1]
    axes = figures["linear"].axes[1]  # RMSE, the second noise
    assert axes.get_title() == "noise 0.2"
    drawn = {c.get_label(): c.lines[0].get_ydata() for c in axes.containers}  # type: ignore[attr-defined]
    names = ("linear-d2-noise0.2", "linear-d3-noise0.2")
    for family in board.contenders:
        assert list(drawn[family]) == [board.row(name, family)["rmse"] for name in names]
    assert list(drawn["best baseline"]) == [board.best_baseline(name)["rmse"] for name in names]
    assert list(drawn["median baseline"]) == [board.median_baseline(n)["rmse"] for n in names]


def test_the_run_that_is_drawn_is_the_median_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = ExpertAdvice("beta", 3, steps=60)
    sweep = Sweep([task], 5, tmp_path)
    assert len(list(sweep.run(1))) == 5
    board = Board(sweep.scores())
    errors = board.scores.filter(family="OEUVRE").sort("rmse")
    seen: list[int] = []
    courses = pictures._courses

    def watched(sweep: Sweep, board: Board, job: Job) -> Any:
        seen.append(job.seed)
        return courses(sweep, board, job)

    monkeypatch.setattr(pictures, "_courses", watched)
    pictures._run(sweep, board, task, "a title")
    assert seen == [errors["seed"][2]]


def test_networks_are_drawn_against_both_truths(tmp_path: Path) -> None:
    tasks = [NeuralNetwork(data, n) for n in (128, 8) for data in ("mnist", "fashion_mnist")]
    rows = []
    levels = {"OEUVRE": 1.0, "SW": 2.0, "Prequential": 9.0}
    for (task, (family, level)), truth in itertools.product(
        itertools.product(tasks, levels.items()), ("paper", "sharp")
    ):
        value = level / (2.0 if truth == "sharp" else 1.0)
        cell = {"group": "neural", "task": task.name, "seed": 0, "family": family}
        metrics = {"rmse": value, "mae": value, "bias": value}
        rows.append({**cell, "setting": family, "truth": truth, **metrics})
    drawn = dict(pictures.draw(Sweep(tasks, 1, tmp_path), Board(pl.DataFrame(rows))))
    for name, height in (("neural", 2.0), ("neural-sharp", 1.0)):
        axes = drawn[name].axes
        assert len(axes) == 6
        assert [a.get_title() for a in axes[::3]] == [
            "RMSE, 128 samples a step",
            "RMSE, 8 samples a step",
        ]
        found = {c.get_label(): c for c in axes[0].containers if isinstance(c, BarContainer)}
        assert set(found) == {"OEUVRE", "SW"}
        assert [bar.get_height() for bar in found["SW"]] == [height, height]
