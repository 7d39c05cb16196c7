"""The tasks of the paper and beyond: learners whose true loss is known, or estimated well."""

from collections.abc import Iterable
from dataclasses import replace

from oeuvre.experiments.tasks.base import Stream, Task
from oeuvre.experiments.tasks.drift import DriftingRegression, StandardisedRegression
from oeuvre.experiments.tasks.experts import ExpertAdvice
from oeuvre.experiments.tasks.fast import RidgeRegression, RunningMean
from oeuvre.experiments.tasks.linear import LinearRegression
from oeuvre.experiments.tasks.logistic import LogisticRegression
from oeuvre.experiments.tasks.neural import NeuralNetwork
from oeuvre.experiments.tasks.others import (
    Diverging,
    HeavyTails,
    Hinge,
    Perceptron,
    RareErrors,
)
from oeuvre.experiments.tasks.shifts import ShiftingRegression

__all__ = [
    "BEYOND",
    "GROUPS",
    "PAPER",
    "Diverging",
    "DriftingRegression",
    "ExpertAdvice",
    "HeavyTails",
    "Hinge",
    "LinearRegression",
    "LogisticRegression",
    "NeuralNetwork",
    "Perceptron",
    "RareErrors",
    "RidgeRegression",
    "RunningMean",
    "ShiftingRegression",
    "StandardisedRegression",
    "Stream",
    "Task",
    "choose",
]

GROUPS: dict[str, tuple[Task, ...]] = {
    "linear": tuple(
        LinearRegression(dimension, noise)
        for noise in (0.005, 0.05, 0.5)
        for dimension in (25, 50, 100, 200)
    ),
    "experts": tuple(
        ExpertAdvice(distribution, experts)
        for distribution in ("beta", "bernoulli")
        for experts in (25, 50, 100, 200)
    ),
    "logistic": (LogisticRegression(),),
    "neural": tuple(
        NeuralNetwork(data, samples) for samples in (128, 8) for data in ("mnist", "fashion_mnist")
    ),
    "drift": tuple(
        task(data)
        for task in (DriftingRegression, StandardisedRegression)
        for data in ("bike_sharing_uci", "toulouse_bikes", "chick_weights", "wine_quality")
    ),
    "shifts": tuple(ShiftingRegression(kind) for kind in ("abrupt", "gradual", "seasonal")),
    "fast": (RunningMean(1), RunningMean(10), RidgeRegression(5), RidgeRegression(20)),
    "others": (Perceptron(), RareErrors(), HeavyTails(), Diverging(), Hinge()),
    "emnist": tuple(NeuralNetwork("emnist", samples) for samples in (128, 8)),
}
"""Every task by the word of the command line."""

PAPER = ("linear", "experts", "logistic", "neural", "drift")
"""The paper's tasks. EMNIST, a download of half a gigabyte, runs when it is named."""

BEYOND = ("shifts", "fast", "others")
"""What the paper does not have: other learners and other data, each truth a formula."""


def choose(groups: Iterable[str], *, quick: bool = False) -> list[Task]:
    """Return the tasks of some groups.

    If `quick`, networks are trained for one epoch only, and drifting data are scaled in one way.
    """
    tasks = [task for group in groups for task in GROUPS[group]]
    if quick:
        return [
            replace(task, epochs=1) if isinstance(task, NeuralNetwork) else task
            for task in tasks
            if not isinstance(task, StandardisedRegression)
        ]
    return tasks
