"""The paper's estimator without its rate: the weights come from the stream."""

import copy
from collections.abc import Mapping
from typing import Any

from oeuvre._kernels.adaptive import AdaptiveCore
from oeuvre.errors import NotAvailable
from oeuvre.estimators import detectors
from oeuvre.estimators.base import Estimator, count, fraction, nonnegative, number
from oeuvre.estimators.detectors import Detector
from oeuvre.parameters import boolean, invalid

__all__ = ["AdaptiveOeuvre"]


class AdaptiveOeuvre(AdaptiveCore, Estimator):
    """The expected loss of the current model, with weights that need no rate.

    Each step is that of the paper, `L_t = ℓ_t(z_t) + (1 − γ_t)(L_{t−1} − ℓ_{t−1}(z_t))`, and γ_t
    minimises the running variance of L_t itself. With d = ℓ_t(z_t) − ℓ_{t−1}(z_t) and
    p = ℓ_{t−1}(z_t), and their moments over the past, recent samples first, the variance in units
    of var(p) is

        q_t = (1 − γ)² q_{t−1} + (var(d) + 2γ cov(d, p) + γ² var(p)) / var(p),   q_1 = 1,

    and the minimum is at

        γ_t = (q_{t−1} − cov(d, p)/var(p)) / (q_{t−1} + 1),   at least 1/t, at most 1.

    There is no rate, no constant to estimate first, no restart, and no unit: losses ten times as
    large give an estimate ten times as large. For a model that stands still it is the mean of all
    losses. A batch of B samples is one step with var/B and cov/B.

    Parameters
    ----------
    two_gain
        Let the change of the loss enter with a weight β below 1 where it is lost in noise:
        `L_t = L_{t−1} + β d + γ (p − L_{t−1})`, β and γ together minimising variance plus squared
        lag. Better for most learners, above all for those that learn fast or move much without
        getting anywhere; it gives up the exact theory.
    drift
        None, or what to do about data that change: "cusum" for a built-in test on the innovations
        `p − L_{t−1}`, or a drift detector with River's `update` and `drift_detected`, which is
        given them. The estimate starts anew at the sample that sets it off.

    Notes
    -----
    Before two steps have shown both losses, `variance` is infinite. With `two_gain` it is a mean
    squared error, variance and squared lag, and there is no interval: where the loss itself jumps
    at each step, the losses do not show how far the estimate is behind.

    Examples
    --------
    A running mean learns the centre of a stream; its loss is the squared error:

    >>> from oeuvre import AdaptiveOeuvre
    >>> stream = [0.2, 0.9, 0.4, 0.6, 0.1, 0.7, 0.5, 0.3]
    >>> est = AdaptiveOeuvre()
    >>> model = before = 0.0
    >>> for t, z in enumerate(stream, start=1):
    ...     est.update((z - model) ** 2, (z - before) ** 2)  # current model, previous model
    ...     before, model = model, model + (z - model) / t   # then learn
    >>> print(f"{est.get():.4f}, from {est.interval()}")
    0.0522, from -0.03137 to 0.1358 (95 %)
    """

    __slots__ = ()

    _has_variance = True
    _needs_previous = True
    _fields = {
        "n": count,
        "estimate": number,
        "beta": fraction,
        "gamma": fraction,
        "ratio": nonnegative,
        "lag": nonnegative,
        "pairs": count,
        "samples": nonnegative,
        "pace": fraction,
        "change": number,
        "level": number,
        "var_d": nonnegative,
        "var_p": nonnegative,
        "cov": number,
        "long_p": nonnegative,
        "realised": nonnegative,
        "kept": fraction,
        "up": nonnegative,
        "down": nonnegative,
        "restarts": count,
    }

    def __init__(self, *, two_gain: bool = False, drift: Detector | str | None = None) -> None:
        two_gain = boolean("AdaptiveOeuvre", "two_gain", two_gain)
        built_in = isinstance(drift, str) and drift == "cusum"
        if not (drift is None or built_in):
            wanted = "None, 'cusum' or a drift detector with 'update' and 'drift_detected'"
            if detectors.is_binary(drift):
                raise invalid("AdaptiveOeuvre", "drift", "a detector of real numbers", drift)
            drift = detectors.pattern("AdaptiveOeuvre", "drift", drift, wanted)
        self._params = {"two_gain": two_gain, "drift": drift}
        self._configure(two_gain, built_in)
        self.reset()

    def reset(self) -> None:
        """Forget everything but the parameters."""
        drift = self._params["drift"]
        self._detector = None if drift is None or self._cusum else detectors.fresh(drift)
        self._clear()

    @property
    def weight(self) -> float:
        """γ_t, the weight of the newest step."""
        self._check_started()
        return self._gamma

    @property
    def gains(self) -> tuple[float, float]:
        """β_t and γ_t, the weights of the change of the loss and of the innovation."""
        self._check_started()
        return self._beta, self._gamma

    @property
    def variance(self) -> float:
        """The variance of the estimate; with two gains, its mean squared error.

        The larger of what the moments promise and what the steps have shown.
        """
        self._check_started()
        return self._spread()

    @property
    def effective_n(self) -> float:
        """1/q_t: how many losses of a model that stands still would be worth as much."""
        self._check_started()
        return 1.0 / self._ratio

    @property
    def restarts(self) -> int:
        """How often drift was found and the estimate started anew."""
        return self._restarts

    @property
    def detector(self) -> Detector | None:
        """The detector at work, if there is one."""
        found: Detector | None = self._detector
        return found

    def _check_kind(self, kind: str) -> None:
        if self._two_gain:
            raise NotAvailable(
                "AdaptiveOeuvre with two_gain=True has no interval: the estimate may lag behind "
                "the loss by more than the losses show. AdaptiveOeuvre() and Ensemble() have one."
            )
        if kind == "conservative":
            raise NotAvailable(
                "AdaptiveOeuvre has no bound V↑ on its variance. Ask for 'normal', or ask Oeuvre."
            )
        if kind != "normal":
            raise NotAvailable(
                f"AdaptiveOeuvre has no interval of kind {kind!r}: its weights come from the "
                "losses and are not fixed in advance, and it does not know how far a loss and its "
                "change may go. Ask for 'normal', or give 'b' and 'c' to Oeuvre."
            )

    def _normal(self) -> tuple[float, float] | None:
        return None if self._two_gain else (self._estimate, self._spread())

    def _get_state(self) -> dict[str, Any]:
        state = super()._get_state()
        if self._detector is not None:
            state["detector"] = copy.deepcopy(self._detector)
        return state

    def _set_state(self, state: Mapping[str, Any]) -> None:
        super()._set_state(state)
        self._detector = state.get("detector")

    def _encode_params(self) -> dict[str, Any]:
        if self._detector is not None:
            raise detectors.not_data("AdaptiveOeuvre")
        return super()._encode_params()

    def __repr__(self) -> str:
        if self._detector is None:
            return super().__repr__()
        gain = "two_gain=True, " if self._two_gain else ""
        return f"AdaptiveOeuvre({gain}drift={detectors.describe(self._params['drift'])})"
