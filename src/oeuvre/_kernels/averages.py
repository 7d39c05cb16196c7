"""The averages of past losses: one smoothing step, many weights.

Compiled by Cython with the types of `averages.pxd`; the same lines run as plain Python and give
the same floats.
"""

import math
from typing import Any

from oeuvre._kernels.checks import as_loss, check_unused, too_large
from oeuvre._kernels.core import Core

__all__ = ["AverageCore", "WindowCore", "smooth"]


def smooth(mean: float, value: float, weight: float) -> float:
    """Move a mean toward a value: m + w (x − m)."""
    return mean + weight * (value - mean)


class AverageCore(Core):
    """A recursive weighted mean of the losses.

    With `alpha` > 0 the new loss has the weight alpha, but for the first, which has 1. Otherwise
    its weight is B_t/N_t, N_t = B_t + fading · N_{t−1} being the faded number of samples. `mass`
    is the sum of the weights of all samples in whatever unit, `squares` that of their squares, so
    mass²/squares is their effective number.
    """

    __slots__ = ("_alpha", "_fading", "_mass", "_squares", "_weight")

    def _configure(self, fading: float, alpha: float) -> None:
        self._fading = fading
        self._alpha = alpha

    def _clear(self) -> None:
        """Go back to before the first step."""
        self._n = 0
        self._restart()

    def _restart(self) -> None:
        """Forget all losses, but not how many steps there were."""
        self._estimate = 0.0
        self._weight = 0.0
        self._mass = 0.0
        self._squares = 0.0

    def _advance(self, loss: float, size: float) -> None:
        """Take one step; the arguments are finite. All of the state moves, or none."""
        if self._alpha > 0.0:
            weight = self._alpha if self._n > 0 else 1.0
            keep = 1.0 - weight
            mass = 1.0
            squares = keep * keep * self._squares + weight * weight / size
        else:
            mass = self._fading * self._mass + size
            squares = self._fading * self._fading * self._squares + size
            weight = size / mass
        estimate = smooth(self._estimate, loss, weight)
        if not math.isfinite(estimate):
            raise too_large(loss)
        self._squares = squares
        self._mass = mass
        self._weight = weight
        self._estimate = estimate
        self._n += 1

    def _take(self, loss: Any, previous: Any, rate: Any, size: float) -> None:
        """Check what was given and take one step."""
        cur = as_loss(loss, "loss")
        if previous is not None or rate is not None:
            check_unused(previous, rate, self._n, cur)
        self._advance(cur, size)

    def update(self, loss: Any, previous: Any = None, *, rate: Any = None) -> None:
        """Take one step with the loss of the current model on one fresh sample.

        `previous` and `rate` are there so that every estimator can be called alike; an average
        checks them and does not use them.
        """
        self._take(loss, previous, rate, 1.0)

    def _update_batch(self, loss: float, previous: Any, rate: Any, size: float) -> None:
        """Take one step with the mean loss of a batch."""
        self._take(loss, previous, rate, size)

    def _step(self, loss: float, previous: float, rate: float, size: float) -> None:
        """Take one step with checked numbers, of which an average uses two."""
        self._advance(loss, size)

    def _newest(self) -> float:
        """Return the weight of the newest step."""
        return self._weight

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
        """Take a step for each entry of checked buffers; only `sizes` may be None and is used."""
        for i in range(len(losses)):
            self._advance(losses[i], 1.0 if sizes is None else sizes[i])
            estimate[i] = self._estimate
            weight[i] = self._weight


class WindowCore(AverageCore):
    """The mean of the last losses, in constant time a step (on average) and without subtraction.

    `sums` and `masses` are rings: of losses times their batch size, and of batch sizes. One round
    through a ring fills it; a full ring turns into the *suffix sums* of its round (entry j: the
    sum from j to the end), which the next round overwrites from the left. So the window's total is
    the current round's running total plus one suffix sum. Nothing is ever subtracted, so no
    rounding error stays behind when a loss leaves the window.
    """

    __slots__ = ("_length", "_masses", "_round_mass", "_round_sum", "_sums")

    def _make_rings(self, length: int, sums: Any, masses: Any) -> None:
        """Take the two rings: writable buffers of `length` floats, all 0."""
        self._length = length
        self._sums = sums
        self._masses = masses
        self._round_sum = 0.0
        self._round_mass = 0.0

    def _advance(self, loss: float, size: float) -> None:
        """Take one step; the arguments are finite. All of the state moves, or none."""
        if self._length == 0:
            raise AttributeError("This window was not initialised: its __init__ did not run.")
        at = self._n % self._length
        value = loss * size
        if not math.isfinite(2.0 * value * self._length):
            raise too_large(loss)
        if at == 0:
            self._round_sum = 0.0
            self._round_mass = 0.0
        self._round_sum += value
        self._round_mass += size
        total = self._round_sum
        mass = self._round_mass
        self._sums[at] = value
        self._masses[at] = size
        if at + 1 < self._length:
            total += self._sums[at + 1]
            mass += self._masses[at + 1]
        else:
            for i in range(self._length - 2, -1, -1):
                self._sums[i] += self._sums[i + 1]
                self._masses[i] += self._masses[i + 1]
        self._mass = mass
        self._squares = mass
        self._weight = size / mass
        self._estimate = total / mass
        self._n += 1
