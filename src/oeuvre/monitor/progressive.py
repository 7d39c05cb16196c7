"""River's progressive validation, with the loss of the current model beside its metric."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from oeuvre.errors import InvalidInput
from oeuvre.estimators import Estimator, Snapshot
from oeuvre.learners.river import RiverLearner
from oeuvre.monitor.monitor import Monitor
from oeuvre.parameters import integer

__all__ = ["progressive"]


def progressive(
    dataset: Iterable[Any],
    model: Any,
    metric: Any,
    *,
    moment: Any = None,
    delay: Any = None,
    step: int = 1,
    loss: Any = None,
    estimator: Estimator | None = None,
    yield_predictions: bool = False,
) -> Iterator[dict[str, Any]]:
    """Go through a stream as River's `evaluate.iter_progressive_val_score` does.

    The metric is a running one, over the predictions that each model of the past made before it
    learned the sample, and is to the bit what River makes it. "Estimate" and "Interval" are about
    the loss of the current model.

    Parameters
    ----------
    dataset
        Pairs (x, y), as River's datasets and `stream.iter_*` give them.
    model, metric
        River's. Both are updated in place.
    moment, delay
        When a label becomes known, as River's `stream.simulate_qa` wants it. The model is then
        copied at each step, so that it is trained as soon as River would train it.
    step
        Every how many labels to yield.
    loss, estimator
        As for `Monitor.of`.
    yield_predictions
        Whether to give the "Prediction" too.

    Yields
    ------
    dict
        The metric by its name, "Step", "Estimate" and "Interval".

    Examples
    --------
    >>> from river import datasets, linear_model, metrics, preprocessing
    >>> from oeuvre import progressive
    >>> model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    >>> for found in progressive(datasets.Phishing(), model, metrics.Accuracy(), step=500,
    ...                          loss="log"):
    ...     print(found["Step"], found["Accuracy"], f"log loss now {found['Estimate']:.3f}")
    500 Accuracy: 86.80% log loss now 0.328
    1000 Accuracy: 89.10% log loss now 0.273
    1250 Accuracy: 89.28% log loss now 0.256
    """
    step = integer("progressive", "step", step, 1)
    learner = RiverLearner(model, loss)
    if not (hasattr(metric, "works_with") and metric.works_with(model)):
        wanted = "a metric of River's that works with this model"
        raise InvalidInput(f"'metric' must be {wanted}. Got {metric!r:.80} instead.")
    labels = learner.kind == "regressor" or metric.requires_labels
    asks = "predict" if labels else "predict_proba"
    predict: Callable[[Any], Any] = getattr(model, asks + "_one")
    if moment is None and delay is None:
        monitor = Monitor(learner, estimator)
        answers = at_once(dataset, monitor, None if learner.asks == asks else predict)
    else:
        monitor = Monitor(learner, estimator, mode="snapshot")
        answers = delayed(dataset, monitor, predict, moment, delay)

    def report(done: int, prediction: Any, snapshot: Snapshot) -> dict[str, Any]:
        each = metric if hasattr(metric, "__iter__") else [metric]
        found = {type(one).__name__: one for one in each}
        found |= {"Step": done, "Estimate": snapshot.estimate, "Interval": snapshot.interval}
        return found | ({"Prediction": prediction} if yield_predictions else {})

    last: tuple[int, Any, Snapshot] | None = None
    for done, (y, prediction, snapshot) in enumerate(answers, start=1):
        if prediction is not None and prediction != {}:
            metric.update(y, prediction)
        last = done, prediction, snapshot
        if done % step == 0:
            yield report(*last)
    monitor.flush()
    if last is not None and last[0] % step:
        yield report(*last)


def at_once(
    dataset: Iterable[Any], monitor: Monitor, predict: Callable[[Any], Any] | None
) -> Iterator[tuple[Any, Any, Snapshot]]:
    """Yield each label, what the current model says, and the snapshot.

    Without `predict`, what the model said when it was scored is what is wanted.
    """
    for x, y in dataset:
        snapshot = monitor.update(x, y)
        yield y, predict(x) if predict else monitor.learner.prediction, snapshot  # type: ignore[attr-defined]


def delayed(
    dataset: Iterable[Any], monitor: Monitor, predict: Callable[[Any], Any], moment: Any, delay: Any
) -> Iterator[tuple[Any, Any, Snapshot]]:
    """Yield each label when it becomes known, what was said when it was not, and the snapshot."""
    from river import stream

    asked: dict[Any, tuple[Any, Any]] = {}
    for i, x, y in stream.simulate_qa(dataset, moment, delay, copy=True):
        if y is None:
            asked[i] = x, predict(x)
        else:
            features, said = asked.pop(i)
            yield y, said, monitor.update(features, y)
