"""The loss of a model that keeps learning: unbiased, with its variance, in constant time."""

from oeuvre import errors, intervals, learners, losses, rates
from oeuvre.errors import OeuvreError
from oeuvre.estimators import (
    AdaptiveOeuvre,
    Adwin,
    DriftWindow,
    Ensemble,
    Estimator,
    ExponentialMovingAverage,
    FadingFactor,
    Oeuvre,
    Paired,
    Prequential,
    Quality,
    Ranking,
    SlidingWindow,
    Snapshot,
    Standing,
    Trajectory,
    compare,
    load,
    save,
)
from oeuvre.intervals import Interval
from oeuvre.monitor import Monitor, progressive

__version__ = "0.1.0"

__all__ = [
    "AdaptiveOeuvre",
    "Adwin",
    "DriftWindow",
    "Ensemble",
    "Estimator",
    "ExponentialMovingAverage",
    "FadingFactor",
    "Interval",
    "Monitor",
    "Oeuvre",
    "OeuvreError",
    "Paired",
    "Prequential",
    "Quality",
    "Ranking",
    "SlidingWindow",
    "Snapshot",
    "Standing",
    "Trajectory",
    "__version__",
    "compare",
    "errors",
    "intervals",
    "learners",
    "load",
    "losses",
    "progressive",
    "rates",
    "save",
]
