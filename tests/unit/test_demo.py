"""The demo's learner and its figure."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from oeuvre import Interval
from oeuvre.experiments import demo
from oeuvre.report import figures


def test_pages_set_aside_are_not_learned_and_tell_the_loss() -> None:
    total, steps = demo.run(seed=1)
    assert 950 < total < 1050
    first, *_, last = itertools.islice(steps, 40)
    assert first.snapshot.loss == first.snapshot.previous == pytest.approx(np.log(2))
    assert first.truth == pytest.approx(np.log(2))  # nothing was learned before the first sample
    assert last.snapshot.n == 40
    assert last.snapshot.loss != last.snapshot.previous
    assert last.truth < 0.7
    _, again = demo.run(seed=1)
    assert list(itertools.islice(again, 40))[-1] == last


def test_figure_shows_the_truth_and_each_estimate(tmp_path: Path) -> None:
    truth = np.linspace(1.0, 0.5, 50)
    ends = [Interval(each - 0.19, each + 0.21, 0.95) for each in truth[10:]]
    figure = figures.against_truth(
        truth,
        {"ours": truth + 0.01, "other": truth - 0.1},
        ends=[*[None] * 10, *ends],
        title="A title",
        truth_name="pages",
    )
    (axes,) = figure.axes
    lines = {str(line.get_label()): np.asarray(line.get_ydata()) for line in axes.get_lines()}
    assert set(lines) == {"pages", "ours", "other"}
    np.testing.assert_array_equal(lines["pages"], truth)
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
