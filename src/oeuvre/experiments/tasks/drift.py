"""Linear regression by gradient descent on data that change with time."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import polars as pl
from numpy.lib.stride_tricks import sliding_window_view

from oeuvre.estimators.arrays import Floats
from oeuvre.experiments import datasets
from oeuvre.experiments.tasks.base import Stream, Task
from oeuvre.experiments.tasks.gradient import before, iterates, predictions

__all__ = ["DriftingRegression", "StandardisedRegression"]

AHEAD = 50
"""The truth at step t is the mean loss of its model on this many samples after z_t."""


@dataclass(frozen=True)
class DriftingRegression(Task):
    """Squared error of gradient descent with steps 0.01/√t from w = 0, in the order of the file.

    Features and target are scaled to [0, 1] with the bounds of the whole file (a simplification of
    the experiment), with a constant beside them. The paper does not say which columns it takes;
    here all that are known beforehand and are numbers, and an indicator of each Toulouse station.
    The last 50 rows only serve the truth.
    """

    data: Literal["bike_sharing_uci", "toulouse_bikes", "chick_weights", "wine_quality"]

    group: ClassVar[str] = "drift"
    cost: ClassVar[int] = 5
    seeded: ClassVar[bool] = False
    eta: ClassVar[float] = 0.01

    @property
    def name(self) -> str:
        """The data set."""
        return f"drift-{self.data}"

    @property
    def datasets(self) -> tuple[str, ...]:
        """The one it runs on."""
        return (self.data,)

    def make(self, rng: np.random.Generator) -> Stream:
        """Go through the file once; there is nothing to draw."""
        features, target = read(self.data)
        x = self.scale(features.to_numpy().astype(np.float64))
        y = self.scale(target.to_numpy().astype(np.float64))
        x = np.column_stack((x, np.ones(len(y))))
        weights = iterates(x, y, self.eta, lambda prediction, y: 2.0 * (prediction - y))
        kept = len(y) - AHEAD
        return Stream(
            loss=((y - predictions(weights, x)) ** 2)[:kept],
            previous=((y - predictions(before(weights), x)) ** 2)[:kept],
            truth=look_ahead(weights, x, y),
        )

    @staticmethod
    def scale(columns: Floats) -> Floats:
        """Bring each column to [0, 1]."""
        low, high = columns.min(axis=0), columns.max(axis=0)
        result: Floats = (columns - low) / (high - low)
        return result


@dataclass(frozen=True)
class StandardisedRegression(DriftingRegression):
    """The same with features and target brought to mean 0 and variance 1 over the whole file.

    The paper does not say how it scales its data, and how OEUVRE fares depends on it.
    """

    group: ClassVar[str] = "standardised"

    @property
    def name(self) -> str:
        """The data set."""
        return f"standardised-{self.data}"

    @staticmethod
    def scale(columns: Floats) -> Floats:
        """Bring each column to mean 0 and variance 1."""
        result: Floats = (columns - columns.mean(axis=0)) / columns.std(axis=0)
        return result


def look_ahead(weights: Floats, x: Floats, y: Floats) -> Floats:
    """Return the mean squared error of w_t on samples t + 1 to t + 50, for each t that has them."""
    rows = sliding_window_view(x[1:], AHEAD, axis=0)  # step, feature, sample
    targets = sliding_window_view(y[1:], AHEAD)
    truth = np.empty(len(rows))
    for start in range(0, len(rows), 1000):
        part = slice(start, min(start + 1000, len(rows)))
        errors = targets[part] - np.einsum("ti,tis->ts", weights[part], rows[part])
        truth[part] = np.mean(errors**2, axis=1)
    return truth


def read(data: str) -> tuple[pl.DataFrame, pl.Series]:
    """Return the features and the target of a data set, in the order of its file."""
    if data == "bike_sharing_uci":
        table = datasets.table(data, "hour.csv.gz")
        known = table.drop("instant", "dteday", "casual", "registered", "cnt")
        return known, table["cnt"]
    if data == "toulouse_bikes":
        table = datasets.table(data, "toulouse_bikes.csv.gz")
        weather = table.select("clouds", "humidity", "pressure", "temperature", "wind")
        return weather.hstack(table.select("station").to_dummies()), table["bikes"]
    if data == "chick_weights":
        table = datasets.table(data, "chick-weights.csv")
        return table.drop("weight"), table["weight"]
    red, white = (
        datasets.table(data, f"winequality-{colour}.csv.gz", separator=";")
        for colour in ("red", "white")
    )
    table = pl.concat((red, white), how="vertical_relaxed")
    return table.drop("quality"), table["quality"]
