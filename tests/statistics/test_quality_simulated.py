"""The matrix is about the classifier as it is now, seen in simulations; a running one is not.

All streams are seeded, so a run is repeatable. Had the seeds been drawn at random, a comparison
with a limit of Z = 5 standard errors would fail by chance with probability 5.7e-7; this file makes
12 of them, so less than once in 140,000 runs of the file.
"""

import numpy as np
import pytest
from numpy.typing import NDArray

from oeuvre import AdaptiveOeuvre, Estimator, Oeuvre, Quality

Z, FLIP = 5.0, 0.1
Floats = NDArray[np.float64]


def threshold(t: int) -> float:
    """The classifier says 1 above this; it moves from 0.1 to the best place, 0.5."""
    return 0.5 - 0.4 / (1.0 + t / 10.0)


def truth(at: float) -> Floats:
    """Return the confusion matrix where x is uniform and y is whether x > 0.5, up to flips."""
    answers = np.array([at, 1.0 - at])  # shares of 0 and 1, of either class
    plain = np.array([[at, 0.5 - at], [0.0, 0.5]])  # without flips
    true: Floats = (1.0 - FLIP) * plain + FLIP * (answers - plain)
    return true


def simulate(
    est: Estimator | None, runs: int, steps: int, size: int
) -> tuple[Floats, Floats, Floats]:
    """Return the matrices after many runs, the estimated and the running ones, and the true one."""
    rng = np.random.default_rng(1)
    last, running = np.empty((runs, 2, 2)), np.zeros((runs, 2, 2))
    for i in range(runs):
        quality = Quality(est)
        for t in range(steps):
            x = rng.random(size)
            y = ((x > 0.5) ^ (rng.random(size) < FLIP)).astype(int)
            now, before = ((x > threshold(at)).astype(int) for at in (t, max(t - 1, 0)))
            quality.update_many(y, now, before)
            np.add.at(running[i], (y, now), 1.0 / (steps * size))
        order = [quality.labels.index(label) for label in (0, 1)]
        last[i] = quality.matrix[np.ix_(order, order)]
    return last, running, truth(threshold(steps - 1))


def test_the_true_matrix_is_what_a_large_sample_shows() -> None:
    """Its entries have standard errors of at most 0.5/√200,000 = 0.0011."""
    _, seen, _ = simulate(None, runs=1, steps=1, size=200_000)
    assert abs(seen[0] - truth(threshold(0))).max() < Z * 0.0011


@pytest.mark.parametrize("rate", ["1/t", "1/sqrt(t)"])
def test_with_weights_fixed_in_advance_the_matrix_is_unbiased(rate: str) -> None:
    last, running, true = simulate(Oeuvre(rate, b=0.5, c=1.0), runs=400, steps=60, size=1)
    off, of_running = (
        (each.mean(axis=0) - true) / (each.std(axis=0, ddof=1) / np.sqrt(len(each)))
        for each in (last, running)
    )
    assert abs(off).max() < Z
    assert of_running[0, 0] < -3 * Z  # it keeps the many false alarms of the first models
    assert of_running[0, 1] > 3 * Z


@pytest.mark.parametrize("est", [None, AdaptiveOeuvre()], ids=repr)
def test_with_weights_from_the_data_batches_come_close(est: Estimator | None) -> None:
    """These weights bias a little; the limit is at more than 10 standard errors beyond that."""
    last, running, true = simulate(est, runs=80, steps=40, size=100)
    assert abs(last.mean(axis=0) - true).max() < 0.02
    assert abs(running.mean(axis=0) - true).max() > 0.06
