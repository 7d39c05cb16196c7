"""What the intervals of one stream are made of, carried along with the estimate.

`L_t = u_t + (1 − γ_t) L_{t−1}` with `u_t = ℓ_t(z_t) − (1 − γ_t) ℓ_{t−1}(z_t)`, so the error of the
estimate is a sum of errors that fade: `M_t = (1 − γ_t) M_{t−1} + u_t − E[u_t]`. Compiled by Cython
with the types of `evidence.pxd`; the same lines run as plain Python, to the same floats.
"""

import math
from typing import Any

from oeuvre._kernels.checks import overflow
from oeuvre._kernels.core import Core

__all__ = ["EvidenceCore", "PairCore", "lasting"]

EXACT = 32
"""The pace of the moments is computed at each pair up to this one, then at its multiples."""
FORGOTTEN = 1e-100
"""A share of the first step below this counts as none: numbers near the least float are slow."""


SURE = 4.5
"""Half the square of how many standard errors a covariance must be away from 0 to count: 3."""


def lasting(moved: float, var_d: float, pace: float, each: float) -> float:
    """Return how much of the variance of the change d was a real change of the expected loss.

    The loss itself may jump up and down at each step. That is part of d and not an error of the
    estimate, which follows it. The noise of d_t and that of d_{t+1} come from different samples, so
    their covariance, `moved`, is that of two real changes, and the variance of one of them is at
    least its absolute value. Where it is not clearly away from 0 it counts as 0. `each` is 1/B.
    """
    most = var_d * each
    if moved * moved > SURE * pace * most * most:
        return min(abs(moved), most)
    return 0.0


class EvidenceCore(Core):
    """Sums over the steps since γ was last 1; the share of a step fades by 1 − γ at each later one.

    û_t is what u_t was expected to be before the sample was seen: the mean change of the loss so
    far plus γ_t L_{t−1}. For a loss in [0, b] that changes by at most σ_t, u_t lies between
    `low = −(1 − γ_t) σ_t` and `high = γ_t b + (1 − γ_t) σ_t`. A batch of B samples is one step.

        realised = (1 − γ)² realised + (u − û)²             what the steps have shown
        promised = (1 − γ)² promised + var(d + γ p) / B     what the moments promise
        surplus  = (1 − γ)² surplus + `lasting`             what of it was no error
        tight    = (1 − γ)² tight + ((high − low)/2)² / B   the sub-Gaussian proxy
        drop     = max((1 − γ) drop, û − low)               how far u may fall below û
        rise     = max((1 − γ) rise, high − û)              how far u may rise above û
        reach    = max((1 − γ) reach, (high − low)/2)       the same for û in the middle

    d is the change of the loss on a sample and p the loss before it; their moments forget, the
    i-th pair moves them by i^−3/4. A step with γ = 1 begins a segment. Its (u − û)² is not in
    `realised` but in `opening`, and `share` is Γ_t²/B, with that step's B. `segments` counts those
    that have a second step, and `batch` is the size of the very first one.
    """

    __slots__ = (
        "_batch",
        "_change",
        "_cov",
        "_drop",
        "_gamma",
        "_last_change",
        "_level",
        "_moved",
        "_opening",
        "_pace",
        "_promised",
        "_reach",
        "_realised",
        "_rise",
        "_segments",
        "_share",
        "_surplus",
        "_tight",
        "_var_d",
        "_var_p",
    )

    def _clear_evidence(self) -> None:
        """Go back to before the first step."""
        self._gamma = 0.0
        self._batch = 1.0
        self._segments = 0
        self._realised = 0.0
        self._promised = 0.0
        self._surplus = 0.0
        self._opening = 0.0
        self._share = 0.0
        self._tight = 0.0
        self._drop = 0.0
        self._rise = 0.0
        self._reach = 0.0
        self._pace = 1.0
        self._change = 0.0
        self._level = 0.0
        self._var_d = 0.0
        self._var_p = 0.0
        self._cov = 0.0
        self._moved = 0.0
        self._last_change = 0.0

    def _note(
        self, loss: float, previous: float, gamma: float, sigma: float, b: float, size: float
    ) -> None:
        """Take down a step before it is taken: `n`, the estimate and γ are those of the last one.

        `sigma` and `b` are those of one sample. All that is noted changes, or nothing.
        """
        i = self._n
        keep = 1.0 - gamma
        kept = keep * keep
        move = keep * sigma if gamma < 1.0 else 0.0
        half = 0.5 * gamma * b + move
        expected = 0.5 * b
        shock = loss - expected
        if i > 0:
            expected = self._change + gamma * self._estimate
            shock = loss - previous - self._change + gamma * (previous - self._estimate)
        each = 1.0 if size == 1.0 else 1.0 / size
        tight = kept * self._tight + half * half * each
        drop = max(keep * self._drop, expected + move)
        rise = max(keep * self._rise, gamma * b + move - expected)
        reach = max(keep * self._reach, half)
        if gamma == 1.0:
            realised = 0.0
            promised = 0.0
            surplus = 0.0
            opening = shock * shock
            share = each
        else:
            realised = kept * self._realised + shock * shock
            fresh = self._var_d + gamma * (2.0 * self._cov + gamma * self._var_p)
            promised = kept * self._promised + max(0.0, fresh) * each
            surplus = kept * self._surplus + lasting(self._moved, self._var_d, self._pace, each)
            opening = share = 0.0
            if self._share > FORGOTTEN:
                opening = kept * self._opening
                share = kept * self._share

        # the moments with this pair
        pace = 1.0
        change = level = var_d = var_p = cov = moved = off_d = 0.0
        if i > 1:
            pace = self._pace
            if i < EXACT or i % EXACT == 0:
                root = math.sqrt(i)
                pace = 1.0 / (root * math.sqrt(root))
            left = 1.0 - pace
            weight = pace * size
            off_d = loss - previous - self._change
            off_p = previous - self._level
            change = self._change + pace * off_d
            level = self._level + pace * off_p
            var_d = left * (self._var_d + weight * off_d * off_d)
            var_p = left * (self._var_p + weight * off_p * off_p)
            cov = left * (self._cov + weight * off_d * off_p)
            moved = self._moved + pace * (self._last_change * off_d - self._moved)
        elif i == 1:
            change = loss - previous
            level = previous
        if not math.isfinite((realised + promised) + (opening + var_d) + var_p):
            raise overflow(loss, previous, -1.0)

        if i == 0:
            self._batch = size
        elif self._gamma == 1.0 and gamma < 1.0:
            self._segments += 1
        self._gamma = gamma
        self._realised = realised
        self._promised = promised
        self._surplus = surplus
        self._opening = opening
        self._share = share
        self._tight = tight
        self._drop = drop
        self._rise = rise
        self._reach = reach
        self._pace = pace
        self._change = change
        self._level = level
        self._var_d = var_d
        self._var_p = var_p
        self._cov = cov
        self._moved = moved
        self._last_change = off_d

    def _plug_in(self) -> float:
        """Return an estimate of the variance: what was promised, the first loss's, less surplus."""
        whole = self._promised + self._share * self._var_p
        return max(0.25 * whole, whole - self._surplus)


