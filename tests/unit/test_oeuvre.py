"""The paper's estimator: Equations 1 to 5 and Algorithm 1, against plain computations."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oeuvre import Oeuvre, rates
from oeuvre._kernels import COMPILED
from oeuvre._kernels.oeuvre import optimal_step
from tests.conftest import learner_pairs

POSITIVE = st.floats(1e-3, 1e3)


def equation_2(bound: float, gamma: float, sigma: float, b: float) -> float:
    return (gamma * b + (1 - gamma) * sigma) ** 2 + (1 - gamma) ** 2 * bound


@given(bound=POSITIVE, sigma=st.floats(0, 1e3), b=POSITIVE)
def test_optimal_weight_is_the_minimiser_found_by_search(
    bound: float, sigma: float, b: float
) -> None:
    gamma, minimum = optimal_step(bound, sigma, b)
    assert 0.0 <= gamma <= 1.0
    assert minimum == pytest.approx(equation_2(bound, gamma, sigma, b), rel=1e-9)
    low, high = 0.0, 1.0
    for _ in range(100):  # golden-section search; the function is convex
        left, right = low + 0.382 * (high - low), low + 0.618 * (high - low)
        if equation_2(bound, left, sigma, b) < equation_2(bound, right, sigma, b):
            high = right
        else:
            low = left
    found = (low + high) / 2
    # rounding hides the last half of the digits of a minimiser, in units of the curvature
    scale = (equation_2(bound, found, sigma, b) / (bound + (b - sigma) ** 2)) ** 0.5
    assert gamma == pytest.approx(found, abs=1e-6 * (1 + scale))
    assert minimum <= equation_2(bound, found, sigma, b) * (1 + 1e-12)


@given(
    weights=st.lists(st.floats(0, 1), min_size=1, max_size=30),
    paces=st.lists(st.floats(0, 2), min_size=30, max_size=30),
    b=POSITIVE,
    c=st.floats(0, 1e3),
)
def test_no_other_weights_have_a_smaller_bound(
    weights: list[float], paces: list[float], b: float, c: float
) -> None:
    best = Oeuvre(b=b, c=c)
    bound = b * b
    best.update(0.0, rate=0.0)
    for gamma, pace in zip(weights, paces, strict=False):
        best.update(0.0, 0.0, rate=pace)
        bound = equation_2(bound, gamma, c * pace, b)
        assert best.variance <= bound * (1 + 1e-9)


@given(
    gamma=st.floats(0, 1),
    paces=st.lists(st.floats(0, 2), min_size=1, max_size=30),
    b=POSITIVE,
    c=st.floats(0, 1e3),
)
def test_fixed_weights_carry_equation_2(
    gamma: float, paces: list[float], b: float, c: float
) -> None:
    est = Oeuvre(b=b, c=c, gamma=gamma)
    est.update(1.0)
    bound, estimate = b * b, 1.0
    for t, pace in enumerate(paces):
        est.update(t, -t, rate=pace)
        bound = equation_2(bound, gamma, c * pace, b)
        estimate = t + (1 - gamma) * (estimate + t)
        assert est.variance == pytest.approx(bound, rel=1e-9)
        assert est.get() == pytest.approx(estimate, rel=1e-9, abs=1e-9)
        assert est.weight == gamma


def test_the_three_cases_of_the_optimal_weight_are_reached() -> None:
    # a learning rate that restarts: small for long, so that V gets small, then large again
    paces = np.concatenate([np.full(200, 1e-4), np.full(5, 0.3), [2.0], np.full(50, 0.1)])
    course = Oeuvre(b=1.0, c=1.0).replay(np.zeros(256), np.zeros(256), rates=paces)
    assert course.variance is not None
    assert (course.weight[200:203] == 0).all()
    np.testing.assert_allclose(
        course.variance[200:203], course.variance[199] + 0.09 * np.arange(1, 4)
    )
    assert course.weight[205] == 1.0
    assert course.variance[205] == 1.0
    assert ((course.weight[206:] > 0) & (course.weight[206:] < 1)).all()


def test_one_over_sqrt_t_never_stops_taking_in() -> None:
    course = Oeuvre(b=1.0, c=1.0).replay(*learner_pairs(20_000))
    assert (course.weight[1:] > 0).all()


@pytest.mark.parametrize("b", [1e-140, 1e-3, 400.0, 1e140])
def test_static_functions_give_the_running_mean(b: float) -> None:
    steps = 10**6 if COMPILED else 10**5
    losses = np.random.default_rng(1).normal(3.0, 2.0, steps)
    est = Oeuvre(b=b, c=0.0)
    course = est.replay(losses, losses)
    t = np.arange(1, steps + 1)
    assert course.variance is not None
    np.testing.assert_allclose(course.weight, 1 / t, rtol=1e-12)
    np.testing.assert_allclose(course.variance, b * b / t, rtol=1e-12)
    means = np.cumsum(losses.astype(np.longdouble)) / t
    np.testing.assert_allclose(course.estimate, means.astype(float), rtol=1e-12)
    assert est.effective_n == pytest.approx(steps, rel=1e-12)


def test_ten_to_the_eighth_static_steps_in_constant_memory() -> None:
    chunks = 100 if COMPILED else 1
    losses = np.random.default_rng(2).random(10**6 if COMPILED else 10**5)
    est = Oeuvre("1/t", b=0.5, c=0.0)
    size = len(repr(est.to_dict())) + 25 * len(est.to_dict()["state"])
    for _ in range(chunks):
        est.replay(losses, losses)
    t = chunks * len(losses)
    assert est.n == t
    assert est.get() == pytest.approx(math.fsum(losses) / len(losses), rel=1e-10)
    assert est.variance == pytest.approx(0.25 / t, rel=1e-10)
    assert est.weight == pytest.approx(1 / t, rel=1e-10)
    assert est.log_retained == pytest.approx(-math.log(t), rel=1e-10)  # Γ_t = Π(1 − 1/i) = 1/t
    assert len(repr(est.to_dict())) < size


def test_retained_share_neither_underflows_nor_divides_by_zero() -> None:
    steps = 10**6 if COMPILED else 10**4
    est = Oeuvre(b=1.0, c=1.0, gamma=0.5)
    est.replay(np.ones(steps), np.ones(steps))
    assert est.log_retained == pytest.approx((steps - 1) * math.log(0.5), rel=1e-12)
    assert est.variance == pytest.approx((0.5 + 0.5 / steps**0.5) ** 2 / 0.75, rel=1e-3)

    nearly = Oeuvre(b=1.0, c=1.0, gamma=math.nextafter(1.0, 0.0))
    nearly.replay(np.ones(100), np.ones(100))
    assert nearly.log_retained == pytest.approx(99 * math.log(2.0**-53), rel=1e-12)

    est = Oeuvre(b=1.0, c=1.0)
    for rate in (0.1, 0.1, 5.0):  # σ ≥ b: γ = 1
        est.update(1.0, 1.0, rate=rate)
    assert est.weight == 1.0
    assert est.log_retained == 0.0
    est.update(2.0, 1.0, rate=0.1)
    assert est.log_retained == pytest.approx(math.log1p(-est.weight))


@pytest.mark.parametrize("sizes", [None, 4])
def test_retained_share_folds_under_optimal_weights_too(sizes: int | None) -> None:
    losses, previous = learner_pairs(5000, seed=11)
    batches = None if sizes is None else np.full(5000, sizes)
    est = Oeuvre("constant", b=1.0, c=0.4)
    course = est.replay(losses, previous, sizes=batches)
    assert est.to_dict()["state"]["folds"] > 2
    assert est.log_retained == pytest.approx(np.log1p(-course.weight[1:]).sum(), rel=1e-12)


def test_long_stream_agrees_with_extended_precision() -> None:
    steps = 10**6 if COMPILED else 10**5
    losses, previous = learner_pairs(steps, seed=3)
    course = Oeuvre(b=0.4, c=0.6).replay(losses, previous)
    assert course.variance is not None
    one = np.longdouble(1)
    b, c = np.longdouble(0.4), np.longdouble(0.6)
    estimate, bound = np.longdouble(losses[0]), b * b
    worst = np.zeros(3)
    for i in range(1, steps):
        sigma = c / np.sqrt(np.longdouble(i + 1))
        # the vertex of the parabola of Equation 2, brought into [0, 1]
        curve = bound + (b - sigma) * (b - sigma)
        gamma = min(max((bound - sigma * (b - sigma)) / curve, 0 * one), one)
        keep = one - gamma
        mixed = gamma * b + keep * sigma
        bound = mixed * mixed + keep * keep * bound
        estimate = losses[i] + keep * (estimate - previous[i])
        if i % 997 == 0 or i == steps - 1:
            got = (course.estimate[i], course.variance[i], course.weight[i])
            want = (estimate, bound, gamma)
            error = [abs(g - w) / abs(w) for g, w in zip(got, want, strict=True)]
            worst = np.maximum(worst, np.array(error, dtype=float))
    assert (worst < 1e-10).all(), worst


def test_algorithm_1_step_by_step() -> None:
    """The burn-in as docs/paper.md reads it, in plain Python with lists."""
    losses, previous = learner_pairs(60, seed=4)
    est = Oeuvre("1/sqrt(t)", burn_in=12)
    big_c: list[float] = []
    big_b: list[float] = []
    c, b = 1.0, 2.0
    estimate = bound = 0.0
    for t in range(1, 61):
        cur, prev = losses[t - 1], previous[t - 1]
        est.update(cur, prev)
        if t in (1, 12):
            estimate, bound, gamma = cur, b * b, 1.0
        else:
            rate = 1 / math.sqrt(t)
            gamma, bound = optimal_step(bound, c * rate, b)
            estimate = cur + (1 - gamma) * (estimate - prev)
            if t < 12:
                big_c.append((cur - prev) / rate)
                big_b.append(cur)
                if len(big_c) >= 2:
                    c = max(1e-12, float(np.var(big_c))) ** 0.5
                    b = max(1e-12, float(np.var(big_b))) ** 0.5
        assert est.get() == pytest.approx(estimate, rel=1e-12)
        assert est.variance == pytest.approx(bound, rel=1e-12)
        assert est.weight == pytest.approx(gamma, rel=1e-12)
        assert est.b == pytest.approx(b, rel=1e-12)
        assert est.c == pytest.approx(c, rel=1e-12)


def test_a_rate_of_zero_is_legal_and_adds_nothing_to_the_constants() -> None:
    losses, previous = learner_pairs(40, seed=5)
    paces = np.where(np.arange(40) % 3 == 1, 0.0, 0.5)
    est = Oeuvre(burn_in=20)
    est.replay(losses, previous, rates=paces)
    used = [i for i in range(1, 19) if paces[i] > 0]
    assert est.b == pytest.approx(np.std(losses[used]))
    assert est.c == pytest.approx(np.std((losses - previous)[used] / 0.5))

    warm = Oeuvre(burn_in=10)
    warm.replay(losses[:10], losses[:10], rates=np.zeros(10))
    assert (warm.b, warm.c) == (2.0, 1.0)  # b0 and c0 stay
    warm.update(1.0, 2.0, rate=0.0)
    assert warm.weight == pytest.approx(0.5)  # σ = 0: a mean of two


def test_the_floor_keeps_constant_losses_harmless() -> None:
    est = Oeuvre()
    course = est.replay(np.full(100, 0.25), np.full(100, 0.25))
    assert (course.estimate == 0.25).all()
    assert (est.b, est.c) == (1e-6, 1e-6)


@given(power=st.integers(-12, 12), seed=st.integers(0, 100))
def test_scale_equivariance_after_the_burn_in(power: int, seed: int) -> None:
    losses, previous = learner_pairs(100, seed)
    plain = Oeuvre().replay(losses, previous)
    scale = 2.0**power  # exact in floats, so the equality below is exact too
    scaled = Oeuvre().replay(losses * scale, previous * scale)
    assert plain.variance is not None
    assert scaled.variance is not None
    after = slice(29, None)
    assert (scaled.estimate[after] == plain.estimate[after] * scale).all()
    assert (scaled.variance[after] == plain.variance[after] * scale**2).all()
    assert (scaled.weight[after] == plain.weight[after]).all()


@pytest.mark.parametrize("gamma", [None, "1/t", "sigma", 0.1])
def test_constant_batches_have_the_weights_of_their_means(gamma: float | str | None) -> None:
    losses, previous = np.random.default_rng(6).normal(size=(2, 100, 16))
    batches, means = Oeuvre(gamma=gamma), Oeuvre(gamma=gamma)
    for cur, prev in zip(losses, previous, strict=True):
        batches.update_many(cur, prev)
        means.update(cur.mean(), prev.mean())
        assert batches.weight == pytest.approx(means.weight, rel=1e-9)
        assert batches.get() == pytest.approx(means.get(), rel=1e-9)
        assert batches.variance == pytest.approx(means.variance, rel=1e-9)
    assert batches.b == pytest.approx(means.b * 4)
    assert batches.c == pytest.approx(means.c * 4)


@given(sizes=st.lists(st.integers(1, 9), min_size=2, max_size=30), seed=st.integers(0, 99))
def test_batches_of_a_static_model_are_one_mean_of_all_samples(sizes: list[int], seed: int) -> None:
    samples = np.random.default_rng(seed).normal(size=sum(sizes))
    est = Oeuvre(b=2.0, c=0.0)
    est.replay(samples, samples, sizes=sizes)
    assert est.get() == pytest.approx(samples.mean(), rel=1e-9, abs=1e-9)
    assert est.variance == pytest.approx(4.0 / len(samples))
    assert est.weight == pytest.approx(sizes[-1] / len(samples))
    assert est.effective_n == pytest.approx(len(samples))


@given(
    sizes=st.lists(st.integers(1, 50), min_size=1, max_size=30),
    b=POSITIVE,
    c=st.floats(0, 100),
)
def test_a_batch_is_one_observation_with_smaller_constants(
    sizes: list[int], b: float, c: float
) -> None:
    est = Oeuvre("constant", b=b, c=c)
    ones = np.ones(len(sizes))
    course = est.replay(ones, ones, sizes=sizes)
    assert course.variance is not None
    bound = b * b / sizes[0]
    for i, size in enumerate(sizes[1:], start=1):
        # the same in other units: the formula with B·V in the place of V, divided by B after
        gamma, bound = optimal_step(size * bound, c, b)
        bound /= size
        assert course.weight[i] == pytest.approx(gamma, rel=1e-9, abs=1e-12)
        assert course.variance[i] == pytest.approx(bound, rel=1e-9)


def test_burn_in_weighs_batches_by_their_size() -> None:
    rng = np.random.default_rng(7)
    sizes = rng.integers(1, 20, size=30)
    samples = [rng.normal(2.0, 3.0, size=(2, k)) for k in sizes]
    est = Oeuvre("constant", burn_in=30)
    for cur, prev in samples:
        est.update_many(cur, prev)
    used = slice(1, 29)
    means = np.array([cur.mean() for cur, _ in samples])[used]
    change = np.array([cur.mean() - prev.mean() for cur, prev in samples])[used]
    weights = sizes[used]
    for values, got in ((means, est.b), (change, est.c)):
        centre = np.average(values, weights=weights)
        assert got**2 == pytest.approx(np.sum(weights * (values - centre) ** 2) / 28)


def test_guessed_constants_are_of_a_steps_mean_whatever_its_size() -> None:
    sizes = [1, 50, 1, 50, 1, 50]
    still = np.zeros(6)
    for gamma in (None, "1/t"):
        course = Oeuvre(gamma=gamma).replay(np.ones(6), np.ones(6), rates=still, sizes=sizes)
        assert course.variance is not None
        np.testing.assert_allclose(course.variance, 4 / np.arange(1, 7))
    # a burn-in in which the model rested leaves the guesses in place
    warm = Oeuvre(burn_in=4)
    course = warm.replay(np.ones(8), np.ones(8), rates=np.zeros(8), sizes=[1, 50] * 4)
    np.testing.assert_allclose(course.weight, [1, 1 / 2, 1 / 3, 1, 1 / 2, 1 / 3, 1 / 4, 1 / 5])


def test_weights_that_depend_on_the_constants_start_anew_with_them() -> None:
    losses, previous = learner_pairs(60, seed=12)
    for gamma, restarts in ((None, True), ("sigma", True), ("1/t", False), (0.1, False)):
        course = Oeuvre(gamma=gamma).replay(losses, previous)
        assert bool(course.weight[29] == 1.0) is restarts
        assert bool(course.estimate[29] == losses[29]) is restarts


def test_fixed_weights_run_from_the_first_step_without_restart() -> None:
    losses, _ = learner_pairs(100, seed=8)
    course = Oeuvre(gamma="1/t").replay(losses, losses)
    np.testing.assert_allclose(course.estimate, np.cumsum(losses) / np.arange(1, 101))
    np.testing.assert_allclose(course.weight, 1 / np.arange(1, 101))


@pytest.mark.parametrize("gamma", ["1/t", "0.3*sigma", 0.2])
def test_fixed_weights_have_the_bound_of_the_constants_found(gamma: float | str) -> None:
    losses, previous = learner_pairs(200, seed=9)
    est = Oeuvre(gamma=gamma)
    course = est.replay(losses, previous)
    bound = est.b**2
    for t in range(2, 201):
        bound = equation_2(bound, course.weight[t - 1], est.c / math.sqrt(t), est.b)
    assert est.variance == pytest.approx(bound, rel=1e-12)


def test_weights_in_units_of_sigma() -> None:
    course = Oeuvre("1/t", b=1.0, c=3.0, gamma="0.5*sigma").replay(np.ones(20), np.ones(20))
    np.testing.assert_allclose(course.weight, [1.0, *np.minimum(1, 1.5 / np.arange(2, 21))])


@pytest.mark.parametrize("exponent", [0.25, 0.5, 0.75])
def test_consistency(exponent: float) -> None:
    """σ_t → 0 implies γ*_t → 0 and V↑_t → 0; V follows the fixed point σ(2b − σ) of Equation 4."""
    b = 1.5
    est = Oeuvre(rates.Power(exponent), b=b, c=1.0)
    steps = 10**6 if COMPILED else 10**5
    course = est.replay(np.zeros(steps), np.zeros(steps))
    assert course.variance is not None
    t = steps / 10 ** np.arange(4, -1, -1.0)
    sigma, at = t**-exponent, t.astype(int) - 1
    assert (np.diff(course.variance[at]) < 0).all()
    assert (np.diff(course.weight[at]) < 0).all()
    ratio = course.variance[at] / (sigma * (2 * b - sigma))
    assert (np.diff(np.abs(ratio - 1)) < 0).all()
    assert ratio[-1] == pytest.approx(1, abs=0.02 if COMPILED else 0.04)


@pytest.mark.parametrize(("exponent", "kappa"), [(1.0, 1.0), (0.5, 1.0), (0.5, 2.0), (0.7, 1.5)])
def test_convergence_rate_of_fixed_weights(exponent: float, kappa: float) -> None:
    """The convergence-rate theorem: V↑_t ≤ (b + sup σ/γ)² γ_t where 1/γ_t − 1/γ_{t−1} ≤ 1."""
    est = Oeuvre(rates.Power(exponent), b=1.0, c=1.0, gamma=f"{kappa}*sigma")
    course = est.replay(np.zeros(5000), np.zeros(5000))
    assert course.variance is not None
    assert (np.diff(1 / course.weight) <= 1 + 1e-9).all()
    assert (course.variance <= (1 + 1 / kappa) ** 2 * course.weight * (1 + 1e-9)).all()


def test_the_theorem_needs_its_second_condition() -> None:
    """With γ = σ = 0.3/t the increments of 1/γ exceed 1 and V decays like t^−0.6 only."""
    est = Oeuvre("1/t", b=1.0, c=0.3, gamma="sigma")
    course = est.replay(np.zeros(10**5), np.zeros(10**5))
    assert course.variance is not None
    slope = math.log(course.variance[-1] / course.variance[999]) / math.log(100)
    assert slope == pytest.approx(-0.6, abs=0.02)


def test_wrong_constants_cost_at_most_their_ratio() -> None:
    """The lemma on adaptive constants, sharpened: V↑ ≤ max{(c/ĉ)², (b/b̂)²} V†."""
    rng = np.random.default_rng(10)
    for _ in range(50):
        b, c, b_hat, c_hat = rng.uniform(0.1, 3.0, 4)
        course = Oeuvre(b=b_hat, c=c_hat).replay(np.zeros(300), np.zeros(300))
        assert course.variance is not None
        bound = b * b
        for t in range(2, 301):
            bound = equation_2(bound, course.weight[t - 1], c / math.sqrt(t), b)
            limit = max((c / c_hat) ** 2, (b / b_hat) ** 2) * course.variance[t - 1]
            assert bound <= limit * (1 + 1e-9)
