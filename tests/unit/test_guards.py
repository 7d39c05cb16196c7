"""The first samples are watched for what would make every later number wrong."""

from typing import Any

import numpy as np
import pytest

from oeuvre import Monitor
from oeuvre.errors import InvalidLoss, MonitorWarning
from oeuvre.monitor import guards
from tests.unit.test_monitor import BOTH, ERRORS, Failing, Fuse, Linear, Mean, Recorder, X, samples

NOISE = np.random.default_rng(0)


class Moving(Linear):
    """Learns from what it is only to evaluate."""

    def evaluate(self, x: Any, y: Any) -> Any:
        self.w = self.w + 0.01 * y * x
        return super().evaluate(x, y)


class Noisy(Linear):
    """Is never twice of the same opinion."""

    def evaluate(self, x: Any, y: Any) -> Any:
        return super().evaluate(x, y) + NOISE.random()


class Unpicklable(Linear):
    """Holds what cannot be pickled, so that nobody can tell whether it has changed."""

    def __init__(self) -> None:
        super().__init__()
        self.step = lambda: self.t


class NoisyUnpicklable(Noisy, Unpicklable):
    """Both."""


class MovingUnpicklable(Moving, Unpicklable):
    """Learns from what it is only to evaluate, and holds a function."""


class Sealed:
    """Cannot be looked into at all, and is never twice of the same opinion."""

    __slots__ = ("step",)

    def __init__(self) -> None:
        self.step = lambda: 0

    def evaluate(self, x: Any, y: Any) -> float:
        return float(NOISE.random())

    def learn(self, x: Any, y: Any) -> None:
        """Nothing is learned."""


CHANGES = "Evaluating a sample changes the model. .* eval mode"
RANDOM = "Evaluating the same sample twice gives different losses.* or fix the random state"
UNSTEADY = "either that changes the model, or the prediction is random"
ELSEWHERE = "something else has trained it.* call monitor.update.x, y. and nothing else"
BUFFER = "sample held back is no longer what it was.* give a copy: monitor.update.x.copy"


def feed(monitor: Monitor, steps: int = 8) -> None:
    for x, y in samples(steps):
        monitor.update(x, y)


def feed_and_train(monitor: Monitor, steps: int = 8) -> None:
    for x, y in samples(steps):
        monitor.update(x, y)
        monitor.learner.learn(x, y)


def fill_one_buffer(monitor: Monitor, steps: int = 8) -> None:
    buffer = np.empty(3)
    for x, y in samples(steps):
        buffer[:] = x
        monitor.update(buffer, y)


def change_after_the_step(monitor: Monitor, steps: int = 8) -> None:
    for x, y in samples(steps):
        monitor.update(x, y)
        x.fill(2.0)


def give_one_dict(monitor: Monitor, steps: int = 8) -> None:
    features = {"a": 1.0}
    for _ in range(steps):
        monitor.update(features, 1.0)


MISTAKES: dict[str, tuple[Any, Any, str, list[Any]]] = {
    "evaluation learns": (Moving, feed, CHANGES, ["lag", "snapshot"]),
    "random": (Noisy, feed, RANDOM, ["lag", "snapshot"]),
    "random, not to be looked into": (NoisyUnpicklable, feed, RANDOM, ["lag", "snapshot"]),
    "evaluation learns, with a function": (MovingUnpicklable, feed, CHANGES, ["lag"]),
    "cannot be looked into": (Sealed, feed, UNSTEADY, ["lag"]),
    "trained elsewhere": (Linear, feed_and_train, ELSEWHERE, ["lag", "snapshot"]),
    "trained elsewhere, with a function": (Unpicklable, feed_and_train, ELSEWHERE, ["lag"]),
    "one buffer": (Linear, fill_one_buffer, BUFFER, ["lag"]),
    "one buffer, not to be looked into": (Unpicklable, fill_one_buffer, BUFFER, ["lag"]),
    "changed after the step": (Linear, change_after_the_step, BUFFER, ["lag"]),
    "one dict": (Mean, give_one_dict, BUFFER, ["lag"]),
}
EACH = pytest.mark.parametrize(
    ("name", "mode"), [(name, mode) for name, case in MISTAKES.items() for mode in case[3]]
)


