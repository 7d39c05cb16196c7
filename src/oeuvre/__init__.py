"""The loss of a model that keeps learning: unbiased, with its variance, in constant time."""

from oeuvre import errors, rates
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
    Prequential,
    Ranking,
    SlidingWindow,
    Standing,
    Trajectory,
    compare,
    load,
    save,
)

__version__ = "0.1.0"

__all__ = [
    "AdaptiveOeuvre",
    "Adwin",
    "DriftWindow",
    "Ensemble",
    "Estimator",
    "ExponentialMovingAverage",
    "FadingFactor",
    "Oeuvre",
    "OeuvreError",
    "Prequential",
    "Ranking",
    "SlidingWindow",
    "Standing",
    "Trajectory",
    "__version__",
    "compare",
    "errors",
    "load",
    "rates",
    "save",
]
