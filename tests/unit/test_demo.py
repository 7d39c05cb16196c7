"""The demo's learner and its figure."""

from pathlib import Path

import numpy as np
import pytest

from oeuvre.experiments import demo
from oeuvre.report import figures


def test_the_order_of_evaluation() -> None:
    steps = list(demo.run(40, seed=1))
    assert steps == list(demo.run(40, seed=1))
    first = steps[0]
    assert first.loss == first.previous  # nothing was learned before the first sample
    assert first.truth == pytest.approx(1.0)  # the zero model on a target of unit variance
    assert all(step.loss != step.previous for step in steps[1:])
    assert steps[-1].truth < first.truth


def test_figure_shows_the_truth_and_each_estimate(tmp_path: Path) -> None:
    truth = np.linspace(1.0, 0.5, 50)
    figure = figures.against_truth(
        truth,
        {"ours": truth + 0.01, "other": truth - 0.1},
        ends=np.transpose((truth - 0.19, truth + 0.21)),
        burn_in=10,
        title="A title",
    )
    (axes,) = figure.axes
    lines = {str(line.get_label()): np.asarray(line.get_ydata()) for line in axes.get_lines()}
    assert set(lines) == {"true loss", "ours", "other"}
    np.testing.assert_array_equal(lines["true loss"], truth)
    np.testing.assert_array_equal(lines["other"], truth - 0.1)
    assert axes.get_title() == "A title"
    (band,) = axes.collections
    low, high = np.asarray(band.get_paths()[0].vertices)[:, 1].min(), truth[10] + 0.21
    assert low == pytest.approx(0.5 + 0.01 - 0.2)
    assert np.asarray(band.get_paths()[0].vertices)[:, 1].max() == pytest.approx(high)
    assert np.asarray(band.get_paths()[0].vertices)[:, 0].min() == 11
    path = tmp_path / "figure.png"
    figures.save_png(figure, path)
    first = path.read_bytes()
    figures.save_png(figure, path)
    assert path.read_bytes() == first
    assert [p.name for p in tmp_path.iterdir()] == ["figure.png"]
