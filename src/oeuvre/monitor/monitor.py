"""Samples in, the loss of the current model out."""

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from math import isfinite
from typing import Any, Literal, Self, TypeAlias

from oeuvre.errors import InvalidInput, InvalidLoss
from oeuvre.estimators import AdaptiveOeuvre, Estimator, Quality, Snapshot, files
from oeuvre.estimators.snapshot import take
from oeuvre.intervals import Interval
from oeuvre.learners import Learner, learner_of
from oeuvre.learners.protocol import frozen
from oeuvre.monitor import state
from oeuvre.monitor.guards import Guard
from oeuvre.monitor.values import (
    Batch,
    Losses,
    as_losses,
    finite,
    is_same,
    one_label,
    unlabelled,
)
from oeuvre.parameters import boolean, integer, invalid

__all__ = ["Monitor"]

Mode: TypeAlias = Literal["lag", "snapshot"]
PARAMETERS = ("mode", "skip", "quality", "guard", "limit")
NOTHING = object()
"""Stands for the label by a model that had none to give."""


class Monitor:
    """A learner and the estimate of its loss, fed sample by sample in the right order.

    At each step the fresh sample is scored on the model as it is, then the model is trained on the
    sample held back, and the fresh sample is scored again and held back in its turn. So every
    sample is scored before it is learned, by two models, and no model is copied. The estimate is
    about the model as it is after the step, or, in the mode "snapshot", before it learned the last
    sample.

    Parameters
    ----------
    learner
        An object with `evaluate(x, y)` and `learn(x, y)`; see `learners.Learner`. For a model of
        River, scikit-learn or PyTorch there is `Monitor.of`.
    estimator
        What takes the loss pairs: an `AdaptiveOeuvre()` if none is given. It is used as it is, not
        copied.
    mode
        "lag": training is one sample behind. "snapshot": the model is trained on a sample as soon
        as it was scored, and a copy of the model of the step before is kept; both give the same
        estimates.
    skip
        Whether to leave out samples without a label or with a loss that is not finite, and count
        them in `skipped`. They are not learned either. Otherwise they are an error.
    quality
        Whether to estimate the confusion matrix too, or the `Quality` that does. The learner must
        have `predicted`.
    guard
        For how many of the first samples to look for mistakes, such as an evaluation that changes
        the model. Each is told once, by a `MonitorWarning`.
    limit
        How many questions may wait for their answer; see `ask`.

    Examples
    --------
    A learner of two methods, a running mean:

    >>> from oeuvre import Monitor
    >>> class Mean:
    ...     n, mean = 0, 0.0
    ...     def evaluate(self, x, y):
    ...         return (y - self.mean) ** 2
    ...     def learn(self, x, y):
    ...         self.n += 1
    ...         self.mean += (y - self.mean) / self.n
    >>> monitor = Monitor(Mean())
    >>> for y in [0.2, 0.9, 0.4, 0.6, 0.1, 0.7, 0.5, 0.3]:
    ...     snapshot = monitor.update(None, y)
    >>> print(f"{snapshot.n}: {snapshot.estimate:.4f}, from {snapshot.interval}")
    8: 0.0522, from -0.03137 to 0.1358 (95 %)
    >>> monitor.learner.n, monitor.flush(), monitor.learner.n
    (7, None, 8)
    """

    def __init__(
        self,
        learner: Learner,
        estimator: Estimator | None = None,
        *,
        mode: Mode = "lag",
        skip: bool = False,
        quality: bool | Quality = False,
        guard: int = 5,
        limit: int = 1000,
    ) -> None:
        if isinstance(learner, type) or not isinstance(learner, Learner):
            wanted = "an object with 'evaluate' and 'learn'; Monitor.of takes models of libraries"
            raise invalid("Monitor", "learner", wanted, learner)
        if not isinstance(estimator, Estimator | None):
            raise invalid("Monitor", "estimator", "an estimator, not a class", estimator)
        if not (isinstance(mode, str) and mode in ("lag", "snapshot")):
            raise invalid("Monitor", "mode", "'lag' or 'snapshot'", mode)
        self.learner = learner
        self.estimator: Estimator = AdaptiveOeuvre() if estimator is None else estimator
        given = isinstance(quality, Quality) or boolean("Monitor", "quality", quality)
        if given and not hasattr(learner, "predicted"):
            raise invalid("Monitor", "quality", "False: this learner has no 'predicted'", quality)
        self.quality = quality if isinstance(quality, Quality) else Quality() if given else None
        self.skipped = 0
        """How many samples were left out."""
        self.unseen = 0
        """How many changes of the model no sample has seen from both sides."""
        self.expired = 0
        """How many questions were given up because too many were waiting."""
        self._params: dict[str, Any] = {
            "mode": mode,
            "skip": boolean("Monitor", "skip", skip),
            "quality": given,
            "guard": integer("Monitor", "guard", guard, 0),
            "limit": integer("Monitor", "limit", limit, 1),
        }
        self._skip: bool = self._params["skip"]
        self._step = self._lag if mode == "lag" else self._copying
        self._prepare = getattr(learner, "prepare", None)
        self._rated = hasattr(learner, "stability_rate")
        self._plain = self.quality is None and not self._rated
        """Whether losses are all there is to pass on."""
        self._guard: Guard | None = Guard(learner, guard) if guard else None
        self._held: tuple[Any, Any] | None = None
        self._last: Losses = None
        """The loss of the sample held back, by the model as it is."""
        self._moved: tuple[Any, Any, Losses, Any] | None = None
        """A fresh sample, its loss and label by the previous model, if the model has moved since
        but the step was broken off."""
        self._gap = False
        """Whether the model has moved and no sample can see from where any more."""
        self._behind: Learner | None = None
        self._tickets = 0
        self._waiting: dict[int, Any] = {}

    @classmethod
    def of(
        cls, model: Any, loss: Any = None, estimator: Estimator | None = None, **options: Any
    ) -> Self:
        """Return a monitor of a River, scikit-learn or PyTorch model.

        Parameters
        ----------
        model
            The model. The adapter is chosen by what it can do.
        loss
            A word such as "squared", "log" or "zero-one", a `losses.Loss`, or a function of
            (y, prediction); see `losses`. For PyTorch a word, or a function of
            (outputs, targets). Each adapter has a default.
        estimator
            As for `Monitor`.
        options
            Those of `Monitor`, and those of the adapter: `classes` for scikit-learn, `optimizer`
            and others for PyTorch.
        """
        own = {name: options.pop(name) for name in PARAMETERS if name in options}
        return cls(learner_of(model, loss, **options), estimator, **own)

    # Samples

    def update(self, x: Any, y: Any) -> Snapshot:
        """Take one step with a fresh sample, or with a batch if the learner takes one.

        If the learner raises, the estimate is as it was, and the same sample can be given again.
        What was done by then is not done again, but for the `learn` that raised, if it was that:
        its sample is learned again.
        """
        if unlabelled(y):
            if self._skip:
                self.skipped += 1
                return take(self.estimator)
            raise InvalidInput(
                f"'y' must be a label, without missing ones. Got {y!r:.80} instead. With skip=True "
                "such samples are left out; a label that comes later is for ask and answer."
            )
        try:
            return self._step(x, y)
        except BaseException:
            if self._guard is not None:
                self._guard.forget()
            raise

    def run(self, stream: Iterable[Any]) -> Iterator[Snapshot]:
        """Take a step with each pair (x, y) of a stream, and yield what is known then.

        The last sample stays held back; `flush` learns it.
        """
        for sample in stream:
            try:
                x, y = sample
            except (TypeError, ValueError):
                raise InvalidInput(
                    f"'stream' must give pairs (x, y). Got {sample!r:.80} instead."
                ) from None
            yield self.update(x, y)

    def flush(self) -> None:
        """Train the model on the sample held back, as at the end of a stream.

        The model is then one step past the one that the estimate is about.
        """
        if self._held is not None:
            self.learner.learn(*self._held)
            self._held, self._gap = None, self.n > 0
            if self._guard is not None:
                self._guard.forget()

    def discard(self) -> tuple[Any, Any] | None:
        """Give up the sample held back, if the model cannot learn it, and return it."""
        held, self._held = self._held, None
        if self._guard is not None:
            self._guard.forget()
        return held

    # Delayed labels

    def ask(self, x: Any) -> int:
        """Keep the features of a sample whose label comes later; return a ticket for `answer`.

        At most `limit` questions wait; one more, and the oldest is given up, counted in `expired`.
        """
        if len(self._waiting) >= self._params["limit"]:
            del self._waiting[next(iter(self._waiting))]
            self.expired += 1
        self._tickets += 1
        self._waiting[self._tickets] = x
        return self._tickets

    def answer(self, ticket: int, y: Any) -> Snapshot:
        """Take a step with the sample of a ticket, now that its label is known.

        The sample is scored on the model as it is now, not as it was when it was asked.
        """
        if not isinstance(ticket, int) or ticket not in self._waiting:
            raise InvalidInput(
                f"'ticket' must be one that waits for its answer. Got {ticket!r:.80}, which was "
                f"answered, given up (at most {self._params['limit']} wait), or never given out."
            )
        snapshot = self.update(self._waiting[ticket], y)
        del self._waiting[ticket]
        return snapshot

    @property
    def waiting(self) -> int:
        """How many questions wait for their answer."""
        return len(self._waiting)

    # What is known

    @property
    def n(self) -> int:
        """The number of steps the estimator has taken; a batch is one step."""
        return self.estimator.n

    def get(self) -> float:
        """Return the estimate; raise NotEnoughData before the first loss."""
        return self.estimator.get()

    def interval(self, level: Any = 0.95, kind: str = "normal", **options: Any) -> Interval:
        """Return an interval for the loss of the current model, as the estimator's `interval`."""
        return self.estimator.interval(level, kind, **options)

    # One step

    def _lag(self, x: Any, y: Any) -> Snapshot:
        """Score the sample, learn the one held back, score again."""
        learner, guard = self.learner, self._guard
        if guard is not None:
            guard.begin(x, self._held)
        if self._moved is not None and not is_same(self._moved[:2], (x, y)):
            self._moved, self._gap = None, True  # whoever could have told of that move is gone
        if self._moved is None:
            previous = learner.evaluate(x, y)
            if type(previous) is not float:
                previous = as_losses(previous)
            if guard is not None:
                guard.evaluated(x, y, previous)
            if not (isfinite(previous) if type(previous) is float else finite(previous)):
                return self._leave_out(x, y, previous)
            before = None if self.quality is None else learner.predicted  # type: ignore[attr-defined]
        else:
            _, _, previous, before = self._moved
        if self._held is not None:
            try:
                learner.learn(*self._held)
            except Exception as error:
                error.add_note("oeuvre: monitor.discard() gives up the sample held back.")
                raise
            self._moved, self._held = (x, y, previous, before), None
        loss = previous
        if self._moved is not None or self._prepare is not None:
            loss = (self._prepare or learner.evaluate)(x, y)
            if type(loss) is not float:
                loss = as_losses(loss)
        if not (isfinite(loss) if type(loss) is float else finite(loss)):
            return self._leave_out(x, y, loss)
        if self._plain and type(loss) is float and type(previous) is float and not self._gap:
            self.estimator.update(loss, previous)
            snapshot = take(self.estimator, loss, previous)
        else:
            snapshot = self._feed(y, loss, previous, before, self._moved is not None)
        self._held, self._moved, self._last = (x, y), None, loss
        if guard is not None:
            self._close(guard)
        return snapshot

    def _copying(self, x: Any, y: Any) -> Snapshot:
        """Score the sample on the model and on the copy, then copy the model and learn."""
        learner, guard, quality = self.learner, self._guard, self.quality
        if guard is not None:
            guard.begin(x, None)
        behind = learner if self._behind is None else self._behind
        previous = as_losses(behind.evaluate(x, y))
        before = None if quality is None else behind.predicted  # type: ignore[attr-defined]
        loss = as_losses(learner.evaluate(x, y)) if behind is not learner else previous
        if guard is not None:
            guard.evaluated(x, y, loss)
        for each in (previous, loss):
            if not finite(each):
                return self._leave_out(x, y, each)
        old = self.estimator._get_state(), None if quality is None else quality._get_state()
        snapshot = self._feed(y, loss, previous, before, behind is not learner)
        try:
            kept = frozen(learner)
            learner.learn(x, y)
        except BaseException:
            self.estimator._set_state(old[0])
            if quality is not None and old[1] is not None:
                quality._set_state(old[1])
            raise
        self._behind = kept
        if guard is not None:
            self._close(guard)
        return snapshot

    def _feed(self, y: Any, loss: Losses, previous: Losses, before: Any, learned: bool) -> Snapshot:
        """Give a pair to the estimator, and labels to the quality; both take the step or none."""
        estimator, quality = self.estimator, self.quality
        if loss is None:
            self._gap = self._gap or (learned and self.n > 0)
            return take(estimator)
        if previous is None and self.n > 0:
            previous, before, self._gap = loss, NOTHING, True
        rate = self.learner.stability_rate if self._rated and learned else None  # type: ignore[attr-defined]
        old = None if quality is None else estimator._get_state()
        mean, size = (loss, 1) if isinstance(loss, float) else loss
        last = previous.mean if isinstance(previous, Batch) else previous
        estimator._update_batch(mean, last, rate, float(size))
        if quality is not None:
            labels = self.learner.predicted  # type: ignore[attr-defined]
            before = labels if before is NOTHING or quality.n == 0 else before
            try:
                if isinstance(loss, float):
                    quality.update(y, one_label(labels), one_label(before))
                else:
                    quality.update_many(y, labels, before)
            except BaseException:
                estimator._set_state(old)  # type: ignore[arg-type]
                raise
        if self._gap:
            self.unseen, self._gap = self.unseen + 1, False
        return take(estimator, mean, math.nan if last is None else last)

    def _leave_out(self, x: Any, y: Any, losses: Losses) -> Snapshot:
        """Skip a sample whose loss is not finite, or raise InvalidLoss."""
        if not self._skip:
            got = losses.mean if isinstance(losses, Batch) else losses
            raise InvalidLoss(
                f"The loss of a sample must be finite. Got {got!r} for x={x!r:.80}, "
                f"y={y!r:.40}. With skip=True such samples are left out."
            )
        if self._moved is not None:  # the model has moved, and this sample cannot tell how far
            self._moved, self._gap = None, True
        self.skipped += 1
        if self._guard is not None:
            self._guard.forget()
        return take(self.estimator)

    def _close(self, guard: Guard) -> None:
        """End the guard's step, and let it go after its last one."""
        guard.end(self._held)
        if guard.left <= 0:
            self._guard = None

    # State as plain data, without the model

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the model as plain data, fit for JSON.

        Save the model beside it, by the means of its library, at the same step.
        """
        return state.to_dict(self)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], learner: Learner) -> Self:
        """Build a monitor from what `to_dict` gave and the learner as it was then."""
        params, estimator, quality, rest = state.read(document)
        monitor = cls(learner, estimator, **{**params, "quality": quality or False})
        state.restore(monitor, rest)
        return monitor

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], model: Any, loss: Any = None, **options: Any
    ) -> Self:
        """Read what `oeuvre.save(monitor, path)` wrote, and go on with the model as it was then.

        `model`, `loss` and `options` are a learner, or as for `Monitor.of`. The sample held back is
        scored: if its loss is not what it was, a `MonitorWarning` says so.
        """
        monitor = cls.from_dict(files.read(path), learner_of(model, loss, **options))
        if monitor._held is not None:
            state.check_model(monitor, as_losses(monitor.learner.evaluate(*monitor._held)))
        return monitor

    def __repr__(self) -> str:
        return f"<Monitor of {type(self.learner).__name__} by {self.estimator!r}, n={self.n}>"


files.OTHERS["Monitor"] = Monitor
