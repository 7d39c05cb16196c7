"""Intervals hold as often as they say, in simulations with a known truth.

Shares of n independent paths are compared with what was promised within four standard errors: less
than one such comparison in 15,000 fails by chance.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest

from oeuvre import AdaptiveOeuvre, Ensemble, Estimator, Oeuvre, Paired, rates
from oeuvre.estimators.arrays import Floats
from oeuvre.experiments.tasks.bounded import BoundedExperts, BoundedMean
from oeuvre.experiments.tasks.gradient import before

STEPS = 400
PATHS = 400


def known(task: BoundedMean | BoundedExperts) -> Oeuvre:
    return Oeuvre(task.stability, b=1.0, c=task.c)


def within(share: float, promised: float, paths: int, slack: float = 0.0) -> bool:
    """Tell whether a share is as promised, up to four standard errors and a bias of the method."""
    return abs(share - promised) <= 4.0 * math.sqrt(promised * (1 - promised) / paths) + slack


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize(
    "make", [AdaptiveOeuvre, lambda: Oeuvre("1/t"), lambda: known(BoundedMean())]
)
def test_normal_intervals_hold_in_the_long_run(make: Callable[[], Estimator], level: float) -> None:
    held = []
    for seed in range(PATHS):
        stream = BoundedMean(STEPS).stream(seed)
        est = make()
        est.replay(stream.loss, stream.previous)
        held.append(stream.truth[-1] in est.interval(level))
    assert within(float(np.mean(held)), level, PATHS, slack=0.01)


def test_normal_intervals_hold_in_batches() -> None:
    """Means of batches of 1 to 20 samples of a loss that stands still."""
    rng = np.random.default_rng(0)
    held = {"adaptive": 0, "paper": 0}
    for _ in range(PATHS):
        sizes = rng.integers(1, 21, size=150)
        losses = rng.exponential(size=int(sizes.sum()))
        for name, est in (("adaptive", AdaptiveOeuvre()), ("paper", Oeuvre("1/t"))):
            est.replay(losses, losses, sizes=sizes)
            held[name] += 1.0 in est.interval()
    for count in held.values():
        assert within(count / PATHS, 0.95, PATHS, slack=0.01)


@pytest.mark.parametrize("kind", ["hoeffding", "bernstein"])
@pytest.mark.parametrize("side", ["two", "lower", "upper"])
def test_bounds_hold_for_bounded_losses(kind: str, side: str) -> None:
    """Fair coins, the widest losses of all: Hoeffding's bound is near to what happens."""
    rng = np.random.default_rng(1)
    missed = 0
    paths, level = 2000, 0.6
    for _ in range(paths):
        losses = (rng.random(60) < 0.5).astype(np.float64)
        est = Oeuvre("constant", b=1.0, c=0.0)
        est.replay(losses, losses)
        missed += 0.5 not in est.interval(level, kind, side=side)  # type: ignore[arg-type]
    assert missed / paths <= 0.4 + 4 * math.sqrt(0.24 / paths)
    if kind == "hoeffding":
        assert missed / paths > 0.05  # it is a bound, and no vain one


@pytest.mark.parametrize("kind", ["anytime", "bernstein"])
def test_sequences_hold_at_all_steps_at_once(kind: str) -> None:
    """Fair coins again; looking at every step misses more often than at one."""
    rng = np.random.default_rng(2)
    paths, steps, level = 500, 60, 0.6
    ever = last = 0
    for _ in range(paths):
        est = Oeuvre("constant", b=1.0, c=0.0)
        missed = False
        for loss in (rng.random(steps) < 0.5).astype(np.float64):
            est.update(loss, loss)
            inside = 0.5 in est.interval(level, kind, horizon=steps)
            missed |= not inside
        ever += missed
        last += not inside
    assert ever / paths <= 0.4 + 4 * math.sqrt(0.24 / paths)
    assert ever >= last
    if kind == "anytime":
        assert ever > last > 0


def test_rates_along_the_way_may_depend_on_the_data() -> None:
    """The true change of Hedge's weights is known before each sample; sequences may use it."""
    rng = np.random.default_rng(3)
    paths, steps, experts, level = 200, 150, 5, 0.5
    missed = 0
    for _ in range(paths):
        mean = rng.uniform(0.1, 0.9, size=experts)
        losses = (rng.random((steps, experts)) < mean).astype(np.float64)
        past = np.vstack((np.zeros(experts), np.cumsum(losses[:-1], axis=0)))
        eta = np.sqrt(np.log(experts) / np.arange(1, steps + 1))
        weights = np.exp(-eta[:, None] * past)
        weights /= weights.sum(axis=1, keepdims=True)
        moved = 0.5 * np.abs(weights - before(weights)).sum(axis=1)
        est = Oeuvre(rates.Power(0.5), b=1.0, c=1.0)
        wrong = False
        for t in range(steps):
            now, last = weights[t] @ losses[t], before(weights)[t] @ losses[t]
            est.update(float(now), float(last), rate=float(moved[t]))
            truth = float(weights[t] @ mean)
            wrong |= truth not in est.interval(level, "bernstein", horizon=steps)
            wrong |= truth not in est.interval(level, "anytime", horizon=steps)
        missed += wrong
    assert missed / paths <= 1.0 - level + 4 * math.sqrt(0.25 / paths)


