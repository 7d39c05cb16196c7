"""Weights from running moments instead of a rate, one gain or two, and the state they advance.

`L_t = L_{t−1} + β_t d_t + γ_t (p_t − L_{t−1})` with `d = ℓ_t(z_t) − ℓ_{t−1}(z_t)` and
`p = ℓ_{t−1}(z_t)`: with β = 1 it is the paper's Equation 1, with β = γ an average of losses.

Symbols: var_p, var_d and cov are the moments of one sample's (p, d) around their current means, B
is the size of the batch, ratio is q = V/var_p, the variance of the estimate in units of that of a
loss, and lag is the bias that β < 1 leaves behind, in units of the square root of var_p. Compiled
by Cython with the types of `adaptive.pxd`; the same lines run as plain Python, to the same floats.
"""

import math
from typing import Any

from oeuvre._kernels.checks import (
    as_loss,
    as_previous,
    as_rate,
    overflow,
    too_large_to_square,
)
from oeuvre._kernels.core import Core

__all__ = ["AdaptiveCore", "forget", "one_gain", "spread_ratio", "two_gains"]

INFINITE = float("inf")
MEMORY = 0.7
"""The moments forget: the i-th pair moves them by i^−MEMORY. 1 would freeze, 0.5 chase noise."""
ENOUGH = 3
"""The first pair whose gains come from moments; before it two values are not there."""
NEGLIGIBLE = 1e-200
"""Below this part of the change's second moment the variance of the loss counts as 0."""
ROUNDING = 1e-12
"""What is left of sums that cancel, and the least determinant, in units of their parts."""

FORGOTTEN = 1e-100
"""A share of the first loss below this counts as none: numbers near the least float are slow."""

LARGEST = 1e100
"""The largest innovation that a detector of another library is given."""
SLACK = 0.25
"""The built-in test of drift: what a standardised innovation must exceed to count."""
ALARM = 25.0
"""The built-in test of drift: the sum of such excesses that sets it off."""
CLIP = 3.0
"""The built-in test of drift: the largest innovation that counts in full."""


def forget(mean: float, value: float, pace: float) -> float:
    """Move a running mean toward a value: m + a (x − m)."""
    return mean + pace * (value - mean)


def spread_ratio(
    ratio: float, beta: float, gamma: float, rd: float, rc: float, size: float
) -> float:
    """q_t = (1 − γ)² q_{t−1} + (β² var_d + 2βγ cov + γ² var_p) / (B var_p).

    `rd` and `rc` are var_d and cov over var_p. Change and loss that cancel each other to the last
    digits leave at least rounding errors.
    """
    keep = 1.0 - gamma
    apart = beta * beta * rd + gamma * gamma
    fresh = max(ROUNDING * apart, apart + 2.0 * beta * gamma * rc)
    return keep * keep * ratio + fresh / size


def one_gain(ratio: float, rc: float, size: float, least: float) -> float:
    """Return the γ that minimises `spread_ratio` for β = 1: (B q − cov/var_p) / (B q + 1).

    At least `least`, the weight that a mean of all samples gives to these.
    """
    return min(1.0, max(least, (size * ratio - rc) / (size * ratio + 1.0)))


def two_gains(
    ratio: float, lag: float, rd: float, rc: float, drift: float, size: float, least: float
) -> tuple[float, float]:
    """Return the β and γ that minimise `q_t + lag_t²`, with γ ≤ β ≤ 1 and γ ≥ least.

    With m = `drift`, the mean change per step in units of the square root of var_p, the lag becomes
    `(1 − γ) lag + (1 − β) m`. The sum is quadratic in (β, γ); times B, its minimum solves

        (rd + B m²)      β + (rc + B m lag)       γ = B m (lag + m)
        (rc + B m lag)   β + (B q + 1 + B lag²)   γ = B (q + lag (lag + m))

    Where that minimum lies outside the triangle of what is allowed, it is on one of its edges.
    """
    a = rd + size * drift * drift
    c = rc + size * drift * lag
    b = size * (ratio + lag * lag) + 1.0
    u = size * drift * (lag + drift)
    v = size * (ratio + lag * (lag + drift))
    if a <= 0.0:  # the models have not moved: the change is 0 whatever its gain
        gamma = min(1.0, max(least, v / b))
        return gamma, gamma
    determinant = a * b - c * c
    beta = gamma = -1.0
    if determinant > ROUNDING * a * b:
        beta = (u * b - c * v) / determinant
        gamma = (a * v - c * u) / determinant
    if least <= gamma <= beta <= 1.0:
        return beta, gamma
    # outside, or nowhere in particular: the best point of the three edges β = 1, β = γ, γ = least
    whole = a + 2.0 * c + b
    edge = min(1.0, max(least, (v - c) / b))
    best = b * edge * edge - 2.0 * (v - c) * edge + a - 2.0 * u
    beta = 1.0
    gamma = edge
    edge = min(1.0, max(least, (u + v) / whole)) if whole > 0.0 else least
    value = whole * edge * edge - 2.0 * (u + v) * edge
    if value < best:
        best = value
        beta = gamma = edge
    edge = min(1.0, max(least, (u - c * least) / a))
    value = a * edge * edge - 2.0 * (u - c * least) * edge + (b * least - 2.0 * v) * least
    if value < best:
        beta = edge
        gamma = least
    return beta, gamma


