"""Two estimators on one stream: sums and differences, and how the errors go together."""

import copy
import json
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oeuvre
from oeuvre import AdaptiveOeuvre, Ensemble, Estimator, Interval, Oeuvre, Paired, intervals
from oeuvre.errors import (
    InvalidInput,
    InvalidLoss,
    InvalidParameter,
    NotAvailable,
    NotEnoughData,
    OeuvreError,
    StateError,
)
from tests.conftest import learner_pairs, snapshot

UNTYPED: Any = Paired
STEPS = 120
PAIRS: dict[str, Callable[[], Paired]] = {
    "known": lambda: Paired(Oeuvre(b=1.0, c=0.3), Oeuvre(b=0.5, c=0.1)),
    "estimated": lambda: Paired(Oeuvre(burn_in=10), Oeuvre(gamma="1/t")),
    "adaptive": lambda: Paired(AdaptiveOeuvre(), AdaptiveOeuvre(drift="cusum")),
    "blends": lambda: Paired(Ensemble(), AdaptiveOeuvre()),
}
EACH = pytest.mark.parametrize("name", PAIRS)


def streams(steps: int = STEPS) -> tuple[Any, Any]:
    """Return the losses of two learners, and those of their models before."""
    one, two = learner_pairs(steps), learner_pairs(steps, seed=1)
    return (one[0], 0.5 * (one[0] + two[0])), (one[1], 0.5 * (one[1] + two[1]))


def whole(pair: Paired) -> list[dict[str, Any]]:
    return [snapshot(pair.first), snapshot(pair.second), pair._get_state()]


def fed(pair: Paired, losses: Any, previous: Any = None) -> Paired:
    pair.replay(losses, losses if previous is None else previous)
    return pair


def static(steps: int, seed: int = 0) -> tuple[Any, Any]:
    """Return losses of two models that stand still, which have a part in common."""
    z = np.random.default_rng(seed).normal(size=(3, steps))
    return z[0] + z[1], z[0] + 0.5 * z[2] + 1.0


# However it is fed


@EACH
def test_every_way_of_feeding_gives_the_same_floats(name: str, tmp_path: Path) -> None:
    losses, previous = streams()
    replayed = fed(PAIRS[name](), losses, previous)
    single, saved, parts = PAIRS[name](), PAIRS[name](), PAIRS[name]()
    for t in range(STEPS):
        now = ([part[t] for part in losses], [part[t] for part in previous])
        single.update(*now)
        if t in (0, 1, 2, 50):
            path = tmp_path / f"{t}.json"
            oeuvre.save(saved, path)
            loaded = oeuvre.load(path)
            assert isinstance(loaded, Paired)
            assert whole(loaded) == whole(saved)
            saved = loaded
        saved.update_many(*(([a], [b]) for a, b in now))
    for start, stop in ((0, 1), (1, 2), (2, 77), (77, STEPS)):
        courses = parts.replay(*(tuple(x[start:stop] for x in part) for part in (losses, previous)))
        assert courses[0].estimate[-1] == parts.first.get()
        assert courses[1].estimate[-1] == parts.second.get()
    for other in (single, saved, parts):
        assert whole(other) == whole(replayed)
        assert other.difference() == replayed.difference()
        assert other.sum(0.5, side="lower") == replayed.sum(0.5, side="lower")
    assert {type(value) for value in replayed._get_state().values()} == {int, float}
    assert replayed.n == STEPS


@EACH
def test_both_do_what_they_would_alone(name: str) -> None:
    losses, previous = streams()
    pair = fed(PAIRS[name](), losses, previous)
    for member, mine, before in zip((pair.first, pair.second), losses, previous, strict=True):
        alone = member.clone()
        alone.replay(mine, before)
        assert snapshot(member) == snapshot(alone)


@EACH
def test_a_pair_can_be_copied(name: str) -> None:
    losses, previous = streams()
    pair = fed(PAIRS[name](), losses, previous)
    before = whole(pair)
    for twin in (copy.deepcopy(pair), copy.copy(pair), pickle.loads(pickle.dumps(pair))):
        assert whole(twin) == before
        twin.update((0.5, 0.4), (0.5, 0.6))
        assert whole(pair) == before
    fresh = pair.clone()
    assert fresh.n == 0
    assert repr(fresh) == repr(pair) == f"Paired({pair.first!r}, {pair.second!r})"
    pair.reset()
    assert whole(pair) == whole(fresh)


def test_what_is_given_is_not_used_itself() -> None:
    first, second = AdaptiveOeuvre(), AdaptiveOeuvre()
    first.update(0.5)
    pair = Paired(first, second)
    assert pair.n == 0
    pair.update((0.5, 0.25))
    assert (first.n, second.n) == (1, 0)


