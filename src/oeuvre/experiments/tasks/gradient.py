"""Online gradient descent on a linear model, for the tasks that share it."""

from collections.abc import Callable

import numpy as np

from oeuvre.estimators.arrays import Floats

__all__ = ["before", "iterates", "predictions"]


def iterates(x: Floats, y: Floats, eta: float, slope: Callable[[float, float], float]) -> Floats:
    """Return the weights w_1 = 0, w_2, ..., w_T of gradient descent, w_t trained on t − 1 samples.

        w_{t+1} = w_t − (eta/√t) slope(w_t·x_t, y_t) x_t

    `slope` is the derivative of the loss in the prediction.
    """
    weights = np.zeros_like(x)
    current = np.zeros(x.shape[1])
    for t in range(1, len(x)):
        row = x[t - 1]
        step = eta / t**0.5 * slope(float(row @ current), float(y[t - 1]))
        current = current - step * row
        weights[t] = current
    return weights


def before(weights: Floats) -> Floats:
    """Return the weights one step earlier; before the first step, the first ones."""
    return np.concatenate((weights[:1], weights[:-1]))


def predictions(weights: Floats, x: Floats) -> Floats:
    """Return w_t·x_t for each t."""
    result: Floats = np.einsum("ti,ti->t", weights, x)
    return result
