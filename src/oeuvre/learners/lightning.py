"""Lightning: a validation loss at every training step, logged under names that can be monitored."""

from collections.abc import Iterable
from typing import Any

from oeuvre.estimators.base import Estimator
from oeuvre.learners.networks import TorchLoss, torch_loss
from oeuvre.learners.protocol import missing
from oeuvre.learners.torch import Validation
from oeuvre.parameters import invalid

try:
    from lightning.pytorch import Callback
except ImportError:
    raise missing("This", "Lightning", "lightning") from None

__all__ = ["ValidationCallback"]


class ValidationCallback(Callback):
    """Scores a small fresh validation batch around each step of the optimizer; logs the estimate.

    After each training step it logs `name`, the estimated validation loss of the model as it is,
    and `name_lower` and `name_upper`, the ends of its interval of 95 %, once there is one. Early
    stopping and checkpoints can monitor them; a checkpoint holds the state of the estimate. For
    another model the estimate begins anew.

    Parameters
    ----------
    batches, loss, estimator, every, measure_change, skip
        As for `oeuvre.learners.torch.Validation`. The precision is that of the trainer.
    name
        What the estimate is logged as.

    Examples
    --------
    >>> import torch
    >>> from oeuvre.learners.lightning import ValidationCallback
    >>> data = torch.utils.data.TensorDataset(torch.randn(100, 3), torch.randn(100, 1))
    >>> batches = torch.utils.data.DataLoader(data, batch_size=16, shuffle=True)
    >>> callback = ValidationCallback(batches, loss="squared")
    >>> # trainer = lightning.Trainer(callbacks=[callback, EarlyStopping("val_oeuvre")])
    """

    def __init__(
        self,
        batches: Iterable[Any],
        loss: str | TorchLoss | None = None,
        estimator: Estimator | None = None,
        *,
        name: str = "val_oeuvre",
        every: int = 1,
        measure_change: bool = False,
        skip: bool = False,
    ) -> None:
        super().__init__()
        if not (isinstance(name, str) and name):
            raise invalid("ValidationCallback", "name", "text", name)
        self.name = name
        self.validation: Validation | None = None
        """What scores the batches, while and after the model is trained."""
        torch_loss("ValidationCallback", loss, training=False)
        if estimator is not None:
            estimator.to_dict()  # what cannot be written would break the first checkpoint
        self._batches = batches
        self._estimator = estimator
        self._options: dict[str, Any] = {
            "loss": loss,
            "every": every,
            "measure_change": measure_change,
            "skip": skip,
        }
        self._logged = 0

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Attach to the optimizers."""
        if self.validation is not None and self.validation.model is not pl_module:
            self._estimator = self.validation.estimator.clone()
            self.validation = None
        if self.validation is None:
            self.validation = Validation(
                pl_module,
                self._batches,
                estimator=self._estimator,
                autocast=Precision(trainer),
                **self._options,
            )
            self._estimator = self.validation.estimator
        self._logged = self.validation.n
        self.validation.attach(*trainer.optimizers)

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Log the estimate, if a step was taken."""
        if self.validation is None or self.validation.n == self._logged:
            return
        self._logged = self.validation.n
        snapshot = self.validation.snapshot
        pl_module.log(self.name, snapshot.estimate, on_step=True, on_epoch=False, prog_bar=True)
        if (ends := snapshot.interval) is not None:
            for end, value in (("lower", ends.lower), ("upper", ends.upper)):
                pl_module.log(f"{self.name}_{end}", value, on_step=True, on_epoch=False)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Leave the optimizers alone."""
        if self.validation is not None:
            self.validation.detach()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Leave the optimizers alone."""
        self.on_train_end(trainer, pl_module)

    @property
    def state_key(self) -> str:
        """The name in a checkpoint: one for each that is logged, so that there may be several."""
        return f"{type(self).__qualname__}[{self.name}]"

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the estimate, for a checkpoint."""
        return {} if self._estimator is None else {"estimator": self._estimator.to_dict()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from the state of a checkpoint."""
        if "estimator" in state_dict:
            self._estimator = Estimator.from_dict(state_dict["estimator"])
            self.validation = None


class Precision:
    """The precision that a trainer computes with, as a context that can be entered again."""

    def __init__(self, trainer: Any) -> None:
        self._trainer = trainer
        self._entered: Any = None

    def __enter__(self) -> None:
        self._entered = self._trainer.precision_plugin.forward_context()
        self._entered.__enter__()

    def __exit__(self, *raised: Any) -> Any:
        return self._entered.__exit__(*raised)
