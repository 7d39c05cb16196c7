"""The loss of a model that keeps learning: unbiased, with its variance, in constant time."""

from oeuvre import errors, intervals, rates
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
    Ranking,
    SlidingWindow,
    Standing,
    Trajectory,
    compare,
    load,
    save,
)
from oeuvre.intervals import Interval

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
    "Oeuvre",
    "OeuvreError",
    "Paired",
    "Prequential",
    "Ranking",
    "SlidingWindow",
    "Standing",
    "Trajectory",
    "__version__",
    "compare",
    "errors",
    "intervals",
    "load",
    "rates",
    "save",
]
