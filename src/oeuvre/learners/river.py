"""River: any regressor, classifier or pipeline."""

from collections.abc import Callable
from typing import Any

from oeuvre import losses
from oeuvre.errors import InvalidInput
from oeuvre.parameters import invalid

__all__ = ["RiverLearner"]


class RiverLearner:
    """A River model, scored by a loss.

    A loss of probabilities asks the model's `predict_proba_one`, any other its `predict_one`. A
    sample is a dict of features and its target. A mini-batch is a pandas DataFrame with a Series of
    targets, for models that have `learn_many`.

    Parameters
    ----------
    model
        A River estimator that learns from targets. It is trained in place.
    loss
        As for `losses.named`; by default "cross-entropy" for a classifier, "squared" for a
        regressor.

    Examples
    --------
    >>> from river import datasets, linear_model, preprocessing
    >>> from oeuvre import Monitor
    >>> model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    >>> monitor = Monitor.of(model, loss="log")
    >>> for snapshot in monitor.run(datasets.Phishing()):
    ...     pass
    >>> print(f"{snapshot.estimate:.3f}, from {snapshot.interval}")
    0.256, from 0.1934 to 0.3195 (95 %)
    """

    def __init__(self, model: Any, loss: Any = None) -> None:
        if isinstance(model, type) or not hasattr(model, "predict_one"):
            raise invalid("RiverLearner", "model", "a River regressor or classifier", model)
        self.kind = kind_of(model)
        classifies = hasattr(model, "predict_proba_one") and self.kind != "regressor"
        self.model = model
        default = "cross-entropy" if classifies else "squared"
        self.loss = losses.named(default if loss is None else loss, "RiverLearner")
        if self.loss.needs == "score":
            wanted = "another: River's models give labels and probabilities, not scores"
            raise invalid("RiverLearner", "loss", wanted, loss)
        self.asks = "predict_proba" if self.loss.needs == "probabilities" else "predict"
        if self.asks == "predict_proba" and not classifies:
            raise invalid("RiverLearner", "loss", "one for a regressor, such as 'squared'", loss)
        self._predict: Callable[[Any], Any] = getattr(model, self.asks + "_one")
        self.prediction: Any = None
        """What the model said at the last evaluation."""

    def evaluate(self, x: Any, y: Any) -> Any:
        """Return the loss of the model on a sample, or the losses on a DataFrame."""
        if isinstance(x, dict):
            self.prediction = prediction = self._predict(x)
            return self.loss(y, prediction)
        self._check_batch(x)
        found = getattr(self.model, self.asks + "_many")(x)
        self.prediction = found.to_dict("records") if found.ndim == 2 else found.tolist()
        if not len(x) == len(y) == len(self.prediction):
            raise InvalidInput(
                f"'y' must have as many entries as 'x' has rows, {len(x)}. Got {len(y)} instead."
            )
        return [self.loss(*each) for each in zip(plain(y), self.prediction, strict=True)]

    def learn(self, x: Any, y: Any) -> None:
        """Train the model on a sample, or on a DataFrame as one mini-batch."""
        if isinstance(x, dict):
            self.model.learn_one(x, y)
        else:
            self.model.learn_many(x, y)

    def fingerprint(self) -> bytes:
        """Return the state of the model, as pickle writes it."""
        import pickle

        return pickle.dumps(self.model)

    @property
    def predicted(self) -> Any:
        """The label by the last evaluation; None where the model has no answer yet."""
        if isinstance(self.prediction, list):
            return [label_of(each) for each in self.prediction]
        return label_of(self.prediction)

    def _check_batch(self, x: Any) -> None:
        if not hasattr(x, "columns"):
            raise InvalidInput(
                f"'x' must be a dict of features, or a pandas DataFrame. Got {x!r:.80} instead."
            )
        if not hasattr(self.model, "learn_many"):
            raise InvalidInput(
                f"{type(self.model).__name__} has no 'learn_many', so it takes single samples: "
                "give rows one by one, as river.stream.iter_pandas does."
            )

    def __repr__(self) -> str:
        return f"RiverLearner({self.model}, {self.loss})"


def kind_of(model: Any) -> str:
    """Return "regressor", "classifier" or "" for a River model; a pipeline is what it ends in."""
    last = getattr(model, "_last_step", model)
    names = {kind.__name__ for kind in type(last).__mro__}
    if "Regressor" in names and "Classifier" not in names:
        return "regressor"
    return "classifier" if "Classifier" in names else ""


def label_of(prediction: Any) -> Any:
    """Return the likeliest label of a mapping to probabilities, or the label itself."""
    if isinstance(prediction, dict):
        return max(prediction, key=prediction.__getitem__) if prediction else None
    return prediction


def plain(y: Any) -> list[Any]:
    """Return targets as a list of Python's own objects."""
    found: list[Any] = y.tolist() if hasattr(y, "tolist") else list(y)
    return found
