"""What a learner must be able to do to be monitored, and how one is made of a model."""

import copy
from typing import Any, Protocol, runtime_checkable

from oeuvre.errors import MissingExtra
from oeuvre.parameters import invalid

__all__ = ["Learner", "frozen", "learner_of", "missing"]


@runtime_checkable
class Learner(Protocol):
    """Two methods. A sample is whatever the learner takes: one row, or a batch.

    A learner may have more, each of which is looked for and used if it is there:

    - `prepare(x, y)`: like `evaluate`, of the sample that will be learned next, so that it can keep
      what `learn` will need;
    - `predicted`: the label, or labels, by the last evaluation, for `Quality`;
    - `frozen()`: a copy to evaluate, for the mode "snapshot"; without it the learner is copied
      by `copy.deepcopy`;
    - `stability_rate`: the rate r(t) of the last `learn`, for `Oeuvre`, or None;
    - `fingerprint()`: something that differs where the model does; without it the learner is
      pickled to find out.
    """

    def evaluate(self, x: Any, y: Any) -> Any:
        """Return the loss of the model as it is on (x, y), and leave the model as it is.

        For a batch, an array with a loss for each sample. None if there is no model yet.
        """

    def learn(self, x: Any, y: Any) -> Any:
        """Take one training step with (x, y)."""


def learner_of(model: Any, loss: Any = None, **options: Any) -> Learner:
    """Return the adapter for a model, by what the model is able to do.

    `options` are those of the adapter.
    """
    if isinstance(model, type):
        raise invalid("Monitor.of", "model", "a model, not a class", model)
    if isinstance(model, Learner):
        for name, given in {"loss": loss, **options}.items():
            if given is not None:
                raise invalid("Monitor.of", name, "left out: a learner has its own", given)
        return model
    if hasattr(model, "learn_one"):
        from oeuvre.learners.river import RiverLearner

        return RiverLearner(model, loss, **options)
    if hasattr(model, "partial_fit"):
        from oeuvre.learners.sklearn import SklearnLearner

        return SklearnLearner(model, loss, **options)
    if hasattr(model, "state_dict") and callable(model):
        from oeuvre.learners.torch import TorchLearner

        return TorchLearner(model, loss=loss, **options)
    wanted = (
        "a River model (it has 'learn_one'), a scikit-learn estimator with 'partial_fit', a "
        "PyTorch module, or an object with 'evaluate' and 'learn'"
    )
    raise invalid("Monitor.of", "model", wanted, model)


def frozen(learner: Learner) -> Learner:
    """Return a copy of a learner that can be evaluated."""
    own = getattr(learner, "frozen", None)
    made: Learner = copy.deepcopy(learner) if own is None else own()
    return made


def missing(what: str, library: str, extra: str) -> MissingExtra:
    """Build the error for a library that is not installed."""
    return MissingExtra(
        f"{what} needs {library}, which is not installed: pip install 'oeuvre[{extra}]'"
    )
