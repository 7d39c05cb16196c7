"""Monitors that train a network, beside the same training without one."""

import copy
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

import oeuvre
from oeuvre import AdaptiveOeuvre, Monitor, Oeuvre
from oeuvre.errors import InvalidInput, InvalidLoss, InvalidParameter, MonitorWarning
from oeuvre.learners.networks import LOSSES, per_sample
from oeuvre.learners.torch import TorchLearner

Batch = tuple[torch.Tensor, torch.Tensor]


class Noisy(nn.Module):
    """A module of one's own that looks at its mode."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.layer(x)
        return found + 0.1 * torch.randn_like(found) if self.training else found


def mlp(*layers: nn.Module) -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), *layers, nn.Linear(8, 3))


MODELS: dict[str, Callable[[], nn.Module]] = {
    "mlp": mlp,
    "dropout": lambda: mlp(nn.Dropout(0.5)),
    "batch norm": lambda: mlp(nn.BatchNorm1d(8)),
    "both": lambda: mlp(nn.BatchNorm1d(8), nn.Dropout(0.3)),
    "of one's own": Noisy,
}


def seeded(make: Callable[[], nn.Module]) -> nn.Module:
    torch.manual_seed(1)
    return make()


def data(steps: int, size: int = 6, seed: int = 2) -> list[Batch]:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(steps, size, 4, generator=generator)
    y = (x @ torch.randn(4, 3, generator=generator)).argmax(dim=2)
    return list(zip(x, y, strict=True))


def sgd(model: nn.Module, lr: float = 0.1) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)


def state(model: nn.Module) -> list[Any]:
    return [each.tolist() for each in model.state_dict().values()]


def train(model: nn.Module, optimizer: Any, batches: list[Batch]) -> None:
    for x, y in batches:
        optimizer.zero_grad()
        functional.cross_entropy(model(x), y, reduction="none").mean().backward()
        optimizer.step()


def course(monitor: Monitor, batches: list[Batch]) -> list[tuple[float, float, float]]:
    return [(each.loss, each.previous, each.estimate) for each in monitor.run(batches)]


def mean(found: torch.Tensor) -> float:
    return float(np.add.accumulate(found.detach().numpy().astype(np.float64))[-1]) / len(found)


# Against a loop that copies the model at every step


@pytest.mark.parametrize("mode", ["lag", "snapshot"])
@pytest.mark.parametrize("name", list(MODELS))
def test_every_number_is_that_of_a_loop_that_copies_the_model(name: str, mode: Any) -> None:
    batches = data(40)
    monitored, mine = seeded(MODELS[name]), seeded(MODELS[name])
    monitor = Monitor.of(monitored, optimizer=sgd(monitored), mode=mode)
    torch.manual_seed(5)
    found = course(monitor, batches)
    monitor.flush()
    torch.manual_seed(5)
    optimizer, before, estimator = sgd(mine), copy.deepcopy(mine), AdaptiveOeuvre()
    for (x, y), numbers in zip(batches, found, strict=True):
        mine.eval(), before.eval()
        now, last = (
            functional.cross_entropy(each(x), y, reduction="none") for each in (mine, before)
        )
        mine.train(), before.train()
        estimator.update_many(now.detach().double().numpy(), last.detach().double().numpy())
        assert numbers == (mean(now), mean(last), estimator.get())
        before = copy.deepcopy(mine)
        train(mine, optimizer, [(x, y)])
    assert state(monitored) == state(mine)
    assert len({loss for loss, _, _ in found}) == 40


# Training is the same with a monitor as without


@pytest.mark.parametrize("guard", [0, 5])
@pytest.mark.parametrize("score", [None, "train", "eval"])
@pytest.mark.parametrize("name", list(MODELS))
def test_training_is_the_same_with_a_monitor_to_the_last_bit(
    name: str, score: str | None, guard: int
) -> None:
    batches = data(20)
    monitored, mine = seeded(MODELS[name]), seeded(MODELS[name])
    torch.manual_seed(5)
    train(mine, sgd(mine), batches)
    after = torch.get_rng_state()
    torch.manual_seed(5)
    monitor = Monitor.of(monitored, optimizer=sgd(monitored), score=score, guard=guard)
    course(monitor, batches)
    monitor.flush()
    assert state(monitored) == state(mine)
    assert torch.equal(torch.get_rng_state(), after)
    assert all(layer.training for layer in monitored.modules())


@pytest.mark.parametrize("name", ["dropout", "both", "of one's own"])
def test_both_models_are_scored_with_the_same_dropout(name: str) -> None:
    model = seeded(MODELS[name])
    monitor = Monitor.of(model, optimizer=sgd(model, 0.0), score="train")
    found = course(monitor, data(20))
    assert all(loss == previous for loss, previous, _ in found)


@pytest.mark.parametrize(
    ("make", "score"),
    [
        (mlp, "train"),
        (lambda: mlp(nn.LayerNorm(8)), "train"),
        (MODELS["dropout"], "eval"),
        (MODELS["batch norm"], "eval"),
        (lambda: mlp(nn.RReLU()), "eval"),
        (Noisy, "eval"),
        (lambda: mlp(nn.Dropout(0.5)).eval(), "eval"),
    ],
)
def test_a_network_with_two_modes_is_scored_in_eval_mode(make: Any, score: str) -> None:
    model = seeded(make)
    learner = TorchLearner(model, sgd(model))
    Monitor(learner).update(*data(1)[0])
    assert learner._score == score


class Counting(nn.Module):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        self.calls: list[tuple[bool, bool]] = []

    def forward(self, x: torch.Tensor) -> Any:
        self.calls.append((torch.is_grad_enabled(), self.training))
        return self.model(x)


@pytest.mark.parametrize(
    ("name", "score", "expected"),
    [
        ("mlp", None, [(False, True), (True, True)]),
        ("mlp", "train", [(False, True), (True, True)]),
        ("dropout", "train", [(False, True), (True, True)]),
        ("dropout", None, [(False, False), (True, True), (False, False)]),
        ("mlp", "eval", [(False, False), (True, True), (False, False)]),
    ],
)
def test_a_step_takes_two_passes_or_three(name: str, score: str | None, expected: Any) -> None:
    model = Counting(seeded(MODELS[name]))
    monitor = Monitor.of(model, optimizer=sgd(model), score=score, guard=2)
    batches = data(10)
    course(monitor, batches[:4])
    for batch in batches[4:]:
        model.calls.clear()
        monitor.update(*batch)
        assert model.calls == expected


# Losses


@pytest.mark.parametrize(
    ("name", "outputs", "targets", "expected"),
    [
        ("cross-entropy", (5, 3), "labels", lambda o, y: -o.log_softmax(1)[torch.arange(5), y]),
        ("log", (5,), "bits", lambda o, y: -functional.logsigmoid(torch.where(y == 1, o, -o))),
        (
            "log",
            (5, 1),
            "bits",
            lambda o, y: functional.softplus(torch.where(y > 0, -o, o).view(5)),
        ),
        ("squared", (5,), "values", lambda o, y: functional.mse_loss(o, y, reduction="none")),
        ("squared", (5, 2, 3), "values", lambda o, y: ((o - y) ** 2).mean(dim=(1, 2))),
        ("absolute", (5,), "values", lambda o, y: functional.l1_loss(o, y, reduction="none")),
        ("pinball", (5,), "values", lambda o, y: (o - y).abs() / 2),
        ("hinge", (5,), "bits", lambda o, y: (1 - (2 * y - 1) * o).clamp(min=0)),
        ("hinge", (5,), "signs", lambda o, y: (1 - y * o).clamp(min=0)),
        ("zero-one", (5, 3), "labels", lambda o, y: (o.argmax(1) != y).float()),
        ("zero-one", (5, 1), "bits", lambda o, y: ((o > 0).view(5) != (y > 0).view(5)).float()),
    ],
)
def test_each_loss_by_name_is_what_its_name_says(
    name: str, outputs: Any, targets: str, expected: Any
) -> None:
    said = torch.randn(outputs)
    truths = (
        {
            "labels": torch.tensor([0, 2, 1, 1, 0]),
            "bits": torch.tensor([1, 0, 0, 1, 1]).view(outputs),
            "signs": torch.tensor([1, -1, -1, 1, 1]),
            "values": torch.randn(outputs),
        }
        if outputs in [(5,), (5, 1)]
        else {
            "labels": torch.tensor([0, 2, 1, 1, 0]),
            "values": torch.randn(outputs),
        }
    )
    found = per_sample(LOSSES[name](said, truths[targets]))
    assert found.shape == (5,)
    torch.testing.assert_close(found, expected(said, truths[targets]))


@pytest.mark.parametrize("name", ["squared", "absolute", "log"])
def test_a_column_of_outputs_fits_a_row_of_targets(name: str) -> None:
    outputs, targets = torch.randn(5, 1), torch.tensor([0.0, 1.0, 1.0, 0.0, 1.0])
    assert torch.equal(LOSSES[name](outputs, targets), LOSSES[name](outputs[:, 0], targets))


def test_outputs_that_would_be_broadcast_are_refused() -> None:
    model = nn.Linear(4, 1)
    monitor = Monitor.of(model, "squared", optimizer=sgd(model))
    with pytest.raises(InvalidInput, match=r"Targets must have the shape.*\(6, 1\). Got \(6, 2\)"):
        monitor.update(torch.randn(6, 4), torch.randn(6, 2))
    assert monitor.n == 0


def test_a_loss_that_is_a_mean_is_one_loss() -> None:
    one, two = seeded(mlp), seeded(mlp)
    single = Monitor.of(one, nn.CrossEntropyLoss(), optimizer=sgd(one))
    each = Monitor.of(two, nn.CrossEntropyLoss(reduction="none"), optimizer=sgd(two))
    batches = data(20)
    found, expected = course(single, batches), course(each, batches)
    assert np.array(found)[:, :2] == pytest.approx(np.array(expected)[:, :2], rel=1e-6)
    for left, right in zip(one.parameters(), two.parameters(), strict=True):
        torch.testing.assert_close(left, right)


@pytest.mark.parametrize("width", [1, 2])
def test_several_losses_of_a_sample_count_as_their_mean(width: int) -> None:
    torch.manual_seed(1)
    one = nn.Linear(4, width)
    two = copy.deepcopy(one)
    each = Monitor.of(one, nn.MSELoss(reduction="none"), optimizer=sgd(one))
    named = Monitor.of(two, "squared", optimizer=sgd(two))
    batches = [(x, x[:, :width] - y[:, None]) for x, y in data(20)]
    assert course(each, batches) == course(named, batches)
    assert state(one) == state(two)


def test_a_label_for_each_pixel_makes_one_loss_for_each_image() -> None:
    model = nn.Conv2d(2, 3, 1)
    monitor = Monitor.of(model, optimizer=sgd(model))
    images, labels = torch.randn(4, 2, 5, 5), torch.randint(3, (4, 5, 5))
    expected = functional.cross_entropy(model(images), labels).item()
    assert monitor.update(images, labels).loss == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("name", ["mlp", "both"])
def test_a_network_of_doubles_is_scored_in_doubles(name: str) -> None:
    model = seeded(MODELS[name]).double()
    learner = TorchLearner(model, sgd(model))
    x, y = data(1)[0]
    found = learner.evaluate(x.double(), y)
    with torch.no_grad():
        model.eval()
        expected = functional.cross_entropy(model(x.double()), y, reduction="none")
    assert found.tolist() == expected.tolist()
    assert any(each != float(np.float32(each)) for each in found)


# Ways to train


@pytest.mark.parametrize("name", list(MODELS))
def test_it_works_in_bfloat16(name: str) -> None:
    batches = data(20)
    monitored, mine = seeded(MODELS[name]), seeded(MODELS[name])
    torch.manual_seed(5)
    optimizer = sgd(mine)
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = functional.cross_entropy(mine(x), y, reduction="none")
        loss.float().mean().backward()
        optimizer.step()
    torch.manual_seed(5)
    autocast = torch.autocast("cpu", torch.bfloat16)
    monitor = Monitor.of(monitored, optimizer=sgd(monitored), autocast=autocast)
    found = course(monitor, batches)
    monitor.flush()
    assert state(monitored) == state(mine)
    assert all(np.isfinite(each).all() for each in found[1:])


def test_accumulation_clipping_and_scaling_are_for_the_step() -> None:
    batches = data(21)
    monitored, mine = seeded(mlp), seeded(mlp)

    def stepper(model: nn.Module) -> tuple[Any, Callable[[Any], None]]:
        optimizer, scaler = sgd(model), torch.amp.GradScaler("cpu")
        calls = []

        def step(loss: Any) -> None:
            calls.append(loss.detach())
            scaler.scale(loss / 3).backward()
            if len(calls) % 3 == 0:
                scaler.unscale_(optimizer)
                nn.utils.clip_grad_norm_(model.parameters(), 0.5)
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad()

        return calls, step

    calls, step = stepper(monitored)
    monitor = Monitor.of(monitored, step=step, measure_change=True, estimator=Oeuvre())
    rates = []
    for batch in batches:
        monitor.update(*batch)
        rates.append(monitor.learner.stability_rate)  # type: ignore[attr-defined]
    monitor.flush()
    _, by_hand = stepper(mine)
    for x, y in batches:
        by_hand(functional.cross_entropy(mine(x), y, reduction="none").mean())
    assert state(monitored) == state(mine)
    assert len(calls) == 21
    assert rates[:3] == [None, 0.0, 0.0]
    assert [rate > 0.0 for rate in rates[3:6]] == [True, False, False]


class Recording(Oeuvre, abstract=True):
    """An estimator that remembers the rates it was given."""

    __slots__ = ("rates",)

    def _update_batch(self, loss: Any, previous: Any, rate: Any, size: Any) -> Any:
        self.rates = [*getattr(self, "rates", []), rate]
        return super()._update_batch(loss, previous, rate, size)


@pytest.mark.parametrize("mode", ["lag", "snapshot"])
def test_the_largest_change_of_a_parameter_is_the_rate(mode: Any) -> None:
    batches = data(12)
    monitored, mine = seeded(mlp), seeded(mlp)
    changes, optimizer = [], sgd(mine)
    for batch in batches[:-1]:
        before = copy.deepcopy(mine)
        train(mine, optimizer, [batch])
        pairs = zip(mine.parameters(), before.parameters(), strict=True)
        changes.append(max(float((one - two).detach().abs().max()) for one, two in pairs))
    estimator = Recording(b=1.0, c=1.0)
    monitor = Monitor.of(
        monitored, estimator=estimator, optimizer=sgd(monitored), measure_change=True, mode=mode
    )
    found = course(monitor, batches)
    assert estimator.rates == [None, *changes]
    plain = Oeuvre(b=1.0, c=1.0)
    rows = zip(found, [None, *changes], strict=True)
    for (loss, previous, estimate), rate in rows:
        plain._update_batch(loss, previous, rate, 6.0)
        assert estimate == plain.get()


# Errors


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({}, "'optimizer'.* must be a torch.optim.Optimizer, unless 'step'"),
        ({"optimizer": 0.1}, "'optimizer'.* must be a torch.optim.Optimizer"),
        ({"step": 3}, "'step'.* must be a function of the mean loss"),
        ({"score": "both"}, "'score'.* must be None, 'eval' or 'train'"),
        ({"loss": "zero-one"}, "'loss'.* must be one of 'cross-entropy', 'log'"),
        ({"loss": "unheard-of"}, "'loss'.* must be one of 'cross-entropy'"),
        ({"loss": oeuvre.losses.squared}, "'loss'.* must be one of 'cross-entropy'"),
        ({"loss": nn.MSELoss}, "'loss'.* must be one of 'cross-entropy'"),
        ({"measure_change": "yes"}, "'measure_change'"),
    ],
)
def test_wrong_arguments_are_refused(options: Any, match: str) -> None:
    model = mlp()
    given = {"optimizer": sgd(model)} if "loss" in options or "score" in options else {}
    if "measure_change" in options:
        given = {"optimizer": sgd(model)}
    with pytest.raises(InvalidParameter, match=match):
        TorchLearner(model, **given | options)


@pytest.mark.parametrize("name", ["mlp", "dropout"])
@pytest.mark.parametrize("mode", ["lag", "snapshot"])
def test_a_step_that_raises_can_be_tried_again(name: str, mode: Any) -> None:
    batches = data(10)
    monitored, mine = seeded(MODELS[name]), seeded(MODELS[name])
    optimizer, broken = sgd(monitored), [4, 7]

    def step(loss: Any) -> None:
        if broken and monitor.n == broken[0]:
            broken.pop(0)
            raise RuntimeError("out of memory")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    monitor = Monitor.of(monitored, step=step, mode=mode, guard=0)
    steady = Monitor.of(mine, optimizer=sgd(mine), mode=mode, guard=0)
    torch.manual_seed(5)
    found, failures = [], 0
    for batch in batches:
        before = (monitor.n, monitor.get() if monitor.n else None, torch.get_rng_state())
        try:
            snapshot = monitor.update(*batch)
        except RuntimeError:
            failures += 1
            assert (monitor.n, monitor.get()) == before[:2]
            torch.set_rng_state(before[2])  # what the broken step has drawn, for the same course
            snapshot = monitor.update(*batch)
        found.append((snapshot.loss, snapshot.previous, snapshot.estimate))
    torch.manual_seed(5)
    assert failures == 2
    assert found == course(steady, batches)
    assert state(monitored) == state(mine)


def test_a_loss_that_is_not_finite_is_refused_or_left_out() -> None:
    batches = data(10)
    model = seeded(mlp)
    monitor = Monitor.of(model, optimizer=sgd(model))
    course(monitor, batches[:3])
    bad = torch.full((6, 4), math.inf), batches[3][1]
    with pytest.raises(InvalidLoss, match="The loss of a sample must be finite. Got nan"):
        monitor.update(*bad)
    assert monitor.update(*batches[3]).n == 4
    other = seeded(mlp)
    skipping = Monitor.of(other, optimizer=sgd(other), skip=True)
    course(skipping, [*batches[:3], bad, batches[3]])
    assert (skipping.skipped, skipping.get()) == (1, monitor.get())
    assert state(model) == state(other)


# Quality


@pytest.mark.parametrize("name", ["mlp", "dropout"])
@pytest.mark.parametrize("mode", ["lag", "snapshot"])
def test_the_quality_of_a_network_that_stands_still_is_its_accuracy(name: str, mode: Any) -> None:
    batches = data(40)
    model = seeded(MODELS[name])
    monitor = Monitor.of(model, optimizer=sgd(model, 0.0), quality=True, mode=mode)
    course(monitor, batches)
    model.eval()
    right = [float((model(x).argmax(1) == y).double().mean()) for x, y in batches]
    assert monitor.quality is not None
    assert monitor.quality.accuracy == pytest.approx(float(np.mean(right)), abs=1e-12)
    assert set(monitor.quality.labels) == {0, 1, 2}


def test_the_quality_of_one_logit_is_that_of_its_sign() -> None:
    model = nn.Linear(4, 1)
    monitor = Monitor.of(model, "log", optimizer=sgd(model, 0.0), quality=True)
    batches = [(x, (y > 0).float()) for x, y in data(30)]
    course(monitor, batches)
    right = [float(((model(x)[:, 0] > 0) == (y > 0)).double().mean()) for x, y in batches]
    assert monitor.quality is not None
    assert monitor.quality.accuracy == pytest.approx(float(np.mean(right)), abs=1e-12)


# The guard


class Naive:
    """A learner of one's own, around a network in whatever mode it is."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.optimizer = sgd(model)

    def evaluate(self, x: Any, y: Any) -> Any:
        with torch.no_grad():
            return functional.cross_entropy(self.model(x), y, reduction="none").double().numpy()

    def learn(self, x: Any, y: Any) -> None:
        train(self.model, self.optimizer, [(x, y)])


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("dropout", "Evaluating the same sample twice gives different losses.*random"),
        ("batch norm", "Evaluating a sample changes the model.*BatchNorm"),
    ],
)
def test_a_network_scored_in_train_mode_is_noticed(name: str, match: str) -> None:
    monitor = Monitor(Naive(seeded(MODELS[name])))
    with pytest.warns(MonitorWarning, match=match):
        course(monitor, data(6))