def test_rates_and_sizes_reach_both() -> None:
    losses, previous = streams(40)
    rates, sizes = np.linspace(0.0, 1.0, 40), np.arange(1, 41)
    pair = Paired(Oeuvre(b=1.0, c=0.3), Oeuvre(b=1.0, c=0.2))
    pair.replay(losses, previous, rates=rates, sizes=sizes)
    for member, mine, before in zip((pair.first, pair.second), losses, previous, strict=True):
        alone = member.clone()
        alone.replay(mine, before, rates=rates, sizes=sizes)
        assert snapshot(member) == snapshot(alone)
    stepped = pair.clone()
    for t in range(40):
        now = [tuple(np.full(sizes[t], x[t]) for x in part) for part in (losses, previous)]
        stepped.update_many(*now, rate=rates[t])
    assert stepped.first.get() == pytest.approx(pair.first.get(), rel=1e-12)
    assert stepped.correlation == pytest.approx(pair.correlation, rel=1e-9)


# How the errors go together


@pytest.mark.parametrize("seed", range(10))
@EACH
def test_a_loss_is_its_own_twin(name: str, seed: int) -> None:
    first = PAIRS[name]().first
    losses, previous = learner_pairs(200, seed=seed)
    pair = fed(Paired(first, first), (losses, losses), (previous, previous))
    assert pair.correlation == 1.0
    assert (pair.difference().lower, pair.difference().upper) == (0.0, 0.0)
    if name != "blends":
        assert pair.sum().width == pytest.approx(2 * pair.first.interval().width, rel=1e-12)
    mirrored = fed(
        Paired(AdaptiveOeuvre(), AdaptiveOeuvre()), (losses, -losses), (previous, -previous)
    )
    assert mirrored.correlation == -1.0
    assert mirrored.sum().width == 0.0


def test_correlations_are_those_of_sums_over_all_steps() -> None:
    losses, previous = streams()
    pair = PAIRS["known"]()
    courses = pair.replay(losses, previous)
    sums, shocks, kept = [], [], []
    for course in courses:
        moves = np.diff(course.estimate)
        # the mean so far, where the i-th move counts 2/(i + 1): weights that rise linearly
        means = [np.average(moves[:i], weights=np.arange(1, i + 1)) for i in range(1, len(moves))]
        shocks.append(np.concatenate(([0.0], moves[1:] - means)))
        keep = 1.0 - course.weight[1:]
        kept.append(np.array([np.prod(keep[i + 1 :]) for i in range(len(keep))]))
        sums.append(float(np.sum((kept[-1] * shocks[-1]) ** 2)))
    cross = float(np.sum(kept[0] * kept[1] * shocks[0] * shocks[1]))
    state = pair._get_state()
    assert (state["seen_first"], state["seen_second"]) == pytest.approx(sums, rel=1e-10)
    assert state["cross"] == pytest.approx(cross, rel=1e-10)
    assert pair.correlation == pytest.approx(cross / math.sqrt(sums[0] * sums[1]), rel=1e-10)
    v, w = ((m.interval().width / 2 / 1.959963984540054) ** 2 for m in (pair.first, pair.second))
    apart = v + w - 2 * pair.correlation * math.sqrt(v * w)
    expected = intervals.normal(pair.first.get() - pair.second.get(), apart, 0.8)
    assert pair.difference(0.8).lower == pytest.approx(expected.lower, rel=1e-9)
    assert pair.difference(0.8).upper == pytest.approx(expected.upper, rel=1e-9)


def test_independent_errors_add_up() -> None:
    """Over 200 seeds the ratio was 1.002 ± 0.018; beyond five of these spreads is no chance."""
    losses = np.random.default_rng(1).random((2, 3000))
    pair = fed(Paired(AdaptiveOeuvre(), AdaptiveOeuvre()), losses)
    squares = pair.first.interval().width ** 2 + pair.second.interval().width ** 2
    assert pair.difference().width ** 2 == pytest.approx(squares, rel=0.094)
    assert pair.sum().width ** 2 == pytest.approx(squares, rel=0.094)
    assert abs(pair.correlation) < 0.094


def test_models_that_stand_still_give_the_textbooks_paired_variance() -> None:
    """Over 200 seeds the ratio was 0.994 ± 0.008; beyond five of these spreads is no chance."""
    x, y = static(3000)
    still = Oeuvre(b=3.0, c=0.0, gamma="1/t")
    pair = fed(Paired(still, still), (x, y))
    difference, half = pair.difference(), pair.difference().width / 2
    textbook = np.var(x - y, ddof=1) / 3000
    assert (half / 1.959963984540054) ** 2 == pytest.approx(textbook, rel=0.045)
    assert difference.center == pytest.approx(np.mean(x - y), rel=1e-9)
    assert pair.correlation == pytest.approx(np.corrcoef(x, y)[0, 1], abs=0.008)
    assert -1.0 in difference


