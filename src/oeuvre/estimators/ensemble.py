"""Many estimators in one: blended by how well each predicts the evaluations that follow."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from oeuvre._kernels.adaptive import AdaptiveCore
from oeuvre._kernels.ensemble import EnsembleCore
from oeuvre.errors import NotAvailable, OeuvreError, StateError
from oeuvre.estimators.adaptive import AdaptiveOeuvre
from oeuvre.estimators.arrays import Floats
from oeuvre.estimators.averages import FadingFactor
from oeuvre.estimators.base import Estimator, count, fraction, nonnegative, number
from oeuvre.estimators.oeuvre import Oeuvre
from oeuvre.estimators.ranking import BATCHES, Ranking, rank
from oeuvre.estimators.windows import SlidingWindow
from oeuvre.parameters import integer, invalid, real

__all__ = ["Ensemble", "default_bank"]

WEIGHTS = tuple(2.0**-k for k in range(3, 10))
"""The weights of the averages in the default bank: 1/8 to 1/512."""


def default_bank() -> tuple[tuple[Estimator, ...], tuple[float, ...]]:
    """Return the members of an Ensemble that is given none, and their prior weights.

    Most of the prior is on what needs no rate and no window. The rest is there for data that drift
    or hang together: averages that start as means of all losses and forget at each pace of a
    dyadic grid, and, with a tenth of their prior, the paper's estimator at two of these paces.
    """
    members = (
        AdaptiveOeuvre(two_gain=True, drift="cusum"),
        AdaptiveOeuvre(),
        *(FadingFactor(1.0 - weight) for weight in WEIGHTS),
        *(Oeuvre("constant", gamma=f"max(1/t, {weight})") for weight in (2.0**-4, 2.0**-8)),
    )
    return members, (0.7, 0.1, *(0.18 / len(WEIGHTS) for _ in WEIGHTS), 0.01, 0.01)


def is_kernels(member: Estimator, name: str) -> bool:
    """Tell whether a method of a member is that of its compiled core."""
    kind = next(kind for kind in type(member).__mro__ if name in vars(kind))
    return kind.__module__.startswith("oeuvre._kernels")


def call_of(member: Estimator) -> Callable[..., None] | None:
    """Return what takes a step of a member; None if it is its core, with nothing around it."""
    if not is_kernels(member, "update"):

        def step(loss: float, previous: float, rate: float | None, size: float) -> None:
            if size == 1.0:
                member.update(loss, previous, rate=rate)
            else:
                member._update_batch(loss, previous, rate, size)

        return step
    if is_kernels(member, "_update_batch") and is_kernels(member, "get"):
        return None
    return member._update_batch


def cannot_fail(member: Estimator) -> bool:
    """Tell whether no step of a member fails if losses are not huge and no rate is given."""
    if call_of(member) is not None:
        return False
    if isinstance(member, Oeuvre):
        return member._schedule is None and member._power <= 1.0
    if isinstance(member, AdaptiveOeuvre):
        return member.detector is None
    return not (isinstance(member, Ensemble) and member._guarded)


class Ensemble(EnsembleCore, Estimator):
    """A blend of estimators that needs no rate and no window, and follows data that drift.

    `ℓ_{t−1}(z_t)` is a fresh and unbiased look at the loss of the model of the step before, so an
    estimate can be scored without the truth. Each member is scored on how well it predicted the
    mean of the next `horizon` such looks, and the weights follow

        w_k ∝ w_k exp(−η (error_k² − error_best²) / noise),   then w ← w + α (prior − w),

    where noise is a running, robust level of `horizon` times the blend's squared error (for
    independent data, the variance of a loss), η = 0.2 and α = 0.0002. The estimate is the mean of
    the members with these weights. Its interval is that of the first `AdaptiveOeuvre` with one
    gain, stretched where it has to be to hold the blend.

    Parameters
    ----------
    estimators
        The members; fresh copies of them are used. By default two `AdaptiveOeuvre`, seven
        `FadingFactor` and two `Oeuvre` with constant weights.
    prior
        The weights to start from and to return to, above 0; by default equal ones, or, for the
        default members, most of the weight on the first.
    horizon
        How many looks at the loss a prediction is scored on. 1 suits independent data only; long
        ones suit data that hang together, and answer later.

    Examples
    --------
    Losses of a model that stands still, and that suddenly does not fit its data any more:

    >>> import numpy as np
    >>> from oeuvre import Ensemble
    >>> rng = np.random.default_rng(0)
    >>> losses = rng.exponential(size=2000) * np.where(np.arange(2000) < 1000, 1.0, 3.0)
    >>> est = Ensemble()
    >>> course = est.replay(losses, losses)
    >>> print(f"{course.estimate[999]:.2f} {est.get():.2f}")
    1.01 2.98
    >>> est.members[est.weights.argmax()]
    AdaptiveOeuvre(two_gain=True, drift='cusum')
    """

    __slots__ = ()

    _needs_previous = True
    _fields = {
        "n": count,
        "estimate": number,
        "noise": nonnegative,
        "scored": count,
        "streak": count,
        "batch": count,
        "filled": count,
        "inside": count,
        "weights": lambda value: isinstance(value, list) and all(map(fraction, value)),
        "past": lambda value: isinstance(value, list) and all(map(number, value)),
        "sums": lambda value: isinstance(value, list) and all(map(nonnegative, value)),
        "recent": lambda value: isinstance(value, dict),
        "members": lambda value: isinstance(value, list),
    }

    def __init__(
        self,
        estimators: Sequence[Estimator] | None = None,
        *,
        prior: Sequence[float] | None = None,
        horizon: int = 10,
    ) -> None:
        horizon = integer("Ensemble", "horizon", horizon, 1)
        members, weights = default_bank()
        given = None
        if estimators is not None:
            members = check_members("Ensemble", estimators)
            weights = tuple(1.0 for _ in members)
            given = tuple(member.clone() for member in members)
        if prior is not None:
            prior = check_prior(prior, len(members))
            weights = tuple(prior)
        self._params = {"estimators": given, "prior": prior, "horizon": horizon}
        fresh = [member.clone() for member in members]
        exact = (each for each in fresh if isinstance(each, AdaptiveCore) and not each._two_gain)
        self._configure(
            horizon,
            fresh,
            [call_of(member) for member in fresh],
            not all(cannot_fail(member) for member in fresh),
            next((each for each in (*exact, *fresh) if isinstance(each, AdaptiveCore)), None),
        )
        self._begin(np.array(weights) / sum(weights))

    def _begin(self, prior: Floats) -> None:
        size, horizon = len(prior), self._horizon
        try:
            past = np.zeros(horizon * (size + 1))
            recent = SlidingWindow(horizon)
        except (MemoryError, ValueError, OeuvreError):
            raise invalid("Ensemble", "horizon", "small enough for the memory", horizon) from None
        sums = np.zeros((size + 1) * BATCHES)
        self._clear(recent, prior.data, prior.copy().data, past.data, sums.data)

    def reset(self) -> None:
        """Forget everything but the parameters."""
        for member in self._members:
            member.reset()
        self._begin(np.array(self._prior))

    @property
    def _has_variance(self) -> bool:  # type: ignore[override]
        return self._anchor is not None

    @property
    def members(self) -> tuple[Estimator, ...]:
        """The estimators at work; to be looked at, not to be fed."""
        return tuple(self._members)

    @property
    def weights(self) -> Floats:
        """The weight of each member in the blend; they add up to 1."""
        return np.array(self._weights)

    @property
    def scores(self) -> Floats:
        """The mean squared error of each member in predicting the next looks; see `compare`."""
        places = sorted(self.compare().standings, key=lambda each: each.position)
        return np.array([each.score for each in places[:-1]])  # the blend is the last

    def compare(self) -> Ranking:
        """Rank the members, and the blend itself, by how well they predicted the next looks.

        Raises NotEnoughData before `horizon` + 1 steps.
        """
        sums = np.array(self._sums).reshape(-1, BATCHES)
        names = [*map(repr, self._members), "the blend"]
        return rank(names, sums[:, : self._filled], self._batch, sums.sum(axis=1), self._scored)

    @property
    def weight(self) -> float:
        """The weight of the newest step: the mean over the members."""
        self._check_started()
        return self._newest()

    @property
    def variance(self) -> float:
        """That of the first `AdaptiveOeuvre`, plus the squared distance of the blend from it.

        One with one gain is preferred, for its variance is the safer one. Wide where the blend is
        the better of the two, as under drift. Not available without an `AdaptiveOeuvre` among the
        members.
        """
        self._check_started()
        if self._anchor is None:
            raise NotAvailable(
                "This Ensemble has no AdaptiveOeuvre among its members, so it has no variance."
            )
        return self._spread()

    @property
    def effective_n(self) -> float:
        """The effective number of samples, as if the errors of all members were the same ones."""
        self._check_started()
        members = zip(self._weights, self._members, strict=True)
        return float(sum(weight / member.effective_n**0.5 for weight, member in members)) ** -2

    def _check_kind(self, kind: str) -> None:
        if self._normal() is None:
            raise NotAvailable(
                "This Ensemble has no AdaptiveOeuvre with one gain among its members, so it has no "
                "interval."
            )
        if kind != "normal":
            raise NotAvailable(
                f"Ensemble has no interval of kind {kind!r}: its weights come from the losses. Ask "
                "for 'normal', or give 'b' and 'c' to Oeuvre."
            )

    def _normal(self) -> tuple[float, float] | None:
        anchor: Any = self._anchor
        return None if anchor is None or anchor._two_gain else (anchor._estimate, anchor._spread())

    def _get_state(self) -> dict[str, Any]:
        state = {name: getattr(self, "_" + name) for name in self._fields}
        for name in ("weights", "past", "sums"):
            state[name] = list(state[name])
        state["recent"] = self._recent._get_state()
        state["members"] = [member._get_state() for member in self._members]
        return state

    def _set_state(self, state: Mapping[str, Any]) -> None:
        buffers = {"weights": self._weights, "past": self._past, "sums": self._sums}
        if (
            any(len(state[name]) != len(buffer) for name, buffer in buffers.items())
            or not (0 <= state["filled"] < BATCHES and 0 <= state["inside"] < state["batch"])
            or len(state["members"]) != self._size
        ):
            raise StateError("The entries of this saved Ensemble do not fit each other.")
        for name in self._fields:
            if name in buffers:
                setattr(self, "_" + name, np.array(state[name], dtype=np.float64).data)
            elif name not in ("recent", "members"):
                setattr(self, "_" + name, state[name])
        self._recent._set_state(state["recent"])
        for member, each in zip(self._members, state["members"], strict=True):
            member._set_state(each)

    def _encode_state(self) -> dict[str, Any]:
        members = [member.to_dict() for member in self._members]
        return {**self._get_state(), "recent": self._recent.to_dict(), "members": members}

    def _decode_state(self, state: Mapping[str, Any]) -> Mapping[str, Any]:
        if not abs(sum(state["weights"]) - 1.0) < 1e-9 or len(state["members"]) != self._size:
            raise StateError("The entries of this saved Ensemble do not fit each other.")
        parts = []
        for part, saved in zip(
            (self._recent, *self._members), (state["recent"], *state["members"]), strict=True
        ):
            read = Estimator.from_dict(saved)
            if repr(read) != repr(part):
                raise StateError(f"This saved Ensemble must hold {part!r} where it holds {read!r}.")
            if read.n != (max(0, state["n"] - 1) if part is self._recent else state["n"]):
                raise StateError(f"{part!r} in this saved Ensemble has seen {read.n} steps.")
            parts.append(read._get_state())
        return {**state, "recent": parts[0], "members": parts[1:]}

    def _encode_params(self) -> dict[str, Any]:
        params = dict(self._params)
        if params["estimators"] is not None:
            params["estimators"] = [each.to_dict() for each in params["estimators"]]
        if params["prior"] is not None:
            params["prior"] = list(params["prior"])
        return params

    @classmethod
    def _decode_params(cls, params: dict[str, Any]) -> dict[str, Any]:
        saved = params["estimators"]
        given = None if saved is None else [Estimator.from_dict(each) for each in saved]
        return {**params, "estimators": given}


def check_members(owner: str, estimators: Any) -> tuple[Estimator, ...]:
    """Return estimators as a tuple, or raise InvalidParameter."""
    wanted = "estimators, at least one, in a list or tuple"
    try:
        members = tuple(estimators)
    except TypeError:
        raise invalid(owner, "estimators", wanted, estimators) from None
    if not members:
        raise invalid(owner, "estimators", wanted, estimators)
    for member in members:
        if not isinstance(member, Estimator):
            hint = " (an instance, not a class)" if isinstance(member, type) else ""
            raise invalid(owner, "estimators", f"{wanted}{hint}", member)
    return members


def check_prior(prior: Any, size: int) -> tuple[float, ...]:
    """Return prior weights as a tuple of floats, or raise InvalidParameter."""
    wanted = f"{size} numbers above 0, one for each member"
    try:
        values = tuple(real("Ensemble", "prior", each, 1e-100, 1e100) for each in prior)
    except (TypeError, OeuvreError):
        raise invalid("Ensemble", "prior", wanted, prior) from None
    if len(values) != size:
        raise invalid("Ensemble", "prior", wanted, prior)
    return values
