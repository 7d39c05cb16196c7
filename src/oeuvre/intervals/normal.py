"""The interval of the central limit theorem."""

import math
from typing import Any

from oeuvre.intervals.interval import Interval, Side, around, tail
from oeuvre.parameters import real

__all__ = ["holding", "normal", "quantile"]


def normal(estimate: float, variance: float, level: Any = 0.95, *, side: Side = "two") -> Interval:
    """Return `L ± z √V`, where z is a quantile of the normal distribution.

    With the variance that an estimator has seen it is the interval of kind "normal"; with the
    bound V↑_t of the paper, of kind "conservative" (Theorem 7). An infinite variance gives an
    infinite interval.

    Examples
    --------
    >>> from oeuvre import intervals
    >>> print(intervals.normal(0.31, 0.0001))
    0.2904 to 0.3296 (95 %)
    >>> print(intervals.normal(0.31, 0.0001, 0.9, side="upper"))
    -inf to 0.3228 (90 %)
    """
    miss = tail("normal", level, side)
    estimate = real("normal", "estimate", estimate, -math.inf, math.inf)
    if not (isinstance(variance, float) and variance == math.inf):
        variance = real("normal", "variance", variance, 0.0, math.inf)
    half = math.inf if variance == math.inf else quantile(miss) * math.sqrt(variance)
    return around(estimate, half, half, level, side)


def holding(
    estimate: float, normal_of: tuple[float, float], level: Any = 0.95, side: Side = "two"
) -> Interval:
    """Return the normal interval of a center and a variance, wide enough to hold an estimate."""
    made = normal(*normal_of, level, side=side)
    return Interval(min(made.lower, estimate), max(made.upper, estimate), made.level)


def quantile(miss: float) -> float:
    """Return the z that a standard normal variable exceeds with probability `miss`."""
    from statistics import NormalDist  # it takes long to import, and few ask

    return -NormalDist().inv_cdf(miss)
