"""Learners that settle fast: the leader of strongly convex losses, whose stability is 1/t."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from oeuvre.estimators.arrays import Floats
from oeuvre.experiments.tasks.base import Stream, Task
from oeuvre.experiments.tasks.gradient import before, direction, predictions

__all__ = ["RidgeRegression", "RunningMean"]


@dataclass(frozen=True)
class RunningMean(Task):
    """z ~ N(μ, I) with |μ| = 3√d in a random direction; the loss is |z − m|².

    The model m_t is the mean of the samples before, the leader of this loss; m_1 = 0. The truth is

        d + |m_t − μ|²
    """

    dimension: int
    steps: int = 5_000

    group: ClassVar[str] = "fast"
    rate: ClassVar[str] = "1/t"

    @property
    def name(self) -> str:
        """The dimension."""
        return f"fast-mean-d{self.dimension}"

    def make(self, rng: np.random.Generator) -> Stream:
        """Draw μ and the samples, and take means."""
        d = self.dimension
        mu = 3.0 * d**0.5 * direction(rng, d)
        z = mu + rng.standard_normal((self.steps, d))
        means = np.zeros_like(z)
        means[1:] = np.cumsum(z[:-1], axis=0) / np.arange(1, self.steps)[:, None]
        return Stream(
            loss=squares(z - means),
            previous=squares(z - before(means)),
            truth=d + squares(means - mu),
        )


@dataclass(frozen=True)
class RidgeRegression(Task):
    """x ~ N(0, Σ) with Σ_ij = 2^−|i−j|, y = w*·x + N(0, noise²), |w*| = 1; the loss is (y − w·x)².

    The model is the regularised leader,

        w_t = argmin_w |w|² + Σ_{s<t} (y_s − w·x_s)²

    by recursive least squares. The truth is (w_t − w*)ᵀ Σ (w_t − w*) + noise².
    """

    dimension: int
    noise: float = 0.5
    steps: int = 5_000

    group: ClassVar[str] = "fast"
    rate: ClassVar[str] = "1/t"

    @property
    def name(self) -> str:
        """The dimension."""
        return f"fast-ridge-d{self.dimension}"

    def make(self, rng: np.random.Generator) -> Stream:
        """Draw w* and the samples, and solve."""
        d = self.dimension
        place = np.arange(d)
        sigma = 0.5 ** np.abs(place[:, None] - place)
        target = direction(rng, d)
        x = rng.standard_normal((self.steps, d)) @ np.linalg.cholesky(sigma).T
        y = x @ target + self.noise * rng.standard_normal(self.steps)
        weights = leaders(x, y)
        off = weights - target
        return Stream(
            loss=(y - predictions(weights, x)) ** 2,
            previous=(y - predictions(before(weights), x)) ** 2,
            truth=predictions(off @ sigma, off) + self.noise**2,
        )


def squares(rows: Floats) -> Floats:
    """Return the squared length of each row."""
    return predictions(rows, rows)


def leaders(x: Floats, y: Floats) -> Floats:
    """Return the solutions w_1 = 0, w_2, ..., w_T of ridge regression on the samples before t.

    P_t = (I + Σ_{s<t} x_s x_sᵀ)⁻¹ loses a matrix of rank 1 at each step:

        g = P_t x_t / (1 + x_t·P_t x_t)
        w_{t+1} = w_t + (y_t − w_t·x_t) g
        P_{t+1} = P_t − g (P_t x_t)ᵀ
    """
    weights = np.zeros_like(x)
    current = np.zeros(x.shape[1])
    inverse = np.eye(x.shape[1])
    for t in range(1, len(x)):
        row = x[t - 1]
        reach = inverse @ row
        gain = reach / (1.0 + float(row @ reach))
        current = current + (float(y[t - 1]) - float(row @ current)) * gain
        inverse = inverse - np.outer(gain, reach)
        weights[t] = current
    return weights
