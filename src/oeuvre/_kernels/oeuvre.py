"""The paper's recursions, Equations 1 to 5, and the state they advance.

The functions at the top are the arithmetic; `OeuvreCore` holds one stream's state and is the base
of the public `Oeuvre`. They share one module so that the compiler inlines the arithmetic. Cython
compiles it with the types of `oeuvre.pxd`; the same lines run as plain Python, to the same floats.

Symbols: gamma is the weight γ_t, bound is V↑_t, sigma is σ_t = c r(t), b bounds the standard
deviation of a loss. A batch of B samples is one observation with b/√B and σ_t/√B in their place.
"""

import math
from collections.abc import Callable
from typing import Any

from oeuvre._kernels.checks import as_loss, as_previous, as_rate, overflow
from oeuvre._kernels.evidence import EvidenceCore

__all__ = [
    "WEIGHTS",
    "OeuvreCore",
    "add_moment",
    "batch_scale",
    "bound_step",
    "bound_terms",
    "combine",
    "fixed_weight",
    "optimal_step",
    "power_rate",
    "retain",
    "settled",
]

WEIGHTS = ("optimal", "1/t", "sigma", "constant")
"""Where the weights come from: Equation 3, 1/t (or a least value), κσ_t, or one number."""
OPTIMAL = 0
HARMONIC = 1
SIGMA = 2
CONSTANT = 3

START_B = 2.0
"""b0: the spread of a step's mean loss, until two values are there to estimate it."""
START_C = 1.0
"""c0: the spread of a step's mean change of loss per unit of rate, likewise."""
FLOOR = 1e-12
"""ε: the least value of an estimated b² or c²."""

SMALL = 2.0**-256
"""Γ_t is kept as retained · SMALL^folds, so that it neither underflows nor loses digits."""


def combine(loss: float, previous: float, estimate: float, gamma: float) -> float:
    """Equation 1: L_t = ℓ_t(z_t) + (1 − γ_t)(L_{t−1} − ℓ_{t−1}(z_t))."""
    return loss + (1.0 - gamma) * (estimate - previous)


def bound_step(bound: float, sigma: float, b: float, gamma: float) -> float:
    """Equation 2: V↑_t = (γ_t b + (1 − γ_t) σ_t)² + (1 − γ_t)² V↑_{t−1}."""
    keep = 1.0 - gamma
    mixed = gamma * b + keep * sigma
    return mixed * mixed + keep * keep * bound


def bound_terms(
    p: float, q: float, r: float, gamma: float, rate: float, size: float
) -> tuple[float, float, float]:
    """Equation 2 for constants that are found later.

    With σ_t = c r(t) it is a quadratic form V↑_t = b² P_t + 2bc Q_t + c² R_t whose terms know
    nothing of b and c:

        P_t = γ_t²             + (1 − γ_t)² P_{t−1}
        Q_t = γ_t (1 − γ_t) r  + (1 − γ_t)² Q_{t−1}
        R_t = (1 − γ_t)² r²    + (1 − γ_t)² R_{t−1}

    (the first summand divided by the size of the batch). So weights that do not depend on b and c
    run from the first step, and the bound is right for whatever constants are found later.
    """
    keep = 1.0 - gamma
    kept = keep * keep
    moved = keep * rate
    each = 1.0 / size
    return (
        kept * p + gamma * gamma * each,
        kept * q + gamma * moved * each,
        kept * r + moved * moved * each,
    )


def optimal_step(bound: float, sigma: float, b: float) -> tuple[float, float]:
    """Equations 3 and 4: the weight that minimises Equation 2, and the minimum.

    γ*_t = 0,   V↑_t = σ_t² + V↑_{t−1}                         if V↑_{t−1} ≤ σ_t (b − σ_t)
    γ*_t = 1,   V↑_t = b²                                      if σ_t ≥ b
    γ*_t = (V↑_{t−1} − σ_t (b − σ_t)) / (V↑_{t−1} + (b − σ_t)²),
                V↑_t = b² V↑_{t−1} / (V↑_{t−1} + (b − σ_t)²)   otherwise
    """
    if sigma >= b:
        return 1.0, b * b
    gap = b - sigma
    if bound <= sigma * gap:
        return 0.0, bound + sigma * sigma
    whole = bound + gap * gap
    return (bound - sigma * gap) / whole, b * b * (bound / whole)


def fixed_weight(mode: int, value: float, t: int, sigma: float) -> float:
    """Equation 5: γ_t = 1/t (from a least value on constant), or κσ_t (at most 1); or constant."""
    if mode == HARMONIC:
        return max(1.0 / t, value)
    if mode == CONSTANT:
        return value
    return min(1.0, value * sigma)


