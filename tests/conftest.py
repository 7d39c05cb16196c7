"""Streams and estimators that many tests share."""

import os
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import settings
from numpy.typing import NDArray

import oeuvre
from oeuvre import rates
from oeuvre._kernels import COMPILED

settings.register_profile("repeatable", derandomize=True, database=None, deadline=None)
settings.load_profile("repeatable")

Pairs: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]
Make: TypeAlias = Callable[[], oeuvre.Estimator]


def half_life(t: int) -> float:
    """Return a rate that starts anew every 64 steps, as a learning rate with warm restarts does."""
    return float(0.9 ** (t % 64))


AS_DATA: dict[str, Make] = {
    "paper": oeuvre.Oeuvre,
    "known constants": lambda: oeuvre.Oeuvre("1/t", b=1.5, c=0.7),
    "short burn-in": lambda: oeuvre.Oeuvre(rates.Power(0.7), burn_in=4),
    "constant rate": lambda: oeuvre.Oeuvre("constant", burn_in=10),
    "weights 1/t": lambda: oeuvre.Oeuvre(gamma="1/t"),
    "weights sigma": lambda: oeuvre.Oeuvre(gamma="0.5*sigma"),
    "constant weights": lambda: oeuvre.Oeuvre(b=1.0, c=1.0, gamma=0.05),
    "weights down to a least one": lambda: oeuvre.Oeuvre(gamma="max(1/t, 0.05)"),
    "adaptive": oeuvre.AdaptiveOeuvre,
    "two gains": lambda: oeuvre.AdaptiveOeuvre(two_gain=True),
    "adaptive, drift": lambda: oeuvre.AdaptiveOeuvre(drift="cusum"),
    "ensemble": oeuvre.Ensemble,
    "small ensemble": lambda: oeuvre.Ensemble(
        [oeuvre.AdaptiveOeuvre(drift="cusum"), oeuvre.Oeuvre(burn_in=5), oeuvre.SlidingWindow(4)],
        prior=[2, 1, 1],
        horizon=3,
    ),
    "prequential": oeuvre.Prequential,
    "window": lambda: oeuvre.SlidingWindow(7),
    "window of one": lambda: oeuvre.SlidingWindow(1),
    "fading": lambda: oeuvre.FadingFactor(0.9),
    "moving average": lambda: oeuvre.ExponentialMovingAverage(0.1),
}
"""Every kind of estimator whose state can be written as data."""

WITH_CODE: dict[str, Make] = {
    "schedule": lambda: oeuvre.Oeuvre(rates.Schedule(half_life)),
    "adwin": oeuvre.Adwin,
    "drift window": lambda: oeuvre.DriftWindow(_page_hinkley()),
    "adaptive, detector": lambda: oeuvre.AdaptiveOeuvre(two_gain=True, drift=_page_hinkley()),
    "ensemble of code": lambda: oeuvre.Ensemble(
        [oeuvre.DriftWindow(_page_hinkley()), oeuvre.Oeuvre(rates.Schedule(half_life))], horizon=1
    ),
}
"""Those that hold code: they can be pickled, but not saved."""


def _page_hinkley() -> Any:
    from river import drift

    make: Any = drift.PageHinkley
    return make(threshold=1.0)


@pytest.fixture(params=[*AS_DATA, *WITH_CODE])
def make(request: pytest.FixtureRequest) -> Make:
    """Every kind of estimator."""
    return {**AS_DATA, **WITH_CODE}[request.param]


@pytest.fixture(params=list(AS_DATA))
def make_data(request: pytest.FixtureRequest) -> Make:
    """Every kind of estimator that can be saved."""
    return AS_DATA[request.param]


def learner_pairs(steps: int, seed: int = 0) -> Pairs:
    """Losses of a running mean on uniform data: (z − f_t)² and (z − f_{t−1})²."""
    z = np.random.default_rng(seed).random(steps)
    means = np.concatenate(([0.0], np.cumsum(z[:-1]) / np.arange(1, steps)))
    before = np.concatenate(([0.0], means[:-1]))
    return (z - means) ** 2, (z - before) ** 2


@pytest.fixture
def pairs() -> Pairs:
    """Give 300 steps of a learner."""
    return learner_pairs(300)


def snapshot(estimator: oeuvre.Estimator) -> dict[str, Any]:
    """Everything the state consists of, in a form that compares."""
    return comparable(estimator._get_state())


def comparable(state: dict[str, Any]) -> dict[str, Any]:
    """Return a state with every detector in it, members' too, as what it says of itself."""
    names = ("estimation", "width", "n_detections", "drift_detected", "_sum_min")
    result = dict(state)
    if "detector" in state:
        detector = state["detector"]
        result["detector"] = {name: repr(getattr(detector, name, None)) for name in names}
    if "members" in state:
        result["members"] = [comparable(member) for member in state["members"]]
    return result


def pytest_sessionstart() -> None:
    """Make sure that the kernels are of the kind that the run is about."""
    wanted = os.environ.get("OEUVRE_KERNELS")
    if wanted is not None and (wanted == "compiled") != COMPILED:
        raise pytest.UsageError(f"These tests are to run on {wanted} kernels.")
