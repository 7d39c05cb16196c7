"""A monitor takes samples in the right order, whatever fails, is missing or comes late."""

import copy
import math
import pickle
from collections import Counter
from dataclasses import FrozenInstanceError
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pandas as pd
import pytest

from oeuvre import AdaptiveOeuvre, Ensemble, Estimator, Monitor, Oeuvre, Prequential, Snapshot
from oeuvre.errors import InvalidInput, InvalidLoss, InvalidParameter, NotEnoughData
from tests.conftest import Make

UNTYPED: Any = Monitor
MODES: list[Any] = ["lag", "snapshot"]
BOTH = pytest.mark.parametrize("mode", MODES)
ESTIMATORS: dict[str, Make] = {
    "adaptive": AdaptiveOeuvre,
    "paper": lambda: Oeuvre(burn_in=8),
    "ensemble": Ensemble,
    "average": Prequential,
}
ERRORS: list[type[BaseException]] = [OSError, KeyboardInterrupt]


class Linear:
    """Least squares by gradient descent on labels of -1 and 1; a row, or a batch of them."""

    def __init__(self) -> None:
        self.w, self.t = np.zeros(3), 0
        self.predicted: Any = None

    def evaluate(self, x: Any, y: Any) -> Any:
        score = x @ self.w
        self.predicted = np.where(score > 0, 1.0, -1.0)
        return (score - y) ** 2

    def learn(self, x: Any, y: Any) -> None:
        self.t += 1
        slope = np.atleast_2d(x).T @ np.atleast_1d(x @ self.w - y) / np.size(y)
        self.w = self.w - 0.2 / math.sqrt(self.t) * slope


class Fuse:
    """Blows at some calls of one name; no part of the model, so all copies share it."""

    def __init__(
        self, name: str = "", at: tuple[int, ...] = (), error: type[BaseException] = OSError
    ) -> None:
        self.name, self.at, self.error, self.calls = name, at, error, Counter[str]()

    def __call__(self, name: str) -> None:
        self.calls[name] += 1
        if name == self.name and self.calls[name] in self.at:
            raise self.error("blown")

    def __deepcopy__(self, memo: object) -> "Fuse":
        return self

    def __reduce__(self) -> Any:
        return Fuse, ()


class Failing(Linear):
    """Fails where its fuse blows, before it has done anything or, if `late`, after it."""

    def __init__(self, fuse: Fuse, late: bool = False) -> None:
        super().__init__()
        self.fuse, self.late = fuse, late

    def evaluate(self, x: Any, y: Any) -> Any:
        found = super().evaluate(x, y)
        self.fuse("evaluate")
        return found

    def learn(self, x: Any, y: Any) -> None:
        if self.late:
            super().learn(x, y)
        self.fuse("learn")
        if not self.late:
            super().learn(x, y)


