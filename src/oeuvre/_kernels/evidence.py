"""What the intervals of one stream are made of, carried along with the estimate.

`L_t = u_t + (1 − γ_t) L_{t−1}` with `u_t = ℓ_t(z_t) − (1 − γ_t) ℓ_{t−1}(z_t)`, so the error of the
estimate is a sum of errors that fade: `M_t = (1 − γ_t) M_{t−1} + u_t − E[u_t]`. Compiled by Cython
with the types of `evidence.pxd`; the same lines run as plain Python, to the same floats.
"""

import math

from oeuvre._kernels.checks import overflow
from oeuvre._kernels.core import Core

__all__ = ["EvidenceCore"]

INFINITE = float("inf")
LARGEST = 1e140
"""The largest loss: no sum of squares leaves the range of a float then."""
MEMORY = 0.7
"""The moments forget as those of adaptive weights do: the i-th pair moves them by i^−MEMORY, ..."""
EXACT = 32
"""... which is computed at each pair up to this one, and then at its multiples."""
SLACK = 1e-9
"""What rounding may add to a range, in units of b."""
FORGOTTEN = 1e-100
"""A share of the first step below this counts as none: numbers near the least float are slow."""


class EvidenceCore(Core):
    """Sums over the steps since γ was last 1; the share of a step fades by 1 − γ at each later one.

    û_t is what u_t was expected to be before the sample was seen: the mean change of the loss so
    far plus γ_t L_{t−1}. For a loss in [0, b] that changes by at most σ_t, u_t lies between
    `low = −(1 − γ_t) σ_t` and `high = γ_t b + (1 − γ_t) σ_t`. A batch of B samples is one step.

        realised = (1 − γ)² realised + (u − û)²             what the steps have shown
        promised = (1 − γ)² promised + var(d + γ p) / B     what the moments promise
        tight    = (1 − γ)² tight + ((high − low)/2)² / B   the sub-Gaussian proxy
        drop     = max((1 − γ) drop, û − low)               how far u may fall below û
        rise     = max((1 − γ) rise, high − û)              how far u may rise above û
        reach    = max((1 − γ) reach, (high − low)/2)       the same for û in the middle

    d is the change of the loss on a sample and p the loss before it; their moments forget, the
    i-th pair moves them by i^−MEMORY. A step with γ = 1 begins a segment. Its (u − û)² is not in
    `realised` but in `opening`, and `share` is Γ_t²/B, with that step's B. `started` is the
    number of that step, `batch` the size of the very first one, and `outside` the number of the
    first step whose u was not between `low` and `high`; 0 if there was none.
    """

    __slots__ = (
        "_batch",
        "_change",
        "_cov",
        "_drop",
        "_gamma",
        "_level",
        "_opening",
        "_outside",
        "_pace",
        "_promised",
        "_reach",
        "_realised",
        "_rise",
        "_share",
        "_started",
        "_tight",
        "_var_d",
        "_var_p",
    )

    def _clear_evidence(self) -> None:
        """Go back to before the first step."""
        self._gamma = 0.0
        self._batch = 1.0
        self._started = 0
        self._outside = 0
        self._realised = 0.0
        self._promised = 0.0
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

    def _note(
        self,
        loss: float,
        previous: float,
        gamma: float,
        sigma: float,
        b: float,
        size: float,
        known: bool,
    ) -> None:
        """Take down a step before it is taken: `n` and the estimate are those of the last one.

        `sigma` and `b` are those of one sample; if they are not `known`, there is no range to take
        down. All that is noted changes, or nothing.
        """
        if not (abs(loss) <= LARGEST and abs(previous) <= LARGEST):
            raise overflow(loss, previous, -1.0)
        i = self._n
        keep = 1.0 - gamma
        kept = keep * keep
        each = 1.0 if size == 1.0 else 1.0 / size
        expected = 0.5 * b
        shock = loss - expected
        if i > 0:
            expected = self._change + gamma * self._estimate
            shock = loss - previous - self._change + gamma * (previous - self._estimate)
        if known:  # how far u_t could have gone; nothing below fails any more
            move = keep * sigma if gamma < 1.0 else 0.0
            half = 0.5 * gamma * b + move
            high = gamma * b + move
            tight = kept * self._tight + half * half * each
            if not tight < INFINITE:
                raise overflow(loss, previous, -1.0)
            self._tight = tight
            self._drop = max(keep * self._drop, expected + move)
            self._rise = max(keep * self._rise, high - expected)
            self._reach = max(keep * self._reach, half)
            u = loss - keep * previous
            if u + move < -SLACK * b or u - high > SLACK * b:
                self._outside = self._outside or i + 1
        if gamma == 1.0:
            realised = 0.0
            promised = 0.0
            opening = shock * shock
            share = each
        else:
            realised = kept * self._realised + shock * shock
            fresh = self._var_d + gamma * (2.0 * self._cov + gamma * self._var_p)
            promised = kept * self._promised + max(0.0, fresh) * each
            opening = share = 0.0
            if self._share > FORGOTTEN:
                opening = kept * self._opening
                share = kept * self._share

        # the moments with this pair
        pace = 1.0
        change = level = var_d = var_p = cov = 0.0
        if i > 1:
            pace = self._pace
            if i < EXACT or i % EXACT == 0:
                pace = math.pow(i, -MEMORY)
            left = 1.0 - pace
            weight = pace * size
            off_d = loss - previous - self._change
            off_p = previous - self._level
            change = self._change + pace * off_d
            level = self._level + pace * off_p
            var_d = left * (self._var_d + weight * off_d * off_d)
            var_p = left * (self._var_p + weight * off_p * off_p)
            cov = left * (self._cov + weight * off_d * off_p)
        elif i == 1:
            change = loss - previous
            level = previous
        if i == 0:
            self._batch = size
        if gamma == 1.0:
            self._started = i + 1
        self._gamma = gamma
        self._realised = realised
        self._promised = promised
        self._opening = opening
        self._share = share
        self._pace = pace
        self._change = change
        self._level = level
        self._var_d = var_d
        self._var_p = var_p
        self._cov = cov

    def _plug_in(self) -> float:
        """Return the larger of what was promised and what was seen, and the first loss's share."""
        return max(self._promised, self._realised) + self._share * self._var_p
