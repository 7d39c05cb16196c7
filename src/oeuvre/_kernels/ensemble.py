"""A blend of estimators, weighted by how well each predicts the evaluations that come after it.

Compiled by Cython with the types of `ensemble.pxd`; the same lines run as plain Python, to the
same floats.
"""

import math
from typing import Any

from oeuvre._kernels.adaptive import AdaptiveCore
from oeuvre._kernels.averages import WindowCore
from oeuvre._kernels.checks import as_loss, as_previous, as_rate, too_large_to_square
from oeuvre._kernels.core import Core

__all__ = ["EnsembleCore"]

INFINITE = float("inf")
LEARNING = 0.2
"""η: how fast the weights learn, per squared error in units of the noise. Under Gaussian noise of
the true level the weight of a worse member falls the faster the larger η is, up to 1/4, and no
faster beyond; the level below is that of clipped squares, 0.8 of the true one."""
SHARE = 2e-4
"""The share of the weights that goes back to the prior at each step."""
CLIP = 3.0
"""The largest squared error that counts in full for the noise level, in units of that level."""
REACH = 25.0
"""A squared error beyond this, in units of the noise level, counts as this much for the weights: a
jump that nobody foresaw tells little about who was better."""
MEMORY = 0.8
"""The noise level forgets: the i-th value moves it by i^−MEMORY, ..."""
SETTLED = 317
"""... and from this value on ..."""
LEAST_PACE = 0.01
"""... by this much, which is about the same then."""
FIRM = 10
"""The number of values after which the noise level clips, ..."""
PATIENCE = 3
"""... unless so many horizons in a row would be clipped: then it was the level that was wrong."""
MOST = 50.0
"""The most a weight can fall in a step, as an exponent: the share back is far above that."""
SILENT = 1e-290
"""A noise level up to this counts as none, and the weights stay."""
LARGEST = 1e100
"""The largest loss: no score and no member that runs unguarded leaves the range of a float then."""