def learner(z: Floats, pace: float) -> tuple[Floats, Floats, Floats]:
    """Return losses, previous losses and true losses of gradient descent toward uniform z."""
    model = np.zeros(len(z))
    for t in range(1, len(z)):
        model[t] = model[t - 1] + pace / math.sqrt(t) * (z[t - 1] - model[t - 1])
    return (z - model) ** 2, (z - before(model)) ** 2, 1 / 12 + (model - 0.5) ** 2


def test_intervals_of_a_difference_and_a_sum_hold() -> None:
    rng = np.random.default_rng(4)
    held = np.zeros(2)
    narrower = []
    for _ in range(PATHS):
        z = rng.random(STEPS)
        one, two = learner(z, 0.3), learner(z, 0.2)
        pair = Paired(AdaptiveOeuvre(), Oeuvre())
        pair.replay((one[0], two[0]), (one[1], two[1]))
        difference, total = pair.difference(), pair.sum()
        held += one[2][-1] - two[2][-1] in difference, one[2][-1] + two[2][-1] in total
        narrower.append(difference.width / total.width)
    for share in held / PATHS:
        assert within(float(share), 0.95, PATHS, slack=0.025)
    assert np.mean(narrower) < 0.8  # both err together


def jittering(seed: int, steps: int = 1500) -> tuple[Floats, Floats, Floats]:
    """Return a loss that goes up and down by itself, in waves of some steps, under little noise."""
    rng = np.random.default_rng(seed)
    truth = np.ones(steps)
    pull = 0.0
    for t in range(1, steps):  # a spring with friction, pushed at random
        pull = 0.9 * pull - 0.05 * (truth[t - 1] - 1.0) + 0.02 * rng.standard_normal()
        truth[t] = truth[t - 1] + pull
    noise = 0.3 * rng.standard_normal(steps)
    own = 0.02 * rng.standard_normal(steps)
    return truth + noise + own, before(truth) + noise, truth


def test_where_the_loss_itself_moves_only_two_gains_are_too_sure() -> None:
    """What is real in the changes is counted as noise, so that one gain errs on the safe side."""
    paths = 200
    held = {"adaptive": 0, "paper": 0, "two gains": 0}
    for seed in range(paths):
        losses, previous, truth = jittering(seed)
        for name, est in (("adaptive", AdaptiveOeuvre()), ("paper", Oeuvre("constant"))):
            est.replay(losses, previous)
            held[name] += truth[-1] in est.interval()
        lagging = AdaptiveOeuvre(two_gain=True)
        lagging.replay(losses, previous)
        held["two gains"] += abs(lagging.get() - truth[-1]) <= 1.96 * math.sqrt(lagging.variance)
    for name in ("adaptive", "paper"):
        assert held[name] / paths >= 0.95 - 4.0 * math.sqrt(0.05 * 0.95 / paths)
    assert held["two gains"] / paths < 0.5  # why it is refused an interval


@pytest.mark.parametrize("gamma", [None, "1/t"])
def test_a_model_that_rests_and_then_moves(gamma: str | None) -> None:
    """What the moments of a long rest promise is too little: what the steps show counts too."""
    rng = np.random.default_rng(5)
    rest, steps, paths = 500, 20, 300
    rate = np.r_[np.zeros(rest), np.ones(steps)]
    held = 0
    for _ in range(paths):
        noise = np.r_[np.zeros(rest), 0.3 * rng.standard_normal(steps)]
        losses = 1.0 + rng.standard_normal(rest + steps)
        est = Oeuvre("constant", b=1.0, c=0.3, gamma=gamma)
        est.replay(losses + noise, losses, rates=rate)
        held += 1.0 in est.interval()
    assert within(held / paths, 0.95, paths, slack=0.03)


def test_the_interval_of_a_blend_holds_whenever_that_of_its_member_does() -> None:
    for seed in range(20):
        stream = BoundedMean(STEPS).stream(seed)
        est = Ensemble()
        est.replay(stream.loss, stream.previous)
        member, blend = est.members[1].interval(), est.interval()
        assert repr(est.members[1]) == "AdaptiveOeuvre()"
        assert blend.lower <= member.lower < member.upper <= blend.upper
        assert est.get() in blend
