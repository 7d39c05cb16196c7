"""The estimators, all with one face: see `oeuvre.estimators.base.Estimator`."""

from oeuvre.estimators.averages import ExponentialMovingAverage, FadingFactor, Prequential
from oeuvre.estimators.base import KINDS, Estimator, Trajectory
from oeuvre.estimators.files import load, save
from oeuvre.estimators.oeuvre import Oeuvre
from oeuvre.estimators.windows import Adwin, DriftWindow, SlidingWindow

__all__ = [
    "KINDS",
    "Adwin",
    "DriftWindow",
    "Estimator",
    "ExponentialMovingAverage",
    "FadingFactor",
    "Oeuvre",
    "Prequential",
    "SlidingWindow",
    "Trajectory",
    "load",
    "save",
]
