"""Two estimators on the same samples: the sum and the difference of two losses."""

import math
from collections.abc import Mapping
from typing import Any, Self

from numpy.typing import ArrayLike

from oeuvre import intervals
from oeuvre._kernels.evidence import PairCore
from oeuvre.errors import InvalidInput, InvalidParameter, StateError
from oeuvre.estimators.base import Estimator, Trajectory, count, nonnegative, number
from oeuvre.intervals import Interval, Side
from oeuvre.parameters import invalid

__all__ = ["Paired"]


class Paired(PairCore):
    """Two estimators fed by the same stream, with intervals for their sum and their difference.

    Two models, or two losses of one, scored on the same samples err together, so the difference is
    known better than each alone. The correlation of the errors comes from the moves of both
    estimates at each step.

    Parameters
    ----------
    first, second
        An `Oeuvre`, an `AdaptiveOeuvre` or an `Ensemble` each; fresh copies of them are used.

    Notes
    -----
    One estimator may be given the differences themselves, `update(loss_a − loss_b, previous_a −
    previous_b)`; its weights then suit the difference, and its interval is often narrower.

    Examples
    --------
    Two fixed predictions of the same numbers, 0.5 and 0.6; the second is worse by 0.01:

    >>> import numpy as np
    >>> from oeuvre import AdaptiveOeuvre, Paired
    >>> z = np.random.default_rng(0).random(500)
    >>> a, b = (z - 0.5) ** 2, (z - 0.6) ** 2
    >>> pair = Paired(AdaptiveOeuvre(), AdaptiveOeuvre())
    >>> _ = pair.replay((a, b), (a, b))
    >>> print(pair.first.interval(), pair.second.interval(), sep=", ")
    0.0773 to 0.0907 (95 %), 0.07974 to 0.09596 (95 %)
    >>> print(pair.difference())
    -0.008917 to 0.001221 (95 %)
    """

    __slots__ = ("_first", "_second")

    _fields = {
        "pairs": count,
        "drift_first": number,
        "drift_second": number,
        "seen_first": nonnegative,
        "seen_second": nonnegative,
        "cross": number,
    }

    def __init__(self, first: Estimator, second: Estimator) -> None:
        for name, member in (("first", first), ("second", second)):
            if not (isinstance(member, Estimator) and member._has_interval):
                wanted = "an estimator that has intervals: Oeuvre, AdaptiveOeuvre() or Ensemble()"
                raise invalid("Paired", name, wanted, member)
        self._first, self._second = first.clone(), second.clone()
        self._clear()

    @property
    def first(self) -> Estimator:
        """The first estimator; to be looked at, not to be fed."""
        return self._first

    @property
    def second(self) -> Estimator:
        """The second estimator; to be looked at, not to be fed."""
        return self._second

    @property
    def n(self) -> int:
        """The number of steps taken; a batch is one step."""
        return self._first.n

    @property
    def correlation(self) -> float:
        """The correlation of the errors of both estimates, from −1 to 1; 0 if one never moved."""
        low, high = sorted((self._seen_first, self._seen_second))
        if low <= 1e-300 * high:
            return 0.0
        return max(-1.0, min(1.0, self._cross / high / math.sqrt(low / high)))

    def update(self, losses: Any, previous: Any = (None, None), *, rate: Any = None) -> None:
        """Take one step with one fresh sample; `losses` and `previous` are pairs, first's first."""
        self._step("update", losses, previous, rate)

    def update_many(self, losses: Any, previous: Any = (None, None), *, rate: Any = None) -> None:
        """Take one step with a batch of fresh samples; each argument is a pair of arrays."""
        self._step("update_many", losses, previous, rate)

    def _step(self, method: str, losses: Any, previous: Any, rate: Any) -> None:
        """Let both take a step, or neither."""
        (loss, other), (prior, last) = both("losses", losses), both("previous", previous)
        first, second = self._first, self._second
        started = first.n > 0
        were = (first.get(), second.get()) if started else (0.0, 0.0)
        state = first._get_state()
        getattr(first, method)(loss, prior, rate=rate)
        try:
            getattr(second, method)(other, last, rate=rate)
        except BaseException:
            first._set_state(state)
            raise
        if started:
            moves = first.get() - were[0], second.get() - were[1]
            self._join(*moves, first.weight, second.weight)

    def replay(
        self,
        losses: Any,
        previous: Any = (None, None),
        *,
        rates: ArrayLike | None = None,
        sizes: ArrayLike | None = None,
    ) -> tuple[Trajectory, Trajectory]:
        """Take many steps at compiled speed; `losses` and `previous` are pairs of arrays."""
        (loss, other), (prior, last) = both("losses", losses), both("previous", previous)
        first, second = self._first, self._second
        starts = [first.get(), second.get()] if first.n > 0 else []
        states = first._get_state(), second._get_state()
        try:
            one = first.replay(loss, prior, rates=rates, sizes=sizes)
            two = second.replay(other, last, rates=rates, sizes=sizes)
            if len(one) != len(two):
                raise InvalidInput(
                    "'losses' must be two arrays of one length. "
                    f"Got {len(one)} and {len(two)} steps instead."
                )
        except BaseException:
            first._set_state(states[0])
            second._set_state(states[1])
            raise
        skip = 0 if starts else 1
        starts = starts or [float(one.estimate[0]), float(two.estimate[0])]
        arrays = (one.estimate, two.estimate, one.weight, two.weight)
        self._join_many(*starts, *(array[skip:].data for array in arrays))
        return one, two

    def difference(
        self,
        level: Any = 0.95,
        kind: str = "normal",
        *,
        side: Side = "two",
        horizon: int | None = None,
        proxy: str = "tight",
    ) -> Interval:
        """Return an interval for the first loss minus the second.

        The arguments are those of an estimator's `interval`. "normal" knows how the errors go
        together; the other kinds give each loss half of what may be missed, and subtract ends.
        """
        return self._combine(-1.0, level, kind, side, horizon, proxy)

    def sum(
        self,
        level: Any = 0.95,
        kind: str = "normal",
        *,
        side: Side = "two",
        horizon: int | None = None,
        proxy: str = "tight",
    ) -> Interval:
        """Return an interval for the sum of both losses; see `difference`."""
        return self._combine(1.0, level, kind, side, horizon, proxy)

    def _combine(
        self, sign: float, level: Any, kind: str, side: Side, horizon: int | None, proxy: str
    ) -> Interval:
        options: dict[str, Any] = {"horizon": horizon, "proxy": proxy}
        one = self._first.interval(level, kind, side=side, **options)  # it checks the arguments
        if kind == "normal":
            v, w = self._first._normal_variance(), self._second._normal_variance()
            low, high = sorted((v, w))
            spread = math.inf
            if high < math.inf:
                shared = high * math.sqrt(low / high) if high > 0.0 else 0.0
                spread = max(0.0, v + w + 2.0 * sign * self.correlation * shared)
            center = self._first.get() + sign * self._second.get()
            return intervals.normal(center, spread, level, side=side)
        other: Side = side
        if sign < 0.0 and side != "two":
            other = "lower" if side == "upper" else "upper"
        half = 0.5 + 0.5 * float(level)
        one = self._first.interval(half, kind, side=side, **options)
        two = self._second.interval(half, kind, side=other, **options)
        if sign > 0.0:
            return Interval(one.lower + two.lower, one.upper + two.upper, float(level))
        return Interval(one.lower - two.upper, one.upper - two.lower, float(level))

    def reset(self) -> None:
        """Forget everything but the parameters."""
        self._first.reset()
        self._second.reset()
        self._clear()

    def clone(self) -> Self:
        """Return a fresh pair with the same parameters."""
        return type(self)(self._first, self._second)

    def _get_state(self) -> dict[str, Any]:
        return {name: getattr(self, "_" + name) for name in self._fields}

    def _set_state(self, state: Mapping[str, Any]) -> None:
        for name in self._fields:
            setattr(self, "_" + name, state[name])

    def to_dict(self) -> dict[str, Any]:
        """Return parameters and state as plain data, fit for JSON."""
        return {
            "kind": "Paired",
            "version": 1,
            "first": self._first.to_dict(),
            "second": self._second.to_dict(),
            "state": self._get_state(),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Build a pair from what `to_dict` gave; raise StateError if it is torn or foreign."""
        keys = {"kind", "version", "first", "second", "state"}
        if not isinstance(document, Mapping) or set(document) != keys:
            raise StateError(f"A saved Paired must be a mapping with the keys {sorted(keys)}.")
        if document["kind"] != "Paired" or document["version"] != 1:
            raise StateError("A saved Paired must be of version 1, of this version of oeuvre.")
        members = [Estimator.from_dict(document[name]) for name in ("first", "second")]
        state = document["state"]
        if not isinstance(state, dict) or set(state) != set(cls._fields):
            raise StateError(f"The 'state' of a saved Paired must have {sorted(cls._fields)}.")
        for name, good in cls._fields.items():
            if not good(state[name]):
                raise StateError(f"{name!r} in this saved Paired cannot be {state[name]!r}.")
        if members[0].n != members[1].n or state["pairs"] != max(0, members[0].n - 1):
            raise StateError("The entries of this saved Paired do not fit each other.")
        try:
            pair = cls(*members)
        except InvalidParameter as error:
            raise StateError(f"The entries of this saved Paired do not fit: {error}") from error
        pair._first, pair._second = members
        pair._set_state(state)
        return pair

    def __reduce__(self) -> tuple[Any, ...]:
        members = [(type(m), m._params, m._get_state()) for m in (self._first, self._second)]
        return _rebuild, (type(self), members, self._get_state())

    def __repr__(self) -> str:
        return f"Paired({self._first!r}, {self._second!r})"


def _rebuild(
    kind: type[Paired], members: list[tuple[Any, ...]], state: Mapping[str, Any]
) -> Paired:  # for pickle and copy
    first, second = (member(**params) for member, params, _ in members)
    pair = kind(first, second)
    for member, (_, _, own) in zip((pair._first, pair._second), members, strict=True):
        member._set_state(own)
    pair._set_state(state)
    return pair


def both(name: str, given: Any) -> tuple[Any, Any]:
    """Return a pair, or raise InvalidInput."""
    try:
        first, second = given
    except (TypeError, ValueError):
        raise InvalidInput(
            f"{name!r} must be a pair, one for each estimator. Got {given!r:.80} instead."
        ) from None
    return first, second
