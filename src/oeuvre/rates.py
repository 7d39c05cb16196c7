"""Stability rates r(t): how fast one more sample's hold on the learner shrinks.

The loss of step t differs from the loss of step t − 1 by at most σ_t = c r(t) (in the sense of a
standard deviation is enough). The order r(t) is known for many learners; the constant c is
estimated in the burn-in, or given.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from oeuvre._kernels.checks import as_rate
from oeuvre._kernels.oeuvre import power_rate
from oeuvre.parameters import integer, invalid, real

__all__ = ["LEARNERS", "Power", "Rate", "RateLike", "Schedule", "for_learner", "make", "word"]


@dataclass(frozen=True, slots=True)
class Power:
    """r(t) = t^−exponent. Exponent 0 is a constant rate.

    Examples
    --------
    >>> from oeuvre import rates
    >>> rates.Power(0.5)(4)
    0.5
    """

    exponent: float

    def __post_init__(self) -> None:
        exponent = real("Power", "exponent", self.exponent, 0.0, math.inf)
        object.__setattr__(self, "exponent", exponent)

    def __call__(self, t: int) -> float:
        """Return r(t)."""
        return power_rate(self.exponent, integer("Power", "t", t, 1))

    def __repr__(self) -> str:
        return f"rates.Power({self.exponent!r})"


@dataclass(frozen=True, slots=True)
class Schedule:
    """r(t) = function(t), for t = 1, 2, ...: finite and at least 0; 0 where the model rests.

    Examples
    --------
    A warm-up of 100 steps in which the model does not move, then 1/√t:

    >>> from oeuvre import Oeuvre, rates
    >>> def warm(t):
    ...     return 0.0 if t <= 100 else (t - 100) ** -0.5
    >>> Oeuvre(rates.Schedule(warm), burn_in=150)
    Oeuvre(rate=rates.Schedule(warm), burn_in=150)
    """

    function: Callable[[int], float]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise invalid("Schedule", "function", "a callable of the step t", self.function)

    def __call__(self, t: int) -> float:
        """Return r(t)."""
        return as_rate(self.function(t))

    def __repr__(self) -> str:
        return f"rates.Schedule({getattr(self.function, '__name__', repr(self.function))})"


Rate: TypeAlias = Power | Schedule
RateLike: TypeAlias = Rate | str | Callable[[int], float]

WORDS = {"1/t": 1.0, "1/sqrt(t)": 0.5, "constant": 0.0}

LEARNERS: dict[str, str | None] = {
    "ftl": "1/t",
    "ftrl": "1/sqrt(t)",
    "rda": "1/sqrt(t)",
    "iol": None,
    "omd": None,
    "omd with averaging": "1/t",
}
"""The paper's Table 1; None stands for the learner's own step size η_t."""


def make(rate: RateLike, owner: str = "make", name: str = "rate") -> Rate:
    """Turn a word ("1/t", "1/sqrt(t)", "constant") or a function of t into a rate.

    `owner` and `name` are what an error calls the argument.
    """
    if isinstance(rate, Power | Schedule):
        return rate
    if isinstance(rate, str) and rate in WORDS:
        return Power(WORDS[rate])
    if callable(rate):
        return Schedule(rate)
    words = ", ".join(repr(word) for word in WORDS)
    raise invalid(owner, name, f"one of {words}, a rate or a function of the step t", rate)


def word(rate: Rate) -> Rate | str:
    """Return the word that stands for `rate`, or `rate` itself if there is none."""
    for name, exponent in WORDS.items():
        if rate == Power(exponent):
            return name
    return rate


def for_learner(name: str, step_size: RateLike = "1/sqrt(t)") -> Rate:
    """Return the order of stability of a learner, after the paper's Table 1.

    Parameters
    ----------
    name
        "ftl" (follow the leader on strongly convex losses, such as a running mean), "ftrl"
        (regularised: online ridge regression), "rda" (regularised dual averaging), "iol" (implicit
        online learning), "omd" (online mirror descent: online gradient descent, Hedge) or
        "omd with averaging" (Polyak's average of the iterates). Case does not matter, and hyphens
        or underscores may stand for the spaces.
    step_size
        η_t of "iol" and "omd", whose stability is of that order.

    Examples
    --------
    >>> from oeuvre import rates
    >>> rates.for_learner("FTL")
    rates.Power(1.0)
    >>> rates.for_learner("omd", step_size="constant")
    rates.Power(0.0)
    """
    key = re.sub("[-_]", " ", name.casefold()) if isinstance(name, str) else ""
    if key not in LEARNERS:
        raise invalid("for_learner", "name", "one of " + ", ".join(map(repr, LEARNERS)), name)
    return make(LEARNERS[key] or step_size, "for_learner", "step_size")
