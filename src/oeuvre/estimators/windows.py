"""Means over a window of the last losses: of fixed length, or cut where a detector finds drift."""

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np

from oeuvre._kernels.averages import WindowCore
from oeuvre._kernels.checks import as_loss, check_unused
from oeuvre.errors import InvalidLoss, MissingExtra, NotSerializable, StateError
from oeuvre.estimators import detectors
from oeuvre.estimators.averages import Average
from oeuvre.estimators.base import nonnegative, number
from oeuvre.estimators.detectors import Detector
from oeuvre.parameters import integer, invalid, real

__all__ = ["Adwin", "DriftWindow", "SlidingWindow"]


LARGEST = 1e100
"""The largest loss a detector is given: sums of its squares stay within the range of a float."""


class SlidingWindow(WindowCore, Average):
    """The mean of the last `size` steps (with batches: of all their samples).

    Parameters
    ----------
    size
        The number of steps in the window, at least 1.

    Examples
    --------
    >>> from oeuvre import SlidingWindow
    >>> est = SlidingWindow(2)
    >>> for loss in (9.0, 1.0, 2.0):
    ...     est.update(loss)
    >>> est.get()
    1.5
    """

    __slots__ = ()

    _fields = {
        **Average._fields,
        "round_sum": number,
        "round_mass": nonnegative,
        "sums": lambda ring: isinstance(ring, list) and all(map(number, ring)),
        "masses": lambda ring: isinstance(ring, list) and all(map(nonnegative, ring)),
    }

    def __init__(self, size: int) -> None:
        size = integer("SlidingWindow", "size", size, 1)
        self._params = {"size": size}
        self._configure(1.0, 0.0)
        self.reset()

    def reset(self) -> None:
        """Forget everything but the parameters."""
        size = self._params["size"]
        try:
            sums, masses = np.zeros(size), np.zeros(size)
        except (MemoryError, ValueError):
            raise invalid("SlidingWindow", "size", "small enough for the memory", size) from None
        self._make_rings(size, sums.data, masses.data)
        self._clear()

    def _get_state(self) -> dict[str, Any]:
        state = super()._get_state()
        return {**state, "sums": list(self._sums), "masses": list(self._masses)}

    def _set_state(self, state: Mapping[str, Any]) -> None:
        rings = {name: np.array(state[name], dtype=np.float64) for name in ("sums", "masses")}
        for name, ring in rings.items():
            if len(ring) != self._params["size"]:
                raise StateError(f"{name!r} in this saved {self!r} has {len(ring)} entries.")
        super()._set_state({**state, **{name: ring.data for name, ring in rings.items()}})


class DetectorWindow(Average, abstract=True):
    """What the windows around a detector share: they can be pickled, but not saved as data."""

    __slots__ = ("_detector",)

    _detector: Any

    def update(self, loss: Any, previous: Any = None, *, rate: Any = None) -> None:
        """Take one step with the loss of the current model on one fresh sample.

        `previous` and `rate` are checked and not used, as in every average.
        """
        self._update_batch(loss, previous, rate, 1.0)

    def _check(self, loss: Any, previous: Any, rate: Any) -> float:
        """Return the loss, if a detector can take it without leaving the range of a float."""
        cur = as_loss(loss, "loss")
        if abs(cur) > LARGEST:
            raise InvalidLoss(
                f"'loss' must be at most {LARGEST:g} in size, for a detector squares it. "
                f"Got {cur!r} instead."
            )
        check_unused(previous, rate, self._n, cur)
        return cur

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
        for i, loss in enumerate(losses):
            self._update_batch(loss, None, None, 1.0 if sizes is None else sizes[i])
            estimate[i] = self._estimate
            weight[i] = self._weight

    def _get_state(self) -> dict[str, Any]:
        return {**super()._get_state(), "detector": copy.deepcopy(self._detector)}

    def _set_state(self, state: Mapping[str, Any]) -> None:
        super()._set_state(state)
        self._detector = state["detector"]

    @classmethod
    def _decode_params(cls, params: dict[str, Any]) -> dict[str, Any]:
        raise NotSerializable(f"{cls.__name__}({params}) is never written as data.")

    def _encode_params(self) -> dict[str, Any]:
        raise detectors.not_data(type(self).__name__)


