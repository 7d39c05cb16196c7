"""Linear regression by gradient descent with a constant step, on a target that moves."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from oeuvre.estimators.arrays import Floats
from oeuvre.experiments.tasks.base import Stream, Task
from oeuvre.experiments.tasks.gradient import before, descent, direction, predictions
from oeuvre.parameters import invalid

__all__ = ["ShiftingRegression"]

STEP = {"abrupt": 0.02, "gradual": 0.005, "seasonal": 0.025}
"""The step of descent for each kind of shift: the learner follows, and lags visibly."""
BETWEEN_JUMPS = 1250
LINE = (1500, 3500)
PERIOD = 1000


@dataclass(frozen=True)
class ShiftingRegression(Task):
    """x ~ N(0, I), y = w*_t·x + N(0, noise²); the loss is (y − w·x)²/d.

    Descent follows the gradient of that loss from w = 0, with a constant step: 0.02, 0.005 or
    0.025. With u and v of length 1 in random directions, and t = 1, 2, ...,

        abrupt    w*_t is u, and from steps 1251, 2501, ... on another draw each
        gradual   w*_t = u + s_t (v − u), s_t going evenly from 0 at step 1500 to 1 at step 3500
        seasonal  w*_t = u + v sin(2πt/1000)

    The truth is (|w_t − w*_t|² + noise²)/d.
    """

    kind: Literal["abrupt", "gradual", "seasonal"]
    dimension: int = 10
    noise: float = 0.5
    steps: int = 5_000

    group: ClassVar[str] = "shifts"
    rate: ClassVar[str] = "constant"

    @property
    def name(self) -> str:
        """The kind of shift."""
        return f"shifts-{self.kind}"

    def make(self, rng: np.random.Generator) -> Stream:
        """Draw the targets and the samples, and descend."""
        d = self.dimension
        targets = self.draw_targets(rng)
        x = rng.standard_normal((self.steps, d))
        y = predictions(targets, x) + self.noise * rng.standard_normal(self.steps)
        steps = np.full(self.steps, STEP[self.kind])
        weights = descent(x, y, steps, lambda prediction, y: 2.0 * (prediction - y) / d)
        off = weights - targets
        return Stream(
            loss=(y - predictions(weights, x)) ** 2 / d,
            previous=(y - predictions(before(weights), x)) ** 2 / d,
            truth=(predictions(off, off) + self.noise**2) / d,
        )

    def draw_targets(self, rng: np.random.Generator) -> Floats:
        """Return w*_t for each t."""
        t = np.arange(1, self.steps + 1)
        if self.kind == "abrupt":
            part = (t - 1) // BETWEEN_JUMPS
            draws = np.array([direction(rng, self.dimension) for _ in range(part[-1] + 1)])
            jumping: Floats = draws[part]
            return jumping
        if self.kind not in STEP:
            words = "'abrupt', 'gradual' or 'seasonal'"
            raise invalid("ShiftingRegression", "kind", words, self.kind)
        u, v = direction(rng, self.dimension), direction(rng, self.dimension)
        if self.kind == "gradual":
            return u + np.interp(t, LINE, (0.0, 1.0))[:, None] * (v - u)
        return u + np.sin(2.0 * np.pi * t / PERIOD)[:, None] * v
