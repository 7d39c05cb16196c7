"""Arrays at the door: what a batch or a replay is given, checked and brought into one form."""

import math
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oeuvre._kernels.checks import batch_mean, batch_means, to_float
from oeuvre.errors import InvalidInput, InvalidLoss

__all__ = ["Floats", "Steps", "check_batch", "check_steps", "column"]

Floats: TypeAlias = NDArray[np.float64]


class Steps(NamedTuple):
    """One entry a step; where a batch is a step, its mean losses and its size."""

    losses: Floats
    previous: Floats | None
    rates: Floats | None
    sizes: Floats | None


def column(name: str, values: ArrayLike, error: type[InvalidInput] = InvalidLoss) -> Floats:
    """Return `values` as a contiguous array of floats with one dimension and at least one entry."""
    try:
        if hasattr(values, "detach") and hasattr(values, "cpu"):
            values = values.detach().cpu()  # a torch tensor may carry a gradient or live elsewhere
        if isinstance(values, np.ma.MaskedArray) and np.any(values.mask):
            raise TypeError
        raw = np.asarray(values)
        if raw.dtype.kind == "O":
            raw = np.array([to_float(value) for value in raw.flat]).reshape(raw.shape)
            if np.isinf(raw).any():
                raise TypeError
        if raw.dtype.kind not in "buif":  # text is not parsed, a date is not a number
            raise TypeError
        with np.errstate(over="ignore"):
            array = np.require(raw, np.float64, ["C", "A"])
    except Exception:  # whatever a foreign object raises here, it is not an array of numbers
        raise error(f"{name!r} must be an array of numbers. Got {values!r:.80} instead.") from None
    if raw.ndim != 1 or raw.size == 0:
        raise error(
            f"{name!r} must have one dimension and at least one entry. "
            f"Got the shape {raw.shape} instead."
        )
    return array


def finite(name: str, values: Floats, missing: int = 0) -> Floats:
    """Return `values` if they are finite; NaN may stand in the first `missing` entries."""
    good = np.isfinite(values)
    good[:missing] |= np.isnan(values[:missing])
    if not good.all():
        at = int(np.argmin(good))
        raise InvalidLoss(
            f"{name!r} must hold finite numbers. Got {float(values[at])!r} at index {at} instead."
        )
    return values


def matching(name: str, values: Floats, length: int, other: str) -> Floats:
    """Return `values` if it has `length` entries, as `other` has."""
    if len(values) != length:
        raise InvalidInput(
            f"{name!r} must have as many entries as {other!r}, {length}. Got {len(values)} instead."
        )
    return values


def check_batch(
    losses: ArrayLike, previous: ArrayLike | None, first: bool
) -> tuple[float, float | None, float]:
    """Return a batch's mean loss, its mean previous loss if there is one, and its size."""
    cur = finite("losses", column("losses", losses))
    size = len(cur)
    before = None
    if previous is not None:
        prev = matching("previous", column("previous", previous), size, "losses")
        finite("previous", prev, size if first else 0)
        before = batch_mean(prev.data, 0, size)
    mean = batch_mean(cur.data, 0, size)
    if math.isinf(mean) or (before is not None and math.isinf(before)):
        raise InvalidLoss("The sum of a batch must stay within the range of a float.")
    return mean, before, float(size)


def check_sizes(sizes: ArrayLike, samples: int) -> Floats:
    """Return batch sizes: one for each of the losses, or adding up to their number."""
    array = column("sizes", sizes, InvalidInput)
    good = (array >= 1) & (array == np.floor(array)) & (array < 2.0**53)
    if not good.all():
        at = int(np.argmin(good))
        raise InvalidInput(
            f"'sizes' must hold whole numbers of at least 1. "
            f"Got {float(array[at])!r} at index {at} instead."
        )
    if len(array) != samples and array.sum() != samples:
        raise InvalidInput(
            f"'sizes' must have {samples} entries (then 'losses' holds means of batches) or add up "
            f"to {samples} (then it holds single samples, batch after batch). "
            f"Got {len(array)} entries that add up to {array.sum():.0f} instead."
        )
    return array


def means(name: str, values: Floats, sizes: Floats) -> Floats:
    """Return the means of consecutive batches."""
    result = np.empty(len(sizes))
    batch_means(values.data, sizes.data, result.data)
    if np.isinf(result).any():
        raise InvalidLoss(f"The sums of batches in {name!r} must stay within the range of a float.")
    return result


def check_steps(
    losses: ArrayLike,
    previous: ArrayLike | None,
    rates: ArrayLike | None,
    sizes: ArrayLike | None,
    first: bool,
) -> Steps:
    """Check the arrays of a replay; NaN may stand in `previous` for the `first` step of all."""
    cur = finite("losses", column("losses", losses))
    prev = None if previous is None else column("previous", previous)
    batches = None if sizes is None else check_sizes(sizes, len(cur))
    flat = batches is not None and len(batches) != len(cur)
    if prev is not None:
        matching("previous", prev, len(cur), "losses")
        missing = (int(batches[0]) if batches is not None and flat else 1) if first else 0
        finite("previous", prev, missing)
    if batches is not None and flat:
        cur = means("losses", cur, batches)
        prev = None if prev is None else means("previous", prev, batches)
    if prev is not None and math.isnan(prev[0]):
        prev = np.concatenate((cur[:1], prev[1:]))
    pace = None if rates is None else column("rates", rates, InvalidInput)
    if pace is not None:
        matching("rates", pace, len(cur), "sizes" if flat else "losses")
        good = np.isfinite(pace) & (pace >= 0.0)
        if not good.all():
            at = int(np.argmin(good))
            raise InvalidInput(
                f"'rates' must hold finite numbers of at least 0. "
                f"Got {float(pace[at])!r} at index {at} instead."
            )
    return Steps(cur, prev, pace, batches)