def test_losses_of_any_size_keep_their_correlation() -> None:
    """The ends go with the unit, from losses near 1e-75 to losses near 1e+75."""
    x, y = static(300)
    here = fed(Paired(AdaptiveOeuvre(), AdaptiveOeuvre()), (x, y))
    for power in (-250, -40, 40, 250, 300):
        scale = 2.0**power
        there = fed(here.clone(), (scale * x, scale * y))
        assert there.correlation == pytest.approx(here.correlation, rel=1e-9)
        for made, expected in (
            (there.difference(), here.difference()),
            (there.sum(), here.sum()),
        ):
            ends = (scale * expected.lower, scale * expected.upper)
            assert (made.lower, made.upper) == pytest.approx(ends, rel=1e-9)


def test_one_that_never_moved_goes_with_nothing() -> None:
    x, _ = static(100)
    pair = fed(Paired(AdaptiveOeuvre(), AdaptiveOeuvre()), (x, np.ones(100)))
    assert pair.correlation == 0.0
    assert pair.difference().width == pytest.approx(pair.first.interval().width, rel=1e-12)


# Kinds and sides


@pytest.mark.parametrize("kind", ["conservative", "hoeffding", "anytime", "bernstein"])
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_other_kinds_share_what_may_be_missed(kind: str, level: float) -> None:
    pair = fed(PAIRS["known"](), *streams())
    options: dict[str, Any] = {"kind": kind, "horizon": 100 if kind == "anytime" else None}
    each = 1.0 - (1.0 - level) / 2
    one, two = (member.interval(each, **options) for member in (pair.first, pair.second))
    made, total = pair.difference(level, **options), pair.sum(level, **options)
    assert made == Interval(one.lower - two.upper, one.upper - two.lower, level)
    assert total == Interval(one.lower + two.lower, one.upper + two.upper, level)
    assert made.width > pair.difference(level).width
    if kind != "bernstein":
        wide = pair.difference(level, **{**options, "proxy": "paper"})
        assert (wide.width > made.width) == (kind != "conservative")


@pytest.mark.parametrize("kind", ["normal", "conservative", "hoeffding", "anytime", "bernstein"])
def test_one_side_is_an_end_of_two(kind: str) -> None:
    pair = fed(PAIRS["known"](), *streams())
    options: dict[str, Any] = {"kind": kind, "horizon": 100 if kind == "anytime" else None}
    for combine in (pair.difference, pair.sum):
        both = combine(0.8, **options)
        upper, lower = (combine(0.9, side=side, **options) for side in ("upper", "lower"))
        assert (upper.lower, lower.upper) == (-math.inf, math.inf)
        assert upper.upper == pytest.approx(both.upper, rel=1e-9)
        assert lower.lower == pytest.approx(both.lower, rel=1e-9)
        assert upper.level == lower.level == 0.9


@EACH
def test_nothing_is_known_at_first(name: str) -> None:
    pair = PAIRS[name]()
    for ask in (pair.difference, pair.sum):
        with pytest.raises(NotEnoughData):
            ask()
    pair.update((0.5, 0.25))
    pair.update((0.5, 0.25), (0.5, 0.5))
    for side in ("two", "lower", "upper"):
        for made in (pair.difference(side=side), pair.sum(side=side)):
            assert (made.lower, made.upper) == (-math.inf, math.inf)
    assert PAIRS[name]().correlation == 0.0


# What cannot be


