"""The value that every interval is."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, TypeAlias

from oeuvre.errors import InvalidParameter
from oeuvre.parameters import invalid, real

__all__ = ["Interval", "Side", "around", "tail"]

Side: TypeAlias = Literal["two", "lower", "upper"]


@dataclass(frozen=True, slots=True)
class Interval:
    """Where the expected loss of the current model lies, and with what confidence.

    A one-sided interval is infinite at its other end; if nothing is known yet, both ends are.

    Examples
    --------
    >>> from oeuvre import Interval
    >>> interval = Interval(0.29, 0.33, level=0.95)
    >>> 0.3 in interval, f"{interval.center:.2f} ± {interval.width / 2:.2f}"
    (True, '0.31 ± 0.02')
    >>> print(interval)
    0.29 to 0.33 (95 %)
    >>> f"{interval:.3f}"
    '0.290 to 0.330 (95 %)'
    >>> lower, upper = interval
    """

    lower: float
    upper: float
    level: float

    @property
    def width(self) -> float:
        """The distance of the ends."""
        return self.upper - self.lower

    @property
    def center(self) -> float:
        """The middle; infinite for a one-sided interval, NaN if nothing is known."""
        return 0.5 * self.lower + 0.5 * self.upper

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:
            raise invalid("Interval", "lower", f"at most 'upper', {self.upper!r}", self.lower)
        if not 0.0 < self.level < 1.0:
            raise invalid("Interval", "level", "a number between 0 and 1", self.level)

    def __iter__(self) -> Iterator[float]:
        yield self.lower
        yield self.upper

    def __contains__(self, value: float) -> bool:
        return self.lower <= value <= self.upper

    def __and__(self, other: object) -> NoReturn:
        raise TypeError(
            "Intervals of a moving loss must not be intersected: each is about the model of its "
            "own step, and the loss has moved since. The newest interval is the one to use."
        )

    __rand__ = __and__

    def __str__(self) -> str:
        return f"{self:.4g}"

    def __format__(self, spec: str) -> str:
        """Write both ends as a float would be written, and the level."""
        spec = spec or ".4g"
        return f"{self.lower:{spec}} to {self.upper:{spec}} ({100 * self.level:g} %)"


def tail(owner: str, level: Any, side: Any) -> float:
    """Return the probability that a side may be missed with, or raise InvalidParameter."""
    try:
        miss = 1.0 - real(owner, "level", level, 0.0, 1.0)
    except InvalidParameter:
        miss = math.nan
    if not 0.0 < miss < 1.0:
        raise invalid(owner, "level", "a number between 0 and 1", level)
    if not (isinstance(side, str) and side in ("two", "lower", "upper")):
        raise invalid(owner, "side", "'two', 'lower' or 'upper'", side)
    return 0.5 * miss if side == "two" else miss


def around(estimate: float, below: float, above: float, level: float, side: Side) -> Interval:
    """Return the interval that reaches so far below and above an estimate; a NaN knows nothing."""
    lower = -math.inf if side == "upper" or math.isnan(below) else estimate - below
    upper = math.inf if side == "lower" or math.isnan(above) else estimate + above
    return Interval(lower, upper, float(level))