class PairCore:
    """How the errors of two estimates go together, from the moves of both at each step.

    A move is L_t − L_{t−1}, and s_t what it was beyond the mean move so far, which the i-th step
    moves by 2/(i + 1). The error of an estimate is (1 − γ_t) of the last one plus s_t, so

        first  = (1 − γ)² first + s²,   second likewise,
        cross  = (1 − γ)(1 − γ') cross + s s',

    and |cross| is at most √(first second).
    """

    __slots__ = ("_cross", "_drift_first", "_drift_second", "_pairs", "_seen_first", "_seen_second")

    def _clear(self) -> None:
        """Go back to before the first step."""
        self._pairs = 0
        self._drift_first = 0.0
        self._drift_second = 0.0
        self._seen_first = 0.0
        self._seen_second = 0.0
        self._cross = 0.0

    def _join(self, first: float, second: float, gamma: float, other: float) -> None:
        """Take down the moves of a step and the weights of both."""
        self._pairs += 1
        pace = 2.0 / (self._pairs + 1.0)
        keep = 1.0 - gamma
        keep_other = 1.0 - other
        s = r = 0.0
        if self._pairs > 1:
            s = first - self._drift_first
            r = second - self._drift_second
        self._drift_first += pace * (first - self._drift_first)
        self._drift_second += pace * (second - self._drift_second)
        self._seen_first = keep * keep * self._seen_first + s * s
        self._seen_second = keep_other * keep_other * self._seen_second + r * r
        self._cross = keep * keep_other * self._cross + s * r

    def _join_many(
        self,
        first: float,
        second: float,
        firsts: Any,
        seconds: Any,
        weights: Any,
        others: Any,
    ) -> None:
        """Take down the steps of two replays that began at the estimates `first` and `second`."""
        for i in range(len(firsts)):
            self._join(firsts[i] - first, seconds[i] - second, weights[i], others[i])
            first = firsts[i]
            second = seconds[i]
