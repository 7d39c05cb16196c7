"""PyTorch: a network while it trains.

`TorchLearner` is for a stream of training batches that are fresh: each is scored before it is
learned, and the forward pass that scores it is the one that is back-propagated at the next step.
`Validation` is for any training loop: fresh validation batches are scored before and after each
step of the optimizer.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np

from oeuvre import losses
from oeuvre.errors import InvalidInput, NotEnoughData
from oeuvre.estimators.adaptive import AdaptiveOeuvre
from oeuvre.estimators.arrays import check_batch
from oeuvre.estimators.base import Estimator
from oeuvre.estimators.snapshot import Snapshot, take
from oeuvre.learners.protocol import missing
from oeuvre.parameters import boolean, integer, invalid

try:
    import torch
    from torch.nn import functional
except ImportError:
    raise missing("This", "PyTorch", "torch") from None

__all__ = ["TorchLearner", "Validation"]

TorchLoss = Callable[[Any, Any], Any]


class TorchLearner:
    """A network and its optimizer, for a `Monitor` that trains it.

    A sample is a batch: inputs and targets, as the network and the loss take them. The batch's mean
    loss is back-propagated. Where train mode and eval mode are the same, and with `score="train"`,
    the only work beyond training is one forward pass without gradients; the network is trained as
    it would be without a monitor, bit by bit.

    Parameters
    ----------
    model
        The network. It is trained in place.
    optimizer
        What trains it.
    loss
        "cross-entropy" (of logits; the default), "log" (of one logit, two classes), "squared",
        "absolute" or "pinball"; or a function of outputs and targets, in PyTorch's order, that
        gives a loss for each sample (`reduction="none"`), or their mean.
    step
        What to do with the mean loss instead of `optimizer.zero_grad()`, `loss.backward()`,
        `optimizer.step()`: for clipping, schedulers, gradient scaling and accumulation.
    autocast
        A `torch.autocast(...)` for the forward passes.
    score
        "eval": a batch is scored in eval mode, by two passes without gradients beside that of the
        training. "train": it is scored as it is trained, with the same dropout for both models.
        None: "train" if the first batch, and the layers there are, show no difference.
    measure_change
        Whether to find the largest change of a parameter in each step and give it to the
        estimator as the stability rate, as `Oeuvre` wants it for networks.

    Examples
    --------
    >>> import torch
    >>> from oeuvre import Monitor
    >>> _ = torch.manual_seed(0)
    >>> model = torch.nn.Linear(3, 1)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    >>> monitor = Monitor.of(model, loss="squared", optimizer=optimizer)
    >>> for _ in range(200):
    ...     x = torch.randn(8, 3)
    ...     snapshot = monitor.update(x, x.sum(dim=1, keepdim=True) + torch.randn(8, 1))
    >>> snapshot.n, 1.0 in snapshot.interval
    (200, True)
    """

    def __init__(
        self,
        model: Any,
        optimizer: Any = None,
        loss: str | TorchLoss | None = None,
        *,
        step: Callable[[Any], Any] | None = None,
        autocast: AbstractContextManager[Any] | None = None,
        score: str | None = None,
        measure_change: bool = False,
    ) -> None:
        check_model("TorchLearner", model)
        if not isinstance(optimizer, torch.optim.Optimizer) and step is None:
            wanted = "a torch.optim.Optimizer, unless 'step' says how to train"
            raise invalid("TorchLearner", "optimizer", wanted, optimizer)
        if not (step is None or callable(step)):
            raise invalid("TorchLearner", "step", "a function of the mean loss", step)
        if not (score is None or (isinstance(score, str) and score in ("eval", "train"))):
            raise invalid("TorchLearner", "score", "None, 'eval' or 'train'", score)
        self.model = model
        self.optimizer = optimizer
        self.loss = torch_loss("TorchLearner", loss, training=True)
        self.stability_rate: float | None = None
        """The largest change of a parameter in the last step, if it is measured."""
        self._train = self._plain_step if step is None else step
        self._autocast = nullcontext() if autocast is None else autocast
        self._score = score
        self._plain = False
        """Whether the network was found to do the same in train mode and in eval mode."""
        measured = boolean("TorchLearner", "measure_change", measure_change)
        self._change = Change(model) if measured else None
        self._outputs: Any = None
        self._ready: tuple[Any, Any, Any] | None = None
        """A batch and its losses, with the graph to back-propagate them."""

    def evaluate(self, x: Any, y: Any) -> Any:
        """Return the losses of the network as it is on a batch."""
        if self._score is None:
            self._plain = not self._modes_differ(x, y)
            self._score = "train" if self._plain else "eval"
        kept = undisturbed if self._score == "train" else eval_mode
        with torch.no_grad(), nullcontext() if self._plain else kept(self.model):
            return numbers(self._forward(x, y))

    def prepare(self, x: Any, y: Any) -> Any:
        """Return the losses on the batch that is learned next, and keep their graph for that."""
        if self._score != "train":
            return self.evaluate(x, y)
        found = self._forward(x, y)
        self._ready = x, y, found
        return numbers(found)

    def learn(self, x: Any, y: Any) -> None:
        """Take one training step with the mean loss of a batch."""
        ready, self._ready = self._ready, None
        if ready is not None and ready[0] is x and ready[1] is y:
            found = ready[2]
        else:
            found = self._forward(x, y)
        if self._change is not None:
            self._change.mark()
        self._train(found.mean())
        if self._change is not None:
            self.stability_rate = self._change.largest()

    @property
    def predicted(self) -> Any:
        """The labels by the last evaluation, where the outputs are logits."""
        return labels(self._outputs)

    def fingerprint(self) -> Any:
        """Return the places and versions of the parameters, which cost nothing, and the buffers."""
        buffers = [buffer.detach().cpu().tolist() for buffer in self.model.buffers()]
        return [(id(each), each._version) for each in self.model.parameters()], buffers

    def _forward(self, x: Any, y: Any) -> Any:
        with self._autocast:
            outputs = self.model(x)
            found = self.loss(outputs, y)
        self._outputs = outputs.detach() if isinstance(outputs, torch.Tensor) else None
        return wide(found)

    def _modes_differ(self, x: Any, y: Any) -> bool:
        """Tell whether a batch, or a layer, shows a difference between train and eval mode."""
        if any(isinstance(layer, MODAL) for layer in self.model.modules()):
            return True
        with torch.no_grad(), undisturbed(self.model):
            trained = self._forward(x, y)
        with torch.no_grad(), eval_mode(self.model):
            return not torch.equal(trained, self._forward(x, y))

    def _plain_step(self, loss: Any) -> None:
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def __deepcopy__(self, memo: dict[int, Any]) -> "TorchLearner":
        """Return a copy to evaluate, as a monitor keeps it of the model of the step before."""
        import copy

        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__, _ready=None, _outputs=None, _change=None)
        twin.model = copy.deepcopy(self.model, memo)
        return twin

    def __repr__(self) -> str:
        return f"TorchLearner({type(self.model).__name__}, {type(self.optimizer).__name__})"


class Validation:
    """A validation loss at every step of a training, from a small fresh batch each time.

    A batch is scored before and after a step of the optimizer, in eval mode and without gradients;
    then the mode is what it was. The random state of training is not touched, unless drawing the
    batches touches it. Batches that were drawn once count as fresh if they are drawn at random: the
    estimate is then about the mean loss over the data they are drawn from.

    Parameters
    ----------
    model
        The network.
    batches
        Pairs of inputs and targets. What can be gone through again, such as a `DataLoader` (with
        `shuffle=True`), is begun again at its end.
    loss
        As for `TorchLearner`; "zero-one" and "hinge" too.
    estimator
        What takes the loss pairs: an `AdaptiveOeuvre()` if none is given.
    every
        How many steps of the optimizer make one step of the estimate.
    autocast
        A `torch.autocast(...)` for the forward passes.
    measure_change
        Whether to give the largest change of a parameter to the estimator as the stability rate.
    skip
        Whether to leave out steps with a loss that is not finite, and count them in `skipped`.

    Examples
    --------
    >>> import torch
    >>> from oeuvre.learners.torch import Validation
    >>> _ = torch.manual_seed(0)
    >>> def draw(size):
    ...     while True:
    ...         x = torch.randn(size, 3)
    ...         yield x, x.sum(dim=1, keepdim=True) + torch.randn(size, 1)
    >>> model = torch.nn.Linear(3, 1)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    >>> validation = Validation(model, draw(8), loss="squared").attach(optimizer)
    >>> for _, (x, y) in zip(range(200), draw(32)):
    ...     optimizer.zero_grad()
    ...     torch.nn.functional.mse_loss(model(x), y).backward()
    ...     optimizer.step()
    >>> validation.n, 1.0 in validation.snapshot.interval
    (200, True)
    """

    def __init__(
        self,
        model: Any,
        batches: Iterable[Any],
        loss: str | TorchLoss | None = None,
        estimator: Estimator | None = None,
        *,
        every: int = 1,
        autocast: AbstractContextManager[Any] | None = None,
        measure_change: bool = False,
        skip: bool = False,
    ) -> None:
        check_model("Validation", model)
        if not isinstance(estimator, Estimator | None):
            raise invalid("Validation", "estimator", "an estimator", estimator)
        if not isinstance(batches, Iterable):
            raise invalid("Validation", "batches", "pairs of inputs and targets", batches)
        self.model = model
        self.loss = torch_loss("Validation", loss, training=False)
        self.estimator: Estimator = AdaptiveOeuvre() if estimator is None else estimator
        self.snapshot: Snapshot = take(self.estimator)
        """What was known after the last step."""
        self.skipped = 0
        """How many steps were left out."""
        self._batches = batches
        self._source: Iterator[Any] = iter(batches)
        self._every = integer("Validation", "every", every, 1)
        self._autocast = nullcontext() if autocast is None else autocast
        measured = boolean("Validation", "measure_change", measure_change)
        self._change = Change(model) if measured else None
        self._skip = boolean("Validation", "skip", skip)
        self._steps = 0
        self._open: tuple[Any, Any, Any] | None = None
        """A batch and its losses before the step that is under way."""
        self._hooks: list[Any] = []

    def attach(self, *optimizers: Any) -> "Validation":
        """Score a batch around each step of the optimizers from now on; return self.

        Steps that a gradient scaler leaves out are no steps.
        """
        for optimizer in optimizers:
            if not isinstance(optimizer, torch.optim.Optimizer):
                raise invalid("Validation.attach", "optimizers", "PyTorch optimizers", optimizer)
            self._hooks += [
                optimizer.register_step_pre_hook(lambda *_: self.before()),
                optimizer.register_step_post_hook(lambda *_: self._end()),
            ]
        return self

    def _end(self) -> None:
        self.after()

    def detach(self) -> None:
        """Leave the optimizers alone from now on."""
        for hook in self._hooks:
            hook.remove()
        self._hooks, self._open = [], None

    def before(self) -> None:
        """Draw a batch and score it, before a step of the optimizer."""
        if self._open is None:
            x, y = self._draw()
            if self._change is not None:
                self._change.mark()
            self._open = x, y, self._losses(x, y)
            self._steps = 0

    def after(self) -> Snapshot:
        """Score the batch again, after the step, and update the estimate."""
        if self._open is None:
            raise InvalidInput("A step must begin with before(), and end with after().")
        self._steps += 1
        if self._steps < self._every:
            return self.snapshot
        (x, y, last), self._open = self._open, None
        estimator = self.estimator
        try:
            loss, previous, size = check_batch(self._losses(x, y), last, False)
            rate = None if self._change is None else self._change.largest()
            estimator._update_batch(loss, previous, rate, size)
            self.snapshot = take(estimator, loss, float(previous or 0.0))
        except InvalidInput:
            if not self._skip:
                raise
            self.skipped += 1
            self.snapshot = take(estimator)
        return self.snapshot

    @property
    def n(self) -> int:
        """The number of steps the estimator has taken."""
        return self.estimator.n

    def get(self) -> float:
        """Return the estimate; raise NotEnoughData before the first step."""
        return self.estimator.get()

    def _losses(self, x: Any, y: Any) -> Any:
        with torch.no_grad(), eval_mode(self.model), self._autocast:
            found = wide(self.loss(self.model(x), y))
        return numbers(found.reshape(-1))

    def _draw(self) -> tuple[Any, Any]:
        """Return the next batch, on the device of the model."""
        batch = next(self._source, None)
        if batch is None and iter(self._batches) is not self._batches:
            self._source = iter(self._batches)
            batch = next(self._source, None)
        if batch is None:
            raise NotEnoughData(
                "There are no validation batches left. Give what can be gone through again, such "
                "as a DataLoader, or a generator that does not end."
            )
        try:
            x, y = batch
        except (TypeError, ValueError):
            raise InvalidInput(
                f"'batches' must give pairs of inputs and targets. Got {batch!r:.80} instead."
            ) from None
        device = next((parameter.device for parameter in self.model.parameters()), None)
        return tuple(part.to(device) if isinstance(part, torch.Tensor) else part for part in (x, y))  # type: ignore[return-value]


class Change:
    """The largest absolute change of a parameter since a mark."""

    def __init__(self, model: Any) -> None:
        self._parameters = [each for each in model.parameters() if each.requires_grad]
        self._before = [torch.empty_like(each) for each in self._parameters]

    def mark(self) -> None:
        """Remember the parameters as they are."""
        with torch.no_grad():
            torch._foreach_copy_(self._before, self._parameters)

    def largest(self) -> float:
        """Return the largest absolute difference from the parameters at the mark."""
        with torch.no_grad():
            torch._foreach_sub_(self._before, self._parameters)
            ends = [torch.aminmax(each) for each in self._before if each.numel()]
        return max((max(-float(low), float(high)) for low, high in ends), default=0.0)


MODAL = (
    torch.nn.modules.dropout._DropoutNd,
    torch.nn.modules.batchnorm._NormBase,
    torch.nn.RReLU,
)
"""Layers that do one thing in train mode and another in eval mode."""


@contextmanager
def eval_mode(model: Any) -> Iterator[None]:
    """Put a network into eval mode, and each of its layers back into its own mode afterwards."""
    training = [layer for layer in model.modules() if layer.training]
    for layer in training:
        layer.training = False
    try:
        yield
    finally:
        for layer in training:
            layer.training = True


@contextmanager
def undisturbed(model: Any) -> Iterator[None]:
    """Keep the random state, and the buffers of a network, as they are."""
    buffers = [(buffer, buffer.clone()) for buffer in model.buffers()]
    devices = {each.device.index for each in model.parameters() if each.device.type == "cuda"}
    with torch.random.fork_rng(devices=list(devices)):
        try:
            yield
        finally:
            with torch.no_grad():
                for buffer, before in buffers:
                    buffer.copy_(before)


def wide(found: Any) -> Any:
    """Return losses in at least 32 bits."""
    return found if found.dtype in (torch.float32, torch.float64) else found.float()


def numbers(found: Any) -> Any:
    """Return losses as NumPy's doubles."""
    return found.detach().cpu().numpy().astype(np.float64)


