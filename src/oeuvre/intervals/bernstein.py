"""An interval for bounded losses that narrows with the variance it sees."""

import math
from typing import Any

from oeuvre.intervals.interval import Interval, Side, around, tail
from oeuvre.parameters import real

__all__ = ["bernstein", "deviation"]

MESH = 0.5 * math.log(2.0)
"""The grid of θ is geometric: neighbours differ by a factor of √2."""
LEAST = 1e-6
"""The way to one side counts as at least this part of both: a larger `drop` or `rise` holds too."""
FARTHEST = 1e9
"""Where log(Γ_t/Γ_T) is larger than this, the grid cannot be told apart any more."""
SERIES = 1e-3
"""Below this, ψ(x)/x² is summed as a series; the difference of two close numbers is worth less."""


def bernstein(
    estimate: float,
    realised: float,
    drop: float,
    rise: float,
    reach: float,
    level: Any = 0.95,
    *,
    side: Side = "two",
    log_ratio: float | None = None,
) -> Interval:
    """Return an empirical Bernstein interval, not symmetric around the estimate.

    With u_t = ℓ_t(z_t) − (1 − γ_t) ℓ_{t−1}(z_t), û_t any guess of it made before the sample is
    seen, and Γ_t = Π(1 − γ_i), the arguments are sums and maxima over the steps i ≤ t:

        realised   Σ (Γ_t/Γ_i)² (u_i − û_i)²
        drop       max (Γ_t/Γ_i) (û_i − lowest u_i possible)
        rise       max (Γ_t/Γ_i) (highest u_i possible − û_i)
        reach      what `drop` and `rise` would be if û_i were in the middle; the unit of the grid

    The estimate is at most

        (1/θ) (log(1/(α w)) + realised ψ(θ drop)/drop²),   ψ(x) = −log(1 − x) − x,

    above the truth, for the best θ of a fixed grid with θ drop < 1, and w its weight in it; and
    likewise below it, with `rise`. α is half of 1 − level, or all of it on one side.

    That is for one step, and weights fixed in advance. If `log_ratio` is given, it is a sequence
    that holds at all steps at once, for any weights that are known before their samples are seen.
    `log_ratio` is log(Γ_t/Γ_T), with T the step at which the sequence is to be narrow, and `reach`
    is that of step T; both may come from any plan made before the first step.

    Examples
    --------
    A model that stands still and 1,000 losses in [0, 1] of variance 0.01, each expected to be 0.3:

    >>> from oeuvre import intervals
    >>> print(intervals.bernstein(0.3, 0.01 / 1000, 0.3 / 1000, 0.7 / 1000, 0.5 / 1000))
    0.2875 to 0.3149 (95 %)
    """
    miss = tail("bernstein", level, side)
    estimate = real("bernstein", "estimate", estimate, -math.inf, math.inf)
    realised = real("bernstein", "realised", realised, 0.0, 1e300)
    drop, rise = (
        real("bernstein", name, value, 0.0, 1e300)
        for name, value in (("drop", drop), ("rise", rise))
    )
    reach = real("bernstein", "reach", reach, 1e-150, 1e300)
    if log_ratio is not None:
        log_ratio = real("bernstein", "log_ratio", log_ratio, -math.inf, math.inf)
        if abs(log_ratio) > FARTHEST:
            return around(estimate, math.inf, math.inf, level, side)
    least = LEAST * max(drop + rise, 1e-150)
    below = deviation(realised, max(drop, least), reach, miss, log_ratio)
    above = deviation(realised, max(rise, least), reach, miss, log_ratio)
    return around(estimate, below, above, level, side)


def deviation(
    realised: float, limit: float, reach: float, miss: float, log_ratio: float | None
) -> float:
    """Return the least bound over the grid `θ_j = (Γ_T/Γ_t) 2^(−j/2) / reach`.

    The weights are w_j = 1/((j + 1)(j + 2)) for j ≥ 0. For a sequence half of that, and the other
    half is on the j < 0 of steps before T, with 1/(|j| (|j| + 1)).
    """
    start = -math.log(reach) - (log_ratio or 0.0)
    j = math.floor((start + math.log(limit)) / MESH) + 1
    if log_ratio is None:
        j = max(j, 0)
    doubled = 0.0 if log_ratio is None else math.log(2.0)
    least = -math.log(miss)
    best = math.inf
    while True:
        theta = math.exp(start - j * MESH)
        if least >= best * theta:  # no smaller θ can do better
            return best
        if theta * limit < 1.0:
            weight = math.log((j + 1.0) * (j + 2.0)) if j >= 0 else math.log(-j * (1.0 - j))
            cost = least + doubled + weight
            best = min(best, cost / theta + realised * theta * curvature(theta * limit))
        j += 1


def curvature(x: float) -> float:
    """Return ψ(x)/x², which is 1/2 at 0 and grows without bound toward 1."""
    if x < SERIES:
        return 0.5 + x * (1.0 / 3.0 + x * (0.25 + x * (0.2 + x / 6.0)))
    return (-math.log1p(-x) - x) / (x * x)
