"""A blend of estimators: its weights, its scores and its members, against plain computations."""

import copy
import json
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from river import drift

import oeuvre
from oeuvre import (
    AdaptiveOeuvre,
    Adwin,
    DriftWindow,
    Ensemble,
    Estimator,
    ExponentialMovingAverage,
    FadingFactor,
    Oeuvre,
    Prequential,
    SlidingWindow,
    rates,
)
from oeuvre.errors import (
    InvalidInput,
    InvalidLoss,
    InvalidParameter,
    NotAvailable,
    NotEnoughData,
    NotSerializable,
    StateError,
)
from oeuvre.estimators.base import KINDS, count, number
from tests.conftest import Pairs, half_life, learner_pairs, snapshot

Floats = NDArray[np.float64]
UNTYPED: Any = Ensemble
BATCHES = 16


class Midrange(Estimator):
    """Half-way between the smallest and the largest loss: an estimator without a core."""

    _fields = {"n": count, "low": number, "high": number}

    def __init__(self, shift: float = 0.0) -> None:
        self._params = {"shift": shift}
        self.reset()

    def reset(self) -> None:
        self._n, self._low, self._high = 0, 0.0, 0.0

    def update(self, loss: Any, previous: Any = None, *, rate: Any = None) -> None:
        self._update_batch(loss, previous, rate, 1.0)

    def _update_batch(self, loss: float, previous: Any, rate: Any, size: float) -> None:
        self._low = min(self._low, loss) if self._n else loss
        self._high = max(self._high, loss) if self._n else loss
        self._n += 1

    def _replay(
        self,
        losses: Any,
        previous: Any,
        rates: Any,
        sizes: Any,
        estimate: Any,
        variance: Any,
        weight: Any,
    ) -> None:
        for i, loss in enumerate(losses):
            self._update_batch(loss, None, None, 1.0)
            estimate[i], weight[i] = self.get(), self.weight

    def get(self) -> float:
        return float((self._low + self._high) / 2 + self._params["shift"])

    @property
    def weight(self) -> float:
        return 1.0 if self._n == 1 else 0.0

    @property
    def variance(self) -> float:
        raise NotAvailable("This one has no variance.")

    @property
    def effective_n(self) -> float:
        return 2.0


class Doubling(Oeuvre):
    """Another estimate around the same core."""

    def get(self) -> float:
        return 2.0 * super().get()


class Clipping(AdaptiveOeuvre):
    """Another step around the same core."""

    def _update_batch(self, loss: Any, previous: Any, rate: Any, size: float) -> None:
        super()._update_batch(min(loss, 1.0), min(previous, 1.0), rate, size)

    def update(self, loss: Any, previous: Any = None, *, rate: Any = None) -> None:
        self._update_batch(loss, previous, rate, 1.0)


class Tiring(Prequential):
    """A mean that refuses a loss of 0.75, after taking part of it in."""

    def _update_batch(self, loss: float, previous: Any, rate: Any, size: float) -> None:
        if loss == 0.75:
            self._mass += 1.0
            raise RuntimeError("tired")
        super()._update_batch(loss, previous, rate, size)


