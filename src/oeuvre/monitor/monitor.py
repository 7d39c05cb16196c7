"""Samples in, the loss of the current model out."""

import copy
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from oeuvre._kernels.checks import batch_mean, to_float
from oeuvre.errors import InvalidInput, InvalidLoss, NotSerializable, StateError
from oeuvre.estimators import AdaptiveOeuvre, Estimator, Quality, Snapshot, files
from oeuvre.estimators.arrays import Floats, column
from oeuvre.estimators.snapshot import take
from oeuvre.intervals import Interval
from oeuvre.learners import Learner, learner_of
from oeuvre.monitor.guards import Guard, digest
from oeuvre.monitor.samples import from_data, to_data
from oeuvre.parameters import boolean, integer, invalid

__all__ = ["Monitor"]

Mode: TypeAlias = Literal["lag", "snapshot"]
Losses: TypeAlias = float | Floats | None
"""The loss of a sample, the losses of a batch, or None where there is no model yet."""
COUNTERS = ("skipped", "unseen", "expired")


class Monitor:
    """A learner and the estimate of its loss, fed sample by sample in the right order.

    At each step the fresh sample is scored on the model as it is, then the model is trained on the
    sample held back, and the fresh sample is scored again and held back in its turn. So every
    sample is scored before it is learned, by two models, and no model is copied. The estimate is
    about the model as it is after the step.

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
        if not isinstance(learner, Learner):
            wanted = "an object with 'evaluate' and 'learn'; Monitor.of takes models of libraries"
            raise invalid("Monitor", "learner", wanted, learner)
        if not isinstance(estimator, Estimator | None):
            raise invalid("Monitor", "estimator", "an estimator", estimator)
        if not (isinstance(mode, str) and mode in ("lag", "snapshot")):
            raise invalid("Monitor", "mode", "'lag' or 'snapshot'", mode)
        self.learner = learner
        self.estimator: Estimator = AdaptiveOeuvre() if estimator is None else estimator
        given = isinstance(quality, Quality) or boolean("Monitor", "quality", quality)
        if given and not any(hasattr(each, "predicted") for each in (learner, type(learner))):
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
        self._guard: Guard | None = Guard(learner, guard) if guard else None
        self._held: tuple[Any, Any] | None = None
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
        cls,
        model: Any,
        loss: Any = None,
        estimator: Estimator | None = None,
        *,
        mode: Mode = "lag",
        skip: bool = False,
        quality: bool | Quality = False,
        guard: int = 5,
        limit: int = 1000,
        **options: Any,
    ) -> Self:
        """Return a monitor of a River, scikit-learn or PyTorch model.

        Parameters
        ----------
        model
            The model. The adapter is chosen by what it can do.
        loss
            A word such as "squared", "log" or "zero-one", a `losses.Loss`, or a function of
            (y, prediction); see `losses`. Each adapter has a default.
        estimator, mode, skip, quality, guard, limit
            As for `Monitor`.
        options
            Those of the adapter: `classes` for scikit-learn, `optimizer` and others for PyTorch.
        """
        learner = learner_of(model, loss, **options)
        return cls(
            learner, estimator, mode=mode, skip=skip, quality=quality, guard=guard, limit=limit
        )

    # Samples

    def update(self, x: Any, y: Any) -> Snapshot:
        """Take one step with a fresh sample, or with a batch if the learner takes one.

        If the learner raises, the estimate is as it was, and the same sample can be given again;
        what the model has done by then stays done, and is not done again.
        """
        if unlabelled(y):
            if self._skip:
                self.skipped += 1
                return take(self.estimator)
            raise InvalidInput(
                f"'y' must be a label, without missing ones. Got {y!r:.80} instead. With skip=True "
                "such samples are left out; a label that comes later is for ask and answer."
            )
        return self._step(x, y)

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
            self._held, self._gap = None, True
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
        if ticket not in self._waiting:
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
        if self._moved is not None and not is_sample(self._moved, x, y):
            self._moved, self._gap = None, True  # whoever could have told of that move is gone
        if self._moved is None:
            previous = as_losses(learner.evaluate(x, y))
            if guard is not None:
                guard.evaluated(x, y, previous)
            if not finite(previous):
                return self._leave_out(x, y, previous)
            before = None if self.quality is None else learner.predicted  # type: ignore[attr-defined]
        else:
            _, _, previous, before = self._moved
        if self._held is not None:
            learner.learn(*self._held)
            self._moved, self._held = (x, y, previous, before), None
        loss = previous
        if self._prepare is not None:
            loss = as_losses(self._prepare(x, y))
        elif self._moved is not None:
            loss = as_losses(learner.evaluate(x, y))
        if not finite(loss):
            return self._leave_out(x, y, loss)
        snapshot = self._feed(y, loss, previous, before, self._moved is not None)
        self._held, self._moved = (x, y), None
        if guard is not None:
            self._close(guard)
        return snapshot

    def _copying(self, x: Any, y: Any) -> Snapshot:
        """Score the sample on the model and on the copy, then copy the model and learn."""
        learner, guard = self.learner, self._guard
        if guard is not None:
            guard.begin(x, None)
        before = None
        behind = learner if self._behind is None else self._behind
        previous = as_losses(behind.evaluate(x, y))
        if self.quality is not None:
            before = behind.predicted  # type: ignore[attr-defined]
        loss = as_losses(learner.evaluate(x, y)) if behind is not learner else previous
        if guard is not None:
            guard.evaluated(x, y, loss)
        for each in (previous, loss):
            if not finite(each):
                return self._leave_out(x, y, each)
        state = (
            self.estimator._get_state(),
            None if self.quality is None else self.quality.to_dict(),
        )
        snapshot = self._feed(y, loss, previous, before, behind is not learner)
        try:
            kept = copy.deepcopy(learner)
            learner.learn(x, y)
        except BaseException:
            self.estimator._set_state(state[0])
            if state[1] is not None:
                self.quality = Quality.from_dict(state[1])
            raise
        self._behind = kept
        if guard is not None:
            self._close(guard)
        return snapshot

    def _feed(self, y: Any, loss: Losses, previous: Losses, before: Any, learned: bool) -> Snapshot:
        """Give a pair to the estimator, and labels to the quality; both take the step or none."""
        estimator = self.estimator
        if loss is None:
            return take(estimator)
        rate = self.learner.stability_rate if self._rated and learned else None  # type: ignore[attr-defined]
        state = None if self.quality is None else estimator._get_state()
        if isinstance(loss, float):
            mean, last = loss, previous
            estimator.update(loss, previous, rate=rate)
        else:
            mean, last = mean_of(loss), mean_of(previous)
            estimator._update_batch(mean, last, rate, float(len(loss)))
        if self.quality is not None:
            labels = self.learner.predicted  # type: ignore[attr-defined]
            try:
                if isinstance(loss, float):
                    self.quality.update(y, one_label(labels), one_label(before))
                else:
                    self.quality.update_many(y, labels, before)
            except BaseException:
                estimator._set_state(state)  # type: ignore[arg-type]
                raise
        if self._gap:
            self.unseen, self._gap = self.unseen + 1, False
        return take(estimator, mean, math.nan if last is None else last)  # type: ignore[arg-type]

    def _leave_out(self, x: Any, y: Any, losses: Losses) -> Snapshot:
        """Skip a sample whose loss is not finite, or raise InvalidLoss."""
        if not self._skip:
            worst = next(float(loss) for loss in np.ravel(losses) if not math.isfinite(loss))  # type: ignore[arg-type]
            raise InvalidLoss(
                f"The loss of a sample must be a finite number. Got {worst!r} for x={x!r:.80}, "
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
        if self._behind is not None:
            raise NotSerializable(
                "In the mode 'snapshot' a monitor keeps a copy of the model, which is not data. "
                "Pickle the monitor where you trust the file, or use the mode 'lag'."
            )
        moved = self._moved
        if moved is not None and isinstance(moved[2], np.ndarray):
            moved = (*moved[:2], moved[2].tolist(), moved[3])
        return {
            "kind": "Monitor",
            "version": 1,
            "params": dict(self._params),
            "estimator": self.estimator.to_dict(),
            "quality": None if self.quality is None else self.quality.to_dict(),
            "state": {
                **{name: getattr(self, name) for name in COUNTERS},
                "tickets": self._tickets,
                "gap": self._gap,
                "guard": 0 if self._guard is None else self._guard.left,
                "held": to_data(self._held),
                "moved": to_data(moved),
                "waiting": [[ticket, to_data(x)] for ticket, x in self._waiting.items()],
            },
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], learner: Learner) -> Self:
        """Build a monitor from what `to_dict` gave and the learner it was then."""
        keys = {"kind", "version", "params", "estimator", "quality", "state"}
        if not isinstance(document, Mapping) or set(document) != keys:
            raise StateError(f"A saved Monitor must be a mapping with the keys {sorted(keys)}.")
        if document["kind"] != "Monitor" or document["version"] != 1:
            raise StateError("A saved Monitor must be of version 1, of this version of oeuvre.")
        try:
            params, state = document["params"], document["state"]
            monitor = cls(learner, Estimator.from_dict(document["estimator"]), **params)
            if monitor.quality is not None:
                monitor.quality = Quality.from_dict(document["quality"])
            for name in COUNTERS:
                setattr(monitor, name, integer("Monitor", name, state[name], 0))
            monitor._tickets = integer("Monitor", "tickets", state["tickets"], 0)
            monitor._gap = boolean("Monitor", "gap", state["gap"])
            left = integer("Monitor", "guard", state["guard"], 0)
            monitor._guard = Guard(learner, left) if left else None
            held, moved = from_data(state["held"]), from_data(state["moved"])
            waiting = [
                (integer("Monitor", "ticket", t, 1), from_data(x)) for t, x in state["waiting"]
            ]
        except (KeyError, TypeError, ValueError) as error:
            raise StateError(f"The entries of this saved Monitor do not fit: {error}") from error
        if not (is_tuple(held, 2) and is_tuple(moved, 4)):
            raise StateError("The samples of this saved Monitor do not fit.")
        monitor._held, monitor._waiting = held, dict(waiting)
        monitor._moved = None if moved is None else (*moved[:2], as_losses(moved[2]), moved[3])
        return monitor

    @classmethod
    def load(cls, path: str | os.PathLike[str], learner: Learner) -> Self:
        """Read what `oeuvre.save(monitor, path)` wrote, and go on with the learner it was then."""
        return cls.from_dict(files.read(path), learner)

    def __repr__(self) -> str:
        return f"<Monitor of {type(self.learner).__name__} by {self.estimator!r}, n={self.n}>"


def as_losses(found: Any) -> Losses:
    """Return what an evaluation gave as a float, an array of floats, or None."""
    if found is None or type(found) is float:
        return found
    if type(found) is np.ndarray and found.dtype == np.float64 and found.ndim == 1 and found.size:
        return np.ascontiguousarray(found)
    if getattr(found, "shape", None) == () or not hasattr(found, "__len__"):
        return to_float(found)
    return column("losses", found)


def mean_of(losses: Losses) -> Any:
    """Return the mean of a batch's losses, from left to right; None if there is no model yet."""
    return None if losses is None else batch_mean(losses.data, 0, len(losses))  # type: ignore[union-attr, arg-type]


