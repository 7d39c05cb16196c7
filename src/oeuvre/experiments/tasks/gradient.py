"""Online gradient descent on a linear model, for the tasks that share it."""

from collections.abc import Callable

import numpy as np

from oeuvre.estimators.arrays import Floats

__all__ = ["before", "descent", "direction", "iterates", "predictions"]


def direction(rng: np.random.Generator, dimension: int) -> Floats:
    """Draw a vector of length 1, uniformly on the sphere."""
    draw = rng.standard_normal(dimension)
    result: Floats = draw / np.linalg.norm(draw)
    return result


def descent(
    x: Floats,
    y: Floats,
    steps: Floats,
    slope: Callable[[float, float], float],
    start: Floats | None = None,
) -> Floats:
    """Return the weights w_1 = `start`, w_2, ..., w_T of descent with any steps; `start` may be 0.

        w_{t+1} = w_t − steps_t slope(w_t·x_t, y_t) x_t

    `slope` is the derivative of the loss in the prediction.
    """
    weights = np.zeros_like(x)
    current = np.zeros(x.shape[1]) if start is None else start
    weights[0] = current
    for t in range(1, len(x)):
        row = x[t - 1]
        step = float(steps[t - 1]) * slope(float(row @ current), float(y[t - 1]))
        current = current - step * row
        weights[t] = current
    return weights


def iterates(x: Floats, y: Floats, eta: float, slope: Callable[[float, float], float]) -> Floats:
    """Return the weights of descent from 0 with steps eta/√t, w_t trained on t − 1 samples."""
    return descent(x, y, np.array([eta / t**0.5 for t in range(1, len(x) + 1)]), slope)


def before(weights: Floats) -> Floats:
    """Return the weights one step earlier; before the first step, the first ones."""
    return np.concatenate((weights[:1], weights[:-1]))


def predictions(weights: Floats, x: Floats) -> Floats:
    """Return w_t·x_t for each t."""
    result: Floats = np.einsum("ti,ti->t", weights, x)
    return result
