"""PyTorch: a network while it trains.

`TorchLearner` is for a stream of training batches that are fresh: each is scored before it is
learned, and the forward pass that scores it is the one that is back-propagated at the next step.
`Validation` is for any training loop: fresh validation batches are scored before and after each
step of the optimizer.
"""

import copy
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from oeuvre.errors import InvalidInput, MonitorWarning, NotAvailable, NotEnoughData
from oeuvre.estimators.adaptive import AdaptiveOeuvre
from oeuvre.estimators.arrays import check_batch
from oeuvre.estimators.base import Estimator
from oeuvre.estimators.snapshot import Snapshot, take
from oeuvre.learners.digests import digest
from oeuvre.learners.networks import (
    LABELLED,
    MODAL,
    Change,
    TorchLoss,
    check_model,
    eval_mode,
    labels,
    moved,
    numbers,
    per_sample,
    torch_loss,
    undisturbed,
    versions,
)
from oeuvre.learners.protocol import missing
from oeuvre.parameters import boolean, integer, invalid

try:
    import torch
except ImportError:
    raise missing("This", "PyTorch", "torch") from None

__all__ = ["TorchLearner", "Validation"]


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
        "cross-entropy" (of logits; the default), "log" or "hinge" (of one output, two classes),
        "squared", "absolute" or "pinball"; or a function of outputs and targets, in PyTorch's
        order, that gives a loss for each sample (`reduction="none"`), or their mean.
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
        self._labelled = not isinstance(loss, str) or loss in LABELLED
        self._train = self._plain_step if step is None else step
        self._autocast = nullcontext() if autocast is None else autocast
        self._score = score
        self._alike = False
        """Whether the network was found to do the same in train mode and in eval mode."""
        measured = boolean("TorchLearner", "measure_change", measure_change)
        self._change = Change(model) if measured else None
        self._parameters = list(model.parameters())
        self._outputs: Any = None
        self._ready: tuple[Any, Any, Any, Any] | None = None
        """A batch, its losses with the graph to back-propagate them, and the model's versions."""

    def evaluate(self, x: Any, y: Any) -> Any:
        """Return the losses of the network as it is on a batch."""
        if self._score is None:
            self._alike = not self._modes_differ(x, y)
            self._score = "train" if self._alike else "eval"
        if self._alike:
            with torch.no_grad():
                return numbers(self._forward(x, y))
        kept = undisturbed if self._score == "train" else eval_mode
        with torch.no_grad(), kept(self.model):
            return numbers(self._forward(x, y))

    def prepare(self, x: Any, y: Any) -> Any:
        """Return the losses on the batch that is learned next, and keep their graph for that."""
        if self._score != "train":
            return self.evaluate(x, y)
        found = self._forward(x, y)
        self._ready = x, y, found, versions(self._parameters)
        return numbers(found)

    def learn(self, x: Any, y: Any) -> None:
        """Take one training step with the mean loss of a batch."""
        ready, self._ready = self._ready, None
        kept = ready is not None and ready[0] is x and ready[1] is y
        if ready is not None and kept and ready[3] == versions(self._parameters):
            found = ready[2]
        else:
            found = self._forward(x, y)
        if self._change is not None:
            self._change.mark()
        self._train(found.mean())
        if self._change is not None:
            self.stability_rate = self._change.largest()

    def frozen(self) -> "TorchLearner":
        """Return a copy that can be evaluated."""
        twin = copy.copy(self)
        twin.model, twin._change = copy.deepcopy(self.model), None
        return twin

    @property
    def predicted(self) -> Any:
        """The labels by the last evaluation; only a classifier has them."""
        if not self._labelled:
            raise NotAvailable("Outputs under this loss are numbers, not labels.")
        return None if self._outputs is None else labels(self._outputs.detach())

    def fingerprint(self) -> Any:
        """Return the versions of the parameters, and a digest of the buffers."""
        return versions(self.model.parameters()), digest(list(self.model.buffers()))

    def _forward(self, x: Any, y: Any) -> Any:
        with self._autocast:
            self._outputs = outputs = self.model(x)
            found = self.loss(outputs, y)
        return per_sample(found)

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

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_ready": None, "_outputs": None}  # a graph is not to be copied

    def __repr__(self) -> str:
        return f"TorchLearner({type(self.model).__name__}, {type(self.optimizer).__name__})"