class Adwin(DetectorWindow):
    """The mean of ADWIN's window, which is cut where its two ends differ too much.

    The window is that of River's `drift.ADWIN`, which starts anew at the step after a detection.
    A batch goes in as one value, its mean.

    Parameters
    ----------
    delta
        The confidence of the test: above 0, at most 1. The smaller, the fewer cuts.

    References
    ----------
    Bifet, Gavaldà (2007). Learning from time-changing data with adaptive windowing.

    Examples
    --------
    >>> from oeuvre import Adwin
    >>> est = Adwin(0.002)
    >>> _ = est.replay([0.0] * 500 + [1.0] * 500)
    >>> est.get()
    1.0
    """

    __slots__ = ()

    def __init__(self, delta: float = 0.002) -> None:
        delta = real("Adwin", "delta", delta, 0.0, 1.0, open_low=True)
        self._params = {"delta": delta}
        self._configure(1.0, 0.0)
        self.reset()

    def reset(self) -> None:
        """Forget everything but the parameters."""
        try:
            from river import drift
        except ImportError:
            raise MissingExtra(
                "Adwin needs River, which is not installed: pip install 'oeuvre[river]'"
            ) from None
        make: Any = drift.ADWIN
        self._detector = make(delta=self._params["delta"])
        self._clear()

    def _update_batch(self, loss: Any, previous: Any, rate: Any, size: float) -> None:
        self._detector.update(self._check(loss, previous, rate))
        self._look(1)

    def _look(self, steps: int) -> None:
        """Take over the mean and the width of the window, which has seen so many more steps."""
        self._estimate = float(self._detector.estimation)
        self._mass = self._squares = float(self._detector.width)
        self._weight = 1.0 / self._mass
        self._n += steps

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
        detector = self._detector
        for i, loss in enumerate(losses):
            if abs(loss) > LARGEST:
                self._check(loss, None, None)  # raises
            detector.update(loss)
            estimate[i] = detector.estimation
            weight[i] = 1.0 / detector.width
        self._look(len(losses))


class DriftWindow(DetectorWindow):
    """The mean of the losses since a detector last found drift.

    The loss that set the detector off is the first of the new window.

    Parameters
    ----------
    detector
        Any drift detector with River's `update` and `drift_detected`: `drift.ADWIN()`,
        `drift.PageHinkley()`, `drift.KSWIN()`; for losses that are 0 or 1 also
        `drift.binary.EDDM()`. The window works on a fresh copy of it, `est.detector`.

    Examples
    --------
    >>> from river import drift
    >>> from oeuvre import DriftWindow
    >>> est = DriftWindow(drift.PageHinkley(threshold=2.0))
    >>> _ = est.replay([0.0] * 100 + [1.0] * 100)
    >>> est.get()
    1.0
    >>> est
    DriftWindow(detector=PageHinkley(threshold=2.0))
    """

    __slots__ = ("_binary",)

    _binary: bool

    def __init__(self, detector: Detector) -> None:
        wanted = "a drift detector with 'update' and 'drift_detected'"
        self._params = {"detector": detectors.pattern("DriftWindow", "detector", detector, wanted)}
        self._binary = detectors.is_binary(detector)
        self._configure(1.0, 0.0)
        self.reset()

    @property
    def detector(self) -> Detector:
        """The detector at work."""
        found: Detector = self._detector
        return found

    def reset(self) -> None:
        """Forget everything but the parameters."""
        self._detector = detectors.fresh(self._params["detector"])
        self._clear()

    def _update_batch(self, loss: Any, previous: Any, rate: Any, size: float) -> None:
        cur = self._check(loss, previous, rate)
        if self._binary:
            if cur not in (0.0, 1.0):
                name = type(self._detector).__name__
                raise InvalidLoss(f"'loss' must be 0 or 1 for {name}. Got {loss!r} instead.")
            self._detector.update(cur == 1.0)
        else:
            self._detector.update(cur)
        if self._detector.drift_detected:
            self._restart()
        super()._update_batch(cur, None, None, size)

    def __repr__(self) -> str:
        return f"DriftWindow(detector={detectors.describe(self._params['detector'])})"
