"""Accuracy, precision, recall and the like of the current classifier."""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from oeuvre.errors import InvalidInput, NotSerializable, StateError
from oeuvre.estimators.adaptive import AdaptiveOeuvre
from oeuvre.estimators.arrays import Floats
from oeuvre.estimators.base import Estimator
from oeuvre.estimators.oeuvre import Oeuvre
from oeuvre.intervals import Interval, Side
from oeuvre.parameters import invalid

__all__ = ["Quality"]

NOT_GIVEN = object()
"""Stands for an argument that was left out, where None is a label."""


class Quality:
    """The confusion matrix of the current classifier, and what is read off it.

    Each entry C_ij, the share of samples of class i that are labelled j, is the expected value of
    an indicator, so it is a loss like any other and has OEUVRE's recursion, with the weights that
    suit the error rate:

        C_t = C_{t−1} + β_t (I_t − I'_t) + γ_t (I'_t − C_{t−1})

    where I_t has a single 1 at (y, label by the current model) and I'_t at (y, label by the
    previous one). With β = 1 that is I_t + (1 − γ_t)(C_{t−1} − I'_t). The entries add up to 1, a
    row to a running share of its class, and the errors to the estimate of the zero-one loss. Single
    entries may come out a little below 0; what is read off the matrix takes them as 0.

    Parameters
    ----------
    estimator
        What estimates the error rate and gives the weights; a fresh copy is used. By default
        `AdaptiveOeuvre(two_gain=True)`: labels jump back and forth while a model hardly moves. With
        `AdaptiveOeuvre()` or an `Oeuvre` the matrix is noisier, but the accuracy has an interval.

    Examples
    --------
    >>> from oeuvre import Quality
    >>> quality = Quality()
    >>> for y, label in [("cat", "dog"), ("dog", "dog"), ("cat", "cat"), ("dog", "dog")]:
    ...     quality.update(y, label, label)  # a model that stands still: both say the same
    >>> quality.labels, quality.matrix.round(2).tolist()
    (['cat', 'dog'], [[0.25, 0.25], [0.0, 0.5]])
    >>> print(f"{quality.accuracy:.2f} {quality.recall('cat'):.2f} {quality.precision('cat'):.2f}")
    0.75 0.50 1.00
    """

    __slots__ = ("_estimator", "_labels", "_matrix")

    def __init__(self, estimator: Estimator | None = None) -> None:
        given = AdaptiveOeuvre(two_gain=True) if estimator is None else estimator
        if not isinstance(given, Oeuvre | AdaptiveOeuvre):
            raise invalid("Quality", "estimator", "an Oeuvre or an AdaptiveOeuvre", estimator)
        self._estimator: Oeuvre | AdaptiveOeuvre = given.clone()
        self._labels: dict[Hashable, int] = {}
        self._matrix: Floats = np.zeros((0, 0))

    @property
    def estimator(self) -> Estimator:
        """What estimates the error rate; to be looked at, not to be fed."""
        return self._estimator

    @property
    def n(self) -> int:
        """The number of steps taken; a batch is one step."""
        return self._estimator.n

    @property
    def labels(self) -> list[Hashable]:
        """The labels seen so far, in the order of rows and columns of the matrix."""
        return list(self._labels)

    @property
    def matrix(self) -> Floats:
        """A copy of the confusion matrix as shares: a row for each true label."""
        self._estimator._check_started()
        return self._matrix.copy()

    def update(self, y: Any, label: Any, previous: Any = NOT_GIVEN) -> None:
        """Take one step: the truth, the label by the current model, and by the previous one.

        At the first step `previous` is not needed. A label of None is no answer, and wrong.
        """
        if previous is NOT_GIVEN:
            if self.n > 0:
                raise InvalidInput(
                    "'previous' must be the label by the previous model for the same sample, from "
                    "the second step on."
                )
            previous = label
        (truth,), (now,) = plain("y", [y]), plain("label", [label])
        (last,) = plain("previous", [previous])
        self._estimator.update(float(now != truth), float(last != truth))
        self._take_in([truth], [now], [last])

    def update_many(self, y: Any, labels: Any, previous: Any = None) -> None:
        """Take one step with a batch: sequences of truths and of labels by both models."""
        truth, now = plain("y", y), plain("labels", labels)
        last = now if previous is None and self.n == 0 else plain("previous", previous)
        if not len(truth) == len(now) == len(last):
            raise InvalidInput(
                "'y', 'labels' and 'previous' must have as many entries as each other. "
                f"Got {len(truth)}, {len(now)} and {len(last)} instead."
            )
        wrong, were = (
            [float(guess != each) for each, guess in zip(truth, guesses, strict=True)]
            for guesses in (now, last)
        )
        self._estimator.update_many(wrong, were)
        self._take_in(truth, now, last)

    def _take_in(self, truth: list[Any], now: list[Any], last: list[Any]) -> None:
        """Move the matrix by the weight of the step that the estimator has just taken."""
        beta, gamma = 1.0, 1.0
        if self.n > 1:
            beta, gamma = getattr(self._estimator, "gains", (1.0, self._estimator.weight))
        self._make_room([*truth, *now] if self.n == 1 else [*truth, *now, *last])
        places, matrix = self._labels, self._matrix
        matrix *= 1.0 - gamma
        share = 1.0 / len(truth)
        for guesses, part in ((now, beta * share), (last, (gamma - beta) * share)):
            for each, guess in zip(truth, guesses, strict=True) if part != 0.0 else ():
                matrix[places[each], places[guess]] += part

    def _make_room(self, labels: Sequence[Hashable]) -> None:
        """Give each new label a row and a column of zeros: so far it has not been seen."""
        for label in labels:
            self._labels.setdefault(label, len(self._labels))
        more = len(self._labels) - len(self._matrix)
        if more:
            self._matrix = np.pad(self._matrix, (0, more))

    # What is read off the matrix

    @property
    def accuracy(self) -> float:
        """The share of right labels."""
        return 1.0 - self._estimator.get()

    def interval(
        self, level: Any = 0.95, kind: str = "normal", *, side: Side = "two", **options: Any
    ) -> Interval:
        """Return an interval for the accuracy of the current model."""
        other: dict[Side, Side] = {"lower": "upper", "upper": "lower"}
        found = self._estimator.interval(level, kind, side=other.get(side, side), **options)
        return Interval(1.0 - found.upper, 1.0 - found.lower, found.level)

    def precision(self, label: Hashable = None) -> float:
        """Return the share of a label's predictions that are right.

        Without `label`: of the label 1 (or True) if there are but 0 and 1, else the mean over all
        labels, where one that is never predicted counts as 0. NaN if `label` is never predicted.
        """
        return self._read(label, lambda hit, _, column: ratio(hit, column))

    def recall(self, label: Hashable = None) -> float:
        """Return the share of a label's samples that are found; `label` as for `precision`."""
        return self._read(label, lambda hit, row, _: ratio(hit, row))

    def f1(self, label: Hashable = None) -> float:
        """Return the harmonic mean of precision and recall; `label` as for `precision`."""
        return self._read(label, lambda hit, row, column: ratio(2.0 * hit, row + column))

    @property
    def balanced_accuracy(self) -> float:
        """The mean over the classes of the share that is found."""
        hits, rows, _ = self._sums()
        return float(np.mean([ratio(hits[i], rows[i]) for i in range(len(hits)) if rows[i] > 0.0]))

    @property
    def mcc(self) -> float:
        """Matthews' correlation coefficient, in Gorodkin's form for any number of classes.

        (Σ C_kk − Σ t_k p_k) / √((1 − Σ t_k²)(1 − Σ p_k²)), where t and p are the shares of the
        true and of the predicted labels. NaN where one label is all there is.
        """
        hits, rows, columns = self._sums()
        total = float(rows.sum())
        both = (total**2 - float(rows @ rows)) * (total**2 - float(columns @ columns))
        return ratio(float(hits.sum()) * total - float(rows @ columns), math.sqrt(max(both, 0.0)))

    def _sums(self) -> tuple[Floats, Floats, Floats]:
        """Return the diagonal of the matrix, and the sums of its rows and columns."""
        cut = np.maximum(self.matrix, 0.0)
        return np.diag(cut), cut.sum(axis=1), cut.sum(axis=0)

    def _read(self, label: Hashable, formula: Any) -> float:
        hits, rows, columns = self._sums()
        if label is None and set(self._labels) - {None} <= {0, 1}:
            label = 1
        if label is not None:
            if label not in self._labels:
                return math.nan
            at = self._labels[label]
            return float(formula(hits[at], rows[at], columns[at]))
        places = [i for name, i in self._labels.items() if name is not None]
        each = [formula(hits[i], rows[i], columns[i]) for i in places if rows[i] + columns[i] > 0.0]
        return float(np.mean(np.nan_to_num(each)))

    def __repr__(self) -> str:
        return f"Quality({self._estimator!r})"

    # State as plain data

    def to_dict(self) -> dict[str, Any]:
        """Return parameters and state as plain data; labels must be text, numbers or None."""
        if not all(isinstance(label, str | int | float | None) for label in self._labels):
            raise NotSerializable("Only labels that are text, numbers or None can be saved.")
        return {
            "kind": "Quality",
            "version": 1,
            "estimator": self._estimator.to_dict(),
            "labels": list(self._labels),
            "matrix": self._matrix.tolist(),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Undo `to_dict`; raise StateError if something does not fit."""
        keys = {"kind", "version", "estimator", "labels", "matrix"}
        if not isinstance(document, Mapping) or set(document) != keys:
            raise StateError(f"A saved Quality must be a mapping with the keys {sorted(keys)}.")
        if document["kind"] != "Quality" or document["version"] != 1:
            raise StateError("A saved Quality must be of version 1, of this version of oeuvre.")
        labels = document["labels"]
        try:
            estimator: Any = Estimator.from_dict(document["estimator"])
            quality = cls(estimator)
            matrix = np.array(document["matrix"], dtype=np.float64).reshape((len(labels),) * 2)
            fitting = isinstance(labels, list) and len(set(labels)) == len(labels)
        except (TypeError, ValueError, ArithmeticError) as error:
            raise StateError(f"The entries of this saved Quality do not fit: {error}") from error
        if not fitting or not np.isfinite(matrix).all() or bool(labels) != (estimator.n > 0):
            raise StateError("The entries of this saved Quality do not fit each other.")
        places = {label: i for i, label in enumerate(labels)}
        quality._set_state((estimator._get_state(), places, matrix))
        return quality

    def _get_state(self) -> tuple[Any, ...]:
        return self._estimator._get_state(), dict(self._labels), self._matrix.copy()

    def _set_state(self, state: tuple[Any, ...]) -> None:
        estimator, self._labels, self._matrix = state
        self._estimator._set_state(estimator)


def ratio(part: float, whole: float) -> float:
    """Return part / whole, NaN if there is no whole."""
    return float(part / whole) if whole > 0.0 else math.nan


def plain(name: str, values: Any) -> list[Hashable]:
    """Return labels as a list of Python objects, so that those of all libraries are equal."""
    try:
        if hasattr(values, "tolist"):
            values = values.tolist()
        made = [value.item() if hasattr(value, "item") else value for value in values]
        hash(tuple(made))
    except (TypeError, ValueError):
        raise InvalidInput(f"{name!r} must be a sequence of labels. Got {values!r:.80}.") from None
    if not made:
        raise InvalidInput(f"{name!r} must have at least one entry.")
    return made
