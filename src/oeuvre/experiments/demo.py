"""A regression learner on a stream whose true loss is known exactly.

Rows are drawn with replacement from scikit-learn's diabetes data (442 patients), so the samples
are independent and the expected loss of a model is its mean loss over the 442 rows.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import SGDRegressor
from sklearn.preprocessing import scale

__all__ = ["LEARNER", "DemoStep", "run"]

LEARNER = "omd with averaging"
"""Gradient descent whose iterates are averaged, as `oeuvre.rates.for_learner` calls it."""


class DemoStep(NamedTuple):
    """Losses of the current and the previous model on a fresh sample, and the true loss."""

    loss: float
    previous: float
    truth: float


def run(steps: int, seed: int) -> Iterator[DemoStep]:
    """Train a linear model by averaged gradient descent and score it in the paper's order.

    At step t: score the fresh sample z_t on the previous model, train on z_{t−1}, score z_t on
    the current model. No copy of the model is needed; training lags one sample behind.
    """
    features, target = (scale(column) for column in load_diabetes(return_X_y=True))
    model = SGDRegressor(
        learning_rate="invscaling", eta0=0.01, power_t=0.5, penalty=None, average=True
    )
    model.partial_fit(np.zeros((1, features.shape[1])), np.zeros(1))  # start from the zero model
    draws = np.random.default_rng(seed).integers(len(target), size=steps)

    def losses(rows: slice) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        errors: np.ndarray[tuple[int], np.dtype[np.float64]] = (
            model.predict(features[rows]) - target[rows]
        )
        return errors * errors

    for t, row in enumerate(draws):
        fresh = slice(row, row + 1)
        previous = float(losses(fresh)[0])
        if t > 0:
            held = slice(draws[t - 1], draws[t - 1] + 1)
            model.partial_fit(features[held], target[held])
        yield DemoStep(float(losses(fresh)[0]), previous, float(losses(slice(None)).mean()))
