"""A validation loss around each step of an optimizer, beside a loop that copies the model."""

import copy
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from oeuvre import AdaptiveOeuvre, Oeuvre
from oeuvre.errors import (
    InvalidInput,
    InvalidLoss,
    InvalidParameter,
    MonitorWarning,
    NotEnoughData,
)
from oeuvre.learners.torch import Validation

Batch = tuple[torch.Tensor, torch.Tensor]


def network() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.4), nn.Linear(8, 3)
    )


def data(steps: int, size: int = 6, seed: int = 2) -> list[Batch]:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(steps, size, 4, generator=generator)
    y = (x @ torch.randn(4, 3, generator=generator)).argmax(dim=2)
    return list(zip(x, y, strict=True))


TRAINING, FRESH = data(40, 8, 3), data(40, 5, 4)


def sgd(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def step(model: nn.Module, optimizer: Any, batch: Batch) -> None:
    optimizer.zero_grad()
    functional.cross_entropy(model(batch[0]), batch[1]).backward()
    optimizer.step()


def state(model: nn.Module) -> list[Any]:
    return [each.tolist() for each in model.state_dict().values()]


def losses_of(model: nn.Module, batch: Batch) -> list[float]:
    twin = copy.deepcopy(model).eval()
    with torch.no_grad():
        found = functional.cross_entropy(twin(batch[0]), batch[1], reduction="none")
    return [float(each) for each in found]


def mean(losses: list[float]) -> float:
    return float(np.add.accumulate(losses)[-1]) / len(losses)


@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("optimizer_of", [sgd, lambda m: torch.optim.Adam(m.parameters(), 0.01)])
def test_every_number_is_that_of_a_loop_that_copies_the_model(
    every: int, optimizer_of: Callable[[nn.Module], Any]
) -> None:
    model = network()
    optimizer = optimizer_of(model)
    validation = Validation(model, iter(FRESH), every=every).attach(optimizer)
    by_hand, before = AdaptiveOeuvre(), copy.deepcopy(model)
    for t, batch in enumerate(TRAINING[:39]):
        if t % every == 0:
            before = copy.deepcopy(model)
        step(model, optimizer, batch)
        if t % every == every - 1:
            now, last = (losses_of(each, FRESH[t // every]) for each in (model, before))
            by_hand.update_many(now, last)
            snapshot = validation.snapshot
            assert (snapshot.loss, snapshot.previous) == (mean(now), mean(last))
            assert snapshot.estimate == validation.get() == by_hand.get()
        assert validation.n == (t + 1) // every


def test_training_is_the_same_with_it_to_the_last_bit() -> None:
    watched, mine = network(), network()
    torch.manual_seed(5)
    optimizer = sgd(mine)
    for batch in TRAINING:
        step(mine, optimizer, batch)
    after = torch.get_rng_state()
    torch.manual_seed(5)
    optimizer = sgd(watched)
    validation = Validation(watched, FRESH, measure_change=True).attach(optimizer)
    for batch in TRAINING:
        step(watched, optimizer, batch)
    assert validation.n == len(TRAINING)
    assert state(watched) == state(mine)
    assert torch.equal(torch.get_rng_state(), after)
    for one, two in zip(watched.parameters(), mine.parameters(), strict=True):
        assert torch.equal(one.grad, two.grad)  # type: ignore[arg-type]


def test_each_layer_keeps_its_own_mode() -> None:
    model = network()
    model[1].eval()  # type: ignore[index]  # frozen statistics
    modes = [layer.training for layer in model.modules()]
    assert len(set(modes)) == 2
    seen = []
    model[4].register_forward_hook(  # type: ignore[index]
        lambda *_: seen.append([layer.training for layer in model.modules()])
    )
    validation = Validation(model, FRESH)
    validation.begin()
    for _ in range(3):
        validation.step()
        assert [layer.training for layer in model.modules()] == modes
    assert seen == [[False] * 6] * 7


def test_modes_are_put_back_when_the_network_raises() -> None:
    model = network()
    validation = Validation(model, [(torch.randn(5, 7), FRESH[0][1])])
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        validation.begin()
    assert all(layer.training for layer in model.modules())


def test_accumulated_gradients_make_one_step() -> None:
    model = network()
    optimizer = sgd(model)
    validation = Validation(model, FRESH).attach(optimizer)
    for t, (x, y) in enumerate(TRAINING[:12], start=1):
        functional.cross_entropy(model(x), y).backward()
        if t % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()
        assert validation.n == t // 4


def test_a_step_that_a_scaler_leaves_out_is_no_step() -> None:
    model = network()
    optimizer = sgd(model)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    drawn: list[int] = []

    def draw() -> Iterator[Batch]:
        for i, batch in enumerate(FRESH):
            drawn.append(i)
            yield batch

    validation = Validation(model, draw()).attach(optimizer)
    counts = []
    for t, (x, y) in enumerate(TRAINING[:10]):
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x), y)
        scaler.scale(loss * (math.inf if t in (3, 4) else 1.0)).backward()
        scaler.step(optimizer)
        scaler.update()
        counts.append(validation.n)
    assert counts == [1, 2, 3, 3, 3, 4, 5, 6, 7, 8]
    assert len(drawn) == 9  # one is under way
    assert scaler.get_scale() == 1.0


def test_a_closure_that_scores_several_times_is_one_step() -> None:
    model = nn.Linear(4, 3)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)
    validation = Validation(model, FRESH).attach(optimizer)
    x, y = TRAINING[0]

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x), y)
        loss.backward()
        return loss

    before = losses_of(model, FRESH[0])
    optimizer.step(closure)
    assert (validation.n, validation.snapshot.previous) == (1, mean(before))
    assert validation.snapshot.loss == mean(losses_of(model, FRESH[0]))


