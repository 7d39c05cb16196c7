"""Two estimators on the same samples: the sum and the difference of two losses."""

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from oeuvre._kernels.checks import to_float
from oeuvre.errors import InvalidInput, InvalidParameter, StateError
from oeuvre.estimators.adaptive import AdaptiveOeuvre
from oeuvre.estimators.arrays import column
from oeuvre.estimators.base import Estimator, Trajectory
from oeuvre.intervals import Interval
from oeuvre.parameters import invalid

__all__ = ["Paired"]


class Paired:
    """Two estimators fed by the same stream, with intervals for their difference and their sum.

    Two models, or two losses of one, scored on the same samples err together, so the difference is
    known better than each alone. It is a loss like any other: the difference of the current losses
    and that of the previous ones are a pair, and an `AdaptiveOeuvre` is fed with them, another one
    with the sums. Their weights suit the difference and the sum.

    Parameters
    ----------
    first, second
        An `Oeuvre`, an `AdaptiveOeuvre` or an `Ensemble` each. Fresh copies are used: what they
        have seen is not.

    Examples
    --------
    Two fixed predictions of the same numbers, 0.45 and 0.5; the second is better by 0.0025. Their
    intervals overlap:

    >>> import numpy as np
    >>> from oeuvre import AdaptiveOeuvre, Paired
    >>> z = np.random.default_rng(3).random(2000)
    >>> old, new = (z - 0.45) ** 2, (z - 0.5) ** 2
    >>> pair = Paired(AdaptiveOeuvre(), AdaptiveOeuvre())
    >>> _ = pair.replay((old, new), (old, new))
    >>> print(pair.first.interval(), pair.second.interval(), sep=", ")
    0.08404 to 0.09105 (95 %), 0.08226 to 0.08891 (95 %)
    >>> print(pair.difference())
    0.0006608 to 0.003253 (95 %)
    """

    __slots__ = ("_members",)

    _names = ("first", "second", "difference", "sum")

    def __init__(self, first: Estimator, second: Estimator) -> None:
        for name, member in (("first", first), ("second", second)):
            if not (isinstance(member, Estimator) and member._normal() is not None):
                wanted = "an estimator that has intervals: Oeuvre, AdaptiveOeuvre() or Ensemble()"
                raise invalid("Paired", name, wanted, member)
        own = AdaptiveOeuvre(), AdaptiveOeuvre()
        self._members: tuple[Estimator, ...] = (first.clone(), second.clone(), *own)

    @property
    def first(self) -> Estimator:
        """The first estimator; to be looked at, not to be fed."""
        return self._members[0]

    @property
    def second(self) -> Estimator:
        """The second estimator; to be looked at, not to be fed."""
        return self._members[1]

    @property
    def n(self) -> int:
        """The number of steps taken; a batch is one step."""
        return self.first.n

    def update(self, losses: Any, previous: Any = (None, None), *, rate: Any = None) -> None:
        """Take one step with one fresh sample; `losses` and `previous` are pairs, first's first."""
        now, last = both("losses", losses), both("previous", previous)
        missing = any(each is None for each in last)
        ways = zip(
            (*now, *apart_and_together(*map(to_float, now))),
            (*last, *((None, None) if missing else apart_and_together(*map(to_float, last)))),
            strict=True,
        )
        self._all("update", ways, rate=rate)

    def update_many(self, losses: Any, previous: Any = (None, None), *, rate: Any = None) -> None:
        """Take one step with a batch of fresh samples; each argument is a pair of arrays."""
        self._all("update_many", self._arrays(losses, previous), rate=rate)

    def replay(
        self,
        losses: Any,
        previous: Any = (None, None),
        *,
        rates: ArrayLike | None = None,
        sizes: ArrayLike | None = None,
    ) -> tuple[Trajectory, Trajectory]:
        """Take many steps at compiled speed; `losses` and `previous` are pairs of arrays.

        Returns the courses of the first and of the second estimator.
        """
        ways = self._arrays(losses, previous)
        first, second, _, _ = self._all("replay", ways, rates=rates, sizes=sizes)
        return first, second

    def _arrays(self, losses: Any, previous: Any) -> Iterable[tuple[Any, Any]]:
        """Return the losses and the previous losses of each member, from pairs of arrays."""
        columns = []
        for name, pair in (("losses", losses), ("previous", previous)):
            one, two = both(name, pair)
            if one is None or two is None:
                columns.append((one, two, None, None))
                continue
            one, two = column(name, one), column(name, two)
            if len(one) != len(two):
                raise InvalidInput(
                    f"{name!r} must be two arrays of one length. "
                    f"Got {len(one)} and {len(two)} entries instead."
                )
            with np.errstate(over="ignore", invalid="ignore"):
                columns.append((one, two, *apart_and_together(one, two)))
        return zip(*columns, strict=True)

    def _all(self, method: str, ways: Iterable[tuple[Any, Any]], **options: Any) -> list[Any]:
        """Let all members take their steps, or none."""
        before: list[tuple[Estimator, dict[str, Any]]] = []
        made = []
        try:
            for member, (loss, last) in zip(self._members, ways, strict=True):
                before.append((member, member._get_state()))
                made.append(getattr(member, method)(loss, last, **options))
        except BaseException:
            for member, state in before:
                member._set_state(state)
            raise
        return made

    def difference(self, level: Any = 0.95, kind: str = "normal", **options: Any) -> Interval:
        """Return an interval for the first loss minus the second: above 0, the second is better.

        The arguments are those of an estimator's `interval`: `side`, `horizon` and `proxy` too.
        "normal" is the interval of an `AdaptiveOeuvre` fed with the differences, whatever the two
        estimators are; its center is not quite the difference of theirs. The other kinds give each
        loss half of what may be missed, and subtract ends.
        """
        if kind == "normal":
            return self._members[2].interval(level, kind, **options)
        one, two = self._halves(level, kind, {"lower": "upper", "upper": "lower"}, options)
        return Interval(one.lower - two.upper, one.upper - two.lower, float(level))

    def sum(self, level: Any = 0.95, kind: str = "normal", **options: Any) -> Interval:
        """Return an interval for the sum of both losses; see `difference`."""
        if kind == "normal":
            return self._members[3].interval(level, kind, **options)
        one, two = self._halves(level, kind, {}, options)
        return Interval(one.lower + two.lower, one.upper + two.upper, float(level))

    def _halves(
        self, level: Any, kind: str, swapped: Mapping[str, str], options: Mapping[str, Any]
    ) -> tuple[Interval, Interval]:
        """Return an interval of each loss, with half of what may be missed.

        `swapped` tells which end of the second belongs to which end of the first.
        """
        self.first.interval(level, kind, **options)  # it checks the arguments
        half = 0.5 + 0.5 * float(level)
        side = options.get("side", "two")
        other = {**options, "side": swapped.get(side, side)}
        return (
            self.first.interval(half, kind, **options),
            self.second.interval(half, kind, **other),
        )

    def reset(self) -> None:
        """Forget everything but the parameters."""
        for member in self._members:
            member.reset()

    def clone(self) -> Self:
        """Return a fresh pair with the same parameters."""
        return type(self)(self.first, self.second)

    def to_dict(self) -> dict[str, Any]:
        """Return parameters and state as plain data, fit for JSON."""
        members = zip(self._names, self._members, strict=True)
        return {
            "kind": "Paired",
            "version": 1,
            **{name: member.to_dict() for name, member in members},
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Build a pair from what `to_dict` gave; raise StateError if it is torn or foreign."""
        keys = {"kind", "version", *cls._names}
        if not isinstance(document, Mapping) or set(document) != keys:
            raise StateError(f"A saved Paired must be a mapping with the keys {sorted(keys)}.")
        if document["kind"] != "Paired" or document["version"] != 1:
            raise StateError("A saved Paired must be of version 1, of this version of oeuvre.")
        members = tuple(Estimator.from_dict(document[name]) for name in cls._names)
        try:
            pair = cls(members[0], members[1])
        except InvalidParameter as error:
            raise StateError(f"The entries of this saved Paired do not fit: {error}") from error
        return pair._with(members)

    def _with(self, members: tuple[Estimator, ...]) -> Self:
        """Put other members into the places of the own ones, or raise StateError."""
        if len({member.n for member in members}) > 1 or any(
            repr(new) != repr(old) for new, old in zip(members, self._members, strict=True)
        ):
            raise StateError("The entries of this saved Paired do not fit each other.")
        self._members = members
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        states = [member._get_state() for member in self._members]
        return _rebuild, (type(self), self.first.clone(), self.second.clone(), states)

    def __repr__(self) -> str:
        return f"Paired({self.first!r}, {self.second!r})"


def _rebuild(
    kind: type[Paired], first: Estimator, second: Estimator, states: list[dict[str, Any]]
) -> Paired:  # for pickle and copy
    pair = kind(first, second)
    for member, state in zip(pair._members, states, strict=True):
        member._set_state(state)
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


def apart_and_together(one: Any, two: Any) -> tuple[Any, Any]:
    """Return difference and sum."""
    return one - two, one + two
