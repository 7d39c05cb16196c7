"""What an evaluation gives, what a label is, and whether two samples are one."""

import math
from math import isfinite
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from oeuvre._kernels.checks import batch_mean, to_float
from oeuvre.errors import NotSerializable
from oeuvre.estimators.arrays import column
from oeuvre.learners.digests import digest
from oeuvre.monitor.samples import to_data

__all__ = ["Batch", "Losses", "as_losses", "finite", "is_same", "one_label", "unlabelled"]


class Batch(NamedTuple):
    """The losses of a batch, as their mean and their number."""

    mean: float
    size: int


Losses: TypeAlias = float | Batch | None
"""The loss of a sample, the losses of a batch, or None where there is no model yet."""


def as_losses(found: Any) -> Losses:
    """Return what an evaluation gave as a float, a batch, or None.

    The mean is summed from left to right; if one loss is not finite, it is not finite either.
    """
    if found is None or type(found) is float:
        return found
    if type(found) is not np.ndarray or found.dtype != np.float64 or found.ndim != 1:
        if getattr(found, "shape", None) == () or not hasattr(found, "__len__"):
            return to_float(found)
        found = column("losses", found)
    if not found.flags.c_contiguous or found.size == 0:
        found = column("losses", found)
    size = len(found)
    return Batch(batch_mean(found.data, 0, size), size)


def finite(losses: Losses) -> bool:
    """Tell whether all losses are finite; no loss is no bad one."""
    return losses is None or isfinite(losses if isinstance(losses, float) else losses.mean)


def unlabelled(y: Any) -> bool:
    """Tell whether a label is missing, or one of a batch."""
    if isinstance(y, float):
        return math.isnan(y)
    if y is None or isinstance(y, int | str):
        return y is None
    if isinstance(y, list | tuple):
        return any(map(unlabelled, y))
    if hasattr(y, "isna"):  # a pandas Series
        return bool(np.any(y.isna()))
    kind = getattr(getattr(y, "dtype", None), "kind", "")
    if kind == "O":
        return any(map(unlabelled, np.asarray(y).flat))
    if kind == "f":
        return bool(np.isnan(y).any())
    if hasattr(y, "is_floating_point"):  # a torch tensor
        return bool(y.is_floating_point() and y.isnan().any())
    return type(y).__name__ == "NAType"


def is_same(one: Any, two: Any) -> bool:
    """Tell whether two samples, pairs of x and y, are one and the same."""
    if all(a is b for a, b in zip(one, two, strict=True)):
        return True
    try:
        return bool(to_data(tuple(one)) == to_data(tuple(two)))
    except NotSerializable:
        return (seen := digest(one)) is not None and seen == digest(two)


def one_label(labels: Any) -> Any:
    """Return a label that may stand alone in an array."""
    return labels[0] if getattr(labels, "shape", ()) == (1,) else labels