@pytest.mark.parametrize(
    "member",
    [
        oeuvre.Prequential(),
        oeuvre.SlidingWindow(3),
        oeuvre.Adwin(),
        Ensemble([oeuvre.Prequential()]),
        Oeuvre,
        0.5,
        None,
    ],
    ids=repr,
)
def test_only_those_with_an_interval_make_a_pair(member: object) -> None:
    with pytest.raises(InvalidParameter, match="'first' parameter of Paired must be an estimator"):
        UNTYPED(member, Oeuvre())
    with pytest.raises(InvalidParameter, match="'second' parameter of Paired must be an estimator"):
        UNTYPED(Oeuvre(), member)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"level": 1.0}, InvalidParameter, "'level' parameter"),
        ({"kind": "exact"}, InvalidParameter, "'kind' parameter"),
        ({"side": "both"}, InvalidParameter, "'side' parameter"),
        ({"proxy": None}, InvalidParameter, "'proxy' parameter"),
        ({"kind": "anytime"}, InvalidParameter, "'horizon' parameter"),
        ({"horizon": 10}, InvalidParameter, "'horizon' parameter"),
        ({"kind": "hoeffding"}, NotAvailable, "AdaptiveOeuvre takes its weights from the losses"),
    ],
)
def test_wrong_arguments_are_named(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    pair = fed(Paired(Oeuvre(b=1.0, c=0.3), AdaptiveOeuvre()), *streams())
    before = whole(pair)
    for ask in (pair.difference, pair.sum):
        with pytest.raises(error, match=message):
            ask(**options)
    assert whole(pair) == before


def test_one_that_may_lag_behind_has_no_say() -> None:
    with pytest.raises(InvalidParameter, match="'second' parameter .* that has intervals"):
        Paired(AdaptiveOeuvre(), AdaptiveOeuvre(two_gain=True))


BAD: dict[str, Callable[[Paired], object]] = {
    "second is huge": lambda pair: pair.update((0.5, 1e200), (0.5, 0.5)),
    "second is nan": lambda pair: pair.update((0.5, math.nan), (0.5, 0.5)),
    "no previous of the second": lambda pair: pair.update((0.5, 0.5), (0.5, None)),
    "no previous": lambda pair: pair.update((0.5, 0.5)),
    "bad rate": lambda pair: pair.update((0.5, 0.5), (0.5, 0.5), rate=-1.0),
    "bad batch": lambda pair: pair.update_many(([0.5], [math.inf]), ([0.5], [0.5])),
    "second is huge later": lambda pair: pair.replay(
        ([0.5, 0.4], [0.5, 1e200]), ([0.5, 0.4], [0.5, 0.4])
    ),
    "not of one length": lambda pair: pair.replay(([0.5, 0.4], [0.5]), ([0.5, 0.4], [0.5])),
    "not a pair": lambda pair: pair.update((0.5, 0.5, 0.5), (0.5, 0.5)),
    "one number": lambda pair: pair.update(0.5, (0.5, 0.5)),
    "previous not a pair": lambda pair: pair.update((0.5, 0.5), 0.5),
    "no array": lambda pair: pair.replay(None),
}


@pytest.mark.parametrize("steps", [0, 1, 50])
@pytest.mark.parametrize("call", BAD)
@EACH
def test_both_take_a_step_or_neither(name: str, call: str, steps: int) -> None:
    losses, previous = streams()
    pair = PAIRS[name]()
    if steps:
        fed(pair, [x[:steps] for x in losses], [x[:steps] for x in previous])
    before = whole(pair)
    if steps == 0 and call in ("no previous", "no previous of the second", "second is huge"):
        return  # at the first step they may be
    with pytest.raises((InvalidInput, InvalidLoss)):
        BAD[call](pair)
    assert whole(pair) == before
    twin = Paired.from_dict(pair.to_dict())
    for each in (pair, twin):
        each.update((0.5, 0.25), (0.5, 0.5))
    assert whole(pair) == whole(twin)


# State


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("kind",), "Oeuvre"),
        (("version",), 2),
        (("version",), None),
        (("state",), None),
        (("state",), {}),
        (("state", "extra"), 1.0),
        (("state", "pairs"), 7),
        (("state", "pairs"), -1),
        (("state", "pairs"), 119.0),
        (("state", "seen_first"), -1.0),
        (("state", "seen_second"), math.inf),
        (("state", "cross"), math.nan),
        (("state", "cross"), "0.5"),
        (("state", "drift_first"), None),
        (("first",), None),
        (("first",), {}),
        (("first", "state", "n"), 3),
        (("first",), AdaptiveOeuvre().to_dict()),
        (("second", "kind"), "Paired"),
        (("second", "params", "b"), -1.0),
    ],
)
def test_torn_documents_are_refused(path: tuple[str, ...], value: Any) -> None:
    document = json.loads(json.dumps(fed(PAIRS["known"](), *streams()).to_dict()))
    assert Paired.from_dict(document).n == STEPS
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(StateError):
        Paired.from_dict(document)


def test_a_pair_of_averages_is_refused_as_a_state() -> None:
    document = PAIRS["known"]().to_dict()
    for name in ("first", "second"):
        with pytest.raises(StateError):
            Paired.from_dict({**document, name: oeuvre.Prequential().to_dict()})


def test_torn_and_foreign_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "pair.json"
    oeuvre.save(fed(PAIRS["adaptive"](), *streams()), path)
    text = path.read_bytes()
    for end in range(0, len(text) - 2, 7):
        path.write_bytes(text[:end])
        with pytest.raises(StateError):
            oeuvre.load(path)
    document = json.loads(text)
    del document["format"]
    with pytest.raises(OeuvreError):
        Estimator.from_dict(document)
    with pytest.raises(StateError):
        Paired.from_dict(AdaptiveOeuvre().to_dict())
