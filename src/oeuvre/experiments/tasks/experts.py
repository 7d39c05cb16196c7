"""Prediction with expert advice by Hedge: the truth is a formula."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from oeuvre.experiments.tasks.base import Stream, Task
from oeuvre.experiments.tasks.gradient import before, predictions
from oeuvre.parameters import invalid

__all__ = ["ExpertAdvice"]


@dataclass(frozen=True)
class ExpertAdvice(Task):
    """Each expert's loss is drawn independently at each step; Hedge weighs the experts.

    Hedge puts p_t ∝ exp(−η_t Σ_{s<t} ℓ_s) with η_t = √(log K/t), so p_1 is uniform. "beta":
    expert i's losses are Beta(α_i, β_i), with α_i and β_i drawn from 1, ..., 9. "bernoulli": they
    are 1 with probability p_i, drawn from [0.01, 0.99]. The loss is p_t·ℓ_t, the truth p_t·E[ℓ].
    """

    distribution: Literal["beta", "bernoulli"]
    experts: int
    steps: int = 10_000

    group: ClassVar[str] = "experts"

    @property
    def name(self) -> str:
        """Distribution and number of experts."""
        return f"experts-{self.distribution}-k{self.experts}"

    def make(self, rng: np.random.Generator) -> Stream:
        """Draw the experts and their losses, and run Hedge, which has a closed form."""
        shape = (self.steps, self.experts)
        if self.distribution == "beta":
            alpha, beta = rng.integers(1, 10, size=(2, self.experts))
            losses = rng.beta(alpha, beta, size=shape)
            mean = alpha / (alpha + beta)
        elif self.distribution == "bernoulli":
            mean = rng.uniform(0.01, 0.99, size=self.experts)
            losses = (rng.random(shape) < mean).astype(np.float64)
        else:
            words = "'beta' or 'bernoulli'"
            raise invalid("ExpertAdvice", "distribution", words, self.distribution)
        past = np.zeros(shape)
        np.cumsum(losses[:-1], axis=0, out=past[1:])
        eta = np.sqrt(np.log(self.experts) / np.arange(1, self.steps + 1))
        exponent = -eta[:, None] * past
        weights = np.exp(exponent - exponent.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        return Stream(
            loss=predictions(weights, losses),
            previous=predictions(before(weights), losses),
            truth=np.einsum("ti,i->t", weights, mean),
        )