class EnsembleCore(Core):
    """The members, their weights, and what they said a horizon ago.

    `past` is a ring of `horizon` rows: what each member, and the blend after them, said after a
    step. A row is scored once the mean of the `horizon` values of `previous` after it is there.
    `sums` holds the squared errors of each summed over batches of steps of one length; when all are
    full, neighbours are merged and the batches are twice as long.
    """

    __slots__ = (
        "_anchor",
        "_batch",
        "_batches",
        "_calls",
        "_filled",
        "_foreign",
        "_guarded",
        "_horizon",
        "_inside",
        "_members",
        "_noise",
        "_past",
        "_prior",
        "_recent",
        "_scored",
        "_size",
        "_streak",
        "_sums",
        "_weights",
    )

    _members: list[Any]
    _calls: list[Any]
    _guarded: bool
    _recent: Any
    _anchor: AdaptiveCore | None

    def _configure(
        self, horizon: int, members: list[Any], calls: list[Any], guarded: bool, anchor: Any
    ) -> None:
        """Take the members, and for each what to call for a step; None drives it as a core.

        If `guarded`, a step may fail half-way, so each is taken with care.
        """
        self._horizon = horizon
        self._members = members
        self._calls = calls
        self._foreign = any(call is not None for call in calls)
        self._guarded = guarded
        self._anchor = anchor
        self._size = len(members)

    def _clear(self, recent: WindowCore, prior: Any, weights: Any, past: Any, sums: Any) -> None:
        """Go back to before the first step, with fresh buffers and a fresh window."""
        self._recent = recent
        self._prior = prior
        self._weights = weights
        self._past = past
        self._sums = sums
        self._batches = len(sums) // (self._size + 1)
        self._n = 0
        self._estimate = 0.0
        self._noise = 0.0
        self._scored = 0
        self._streak = 0
        self._batch = 2 * self._horizon
        self._filled = 0
        self._inside = 0

    def _judge(self, target: float, row: int) -> None:
        """Score what was said a horizon ago against a mean of evaluations, and weigh anew."""
        size = self._size
        best = INFINITE
        for k in range(size):
            error = self._past[row + k] - target
            error *= error
            self._sums[k * self._batches + self._filled] += error
            best = min(best, error)
        said = self._past[row + size]
        error = (said - target) * (said - target)
        self._sums[size * self._batches + self._filled] += error
        self._inside += 1
        if self._inside == self._batch:
            self._next_batch()

        # h times the squared error of a mean of h is the noise of one, if they are independent,
        # and more if they are not
        value = self._horizon * error
        noise = self._noise
        self._scored += 1
        self._streak = self._streak + 1 if value > CLIP * noise else 0
        patient = self._streak <= PATIENCE * self._horizon
        if self._scored > FIRM and patient and noise > SILENT:
            if value > REACH * noise:
                target = said + (target - said) * math.sqrt(REACH * noise / value)
                best = INFINITE
                for k in range(size):
                    error = self._past[row + k] - target
                    best = min(best, error * error)
            value = min(value, CLIP * noise)
        pace = LEAST_PACE
        if self._scored < SETTLED:
            pace = math.pow(self._scored, -MEMORY)
        noise += pace * (value - noise)
        self._noise = noise
        if noise > SILENT:
            pull = LEARNING / noise
            total = 0.0
            for k in range(size):
                error = self._past[row + k] - target
                weight = self._weights[k] * math.exp(-min(MOST, pull * (error * error - best)))
                self._weights[k] = weight
                total += weight
            pull = 1.0 / total
            for k in range(size):
                weight = self._weights[k] * pull
                self._weights[k] = weight + SHARE * (self._prior[k] - weight)

    def _next_batch(self) -> None:
        """Begin a batch; when all are full, merge neighbours first."""
        self._inside = 0
        self._filled += 1
        if self._filled < self._batches:
            return
        for k in range(self._size + 1):
            start = k * self._batches
            for j in range(self._batches // 2):
                first = start + 2 * j
                self._sums[start + j] = self._sums[first] + self._sums[first + 1]
            for j in range(self._batches // 2, self._batches):
                self._sums[start + j] = 0.0
        self._filled = self._batches // 2
        self._batch *= 2

    def _advance(self, loss: float, previous: float, rate: float, size: float) -> None:
        """Take one step; a negative rate stands for each member's own."""
        if self._horizon == 0:
            raise AttributeError("This ensemble was not initialised: its __init__ did not run.")
        n = self._n + 1
        row = (n % self._horizon) * (self._size + 1)
        if n > 1:
            self._recent._step(previous, previous, -1.0, size)
            if n > self._horizon:
                self._judge(self._recent._estimate, row)
        blend = loss  # members that agree with it are followed exactly, however weights are rounded
        for k in range(self._size):
            if self._foreign and self._calls[k] is not None:
                self._calls[k](loss, previous, rate if rate >= 0.0 else None, size)
                value = self._members[k].get()
            else:
                core = self._members[k]
                core._step(loss, previous, rate, size)
                value = core._estimate
            self._past[row + k] = value
            blend += self._weights[k] * (value - loss)
        self._past[row + self._size] = blend
        self._estimate = blend
        self._n = n

    def _take(self, loss: float, previous: float, rate: float, size: float) -> None:
        """Take one step whole or not at all."""
        if not (abs(loss) <= LARGEST and abs(previous) <= LARGEST):
            raise too_large_to_square(loss, previous)
        if rate < 0.0 and not self._guarded:
            self._advance(loss, previous, rate, size)
        else:
            self._take_care(loss, previous, rate, size)

    def _take_care(self, loss: float, previous: float, rate: float, size: float) -> None:
        """Take a step that may fail half-way, and undo it if it does."""
        before = self._get_state()
        try:
            self._advance(loss, previous, rate, size)
        except BaseException:
            self._set_state(before)
            raise

    def _get_state(self) -> dict[str, Any]:
        """Return all that a step may change."""
        raise NotImplementedError

    def _set_state(self, state: Any) -> None:
        """Take back what `_get_state` gave."""
        raise NotImplementedError

    def update(self, loss: Any, previous: Any = None, *, rate: Any = None) -> None:
        """Take one step with one fresh sample.

        Parameters
        ----------
        loss
            The loss of the current model on the sample.
        previous
            The loss of the model one step earlier on the same sample. Not needed at the first step.
        rate
            The stability rate r(t) of this step, for the members that use one.
        """
        if isinstance(loss, float) and isinstance(previous, float) and rate is None:
            cur = float(loss)
            prev = float(previous)
            if abs(cur) <= LARGEST and abs(prev) <= LARGEST and not self._guarded:
                self._advance(cur, prev, -1.0, 1.0)
                return
        self._update_batch(loss, previous, rate, 1.0)

    def _update_batch(self, loss: Any, previous: Any, rate: Any, size: float) -> None:
        """Take one step with the mean losses of a batch."""
        cur = as_loss(loss, "loss")
        prev = as_previous(previous, self._n, cur, True)
        self._take(cur, prev, -1.0 if rate is None else as_rate(rate), size)

    def _step(self, loss: float, previous: float, rate: float, size: float) -> None:
        """Take one step with checked numbers, as a member of another ensemble."""
        self._take(loss, previous, rate, size)

    def _newest(self) -> float:
        """Return the weight of the newest step in the blend."""
        blend = 1.0
        for k in range(self._size):
            if self._calls[k] is None:
                core = self._members[k]
                value = core._newest()
            else:
                value = self._members[k].weight
            blend += self._weights[k] * (value - 1.0)
        return max(0.0, blend)

    def _spread(self) -> float:
        """Return the anchor's variance, plus the squared distance of the blend from the anchor."""
        anchor = self._anchor
        if anchor is None:
            return INFINITE
        gap = self._estimate - anchor._estimate
        return anchor._spread() + gap * gap

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
        """Take a step for each entry of checked buffers; `rates` and `sizes` may be None."""
        for i in range(len(losses)):
            self._take(
                losses[i],
                previous[i],
                -1.0 if rates is None else rates[i],
                1.0 if sizes is None else sizes[i],
            )
            estimate[i] = self._estimate
            if variance is not None:
                variance[i] = self._spread()
            weight[i] = self._newest()
