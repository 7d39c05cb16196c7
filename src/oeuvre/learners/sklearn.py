"""scikit-learn: any estimator with `partial_fit`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from oeuvre import losses
from oeuvre.errors import InvalidInput, NotAvailable
from oeuvre.estimators.arrays import Floats
from oeuvre.learners.digests import digest
from oeuvre.learners.protocol import missing
from oeuvre.parameters import invalid

__all__ = ["SklearnLearner"]

METHODS = {
    "value": "predict",
    "label": "predict",
    "probabilities": "predict_proba",
    "score": "decision_function",
}


class SklearnLearner:
    """A scikit-learn estimator with `partial_fit`, scored by a loss.

    A sample is a row, an array of one dimension, or a pandas Series, and its target; or a batch, an
    array of two dimensions, a sparse matrix or a DataFrame, and its targets. An estimator that was
    not fitted yet is no model to score: the first sample, or batch, is learned and not scored.

    Parameters
    ----------
    model
        The estimator. It is trained in place.
    loss
        As for `losses.named`; by default "squared" for a regressor, "zero-one" for a classifier.
    classes
        All labels there are; a classifier that was not fitted needs them before it can learn.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import SGDClassifier
    >>> from oeuvre import Monitor
    >>> images, digits = load_digits(return_X_y=True)
    >>> model = SGDClassifier(random_state=0)
    >>> monitor = Monitor.of(model, loss="zero-one", classes=range(10))
    >>> for start in range(0, len(digits), 16):  # batches of 16
    ...     snapshot = monitor.update(images[start:start + 16], digits[start:start + 16])
    >>> snapshot.n  # the first batch is learned, not scored
    112
    """

    def __init__(self, model: Any, loss: Any = None, *, classes: Any = None) -> None:
        try:
            from sklearn import base
        except ImportError:
            raise missing("SklearnLearner", "scikit-learn", "sklearn") from None
        supervised = not isinstance(model, type) and hasattr(model, "partial_fit")
        if not (supervised and (base.is_classifier(model) or base.is_regressor(model))):
            wanted = "a scikit-learn classifier or regressor with 'partial_fit'"
            raise invalid("SklearnLearner", "model", wanted, model)
        self._classifies = base.is_classifier(model)
        default = "zero-one" if self._classifies else "squared"
        self.model = model
        self.loss = losses.named(default if loss is None else loss, "SklearnLearner")
        method = METHODS[self.loss.needs]
        if not hasattr(model, method):
            wanted = f"one that this model can be scored by: it has no {method!r}"
            raise invalid("SklearnLearner", "loss", wanted, loss)
        fitted = getattr(model, "classes_", None)
        if classes is None and self._classifies and fitted is None:
            wanted = "given, all labels there are, for a classifier that was not fitted"
            raise invalid("SklearnLearner", "classes", wanted, classes)
        if classes is not None and not self._classifies:
            raise invalid("SklearnLearner", "classes", "None: this is no classifier", classes)
        self._classes = None if classes is None else np.unique(np.asarray(list(classes)))
        self._method = method
        self._asked: Any = None
        self._outputs: Any = None

    def evaluate(self, x: Any, y: Any) -> Any:
        """Return the loss of the model on a row, or the losses on a batch; None if not fitted."""
        from sklearn.exceptions import NotFittedError

        rows, truths, single = self._batch(x, y)
        ask: Callable[[Any], Any] = getattr(self.model, self._method)
        try:
            self._asked, self._outputs = rows, None
            self._outputs = outputs = ask(rows)
        except NotFittedError:
            return None
        found = self._score(truths, outputs)
        return float(found[0]) if single else found

    def _score(self, y: Any, outputs: Any) -> Floats:
        """Return the loss of each row."""
        if self.loss.needs == "probabilities":
            names = self.model.classes_.tolist()
            outputs = [dict(zip(names, row, strict=True)) for row in outputs.tolist()]
            y = y.tolist()
        elif self.loss.needs == "score":
            if outputs.ndim != 1:
                raise InvalidInput("A loss of scores needs two classes. Got more instead.")
            y = y == self.model.classes_[1]
        elif np.shape(outputs) != np.shape(y):
            raise InvalidInput(
                "'y' must have the shape of the predictions, "
                f"{np.shape(outputs)}. Got {np.shape(y)} instead."
            )
        found = np.asarray(self.loss.each(y, outputs), dtype=np.float64)
        return np.asarray(found.reshape(len(found), -1).mean(axis=1))  # over a sample's outputs

    def learn(self, x: Any, y: Any) -> None:
        """Train the model on a row, or on a batch as one step."""
        rows, truths, _ = self._batch(x, y)
        if self._classes is not None:
            self.model.partial_fit(rows, truths, classes=self._classes)
        else:
            self.model.partial_fit(rows, truths)

    def _batch(self, x: Any, y: Any) -> tuple[Any, Any, bool]:
        """Return rows, their targets, and whether it is one row alone; labels must be known."""
        rows, truths, single = batch(x, y)
        if not self._classifies:
            return rows, truths, single
        truths = truths[:, 0] if truths.ndim == 2 and truths.shape[1] == 1 else truths
        known = self._classes if self._classes is not None else self.model.classes_
        strange = truths[~np.isin(truths, known)]
        if strange.size:
            raise InvalidInput(
                f"'y' must be one of the classes, {np.array2string(known, threshold=10)}. "
                f"Got {strange.ravel()[0]!r} instead."
            )
        return rows, truths, single

    @property
    def predicted(self) -> Any:
        """The labels by the last evaluation, of a classifier; None if there was no model."""
        if not self._classifies:
            raise NotAvailable("A regressor predicts no labels.")
        if self._outputs is None or self._method == "predict":
            return self._outputs
        return self.model.predict(self._asked)

    def fingerprint(self) -> bytes | None:
        """Return a digest of the model."""
        return digest(self.model)

    def __repr__(self) -> str:
        return f"SklearnLearner({self.model}, {self.loss})"


def batch(x: Any, y: Any) -> tuple[Any, Any, bool]:
    """Return rows and their targets, and whether there was but one row, on its own."""
    if hasattr(x, "to_frame"):  # a Series is one row, and keeps its names
        return x.to_frame().T, np.asarray([y]), True
    rows = x if hasattr(x, "columns") or hasattr(x, "tocsr") else np.asarray(x)
    if len(rows.shape) == 1:
        return rows[np.newaxis], np.asarray([y]), True
    truths = np.asarray(y)
    if len(rows.shape) != 2 or truths.ndim < 1 or len(truths) != rows.shape[0]:
        raise InvalidInput(
            "'x' must be a row or a table, with a target for each row in 'y'. "
            f"Got the shapes {np.shape(x)} and {np.shape(y)} instead."
        )
    return rows, truths, False
