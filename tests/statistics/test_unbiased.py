"""What the paper proves, seen in simulations: unbiased, a martingale, variance under its bound.

All streams are seeded, so a run is repeatable. Had the seeds been drawn at random, a test with a
limit of Z = 5 standard errors would fail by chance with probability 5.7e-7 per comparison; this
file makes fewer than 100 of them, so less than once in 17,000 runs of the file.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from oeuvre import Estimator, Oeuvre, Prequential

RUNS, STEPS, Z = 4000, 120, 5.0
Floats = NDArray[np.float64]


class Runs(NamedTuple):
    """Many runs of a learner: losses, losses of the previous model, and true losses."""

    losses: Floats
    previous: Floats
    truth: Floats


def running_mean(seed: int) -> Runs:
    """Follow the leader on squared loss: f_t is the mean of the past, z is uniform on [0, 1]."""
    z = np.random.default_rng(seed).random((RUNS, STEPS))
    models = np.zeros((RUNS, STEPS))
    models[:, 1:] = np.cumsum(z, axis=1)[:, :-1] / np.arange(1, STEPS)
    before = np.zeros_like(models)
    before[:, 1:] = models[:, :-1]
    return Runs((z - models) ** 2, (z - before) ** 2, (models - 0.5) ** 2 + 1 / 12)


def gradient_descent(seed: int) -> Runs:
    """Linear regression in 3 dimensions, step size 0.1/√t, Gaussian features and noise."""
    rng = np.random.default_rng(seed)
    target = np.array([1.0, -0.5, 0.25])
    model = before = np.zeros((RUNS, 3))
    out = np.zeros((3, RUNS, STEPS))
    held: tuple[Floats, Floats] | None = None
    for t in range(STEPS):
        x = rng.normal(size=(RUNS, 3))
        y = x @ target + 0.5 * rng.normal(size=RUNS)
        before = model
        if held is not None:
            features, answers = held
            residual = np.sum(features * model, axis=1) - answers
            model = model - 0.2 / np.sqrt(t) * residual[:, None] * features
        out[0, :, t] = (np.sum(x * model, axis=1) - y) ** 2
        out[1, :, t] = (np.sum(x * before, axis=1) - y) ** 2
        out[2, :, t] = np.sum((model - target) ** 2, axis=1) + 0.25
        held = (x, y)
    return Runs(*out)


LEARNERS = {"running mean": running_mean(1), "gradient descent": gradient_descent(2)}
WEIGHTS: dict[str, Callable[[], Estimator]] = {
    "optimal 1/t": lambda: Oeuvre("1/t", b=1.0, c=2.0),
    "optimal 1/sqrt(t)": lambda: Oeuvre("1/sqrt(t)", b=1.0, c=0.5),
    "1/t": lambda: Oeuvre(b=1.0, c=1.0, gamma="1/t"),
    "constant": lambda: Oeuvre(b=1.0, c=1.0, gamma=0.1),
}


def errors(make: Callable[[], Estimator], runs: Runs) -> Floats:
    """M_t = L_t − E ℓ_t for every run and step."""
    est = make()
    out = np.empty_like(runs.truth)
    for i, (losses, previous) in enumerate(zip(runs.losses, runs.previous, strict=True)):
        est.reset()
        out[i] = est.replay(losses, previous).estimate - runs.truth[i]
    return out


def z_score(samples: Floats) -> float:
    return float(samples.mean() / (samples.std(ddof=1) / np.sqrt(len(samples))))


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("learner", LEARNERS)
def test_unbiased_for_weights_fixed_in_advance(learner: str, weights: str) -> None:
    off = errors(WEIGHTS[weights], LEARNERS[learner])
    for t in (1, 2, 10, 40, STEPS):
        assert abs(z_score(off[:, t - 1])) < Z, t


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_test_above_would_see_a_bias(learner: str) -> None:
    """The prequential mean is biased upward while the model learns, and this size shows it."""
    off = errors(Prequential, LEARNERS[learner])
    assert z_score(off[:, -1]) > 3 * Z


@pytest.mark.parametrize("learner", LEARNERS)
def test_error_over_retained_share_is_a_martingale(learner: str) -> None:
    """E[(M_t/Γ_t − M_s/Γ_s) M_s] = 0 for s < t."""
    make = WEIGHTS["optimal 1/sqrt(t)"]
    off = errors(make, LEARNERS[learner])
    est = make()
    shares = np.empty(STEPS)
    for t in range(STEPS):
        est.update(0.0, 0.0)
        assert isinstance(est, Oeuvre)
        shares[t] = np.exp(est.log_retained)
    for s, t in ((2, 5), (10, 40), (40, STEPS - 1)):
        increment = off[:, t] * (shares[s] / shares[t]) - off[:, s]
        assert abs(z_score(increment * off[:, s])) < Z


@pytest.mark.parametrize("seed", [3, 4])
def test_variance_stays_under_its_bound(seed: int) -> None:
    """Running mean on [0, 1]: the standard deviation of a loss is at most b = 1/2.

    |ℓ_t − ℓ_{t−1}| = |f_t − f_{t−1}| |2z − f_t − f_{t−1}| ≤ 2/(t − 1) ≤ 4/t, so σ_t = 4/t bounds
    the standard deviation of the change.
    """
    est = Oeuvre("1/t", b=0.5, c=4.0)
    runs = running_mean(seed)
    off = errors(lambda: est, runs)
    est.reset()
    bound = est.replay(runs.losses[0], runs.previous[0]).variance
    assert bound is not None
    assert (off.var(axis=0, ddof=1) <= bound).all()


@pytest.mark.parametrize("size", [1, 8])
def test_variance_of_a_static_model_is_its_bound(size: int) -> None:
    """V↑_t = b²/(B t) is exact there; a sample variance has a relative error of √(2/runs)."""
    rng = np.random.default_rng(5)
    est = Oeuvre(b=2.0, c=0.0)
    last = np.empty(RUNS)
    for i in range(RUNS):
        losses = rng.normal(7.0, 2.0, 20 * size)
        est.reset()
        last[i] = est.replay(losses, losses, sizes=[size] * 20).estimate[-1]
    assert est.variance == pytest.approx(4.0 / (20 * size))
    assert abs(last.var(ddof=1) / est.variance - 1) < Z * np.sqrt(2 / RUNS)


@pytest.mark.parametrize("gamma", [None, "0.3*sigma"])
@pytest.mark.parametrize("learner", LEARNERS)
def test_unbiased_with_estimated_constants_from_the_restart_on(
    learner: str, gamma: str | None
) -> None:
    """At t0 the estimate starts anew, and later weights depend on nothing that came after t0."""
    off = errors(lambda: Oeuvre(gamma=gamma), LEARNERS[learner])
    for t in (30, 31, 60, STEPS):
        assert abs(z_score(off[:, t - 1])) < Z, t


def test_weights_from_the_data_do_bias_the_burn_in() -> None:
    """Why the restart is there: before it, weights and errors come from the same losses."""
    off = errors(Oeuvre, LEARNERS["gradient descent"])
    assert max(abs(z_score(off[:, t])) for t in range(3, 29)) > 2 * Z
