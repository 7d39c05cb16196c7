"""What is known after a step, kept as it was then."""

import math
from dataclasses import dataclass, field

from oeuvre.estimators.base import Estimator, normal_interval
from oeuvre.intervals import Interval

__all__ = ["Snapshot", "take"]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One step: what the fresh sample cost on both models, and the estimate after it.

    A step that gave no loss (a skipped sample, or a model that has learned nothing yet) has NaN for
    `loss` and `previous`; before the first loss, `estimate` is NaN too.

    Attributes
    ----------
    n
        The number of steps the estimator has taken.
    loss, previous
        The loss of the current and of the previous model on the sample; the mean for a batch.
    estimate
        The estimated expected loss of the current model.
    """

    n: int
    loss: float
    previous: float
    estimate: float
    _normal: tuple[float, float] | None = field(default=None, repr=False)

    @property
    def interval(self) -> Interval | None:
        """The interval of 95 % for the loss of this step's model; None while too little is known.

        It is made when it is asked for, from what was known at this step. Averages of past models
        have none.
        """
        if self._normal is None or math.isinf(self._normal[1]):
            return None
        return normal_interval(self.estimate, self._normal)


def take(estimator: Estimator, loss: float = math.nan, previous: float = math.nan) -> Snapshot:
    """Return the snapshot of an estimator after a step with these losses."""
    n = estimator.n
    if n == 0:
        return Snapshot(0, loss, previous, math.nan)
    normal = estimator._normal() if estimator._has_interval else None
    return Snapshot(n, loss, previous, estimator.get(), normal)