class Recorder:
    """Writes down what it is asked; its loss is the number of samples it has learned."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.learned = 0

    def evaluate(self, x: Any, y: Any) -> float:
        self.calls.append(("evaluate", x))
        return float(self.learned)

    def learn(self, x: Any, y: Any) -> None:
        self.calls.append(("learn", x))
        self.learned += 1

    def fingerprint(self) -> int:
        return self.learned


class Mean:
    """A running mean, which has no answer before it has learned something."""

    def __init__(self) -> None:
        self.n, self.mean = 0, 0.0

    def evaluate(self, x: Any, y: Any) -> float | None:
        return (y - self.mean) ** 2 if self.n else None

    def learn(self, x: Any, y: Any) -> None:
        self.n += 1
        self.mean += (y - self.mean) / self.n


def samples(steps: int = 20, batch: bool = False, seed: int = 0) -> list[tuple[Any, Any]]:
    """Return rows, or batches of 1 to 4 of them, with labels that are noisy signs."""
    rng = np.random.default_rng(seed)
    made: list[tuple[Any, Any]] = []
    for _ in range(steps):
        x = rng.normal(size=(int(rng.integers(1, 5)), 3) if batch else 3)
        y = np.where(x @ [1.0, -0.5, 0.2] + rng.normal(size=x.shape[:-1]) > 0, 1.0, -1.0)
        made.append((x, y if batch else float(y)))
    return made


def row(snapshot: Snapshot) -> tuple[int, float, float, float]:
    return snapshot.n, snapshot.loss, snapshot.previous, snapshot.estimate


def rows(monitor: Monitor, stream: list[tuple[Any, Any]]) -> list[tuple[int, float, float, float]]:
    return [row(found) for found in monitor.run(stream)]


def brute_force(stream: list[tuple[Any, Any]], est: Estimator) -> list[Any]:
    """Copy the model at every step, and score each sample on it and on its copy."""
    model, held, found = Linear(), None, []
    for x, y in stream:
        last = copy.deepcopy(model)
        if held is not None:
            model.learn(*held)
        loss, previous = model.evaluate(x, y), last.evaluate(x, y)
        if np.ndim(loss):
            est.update_many(loss, previous)
            loss, previous = (reduce(add, each.tolist()) / len(each) for each in (loss, previous))
        else:
            est.update(loss, previous)
        found.append((est.n, loss, previous, est.get()))
        held = (x, y)
    return found


# The order of evaluation


def test_a_sample_is_scored_then_the_one_before_is_learned_then_it_is_scored_again() -> None:
    learner = Recorder()
    list(Monitor(learner, guard=0).run([("a", 1), ("b", 1), ("c", 1)]))
    assert learner.calls == [
        ("evaluate", "a"),
        *(("evaluate", "b"), ("learn", "a"), ("evaluate", "b")),
        *(("evaluate", "c"), ("learn", "b"), ("evaluate", "c")),
    ]


def test_with_a_copy_a_sample_is_learned_once_it_was_scored_on_both_models() -> None:
    learner = Recorder()
    found = rows(Monitor(learner, Prequential(), mode="snapshot", guard=0), [("a", 1), ("b", 1)])
    own = [("evaluate", "a"), ("learn", "a"), ("evaluate", "b"), ("learn", "b")]
    assert learner.calls == own
    assert found == [(1, 0.0, 0.0, 0.0), (2, 1.0, 0.0, 0.5)]


def test_a_learner_that_prepares_does_so_in_place_of_the_second_evaluation() -> None:
    class Preparing(Recorder):
        def prepare(self, x: Any, y: Any) -> float:
            self.calls.append(("prepare", x))
            return float(self.learned)

    learner = Preparing()
    found = rows(Monitor(learner, guard=0), [("a", 1), ("b", 1)])
    assert [name for name, _ in learner.calls] == [
        *("evaluate", "prepare"),
        *("evaluate", "learn", "prepare"),
    ]
    assert [each[1:3] for each in found] == [(0.0, 0.0), (1.0, 0.0)]


@BOTH
@pytest.mark.parametrize("batch", [False, True], ids=["rows", "batches"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_pairs_are_those_of_a_model_copied_at_every_step(
    name: str, batch: bool, mode: Any
) -> None:
    stream = samples(40, batch)
    monitor = Monitor(Linear(), ESTIMATORS[name](), mode=mode)
    assert rows(monitor, stream) == brute_force(stream, ESTIMATORS[name]())
    assert (monitor.n, monitor.get()) == (40, monitor.estimator.get())


@BOTH
def test_the_rate_of_the_last_training_step_goes_to_the_estimator(mode: Any) -> None:
    class Rated(Linear):
        @property
        def stability_rate(self) -> float:
            return 1.0 / (1 + self.t)

    stream, given, est = samples(12), Oeuvre(burn_in=4), Oeuvre(burn_in=4)
    found = rows(Monitor(Rated(), given, mode=mode), stream)
    for t, (_, loss, previous, _) in enumerate(found):
        est.update(loss, previous, rate=1.0 / (1 + t) if t else None)
    assert given.to_dict() == est.to_dict()


@pytest.mark.parametrize("batch", [False, True], ids=["rows", "batches"])
def test_quality_sees_the_labels_of_both_models(batch: bool) -> None:
    matrices = []
    for mode in MODES:
        monitor = Monitor(Linear(), mode=mode, quality=True)
        list(monitor.run(samples(30, batch)))
        assert monitor.quality is not None
        assert monitor.quality.n == 30
        matrices.append(monitor.quality.to_dict())
    assert matrices[0] == matrices[1]


# What a step tells


@pytest.mark.parametrize("name", ["adaptive", "paper", "ensemble"])
def test_a_snapshot_keeps_the_interval_of_its_step(name: str) -> None:
    late = list(Monitor(Linear(), ESTIMATORS[name]()).run(samples(40)))
    monitor = Monitor(Linear(), ESTIMATORS[name]())
    known = 0
    for kept, snapshot in zip(late, monitor.run(samples(40)), strict=True):
        interval = monitor.interval()
        assert kept == snapshot
        assert interval == monitor.estimator.interval()
        if kept.interval is None:
            assert math.isinf(interval.upper)
        else:
            known += 1
            assert kept.interval == interval
    assert 30 <= known < 40
    with pytest.raises(FrozenInstanceError):
        late[0].estimate = 0.0  # type: ignore[misc]


@pytest.mark.parametrize("make", [Prequential, lambda: AdaptiveOeuvre(two_gain=True)])
def test_the_snapshot_of_an_average_has_no_interval(make: Make) -> None:
    for snapshot in Monitor(Linear(), make()).run(samples(10)):
        assert snapshot.interval is None


@BOTH
def test_without_a_model_the_first_sample_is_learned_and_not_scored(mode: Any) -> None:
    monitor = Monitor(Mean(), mode=mode)
    first = monitor.update(None, 0.5)
    assert (first.n, first.interval) == (0, None)
    assert math.isnan(first.loss)
    assert math.isnan(first.previous)
    assert math.isnan(first.estimate)
    with pytest.raises(NotEnoughData):
        monitor.get()
    second = monitor.update(None, 1.0)
    assert (second.n, second.loss, second.estimate) == (1, 0.25, 0.25)
    assert math.isnan(second.previous)
    assert row(monitor.update(None, 0.0))[:3] == (2, 0.5625, 0.25)


def test_losses_are_numbers_of_any_library() -> None:
    class Typed(Recorder):
        def __init__(self, loss: Any) -> None:
            super().__init__()
            self.loss = loss

        def evaluate(self, x: Any, y: Any) -> Any:
            return self.loss

    for loss in (2, True, np.float32(2), np.array(2.0), [1.0, 3.0], np.array([1, 3]), (2, 2)):
        snapshot = Monitor(Typed(loss)).update(None, 0)
        assert (snapshot.loss, type(snapshot.loss)) == (1.0 if loss is True else 2.0, float)
    for wrong in ("2", [], np.ones((2, 2)), object(), [1e308, 1e308]):
        monitor = Monitor(Typed(wrong), Prequential(), guard=0)
        with pytest.raises(InvalidLoss):
            monitor.update(None, 0)
        assert monitor.n == 0


# Failures


@BOTH
@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("name", ["evaluate", "learn"])
@pytest.mark.parametrize("batch", [False, True], ids=["rows", "batches"])
def test_after_a_failure_at_any_call_the_same_sample_goes_on(
    batch: bool, name: str, error: type[BaseException], mode: Any
) -> None:
    stream, calm = samples(8, batch), Fuse()
    undisturbed = Monitor(Failing(calm), mode=mode, quality=True, guard=0)
    expected = rows(undisturbed, stream)
    for k in range(1, calm.calls[name] + 1):
        fuse = Fuse(name, (k,), error)
        monitor = Monitor(Failing(fuse), mode=mode, quality=True, guard=0)
        found, failures = [], 0
        for x, y in stream:
            before = monitor.estimator.to_dict(), monitor.quality and monitor.quality.to_dict()
            try:
                snapshot = monitor.update(x, y)
            except error:
                failures += 1
                after = monitor.estimator.to_dict(), monitor.quality and monitor.quality.to_dict()
                assert after == before
                snapshot = monitor.update(x.copy(), copy.copy(y))
            found.append(row(snapshot))
        assert failures == 1
        assert (found, monitor.unseen) == (expected, 0)
        assert monitor.quality is not None
        assert undisturbed.quality is not None
        assert monitor.quality.to_dict() == undisturbed.quality.to_dict()
        assert pickle.dumps(monitor.learner) == pickle.dumps(undisturbed.learner)


@BOTH
@pytest.mark.parametrize("error", ERRORS)
def test_training_that_fails_after_it_has_trained_leaves_the_estimate(
    error: type[BaseException], mode: Any
) -> None:
    stream = samples(8)
    for k in range(1, 8):
        monitor = Monitor(Failing(Fuse("learn", (k,), error), late=True), mode=mode, guard=0)
        failed = k if mode == "lag" else k - 1  # in lag mode the sample before is learned
        list(monitor.run(stream[:failed]))
        before = monitor.estimator.to_dict()
        with pytest.raises(error):
            monitor.update(*stream[failed])
        assert monitor.estimator.to_dict() == before
        assert monitor.update(*samples(1, seed=1)[0]).n == failed + 1


def test_quality_stays_the_same_object_when_a_step_fails() -> None:
    monitor = Monitor(Failing(Fuse("learn", (3,))), mode="snapshot", quality=True, guard=0)
    quality, stream = monitor.quality, samples(3)
    list(monitor.run(stream[:2]))
    with pytest.raises(OSError, match="blown"):
        monitor.update(*stream[2])
    assert monitor.quality is quality


@BOTH
def test_quality_takes_any_label_in_both_modes(mode: Any) -> None:
    class Pairs(Recorder):
        predicted = ("a", 1)

    monitor = Monitor(Pairs(), mode=mode, quality=True)
    list(monitor.run([(0, ("a", 1)), (0, ("b", 2)), (0, ("a", 1))]))
    assert monitor.quality is not None
    assert monitor.quality.labels == [("a", 1), ("b", 2)]


def test_another_sample_after_a_broken_step_has_not_seen_the_model_move() -> None:
    stream = samples(6)
    monitor = Monitor(Failing(Fuse("evaluate", (7,))), guard=0)  # the second time at step 4
    list(monitor.run(stream[:3]))
    with pytest.raises(OSError, match="blown"):
        monitor.update(*stream[3])
    assert monitor.unseen == 0
    snapshot = monitor.update(*stream[4])
    assert (snapshot.n, snapshot.loss, monitor.unseen) == (4, snapshot.previous, 1)
    after = monitor.update(*stream[5])
    assert (after.loss == after.previous, monitor.unseen) == (False, 1)


@pytest.mark.parametrize(("name", "at"), [("evaluate", 7), ("evaluate", 8), ("learn", 4)])
def test_with_a_copy_every_sample_has_seen_the_model_move(name: str, at: int) -> None:
    stream = samples(6)
    monitor = Monitor(Failing(Fuse(name, (at,))), mode="snapshot", guard=0)
    rest = Monitor(Linear(), mode="snapshot", guard=0)
    list(monitor.run(stream[:3]))
    with pytest.raises(OSError, match="blown"):
        list(monitor.run(stream[3:]))
    done = monitor.n
    expected = rows(rest, [*stream[:done], *stream[done + 1 :]])
    assert rows(monitor, stream[done + 1 :]) == expected[done:]
    assert monitor.unseen == 0


def test_before_the_model_has_moved_another_sample_is_as_good() -> None:
    stream = samples(6)
    monitor = Monitor(Failing(Fuse("evaluate", (6,))), guard=0)  # the first time at step 4
    expected = rows(Monitor(Linear()), [*stream[:3], *stream[4:]])
    list(monitor.run(stream[:3]))
    with pytest.raises(OSError, match="blown"):
        monitor.update(*stream[3])
    assert rows(monitor, stream[4:]) == expected[3:]
    assert monitor.unseen == 0


def test_a_sample_that_cannot_be_learned_can_be_given_up() -> None:
    class Choosy(Linear):
        def learn(self, x: Any, y: Any) -> None:
            if y == 13.0:
                raise ValueError("unlucky")
            super().learn(x, y)

    stream = samples(6)
    stream[2] = (stream[2][0], 13.0)
    monitor = Monitor(Choosy())
    assert monitor.discard() is None
    list(monitor.run(stream[:3]))
    before = monitor.estimator.to_dict()
    for _ in range(2):
        with pytest.raises(ValueError, match="unlucky"):
            monitor.update(*stream[3])
    assert monitor.estimator.to_dict() == before
    assert monitor.discard() == stream[2]
    snapshot = monitor.update(*stream[3])
    assert (snapshot.n, snapshot.loss, monitor.unseen) == (4, snapshot.previous, 0)
    list(monitor.run(stream[4:]))
    assert isinstance(monitor.learner, Choosy)
    assert monitor.learner.t == 4


def test_what_is_given_up_is_given_back() -> None:
    monitor, (x, y) = Monitor(Linear()), samples(1)[0]
    monitor.update(x, y)
    assert monitor.discard() == (x, y)
    monitor.flush()
    assert isinstance(monitor.learner, Linear)
    assert monitor.learner.t == 0


# Samples without a label or a loss

MISSING: dict[str, Any] = {
    "none": None,
    "nan": math.nan,
    "numpy nan": np.float32("nan"),
    "in a batch": np.array([1.0, math.nan]),
    "in a batch of objects": np.array([1.0, None], dtype=object),
    "in a series": pd.Series([1.0, math.nan]),
    "in a list": [1.0, None],
    "pandas": pd.NA,
}
X = np.ones(3)
UNUSABLE: dict[str, tuple[Any, Any]] = {
    "nan": (X * math.nan, 1.0),
    "inf": (X, math.inf),
    "batch nan": (np.array([X, X * math.nan]), np.ones(2)),
    "batch inf": (np.array([X, X]), np.array([1.0, math.inf])),
}


@BOTH
@pytest.mark.parametrize("name", MISSING)
def test_a_sample_without_a_label_is_left_out_or_an_error(name: str, mode: Any) -> None:
    stream = samples(6)
    expected = rows(Monitor(Linear()), stream)
    monitor = Monitor(Linear(), mode=mode, skip=True)
    found = rows(monitor, stream[:3])
    empty = monitor.update(X, MISSING[name])
    assert (empty.n, empty.estimate, monitor.skipped) == (3, found[-1][-1], 1)
    assert math.isnan(empty.loss)
    assert found + rows(monitor, stream[3:]) == expected
    strict = Monitor(Linear(), mode=mode)
    list(strict.run(stream[:3]))
    with pytest.raises(InvalidInput, match="(?s)'y' must be a label.*skip=True.*ask and"):
        strict.update(X, MISSING[name])
    assert rows(strict, stream[3:]) == expected[3:]
    assert strict.skipped == 0


@BOTH
@pytest.mark.parametrize("name", UNUSABLE)
def test_a_sample_without_a_finite_loss_is_left_out_or_an_error(name: str, mode: Any) -> None:
    stream = samples(6, "batch" in name)
    expected = rows(Monitor(Linear()), stream)
    monitor = Monitor(Linear(), mode=mode, skip=True)
    assert math.isnan(monitor.update(*UNUSABLE[name]).estimate)
    found = rows(monitor, stream[:3])
    empty = monitor.update(*UNUSABLE[name])
    assert (empty.n, empty.estimate, monitor.skipped) == (3, found[-1][-1], 2)
    assert math.isnan(empty.loss)
    assert found + rows(monitor, stream[3:]) == expected
    assert (monitor.skipped, monitor.unseen) == (2, 0)
    strict = Monitor(Linear(), mode=mode, guard=0)
    list(strict.run(stream[:3]))
    with pytest.raises(InvalidLoss, match=f"(?s)Got {name[-3:]} for x=.*skip=True"):
        strict.update(*UNUSABLE[name])
    assert rows(strict, stream[3:]) == expected[3:]


class Blinking(Recorder):
    """Has no finite loss while it has learned three samples."""

    def evaluate(self, x: Any, y: Any) -> float:
        return math.nan if self.learned == 3 else super().evaluate(x, y)


def test_a_loss_that_goes_bad_with_the_move_leaves_the_move_unseen() -> None:
    monitor = Monitor(Blinking(), skip=True)
    stream = [(each, 1) for each in "abcdef"]
    assert rows(monitor, stream[:3])[-1][:3] == (3, 2.0, 1.0)
    assert monitor.update(*stream[3]).n == 3  # 2.0 before the model moved, NaN after
    assert (monitor.skipped, monitor.unseen) == (1, 0)
    for sample in stream[4:]:
        assert math.isnan(monitor.update(*sample).loss)
    assert monitor.skipped == 3
    monitor.learner.learn("by hand", 1)
    assert row(monitor.update("g", 1))[:3] == (4, 4.0, 4.0)
    assert monitor.unseen == 1
    strict = Monitor(Blinking())
    list(strict.run(stream[:3]))
    before = strict.estimator.to_dict()
    with pytest.raises(InvalidLoss, match="Got nan for x='d'"):
        strict.update(*stream[3])
    assert strict.estimator.to_dict() == before


# The end of a stream


def test_flush_learns_the_last_sample_and_the_next_one_has_not_seen_it() -> None:
    monitor = Monitor(Failing(Fuse("learn", (5,))))
    stream = samples(6)
    list(monitor.run(stream[:5]))
    before = monitor.estimator.to_dict()
    with pytest.raises(OSError, match="blown"):
        monitor.flush()
    for _ in range(2):
        monitor.flush()
        assert isinstance(monitor.learner, Linear)
        assert monitor.learner.t == 5
    assert (monitor.estimator.to_dict(), monitor.unseen) == (before, 0)
    snapshot = monitor.update(*stream[5])
    assert (snapshot.n, snapshot.loss, monitor.unseen) == (6, snapshot.previous, 1)


def test_with_a_copy_there_is_nothing_to_flush() -> None:
    monitor = Monitor(Linear(), mode="snapshot")
    stream = samples(6)
    list(monitor.run(stream[:5]))
    monitor.flush()
    assert isinstance(monitor.learner, Linear)
    assert monitor.learner.t == 5
    assert row(monitor.update(*stream[5])) == rows(Monitor(Linear()), stream)[5]
    assert monitor.unseen == 0


@pytest.mark.parametrize("wrong", [3, (1, 2, 3), None, (1,)])
def test_a_stream_of_something_else_is_an_error_at_that_item(wrong: Any) -> None:
    stream = samples(4)
    monitor = Monitor(Linear())
    with pytest.raises(InvalidInput, match="'stream' must give pairs .x, y.. Got"):
        list(monitor.run([*stream[:2], wrong]))
    assert rows(monitor, stream[2:]) == rows(Monitor(Linear()), stream)[2:]


# Delayed labels


@BOTH
def test_an_answer_is_a_step_at_the_time_it_comes(mode: Any) -> None:
    stream = samples(8)
    monitor = Monitor(Linear(), mode=mode)
    tickets = [monitor.ask(x) for x, _ in stream]
    order = [3, 0, 7, 1, 5]
    assert monitor.waiting == 8
    assert monitor.n == 0
    found = [row(monitor.answer(tickets[i], stream[i][1])) for i in order]
    assert found == rows(Monitor(Linear()), [stream[i] for i in order])
    assert (monitor.waiting, monitor.expired) == (3, 0)
    for wrong in (tickets[3], 99, 0, None, "1"):
        untyped: Any = wrong
        with pytest.raises(InvalidInput, match="'ticket' must be one that waits for its answer"):
            monitor.answer(untyped, 1.0)
    assert (monitor.waiting, monitor.n) == (3, 5)


def test_a_ticket_that_cannot_be_one_is_named() -> None:
    untyped: Any = [1]
    with pytest.raises(InvalidInput, match="'ticket' must be one that waits for its answer"):
        Monitor(Linear()).answer(untyped, 1.0)


def test_too_many_questions_give_up_the_oldest() -> None:
    monitor = Monitor(Linear(), limit=3)
    tickets = [monitor.ask(x) for x, _ in samples(3)]
    monitor.answer(tickets[1], 1.0)
    tickets += [monitor.ask(x) for x, _ in samples(3)]
    assert (monitor.waiting, monitor.expired) == (3, 2)
    with pytest.raises(InvalidInput, match="given up .at most 3 wait."):
        monitor.answer(tickets[2], 1.0)
    assert [monitor.answer(ticket, 1.0).n for ticket in tickets[3:]] == [2, 3, 4]


def test_an_answer_that_fails_can_be_given_again() -> None:
    stream = samples(4)
    monitor = Monitor(Failing(Fuse("evaluate", (5,))), guard=0)
    tickets = [monitor.ask(x) for x, _ in stream]
    found = []
    for ticket, (_, y) in zip(tickets, stream, strict=True):
        with pytest.raises(InvalidInput, match="'y' must be a label"):
            monitor.answer(ticket, None)
        try:
            found.append(row(monitor.answer(ticket, y)))
        except OSError:
            assert monitor.waiting == 4 - len(found)
            found.append(row(monitor.answer(ticket, y)))
    assert found == rows(Monitor(Linear()), stream)
    assert (monitor.waiting, monitor.unseen) == (0, 0)


# Making one


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"learner": 3}, "'learner' .* with 'evaluate' and 'learn'; Monitor.of takes models"),
        ({"estimator": "adaptive"}, "'estimator' .* an estimator, not a class. Got 'adaptive'"),
        ({"mode": "copy"}, "'mode' .* 'lag' or 'snapshot'. Got 'copy'"),
        ({"mode": ["lag"]}, "'mode'"),
        ({"skip": 1}, "'skip' .* True or False"),
        ({"quality": None}, "'quality' .* True or False"),
        ({"learner": Mean(), "quality": True}, "this learner has no 'predicted'"),
        ({"guard": -1}, "'guard' .* an int of at least 0"),
        ({"limit": 0}, "'limit' .* an int of at least 1"),
    ],
)
def test_wrong_parameters_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        UNTYPED(**{"learner": Linear(), **options})


def test_a_learner_is_its_own_adapter() -> None:
    learner, est = Linear(), Prequential()
    monitor = Monitor.of(learner, estimator=est, mode="snapshot")
    assert (monitor.learner, monitor.estimator) == (learner, est)
    assert repr(monitor) == "<Monitor of Linear by Prequential(), n=0>"
    with pytest.raises(InvalidParameter, match="left out: a learner has its own"):
        Monitor.of(learner, "squared")
    for wrong in (3, "model", int):
        with pytest.raises(InvalidParameter, match="'model' parameter of Monitor.of must be"):
            Monitor.of(wrong)


@pytest.mark.parametrize("make", [Monitor, Monitor.of])
def test_a_class_of_learners_is_no_learner(make: Any) -> None:
    with pytest.raises(InvalidParameter, match="must be"):
        make(Linear)


@BOTH
def test_a_pickled_monitor_goes_on(mode: Any) -> None:
    stream = samples(12)
    monitor = Monitor(Linear(), mode=mode, quality=True)
    found = rows(monitor, stream[:3])
    again = pickle.loads(pickle.dumps(monitor))
    assert found + rows(again, stream[3:]) == rows(Monitor(Linear()), stream)
