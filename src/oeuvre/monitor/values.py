"""What an evaluation gives, what a label is, and whether two samples are one."""

import math
from typing import Any, TypeAlias

import numpy as np

from oeuvre._kernels.checks import batch_mean, to_float
from oeuvre.errors import NotSerializable
from oeuvre.estimators.arrays import Floats, column
from oeuvre.learners.digests import digest
from oeuvre.monitor.samples import to_data

__all__ = [
    "Losses",
    "as_losses",
    "finite",
    "is_same",
    "mean_of",
    "one_label",
    "unlabelled",
    "worst",
]

Losses: TypeAlias = float | Floats | None
"""The loss of a sample, the losses of a batch, or None where there is no model yet."""


def as_losses(found: Any) -> Losses:
    """Return what an evaluation gave as a float, an array of floats, or None."""
    if found is None:
        return None
    if type(found) is np.ndarray and found.dtype == np.float64 and found.ndim == 1 and found.size:
        return np.ascontiguousarray(found)
    if getattr(found, "shape", None) == () or not hasattr(found, "__len__"):
        return to_float(found)
    return column("losses", found)


def mean_of(losses: Losses) -> float | None:
    """Return the mean of a batch's losses, from left to right; None if there is no model yet."""
    if losses is None or isinstance(losses, float):
        return losses
    return batch_mean(losses.data, 0, len(losses))


def finite(losses: Losses) -> bool:
    """Tell whether all losses are finite; no loss is no bad one."""
    if type(losses) is float:
        return math.isfinite(losses)
    return losses is None or bool(np.isfinite(losses).all())


def worst(losses: Losses) -> float:
    """Return the first loss that is not finite."""
    return next(float(each) for each in np.ravel(np.asarray(losses)) if not np.isfinite(each))


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