def labels(outputs: Any) -> Any:
    """Return the labels that logits stand for: the largest of several, the sign of one."""
    if outputs is None:
        return None
    if outputs.ndim > 1 and outputs.shape[1] > 1:
        return outputs.argmax(dim=1)
    return (outputs.reshape(-1) > 0).long()


def check_model(owner: str, model: Any) -> None:
    """Refuse what is not a network."""
    if not isinstance(model, torch.nn.Module):
        raise invalid(owner, "model", "a torch.nn.Module", model)


def torch_loss(owner: str, loss: Any, *, training: bool) -> TorchLoss:
    """Return a function of outputs and targets that gives the loss of each sample."""
    loss = "cross-entropy" if loss is None else loss
    if isinstance(loss, str) and loss in LOSSES and not (training and loss == "zero-one"):
        return LOSSES[loss]
    if callable(loss) and not isinstance(loss, losses.Loss | type):
        return loss  # type: ignore[no-any-return]
    words = ", ".join(repr(word) for word in LOSSES if not (training and word == "zero-one"))
    raise invalid(owner, "loss", f"one of {words}, or a function of (outputs, targets)", loss)


def matched(function: TorchLoss) -> TorchLoss:
    """Return a loss of numbers, for outputs and targets of one shape, as a mean for each sample."""

    def each(outputs: Any, targets: Any) -> Any:
        if outputs.ndim == 2 and outputs.shape[1] == 1 and targets.ndim == 1:
            outputs = outputs[:, 0]
        if outputs.shape != targets.shape:
            raise InvalidInput(
                "Targets must have the shape of the outputs, "
                f"{tuple(outputs.shape)}. Got {tuple(targets.shape)} instead."
            )
        found = function(outputs, targets.to(outputs.dtype))
        return found.flatten(1).mean(dim=1) if found.ndim > 1 else found

    return each


def cross_entropy(outputs: Any, targets: Any) -> Any:
    """Return the loss of each sample, from logits."""
    return functional.cross_entropy(outputs, targets, reduction="none")


def zero_one(outputs: Any, targets: Any) -> Any:
    """Return 1 for each wrong label, 0 for each right one."""
    return (labels(outputs) != targets.reshape(-1)).float()


LOSSES: dict[str, TorchLoss] = {
    "cross-entropy": cross_entropy,
    "log": matched(
        lambda out, y: functional.binary_cross_entropy_with_logits(out, y, reduction="none")
    ),
    "squared": matched(lambda out, y: (out - y) ** 2),
    "absolute": matched(lambda out, y: (out - y).abs()),
    "pinball": matched(lambda out, y: 0.5 * (out - y).abs()),
    "hinge": matched(lambda out, y: (1.0 - torch.where(y > 0, out, -out)).clamp(min=0.0)),
    "zero-one": zero_one,
}
