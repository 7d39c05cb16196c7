"""The paper's estimator."""

import math
import re
import sys
from typing import Any

import numpy as np

from oeuvre import intervals, rates
from oeuvre._kernels.checks import to_float
from oeuvre._kernels.oeuvre import OeuvreCore
from oeuvre.errors import NotAvailable, NotSerializable
from oeuvre.estimators.arrays import Floats
from oeuvre.estimators.base import Estimator, count, fraction, nonnegative, number
from oeuvre.intervals import Interval, Side
from oeuvre.parameters import integer, invalid, real

__all__ = ["Oeuvre"]

RANGED = ("hoeffding", "anytime", "bernstein")
"""The kinds of interval that need bounds on the loss and on its change."""


def begin_evidence(
    params: dict[str, Any], state: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give a state from before there were intervals what they are made of.

    What its steps have shown is lost, and the sizes of their batches, so the widest that fits any
    stands in for it. A loss in [0, b] changes by at most b, so no u_t is farther than b from the
    middle of its range, and n of them add up to at most nb². The proxy W_t is at most V↑_t. The
    moments are those that keep the variance at V↑_t.
    """
    n, bound, gamma = state["n"], state["bound"], state["gamma"]
    b = 0.0 if params["b"] is None else state["b"]  # estimated constants bound nothing
    begun = {
        "batch": 1.0,
        "started": n if gamma == 1.0 else min(1, n),
        "outside": 0,
        "realised": 0.0,
        "promised": bound,
        "opening": n * b * b,
        "share": 1e-50,  # there, and too small to count: `promised` has it all
        "tight": bound if b > 0.0 else 0.0,
        "drop": b,
        "rise": b,
        "reach": b,
        "pace": max(1, n - n % 32) ** -0.7,
        "change": 0.0,
        "level": state["estimate"],
        "var_d": 2.0 * gamma * bound,
        "var_p": 0.0,
        "cov": 0.0,
    }
    return params, {**state, **begun}


class Oeuvre(OeuvreCore, Estimator):
    """The expected loss of the current model, after Algorithm 1 of the paper.

    Each step combines the losses of the current and of the previous model on one fresh sample
    (Equation 1 of the paper):

        L_t = ℓ_t(z_t) + (1 − γ_t)(L_{t−1} − ℓ_{t−1}(z_t))

    It is unbiased for weights γ_t fixed in advance, and with estimated constants from the step
    `burn_in` on. The weights minimise a bound on its variance (Equation 2),

        V↑_t = (γ_t b + (1 − γ_t) σ_t)² + (1 − γ_t)² V↑_{t−1},   V↑_1 = b²,

    where b bounds the standard deviation of a loss and σ_t = c r(t) that of its change in one
    step. A batch of B samples is one step with b/√B and σ_t/√B.

    Parameters
    ----------
    rate
        The order r(t) of the learner's stability: "1/sqrt(t)", "1/t", "constant", a rate of
        `oeuvre.rates`, or any function of the step t = 1, 2, ...
    b, c
        The constants, if they are known (both or neither; `c` may be 0: a model that does not
        move). Otherwise they are estimated from the steps before `burn_in`. Intervals of the kinds
        "hoeffding", "anytime" and "bernstein" take them at their word: losses lie in [0, b], and on
        no sample does one step change the loss by more than c r(t).
    burn_in
        The step t0 at which the estimated constants are frozen and the estimate starts anew; at
        least 4. Before it, `variance` means little. Steps whose rate is 0 add nothing to the
        constants. Not used if `b` and `c` are given.
    gamma
        None for the optimal weights of Equation 3. Otherwise weights fixed in advance (Equation
        5): "1/t", "max(1/t, 0.01)" for weights that stop falling at 0.01, "sigma" for
        `γ_t = σ_t`, "2.5*sigma" for `γ_t = 2.5 σ_t` (at most 1), or one number from 0 to 1.
        Weights of 1/t or one number do not depend on the constants, so the estimate runs from the
        first step without a restart.

    Notes
    -----
    Until two values are there to estimate b and c from, b0 = 2 and c0 = 1 serve, as constants of a
    step's mean loss. The variances are those of the population (divided by the number of steps)
    and are at least 1e-12, so losses smaller than about 1e-5 should be scaled up.

    Examples
    --------
    A running mean learns the centre of a stream; its loss is the squared error:

    >>> from oeuvre import Oeuvre
    >>> stream = [0.2, 0.9, 0.4, 0.6, 0.1, 0.7, 0.5, 0.3]
    >>> est = Oeuvre("1/t", b=0.25, c=0.25)
    >>> model = before = 0.0
    >>> for t, z in enumerate(stream, start=1):
    ...     est.update((z - model) ** 2, (z - before) ** 2)  # current model, previous model
    ...     before, model = model, model + (z - model) / t   # then learn
    >>> est
    Oeuvre(rate='1/t', b=0.25, c=0.25)
    >>> print(f"{est.get():.4f} ± {est.variance ** 0.5:.4f}")
    0.0846 ± 0.1400
    >>> print(est.interval())
    -0.07666 to 0.2458 (95 %)

    References
    ----------
    Pardeshi, Wilder, Singh (2025). OEUVRE: OnlinE Unbiased Variance-Reduced loss Estimation.
    """

    __slots__ = ("_planned",)

    _has_variance = True
    _needs_previous = True
    _fields = {
        "n": count,
        "estimate": number,
        "gamma": fraction,
        "bound": nonnegative,
        "retained": lambda value: fraction(value) and value != 0.0,
        "folds": count,
        "b": nonnegative,
        "c": nonnegative,
        "values": count,
        "mass": nonnegative,
        "change_mean": number,
        "change_spread": nonnegative,
        "loss_mean": number,
        "loss_spread": nonnegative,
        "p": nonnegative,
        "q": nonnegative,
        "r": nonnegative,
        "batch": nonnegative,
        "started": count,
        "outside": count,
        "realised": nonnegative,
        "promised": nonnegative,
        "opening": nonnegative,
        "share": fraction,
        "tight": nonnegative,
        "drop": nonnegative,
        "rise": nonnegative,
        "reach": nonnegative,
        "pace": fraction,
        "change": number,
        "level": number,
        "var_d": nonnegative,
        "var_p": nonnegative,
        "cov": number,
    }
    _migrations = (begin_evidence,)

    def __init__(
        self,
        rate: rates.RateLike = "1/sqrt(t)",
        *,
        b: float | None = None,
        c: float | None = None,
        burn_in: int = 30,
        gamma: float | str | None = None,
    ) -> None:
        order = rates.make(rate, "Oeuvre")
        if (b is None) != (c is None):
            missing, given = ("b", "c") if b is None else ("c", "b")
            raise invalid("Oeuvre", missing, f"given together with {given!r}", None)
        if b is not None:
            b = real("Oeuvre", "b", b, 1e-140, 1e140)
            c = real("Oeuvre", "c", c, 0.0, 1e140)
        burn_in = integer("Oeuvre", "burn_in", burn_in, 4)
        weights, value, gamma = read_gamma(gamma)
        self._params = {
            "rate": rates.word(order),
            "b": b,
            "c": c,
            "burn_in": burn_in,
            "gamma": gamma,
        }
        power, schedule = (order.exponent, None) if isinstance(order, rates.Power) else (0.0, order)
        known = b is not None
        self._planned: tuple[tuple[int, float], Oeuvre] | None = None
        self._configure(
            power, schedule, weights, value, b or 0.0, c or 0.0, 0 if known else burn_in
        )
        self._clear()

    def reset(self) -> None:
        """Forget everything but the parameters."""
        self._clear()

    @property
    def b(self) -> float:
        """The bound on the standard deviation of one loss: given, or estimated so far."""
        return self._b

    @property
    def c(self) -> float:
        """The constant in σ_t = c r(t), for one sample: given, or estimated so far."""
        return self._c

    @property
    def weight(self) -> float:
        """γ_t, the weight of the newest step."""
        self._check_started()
        return self._gamma

    @property
    def variance(self) -> float:
        """V↑_t, a bound on the variance of the estimate.

        It is as good as `b` and `c`: before the step `burn_in` they are guesses. `interval` has a
        variance of its own, from the losses that were seen.
        """
        self._check_started()
        return self._bound

    @property
    def effective_n(self) -> float:
        """b²/V↑_t: how many losses of a model that stands still would be worth as much.

        Like `variance`, it means little before the step `burn_in`.
        """
        self._check_started()
        return self._b * self._b / self._bound

    @property
    def log_retained(self) -> float:
        """Log Γ_t: Γ_t = Π(1 − γ_i), the share of the first loss since γ was last 1."""
        self._check_started()
        return self._log_retained()

    def _has_constants(self) -> bool:
        """Tell whether b and c are given, or have been estimated to the end."""
        return self._burn_in == 0 or (self._n >= self._burn_in and self._values >= 2)

    def _check_kind(self, kind: str) -> None:
        if kind in RANGED and self._burn_in > 0:
            raise NotAvailable(
                f"An interval of kind {kind!r} needs 'b' and 'c' to be given to Oeuvre, as bounds "
                "on the loss and on its change in a step: estimated ones bound nothing."
            )

    def _normal(self) -> tuple[float, float]:
        return self._estimate, self._plug_in() if self._n > 2 else math.inf

    def _interval(
        self, level: float, kind: str, side: Side, horizon: int | None, proxy: str
    ) -> Interval:
        if self._outside and kind in RANGED:
            raise NotAvailable(
                f"An interval of kind {kind!r} needs losses in [0, b] that change by at most "
                f"c r(t) in a step, and those of step {self._outside} do not. Give a larger 'b' or "
                "'c' that holds for every sample, and start again."
            )
        if kind == "normal":
            return super()._interval(level, kind, side, horizon, proxy)
        estimate, paper = self._estimate, proxy == "paper"
        if kind == "conservative":
            variance = self._bound if self._has_constants() else math.inf
            return intervals.normal(estimate, variance, level, side=side)
        spread = self._bound if paper else self._tight
        if kind == "hoeffding":
            return intervals.hoeffding(estimate, spread, level, side=side)
        seen = (self._realised + self._opening, self._drop, self._rise)
        if horizon is None:
            return intervals.bernstein(estimate, *seen, self._reach, level, side=side)

        # for all steps at once: those since the last start in the plan, known before any loss is
        plan = self._plan(horizon)
        if self._started != plan._started:
            half = self._b if self._gamma == 1.0 else math.inf  # one loss is at most b off
            return intervals.around(estimate, half, half, level, side)
        ratio = self._log_retained() - plan._log_retained()
        if kind == "anytime":
            final = plan._bound if paper else plan._tight
            return intervals.anytime(estimate, spread, final, ratio, level, side=side)
        return intervals.bernstein(estimate, *seen, plan._reach, level, side=side, log_ratio=ratio)

    def _plan(self, horizon: int) -> "Oeuvre":
        """Return an estimator after `horizon` steps, which is known before the first of them."""
        wanted = horizon, self._batch
        if self._planned is None or self._planned[0] != wanted:
            ahead = self.clone()
            ahead._run_ahead(horizon, self._batch)
            self._planned = wanted, ahead
        return self._planned[1]

    def _rates_ahead(self, steps: int) -> Floats | None:
        if self._schedule is None:
            return None
        return np.array([self._schedule(t) for t in range(self._n + 1, self._n + steps + 1)])

    def _encode_params(self) -> dict[str, Any]:
        rate = self._params["rate"]
        if isinstance(rate, rates.Schedule):
            raise NotSerializable(
                f"A state is written as data, and {rate!r} is code. Save an Oeuvre with a rate "
                "that is a word or a rates.Power, and give the rate at each update instead."
            )
        exponent = {"exponent": rate.exponent} if isinstance(rate, rates.Power) else rate
        return {**self._params, "rate": exponent}

    @classmethod
    def _decode_params(cls, params: dict[str, Any]) -> dict[str, Any]:
        rate = params["rate"]
        return {**params, "rate": rates.Power(**rate) if isinstance(rate, dict) else rate}


def read_gamma(gamma: float | str | None) -> tuple[str, float, float | str | None]:
    """Return where the weights come from, their κ or γ, and the parameter in its plainest form."""
    if gamma is None:
        return "optimal", 0.0, None
    wanted = (
        "None, '1/t', 'max(1/t, 0.01)' or the like, 'sigma', a multiple such as '2.5*sigma', "
        "or a number from 0 to 1"
    )
    if not isinstance(gamma, str):
        value = math.nan if isinstance(gamma, bool) else to_float(gamma)
        if not 0.0 <= value <= 1.0:
            raise invalid("Oeuvre", "gamma", wanted, gamma)
        return "constant", value, value
    if gamma == "1/t":
        return "1/t", 0.0, gamma
    for pattern, weights, largest in (
        (r"max\(1/t, ?(.+)\)", "1/t", 1.0),
        (r"(?:(.+)\*)?sigma", "sigma", sys.float_info.max),
    ):
        if match := re.fullmatch(pattern, gamma):
            try:
                value = float(match[1] or 1.0)
            except ValueError:
                break
            if 0.0 < value <= largest:
                return weights, value, gamma
    raise invalid("Oeuvre", "gamma", wanted, gamma)
