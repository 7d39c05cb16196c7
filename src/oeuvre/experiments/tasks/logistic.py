"""Logistic regression with averaged weights, on the Diabetes Health Indicators."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from oeuvre.estimators.arrays import Floats
from oeuvre.experiments import datasets
from oeuvre.experiments.tasks.base import Stream, Task
from oeuvre.experiments.tasks.gradient import before, iterates, predictions

__all__ = ["LogisticRegression"]


@dataclass(frozen=True)
class LogisticRegression(Task):
    """The first `steps` rows of the shuffled data, scored by the cross-entropy.

    Gradient descent with steps 0.05/√t from w = 0; the model is the mean of its weights so far
    (Polyak-Ruppert), whose stability is of the order 1/t. The truth is the mean loss over the
    `steps` rows. The paper does not say how features are scaled: here to mean 0 and variance 1 over
    the whole file, with a constant beside them.
    """

    steps: int = 10_000

    group: ClassVar[str] = "logistic"
    cost: ClassVar[int] = 5
    rate: ClassVar[str] = "1/t"
    eta: ClassVar[float] = 0.05

    @property
    def name(self) -> str:
        """The data set."""
        return "logistic-diabetes"

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
        return Stream(
            loss=loss(sign * predictions(averages, x)),
            previous=loss(sign * predictions(before(averages), x)),
            truth=np.concatenate(
                [loss(part @ (sign[:, None] * x).T).mean(axis=1) for part in blocks(averages)]
            ),
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
