"""Two estimators on one stream: the difference and the sum of two losses are losses too."""

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
from oeuvre import AdaptiveOeuvre, Ensemble, Interval, Oeuvre, Paired
from oeuvre.errors import (
    InvalidInput,
    InvalidLoss,
    InvalidParameter,
    NotAvailable,
    NotEnoughData,
    StateError,
)
from tests.conftest import learner_pairs, snapshot

UNTYPED: Any = Paired
STEPS = 120
PAIRS: dict[str, Callable[[], Paired]] = {
    "known": lambda: Paired(Oeuvre(b=1.0, c=0.3), Oeuvre(b=1.5, c=0.5)),
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
    return [snapshot(member) for member in pair._members]


def fed(pair: Paired, losses: Any, previous: Any = None) -> Paired:
    pair.replay(losses, losses if previous is None else previous)
    return pair


def adaptive() -> Paired:
    return Paired(AdaptiveOeuvre(), AdaptiveOeuvre())


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
            oeuvre.save(saved, tmp_path / "pair.json")
            loaded = oeuvre.load(tmp_path / "pair.json")
            assert isinstance(loaded, Paired)
            assert whole(loaded) == whole(saved)
            saved = loaded
        saved.update_many(*(([a], [b]) for a, b in now))
    for start, stop in ((0, 1), (1, 2), (2, 77), (77, STEPS)):
        courses = parts.replay(*(tuple(x[start:stop] for x in part) for part in (losses, previous)))
        assert courses[0].estimate[-1] == parts.first.get()
        assert courses[1].estimate[-1] == parts.second.get()
        parts = pickle.loads(pickle.dumps(copy.copy(copy.deepcopy(parts))))
    for other in (single, saved, parts):
        assert whole(other) == whole(replayed)
        assert other.to_dict() == replayed.to_dict()
        assert other.difference() == replayed.difference()
        assert other.sum(0.5, side="lower") == replayed.sum(0.5, side="lower")
    assert replayed.n == STEPS


@EACH
def test_all_four_do_what_they_would_alone(name: str) -> None:
    (a, b), (c, d) = streams()
    pair = fed(PAIRS[name](), (a, b), (c, d))
    for member, mine, before in zip(
        pair._members, (a, b, a - b, a + b), (c, d, c - d, c + d), strict=True
    ):
        alone = member.clone()
        alone.replay(mine, before)
        assert snapshot(member) == snapshot(alone)
    apart, together = AdaptiveOeuvre(), AdaptiveOeuvre()
    for i in range(STEPS):
        apart.update(a[i] - b[i], c[i] - d[i])
        together.update(a[i] + b[i], c[i] + d[i])
    for side in ("two", "lower", "upper"):
        assert pair.difference(0.8, side=side) == apart.interval(0.8, side=side)
        assert pair.sum(0.8, side=side) == together.interval(0.8, side=side)


@EACH
def test_copies_go_their_own_way(name: str) -> None:
    pair = fed(PAIRS[name](), *streams())
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
    given = AdaptiveOeuvre()
    given.update(0.5)
    used = Paired(given, given)
    assert used.n == 0
    used.update((0.5, 0.25))
    assert given.n == 1


def test_rates_and_sizes_reach_all() -> None:
    losses, previous = streams(40)
    rates, sizes = np.linspace(0.0, 1.0, 40), np.arange(1, 41)
    pair = PAIRS["known"]()
    pair.replay(losses, previous, rates=rates, sizes=sizes)
    apart = AdaptiveOeuvre()
    apart.replay(losses[0] - losses[1], previous[0] - previous[1], sizes=sizes)
    assert pair.difference() == apart.interval()
    for member, mine, before in zip((pair.first, pair.second), losses, previous, strict=True):
        alone = member.clone()
        alone.replay(mine, before, rates=rates, sizes=sizes)
        assert snapshot(member) == snapshot(alone)
    flat = pair.clone()
    repeated = [tuple(np.repeat(x, sizes) for x in part) for part in (losses, previous)]
    flat.replay(*repeated, rates=rates, sizes=sizes)
    assert flat.sum().lower == pytest.approx(pair.sum().lower, rel=1e-9)
    assert flat.difference().upper == pytest.approx(pair.difference().upper, rel=1e-9)


# How the errors go together


@pytest.mark.parametrize("seed", range(3))
@EACH
def test_a_loss_is_its_own_twin(name: str, seed: int) -> None:
    first = PAIRS[name]().first
    losses, previous = learner_pairs(200, seed=seed)
    pair = fed(Paired(first, first), (losses, losses), (previous, previous))
    assert pair.difference() == Interval(0.0, 0.0, 0.95)
    assert pair.sum().width > 0.0
    mirrored = fed(adaptive(), (losses, -losses), (previous, -previous))
    assert mirrored.sum() == Interval(0.0, 0.0, 0.95)
    assert mirrored.difference() == pair.sum()


def test_models_that_stand_still_give_the_textbooks_paired_variance() -> None:
    """Over 200 seeds the ratio was 1.02 ± 0.03; beyond five of these spreads is no chance."""
    z = np.random.default_rng(0).normal(size=(3, 3000))
    x, y = z[0] + z[1], z[0] + 0.5 * z[2] + 1.0
    pair = fed(adaptive(), (x, y))
    for made, values in ((pair.difference(), x - y), (pair.sum(), x + y)):
        textbook = np.var(values, ddof=1) / 3000
        assert (made.width / 2 / 1.959963984540054) ** 2 == pytest.approx(1.02 * textbook, rel=0.17)
        assert made.center == pytest.approx(np.mean(values), rel=1e-9)
    apart = math.hypot(pair.first.interval().width, pair.second.interval().width)
    assert pair.difference().width < 0.7 * apart  # as they err together, it is known better


# Kinds and sides


@pytest.mark.parametrize("kind", ["normal", "conservative", "hoeffding", "anytime", "bernstein"])
def test_kinds_and_sides(kind: str) -> None:
    """All kinds but "normal" give each loss half of what may be missed."""
    pair = fed(PAIRS["known"](), *streams())
    options: dict[str, Any] = {"kind": kind, "horizon": 100 if kind == "anytime" else None}
    made, total = pair.difference(0.8, **options), pair.sum(0.8, **options)
    if kind != "normal":
        one, two = (member.interval(0.9, **options) for member in (pair.first, pair.second))
        assert made == Interval(one.lower - two.upper, one.upper - two.lower, 0.8)
        assert total == Interval(one.lower + two.lower, one.upper + two.upper, 0.8)
        assert made.width > pair.difference(0.8).width
    if kind in ("hoeffding", "anytime"):
        assert pair.difference(0.8, proxy="paper", **options).width > made.width
    for combine, both in ((pair.difference, made), (pair.sum, total)):
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


# What cannot be


@pytest.mark.parametrize(
    "member",
    [
        oeuvre.Prequential(),
        oeuvre.SlidingWindow(3),
        oeuvre.Adwin(),
        AdaptiveOeuvre(two_gain=True),
        Ensemble([oeuvre.Prequential(), Oeuvre()]),
        Ensemble([AdaptiveOeuvre(two_gain=True)]),
        Oeuvre,
        0.5,
        None,
    ],
    ids=repr,
)
def test_only_those_with_an_interval_make_a_pair(member: object) -> None:
    wanted = "parameter of Paired must be an estimator that has intervals"
    with pytest.raises(InvalidParameter, match=f"'first' {wanted}"):
        UNTYPED(member, Oeuvre())
    with pytest.raises(InvalidParameter, match=f"'second' {wanted}"):
        UNTYPED(Oeuvre(), member)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"level": 1.0}, InvalidParameter, "'level' parameter"),
        ({"level": np.array([0.9])}, InvalidParameter, "'level' parameter"),
        ({"kind": "exact"}, InvalidParameter, "'kind' parameter"),
        ({"kind": np.array(["normal"])}, InvalidParameter, "'kind' parameter"),
        ({"side": "both"}, InvalidParameter, "'side' parameter"),
        ({"side": None, "kind": "hoeffding"}, InvalidParameter, "'side' parameter"),
        ({"proxy": None}, InvalidParameter, "'proxy' parameter"),
        ({"kind": "anytime"}, InvalidParameter, "'horizon' parameter"),
        ({"horizon": 10}, InvalidParameter, "'horizon' parameter"),
        ({"kind": "hoeffding"}, NotAvailable, "AdaptiveOeuvre has no interval of kind 'hoeffding'"),
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