def test_two_optimizers_make_two_steps() -> None:
    model = network()
    optimizers = [torch.optim.SGD(model[i].parameters(), 0.1) for i in (0, 4)]  # type: ignore[index]
    validation = Validation(model, FRESH).attach(*optimizers)
    for batch in TRAINING[:5]:
        functional.cross_entropy(model(batch[0]), batch[1]).backward()
        for optimizer in optimizers:
            optimizer.step()
    assert validation.n == 10


def test_what_can_be_gone_through_again_is_begun_again() -> None:
    model = network()
    dataset = torch.utils.data.TensorDataset(*FRESH[0])
    loader = torch.utils.data.DataLoader(dataset, batch_size=2, shuffle=True)
    optimizer = sgd(model)
    validation = Validation(model, loader).attach(optimizer)
    for batch in TRAINING[:10]:  # there are but three batches
        step(model, optimizer, batch)
    assert validation.n == 10


def test_batches_in_a_fixed_order_are_warned_about() -> None:
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*FRESH[0]))
    with pytest.warns(MonitorWarning, match="fixed order.*shuffle=True"):
        Validation(network(), loader)


def test_an_iterator_that_ends_is_an_error() -> None:
    model = network()
    optimizer = sgd(model)
    validation = Validation(model, iter(FRESH[:2])).attach(optimizer)
    for batch in TRAINING[:2]:
        step(model, optimizer, batch)
    before = validation.get()
    with pytest.raises(NotEnoughData, match="no batches are left.*DataLoader"):
        step(model, optimizer, TRAINING[2])
    assert (validation.n, validation.get()) == (2, before)
    validation.detach()
    step(model, optimizer, TRAINING[2])


def test_no_batches_at_all_are_an_error() -> None:
    model = network()
    optimizer = sgd(model)
    Validation(model, []).attach(optimizer)
    with pytest.raises(NotEnoughData, match="no batches are left"):
        step(model, optimizer, TRAINING[0])


def test_attached_twice_it_takes_each_step_once() -> None:
    model = network()
    optimizer = sgd(model)
    validation = Validation(model, FRESH).attach(optimizer).attach(optimizer)
    step(model, optimizer, TRAINING[0])
    assert validation.n == 1


def test_detached_it_leaves_the_optimizer_alone() -> None:
    model = network()
    optimizer = sgd(model)
    validation = Validation(model, FRESH).attach(optimizer)
    step(model, optimizer, TRAINING[0])
    validation.detach()
    step(model, optimizer, TRAINING[1])
    assert validation.n == 1
    validation.attach(optimizer)
    step(model, optimizer, TRAINING[2])
    assert validation.n == 2


def test_a_loss_that_is_not_finite_is_an_error_or_left_out_and_counted() -> None:
    bad = torch.full((5, 4), math.nan), FRESH[0][1]
    batches = [FRESH[0], bad, FRESH[1]]
    model, other = network(), network()
    optimizers = sgd(model), sgd(other)
    strict = Validation(model, batches).attach(optimizers[0])
    skipping = Validation(other, batches, skip=True).attach(optimizers[1])
    torch.manual_seed(5)
    step(model, optimizers[0], TRAINING[0])
    with pytest.raises(InvalidLoss, match="finite"):
        step(model, optimizers[0], TRAINING[1])
    assert (strict.n, strict.snapshot.n) == (1, 1)
    torch.manual_seed(5)
    for batch in TRAINING[:2]:
        step(other, optimizers[1], batch)
    assert state(model) == state(other)  # the step was taken, though not scored
    torch.manual_seed(6)
    step(model, optimizers[0], TRAINING[2])
    torch.manual_seed(6)
    step(other, optimizers[1], TRAINING[2])
    assert (skipping.n, skipping.skipped) == (2, 1)
    assert strict.n == 2  # the bad batch is gone


