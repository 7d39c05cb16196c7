"""Logistic regression with averaged weights, on the Diabetes Health Indicators."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from oeuvre.estimators.arrays import Floats
from oeuvre.experiments import datasets
from oeuvre.experiments.tasks.base import Stream, Task
from oeuvre.experiments.tasks.gradient import before, iterates, predictions

__all__ = ["LogisticRegression"]

EVERY = 250


@dataclass(frozen=True)
class LogisticRegression(Task):
    """The first `steps` rows of the shuffled data, scored by the cross-entropy.

    Gradient descent with steps 0.05/√t from w = 0; the model is the mean of its weights so far
    (Polyak-Ruppert), whose stability is of the order 1/t. The truth is the mean loss over the
    `steps` rows. The paper does not say how features are scaled: here to mean 0 and variance 1 over
    the whole file, with a constant beside them.

    In the end the rows that were seen are all the rows the truth is about, so estimates are closer
    to it than to the loss on fresh rows. With `whole` the truth is the mean loss over the whole
    file, 25 times as many rows, at every 250th step.
    """

    steps: int = 10_000
    whole: bool = False

    group: ClassVar[str] = "logistic"
    cost: ClassVar[int] = 5
    rate: ClassVar[str] = "1/t"
    eta: ClassVar[float] = 0.05

    @property
    def name(self) -> str:
        """The data set, and whether all of it is the truth."""
        return "logistic-diabetes-whole" if self.whole else "logistic-diabetes"

    @property
    def datasets(self) -> tuple[str, ...]:
        """Diabetes Health Indicators."""
        return ("diabetes_brfss2015",)

    def make(self, rng: np.random.Generator) -> Stream:
        """Shuffle, descend, average."""
        table = datasets.table(
            "diabetes_brfss2015", "diabetes_binary_health_indicators_BRFSS2015.csv.gz"
        )
        target = table["Diabetes_binary"].to_numpy()
        features = table.drop("Diabetes_binary").to_numpy()
        features = (features - features.mean(axis=0)) / features.std(axis=0)
        rows = rng.permutation(len(target))[: self.steps]
        x = np.column_stack((features[rows], np.ones(len(rows))))
        sign = 2.0 * target[rows] - 1.0
        weights = iterates(x, sign, self.eta, slope)
        averages = np.cumsum(weights, axis=0) / np.arange(1, len(rows) + 1)[:, None]
        if self.whole:
            everyone = np.column_stack((features, np.ones(len(target))))
            everyone *= (2.0 * target - 1.0)[:, None]
            truth = np.full(len(rows), np.nan)
            for t in range(EVERY - 1, len(rows), EVERY):
                truth[t] = loss(everyone @ averages[t]).mean()
        else:
            signed = (sign[:, None] * x).T
            truth = np.concatenate([loss(part @ signed).mean(axis=1) for part in blocks(averages)])
        return Stream(
            loss=loss(sign * predictions(averages, x)),
            previous=loss(sign * predictions(before(averages), x)),
            truth=truth,
        )


def loss(margin: Floats) -> Floats:
    """Return the cross-entropy log(1 + e^−margin) of a prediction times its sign."""
    result: Floats = np.maximum(-margin, 0.0) + np.log1p(np.exp(-np.abs(margin)))
    return result


def slope(prediction: float, sign: float) -> float:
    """Return the derivative of the loss in the prediction."""
    return -sign / (1.0 + float(np.exp(sign * prediction)))


def blocks(rows: Floats, size: int = 200) -> list[Floats]:
    """Cut an array into parts small enough for the memory caches."""
    return [rows[start : start + size] for start in range(0, len(rows), size)]
