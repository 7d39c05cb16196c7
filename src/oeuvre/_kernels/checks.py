"""Numbers at the door: what comes in as a loss or a rate leaves as a finite float, or not at all.

Compiled by Cython with the types of `checks.pxd`; the same lines run as plain Python.
"""

import math
from typing import Any

from oeuvre.errors import InvalidInput, InvalidLoss, NotEnoughData

__all__ = [
    "as_loss",
    "as_previous",
    "as_rate",
    "batch_mean",
    "batch_means",
    "check_unused",
    "not_enough_data",
    "overflow",
    "to_float",
    "too_large",
    "too_large_to_square",
]


def to_float(value: Any) -> float:
    """Turn a scalar of any library into a float.

    Whatever is not one number comes out as infinity, which every check below refuses: text is
    not parsed, a date or a masked value is not a number, nor is an array, even with one entry.
    """
    try:
        kind = getattr(getattr(value, "dtype", None), "kind", "f")
        if getattr(value, "shape", ()) != () or kind not in "buif" or getattr(value, "mask", False):
            return math.inf
        if hasattr(value, "item"):  # NumPy and torch: unlike float(), no warning about gradients
            value = value.item()
        if not (hasattr(value, "__float__") or hasattr(value, "__index__")):
            return math.inf
        return float(value)
    except Exception:  # whatever a foreign object raises here, it is not a number
        return math.inf


def as_loss(value: Any, name: str) -> float:
    """Return `value` as a finite float, or raise InvalidLoss."""
    if isinstance(value, float):
        number = float(value)
    else:
        number = to_float(value)
    if not math.isfinite(number):
        many = " Several samples are for update_many." if hasattr(value, "__len__") else ""
        raise InvalidLoss(f"{name!r} must be a finite number. Got {value!r:.80} instead.{many}")
    return number


def as_previous(value: Any, n: int, loss: float, required: bool) -> float:
    """Return the loss of the model one step earlier.

    At the first step (`n` = 0) there was no such model, so None and NaN are fine; later None is
    fine for an average, which does not use it. The current `loss` stands in for it then.
    """
    if value is None:
        if n == 0 or not required:
            return loss
        raise InvalidLoss(
            "'previous' must be the loss of the previous model on the same sample, "
            "from the second step on. Got None instead."
        )
    if n == 0 and math.isnan(to_float(value)):
        return loss
    return as_loss(value, "previous")


def as_rate(value: Any) -> float:
    """Return `value` as a finite float of at least 0, or raise InvalidInput."""
    number = to_float(value)
    if not (number >= 0.0 and math.isfinite(number)):
        raise InvalidInput(
            f"'rate' must be a finite number of at least 0. Got {value!r:.80} instead."
        )
    return number


def check_unused(previous: Any, rate: Any, n: int, loss: float) -> None:
    """Check what an average is given and does not use."""
    if previous is not None:
        as_previous(previous, n, loss, False)
    if rate is not None:
        as_rate(rate)


def too_large(loss: float) -> InvalidLoss:
    """Build the error for a loss that takes a sum beyond the range of a float."""
    return InvalidLoss(
        f"'loss' must be so small that sums stay within the range of a float. Got {loss!r} instead."
    )


def too_large_to_square(loss: float, previous: float) -> InvalidLoss:
    """Build the error for a loss whose square, or a sum of such, may leave the range of a float."""
    return InvalidLoss(
        "'loss' and 'previous' must be at most 1e+100 in size here: sums of their squares must "
        "stay within the range of a float. "
        f"Got loss={loss!r}, previous={previous!r} instead."
    )


def not_enough_data() -> NotEnoughData:
    """Build the error for asking before the first update."""
    return NotEnoughData("There is no estimate before the first update.")


def overflow(loss: float, previous: float, rate: float) -> InvalidLoss:
    """Build the error for a step whose result leaves the range of a float.

    A negative rate says that there was none.
    """
    pace = f", rate={rate!r}" if rate >= 0.0 else ""
    return InvalidLoss(
        "The step must stay within the range of a float, squares included. "
        f"Got loss={loss!r}, previous={previous!r}{pace} instead."
    )


def batch_mean(values: Any, start: int, stop: int) -> float:
    """Return the mean of `values[start:stop]`, summed from left to right."""
    total: float = values[start]
    for i in range(start + 1, stop):
        total += values[i]
    return total / (stop - start)


def batch_means(values: Any, sizes: Any, means: Any) -> None:
    """Fill `means` with the means of consecutive batches of the given sizes."""
    start = 0
    for i in range(len(sizes)):
        stop = start + int(sizes[i])
        means[i] = batch_mean(values, start, stop)
        start = stop