class Validation:
    """A validation loss at every step of a training, from a small fresh batch each time.

    A batch is scored in eval mode and without gradients, once right after a step of the optimizer
    and again after the next one: whatever the model went through in between, it is seen from both
    sides. The mode of each layer is then what it was, and the random state of training is not
    touched, unless drawing the batches touches it. Batches that were used before count as fresh if
    they are drawn at random: the estimate is then about the mean loss over the data they are drawn
    from.

    Parameters
    ----------
    model
        The network.
    batches
        Pairs of inputs and targets. What can be gone through again, such as a `DataLoader` (with
        `shuffle=True`), is begun again at its end.
    loss
        As for `TorchLearner`; "zero-one" too.
    estimator
        What takes the loss pairs: an `AdaptiveOeuvre()` if none is given.
    every
        How many steps of the optimizer make one step of the estimate.
    autocast
        A `torch.autocast(...)` for the forward passes.
    measure_change
        Whether to give the largest change of a parameter to the estimator as the stability rate.
    skip
        Whether to leave out batches with a loss that is not finite, and count them in `skipped`.
        What the model went through then is seen by no batch.

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
        if isinstance(getattr(batches, "sampler", None), torch.utils.data.SequentialSampler):
            warnings.warn(
                "The validation batches come in a fixed order, so they are not fresh draws. Make "
                "the DataLoader with shuffle=True.",
                MonitorWarning,
                stacklevel=2,
            )
        self.model = model
        self.loss = torch_loss("Validation", loss, training=False)
        self.estimator: Estimator = AdaptiveOeuvre() if estimator is None else estimator
        self.snapshot: Snapshot = take(self.estimator)
        """What was known after the last step."""
        self.skipped = 0
        """How many batches were left out."""
        self._batches = batches
        self._source: Iterator[Any] = iter(batches)
        self._every = integer("Validation", "every", every, 1)
        self._autocast = nullcontext() if autocast is None else autocast
        measured = boolean("Validation", "measure_change", measure_change)
        self._change = Change(model) if measured else None
        self._skip = boolean("Validation", "skip", skip)
        self._steps = 0
        self._open: tuple[Any, Any, Any] | None = None
        """A batch and its losses at the beginning of what is under way."""
        self._hooks: dict[Any, Any] = {}

    def attach(self, *optimizers: Any) -> "Validation":
        """Take a step after each step of the optimizers from now on; return self.

        Steps that a gradient scaler leaves out are no steps.
        """
        for each in optimizers:
            if not isinstance(each, torch.optim.Optimizer):
                raise invalid("Validation.attach", "optimizers", "PyTorch optimizers", each)
        self.begin()
        for each in optimizers:
            if each not in self._hooks:
                self._hooks[each] = each.register_step_post_hook(lambda *_: self._hook())
        return self

    def _hook(self) -> None:
        self.step()

    def detach(self) -> None:
        """Leave the optimizers alone from now on."""
        for hook in self._hooks.values():
            hook.remove()
        self._hooks, self._open = {}, None

    def begin(self) -> None:
        """Draw a batch and score it, before the training goes on. `attach` and `step` do that."""
        batch = self._draw()
        self._open, self._steps = None, 0
        if batch is None:
            return
        self._open = *batch, self._losses(*batch)
        if self._change is not None:
            self._change.mark()

    def step(self) -> Snapshot:
        """Score the batch again, after a step of the optimizer, and begin with the next one."""
        if self._open is None:
            raise NotEnoughData(
                "There is no validation batch that was scored before this step: begin() was not "
                "called, or no batches are left. Give what can be gone through again, such as a "
                "DataLoader, or a generator that does not end."
            )
        if self._steps + 1 < self._every:
            self._steps += 1
            return self.snapshot
        x, y, last = self._open
        try:
            loss, previous, size = check_batch(self._losses(x, y), last, False)
            rate = None if self._change is None else self._change.largest()
            self.estimator._update_batch(loss, previous, rate, size)
            self.snapshot = take(self.estimator, loss, float(previous or 0.0))
        except InvalidInput:
            if not self._skip:
                self.begin()  # the batch is given up, the next one may be better
                raise
            self.skipped += 1
            self.snapshot = take(self.estimator)
        self.begin()
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
            return numbers(per_sample(self.loss(self.model(x), y)).reshape(-1))

    def _draw(self) -> tuple[Any, Any] | None:
        """Return the next batch, on the device of the model; None at the end of all."""
        batch = next(self._source, None)
        if batch is None and iter(self._batches) is not self._batches:
            self._source = iter(self._batches)
            batch = next(self._source, None)
        if batch is None:
            return None
        try:
            x, y = (None, None) if isinstance(batch, Mapping) else batch
        except (TypeError, ValueError):
            x = y = None
        if x is None or y is None:
            raise InvalidInput(
                f"'batches' must give pairs of inputs and targets. Got {batch!r:.80} instead."
            )
        device = next((parameter.device for parameter in self.model.parameters()), None)
        return moved(x, device), moved(y, device)