def test_a_network_without_modes_is_not_warned_about() -> None:
    assert len(course(Monitor(Naive(seeded(mlp)), guard=10), data(10))) == 10


@pytest.mark.parametrize("score", [None, "eval"])
def test_a_network_that_is_trained_by_hand_too_is_noticed(score: str | None) -> None:
    model = seeded(mlp)
    monitor = Monitor.of(model, optimizer=sgd(model), score=score)
    batches = data(3)
    monitor.update(*batches[0])
    train(model, sgd(model), batches[:1])
    with pytest.warns(MonitorWarning, match="model changed between two steps"):
        monitor.update(*batches[1])


def test_a_tensor_that_is_filled_again_is_noticed() -> None:
    model = seeded(mlp)
    monitor = Monitor.of(model, optimizer=sgd(model), score="eval")
    (x, y), (later, labels) = data(2)
    monitor.update(x, y)
    x.copy_(later)
    with pytest.warns(MonitorWarning, match="The sample held back is no longer what it was"):
        monitor.update(later, labels)


# Saving


@pytest.mark.parametrize(("name", "score"), [("mlp", None), ("mlp", "eval"), ("both", "eval")])
@pytest.mark.parametrize("measure", [False, True])
def test_a_saved_training_goes_on_where_it_was(
    name: str, score: str | None, measure: bool, tmp_path: Path
) -> None:
    batches = data(30)
    whole = seeded(MODELS[name])
    options: dict[str, Any] = {"measure_change": measure, "score": score}
    through = Monitor.of(whole, estimator=Oeuvre(), optimizer=sgd(whole), **options)
    expected = course(through, batches)
    through.flush()
    half = seeded(MODELS[name])
    optimizer = sgd(half)
    monitor = Monitor.of(half, estimator=Oeuvre(), optimizer=optimizer, **options)
    found = course(monitor, batches[:14])
    oeuvre.save(monitor, tmp_path / "monitor.json")
    parts = {"model": half.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(parts | {"random": torch.get_rng_state()}, tmp_path / "training.pt")

    fresh = MODELS[name]()
    optimizer = sgd(fresh)
    kept = torch.load(tmp_path / "training.pt", weights_only=True)
    fresh.load_state_dict(kept["model"])
    optimizer.load_state_dict(kept["optimizer"])
    torch.set_rng_state(kept["random"])
    learner = TorchLearner(fresh, optimizer, **options)
    resumed = Monitor.load(tmp_path / "monitor.json", learner)
    found += course(resumed, batches[14:])
    resumed.flush()
    assert found == expected
    assert state(fresh) == state(whole)