@EACH
def test_each_mistake_is_told_once_with_its_cause_and_a_remedy(name: str, mode: Any) -> None:
    make, act, message, _ = MISTAKES[name]
    with pytest.warns(MonitorWarning, match=f"(?s){message}") as told:
        act(Monitor(make(), mode=mode))
    assert len(told) == 1


def test_the_warning_points_to_the_line_that_made_the_step() -> None:
    with pytest.warns(MonitorWarning) as told:
        fill_one_buffer(Monitor(Linear()))
    assert told[0].filename == __file__


@EACH
def test_a_guard_of_no_samples_is_silent(name: str, mode: Any) -> None:
    make, act, _, _ = MISTAKES[name]
    act(Monitor(make(), mode=mode, guard=0))


@pytest.mark.parametrize("act", [feed_and_train, fill_one_buffer, change_after_the_step])
def test_nothing_is_told_after_the_first_samples(act: Any) -> None:
    monitor = Monitor(Linear(), guard=3)
    feed(monitor, 3)
    act(monitor)
    assert monitor.n == 11


@BOTH
@pytest.mark.parametrize("make", [Linear, Unpicklable, Mean, Recorder])
def test_honest_learners_hear_nothing(make: Any, mode: Any) -> None:
    monitor = Monitor(make(), mode=mode, skip=True)
    for x, y in samples(2):
        monitor.update(x, y)
    monitor.update(X, None)
    monitor.flush()
    ticket = monitor.ask(X)
    monitor.answer(ticket, 1.0)
    monitor.discard()
    for x, y in samples(4, seed=1):
        monitor.update(x.copy(), y)
    assert monitor.n >= 6


@BOTH
@pytest.mark.parametrize("name", ["evaluate", "learn"])
@pytest.mark.parametrize("error", ERRORS)
def test_a_sample_given_again_after_a_failure_is_no_mistake(
    name: str, error: type[BaseException], mode: Any
) -> None:
    calm = Fuse()
    feed(Monitor(Failing(calm), mode=mode), 6)
    for k in range(1, calm.calls[name] + 1):
        fuse = Fuse(name, (k,), error)
        monitor, failures = Monitor(Failing(fuse), mode=mode), 0
        for x, y in samples(6):
            try:
                monitor.update(x, y)
            except error:
                failures += 1
                monitor.update(x, y)
        assert (failures, monitor.n) == (1, 6)


@BOTH
def test_a_sample_after_one_without_a_finite_loss_is_no_mistake(mode: Any) -> None:
    monitor = Monitor(Linear(), mode=mode)
    feed(monitor, 2)
    with pytest.raises(InvalidLoss):
        monitor.update(-X, np.inf)
    feed(monitor, 2)
    assert monitor.n == 4


@BOTH
def test_a_look_at_a_prediction_between_steps_is_no_mistake(mode: Any) -> None:
    monitor = Monitor(Linear(), mode=mode)
    for x, y in samples(4):
        monitor.update(x, y)
        monitor.learner.evaluate(-x, y)
    assert monitor.n == 4


@BOTH
def test_a_guarded_step_evaluates_three_times_and_a_later_one_twice(mode: Any) -> None:
    calls, fuse = [], Fuse()
    monitor = Monitor(Failing(fuse), mode=mode, guard=3)
    for x, y in samples(6):
        before = fuse.calls["evaluate"]
        monitor.update(x, y)
        calls.append(fuse.calls["evaluate"] - before)
    assert calls == [2, 3, 3, 2, 2, 2]


@BOTH
def test_the_guard_changes_no_number(mode: Any) -> None:
    one, two = Monitor(Linear(), mode=mode, guard=0), Monitor(Linear(), mode=mode, guard=20)
    feed(one)
    feed(two)
    assert one.estimator.to_dict() == two.estimator.to_dict()


def test_a_look_that_takes_too_long_is_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    class Large(Linear):
        looks = 0

        def fingerprint(self) -> int:
            self.looks += 1
            return self.looks  # as if it changed all the time

    learner = Large()
    monkeypatch.setattr(guards, "PATIENCE", -1.0)
    feed(Monitor(learner))
    assert learner.looks == 1


def test_a_fingerprint_is_asked_rather_than_the_whole_learner() -> None:
    class Plain(Recorder):
        def fingerprint(self) -> int:
            return 0

    feed_and_train(Monitor(Plain()))
    with pytest.warns(MonitorWarning, match=ELSEWHERE):
        feed_and_train(Monitor(Recorder()))
