"""Learners unlike those of the paper: losses of 0 and 1, heavy tails, divergence, a hinge."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from oeuvre.estimators.arrays import Floats
from oeuvre.experiments.tasks.base import Stream, Task
from oeuvre.experiments.tasks.gradient import before, descent, direction, predictions

__all__ = ["Diverging", "HeavyTails", "Hinge", "Perceptron", "RareErrors"]


@dataclass(frozen=True)
class Perceptron(Task):
    """x ~ N(0, I), y = ±1 is the sign of w*·x, and the opposite of it with probability 0.05.

    The perceptron starts from w = 0 and adds y x when it was wrong about x; it predicts +1 if
    w·x ≥ 0, so always +1 before its first mistake. The loss is 1 for a mistake, else 0.
    The truth is

        p (1 − 2·0.05) + 0.05,  p = (angle between w_t and w*)/π

    and 1/2 while w_t = 0. Steps are constant, but w grows, and each turns it less.
    """

    dimension: int = 20
    steps: int = 5_000

    group: ClassVar[str] = "others"
    rate: ClassVar[str] = "constant"
    flip: ClassVar[float] = 0.05

    @property
    def name(self) -> str:
        """The dimension."""
        return f"others-perceptron-d{self.dimension}"

    def make(self, rng: np.random.Generator) -> Stream:
        """Draw w* and the samples, and learn from mistakes."""
        target = direction(rng, self.dimension)
        x = rng.standard_normal((self.steps, self.dimension))
        y = signs(x @ target) * np.where(rng.random(self.steps) < self.flip, -1.0, 1.0)
        weights = descent(
            x, y, np.ones(self.steps), lambda w_x, y: 0.0 if (w_x >= 0.0) == (y > 0.0) else -y
        )
        return Stream(
            loss=mistakes(weights, x, y),
            previous=mistakes(before(weights), x, y),
            truth=error_rate(weights, target) * (1.0 - 2.0 * self.flip) + self.flip,
        )


@dataclass(frozen=True)
class RareErrors(Task):
    """x ~ N(0, I), y = ±1 is the sign of w*·x; a classifier that is good from the start.

    Logistic regression by gradient descent with steps 0.2/√t, from a w_1 of length 10 at an angle
    of 0.02π to w*. The loss is 1 if the sign of w·x is not y, else 0: at first it is 1 once in
    fifty steps, later less often, and a step hardly ever changes it. The truth is the angle between
    w_t and w*, over π.
    """

    dimension: int = 20
    steps: int = 5_000

    group: ClassVar[str] = "others"
    eta: ClassVar[float] = 0.2
    angle: ClassVar[float] = 0.02 * math.pi
    length: ClassVar[float] = 10.0

    @property
    def name(self) -> str:
        """The dimension."""
        return f"others-rare-d{self.dimension}"

    def make(self, rng: np.random.Generator) -> Stream:
        """Draw w*, w_1 and the samples, and descend."""
        target = direction(rng, self.dimension)
        across = direction(rng, self.dimension)
        across -= (across @ target) * target
        across /= np.linalg.norm(across)
        start = self.length * (math.cos(self.angle) * target + math.sin(self.angle) * across)
        x = rng.standard_normal((self.steps, self.dimension))
        y = signs(x @ target)
        steps = self.eta / np.sqrt(np.arange(1, self.steps + 1))
        weights = descent(x, y, steps, lambda w_x, y: -y / (1.0 + math.exp(y * w_x)), start)
        return Stream(
            loss=mistakes(weights, x, y),
            previous=mistakes(before(weights), x, y),
            truth=error_rate(weights, target),
        )


@dataclass(frozen=True)
class HeavyTails(Task):
    """x ~ N(0, I), y = w*·x + 0.5 ε, |w*| = 1, ε Student's t with 5 degrees of freedom.

    The loss is (y − w·x)²/d: it has a variance, but no moment of order 2.5. Descent follows its
    gradient with steps 0.5/√t from w = 0. The truth is (|w_t − w*|² + 0.25·5/3)/d.
    """

    dimension: int = 20
    steps: int = 5_000

    group: ClassVar[str] = "others"
    noise: ClassVar[float] = 0.5
    freedom: ClassVar[int] = 5
    eta: ClassVar[float] = 0.5

    @property
    def name(self) -> str:
        """The dimension."""
        return f"others-heavy-d{self.dimension}"

    def make(self, rng: np.random.Generator) -> Stream:
        """Draw w* and the samples, and descend."""
        d = self.dimension
        target = direction(rng, d)
        x = rng.standard_normal((self.steps, d))
        y = x @ target + self.noise * rng.standard_t(self.freedom, self.steps)
        steps = self.eta / np.sqrt(np.arange(1, self.steps + 1))
        weights = descent(x, y, steps, lambda prediction, y: 2.0 * (prediction - y) / d)
        off = weights - target
        variance = self.noise**2 * self.freedom / (self.freedom - 2)
        return Stream(
            loss=(y - predictions(weights, x)) ** 2 / d,
            previous=(y - predictions(before(weights), x)) ** 2 / d,
            truth=(predictions(off, off) + variance) / d,
        )


@dataclass(frozen=True)
class Diverging(Task):
    """x is uniform on the sphere of radius √d, y = w*·x + N(0, 0.1²), |w*| = 1; loss (y − w·x)²/d.

    Descent follows the gradient of that loss from w = 0 with constant steps 1 + excess. Since
    |x|² = d, a step of 1 throws w·x from one side of y to the other, as far away; a larger one
    farther, and |w − w*|² grows by a factor of 1 + 4 excess (1 + excess)/d a step, on average and
    noise aside. E[x xᵀ] = I, and the truth is (|w_t − w*|² + 0.01)/d.
    """

    dimension: int = 20
    excess: float = 0.015
    steps: int = 2_000

    group: ClassVar[str] = "others"
    rate: ClassVar[str] = "constant"
    noise: ClassVar[float] = 0.1

    @property
    def name(self) -> str:
        """The dimension."""
        return f"others-diverging-d{self.dimension}"

    def make(self, rng: np.random.Generator) -> Stream:
        """Draw w* and the samples, and step too far."""
        d = self.dimension
        target = direction(rng, d)
        x = rng.standard_normal((self.steps, d))
        x *= math.sqrt(d) / np.linalg.norm(x, axis=1, keepdims=True)
        y = x @ target + self.noise * rng.standard_normal(self.steps)
        steps = np.full(self.steps, 1.0 + self.excess)
        weights = descent(x, y, steps, lambda prediction, y: 2.0 * (prediction - y) / d)
        off = weights - target
        return Stream(
            loss=(y - predictions(weights, x)) ** 2 / d,
            previous=(y - predictions(before(weights), x)) ** 2 / d,
            truth=(predictions(off, off) + self.noise**2) / d,
        )


@dataclass(frozen=True)
class Hinge(Task):
    """x ~ N(0, I), y = ±1 is the sign of w*·x, |w*| = 1; the loss is max(0, 1 − y w·x).

    Descent follows the gradient of that loss with steps 0.1/√t from w = 0: a linear support vector
    machine without a penalty. `hinge_risk` has the formula of the truth.
    """

    dimension: int = 20
    steps: int = 5_000

    group: ClassVar[str] = "others"
    eta: ClassVar[float] = 0.1

    @property
    def name(self) -> str:
        """The dimension."""
        return f"others-hinge-d{self.dimension}"

    def make(self, rng: np.random.Generator) -> Stream:
        """Draw w* and the samples, and descend."""
        target = direction(rng, self.dimension)
        x = rng.standard_normal((self.steps, self.dimension))
        y = signs(x @ target)
        steps = self.eta / np.sqrt(np.arange(1, self.steps + 1))
        weights = descent(x, y, steps, lambda w_x, y: -y if y * w_x < 1.0 else 0.0)
        return Stream(
            loss=np.maximum(0.0, 1.0 - y * predictions(weights, x)),
            previous=np.maximum(0.0, 1.0 - y * predictions(before(weights), x)),
            truth=hinge_risk(weights, target),
        )


def signs(values: Floats) -> Floats:
    """Return +1 for values of at least 0, and −1 for others."""
    return np.where(values >= 0.0, 1.0, -1.0)


def mistakes(weights: Floats, x: Floats, y: Floats) -> Floats:
    """Return 1 for each t at which the sign of w_t·x_t is not y_t, and 0 for others."""
    return np.where(signs(predictions(weights, x)) == y, 0.0, 1.0)


def parts(weights: Floats, target: Floats) -> tuple[Floats, Floats]:
    """Return the part of each w_t along w*, which has length 1, and the length of what is left."""
    along = weights @ target
    across: Floats = np.linalg.norm(weights - along[:, None] * target, axis=1)
    return along, across


def error_rate(weights: Floats, target: Floats) -> Floats:
    """Return how often the signs of w_t·x and w*·x differ if the direction of x is uniform.

    That is the angle between w_t and w* over π. The sign of 0 is +, so if w_t = 0 it is 1/2.
    """
    along, across = parts(weights, target)
    angle = np.arctan2(across, along) / np.pi
    return np.where((along == 0.0) & (across == 0.0), 0.5, angle)


def hinge_risk(weights: Floats, target: Floats) -> Floats:
    """Return E max(0, 1 − M_t) for the margins M_t = sign(w*·x) w_t·x and x ~ N(0, I).

    With a the part of w along w*, and b ≥ 0 the length of the rest, M = a|u| + bv, for u and v
    independent N(0, 1). So M/s has the skew-normal density 2 φ(z) Φ(za/b), with s = |w|, and

        E max(0, 1 − M) = P(M < 1) − E[M; M < 1]
        P(M < 1)    = Φ(1/s) − 2T
        E[M; M < 1] = a √(2/π) Φ(1/b) − 2s φ(1/s) Φ(a/(bs))
        T           = 1/(2π) ∫₀^arctan(a/b) exp(−1/(2 s² cos² θ)) dθ

    where T is Owen's function of 1/s and a/b, here by Gauss-Legendre quadrature, whose error is
    below 1e-10 up to |w| = 10; the task stays below 3. If w = 0, the result is 1.
    """
    along, across = parts(weights, target)
    size = np.hypot(along, across)
    zero = size == 0.0
    s = np.where(zero, 1.0, size)
    b = np.maximum(across, 1e-300)
    nodes, shares = np.polynomial.legendre.leggauss(100)
    half = np.arctan2(along, b)[:, None] / 2.0
    heights = np.exp(-0.5 / (s[:, None] * np.cos(half * (1.0 + nodes))) ** 2)
    owen = (heights * half) @ shares / (2.0 * np.pi)
    below = normal(1.0 / s) - 2.0 * owen
    density = np.exp(-0.5 / s**2) / math.sqrt(2.0 * np.pi)
    first = along * math.sqrt(2.0 / np.pi) * normal(1.0 / b)
    return np.where(zero, 1.0, below - first + 2.0 * s * density * normal(along / b / s))


def normal(values: Floats) -> Floats:
    """Return the normal distribution function Φ."""
    return np.array([0.5 * math.erfc(-value / math.sqrt(2.0)) for value in values.tolist()])
