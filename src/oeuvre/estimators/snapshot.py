"""What is known after a step, kept as it was then."""

import math
from dataclasses import dataclass, field

from oeuvre import intervals
from oeuvre.estimators.base import Estimator
from oeuvre.intervals import Interval

__all__ = ["Snapshot", "take"]


@dataclass(frozen=True, slots=True, init=False)
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

    def __init__(
        self,
        n: int,
        loss: float,
        previous: float,
        estimate: float,
        normal: tuple[float, float] | None = None,
    ) -> None:
        # as a frozen dataclass would, in half the time: there is one at every step
        put_n(self, n)
        put_loss(self, loss)
        put_previous(self, previous)
        put_estimate(self, estimate)
        put_normal(self, normal)

    @property
    def interval(self) -> Interval | None:
        """The interval of 95 % for the loss of this step's model; None while too little is known.

        It is made when it is asked for, from what was known at this step. Averages of past models
        have none.
        """
        if self._normal is None or math.isinf(self._normal[1]):
            return None
        return intervals.holding(self.estimate, self._normal)


put_n, put_loss, put_previous, put_estimate, put_normal = (
    getattr(Snapshot, name).__set__ for name in Snapshot.__slots__
)


def take(estimator: Estimator, loss: float = math.nan, previous: float = math.nan) -> Snapshot:
    """Return the snapshot of an estimator after a step with these losses."""
    n = estimator._n
    if n == 0:
        return Snapshot(0, loss, previous, math.nan)
    return Snapshot(n, loss, previous, estimator.get(), estimator._normal())
