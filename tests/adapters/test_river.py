"""Windows around River's detectors, beside River itself."""

import sys
from typing import Any

import numpy as np
import pytest
from river import drift, stats

from oeuvre import Adwin, DriftWindow, ExponentialMovingAverage, Prequential
from oeuvre.errors import InvalidLoss, InvalidParameter, MissingExtra

RNG = np.random.default_rng(0)
JUMP = np.concatenate([RNG.normal(0.2, 0.05, 400), RNG.normal(0.8, 0.05, 400)])


def river(make: Any, **parameters: Any) -> Any:
    return make(**parameters)


@pytest.mark.parametrize("delta", [0.002, 0.1])
def test_adwin_is_rivers(delta: float) -> None:
    ours, theirs = Adwin(delta), river(drift.ADWIN, delta=delta)
    for loss in JUMP:
        ours.update(loss)
        theirs.update(loss)
        assert ours.get() == theirs.estimation
        assert ours.effective_n == theirs.width
    assert ours.get() == pytest.approx(0.8, abs=0.02)
    assert ours.effective_n < 450


@pytest.mark.parametrize(
    "detector",
    [
        river(drift.ADWIN),
        river(drift.PageHinkley, threshold=2.0),
        river(drift.KSWIN, seed=1),
    ],
    ids=lambda detector: type(detector).__name__,
)
def test_the_window_restarts_where_the_detector_says(detector: Any) -> None:
    est = DriftWindow(detector)
    theirs = detector.clone()
    window: list[float] = []
    detections = 0
    for loss in JUMP:
        est.update(loss)
        theirs.update(float(loss))
        if theirs.drift_detected:
            detections += 1
            window = []
        window.append(loss)
        assert est.get() == pytest.approx(np.mean(window))
        assert est.effective_n == len(window)
    assert detections >= 1
    assert est.get() == pytest.approx(0.8, abs=0.03)
    assert est.detector is not detector  # the one given is only a pattern


def test_eddm_takes_zeros_and_ones_only() -> None:
    rng = np.random.default_rng(1)
    errors = np.concatenate([rng.random(1500) < 0.05, rng.random(1500) < 0.6]).astype(float)
    est = DriftWindow(river(drift.binary.EDDM))
    est.replay(errors)
    assert est.effective_n < 2000
    assert est.get() == pytest.approx(0.6, abs=0.1)
    n, value = est.n, est.get()
    with pytest.raises(InvalidLoss, match="'loss' must be 0 or 1 for EDDM. Got 0.5"):
        est.update(0.5)
    with pytest.raises(InvalidLoss, match="'loss' must be 0 or 1 for EDDM"):
        est.replay([0.0, 1.0, 0.5])
    assert (est.n, est.get()) == (n, value)


def test_a_used_detector_is_taken_fresh() -> None:
    used = river(drift.PageHinkley, threshold=2.0)
    for loss in JUMP:
        used.update(loss)
    est, fresh = DriftWindow(used), DriftWindow(river(drift.PageHinkley, threshold=2.0))
    np.testing.assert_array_equal(est.replay(JUMP).estimate, fresh.replay(JUMP).estimate)


def test_a_detector_that_cannot_be_copied_is_refused() -> None:
    class Lonely:
        drift_detected = False

        def update(self, x: float) -> None: ...

        def __deepcopy__(self, memo: object) -> "Lonely":
            raise TypeError("no copies")

    with pytest.raises(InvalidParameter, match="'detector' parameter .* must be possible to copy"):
        DriftWindow(Lonely())


def test_a_detector_of_ones_own() -> None:
    class EveryTenth:
        def __init__(self) -> None:
            self.seen = 0

        @property
        def drift_detected(self) -> bool:
            return self.seen % 10 == 0

        def update(self, x: float) -> None:
            self.seen += 1

    pattern = EveryTenth()
    est = DriftWindow(pattern)
    pattern.update(0.0)  # what its owner does with it later is of no concern
    est.reset()
    est.replay(np.arange(25.0))
    assert est.effective_n == 6
    assert est.get() == np.mean(np.arange(19, 25))


def test_plain_averages_agree_with_rivers() -> None:
    mean, moving = river(stats.Mean), river(stats.EWMean, fading_factor=0.3)
    ours, ours_moving = Prequential(), ExponentialMovingAverage(0.3)
    for loss in JUMP:
        mean.update(loss)
        moving.update(loss)
        ours.update(loss)
        ours_moving.update(loss)
    assert ours.get() == pytest.approx(mean.get(), rel=1e-12)
    assert ours_moving.get() == pytest.approx(moving.get(), rel=1e-12)


def test_a_missing_river_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "river", None)
    with pytest.raises(MissingExtra, match=r"pip install 'oeuvre\[river\]'"):
        Adwin()
