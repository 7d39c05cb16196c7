"""What every estimator keeps: one stream, however it is fed, gives one set of floats."""

import copy
import inspect
import pickle
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oeuvre
from oeuvre import Estimator, rates
from oeuvre.errors import NotAvailable, NotEnoughData
from tests.conftest import AS_DATA, WITH_CODE, Make, Pairs, half_life, learner_pairs, snapshot

LOSSES = st.floats(-1e6, 1e6)
STREAMS = st.lists(st.tuples(LOSSES, LOSSES), min_size=1, max_size=80)


def one_by_one(estimator: Estimator, pairs: Pairs) -> Estimator:
    for loss, previous in zip(*pairs, strict=True):
        estimator.update(loss, previous)
    return estimator


def as_pairs(stream: list[tuple[float, float]]) -> Pairs:
    losses, previous = np.array(stream).T
    return losses, previous


@pytest.mark.parametrize("name", AS_DATA)
@given(stream=STREAMS, cut=st.integers(0, 80))
def test_every_way_of_feeding_gives_the_same_floats(
    name: str, stream: list[tuple[float, float]], cut: int
) -> None:
    pairs = as_pairs(stream)
    single = one_by_one(AS_DATA[name](), pairs)

    replayed = AS_DATA[name]()
    course = replayed.replay(*pairs)
    assert snapshot(replayed) == snapshot(single)
    assert course.estimate[-1] == single.get()
    assert course.weight[-1] == single.weight
    if course.variance is not None:
        assert course.variance[-1] == single.variance

    batched = AS_DATA[name]()
    for loss, previous in stream:
        batched.update_many([loss], [previous])
    assert snapshot(batched) == snapshot(single)

    broken_off = AS_DATA[name]()
    one_by_one(broken_off, (pairs[0][:cut], pairs[1][:cut]))
    resumed = Estimator.from_dict(broken_off.to_dict())
    assert snapshot(one_by_one(resumed, (pairs[0][cut:], pairs[1][cut:]))) == snapshot(single)


@pytest.mark.parametrize("name", WITH_CODE)
def test_estimators_with_code_feed_alike(name: str) -> None:
    losses, previous = learner_pairs(200)
    losses = losses + np.where(np.arange(200) < 120, 0.0, 1.0)
    single = one_by_one(WITH_CODE[name](), (losses, previous))
    replayed = WITH_CODE[name]()
    replayed.replay(losses[:77], previous[:77])
    resumed = pickle.loads(pickle.dumps(replayed))
    resumed.replay(losses[77:], previous[77:])
    assert snapshot(resumed) == snapshot(single)
    assert resumed.get() == single.get()


@pytest.mark.parametrize("name", AS_DATA)
@given(
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=40),
    seed=st.integers(0, 2**32),
    use_rates=st.booleans(),
)
def test_batches_replay_as_means_and_as_samples(
    name: str, sizes: list[int], seed: int, use_rates: bool
) -> None:
    rng = np.random.default_rng(seed)
    losses, previous = rng.normal(size=(2, sum(sizes)))
    pace = rng.random(len(sizes)) if use_rates else None
    ends = np.cumsum(sizes)
    single = AS_DATA[name]()
    means: list[tuple[float, float]] = []
    for i, (end, size) in enumerate(zip(ends, sizes, strict=True)):
        cur, prev = losses[end - size : end], previous[end - size : end]
        single.update_many(cur, prev, rate=None if pace is None else pace[i])
        means.append((reduce(add, cur.tolist()) / size, reduce(add, prev.tolist()) / size))
    flat = AS_DATA[name]()
    flat.replay(losses, previous, sizes=sizes, rates=pace)
    assert snapshot(flat) == snapshot(single)
    stepwise = AS_DATA[name]()
    stepwise.replay(*as_pairs(means), sizes=sizes, rates=pace)
    assert snapshot(stepwise) == snapshot(single)