OWN = (Midrange, Doubling, Clipping, Tiring)
for kind in OWN:  # elsewhere the known kinds are those of the library
    del KINDS[kind.__name__]


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let saved states name the classes above."""
    for each in OWN:
        monkeypatch.setitem(KINDS, each.__name__, each)


def page_hinkley() -> Any:
    make: Any = drift.PageHinkley
    return make(threshold=1.0)


def three() -> list[Estimator]:
    return [AdaptiveOeuvre(), FadingFactor(0.9), SlidingWindow(4)]


class Blend:
    """The blend from its description: what the members said, and what the looks were."""

    def __init__(self, said: Floats, prior: Floats, horizon: int) -> None:
        """Take what each member (a column) says after each step (a row)."""
        self.said, self.prior, self.horizon = said, prior, horizon
        self.weights = prior.copy()
        self.noise, self.scored, self.streak = 0.0, 0, 0
        self.blend: list[float] = []
        self.errors: list[Floats] = []
        """Squared errors of the members and of the blend, one row for each scored step."""

    def step(self, previous: Floats, sizes: Floats) -> None:
        """Take one more step; the arguments are those up to now."""
        h, t = self.horizon, len(previous)
        if t > h:
            target = np.average(previous[-h:], weights=sizes[-h:])
            self.judge(self.said[t - 1 - h], self.blend[t - 1 - h], float(target))
        self.blend.append(float(self.weights @ self.said[t - 1]))

    def judge(self, members: Floats, blend: float, target: float) -> None:
        self.errors.append((np.append(members, blend) - target) ** 2)
        value = self.horizon * (blend - target) ** 2
        self.scored += 1
        self.streak = self.streak + 1 if value > 3.0 * self.noise else 0
        if self.scored > 10 and self.noise > 0.0 and self.streak <= 3 * self.horizon:
            if value > 25.0 * self.noise:
                target = blend + (target - blend) * math.sqrt(25.0 * self.noise / value)
            value = min(value, 3.0 * self.noise)
        pace = max(0.01, self.scored**-0.8)
        self.noise = (1 - pace) * self.noise + pace * value
        if self.noise > 0.0:
            squares = (members - target) ** 2
            raised = self.weights * np.exp(-0.2 * (squares - squares.min()) / self.noise)
            self.weights = 0.9998 * raised / raised.sum() + 0.0002 * self.prior


def drifting(steps: int, seed: int) -> Pairs:
    """Losses of a learner, with a jump, an outlier and a stretch of dependence."""
    losses, previous = learner_pairs(steps, seed)
    rng = np.random.default_rng(seed)
    extra = np.where(np.arange(steps) < steps // 2, 0.0, 0.5)
    extra[steps // 4] += 40.0
    extra[-steps // 3 :] += np.cumsum(rng.normal(0, 0.05, len(extra[-steps // 3 :])))
    return losses + extra, previous + extra


@pytest.mark.parametrize("batches", [False, True])
@pytest.mark.parametrize("horizon", [1, 3, 10])
def test_the_description_step_by_step(horizon: int, batches: bool) -> None:
    members = [*three(), Oeuvre(burn_in=5), Prequential()]
    prior = [2.0, 1.0, 0.5, 4.0, 1.0]
    for seed in range(2):
        losses, previous = drifting(400, seed)
        sizes = np.ones(400)
        if batches:
            sizes += np.random.default_rng(seed).integers(0, 8, 400)
        est = Ensemble(members, prior=prior, horizon=horizon)
        said = np.column_stack(
            [each.clone().replay(losses, previous, sizes=sizes).estimate for each in members]
        )
        naive = Blend(said, np.array(prior) / sum(prior), horizon)
        for t in range(400):
            est._update_batch(losses[t], previous[t], None, sizes[t])
            naive.step(previous[: t + 1], sizes[: t + 1])
            assert [each.get() for each in est.members] == said[t].tolist()
            np.testing.assert_allclose(est.weights, naive.weights, rtol=1e-9)
            assert est.get() == pytest.approx(naive.blend[-1], rel=1e-9)
            state = est._get_state()
            assert state["noise"] == pytest.approx(naive.noise, rel=1e-9)
            assert state["scored"] == naive.scored == max(0, t + 1 - horizon)
        np.testing.assert_allclose(est.scores, np.mean(naive.errors, axis=0)[:-1], rtol=1e-9)
        assert est.weights.max() > 0.45
        course = Ensemble(members, prior=prior, horizon=horizon).replay(
            losses, previous, sizes=sizes
        )
        np.testing.assert_allclose(course.estimate, naive.blend, rtol=1e-9)


def test_the_default_members() -> None:
    est = Ensemble()
    assert all(est.weights > 0)
    assert est.weights.sum() == pytest.approx(1.0)
    assert est.weights.argmax() == 0
    assert repr(est.members[0]) == "AdaptiveOeuvre(two_gain=True, drift='cusum')"
    assert repr(est) == "Ensemble()"
    losses, previous = drifting(200, 1)
    given = Ensemble(est.members, prior=est.weights.tolist())
    np.testing.assert_allclose(
        given.replay(losses, previous).estimate, est.replay(losses, previous).estimate, rtol=1e-9
    )


# Members


class Loud(Oeuvre):
    """Doubles every loss in an `update` of its own."""

    __slots__ = ()

    def update(self, loss: Any, previous: Any = None, *, rate: Any = None) -> None:
        super().update(2 * loss, None if previous is None else 2 * previous, rate=rate)


KINDS.pop("Loud")


def test_a_member_with_an_update_of_its_own_is_called_by_it() -> None:
    losses, previous = drifting(60, 1)
    est = Ensemble([Loud(), Prequential()], horizon=2)
    alone = Loud()
    for loss, before in zip(losses, previous, strict=True):
        est.update(loss, before)
        alone.update(loss, before)
    assert est.members[0].get() == alone.get()


ANY: dict[str, Callable[[], Estimator]] = {
    "adwin": Adwin,
    "drift window": lambda: DriftWindow(page_hinkley()),
    "own": lambda: Midrange(0.5),
    "schedule": lambda: Oeuvre(rates.Schedule(half_life)),
    "nested": lambda: Ensemble(three(), horizon=2),
    "nested with code": lambda: Ensemble([Adwin(), Midrange()], horizon=2),
    "another get": Doubling,
    "another step": Clipping,
    "detector": lambda: AdaptiveOeuvre(drift=page_hinkley()),
    "moving average": lambda: ExponentialMovingAverage(0.3),
    "steep rate": lambda: Oeuvre(rates.Power(1.5), burn_in=6),
}


@pytest.mark.parametrize("name", ANY)
def test_anything_can_be_a_member(name: str) -> None:
    losses, previous = drifting(150, 3)
    alone = ANY[name]()
    first = ANY[name]()
    est = Ensemble([first, Prequential()], horizon=3)
    other = Ensemble([ANY[name](), Prequential()], horizon=3)
    said = []
    for loss, prev in zip(losses.tolist(), previous.tolist(), strict=True):
        est.update(loss, prev)
        alone.update(loss, prev)
        assert est.members[0].get() == alone.get()
        said.append([alone.get(), est.members[1].get()])
    assert snapshot(est.members[0]) == snapshot(alone)
    assert snapshot(first) == snapshot(ANY[name]())  # the one given is only a pattern
    course = other.replay(losses, previous)
    assert snapshot(other) == snapshot(est)
    assert (
        est.weight
        == course.weight[-1]
        == pytest.approx(float(est.weights @ [each.weight for each in est.members]))
    )
    assert est.effective_n**-0.5 == pytest.approx(
        float(est.weights @ [each.effective_n**-0.5 for each in est.members])
    )
    naive = Blend(np.array(said), np.full(2, 0.5), 3)
    for t in range(150):
        naive.step(previous[: t + 1], np.ones(t + 1))
    np.testing.assert_allclose(course.estimate, naive.blend, rtol=1e-9)


@pytest.mark.parametrize("name", ANY)
def test_members_take_batches_and_rates_as_they_do_alone(name: str) -> None:
    rng = np.random.default_rng(4)
    est = Ensemble([ANY[name](), Oeuvre(burn_in=6)], horizon=2)
    alone = ANY[name](), Oeuvre(burn_in=6)
    for _ in range(40):
        losses, previous = rng.random((2, rng.integers(1, 6)))
        pace = float(rng.random())
        for each in (est, *alone):
            each.update_many(losses, previous, rate=pace)
        assert [each.get() for each in est.members] == [each.get() for each in alone]
    for mine, other in zip(est.members, alone, strict=True):
        assert snapshot(mine) == snapshot(other)


def test_members_are_copies() -> None:
    given = SlidingWindow(3)
    given.update(5.0)
    est = Ensemble([given, given])
    assert [each.n for each in est.members] == [0, 0]
    assert est.members[0] is not est.members[1]
    est.update(1.0, 1.0)
    given.update(9.0)
    assert (est.get(), given.get()) == (1.0, 7.0)
    twin = est.clone()
    assert twin.n == twin.members[0].n == 0
    est.reset()
    assert snapshot(est) == snapshot(twin)


def test_the_variance_is_around_the_rate_free_member() -> None:
    losses, previous = learner_pairs(100)
    for members, at in (
        ([Prequential(), AdaptiveOeuvre(two_gain=True), AdaptiveOeuvre()], 2),
        ([Prequential(), AdaptiveOeuvre(two_gain=True)], 1),
    ):
        est = Ensemble(members)
        course = est.replay(losses, previous)
        anchor = est.members[at]
        assert est.variance == pytest.approx(anchor.variance + (est.get() - anchor.get()) ** 2)
        assert course.variance is not None
        assert course.variance[-1] == est.variance
    none = Ensemble([Prequential()])
    assert none.replay(losses, previous).variance is None
    with pytest.raises(NotAvailable, match="no AdaptiveOeuvre among its members"):
        _ = none.variance


FAILURES: dict[str, tuple[list[Estimator], Callable[[Estimator], object], type[Exception]]] = {
    "a member that raises": (
        [*three(), Tiring(), Midrange()],
        lambda est: est.update(0.75, 0.5),
        RuntimeError,
    ),
    "a member that raises in a batch": (
        [*three(), Tiring()],
        lambda est: est.update_many([0.5, 1.0], [0.5, 0.5]),
        RuntimeError,
    ),
    "a member that raises in a replay": (
        [*three(), Tiring()],
        lambda est: est.replay([0.25, 0.75, 0.5], [0.25, 0.5, 0.5]),
        RuntimeError,
    ),
    "a nested member that raises": (
        [Prequential(), Ensemble([Prequential(), Tiring()], horizon=2)],
        lambda est: est.update(0.75, 0.5),
        RuntimeError,
    ),
    "a loss that is not 0 or 1": (
        [Prequential(), DriftWindow(drift.binary.DDM())],
        lambda est: est.update(0.5, 0.5),
        InvalidLoss,
    ),
    "a huge loss": (
        [Prequential(), AdaptiveOeuvre()],
        lambda est: est.update(1e200, 0.5),
        InvalidLoss,
    ),
    "a huge previous": (
        [Prequential(), AdaptiveOeuvre()],
        lambda est: est.update(0.5, 1e200),
        InvalidLoss,
    ),
    "a huge loss for a detector": (
        [Prequential(), Adwin()],
        lambda est: est.update(2e100, 0.5),
        InvalidLoss,
    ),
    "a tiny rate": (
        [Prequential(), AdaptiveOeuvre(), Oeuvre(burn_in=60)],
        lambda est: est.update(0.5, 0.4, rate=1e-300),
        InvalidLoss,
    ),
    "a rate below 0": (
        three(),
        lambda est: est.update(0.5, 0.4, rate=-1.0),
        InvalidInput,
    ),
    "a huge loss in a replay": (
        three(),
        lambda est: est.replay([0.5, 1e200], [0.5, 0.5]),
        InvalidLoss,
    ),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_step_that_fails_half_way_leaves_all_as_it_was(name: str) -> None:
    members, act, error = FAILURES[name]
    est, other = Ensemble(members, horizon=3), Ensemble(members, horizon=3)
    bits = (np.random.default_rng(5).random(60) < 0.3).astype(float)
    for each in (est, other):
        each.replay(bits[:49], bits[:49])
    before = snapshot(est)
    with pytest.raises(error):
        act(est)
    assert snapshot(est) == before
    for each in (est, other):
        each.replay(bits[49:], bits[49:])
    assert snapshot(est) == snapshot(other)
    assert est.n == 60


# Weights


def test_the_prior_holds_while_nothing_is_scored() -> None:
    est = Ensemble(three(), prior=(3, 1, 4), horizon=5)
    np.testing.assert_allclose(est.weights, np.array([3, 1, 4]) / 8)
    losses, previous = learner_pairs(9)
    for t in range(5):
        est.update(losses[t], previous[t])
        np.testing.assert_allclose(est.weights, np.array([3, 1, 4]) / 8)
        said = [each.get() for each in est.members]
        assert est.get() == pytest.approx(np.average(said, weights=[3, 1, 4]))
    est.replay(losses[5:], previous[5:])
    assert est.weights.tolist() != [3 / 8, 1 / 8, 4 / 8]
    np.testing.assert_allclose(Ensemble(three()).weights, np.full(3, 1 / 3))
    assert est.weights.flags.writeable
    est.weights[:] = 0.0  # a copy: writing to it changes nothing
    assert est.weights.sum() == pytest.approx(1.0)


def test_losses_without_noise_leave_the_weights_alone() -> None:
    est = Ensemble(three(), prior=[1, 2, 1], horizon=2)
    est.replay(np.full(100, 0.5), np.full(100, 0.5))
    np.testing.assert_allclose(est.weights, [0.25, 0.5, 0.25])
    assert est.get() == pytest.approx(0.5)


def test_weights_add_up_to_one_and_stay_above_their_share() -> None:
    prior = np.array([0.7, 0.2, 0.05, 0.05])
    est = Ensemble([*three(), Midrange(100.0)], prior=prior.tolist(), horizon=2)
    for loss, previous in zip(*drifting(1000, 6), strict=True):
        est.update(loss, previous)
        assert est.weights.sum() == pytest.approx(1.0, abs=1e-12)
        assert (est.weights >= 2e-4 * prior * (1 - 1e-12)).all()
    # what is always far off has no more than that
    assert est.weights[3] == pytest.approx(2e-4 * 0.05, rel=1e-6)


@pytest.mark.parametrize("horizon", [1, 10])
def test_the_best_member_takes_over_and_hands_over(horizon: int) -> None:
    """A mean of all for independent losses; after a jump a window, which has forgotten."""
    rng = np.random.default_rng(7)
    losses = rng.normal(1.0, 1.0, 4200)
    losses[4000:] += 5.0
    est = Ensemble([Prequential(), SlidingWindow(5), SlidingWindow(40)], horizon=horizon)
    est.replay(losses[:4000], losses[:4000])
    assert est.weights[0] > 0.9
    assert est.get() == pytest.approx(1.0, abs=0.1)
    est.replay(losses[4000:], losses[4000:])
    assert est.weights[0] < 0.01
    assert est.weights[2] > 0.5
    assert est.get() == pytest.approx(6.0, abs=0.5)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: UNTYPED([]), "'estimators' parameter of Ensemble must be estimators, at least"),
        (lambda: UNTYPED([3]), "'estimators' parameter of Ensemble must be .* Got 3 instead"),
        (lambda: UNTYPED(3), "'estimators' parameter of Ensemble must be .* Got 3 instead"),
        (lambda: UNTYPED([Prequential]), "'estimators' parameter of Ensemble must be estimators"),
        (lambda: UNTYPED(Prequential()), "'estimators' parameter of Ensemble must be estimators"),
        (lambda: UNTYPED(three(), prior=[1, 2]), "'prior' parameter of Ensemble must be 3 numbers"),
        (lambda: UNTYPED(three(), prior=1.0), "'prior' parameter of Ensemble must be 3 numbers"),
        (
            lambda: UNTYPED(three(), prior=[1, 0, 1]),
            "'prior' parameter of Ensemble must be [0-9]+ numbers above 0",
        ),
        (
            lambda: UNTYPED(three(), prior=[1, -1, 1]),
            "'prior' parameter of Ensemble must be [0-9]+ numbers above 0",
        ),
        (
            lambda: UNTYPED(three(), prior=[1, math.nan, 1]),
            "'prior' parameter of Ensemble must be [0-9]+ numbers above 0",
        ),
        (
            lambda: UNTYPED(three(), prior=[1, math.inf, 1]),
            "'prior' parameter of Ensemble must be [0-9]+ numbers above 0",
        ),
        (
            lambda: UNTYPED(three(), prior="abc"),
            "'prior' parameter of Ensemble must be [0-9]+ numbers above 0",
        ),
        (lambda: UNTYPED(prior=[1.0]), "'prior' parameter of Ensemble must be [0-9]+ numbers"),
        (lambda: UNTYPED(horizon=0), "'horizon' parameter of Ensemble must be an int of at least"),
        (lambda: UNTYPED(horizon=2.0), "'horizon' parameter of Ensemble must be an int"),
        (lambda: UNTYPED(horizon=True), "'horizon' parameter of Ensemble must be an int"),
        (lambda: UNTYPED(horizon=None), "'horizon' parameter of Ensemble must be an int"),
        (lambda: UNTYPED(horizon=2**60), "'horizon' parameter of Ensemble must be .* at most 9007"),
        (lambda: UNTYPED(horizon=2**50), "'horizon' parameter of Ensemble must be small enough"),
    ],
)
def test_bad_parameters_are_named(build: Callable[[], Estimator], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        build()


# Scores


def batch_length(scored: float) -> int:
    """Return the least power of two of which there are fewer than 16 whole ones."""
    length = 1
    while scored >= BATCHES * length:
        length *= 2
    return length


@pytest.mark.parametrize("horizon", [1, 4])
def test_scores_and_errors_are_those_of_all_steps(horizon: int) -> None:
    losses, previous = drifting(220, 8)
    est = Ensemble([*three(), Prequential()], horizon=horizon)
    said = np.column_stack([each.clone().replay(losses, previous).estimate for each in est.members])
    naive = Blend(said, np.full(4, 0.25), horizon)
    for t in range(220):
        est.update(losses[t], previous[t])
        naive.step(previous[: t + 1], np.ones(t + 1))
        scored = t + 1 - horizon
        if scored < 1:
            with pytest.raises(NotEnoughData, match="no ranking before a prediction could be"):
                est.compare()
            with pytest.raises(NotEnoughData):
                _ = est.scores
            continue
        errors = np.array(naive.errors)
        ranking = est.compare()
        means = errors.mean(axis=0)
        assert ranking.steps == scored == len(errors)
        assert len(ranking.standings) == 5
        np.testing.assert_allclose(est.scores, means[:-1], rtol=1e-9)
        np.testing.assert_allclose(
            np.reshape(est._sums, (5, BATCHES)).sum(axis=1), errors.sum(axis=0), rtol=1e-9
        )
        order = [each.position for each in ranking.standings]
        assert sorted(order) == [0, 1, 2, 3, 4]
        assert (np.diff(means[order]) > -1e-12).all()
        length = 2 * horizon * batch_length(scored / (2 * horizon))
        whole = scored // length
        best = order[0]
        for each in ranking.standings:
            at = each.position
            gaps = (errors[:, at] - errors[:, best])[: whole * length].reshape(whole, length)
            error = np.std(gaps.mean(axis=1), ddof=1) / whole**0.5 if whole > 3 else math.inf
            assert each.score == pytest.approx(means[at], rel=1e-9)
            assert each.excess == pytest.approx(means[at] - means[best], rel=1e-7, abs=1e-12)
            assert each.error == pytest.approx(0.0 if at == best else error, rel=1e-6, abs=1e-12)
        assert ranking.best is ranking.standings[0]
    names = {each.position: each.name for each in ranking.standings}
    assert names == {
        0: "AdaptiveOeuvre()",
        1: "FadingFactor(fading=0.9)",
        2: "SlidingWindow(size=4)",
        3: "Prequential()",
        4: "the blend",
    }
    lines = repr(ranking).splitlines()
    assert lines[0].split() == ["estimator", "score", "excess", "±", "error"]
    assert len(lines) == 6
    assert len({len(line) for line in lines}) == 1


def test_no_scores_before_the_first_step() -> None:
    est = Ensemble()
    with pytest.raises(NotEnoughData):
        est.compare()
    with pytest.raises(NotEnoughData):
        _ = est.scores


# State


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("steps", [0, 1, 7, 130])
def test_file_and_back_with_members_of_every_kind(steps: int, tmp_path: Path) -> None:
    est = Ensemble(
        [Ensemble(three(), horizon=2), Midrange(0.25), Doubling("1/t"), Oeuvre(rates.Power(0.7))],
        prior=[1, 2, 3, 4],
        horizon=4,
    )
    losses, previous = drifting(200, 9)
    if steps:
        est.replay(losses[:steps], previous[:steps])
    document = est.to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    oeuvre.save(est, tmp_path / "state.json")
    loaded = oeuvre.load(tmp_path / "state.json")
    assert isinstance(loaded, Ensemble)
    for again in (loaded, pickle.loads(pickle.dumps(est)), copy.deepcopy(est)):
        assert repr(again) == repr(est)
        assert snapshot(again) == snapshot(est)
        assert [type(each) for each in again.members] == [type(each) for each in est.members]
        one, two = (each.clone() for each in (again, est))
        assert snapshot(one) == snapshot(two)
        mine = copy.deepcopy(est)
        for each in (again, mine):
            each.replay(losses[steps:], previous[steps:])
        assert snapshot(again) == snapshot(mine)
        assert repr(again.compare()) == repr(mine.compare())


def test_code_among_the_members_is_not_written(tmp_path: Path) -> None:
    for member in (Adwin(), AdaptiveOeuvre(drift=page_hinkley()), ANY["schedule"]()):
        with pytest.raises(NotSerializable, match="A state is written as data"):
            oeuvre.save(Ensemble([Prequential(), member]), tmp_path / "state.json")
    assert not list(tmp_path.iterdir())


def put(*path: str | int) -> Callable[[Any, Any], None]:
    """Return what writes a value into a document, at a path."""

    def write(document: Any, value: Any) -> None:
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = value

    return write


def drop(*path: str | int) -> Callable[[Any, Any], None]:
    """Return what removes an entry from a document."""

    def remove(document: Any, value: Any) -> None:
        for key in path[:-1]:
            document = document[key]
        del document[path[-1]]

    return remove


TORN: dict[str, tuple[Callable[[Any, Any], None], Any]] = {
    "weights short": (put("state", "weights"), [0.5, 0.5]),
    "weights long": (put("state", "weights"), [0.25] * 4),
    "weights of other sum": (put("state", "weights"), [0.5, 0.5, 0.5]),
    "weights below 0": (put("state", "weights"), [1.5, -0.25, -0.25]),
    "weights nan": (put("state", "weights"), [math.nan, 0.5, 0.5]),
    "weights no list": (put("state", "weights"), "abc"),
    "weights whole": (put("state", "weights"), [1, 0, 0]),
    "past short": (put("state", "past"), [0.5] * 11),
    "past inf": (put("state", "past"), [math.inf] * 12),
    "past none": (put("state", "past"), None),
    "sums short": (put("state", "sums"), [0.5] * 63),
    "sums below 0": (put("state", "sums"), [-1.0] * 64),
    "noise below 0": (put("state", "noise"), -1.0),
    "too many batches": (put("state", "filled"), 16),
    "too much in a batch": (put("state", "inside"), 64),
    "no batch": (put("state", "batch"), 0),
    "n missing": (drop("state", "n"), None),
    "n broken": (put("state", "n"), 2.5),
    "extra": (put("state", "extra"), 1),
    "recent missing": (drop("state", "recent"), None),
    "recent torn": (drop("state", "recent", "state"), None),
    "recent of another length": (put("state", "recent"), SlidingWindow(4).to_dict()),
    "recent of another kind": (put("state", "recent"), Prequential().to_dict()),
    "members missing": (drop("state", "members"), None),
    "member missing": (drop("state", "members", 1), None),
    "member of another kind": (put("state", "members", 1), Prequential().to_dict()),
    "member with another parameter": (put("state", "members", 1), FadingFactor(0.8).to_dict()),
    "member torn": (drop("state", "members", 1, "state", "mass"), None),
    "member no document": (put("state", "members", 1), 3),
    "member of a kind unknown": (put("state", "members", 1, "kind"), "Midrange"),
    "params without estimators": (drop("params", "estimators"), None),
    "params with other estimators": (put("params", "estimators"), [Prequential().to_dict()] * 3),
    "params with fewer estimators": (drop("params", "estimators", 0), None),
    "params with no estimators": (put("params", "estimators"), []),
    "params with a number": (put("params", "estimators"), 3),
    "params with the default": (put("params", "estimators"), None),
    "params with a short prior": (put("params", "prior"), [1.0]),
    "params with another horizon": (put("params", "horizon"), 4),
    "params with a bad horizon": (put("params", "horizon"), 0),
}


@pytest.mark.parametrize("name", TORN)
def test_torn_states_are_refused(name: str) -> None:
    est = Ensemble(three(), prior=[1, 1, 2], horizon=3)
    est.replay(*learner_pairs(100))
    document = json.loads(json.dumps(est.to_dict()))
    assert snapshot(Ensemble.from_dict(document)) == snapshot(est)
    tear, value = TORN[name]
    tear(document, value)
    with pytest.raises(StateError):
        Estimator.from_dict(document)


def test_a_member_of_another_kind_is_named() -> None:
    document = Ensemble(three()).to_dict()
    document["state"]["members"][1] = Prequential().to_dict()
    message = r"must hold FadingFactor\(fading=0.9\) where it holds Prequential\(\)"
    with pytest.raises(StateError, match=message):
        Ensemble.from_dict(document)


# What goes wrong easily


@pytest.mark.parametrize("equal", [0, 25, 2000])
def test_a_long_run_of_equal_losses_does_not_freeze_the_weights(equal: int) -> None:
    """A classifier that is always right at first: no noise to begin with is not no noise at all."""
    rng = np.random.default_rng(0)
    level = np.where(np.arange(3000) < 1500, 0.1, 0.6)
    losses = np.concatenate((np.zeros(equal), (rng.random(3000) < level).astype(float)))
    est = Ensemble()
    before = est.weights
    course = est.replay(losses, losses)
    assert np.abs(est.weights - before).max() > 0.1
    assert est.get() == pytest.approx(0.6, abs=0.1)
    off = course.estimate[equal + 1700 :] - 0.6
    assert np.sqrt(np.mean(off**2)) < 0.08


def test_a_noise_level_that_was_far_too_small_is_given_up() -> None:
    rng = np.random.default_rng(0)
    losses = np.concatenate((1e-9 * rng.normal(size=50), rng.normal(size=3000)))
    est = Ensemble()
    est.replay(losses, losses)
    assert 0.3 < est._get_state()["noise"] < 1.5


def test_a_state_that_does_not_fit_changes_nothing() -> None:
    est = Ensemble(three(), horizon=3)
    losses, previous = drifting(60, 2)
    est.replay(losses, previous)
    before = snapshot(est)
    for name, value in (
        ("past", [0.0]),
        ("sums", [0.0]),
        ("weights", [1.0]),
        ("filled", 10**9),
        ("filled", -1),
        ("inside", 10**9),
        ("members", []),
    ):
        with pytest.raises(StateError, match="do not fit each other"):
            est._set_state({**est._get_state(), name: value})
        assert snapshot(est) == before