HALF = (0.5, 0.5)
BAD: dict[str, Callable[[Paired], object]] = {
    "second is huge": lambda pair: pair.update((0.5, 1e200), HALF),
    "second is nan": lambda pair: pair.update((0.5, math.nan), HALF),
    "no previous of the second": lambda pair: pair.update(HALF, (0.5, None)),
    "no previous": lambda pair: pair.update(HALF),
    "bad rate": lambda pair: pair.update(HALF, HALF, rate=-1.0),
    "bad batch": lambda pair: pair.update_many(([0.5], [math.inf]), ([0.5], [0.5])),
    "huge later": lambda pair: pair.replay((HALF, (0.5, 1e200)), (HALF, HALF)),
    "not of one length": lambda pair: pair.replay((HALF, [0.5]), (HALF, [0.5])),
    "not a pair": lambda pair: pair.update((0.5, 0.5, 0.5), HALF),
    "previous not a pair": lambda pair: pair.update(HALF, 0.5),
    "text": lambda pair: pair.update(("0.5", "0.5"), HALF),
    "no array": lambda pair: pair.replay(None),
    "half an array": lambda pair: pair.update_many(([0.5], None), ([0.5], [0.5])),
}
AT_FIRST = ("no previous", "no previous of the second", "second is huge")
"""What may be at the first step."""


