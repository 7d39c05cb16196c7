"""Intervals for bounded losses, from the range of each step alone: the paper's Theorem 8."""

import math
from typing import Any

from oeuvre.intervals.interval import Interval, Side, around, tail
from oeuvre.parameters import real

__all__ = ["anytime", "hoeffding"]

FARTHEST = 300.0
"""Where Γ_t and Γ_T differ by a factor of more than e to this power, nothing is known at t."""


def hoeffding(estimate: float, proxy: float, level: Any = 0.95, *, side: Side = "two") -> Interval:
    """Return `L ± √(2 V log(1/α))`, for one step and weights fixed in advance; Theorem 8 (a).

    α is half of 1 − level, or all of it on one side. `proxy` is V, the sub-Gaussian proxy of the
    estimate: V↑_t in the paper. A step's u_t lies in a range of the length γ_t b + 2(1 − γ_t) σ_t,
    and the square of half of that is enough (Hoeffding's lemma), which gives the tight proxy

        W_t = (γ_t b/2 + (1 − γ_t) σ_t)² + (1 − γ_t)² W_{t−1},   W_1 = (b/2)².

    Examples
    --------
    A model that stands still, and 100 losses in [0, 1]:

    >>> from oeuvre import intervals
    >>> print(intervals.hoeffding(0.31, 0.25 / 100))
    0.1742 to 0.4458 (95 %)
    """
    miss = tail("hoeffding", level, side)
    estimate = real("hoeffding", "estimate", estimate, -math.inf, math.inf)
    proxy = real("hoeffding", "proxy", proxy, 0.0, math.inf)
    half = math.sqrt(-2.0 * proxy * math.log(miss))
    return around(estimate, half, half, level, side)


def anytime(
    estimate: float,
    proxy: float,
    final: float,
    log_ratio: float,
    level: Any = 0.95,
    *,
    side: Side = "two",
) -> Interval:
    """Return the interval at step t of a sequence that holds at all steps at once; Theorem 8 (b).

        L ± √(c / 2V_T) (V_T Γ_t/Γ_T + V_t Γ_T/Γ_t),   c = log(1/α)

    α is half of 1 − level, or all of it on one side. `proxy` is V_t, `final` is V_T at the step T
    where the sequence is to be narrowest, and `log_ratio` is log(Γ_t/Γ_T). At T it is the interval
    of `hoeffding`.

    The proof fixes a line: with λ = √(2c/V_T) Γ_T, the process `exp(λ M_t/Γ_t − λ² V_t/(2 Γ_t²))`
    is a supermartingale, so it ever exceeds e^c with probability at most e^−c. So the sequence
    holds after T too, and V_T and Γ_T may come from any plan made before the first step.

    Examples
    --------
    At step 50 of a sequence that is to be narrowest at step 100, for a model that stands still:

    >>> import math
    >>> from oeuvre import intervals
    >>> print(intervals.anytime(0.31, 0.25 / 50, 0.25 / 100, math.log(100 / 50)))
    0.1063 to 0.5137 (95 %)
    """
    miss = tail("anytime", level, side)
    estimate = real("anytime", "estimate", estimate, -math.inf, math.inf)
    proxy = real("anytime", "proxy", proxy, 0.0, math.inf)
    final = real("anytime", "final", final, 0.0, math.inf, open_low=True)
    log_ratio = real("anytime", "log_ratio", log_ratio, -math.inf, math.inf)
    half = math.inf
    if abs(log_ratio) < FARTHEST:
        ratio = math.exp(log_ratio)
        half = math.sqrt(-0.5 * math.log(miss) / final) * (final * ratio + proxy / ratio)
    return around(estimate, half, half, level, side)
