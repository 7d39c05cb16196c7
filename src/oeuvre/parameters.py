"""Checks of constructor arguments, all with one form of message."""

import math
from typing import Any

from oeuvre._kernels.checks import to_float
from oeuvre.errors import InvalidParameter

__all__ = ["boolean", "integer", "invalid", "real"]

LARGEST = 2**53
"""The largest int a parameter may be: the last one up to which floats count every step."""


def invalid(owner: str, name: str, requirement: str, got: object) -> InvalidParameter:
    """Build the error: "The 'size' parameter of SlidingWindow must be ... Got 0 instead."."""
    return InvalidParameter(
        f"The {name!r} parameter of {owner} must be {requirement}. Got {got!r:.80} instead."
    )


def boolean(owner: str, name: str, value: Any) -> bool:
    """Return `value` if it is True or False."""
    if not (isinstance(value, bool) or getattr(getattr(value, "dtype", None), "kind", "") == "b"):
        raise invalid(owner, name, "True or False", value)
    return bool(value)


def integer(owner: str, name: str, value: Any, at_least: int) -> int:
    """Return `value` as an int of at least `at_least`; a bool is not one."""
    try:
        number = value.__index__()
    except (AttributeError, TypeError):
        number = None
    if isinstance(value, bool) or number is None or not at_least <= number <= LARGEST:
        upto = f" and at most {LARGEST}" if number is not None and number > LARGEST else ""
        raise invalid(owner, name, f"an int of at least {at_least}{upto}", value)
    return int(number)


def real(
    owner: str, name: str, value: Any, low: float, high: float, *, open_low: bool = False
) -> float:
    """Return `value` as a float from `low` to `high`, without `low` itself if `open_low`."""
    number = math.nan if isinstance(value, bool) else to_float(value)
    if not (low <= number <= high and math.isfinite(number)) or (open_low and number == low):
        above = f"above {low:g}" if open_low else f"of at least {low:g}"
        upto = "" if math.isinf(high) else f" and at most {high:g}"
        raise invalid(owner, name, f"a finite number {above}{upto}", value)
    return number
