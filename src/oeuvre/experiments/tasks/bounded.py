"""Learners whose losses lie in [0, 1] and whose stability is known exactly, not just its order."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from oeuvre import rates
from oeuvre.experiments.tasks.base import Stream, Task
from oeuvre.experiments.tasks.experts import ExpertAdvice
from oeuvre.experiments.tasks.gradient import before

__all__ = ["BoundedExperts", "BoundedMean", "HedgeChange", "mean_change"]


def mean_change(t: int) -> float:
    """Return 1/(t − 1): a mean of t − 1 numbers in [0, 1] is at most that far from the one before.

    The squared error (z − m)² then changes by at most twice as much, |m − m'| |m + m' − 2z|.
    """
    return 1.0 / max(1, t - 1)


@dataclass(frozen=True)
class HedgeChange:
    """How much Hedge's loss on one sample can change at step t, for losses in [0, 1].

    From one step to the next log p_t changes by −η_t ℓ_{t−1} + (η_{t−1} − η_t) Σ_{s<t−1} ℓ_s, up to
    what normalises it. Between two experts that differs by at most

        D = η_t + (η_{t−1} − η_t)(t − 2),

    and then |p_t − p_{t−1}|₁/2, which bounds the change of p·ℓ, is at most tanh(D/4).
    """

    experts: int

    def __call__(self, t: int) -> float:
        """Return tanh(D/4); at the first step nothing is known."""
        if t == 1:
            return 1.0
        eta, last = (math.sqrt(math.log(self.experts) / s) for s in (t, t - 1))
        return math.tanh(0.25 * (eta + (last - eta) * (t - 2)))


@dataclass(frozen=True)
class BoundedMean(Task):
    """z is uniform on [0, 1]; the model is the mean m of the samples before, 1/2 at first.

    That is the leader of the squared error (z − m)². The truth is 1/12 + (m_t − 1/2)².
    """

    steps: int = 2_000

    group: ClassVar[str] = "bounded"
    stability: ClassVar[rates.Rate] = rates.Schedule(mean_change)
    c: ClassVar[float] = 2.0

    @property
    def name(self) -> str:
        """Of the learner."""
        return "bounded-mean"

    def make(self, rng: np.random.Generator) -> Stream:
        """Draw the samples, and take means."""
        z = rng.random(self.steps)
        means = np.full(self.steps, 0.5)
        means[1:] = np.cumsum(z[:-1]) / np.arange(1, self.steps)
        return Stream(
            loss=(z - means) ** 2,
            previous=(z - before(means)) ** 2,
            truth=1.0 / 12.0 + (means - 0.5) ** 2,
        )


@dataclass(frozen=True)
class BoundedExperts(ExpertAdvice):
    """Hedge as in the paper, with what is known about its steps beside it."""

    experts: int = 10
    steps: int = 2_000

    group: ClassVar[str] = "bounded"
    c: ClassVar[float] = 1.0

    @property
    def stability(self) -> rates.Rate:
        """The most that the loss can change at each step."""
        return rates.Schedule(HedgeChange(self.experts))
