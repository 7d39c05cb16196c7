"""What every estimator shares: batches, replay over arrays, and state as plain data."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from oeuvre import intervals
from oeuvre._kernels.checks import not_enough_data
from oeuvre.errors import InvalidLoss, NotAvailable, OeuvreError, StateError
from oeuvre.estimators.arrays import Floats, check_batch, check_steps
from oeuvre.intervals import Interval, Side
from oeuvre.intervals.asking import check_options, check_question

__all__ = [
    "KINDS",
    "Estimator",
    "Trajectory",
    "count",
    "fraction",
    "nonnegative",
    "number",
]

Document: TypeAlias = dict[str, Any]
Migration: TypeAlias = Callable[[Document, Document], tuple[Document, Document]]

KINDS: dict[str, type["Estimator"]] = {}
"""Every estimator by its name, as a saved state names it."""


@dataclass(frozen=True, eq=False, slots=True)
class Trajectory:
    """The course of a replay: arrays with one entry a step.

    `variance` is None for an average of past models, which has none.
    """

    estimate: Floats
    variance: Floats | None
    weight: Floats

    def __len__(self) -> int:
        return len(self.estimate)

    def __repr__(self) -> str:
        return f"<Trajectory of {len(self)} steps, the last estimate {self.estimate[-1]:.6g}>"


def number(value: object) -> bool:
    """Tell whether a saved value is a finite float."""
    return isinstance(value, float) and math.isfinite(value)


def nonnegative(value: object) -> bool:
    """Tell whether a saved value is a finite float of at least 0."""
    return isinstance(value, float) and 0.0 <= value < math.inf


def fraction(value: object) -> bool:
    """Tell whether a saved value is a float from 0 to 1."""
    return isinstance(value, float) and 0.0 <= value <= 1.0


def count(value: object) -> bool:
    """Tell whether a saved value is an int of at least 0."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