def test_the_first_step_needs_no_previous(make: Make, pairs: Pairs) -> None:
    losses, previous = pairs
    full = make()
    full.replay(losses, previous)
    for missing in (None, float("nan"), np.float32("nan")):
        other = make()
        other.update(losses[0], missing)
        other.replay(losses[1:], previous[1:])
        assert snapshot(other) == snapshot(full)
    gap = previous.copy()
    gap[0] = np.nan
    other = make()
    other.replay(losses, gap)
    assert snapshot(other) == snapshot(full)
    assert np.isnan(gap[0])  # the caller's array is as it was
    other = make()
    other.update_many([losses[0]], [np.nan])
    other.replay(losses[1:], previous[1:])
    assert snapshot(other) == snapshot(full)


def test_no_result_before_the_first_step(make: Make) -> None:
    estimator = make()
    assert estimator.n == 0
    with pytest.raises(NotEnoughData):
        estimator.get()
    for name in ("weight", "effective_n"):
        with pytest.raises(NotEnoughData):
            getattr(estimator, name)


def test_variance_belongs_to_estimates_of_the_current_model(make: Make, pairs: Pairs) -> None:
    estimator = make()
    course = estimator.replay(*pairs)
    if estimator._has_variance:
        assert course.variance is not None
        assert estimator.variance == course.variance[-1] > 0
    else:
        assert course.variance is None
        assert not hasattr(estimator, "variance")
        why = "averages the losses of past models|has no AdaptiveOeuvre among its members"
        with pytest.raises(NotAvailable, match=why):
            _ = estimator.variance


def test_weights_and_sizes_make_sense(make: Make, pairs: Pairs) -> None:
    estimator = make()
    course = estimator.replay(*pairs)
    assert len(course) == estimator.n == 300
    assert course.weight[0] == 1.0
    assert ((course.weight >= 0) & (course.weight <= 1)).all()
    assert estimator.effective_n > 0
    if not estimator._has_variance:
        assert estimator.effective_n <= 300 * (1 + 1e-9)


def test_clone_is_fresh_and_reset_goes_back(make: Make, pairs: Pairs) -> None:
    estimator = make()
    fresh = snapshot(estimator)
    estimator.replay(*pairs)
    twin = estimator.clone()
    assert type(twin) is type(estimator)
    assert snapshot(twin) == fresh
    assert repr(twin) == repr(estimator)
    assert snapshot(estimator) != fresh
    estimator.reset()
    assert snapshot(estimator) == fresh
    estimator.replay(*pairs)
    twin.replay(*pairs)
    assert snapshot(twin) == snapshot(estimator)


def test_copies_keep_the_state_and_go_their_own_way(make: Make, pairs: Pairs) -> None:
    estimator = make()
    estimator.replay(*pairs)
    for twin in (copy.deepcopy(estimator), pickle.loads(pickle.dumps(estimator))):
        assert snapshot(twin) == snapshot(estimator)
        twin.update(5.0, 4.0)
        assert twin.n == estimator.n + 1
        assert snapshot(twin) != snapshot(estimator)


def test_repr_can_be_pasted_back(make: Make) -> None:
    from river.drift import PageHinkley

    names = {**vars(oeuvre), "rates": rates, "PageHinkley": PageHinkley, "half_life": half_life}
    estimator = make()
    again: Any = eval(repr(estimator), names)
    assert type(again) is type(estimator)
    assert repr(again) == repr(estimator)
    assert snapshot(again) == snapshot(estimator)


def test_numbers_of_any_library_are_numbers(make: Make) -> None:
    import torch

    plain, other = make(), make()
    plain.update(0.5)
    plain.update(0.25, 0.75)
    other.update(np.float32(0.5))
    other.update(torch.tensor(0.25, requires_grad=True), np.float64(0.75))
    assert snapshot(other) == snapshot(plain)
    for yes in (True, np.True_, 1, np.int8(1), torch.tensor(1)):
        other = make()
        other.update(yes)
        assert other.get() == 1.0
    assert type(other._get_state()["estimate"]) is float
    batch = torch.tensor([0.5, 0.25], dtype=torch.float64, requires_grad=True)
    plain, other = make(), make()
    plain.update_many([0.5, 0.25], [0.5, 0.5])
    other.update_many(batch, torch.full((2,), 0.5))
    assert snapshot(other) == snapshot(plain)


def test_every_public_method_says_what_it_does() -> None:
    for kind in oeuvre.estimators.KINDS.values():
        for name, member in inspect.getmembers(kind):
            if not name.startswith("_"):
                assert inspect.getdoc(member), f"{kind.__name__}.{name}"
