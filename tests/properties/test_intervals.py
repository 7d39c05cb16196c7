"""What holds for every interval: nested, in proportion, one end like the other, over all steps."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oeuvre import AdaptiveOeuvre, Ensemble, Estimator, Interval, Oeuvre, intervals
from oeuvre._kernels import COMPILED
from tests.conftest import Pairs

KINDS: dict[str, dict[str, Any]] = {
    "normal": {},
    "conservative": {"kind": "conservative"},
    "hoeffding": {"kind": "hoeffding"},
    "hoeffding, paper": {"kind": "hoeffding", "proxy": "paper"},
    "anytime": {"kind": "anytime", "horizon": 20},
    "anytime, paper": {"kind": "anytime", "horizon": 20, "proxy": "paper"},
    "bernstein": {"kind": "bernstein"},
    "bernstein at all steps": {"kind": "bernstein", "horizon": 20},
}
SYMMETRIC = [name for name in KINDS if "bernstein" not in name]
RANGES = [name for name in KINDS if name not in ("normal", "conservative")]
SETTINGS: dict[str, dict[str, Any]] = {
    "optimal": {"c": 0.3},
    "static": {"c": 0.0},
    "1/t": {"c": 0.3, "gamma": "1/t"},
    "constant": {"c": 0.1, "gamma": 0.125},
}
LEVELS = st.floats(0.01, 0.999)
SEEDS = st.integers(0, 2**32)
SIDES = st.sampled_from(["two", "lower", "upper"])
EACH = pytest.mark.parametrize("name", KINDS)
GIVEN = st.sampled_from(list(SETTINGS))


def stream(seed: int, steps: int = 30) -> Pairs:
    """Losses from 0 to 1, and those of the model before."""
    rng = np.random.default_rng(seed)
    losses = rng.random(steps) ** rng.uniform(0.3, 3.0)
    return losses, np.clip(losses + 0.1 * rng.normal(size=steps), 0.0, 1.0)


def within(setting: str, pairs: Pairs) -> Pairs:
    """Return the same losses after changes of at most c r(t)."""
    losses, previous = pairs
    most = SETTINGS[setting]["c"] / np.sqrt(np.arange(1, len(losses) + 1))
    return losses, losses + np.clip(previous - losses, -most, most)


def made(setting: str, pairs: Pairs, scale: float = 1.0) -> Oeuvre:
    options = SETTINGS[setting]
    est = Oeuvre(**{**options, "b": scale, "c": scale * options["c"]})
    losses, previous = within(setting, pairs)
    est.replay(scale * losses, scale * previous)
    return est


def ends(interval: Interval) -> tuple[float, float]:
    return interval.lower, interval.upper


# The level


@EACH
@settings(max_examples=30)
@given(
    setting=GIVEN,
    seed=SEEDS,
    steps=st.integers(1, 40),
    levels=st.tuples(LEVELS, LEVELS),
    side=SIDES,
)
def test_a_larger_level_holds_the_smaller(
    name: str, setting: str, seed: int, steps: int, levels: tuple[float, float], side: Any
) -> None:
    est = made(setting, stream(seed, steps))
    low, high = (est.interval(level, side=side, **KINDS[name]) for level in sorted(levels))
    assert high.lower <= low.lower + 1e-10
    assert low.upper <= high.upper + 1e-10
    assert (low.level, high.level) == tuple(sorted(levels))


@EACH
@settings(max_examples=30)
@given(setting=GIVEN, seed=SEEDS, steps=st.integers(3, 40), level=LEVELS, side=SIDES)
def test_a_small_change_of_the_level_moves_the_ends_a_little(
    name: str, setting: str, seed: int, steps: int, level: float, side: Any
) -> None:
    est = made(setting, stream(seed, steps))
    here, there = (est.interval(x, side=side, **KINDS[name]) for x in (level, level + 1e-9))
    size = 1.0 + est.interval(0.999, **KINDS[name]).width
    assert ends(there) == pytest.approx(ends(here), rel=1e-5 * size, abs=1e-5 * size)


# Sides


@EACH
@settings(max_examples=30)
@given(setting=GIVEN, seed=SEEDS, steps=st.integers(1, 40), miss=st.floats(0.001, 0.49))
def test_one_side_is_an_end_of_two(
    name: str, setting: str, seed: int, steps: int, miss: float
) -> None:
    est = made(setting, stream(seed, steps))
    both = est.interval(1.0 - 2.0 * miss, **KINDS[name])
    lower, upper = (est.interval(1 - miss, side=side, **KINDS[name]) for side in ("lower", "upper"))
    assert lower.lower == pytest.approx(both.lower, rel=1e-9, abs=1e-9)
    assert upper.upper == pytest.approx(both.upper, rel=1e-9, abs=1e-9)
    assert (upper.lower, lower.upper) == (-math.inf, math.inf)


@pytest.mark.parametrize("name", SYMMETRIC)
@settings(max_examples=30)
@given(setting=GIVEN, seed=SEEDS, steps=st.integers(3, 40), level=LEVELS)
def test_the_estimate_is_in_the_middle(
    name: str, setting: str, seed: int, steps: int, level: float
) -> None:
    est = made(setting, stream(seed, steps))
    interval = est.interval(level, **KINDS[name])
    assert interval.center == pytest.approx(est.get(), rel=1e-12, abs=1e-12 * interval.width)


@EACH
@settings(max_examples=30)
@given(setting=GIVEN, seed=SEEDS, steps=st.integers(3, 40), level=LEVELS)
def test_a_loss_seen_in_a_mirror(
    name: str, setting: str, seed: int, steps: int, level: float
) -> None:
    """The interval of 1 − loss is 1 minus that of the loss, ends exchanged."""
    losses, previous = stream(seed, steps)
    here = made(setting, (losses, previous)).interval(level, **KINDS[name])
    there = made(setting, (1.0 - losses, 1.0 - previous)).interval(level, **KINDS[name])
    expected = (1.0 - there.upper, 1.0 - there.lower)
    assert ends(here) == pytest.approx(expected, rel=1e-7, abs=1e-7)


@given(seed=SEEDS, level=LEVELS)
def test_bernstein_leans_to_where_there_is_room(seed: int, level: float) -> None:
    """Losses near 0 leave more room above than below, and the interval knows it."""
    losses = 0.2 * stream(seed, 200)[0]
    est = made("1/t", (losses, losses))
    interval = est.interval(level, "bernstein")
    assert interval.upper - est.get() > est.get() - interval.lower


# Scale and shift


@EACH
@settings(max_examples=30)
@given(
    setting=GIVEN, seed=SEEDS, steps=st.integers(3, 40), power=st.integers(-40, 40), level=LEVELS
)
def test_the_unit_does_not_matter(
    name: str, setting: str, seed: int, steps: int, power: int, level: float
) -> None:
    """Exact for a power of two, except that the grid of "bernstein" is found by logarithms."""
    pairs, scale = stream(seed, steps), 2.0**power
    here = made(setting, pairs).interval(level, **KINDS[name])
    there = made(setting, pairs, scale).interval(level, **KINDS[name])
    scaled = (scale * here.lower, scale * here.upper)
    if name in SYMMETRIC:
        assert ends(there) == scaled
    else:
        assert ends(there) == pytest.approx(scaled, rel=1e-9, abs=1e-9 * scale)


OWN: dict[str, Callable[[], Estimator]] = {
    "known": lambda: Oeuvre(b=1.0, c=0.3),
    "weights 1/t": lambda: Oeuvre(gamma="1/t"),
    "adaptive": AdaptiveOeuvre,
    "ensemble": Ensemble,
}


@pytest.mark.parametrize("name", OWN)
@settings(max_examples=30)
@given(seed=SEEDS, steps=st.integers(5, 60), scale=st.floats(1e-3, 1e3))
def test_the_unit_does_not_matter_to_the_normal_interval(
    name: str, seed: int, steps: int, scale: float
) -> None:
    if name == "known":
        return  # it has a unit, that of b and c
    losses, previous = stream(seed, steps)
    here, there = OWN[name](), OWN[name]()
    here.replay(losses, previous)
    there.replay(scale * losses, scale * previous)
    expected = tuple(scale * end for end in ends(here.interval()))
    assert ends(there.interval()) == pytest.approx(expected, rel=1e-7, abs=1e-7 * scale)


@pytest.mark.parametrize("name", OWN)
@settings(max_examples=30)
@given(seed=SEEDS, steps=st.integers(5, 60), shift=st.floats(-100.0, 100.0), level=LEVELS)
def test_a_constant_moves_the_normal_interval_along(
    name: str, seed: int, steps: int, shift: float, level: float
) -> None:
    losses, previous = stream(seed, steps)
    here, there = OWN[name](), OWN[name]()
    here.replay(losses, previous)
    there.replay(losses + shift, previous + shift)
    expected = tuple(shift + end for end in ends(here.interval(level)))
    assert ends(there.interval(level)) == pytest.approx(expected, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("name", OWN)
@settings(max_examples=30)
@given(loss=st.floats(0.0, 1.0), steps=st.integers(3, 50), level=LEVELS)
def test_a_loss_that_is_always_the_same_is_known(
    name: str, loss: float, steps: int, level: float
) -> None:
    est = OWN[name]()
    est.replay(np.full(steps, loss), np.full(steps, loss))
    assert ends(est.interval(level)) == pytest.approx((loss, loss), rel=1e-12)


@pytest.mark.parametrize("name", RANGES)
@settings(max_examples=30)
@given(setting=GIVEN, loss=st.floats(0.0, 1.0), steps=st.integers(1, 50), level=LEVELS)
def test_where_only_the_range_is_known_a_constant_is_not_sure(
    name: str, setting: str, loss: float, steps: int, level: float
) -> None:
    losses = np.full(steps, loss)
    interval = made(setting, (losses, losses)).interval(level, **KINDS[name])
    assert interval.lower < loss < interval.upper
    assert interval.width < 1e3


# One kind beside another


@given(
    setting=GIVEN, seed=SEEDS, steps=st.integers(1, 60), level=LEVELS, horizon=st.integers(1, 60)
)
def test_the_tight_proxy_is_never_wider(
    setting: str, seed: int, steps: int, level: float, horizon: int
) -> None:
    est = made(setting, stream(seed, steps))
    for tight in (
        est.interval(level, "hoeffding"),
        est.interval(level, "anytime", horizon=steps),
    ):
        assert tight.width <= est.interval(level, "hoeffding", proxy="paper").width * (1 + 1e-12)
    # a sequence is never narrower than the interval of one step
    for proxy in ("tight", "paper"):
        sequence = est.interval(level, "anytime", horizon=horizon, proxy=proxy)
        step = est.interval(level, "hoeffding", proxy=proxy)
        assert sequence.width >= step.width * (1 - 1e-12)


@pytest.mark.parametrize("proxy", ["tight", "paper"])
@settings(max_examples=30)
@given(setting=GIVEN, seed=SEEDS, steps=st.integers(2, 60), level=LEVELS, size=st.integers(1, 50))
def test_at_its_horizon_a_sequence_is_as_narrow_as_one_step(
    setting: str, proxy: str, seed: int, steps: int, level: float, size: int
) -> None:
    est = Oeuvre(b=1.0, **SETTINGS[setting])
    est.replay(*within(setting, stream(seed, steps)), sizes=np.full(steps, size))
    at = est.interval(level, "anytime", horizon=steps, proxy=proxy)
    step = est.interval(level, "hoeffding", proxy=proxy)
    assert ends(at) == pytest.approx(ends(step), rel=1e-12, abs=1e-12)


# All steps at once, by brute force


PATHS = 2000
ALLOWED = 260
"""Of 2,000 paths with a chance of at most 0.1 each, more than this cross once in 140,000 tests."""
FEW = {"gaussians": 110, "optimal": 90, "static": 110, "1/t": 110, "constant": 35}
"""Five spreads below what 40,000 other paths gave: 8.6, 7.5, 8.8, 8.8 and 4.2 %."""


def test_a_line_is_rarely_crossed_by_a_mean_of_gaussians() -> None:
    """One side at 90 %, means of up to 400 variables, narrowest at 100: below 10 % ever cross."""
    steps, horizon = 400, 100
    t = np.arange(1, steps + 1)
    given = [(0.0, 1 / i, 1 / horizon, math.log(horizon / i)) for i in range(1, steps + 1)]
    line = np.array([-intervals.anytime(*each, 0.9, side="lower").lower for each in given])
    noise = np.random.default_rng(11).normal(size=(PATHS, steps))
    means = np.cumsum(noise, axis=1) / t
    assert FEW["gaussians"] <= (means > line).any(axis=1).sum() <= ALLOWED


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_line_is_rarely_crossed_by_the_widest_steps_there_are(setting: str) -> None:
    """Every u_t at one end of its range or the other, and the weights of the estimator."""
    steps, horizon = 300, 100
    est = Oeuvre(b=1.0, **SETTINGS[setting])
    halves, reach, keep = [], [], []
    for t in range(1, steps + 1):
        est.update(0.5, 0.5)
        halves.append(est.interval(0.9, "anytime", horizon=horizon, side="upper").upper - est.get())
        sigma = SETTINGS[setting]["c"] / math.sqrt(t)
        keep.append(1.0 - est.weight)
        reach.append(0.5 * est.weight + keep[-1] * sigma)
    signs = np.random.default_rng(12).choice([-1.0, 1.0], size=(steps, PATHS))
    error, ever = np.zeros(PATHS), np.zeros(PATHS, dtype=bool)
    for t in range(steps):
        error = keep[t] * error + reach[t] * signs[t]
        ever |= error < -halves[t]
    assert FEW[setting] <= ever.sum() <= ALLOWED


def test_starting_anew_until_a_bad_loss_comes_does_not_break_a_sequence() -> None:
    """Starts that wait for the first loss of 1, and a model that stands still from there on.

    The plan starts at step 2, so what starts later is not covered: only a loss of 1 at step 2
    itself can miss, one path in fifty, where three in ten may.
    """
    losses = np.random.default_rng(13).random((200, 150)) < 0.02
    missed = 0
    for path in losses.astype(float):
        est = Oeuvre("constant", b=1.0, c=1.0, gamma="sigma")
        seen, held = False, True
        for loss in path:
            est.update(loss, loss, rate=0.0 if seen else 1.0)
            seen = seen or loss == 1.0
            held = held and 0.02 in est.interval(0.7, "anytime", horizon=2)
        missed += not held
    assert missed <= 0.3 * len(losses)


# Long streams

LONG = 10**7 if COMPILED else 10**5
CHUNK = LONG // 10


def losses_of(chunk: int) -> Pairs:
    """Return a part of a stream of losses from 0 to 1 whose changes fade as 1/t."""
    z = np.random.default_rng(chunk).random((2, CHUNK))
    t = np.arange(chunk * CHUNK + 1, (chunk + 1) * CHUNK + 1)
    return np.clip(z[0] + (z[1] - 0.5) / t, 0.0, 1.0), z[0]


@pytest.mark.parametrize("gamma", [None, "1/t"])
def test_ten_million_steps(gamma: str | None) -> None:
    est = Oeuvre("1/t", b=1.0, c=0.5, gamma=gamma)
    kinds = {name: dict(options) for name, options in KINDS.items()}
    for options in kinds.values():
        options.update(horizon=CHUNK) if "horizon" in options else None
    early = CHUNK // 100
    losses, previous = losses_of(0)
    est.replay(losses[:early], previous[:early])
    before = {name: est.interval(**options) for name, options in kinds.items()}
    est.replay(losses[early:], previous[early:])
    for proxy in ("tight", "paper"):
        at = est.interval(kind="anytime", horizon=CHUNK, proxy=proxy)
        same = est.interval(kind="hoeffding", proxy=proxy)
        assert (at.lower, at.upper) == pytest.approx((same.lower, same.upper), rel=1e-9)
    for chunk in range(1, LONG // CHUNK):
        est.replay(*losses_of(chunk))
    assert est.n == LONG
    for name, options in kinds.items():
        made = est.interval(**options)
        assert -1.0 < made.lower < est.get() < made.upper < 2.0, name
        assert made.width < 0.5 * before[name].width, name


@pytest.mark.parametrize("name", ["adaptive", "ensemble"])
def test_many_steps_of_those_without_constants(name: str) -> None:
    est = OWN[name]()
    widths = []
    for steps in (1000, max(10**4, LONG // 100)):
        losses = np.random.default_rng(steps).random(steps)
        est.replay(losses, losses)
        made = est.interval()
        assert made.lower <= est.get() <= made.upper
        assert 0.4 < made.lower < made.upper < 0.6
        widths.append(made.width)
    assert 0.0 < widths[1] < 0.6 * widths[0]


def test_a_share_that_is_far_below_the_least_float() -> None:
    """Weights of σ_t take Γ to e^−2000 in a million steps; at the horizon nothing of it is seen."""
    steps = 10**6 if COMPILED else 10**5
    est = Oeuvre(b=1.0, c=1.0)
    rng = np.random.default_rng(0)
    for _ in range(10):
        losses = rng.random(steps // 10)
        est.replay(losses, losses)
    assert est.log_retained < (-1900.0 if COMPILED else -600.0)
    for proxy in ("tight", "paper"):
        at = est.interval(kind="anytime", horizon=steps, proxy=proxy)
        same = est.interval(kind="hoeffding", proxy=proxy)
        assert (at.lower, at.upper) == pytest.approx((same.lower, same.upper), rel=1e-9)
    made = est.interval(kind="bernstein", horizon=steps)
    assert -5.0 < made.lower < est.get() < made.upper < 5.0
