"""The order of evaluation: samples in, loss pairs to an estimator, a trained model out."""

from oeuvre.monitor.monitor import Monitor
from oeuvre.monitor.progressive import progressive

__all__ = ["Monitor", "progressive"]
