"""A ranking of estimators without the truth, against plain loops."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import oeuvre
from oeuvre import (
    AdaptiveOeuvre,
    Ensemble,
    Estimator,
    FadingFactor,
    Oeuvre,
    Prequential,
    Ranking,
    SlidingWindow,
    compare,
    rates,
)
from oeuvre.errors import InvalidInput, InvalidLoss, InvalidParameter, NotEnoughData
from tests.conftest import half_life, learner_pairs, snapshot

Floats = NDArray[np.float64]
UNTYPED: Any = compare


def four() -> list[Estimator]:
    return [Prequential(), FadingFactor(0.9), AdaptiveOeuvre(), Oeuvre(burn_in=10)]


def looks(losses: Floats, previous: Floats, sizes: Floats, horizon: int) -> Floats:
    """Return the mean of two looks at the loss of each step's model, the last `horizon` apart.

    One is the mean of the next `horizon` values of `previous`. The other is an Ensemble that is
    fed what comes later from the end on: going backwards, the model of a step before comes after.
    """
    steps = len(losses)
    backwards = np.full(steps, math.nan)
    est = Ensemble(horizon=horizon)
    for i in reversed(range(1, steps)):
        est._update_batch(previous[i], losses[i], None, sizes[i])
        backwards[i - 1] = est.get()
    found = []
    for t in range(steps - horizon):
        window = range(t + 1, t + 1 + horizon)
        following = sum(previous[i] * sizes[i] for i in window) / sum(sizes[i] for i in window)
        found.append((following + backwards[t]) / 2)
    return np.array(found)


def check(ranking: Ranking, squares: Floats, horizon: int) -> None:
    """Compare a ranking with the squared errors of each estimator (a row) at each step.

    Batches are at least two horizons long, and of fewer than four nothing is concluded.
    """
    scores = squares.mean(axis=1)
    order = np.argsort(scores, kind="stable")
    scored = squares.shape[1]
    batches = max(1, min(16, scored // (2 * horizon)))
    length = scored // batches
    assert ranking.steps == scored
    assert [each.position for each in ranking.standings] == order.tolist()
    assert ranking.best is ranking.standings[0]
    for each in ranking.standings:
        row, best = squares[each.position], squares[order[0]]
        means = [(row - best)[j * length : (j + 1) * length].mean() for j in range(batches)]
        error = np.std(means, ddof=1) / math.sqrt(batches) if batches > 3 else math.inf
        assert each.score == pytest.approx(row.mean(), rel=1e-9)
        assert each.excess == pytest.approx(row.mean() - best.mean(), rel=1e-7, abs=1e-12)
        wanted = 0.0 if each is ranking.best else error
        assert each.error == pytest.approx(wanted, rel=1e-7, abs=1e-12)
    assert ranking.best.excess == ranking.best.error == 0.0


@pytest.mark.parametrize("batches", [False, True])
@pytest.mark.parametrize(("steps", "horizon"), [(400, 10), (213, 1), (60, 30), (25, 10), (11, 10)])
def test_the_description_step_by_step(steps: int, horizon: int, batches: bool) -> None:
    losses, previous = learner_pairs(steps, seed=steps)
    sizes = np.ones(steps)
    if batches:
        sizes += np.random.default_rng(0).integers(0, 7, steps)
    members = four()
    target = looks(losses, previous, sizes, horizon)
    squares = np.array(
        [
            (each.clone().replay(losses, previous, sizes=sizes).estimate[: len(target)] - target)
            ** 2
            for each in members
        ]
    )
    given = sizes if batches else None
    ranking = compare(losses, previous, members, sizes=given, horizon=horizon)
    check(ranking, squares, horizon)
    names = {each.position: each.name for each in ranking.standings}
    assert [names[i] for i in range(4)] == [repr(each) for each in members]
    assert all(each.n == 0 for each in members)


def test_ten_is_the_horizon_unless_told() -> None:
    losses, previous = learner_pairs(200)
    assert compare(losses, previous, four()) == compare(losses, previous, four(), horizon=10)
    assert compare(losses, previous, four()) != compare(losses, previous, four(), horizon=9)


def test_rates_go_to_those_who_use_them() -> None:
    losses, previous = learner_pairs(120)
    paces = np.array([half_life(t) for t in range(1, 121)])
    members = [Oeuvre(), Oeuvre(rates.Schedule(half_life)), Prequential()]
    ranking = compare(losses, previous, members, rates=paces)
    scores = {each.position: each.score for each in ranking.standings}
    assert scores[0] == scores[1] != scores[2]
    plain = compare(losses, previous, members)
    scores = {each.position: each.score for each in plain.standings}
    assert scores[0] != scores[1]


def test_samples_and_means_of_batches_are_alike() -> None:
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 6, 100)
    losses, previous = rng.random((2, sizes.sum()))
    ends = np.cumsum(sizes)
    means = [
        np.array([x[end - size : end].mean() for end, size in zip(ends, sizes, strict=True)])
        for x in (losses, previous)
    ]
    flat = compare(losses, previous, four(), sizes=sizes)
    stepwise = compare(means[0], means[1], four(), sizes=sizes)
    assert flat.steps == stepwise.steps == 90
    for one, two in zip(flat.standings, stepwise.standings, strict=True):
        assert one.name == two.name
        assert one[2:] == pytest.approx(two[2:], rel=1e-9)


def test_the_first_previous_is_not_needed() -> None:
    losses, previous = learner_pairs(100)
    gap = np.concatenate(([math.nan], previous[1:]))
    assert compare(losses, gap, four()) == compare(losses, previous, four())


def test_the_better_one_comes_first() -> None:
    """Losses of a model that stands still: the longer the memory, the better."""
    losses = np.random.default_rng(2).normal(size=3000)
    members = [SlidingWindow(5), Prequential(), SlidingWindow(50)]
    ranking = compare(losses, losses, members)
    assert [each.position for each in ranking.standings] == [1, 2, 0]
    assert [each.name for each in ranking.standings] == [
        "Prequential()",
        "SlidingWindow(size=50)",
        "SlidingWindow(size=5)",
    ]
    _, middle, worst = ranking.standings
    # mean squared errors of about 0, 1/50 and 1/5; four standard errors: 1 in 16,000 by chance
    assert abs(middle.excess - 1 / 50) < 4 * middle.error < 1 / 50
    assert abs(worst.excess - 1 / 5) < 4 * worst.error < 1 / 5


def test_a_duplicate_is_as_good() -> None:
    losses, previous = learner_pairs(300)
    ranking = compare(losses, previous, [AdaptiveOeuvre(), SlidingWindow(2), AdaptiveOeuvre()])
    first, second, third = ranking.standings
    assert (first.position, second.position, third.position) == (0, 2, 1)
    assert second.score == first.score
    assert second.excess == second.error == 0.0
    assert third.error > 0.0
    worse = compare(losses, previous, [SlidingWindow(2), AdaptiveOeuvre(), SlidingWindow(2)])
    _, one, two = worse.standings
    assert one[2:] == two[2:]


def test_estimators_that_were_used_are_taken_fresh() -> None:
    losses, previous = learner_pairs(100)
    used = four()
    for each in used:
        each.update(7.0)
    before = [snapshot(each) for each in used]
    assert compare(losses, previous, used) == compare(losses, previous, four())
    assert [snapshot(each) for each in used] == before


def test_one_estimator_is_a_ranking_too() -> None:
    ranking = compare(*learner_pairs(50), [Prequential()])
    assert len(ranking.standings) == 1
    assert ranking.best.name == "Prequential()"
    assert len(repr(ranking).splitlines()) == 2


def test_too_few_steps_to_tell_the_error() -> None:
    ranking = compare(*learner_pairs(11, seed=3), four())
    assert ranking.steps == 1
    assert [each.error for each in ranking.standings] == [0.0, math.inf, math.inf, math.inf]
    assert "inf" in repr(ranking)


def test_the_table() -> None:
    ranking = compare(*learner_pairs(200), four())
    header, *rows = str(ranking).splitlines()
    assert header.split() == ["estimator", "score", "excess", "±", "error"]
    assert len({len(line) for line in (header, *rows)}) == 1
    for row, each in zip(rows, ranking.standings, strict=True):
        name, score, excess, error = row.rsplit(maxsplit=3)
        assert name.strip() == each.name
        assert float(score) == pytest.approx(each.score, rel=1e-5)
        assert float(excess) == pytest.approx(each.excess, rel=1e-2)
        assert float(error) == pytest.approx(each.error, rel=1e-1)


ONES = [1.0] * 20


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: UNTYPED(ONES, None, four()), InvalidLoss, "'previous' must be .* Got None"),
        (lambda: UNTYPED(ONES, [1.0], four()), InvalidInput, "'previous' must have as many"),
        (lambda: UNTYPED([math.nan] * 20, ONES, four()), InvalidLoss, "'losses' must .* index 0"),
        (lambda: UNTYPED(ONES, [*ONES[:-1], math.nan], four()), InvalidLoss, "nan at index 19"),
        (lambda: UNTYPED("abc", ONES, four()), InvalidLoss, "'losses' must be an array"),
        (lambda: UNTYPED([], [], four()), InvalidLoss, "'losses' must have one dimension"),
        (lambda: UNTYPED(ONES, ONES, []), InvalidParameter, "'estimators' parameter of compare"),
        (lambda: UNTYPED(ONES, ONES, [3]), InvalidParameter, "'estimators' parameter of compare"),
        (lambda: UNTYPED(ONES, ONES, 3), InvalidParameter, "'estimators' .* Got 3 instead"),
        (lambda: UNTYPED(ONES, ONES, Prequential()), InvalidParameter, "'estimators' parameter"),
        (lambda: UNTYPED(ONES, ONES, [Prequential]), InvalidParameter, "'estimators' parameter"),
        (lambda: UNTYPED(ONES, ONES, four(), horizon=0), InvalidParameter, "'horizon' parameter"),
        (lambda: UNTYPED(ONES, ONES, four(), horizon=1.5), InvalidParameter, "'horizon' param"),
        (lambda: UNTYPED(ONES, ONES, four(), horizon=20), NotEnoughData, "than 20 .* Got 20"),
        (lambda: UNTYPED(ONES[:10], ONES[:10], four()), NotEnoughData, "than 10 .* Got 10"),
        (lambda: UNTYPED(ONES, ONES, four(), rates=[1.0]), InvalidInput, "'rates' must have"),
        (lambda: UNTYPED(ONES, ONES, four(), sizes=[3.0]), InvalidInput, "'sizes' must have"),
        (lambda: UNTYPED(ONES, ONES, four(), sizes=[10, 10]), NotEnoughData, "Got 2"),
    ],
)
def test_bad_input_is_named(
    call: Callable[[], Ranking], error: type[oeuvre.OeuvreError], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()


def test_a_first_previous_of_any_size_is_not_looked_at() -> None:
    losses, previous = learner_pairs(400)
    other = previous.copy()
    other[0] = 1e17
    first, second = (compare(losses, each, four()) for each in (previous, other))
    assert [each.score for each in first.standings[:2]] == pytest.approx(
        [each.score for each in second.standings[:2]]
    )
