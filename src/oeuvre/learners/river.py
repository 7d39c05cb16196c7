"""River: any regressor, classifier or pipeline."""

from collections.abc import Callable
from typing import Any

from oeuvre import losses
from oeuvre.errors import InvalidInput, NotAvailable
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
        As for `losses.named`; by default "squared" for a regressor, "cross-entropy" for a
        classifier that gives probabilities, "zero-one" for another.

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
        if self.kind == "other":
            wanted = "a River regressor or classifier with one target that is given, not asked for"
            raise invalid("RiverLearner", "model", wanted, model)
        self.model = model
        classifies = self.kind != "regressor" and gives_probabilities(model)
        default = "squared" if self.kind == "regressor" else "zero-one"
        default = "cross-entropy" if classifies else default
        self.loss = losses.named(default if loss is None else loss, "RiverLearner")
        if self.loss.needs == "score":
            wanted = "another: River's models give labels and probabilities, not scores"
            raise invalid("RiverLearner", "loss", wanted, loss)
        self.asks = "predict_proba" if self.loss.needs == "probabilities" else "predict"
        if self.asks == "predict_proba" and not classifies:
            wanted = "one without probabilities, which this model does not give"
            raise invalid("RiverLearner", "loss", wanted, loss)
        self._predict: Callable[[Any], Any] = getattr(model, self.asks + "_one")
        self._score = self.loss.function
        self.prediction: Any = None
        """What the model said at the last evaluation."""
        self._asked: Any = None
        self._first: dict[Any, Any] | None = None

    def evaluate(self, x: Any, y: Any) -> Any:
        """Return the loss of the model on a sample, or the losses on a DataFrame."""
        self._asked = x
        if isinstance(x, dict):
            if self._first is None:
                self._first = dict(x)  # a stream may fill its dict again
            self.prediction = prediction = self._predict(x)
            if prediction is None and self.loss.needs == "value":
                return None  # it has no answer yet
            return self._score(y, prediction)
        self._check_batch(x)
        if len(x) != len(y):
            raise InvalidInput(
                f"'y' must have as many entries as 'x' has rows, {len(x)}. Got {len(y)} instead."
            )
        found = getattr(self.model, self.asks + "_many")(x)
        self.prediction = found.to_dict("records") if found.ndim == 2 else found.tolist()
        if len(self.prediction) != len(x):
            return None  # it has no answer yet
        return [self._score(*each) for each in zip(plain(y), self.prediction, strict=True)]

    def learn(self, x: Any, y: Any) -> None:
        """Train the model on a sample, or on a DataFrame as one mini-batch."""
        if isinstance(x, dict):
            self.model.learn_one(x, y)
        else:
            self.model.learn_many(x, y)

    def fingerprint(self) -> str | None:
        """Return what the model says about the first sample it was asked about.

        A pickle would tell more, but it makes Python set up dicts in the model that slow it down
        for good.
        """
        if self._first is None:
            return None
        sure = self.kind == "classifier" and gives_probabilities(self.model)
        return repr((self.model.predict_proba_one if sure else self.model.predict_one)(self._first))

    @property
    def predicted(self) -> Any:
        """The label by the last evaluation, of a classifier; None where it has no answer yet."""
        if self.kind == "regressor":
            raise NotAvailable("A regressor predicts no labels.")
        if self.asks == "predict" or self._asked is None:
            return self.prediction
        if isinstance(self._asked, dict):
            return self.model.predict_one(self._asked)
        return self.model.predict_many(self._asked).tolist()

    def _check_batch(self, x: Any) -> None:
        if not hasattr(x, "columns"):
            raise InvalidInput(
                f"'x' must be a dict of features, or a pandas DataFrame. Got {x!r:.80} instead."
            )
        if not hasattr(last_part(self.model), "learn_many"):
            raise InvalidInput(
                f"{type(last_part(self.model)).__name__} has no 'learn_many', so it takes single "
                "samples: give rows one by one, as dicts."
            )

    def __repr__(self) -> str:
        return f"RiverLearner({self.model}, {self.loss})"


def kind_of(model: Any) -> str:
    """Return "regressor", "classifier" or "other" for a River model; a pipeline is its last part.

    A model of another library that has River's methods is a classifier if it gives probabilities.
    """
    names = {kind.__name__ for kind in type(last_part(model)).__mro__}
    if names & {"MultiLabelClassifier", "MultiTargetRegressor", "ActiveLearningClassifier"}:
        return "other"
    if "Regressor" in names and "Classifier" not in names:
        return "regressor"
    if "Classifier" not in names and type(last_part(model)).__module__.startswith("river."):
        return "other"
    return "classifier" if hasattr(model, "predict_proba_one") else "regressor"


def gives_probabilities(model: Any) -> bool:
    """Tell whether a classifier has more than River's `predict_proba_one`, which only raises."""
    own = getattr(type(last_part(model)), "predict_proba_one", None)
    return own is not None and getattr(own, "__qualname__", "") != "Classifier.predict_proba_one"


def last_part(model: Any) -> Any:
    """Return what a pipeline ends in, or the model itself."""
    return getattr(model, "_last_step", model)


def plain(y: Any) -> list[Any]:
    """Return targets as a list of Python's own objects."""
    found: list[Any] = y.tolist() if hasattr(y, "tolist") else list(y)
    return found
