"""The estimators, all with one face: see `oeuvre.estimators.base.Estimator`."""

from oeuvre.estimators.adaptive import AdaptiveOeuvre
from oeuvre.estimators.averages import ExponentialMovingAverage, FadingFactor, Prequential
from oeuvre.estimators.base import KINDS, Estimator, Trajectory
from oeuvre.estimators.comparing import compare
from oeuvre.estimators.ensemble import Ensemble
from oeuvre.estimators.files import load, save
from oeuvre.estimators.oeuvre import Oeuvre
from oeuvre.estimators.paired import Paired
from oeuvre.estimators.quality import Quality
from oeuvre.estimators.ranking import Ranking, Standing
from oeuvre.estimators.snapshot import Snapshot
from oeuvre.estimators.windows import Adwin, DriftWindow, SlidingWindow

__all__ = [
    "KINDS",
    "AdaptiveOeuvre",
    "Adwin",
    "DriftWindow",
    "Ensemble",
    "Estimator",
    "ExponentialMovingAverage",
    "FadingFactor",
    "Oeuvre",
    "Paired",
    "Prequential",
    "Quality",
    "Ranking",
    "SlidingWindow",
    "Snapshot",
    "Standing",
    "Trajectory",
    "compare",
    "load",
    "save",
]