def retain(retained: float, folds: int, gamma: float) -> tuple[float, int]:
    """Γ_t = (1 − γ_t) Γ_{t−1}, the share of the first loss still in L_t; γ_t = 1 starts it anew."""
    retained *= 1.0 - gamma
    if retained > SMALL:
        return retained, folds
    if gamma == 1.0:
        return 1.0, 0
    return retained / SMALL, folds + 1


def power_rate(exponent: float, t: int) -> float:
    """r(t) = t^−p."""
    if exponent == 0.5:
        return 1.0 / math.sqrt(t)
    if exponent == 1.0:
        return 1.0 / t
    if exponent == 0.0:
        return 1.0
    return math.pow(t, -exponent)


def settled(n: int, burn_in: int, mode: int, values: int) -> bool:
    """Tell whether the constants are final and the weights optimal, as in most steps."""
    return n > 0 and n >= burn_in and mode == OPTIMAL and (values >= 2 or burn_in == 0)


def batch_scale(size: float) -> float:
    """1/√B: what the constants of one sample are to be multiplied by for the mean of a batch."""
    return 1.0 if size == 1.0 else 1.0 / math.sqrt(size)


def add_moment(
    mass: float, mean: float, spread: float, value: float, size: float
) -> tuple[float, float]:
    """Add a value of weight `size` to a mean and to the sum of squares around it.

    `mass` is the sum of the weights, this one included.
    """
    delta = value - mean
    mean += delta * (size / mass)
    return mean, spread + size * delta * (value - mean)


def quick(value: Any, name: str) -> float:
    """Do what `as_loss` does, with the common case in this module, where it is inlined."""
    if isinstance(value, float):
        number = float(value)
        if math.isfinite(number):
            return number
    return as_loss(value, name)


