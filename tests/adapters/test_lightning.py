"""Lightning's trainer with the callback, on a tiny network."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from torch.utils.data import DataLoader, TensorDataset

from oeuvre import AdaptiveOeuvre, Oeuvre, Prequential, rates
from oeuvre.errors import InvalidParameter, NotSerializable
from oeuvre.learners.lightning import ValidationCallback

pytestmark = [
    pytest.mark.filterwarnings(
        "ignore:`isinstance.treespec, LeafSpec.` is deprecated:FutureWarning"
    ),
]


def table(size: int, seed: int) -> TensorDataset:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(size, 3, generator=generator)
    y = x.sum(dim=1, keepdim=True) + 0.5 * torch.randn(size, 1, generator=generator)
    return TensorDataset(x, y)


def fresh() -> Any:
    """Batches that touch no random state."""
    return list(DataLoader(table(64, 1), batch_size=8))


class Tiny(LightningModule):
    def __init__(self, lr: float = 0.05) -> None:
        super().__init__()
        self.lr = lr
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(3, 6), torch.nn.BatchNorm1d(6), torch.nn.Dropout(0.2)
        )
        self.last = torch.nn.Linear(6, 1)
        self.dtypes: set[torch.dtype] = set()

    def forward(self, x: Any) -> Any:
        found = self.last(self.layers(x))
        if not self.training:
            self.dtypes.add(found.dtype)
        return found

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        x, y = batch
        return torch.nn.functional.mse_loss(self(x), y)

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=self.lr)


def trained(
    *callbacks: Callback,
    folder: Path,
    epochs: int = 2,
    lr: float = 0.05,
    ckpt: Any = None,
    **options: Any,
) -> tuple[Trainer, Tiny]:
    torch.manual_seed(3)
    model = Tiny(lr)
    trainer = Trainer(
        accelerator="cpu",
        max_epochs=epochs,
        logger=False,
        enable_checkpointing=any(isinstance(each, ModelCheckpoint) for each in callbacks),
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
        log_every_n_steps=1,
        callbacks=list(callbacks),
        **options,
    )
    trainer.fit(model, DataLoader(table(80, 2), batch_size=8, shuffle=True), ckpt_path=ckpt)
    return trainer, model


class Notes(Callback):
    """What the trainer knows after each batch; it must come after the callback."""

    def __init__(self) -> None:
        self.kept: list[dict[str, float]] = []

    def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
        found = trainer.callback_metrics
        self.kept.append({name: float(value) for name, value in found.items()})


def test_the_estimate_and_its_interval_are_logged_after_each_step(tmp_path: Path) -> None:
    callback, notes = ValidationCallback(fresh(), "squared"), Notes()
    trainer, _ = trained(callback, notes, folder=tmp_path)
    assert callback.validation is not None
    assert callback.validation.n == trainer.global_step == 20
    snapshot = callback.validation.snapshot
    found = trainer.callback_metrics
    assert float(found["val_oeuvre"]) == pytest.approx(snapshot.estimate, rel=1e-6)
    assert snapshot.interval is not None
    assert float(found["val_oeuvre_lower"]) == pytest.approx(snapshot.interval.lower, rel=1e-5)
    assert float(found["val_oeuvre_upper"]) == pytest.approx(snapshot.interval.upper, rel=1e-5)
    assert "val_oeuvre" in notes.kept[0]
    assert "val_oeuvre_lower" not in notes.kept[0]  # nothing is known of the variance yet
    assert len({each["val_oeuvre"] for each in notes.kept}) == 20


def test_the_estimate_is_near_the_loss_on_much_data(tmp_path: Path) -> None:
    estimates = []
    for seed in range(5):  # other validation batches, the same training
        drawn = torch.Generator().manual_seed(seed)
        batches = DataLoader(table(400, 1), batch_size=20, shuffle=True, generator=drawn)
        callback = ValidationCallback(batches, "squared", AdaptiveOeuvre())
        _, model = trained(callback, folder=tmp_path, epochs=4)
        assert callback.validation is not None
        estimates.append(callback.validation.get())
    x, y = table(400, 1).tensors
    model.eval()
    true = float(torch.nn.functional.mse_loss(model(x), y).detach())
    assert sum(estimates) / 5 == pytest.approx(true, abs=0.1)


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
@pytest.mark.parametrize("accumulate", [1, 3])
def test_training_is_the_same_with_it_to_the_last_bit(
    precision: Any, accumulate: int, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"precision": precision, "accumulate_grad_batches": accumulate}
    callback = ValidationCallback(fresh(), "squared", measure_change=True)
    trainer, watched = trained(callback, folder=tmp_path, **options)
    after = torch.get_rng_state()
    _, mine = trained(folder=tmp_path, **options)
    for name, value in mine.state_dict().items():
        assert torch.equal(watched.state_dict()[name], value)
    assert torch.equal(after, torch.get_rng_state())
    assert callback.validation is not None
    steps = {1: 20, 3: 8}[accumulate]  # four for each ten batches
    assert callback.validation.n == trainer.global_step == steps
    assert watched.dtypes == {torch.bfloat16 if precision == "bf16-mixed" else torch.float32}


def test_another_name_and_an_average_without_an_interval(tmp_path: Path) -> None:
    callback = ValidationCallback(fresh(), "squared", Prequential(), name="held_out", every=2)
    trainer, _ = trained(callback, folder=tmp_path)
    assert callback.validation is not None
    assert callback.validation.n == 10
    assert {name for name in trainer.callback_metrics if "held" in name} == {"held_out"}
    assert not any("oeuvre" in name for name in trainer.callback_metrics)


def test_early_stopping_stops_by_it(tmp_path: Path) -> None:
    callback = ValidationCallback(fresh(), "squared")
    stopper = EarlyStopping("val_oeuvre", patience=1, min_delta=1e9, check_on_train_epoch_end=True)
    trainer, _ = trained(callback, stopper, folder=tmp_path, epochs=10)
    assert stopper.stopped_epoch == 1
    assert trainer.current_epoch == 2


def test_early_stopping_stops_once_the_upper_end_is_low_enough(tmp_path: Path) -> None:
    callback, notes = ValidationCallback(fresh(), "squared"), Notes()
    stopper = EarlyStopping(
        "val_oeuvre_upper", patience=99, stopping_threshold=1.0, check_on_train_epoch_end=True
    )
    trainer, _ = trained(callback, notes, stopper, folder=tmp_path, epochs=20, lr=0.005)
    ends = [each["val_oeuvre_upper"] for each in notes.kept[9::10]]
    assert 1 < trainer.current_epoch == len(ends) < 20
    assert ends[-1] < 1.0 <= min(ends[:-1])


def test_the_best_checkpoint_is_chosen_by_it(tmp_path: Path) -> None:
    callback, notes = ValidationCallback(fresh(), "squared"), Notes()
    keeper = ModelCheckpoint(
        tmp_path,
        "{epoch}-{val_oeuvre:.6f}",
        monitor="val_oeuvre_upper",
        save_top_k=1,
        save_on_train_epoch_end=True,
    )
    trained(callback, notes, keeper, folder=tmp_path, epochs=3)
    ends = [notes.kept[i]["val_oeuvre_upper"] for i in (9, 19, 29)]
    assert float(keeper.best_model_score) == pytest.approx(min(ends))  # type: ignore[arg-type]
    assert f"epoch={ends.index(min(ends))}-" in keeper.best_model_path


@pytest.mark.filterwarnings("ignore:Checkpoint directory .* exists and is not empty:UserWarning")
def test_a_resumed_training_goes_on_with_its_estimate(tmp_path: Path) -> None:
    callback = ValidationCallback(fresh(), "squared")
    keeper = ModelCheckpoint(tmp_path, save_last=True)
    trained(callback, keeper, folder=tmp_path, epochs=2)
    assert callback.validation is not None
    before = callback.validation.get()
    path = tmp_path / "last.ckpt"

    class Peek(Callback):
        seen: tuple[int, float] | None = None

        def on_train_start(self, *_: Any) -> None:
            assert resumed.validation is not None
            self.seen = resumed.validation.n, resumed.validation.get()

    resumed, peek = ValidationCallback(fresh(), "squared"), Peek()
    trainer, _ = trained(
        resumed, ModelCheckpoint(tmp_path), peek, folder=tmp_path, epochs=4, ckpt=path
    )
    assert peek.seen == (20, before)
    assert resumed.validation is not None
    assert resumed.validation.n == trainer.global_step == 40
    assert math.isfinite(float(trainer.callback_metrics["val_oeuvre"]))


def test_a_second_fit_goes_on_and_scores_each_step_once(tmp_path: Path) -> None:
    callback = ValidationCallback(fresh(), "squared")
    trainer, model = trained(callback, folder=tmp_path, epochs=1)
    trainer.fit_loop.max_epochs = 3
    trainer.fit(model, DataLoader(table(80, 2), batch_size=8, shuffle=True))
    assert callback.validation is not None
    assert callback.validation.n == trainer.global_step == 30
    optimizer = model.configure_optimizers()
    optimizer.step()
    assert callback.validation.n == 30


def test_the_same_callback_for_another_model_scores_that_model(tmp_path: Path) -> None:
    callback = ValidationCallback(fresh(), "squared")
    trained(callback, folder=tmp_path, epochs=1)
    _, second = trained(callback, folder=tmp_path, epochs=1)
    assert callback.validation is not None
    assert callback.validation.model is second
    other = ValidationCallback(fresh(), "squared")
    trained(other, folder=tmp_path, epochs=1)
    assert other.validation is not None
    assert callback.validation.snapshot.loss == other.validation.snapshot.loss


def test_an_exception_in_training_leaves_no_hooks_behind(tmp_path: Path) -> None:
    class Fails(Callback):
        def on_train_batch_end(self, trainer: Any, pl_module: Any, *_: Any) -> None:
            if trainer.global_step == 3:
                raise ValueError("disk full")

    callback = ValidationCallback(fresh(), "squared")
    with pytest.raises(ValueError, match="disk full"):
        trained(callback, Fails(), folder=tmp_path)
    assert callback.validation is not None
    assert callback.validation.n == 3
    assert not callback.validation._hooks


def test_wrong_arguments_are_refused_before_training() -> None:
    with pytest.raises(InvalidParameter, match="'name'.* must be text"):
        ValidationCallback(fresh(), name="")
    with pytest.raises(NotSerializable):
        ValidationCallback(fresh(), estimator=Oeuvre(rates.Schedule(lambda t: 1.0 / t)))


def test_several_callbacks_log_and_are_saved_side_by_side(tmp_path: Path) -> None:
    def callbacks() -> list[ValidationCallback]:
        return [
            ValidationCallback(fresh(), loss="squared"),
            ValidationCallback(fresh(), loss="absolute", name="val_absolute"),
        ]

    pair = callbacks()
    trainer, _ = trained(*pair, folder=tmp_path)
    assert {"val_oeuvre", "val_absolute"} <= set(trainer.callback_metrics)
    trainer.save_checkpoint(tmp_path / "last.ckpt")
    again = callbacks()
    trained(*again, folder=tmp_path, epochs=2, ckpt=tmp_path / "last.ckpt")
    assert [each.state_dict() for each in again] == [each.state_dict() for each in pair]
    assert pair[0].state_dict() != pair[1].state_dict()
