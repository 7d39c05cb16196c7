"""Linear regression by gradient descent, on Gaussian data: the truth is a formula."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from oeuvre.estimators.arrays import Floats
from oeuvre.experiments.tasks.base import Stream, Task
from oeuvre.experiments.tasks.gradient import before, direction, iterates, predictions
from oeuvre.parameters import invalid

__all__ = ["LinearRegression"]


@dataclass(frozen=True)
class LinearRegression(Task):
    """x ~ N(0, Σ) with Σ_ii = 1, y = w*·x + N(0, noise²), |w*| = 1; the loss is (y − w·x)²/d.

    Descent follows the gradient of that loss with steps 0.01/√t from w = 0. The truth is

        ((w_t − w*)ᵀ Σ (w_t − w*) + noise²) / d

    The paper does not say which Σ. "random" is a Wishart matrix of d degrees of freedom, scaled
    to a unit diagonal and drawn anew for each seed; "toeplitz" has Σ_ij = 2^−|i−j|. Runs of one
    seed and dimension share Σ, w* and x, whatever the noise.
    """

    dimension: int
    noise: float
    covariance: Literal["random", "identity", "toeplitz"] = "random"
    steps: int = 10_000

    group: ClassVar[str] = "linear"
    eta: ClassVar[float] = 0.01

    @property
    def name(self) -> str:
        """Dimension and noise, and what is not the default."""
        kind = "" if self.covariance == "random" else f"-{self.covariance}"
        return f"linear-d{self.dimension}-noise{self.noise:g}{kind}"

    def make(self, rng: np.random.Generator) -> Stream:
        """Draw Σ, w* and the samples, and descend."""
        d = self.dimension
        sigma = self.draw_covariance(rng)
        target = direction(rng, d)
        x = rng.standard_normal((self.steps, d)) @ np.linalg.cholesky(sigma).T
        y = x @ target + self.noise * rng.standard_normal(self.steps)
        weights = iterates(x, y, self.eta, lambda prediction, y: 2.0 * (prediction - y) / d)
        off = weights - target
        return Stream(
            loss=(y - predictions(weights, x)) ** 2 / d,
            previous=(y - predictions(before(weights), x)) ** 2 / d,
            truth=(predictions(off @ sigma, off) + self.noise**2) / d,
        )

    def draw_covariance(self, rng: np.random.Generator) -> Floats:
        """Return Σ."""
        d = self.dimension
        if self.covariance == "identity":
            return np.eye(d)
        if self.covariance == "toeplitz":
            place = np.arange(d)
            powers: Floats = 0.5 ** np.abs(place[:, None] - place)
            return powers
        if self.covariance != "random":
            words = "'random', 'identity' or 'toeplitz'"
            raise invalid("LinearRegression", "covariance", words, self.covariance)
        root = rng.standard_normal((d, d))
        wishart = root @ root.T
        scale = np.sqrt(np.diag(wishart))
        correlation: Floats = wishart / np.outer(scale, scale)
        return correlation