@pytest.mark.parametrize("every", [1, 2])
def test_the_largest_change_of_a_parameter_is_the_rate(every: int) -> None:
    model = network()
    optimizer = sgd(model)
    options: dict[str, Any] = {"every": every, "measure_change": True}
    validation = Validation(model, FRESH, estimator=Oeuvre(b=1.0, c=1.0), **options)
    validation.attach(optimizer)
    by_hand = Oeuvre(b=1.0, c=1.0)
    for t in range(0, 20, every):
        before = copy.deepcopy(model)
        for batch in TRAINING[t : t + every]:
            step(model, optimizer, batch)
        pairs = zip(model.parameters(), before.parameters(), strict=True)
        rate = max(float((one - two).detach().abs().max()) for one, two in pairs)
        found = validation.snapshot
        by_hand._update_batch(found.loss, found.previous, rate, 5.0)
        assert validation.get() == by_hand.get()
        assert validation.estimator.variance == by_hand.variance
    assert validation.n == 20 // every


def test_a_first_step_has_two_losses_in_its_snapshot() -> None:
    model = network()
    optimizer = sgd(model)
    validation = Validation(model, FRESH).attach(optimizer)
    assert math.isnan(validation.snapshot.estimate)
    step(model, optimizer, TRAINING[0])
    assert validation.snapshot.previous != validation.snapshot.loss
    assert validation.snapshot.estimate == validation.snapshot.loss


@pytest.mark.parametrize("loss", ["zero-one", "hinge", "log", "squared", "function"])
def test_every_loss_serves(loss: str) -> None:
    model = nn.Linear(4, 1)
    x, bits = FRESH[0][0], torch.tensor([0.0, 1.0, 1.0, 0.0, 1.0])
    cost: Any = (lambda out, y: (out[:, 0] - y).abs()) if loss == "function" else loss
    validation = Validation(model, [(x, bits)], cost)
    validation.begin()
    out = model(x)[:, 0].detach()
    expected: dict[str, Any] = {
        "zero-one": ((out > 0) != (bits > 0)).float(),
        "hinge": (1 - (2 * bits - 1) * out).clamp(min=0),
        "log": functional.binary_cross_entropy_with_logits(out, bits, reduction="none"),
        "squared": (out - bits) ** 2,
        "function": (out - bits).abs(),
    }
    assert validation.step().loss == pytest.approx(float(expected[loss].mean()), rel=1e-6)


def test_several_losses_of_a_sample_count_as_one_sample() -> None:
    x, y = FRESH[0][0], torch.randn(5, 3)
    found = []
    for loss in ("squared", nn.MSELoss(reduction="none")):
        model = network()
        optimizer = sgd(model)
        estimator = Oeuvre(b=1.0, c=1.0)
        Validation(model, [(x, y)], loss, estimator).attach(optimizer)
        torch.manual_seed(5)
        for batch in TRAINING[:10]:
            step(model, optimizer, batch)
        found.append((estimator.get(), estimator.variance))
    assert found[0] == pytest.approx(found[1], rel=1e-6)


def test_it_works_in_bfloat16() -> None:
    model = network()
    optimizer = sgd(model)
    autocast = torch.autocast("cpu", torch.bfloat16)
    validation = Validation(model, FRESH, autocast=autocast).attach(optimizer)
    step(model, optimizer, TRAINING[0])
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        logits = copy.deepcopy(model).eval()(FRESH[0][0])
        expected = functional.cross_entropy(logits, FRESH[0][1]).item()
    assert logits.dtype == torch.bfloat16
    assert validation.snapshot.loss == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"model": 3}, "'model'.* must be a torch.nn.Module"),
        ({"batches": 3}, "'batches'.* must be pairs of inputs and targets"),
        ({"loss": "unheard-of"}, "'loss'.* must be one of 'cross-entropy'.*'zero-one'"),
        ({"estimator": "adaptive"}, "'estimator'.* must be an estimator"),
        ({"every": 0}, "'every'"),
        ({"measure_change": 1}, "'measure_change'"),
        ({"skip": None}, "'skip'"),
    ],
)
def test_wrong_arguments_are_refused(options: Any, match: str) -> None:
    with pytest.raises(InvalidParameter, match=match):
        Validation(**{"model": network(), "batches": FRESH} | options)


def test_only_optimizers_can_be_attached_to() -> None:
    model = network()
    optimizer = sgd(model)
    schedule = torch.optim.lr_scheduler.ConstantLR(optimizer)
    validation = Validation(model, FRESH)
    with pytest.raises(InvalidParameter, match="'optimizers'.* must be PyTorch optimizers"):
        validation.attach(optimizer, schedule)
    optimizer.step()
    assert validation.n == 0  # all or none


@pytest.mark.parametrize("batch", [3, (1, 2, 3), torch.zeros(5, 4)])
def test_batches_that_are_no_pairs_are_refused(batch: Any) -> None:
    with pytest.raises(InvalidInput, match="'batches' must give pairs of inputs and targets"):
        Validation(network(), [batch]).begin()


def test_an_end_without_a_beginning_is_an_error() -> None:
    with pytest.raises(NotEnoughData, match=r"begin\(\) was not called"):
        Validation(network(), FRESH).step()
