"""The loss of a model that keeps learning: unbiased, with its variance, in constant time."""

from oeuvre import errors, rates
from oeuvre.errors import OeuvreError
from oeuvre.estimators import (
    Adwin,
    DriftWindow,
    Estimator,
    ExponentialMovingAverage,
    FadingFactor,
    Oeuvre,
    Prequential,
    SlidingWindow,
    Trajectory,
    load,
    save,
)

__version__ = "0.1.0"

__all__ = [
    "Adwin",
    "DriftWindow",
    "Estimator",
    "ExponentialMovingAverage",
    "FadingFactor",
    "Oeuvre",
    "OeuvreError",
    "Prequential",
    "SlidingWindow",
    "Trajectory",
    "__version__",
    "errors",
    "load",
    "rates",
    "save",
]
