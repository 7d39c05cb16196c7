"""The averages, against plain sums."""

import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oeuvre import ExponentialMovingAverage, FadingFactor, Oeuvre, Prequential, SlidingWindow
from oeuvre.errors import InvalidLoss
from tests.conftest import learner_pairs

LOSSES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)


@given(LOSSES)
def test_prequential_is_the_mean(losses: list[float]) -> None:
    est = Prequential()
    course = est.replay(losses)
    t = np.arange(1, len(losses) + 1)
    np.testing.assert_allclose(course.estimate, np.cumsum(losses) / t, rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(course.weight, 1 / t)
    assert est.effective_n == len(losses)


@given(LOSSES, st.floats(0.01, 1.0))
def test_fading_factor_is_a_ratio_of_faded_sums(losses: list[float], fading: float) -> None:
    est = FadingFactor(fading)
    total = samples = squares = 0.0
    for loss in losses:
        est.update(loss)
        total = loss + fading * total
        samples = 1 + fading * samples
        squares = 1 + fading**2 * squares
    assert est.get() == pytest.approx(total / samples, rel=1e-9, abs=1e-6)
    assert est.weight == pytest.approx(1 / samples)
    assert est.effective_n == pytest.approx(samples**2 / squares)


@given(LOSSES, st.floats(0.01, 1.0))
def test_moving_average_is_a_weighted_sum(losses: list[float], alpha: float) -> None:
    est = ExponentialMovingAverage(alpha)
    est.replay(losses)
    age = np.arange(len(losses))[::-1]
    weights = np.where(age == len(losses) - 1, 1.0, alpha) * (1 - alpha) ** age
    assert weights.sum() == pytest.approx(1.0)
    assert est.get() == pytest.approx(weights @ losses, rel=1e-9, abs=1e-6)
    assert est.effective_n == pytest.approx(1 / np.sum(weights**2))


@given(LOSSES, st.integers(1, 70))
def test_window_is_the_mean_of_the_last(losses: list[float], size: int) -> None:
    est = SlidingWindow(size)
    for t, loss in enumerate(losses, start=1):
        est.update(loss)
        last = [Fraction(x) for x in losses[max(0, t - size) : t]]
        assert est.get() == pytest.approx(float(sum(last) / len(last)), rel=1e-9, abs=1e-7)
        assert est.effective_n == len(last)
        assert est.weight == 1 / len(last)


def test_no_error_stays_behind_when_a_huge_loss_leaves_the_window() -> None:
    est = SlidingWindow(10)
    est.replay([1e16, *[0.1] * 15])
    assert est.get() == pytest.approx(0.1, rel=1e-15)


@pytest.mark.parametrize("length", [1, 5, 10, 11, 13, 100])
def test_a_window_stays_finite(length: int) -> None:
    largest = sys.float_info.max / length
    for loss in (math.nextafter(largest, 0.0), 0.5 * largest, 0.4 * largest):
        est = SlidingWindow(length)
        for _ in range(2 * length):
            try:
                est.update(loss)
            except InvalidLoss:
                break
            assert math.isfinite(est.get())
    assert est.n == 2 * length  # the last of them is small enough


def test_window_does_not_drift() -> None:
    losses = np.random.default_rng(0).random(200_000)
    est = SlidingWindow(100)
    est.replay(losses)
    assert est.get() == pytest.approx(losses[-100:].mean(), rel=1e-14)


def test_batches_count_by_their_samples() -> None:
    samples = np.random.default_rng(1).normal(size=60)
    sizes = [1, 20, 4, 5, 30]
    preq, window = Prequential(), SlidingWindow(2)
    preq.replay(samples, sizes=sizes)
    window.replay(samples, sizes=sizes)
    assert preq.get() == pytest.approx(samples.mean())
    assert preq.effective_n == 60
    assert window.get() == pytest.approx(samples[-35:].mean())
    assert window.effective_n == 35
    fading = FadingFactor(0.5)
    fading.replay([1.0, 4.0], sizes=[2, 3])
    assert fading.get() == pytest.approx((3 * 4.0 + 0.5 * 2 * 1.0) / (3 + 0.5 * 2))
    moving = ExponentialMovingAverage(0.5)
    moving.replay([1.0, 4.0], sizes=[2, 8])
    assert moving.get() == 2.5
    assert moving.effective_n == pytest.approx(1 / (0.25 / 2 + 0.25 / 8))


def test_an_average_is_the_estimator_with_previous_equal_to_loss() -> None:
    losses, _ = learner_pairs(200)
    for gamma, average in ((0.1, ExponentialMovingAverage(0.1)), ("1/t", Prequential())):
        ours = Oeuvre(b=1.0, c=1.0, gamma=gamma).replay(losses, losses)
        np.testing.assert_allclose(ours.estimate, average.replay(losses).estimate, rtol=1e-12)