def finite(losses: Losses) -> bool:
    """Tell whether all losses are finite; no loss is no bad one."""
    if isinstance(losses, float):
        return math.isfinite(losses)
    return losses is None or bool(np.isfinite(losses).all())


def unlabelled(y: Any) -> bool:
    """Tell whether a label is missing, or one of a batch."""
    if isinstance(y, float):
        return math.isnan(y)
    if y is None or isinstance(y, int | str):
        return y is None
    kind = getattr(getattr(y, "dtype", None), "kind", "")
    if kind == "O":
        return any(map(unlabelled, np.asarray(y).flat))
    if kind == "f":
        return bool(np.isnan(y).any())
    if hasattr(y, "is_floating_point"):  # a torch tensor
        return bool(y.is_floating_point() and y.isnan().any())
    return False


def is_sample(moved: tuple[Any, Any, Losses, Any], x: Any, y: Any) -> bool:
    """Tell whether a sample is the one with which a step was broken off."""
    return (x is moved[0] and y is moved[1]) or (
        (seen := digest((x, y))) is not None and seen == digest(moved[:2])
    )


def one_label(labels: Any) -> Any:
    """Return a label that may stand alone in an array."""
    return labels[0] if getattr(labels, "shape", ()) == (1,) else labels


def is_tuple(value: Any, size: int) -> bool:
    """Tell whether a saved value is None or a tuple of some size."""
    return value is None or (isinstance(value, tuple) and len(value) == size)


files.OTHERS["Monitor"] = Monitor