class OeuvreCore(EvidenceCore):
    """One stream's state and Algorithm 1, which advances it."""

    __slots__ = (
        "_b",
        "_bound",
        "_burn_in",
        "_c",
        "_change_mean",
        "_change_spread",
        "_folds",
        "_known_b",
        "_known_c",
        "_loss_mean",
        "_loss_spread",
        "_mass",
        "_mode",
        "_p",
        "_power",
        "_q",
        "_r",
        "_retained",
        "_schedule",
        "_value",
        "_values",
    )

    _schedule: Callable[[int], float] | None

    def _configure(
        self,
        power: float,
        schedule: Callable[[int], float] | None,
        weights: str,
        value: float,
        b: float,
        c: float,
        burn_in: int,
    ) -> None:
        """Set what does not change.

        r(t) is t^−power, or `schedule`; the weights are one of WEIGHTS, with `value` as their κ or
        γ; a `burn_in` of 0 says that `b` and `c` are known.
        """
        self._power = power
        self._schedule = schedule
        self._mode = WEIGHTS.index(weights)
        self._value = value
        self._known_b = b
        self._known_c = c
        self._burn_in = burn_in

    def _clear(self) -> None:
        """Go back to before the first step."""
        self._n = 0
        self._estimate = 0.0
        self._clear_evidence()
        self._bound = 0.0
        self._retained = 1.0
        self._folds = 0
        self._b = START_B if self._burn_in else self._known_b
        self._c = START_C if self._burn_in else self._known_c
        self._values = 0
        self._mass = 0.0
        self._change_mean = 0.0
        self._change_spread = 0.0
        self._loss_mean = 0.0
        self._loss_spread = 0.0
        self._p = 0.0
        self._q = 0.0
        self._r = 0.0

    def _rate_now(self, rate: Any) -> float:
        """Return the rate of the coming step: the one given, or the schedule's."""
        if rate is not None:
            return as_rate(rate)
        if self._schedule is not None:
            return self._schedule(self._n + 1)
        return power_rate(self._power, self._n + 1)

    def _advance(self, loss: float, previous: float, rate: float, size: float) -> None:
        """Take step t of Algorithm 1; the arguments are finite. All of the state moves, or none."""
        if settled(self._n, self._burn_in, self._mode, self._values):
            scale = batch_scale(size)
            sigma = self._c * rate
            gamma, bound = optimal_step(self._bound, sigma * scale, self._b * scale)
            estimate = combine(loss, previous, self._estimate, gamma)
            if not math.isfinite(estimate):
                raise overflow(loss, previous, rate)
            self._note(loss, previous, gamma, sigma, self._b, size, self._burn_in == 0)
            self._keep(estimate, bound)
        else:
            self._advance_unsettled(loss, previous, rate, size)

    def _advance_unsettled(self, loss: float, previous: float, rate: float, size: float) -> None:
        """Take a step whose constants may still change, or whose weights are fixed."""
        t = self._n + 1
        burning = 1 < t < self._burn_in and rate > 0.0
        scale = batch_scale(size)
        b = self._b
        c = self._c
        if self._values < 2 and self._burn_in > 0:
            b = START_B / scale  # b0 and c0 are of the step's mean, whatever its size
            c = START_C / scale

        # Equations 1 to 5 with the constants so far; weights that depend on them start anew at t0
        sigma = c * rate * scale
        if t == 1 or (t == self._burn_in and self._mode in (OPTIMAL, SIGMA)):
            gamma = 1.0
            estimate = loss
            bound = b * scale * (b * scale)
        else:
            if self._mode == OPTIMAL:
                gamma, bound = optimal_step(self._bound, sigma, b * scale)
            else:
                gamma = fixed_weight(self._mode, self._value, t, sigma)
                bound = bound_step(self._bound, sigma, b * scale, gamma)
            estimate = combine(loss, previous, self._estimate, gamma)

        # the burn-in's values, and the constants they give
        values = self._values
        mass = self._mass
        change_mean = change_spread = loss_mean = loss_spread = 0.0
        if burning:
            values += 1
            mass += size
            change_mean, change_spread = add_moment(
                mass, self._change_mean, self._change_spread, (loss - previous) / rate, size
            )
            loss_mean, loss_spread = add_moment(
                mass, self._loss_mean, self._loss_spread, loss, size
            )
            if values >= 2:
                c = math.sqrt(max(FLOOR * mass, change_spread) / values)
                b = math.sqrt(max(FLOOR * mass, loss_spread) / values)

        p = q = r = 0.0
        if self._mode != OPTIMAL:
            p, q, r = bound_terms(self._p, self._q, self._r, gamma, rate, size)
            if values >= 2 or self._burn_in == 0:
                bound = b * (b * p + 2.0 * c * q) + c * c * r
        if not (
            math.isfinite(estimate)
            and math.isfinite(bound)
            and math.isfinite(change_spread)
            and math.isfinite(loss_spread)
        ):
            raise overflow(loss, previous, rate)
        self._note(loss, previous, gamma, sigma / scale, self._b, size, self._burn_in == 0)

        if burning:
            self._values = values
            self._mass = mass
            self._change_mean = change_mean
            self._change_spread = change_spread
            self._loss_mean = loss_mean
            self._loss_spread = loss_spread
        self._b = b
        self._c = c
        self._p = p
        self._q = q
        self._r = r
        self._keep(estimate, bound)

    def _keep(self, estimate: float, bound: float) -> None:
        """Write down the results of a step whose weight is noted."""
        self._retained, self._folds = retain(self._retained, self._folds, self._gamma)
        self._estimate = estimate
        self._bound = bound
        self._n += 1

    def update(self, loss: Any, previous: Any = None, *, rate: Any = None) -> None:
        """Take one step with one fresh sample.

        Parameters
        ----------
        loss
            The loss of the current model on the sample.
        previous
            The loss of the model one step earlier on the same sample. Not needed at the first step.
        rate
            The stability rate r(t) of this step, instead of the schedule's; 0 says that the model
            did not move.
        """
        cur = quick(loss, "loss")
        if previous is not None and self._n > 0:
            prev = quick(previous, "previous")
        else:
            prev = as_previous(previous, self._n, cur, True)
        if rate is None and self._schedule is None:  # as in _rate_now, without the call
            pace = power_rate(self._power, self._n + 1)
        else:
            pace = self._rate_now(rate)
        self._advance(cur, prev, pace, 1.0)

    def _update_batch(self, loss: float, previous: Any, rate: Any, size: float) -> None:
        """Take one step with the mean losses of a batch."""
        cur = as_loss(loss, "losses")
        self._advance(cur, as_previous(previous, self._n, cur, True), self._rate_now(rate), size)

    def _step(self, loss: float, previous: float, rate: float, size: float) -> None:
        """Take one step with checked numbers; a negative rate stands for the own schedule's."""
        self._advance(loss, previous, self._rate_now(None) if rate < 0.0 else rate, size)

    def _run_ahead(self, steps: int, size: float) -> None:
        """Take steps of the own schedule with losses of 0, for what does not depend on them."""
        for _ in range(steps):
            self._advance(0.0, 0.0, self._rate_now(None), size)

    def _newest(self) -> float:
        """Return γ_t."""
        return self._gamma

    def _log_retained(self) -> float:
        """Return log Γ_t."""
        return math.log(self._retained) + self._folds * math.log(SMALL)

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
        """Take a step for each entry of checked buffers; `rates` and `sizes` may be None."""
        for i in range(len(losses)):
            rate = power_rate(self._power, self._n + 1) if rates is None else rates[i]
            self._advance(losses[i], previous[i], rate, 1.0 if sizes is None else sizes[i])
            estimate[i] = self._estimate
            variance[i] = self._bound
            weight[i] = self._gamma