@pytest.mark.parametrize("call", BAD)
@EACH
def test_all_take_a_step_or_none(name: str, call: str) -> None:
    losses, previous = streams()
    for steps in (0, 1, 50):
        if steps == 0 and call in AT_FIRST:
            continue
        pair = PAIRS[name]()
        if steps:
            fed(pair, [x[:steps] for x in losses], [x[:steps] for x in previous])
        before = whole(pair)
        with pytest.raises((InvalidInput, InvalidLoss)):
            BAD[call](pair)
        assert whole(pair) == before


@pytest.mark.parametrize(("steps", "size"), [(0, 1e308), (4, 8e153)])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_each_is_small_enough_but_not_both_together(steps: int, size: float, sign: float) -> None:
    """Both take the step alone, and the sum or the difference, or its square, has no place."""
    now, last = (size, sign * size), (0.5, 0.5) if size < 1e300 else (size, sign * size)
    for feed in (
        lambda pair: pair.update(now, last),
        lambda pair: pair.update_many(*(([a], [b]) for a, b in (now, last))),
        lambda pair: pair.replay(*(([0.5, a], [0.5, b]) for a, b in (now, last))),
    ):
        pair = adaptive()
        for t in range(steps):
            pair.update((0.5, 0.1 * t), (0.5, 0.3))
        before = whole(pair)
        for member, loss, previous in zip((pair.first, pair.second), now, last, strict=True):
            copy.deepcopy(member).update(loss, previous)
        with pytest.raises(InvalidLoss):
            feed(pair)
        assert whole(pair) == before


# State


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("kind",), "Oeuvre"),
        (("version",), 2),
        (("version",), None),
        (("state",), {}),
        (("first",), None),
        (("first", "state", "n"), 3),
        (("first",), AdaptiveOeuvre().to_dict()),
        (("first",), oeuvre.Prequential().to_dict()),
        (("second", "kind"), "Paired"),
        (("second", "params", "b"), -1.0),
        (("difference",), {}),
        (("difference",), AdaptiveOeuvre().to_dict()),
        (("difference", "params", "drift"), "cusum"),
        (("sum", "params", "two_gain"), True),
        (("sum", "state", "var_d"), math.nan),
        (("sum", "state", "n"), STEPS - 1),
    ],
)
def test_torn_documents_are_refused(path: tuple[str, ...], value: Any) -> None:
    document = json.loads(json.dumps(fed(PAIRS["known"](), *streams()).to_dict()))
    assert set(document) == {"kind", "version", "first", "second", "difference", "sum"}
    assert Paired.from_dict(document).n == STEPS
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(StateError):
        Paired.from_dict(document)


def test_torn_files_are_refused(tmp_path: Path) -> None:
    document = PAIRS["known"]().to_dict()
    for key in document:
        with pytest.raises(StateError):
            Paired.from_dict({name: document[name] for name in document if name != key})
    with pytest.raises(StateError):
        UNTYPED.from_dict(None)
    path = tmp_path / "pair.json"
    oeuvre.save(fed(PAIRS["adaptive"](), *streams()), path)
    text = path.read_bytes()
    for end in range(0, len(text) - 2, 7):
        path.write_bytes(text[:end])
        with pytest.raises(StateError):
            oeuvre.load(path)
