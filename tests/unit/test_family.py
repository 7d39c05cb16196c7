"""One family, L_t = L_{t−1} + β_t d_t + γ_t (p_t − L_{t−1}): where each estimator lies in it."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

import oeuvre
from tests.conftest import Pairs, learner_pairs

Gains = Callable[[int], tuple[float, float]]


def follow(pairs: Pairs, gains: Gains) -> NDArray[np.float64]:
    """Run the recursion with given gains; the first loss is the first estimate."""
    losses, previous = pairs
    course = [losses[0]]
    for t in range(2, len(losses) + 1):
        beta, gamma = gains(t)
        change, before = losses[t - 1] - previous[t - 1], previous[t - 1]
        course.append(course[-1] + beta * change + gamma * (before - course[-1]))
    return np.array(course)


def faded(t: int) -> float:
    """Return the weight of the newest of t losses, each worth 0.9 of the one after it."""
    return float((1 - 0.9) / (1 - 0.9**t))


@pytest.mark.parametrize(
    ("estimator", "gains"),
    [
        (oeuvre.Prequential(), lambda t: (1 / t, 1 / t)),
        (oeuvre.ExponentialMovingAverage(0.1), lambda _: (0.1, 0.1)),
        (oeuvre.FadingFactor(0.9), lambda t: (faded(t), faded(t))),
        (oeuvre.Oeuvre(gamma=0.1), lambda _: (1.0, 0.1)),
        (oeuvre.Oeuvre(gamma="1/t"), lambda t: (1.0, 1 / t)),
        (oeuvre.Oeuvre(gamma="max(1/t, 0.1)"), lambda t: (1.0, max(1 / t, 0.1))),
    ],
)
def test_every_recursive_estimator_has_its_place(estimator: oeuvre.Estimator, gains: Gains) -> None:
    pairs = learner_pairs(400)
    course = estimator.replay(*pairs).estimate
    np.testing.assert_allclose(course, follow(pairs, gains), rtol=1e-12)


@pytest.mark.parametrize("two_gain", [False, True])
def test_so_have_those_whose_gains_come_from_the_stream(two_gain: bool) -> None:
    pairs = learner_pairs(400)
    estimator = oeuvre.AdaptiveOeuvre(two_gain=two_gain)
    gains, course = {}, []
    for t, (loss, before) in enumerate(zip(*pairs, strict=True), start=1):
        estimator.update(loss, before)
        gains[t] = estimator.gains
        course.append(estimator.get())
    np.testing.assert_allclose(course, follow(pairs, gains.__getitem__), rtol=1e-12)
    assert all(1 / t * (1 - 1e-12) <= gamma <= beta <= 1 for t, (beta, gamma) in gains.items())
    assert (min(beta for beta, _ in gains.values()) < 0.5) == two_gain


def test_one_rule_for_both_gains_and_not_one_after_the_other() -> None:
    """Lowering β alone leaves γ where the noise of the change had put it: an average, and noisy.

    The losses of a model that moves at random without getting anywhere: the true loss is 1 always.
    """
    rng = np.random.default_rng(0)
    level = np.concatenate(([0.0], rng.normal(0.0, 0.3, 4000)))
    noise = rng.normal(0.0, 1.0, 4000)
    losses, previous = 1 + noise + level[1:], 1 + noise + level[:-1]
    one, two = oeuvre.AdaptiveOeuvre(), oeuvre.AdaptiveOeuvre(two_gain=True)
    first, second = (each.replay(losses, previous) for each in (one, two))
    late = slice(1000, None)
    assert first.weight[late].mean() > 10 * second.weight[late].mean()
    error = [np.sqrt(np.mean((each.estimate[late] - 1) ** 2)) for each in (first, second)]
    assert error[0] > 3 * error[1]


def absolute(pairs: Pairs) -> NDArray[np.float64]:
    """Carry V itself instead of V / var(p), begun from the first residuals: what not to do."""
    losses, previous = pairs
    value = losses[0]
    course = [value]
    mean = np.zeros(2)
    moment = np.zeros((2, 2))
    spread = None
    for i in range(1, len(losses)):
        pair = np.array([losses[i] - previous[i], previous[i]])
        gamma = 1 / (i + 1)
        if i >= 3:
            (change, cov), (_, level) = moment
            spread = level if spread is None else spread
            gamma = min(1.0, max(0.0, (spread - cov) / (spread + level)))
            fresh = change + 2 * gamma * cov + gamma**2 * level
            spread = (1 - gamma) ** 2 * spread + max(0.0, fresh)
        value += pair[0] + gamma * (pair[1] - value)
        course.append(value)
        pace = i**-0.7
        off = pair - mean if i > 1 else np.zeros(2)
        mean = mean + pace * (pair - mean)
        moment = (1 - pace) * (moment + pace * np.outer(off, off))
    return np.array(course)


def test_the_variance_is_carried_as_a_ratio_for_a_reason() -> None:
    """Losses far from Gaussian: V from a few residuals is off by orders, and takes long to mend.

    The estimate of a model that stands still should be the mean of all losses. The median of the
    ratio of the two errors over these 40 streams is 1.7.
    """
    ratios = []
    for seed in range(40):
        losses = np.random.default_rng(seed).lognormal(0.0, 1.5, 1000)
        truth = np.exp(1.5**2 / 2)
        off = [
            np.sqrt(np.mean((course - truth) ** 2))
            for course in (
                absolute((losses, losses)),
                oeuvre.AdaptiveOeuvre().replay(losses, losses).estimate,
            )
        ]
        ratios.append(off[0] / off[1])
    assert np.median(ratios) > 1.4
