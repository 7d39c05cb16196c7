"""Losses of one sample: what a prediction costs, given the truth.

`squared`, `absolute`, `zero_one` and `hinge` are there to be used, `log` and `pinball` are made
with a parameter, and `Loss(function)` makes one of any function of the truth and a prediction.
Wherever a loss is asked for, a word serves too: "squared", "absolute", "pinball" (of the median),
"log" or "cross-entropy", "zero-one", "hinge".

Examples
--------
>>> from oeuvre import losses
>>> losses.squared(3.0, 2.5)
0.25
>>> round(losses.log()("cat", {"cat": 0.8, "dog": 0.2}), 3)
0.223
>>> losses.zero_one.range
(0.0, 1.0)
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np

from oeuvre.errors import InvalidInput
from oeuvre.parameters import invalid, real

__all__ = ["Loss", "absolute", "hinge", "log", "named", "pinball", "squared", "zero_one"]

Needs: TypeAlias = Literal["value", "label", "probabilities", "score"]


@dataclass(frozen=True, slots=True)
class Loss:
    """What the prediction of one sample costs.

    Parameters
    ----------
    function
        A function of the truth and a prediction, both of one sample.
    needs
        Which prediction that is: "value", the model's plain one; "label"; "probabilities", a
        mapping from labels to probabilities; or "score", a number whose sign is the label.
    range
        The lowest and the highest loss, if it is bounded: from 0 to b is what the intervals that
        hold for every number of samples need.
    many
        The same function for arrays of truths and of predictions, if there is a faster one than
        a loop.

    Examples
    --------
    >>> from oeuvre import losses
    >>> def brier(y, given):
    ...     return sum((p - (label == y)) ** 2 for label, p in given.items())
    >>> loss = losses.Loss(brier, needs="probabilities", range=(0.0, 2.0))
    >>> loss("cat", {"cat": 0.5, "dog": 0.5})
    0.5
    """

    function: Callable[[Any, Any], Any]
    needs: Needs = "value"
    range: tuple[float, float] | None = None
    many: Callable[[Any, Any], Any] | None = None

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise invalid("Loss", "function", "a function of (y, prediction)", self.function)
        if self.needs not in ("value", "label", "probabilities", "score"):
            wanted = "'value', 'label', 'probabilities' or 'score'"
            raise invalid("Loss", "needs", wanted, self.needs)
        if self.range is not None:
            try:
                low, high = map(float, self.range)
            except (TypeError, ValueError):
                low = high = math.nan
            if not low < high:
                raise invalid("Loss", "range", "None, or the lowest and the highest", self.range)

    def __call__(self, y: Any, prediction: Any) -> Any:
        """Return the loss of a prediction where `y` is the truth."""
        return self.function(y, prediction)

    def each(self, y: Any, predictions: Any) -> Any:
        """Return the loss of each of several predictions."""
        if self.many is not None:
            return self.many(y, predictions)
        return [self.function(*pair) for pair in zip(y, predictions, strict=True)]


def squared_error(y: Any, prediction: Any) -> Any:
    """Return (prediction − y)²."""
    off = prediction - y
    return off * off


def absolute_error(y: Any, prediction: Any) -> Any:
    """Return |prediction − y|."""
    return abs(prediction - y)


def is_wrong(y: Any, label: Any) -> float:
    """Return 1 for a wrong label, 0 for a right one; no answer is wrong."""
    return 0.0 if label == y else 1.0


def are_wrong(y: Any, labels: Any) -> Any:
    """Return 1 for each wrong label, 0 for each right one."""
    return (np.asarray(y) != np.asarray(labels)).astype(np.float64)


def margin(y: Any, score: Any) -> Any:
    """Return max(0, 1 − s · score), with s = 1 for the label True or 1 and −1 for the other one."""
    if y not in (0, 1, -1):
        raise InvalidInput(
            f"The hinge loss needs labels True and False, or 1 and -1. Got {y!r:.80} instead."
        )
    return max(0.0, 1.0 - score if y == 1 else 1.0 + score)


squared = Loss(squared_error, many=squared_error)
"""(prediction − y)²."""
absolute = Loss(absolute_error, many=absolute_error)
"""|prediction − y|."""
zero_one = Loss(is_wrong, "label", (0.0, 1.0), are_wrong)
"""1 where the label is wrong, 0 where it is right; no answer is wrong."""
hinge = Loss(margin, "score")
"""max(0, 1 − s · score), with s = 1 for the label True or 1 and −1 for the other one."""


def log(least: float = 1e-15) -> Loss:
    """Return −log of the probability given to the true label: log loss, or cross-entropy.

    A probability below `least` counts as `least`, so that the loss is at most −log(least): a label
    that was never seen costs 34.5 by default, and 4.6 with `log(0.01)`. A prediction is a mapping
    from labels to probabilities, or the probability of True.

    Examples
    --------
    >>> from oeuvre import losses
    >>> loss = losses.log(0.01)
    >>> f"{loss(True, 0.9):.3f}, {loss(False, 0.9):.3f}, {loss('new', {}):.3f}"
    '0.105, 2.303, 4.605'
    """
    least = real("log", "least", least, 0.0, 0.5, open_low=True)
    return Loss(partial(surprise, least), "probabilities", (0.0, -math.log(least)))


def surprise(least: float, y: Any, given: Any) -> float:
    """Return −log of the probability given to `y`, which counts as `least` at the least."""
    if isinstance(given, Mapping):
        probability = given.get(y, 0.0)
    elif y in (0, 1):
        probability = given if y else 1.0 - given
    else:
        raise InvalidInput(
            f"The probability of True needs labels True and False. Got {y!r:.80} instead."
        )
    return -math.log(max(probability, least))


def pinball(quantile: float = 0.5) -> Loss:
    """Return the loss of a quantile q: q (y − p) if y is above the prediction p, or (1 − q)(p − y).

    Examples
    --------
    >>> from oeuvre import losses
    >>> loss = losses.pinball(0.75)
    >>> loss(5.0, 1.0), loss(1.0, 5.0)
    (3.0, 1.0)
    """
    return Loss(partial(tilt, real("pinball", "quantile", quantile, 0.0, 1.0)))


def tilt(quantile: float, y: Any, prediction: Any) -> Any:
    """Return q (y − p), or (1 − q)(p − y)."""
    off = y - prediction
    return quantile * off if off >= 0 else (quantile - 1.0) * off


NAMES = {
    "squared": squared,
    "absolute": absolute,
    "pinball": pinball(),
    "zero-one": zero_one,
    "log": log(),
    "cross-entropy": log(),
    "hinge": hinge,
}


def named(loss: Any, owner: str = "named") -> Loss:
    """Return the loss that a word, a `Loss` or a plain function of (y, prediction) stands for."""
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, str) and loss in NAMES:
        return NAMES[loss]
    if callable(loss) and not isinstance(loss, type):
        return Loss(loss)
    words = ", ".join(repr(name) for name in NAMES)
    raise invalid(owner, "loss", f"one of {words}, a Loss, or a function of (y, prediction)", loss)