class Estimator(ABC):
    """The face of every estimator; a compiled core before it in the bases does the arithmetic."""

    __slots__ = ()

    _fields: ClassVar[Mapping[str, Callable[[object], bool]]]
    """The core's attributes that make up the state, each with the check of a saved value."""
    _migrations: ClassVar[tuple[Migration, ...]] = ()
    """Entry i turns the saved (params, state) of version i + 1 into those of version i + 2."""
    _has_variance: ClassVar[bool] = False
    _needs_previous: ClassVar[bool] = False

    _n: int
    _params: dict[str, Any]

    def __init_subclass__(cls, *, abstract: bool = False) -> None:
        super().__init_subclass__()
        if not abstract:
            KINDS[cls.__name__] = cls

    @abstractmethod
    def update(self, loss: Any, previous: Any = None, *, rate: Any = None) -> None:
        """Take one step with one fresh sample."""

    @abstractmethod
    def _update_batch(self, loss: float, previous: Any, rate: Any, size: float) -> None:
        """Take one step with the mean losses of a batch."""

    @abstractmethod
    def _replay(
        self,
        losses: Any,
        previous: Any,
        rates: Any,
        sizes: Any,
        estimate: Any,
        variance: Any,
        weight: Any,
    ) -> None:
        """Take a step for each entry of checked buffers and write down the course."""

    @abstractmethod
    def get(self) -> float:
        """Return the estimate; raise NotEnoughData before the first update."""

    @property
    @abstractmethod
    def weight(self) -> float:
        """The weight of the newest step in the estimate, from 0 to 1."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variance of the estimate; NotAvailable for an average of past models."""

    @property
    @abstractmethod
    def effective_n(self) -> float:
        """The number of independent samples that would make a mean as precise."""

    def interval(
        self,
        level: Any = 0.95,
        kind: str = "normal",
        *,
        side: Side = "two",
        horizon: int | None = None,
        proxy: str = "tight",
    ) -> Interval:
        """Return an interval for the expected loss of the current model.

        Each is about its own step. Never intersect intervals of different steps: the loss moves.

        Parameters
        ----------
        level
            How often the interval is to hold, between 0 and 1.
        kind
            "normal": from the central limit theorem, with the variance that was seen. `Oeuvre` has
            "conservative", the same with the bound V↑_t, and, for losses in [0, b] and a learner
            whose `b` and `c` are given, "hoeffding" and "bernstein", which hold however few the
            samples are, and "anytime", which holds at all steps at once.
        side
            "two"; or "lower" or "upper" for that end alone, the other one infinite.
        horizon
            For "anytime", and for "bernstein" if it is to hold at all steps at once: the step that
            matters most: hardly any other choice gives narrower intervals there. It must be the
            same whenever you ask.
        proxy
            For "hoeffding" and "anytime": "tight", or the wider "paper".

        Returns
        -------
        Interval
            Infinite where nothing is known yet.
        """
        check_question(level, kind, side)
        self._check_kind(kind)
        check_options(kind, horizon, proxy)
        self._check_started()
        return self._interval(float(level), kind, side, horizon, proxy)

    def _interval(
        self, level: float, kind: str, side: Side, horizon: int | None, proxy: str
    ) -> Interval:
        """Make an interval of a kind that `_check_kind` allows."""
        normal = self._normal()
        if normal is None:
            raise NotAvailable(f"{type(self).__name__} has no interval.")
        return intervals.holding(self.get(), normal, level, side)

    def _normal(self) -> tuple[float, float] | None:
        """Return center and variance of the interval of kind "normal"; None if there is none."""
        return None

    def _check_kind(self, kind: str) -> None:
        """Raise NotAvailable if this estimator can never have an interval of this kind."""
        raise NotAvailable(
            f"{type(self).__name__} averages the losses of past models, so it has no interval for "
            "the loss of the current one. Oeuvre, AdaptiveOeuvre and Ensemble have."
        )

    @abstractmethod
    def reset(self) -> None:
        """Forget everything but the parameters."""

    @property
    def n(self) -> int:
        """The number of steps taken; a batch is one step."""
        return self._n

    def _check_started(self) -> None:
        if self._n == 0:
            raise not_enough_data()

    def clone(self) -> Self:
        """Return a fresh estimator with the same parameters."""
        return type(self)(**self._params)

    def update_many(
        self, losses: ArrayLike, previous: ArrayLike | None = None, *, rate: Any = None
    ) -> None:
        """Take one step with a batch of fresh samples.

        Parameters
        ----------
        losses
            The loss of the current model on each sample.
        previous
            The loss of the model one step earlier on the same samples. Not needed at the first
            step.
        rate
            The stability rate r(t) of this step, instead of the schedule's.
        """
        loss, before, size = check_batch(losses, previous, self._n == 0)
        self._update_batch(loss, before, rate, size)

    def replay(
        self,
        losses: ArrayLike,
        previous: ArrayLike | None = None,
        *,
        rates: ArrayLike | None = None,
        sizes: ArrayLike | None = None,
    ) -> Trajectory:
        """Take many steps at compiled speed; the state goes on from where it was.

        Parameters
        ----------
        losses
            The loss of the current model at each step.
        previous
            The loss of the model one step earlier on the same samples. Before the very first step
            there was no model: NaN may stand there.
        rates
            The stability rate r(t) of each step, instead of the schedule's.
        sizes
            The number of samples behind each step. `losses` and `previous` hold either one mean a
            step (as many entries as `sizes`) or all samples, batch after batch (as many entries
            as `sizes` adds up to).

        Returns
        -------
        Trajectory
            Estimate, variance and weight after each step.
        """
        steps = check_steps(losses, previous, rates, sizes, self._n == 0)
        length = len(steps.losses)
        if steps.previous is None and self._needs_previous:
            if self._n + length > 1:
                raise InvalidLoss(
                    "'previous' must be the losses of the previous models on the same samples, "
                    "from the second step on. Got None instead."
                )
            steps = steps._replace(previous=steps.losses)
        if steps.rates is None:
            steps = steps._replace(rates=self._rates_ahead(length))
        # one block: a large one gets large pages from the system, three small ones do not
        estimate, weight, *rest = np.empty((2 + self._has_variance, length))
        variance = rest[0] if rest else None
        # memoryviews hand out plain floats, which the kernels want where they are not compiled
        views = [None if a is None else a.data for a in (*steps, estimate, variance, weight)]
        before = self._get_state()
        try:
            self._replay(*views)
        except BaseException:
            self._set_state(before)
            raise
        return Trajectory(estimate, variance, weight)

    def _rates_ahead(self, steps: int) -> Floats | None:
        """Return the rates of the coming steps where the kernel cannot know them."""
        return None

    # State as plain data: {"kind", "version", "params", "state"}

    def _get_state(self) -> dict[str, Any]:
        return {name: getattr(self, "_" + name) for name in self._fields}

    def _set_state(self, state: Mapping[str, Any]) -> None:
        for name in self._fields:
            setattr(self, "_" + name, state[name])

    def _encode_params(self) -> dict[str, Any]:
        """Return the constructor's arguments as plain data, or raise NotSerializable."""
        return dict(self._params)

    @classmethod
    def _decode_params(cls, params: dict[str, Any]) -> dict[str, Any]:
        """Undo `_encode_params`."""
        return params

    def _encode_state(self) -> dict[str, Any]:
        """Return the state as plain data."""
        return self._get_state()

    def _decode_state(self, state: Mapping[str, Any]) -> Mapping[str, Any]:
        """Undo `_encode_state`; raise StateError if something does not fit."""
        return state

    def to_dict(self) -> dict[str, Any]:
        """Return parameters and state as plain data, fit for JSON."""
        return {
            "kind": type(self).__name__,
            "version": 1 + len(self._migrations),
            "params": self._encode_params(),
            "state": self._encode_state(),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Build an estimator from what `to_dict` gave, in this version of the library or before.

        Raises StateError if the document is torn, foreign or of a newer version.
        """
        keys = {"kind", "version", "params", "state"}
        if not isinstance(document, Mapping) or set(document) != keys:
            raise StateError(f"A saved state must be a mapping with the keys {sorted(keys)}.")
        kind, version = document["kind"], document["version"]
        params, state = document["params"], document["state"]
        found = KINDS.get(kind) if isinstance(kind, str) else None
        if found is None or not issubclass(found, cls):
            fitting = ", ".join(name for name, known in KINDS.items() if issubclass(known, cls))
            raise StateError(
                f"The 'kind' of a saved state must be one of: {fitting}. Got {kind!r} instead."
            )
        newest = 1 + len(found._migrations)
        if not (isinstance(version, int) and version >= 1):
            raise StateError(f"The 'version' of a saved state must be an int. Got {version!r}.")
        if version > newest:
            raise StateError(
                f"This {kind} was saved by a newer version of oeuvre: its state has version "
                f"{version}, this one reads up to {newest}. Upgrade oeuvre to load it."
            )
        if not (isinstance(params, dict) and isinstance(state, dict)):
            raise StateError(f"The 'params' and 'state' of a saved {kind} must be mappings.")
        try:
            for migrate in found._migrations[version - 1 :]:
                params, state = migrate(dict(params), dict(state))
            estimator = found(**found._decode_params(params))
        except (
            OeuvreError,
            ValueError,
            TypeError,
            LookupError,
            AttributeError,
            ArithmeticError,
        ) as error:
            raise StateError(f"The entries of this saved {kind} do not fit: {error}") from error
        if set(state) != set(found._fields):
            raise StateError(f"The 'state' of a saved {kind} must have {sorted(found._fields)}.")
        for name, good in found._fields.items():
            if not good(state[name]):
                raise StateError(f"{name!r} in this saved {kind} cannot be {state[name]!r}.")
        estimator._set_state(estimator._decode_state(state))
        try:
            sound = estimator.n == 0 or 0.0 < estimator.effective_n < math.inf
        except (ArithmeticError, OeuvreError):
            sound = False
        if not sound:
            raise StateError(f"The entries of this saved {kind} do not fit each other.")
        return estimator

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self._params, self._get_state())

    def __repr__(self) -> str:
        import inspect  # it takes long to import, and few ask

        defaults = inspect.signature(type(self)).parameters
        changed = (
            f"{name}={value!r}"
            for name, value in self._params.items()
            if value != defaults[name].default
        )
        return f"{type(self).__name__}({', '.join(changed)})"


def _rebuild(
    kind: type[Estimator], params: dict[str, Any], state: dict[str, Any]
) -> Estimator:  # for pickle and copy
    estimator = kind(**params)
    estimator._set_state(state)
    return estimator
