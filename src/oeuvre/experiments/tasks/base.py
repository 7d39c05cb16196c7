"""What a task is: a learner and its data, run once for each seed."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from oeuvre.estimators.arrays import Floats

__all__ = ["Stream", "Task"]


@dataclass(frozen=True, eq=False, slots=True)
class Stream:
    """One run of a learner, an entry a step.

    At step t the fresh sample z_t is scored on the model of the step before (`previous`), the
    model is trained on z_{t−1}, and z_t is scored again (`loss`). `truth` is the expected loss of
    that last model. Where there was no model before the first step, `previous[0]` is `loss[0]`.
    """

    loss: Floats
    previous: Floats
    truth: Floats
    rates: Floats | None = None
    """The stability rate of each step, where the task measures it."""
    sharp: Floats | None = None
    """A sharper truth; NaN at the steps at which it was not computed."""


class Task(ABC):
    """A learner on a stream of samples with a known or well-estimated true loss.

    A subclass is a frozen dataclass: its fields are what is varied, and with the source of its
    file and the versions of `libraries` they decide whether a stored run may be used again.
    """

    group: ClassVar[str]
    """The word of the command line that this task answers to."""
    rate: ClassVar[str] = "1/sqrt(t)"
    """The stability rate the paper gives the learner; a stream's own `rates` go before it."""
    seeded: ClassVar[bool] = True
    """Whether runs differ between seeds; data in a fixed order give one run only."""
    cost: ClassVar[int] = 1
    """Roughly how many seconds a run takes; slow tasks are started first."""
    libraries: ClassVar[tuple[str, ...]] = ("numpy",)
    """What else the numbers of a run depend on."""

    @property
    @abstractmethod
    def name(self) -> str:
        """A short name, fit for a file name."""

    @property
    def datasets(self) -> tuple[str, ...]:
        """The data sets a run reads."""
        return ()

    @abstractmethod
    def make(self, rng: np.random.Generator) -> Stream:
        """Run the learner."""

    def stream(self, seed: int) -> Stream:
        """Run the learner from a seed, on one thread: the order of sums is then fixed."""
        with threadpool_limits(1):
            return self.make(np.random.default_rng(seed))