class AdaptiveCore(Core):
    """One stream's state: the estimate, the moments its gains come from, and its variance."""

    __slots__ = (
        "_beta",
        "_change",
        "_cov",
        "_cusum",
        "_detector",
        "_down",
        "_gamma",
        "_kept",
        "_lag",
        "_level",
        "_long_p",
        "_pace",
        "_pairs",
        "_ratio",
        "_realised",
        "_restarts",
        "_samples",
        "_two_gain",
        "_up",
        "_var_d",
        "_var_p",
    )

    _detector: Any

    def _configure(self, two_gain: bool, cusum: bool) -> None:
        self._two_gain = two_gain
        self._cusum = cusum
        self._detector = None

    def _clear(self) -> None:
        """Go back to before the first step."""
        self._n = 0
        self._restarts = 0
        self._start(0.0, 1.0)

    def _start(self, loss: float, size: float) -> None:
        """Begin with one loss and no moments."""
        self._estimate = loss
        self._beta = 1.0
        self._gamma = 1.0
        self._ratio = 1.0 / size
        self._lag = 0.0
        self._pairs = 0
        self._samples = size
        self._pace = 1.0
        self._change = 0.0
        self._level = 0.0
        self._var_d = 0.0
        self._var_p = 0.0
        self._cov = 0.0
        self._long_p = 0.0
        self._realised = 0.0
        self._kept = 1.0 / size
        self._up = 0.0
        self._down = 0.0

    def _advance(self, loss: float, previous: float, size: float) -> None:
        """Take one step; the arguments are finite. All of the state moves, or none."""
        if self._n > 0:
            self._advance_pair(loss, previous, size)
        else:
            self._start(loss, size)
            self._n = 1

    def _advance_pair(self, loss: float, previous: float, size: float) -> None:
        """Take a step that has one before it."""
        i = self._pairs + 1
        d = loss - previous
        innovation = previous - self._estimate
        var_p = self._var_p
        var_d = self._var_d
        samples = self._samples + size

        # gains from the moments of the pairs before this one
        beta = 1.0
        gamma = size / samples
        ratio = 1.0 / samples
        lag = 0.0
        up = self._up
        down = self._down
        if i >= ENOUGH:
            if var_p > NEGLIGIBLE * (var_d + self._change * self._change):
                rd = var_d / var_p
                rc = self._cov / var_p
                if self._two_gain:
                    # the squared mean change, less what noise alone would make of it
                    noise = var_d * (self._pairs / self._samples) * self._pace / (2.0 - self._pace)
                    drift = math.sqrt(max(0.0, self._change * self._change - noise) / var_p)
                    beta, gamma = two_gains(self._ratio, self._lag, rd, rc, drift, size, gamma)
                    lag = (1.0 - gamma) * self._lag + (1.0 - beta) * drift
                else:
                    gamma = one_gain(self._ratio, rc, size, gamma)
                ratio = spread_ratio(self._ratio, beta, gamma, rd, rc, size)
                if self._cusum:
                    # after a run of equal losses var_p is small, and the next one no surprise
                    z = innovation / math.sqrt(
                        max(var_p, self._long_p) * (1.0 / size + self._ratio)
                    )
                    z = min(CLIP, max(-CLIP, z))
                    up = max(0.0, up + z - SLACK)
                    down = max(0.0, down - z - SLACK)
            elif self._two_gain:
                beta = gamma
            elif var_d > 0.0:  # looks without noise at a loss that moves: the newest is best
                gamma = 1.0
                ratio = 1.0 / size
        keep = 1.0 - gamma
        estimate = self._estimate + beta * d + gamma * innovation
        shock = beta * (d - self._change) + gamma * innovation
        realised = keep * keep * self._realised + shock * shock

        # the moments with this pair
        change = d
        level = previous
        pace = 1.0
        var_d = var_p = cov = long_p = 0.0
        if i > 1:
            pace = math.pow(i, -MEMORY)
            off_d = d - self._change
            off_p = previous - self._level
            change = forget(self._change, d, pace)
            level = forget(self._level, previous, pace)
            kept = 1.0 - pace
            var_d = kept * (self._var_d + pace * size * off_d * off_d)
            var_p = kept * (self._var_p + pace * size * off_p * off_p)
            cov = kept * (self._cov + pace * size * off_d * off_p)
            long_p = forget(self._long_p, size * off_p * off_p, 1.0 / i)
        if not (
            math.isfinite(estimate)
            and math.isfinite(realised)
            and math.isfinite(var_d + var_p + long_p)
            and math.isfinite(cov)
            and math.isfinite(change * change)
        ):
            raise overflow(loss, previous, -1.0)

        alarm = up > ALARM or down > ALARM
        if self._detector is not None:
            if abs(innovation) > LARGEST:
                raise too_large_to_square(loss, previous)
            self._detector.update(innovation)
            alarm = self._detector.drift_detected
        self._n += 1
        if alarm:
            self._start(loss, size)
            self._restarts += 1
        else:
            self._estimate = estimate
            self._beta = beta
            self._gamma = gamma
            self._ratio = ratio
            self._lag = lag
            self._pairs = i
            self._samples = samples
            self._pace = pace
            self._change = change
            self._level = level
            self._var_d = var_d
            self._var_p = var_p
            self._cov = cov
            self._long_p = long_p
            self._realised = realised
            self._kept = keep * keep * self._kept if self._kept > FORGOTTEN else 0.0
            self._up = up
            self._down = down

    def _spread(self) -> float:
        """Return the variance (with two gains: the mean squared error) of the estimate.

        The larger of what the moments promise and what the steps have shown, R_t + Γ_t² var_p with
        `R_t = (1 − γ)² R_{t−1} + (β (d − mean d) + γ (p − L_{t−1}))²`; infinite without moments.
        """
        if self._pairs < 2:
            return INFINITE
        seen = self._realised + self._kept * self._var_p
        return max(self._ratio * self._var_p, seen) + self._lag * self._lag * self._var_p

    def update(self, loss: Any, previous: Any = None, *, rate: Any = None) -> None:
        """Take one step with one fresh sample.

        Parameters
        ----------
        loss
            The loss of the current model on the sample.
        previous
            The loss of the model one step earlier on the same sample. Not needed at the first step.
        rate
            There so that every estimator can be called alike; checked and not used.
        """
        if isinstance(loss, float) and isinstance(previous, float) and rate is None:
            cur = float(loss)
            prev = float(previous)
            if self._n > 0 and math.isfinite(cur) and math.isfinite(prev):
                self._advance(cur, prev, 1.0)
                return
        self._update_batch(loss, previous, rate, 1.0)

    def _update_batch(self, loss: Any, previous: Any, rate: Any, size: float) -> None:
        """Take one step with the mean losses of a batch."""
        cur = as_loss(loss, "loss")
        prev = as_previous(previous, self._n, cur, True)
        if rate is not None:
            as_rate(rate)
        self._advance(cur, prev, size)

    def _step(self, loss: float, previous: float, rate: float, size: float) -> None:
        """Take one step with checked numbers; there is no rate to use."""
        self._advance(loss, previous, size)

    def _newest(self) -> float:
        """Return γ_t."""
        return self._gamma

    def _replay(
        self,
        losses: Any,
        previous: Any,
        rates: Any,
        sizes: Any,
        estimate: Any,
        variance: Any,
        weight: Any,
    ) -> None:
        """Take a step for each entry of checked buffers; `sizes` may be None."""
        for i in range(len(losses)):
            self._advance(losses[i], previous[i], 1.0 if sizes is None else sizes[i])
            estimate[i] = self._estimate
            variance[i] = self._spread()
            weight[i] = self._gamma
