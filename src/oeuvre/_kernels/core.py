"""What every compiled core shares, so that a blend can drive its members without Python calls.

Compiled by Cython with the types of `core.pxd`; the same lines run as plain Python.
"""

from typing import Any

from oeuvre._kernels.checks import not_enough_data

__all__ = ["Core"]


class Core:
    """An estimate, the number of steps behind it, and one step forward."""

    __slots__ = ("_estimate", "_n", "_params")

    _estimate: float
    _n: int
    _params: dict[str, Any]

    def _step(self, loss: float, previous: float, rate: float, size: float) -> None:
        """Take one step with checked numbers; a negative rate stands for the own schedule's."""
        raise NotImplementedError

    def _newest(self) -> float:
        """Return the weight of the newest step in the estimate."""
        raise NotImplementedError

    def get(self) -> float:
        """Return the estimate; raise NotEnoughData before the first update."""
        if self._n == 0:
            raise not_enough_data()
        return self._estimate
