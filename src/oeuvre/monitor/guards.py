"""Watching the first samples for the mistakes that make every later number wrong.

Four are looked for: an evaluation that changes the model; one that is random; a model that
something else has trained since the step before, so that it may know the sample it is scored on;
and a held sample that was changed before it was learned.
"""

import io
import pickle
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from oeuvre.errors import MonitorWarning
from oeuvre.learners import Learner

__all__ = ["Guard"]

PATIENCE = 0.25
"""Seconds that a look at a model or a sample may take; after a longer one nothing is looked at."""


class Guard:
    """Checks for the first `samples` steps of a monitor; each mistake is told once."""

    def __init__(self, learner: Learner, samples: int) -> None:
        self.left = samples
        self._learner = learner
        self._told: set[str] = set()
        self._model: Any = None
        self._held: Any = None
        self._patient = True

    def begin(self, x: Any, held: tuple[Any, Any] | None) -> None:
        """Look at the model and the held sample at the beginning of a step."""
        model = self._look()
        if self._model is not None and model is not None and model != self._model:
            self._tell(
                "The model changed between two steps: something else has trained it, so it may "
                "have learned a sample before it is scored on it, and its loss looks too good. "
                "Let the monitor train the model: call monitor.update(x, y) and nothing else."
            )
        if held is not None and (
            (x is held[0] and (isinstance(x, dict | list) or hasattr(x, "shape")))
            or (self._held is not None and self._timed(digest, held) not in (None, self._held))
        ):
            self._tell(
                "The sample held back is no longer what it was, or the same object was given twice "
                "in a row, so the model would learn a sample before it is scored on it. If the "
                "stream fills one buffer again and again, give a copy: monitor.update(x.copy(), y)."
            )

    def evaluated(self, x: Any, y: Any, loss: Any) -> None:
        """Evaluate a sample once more, and see whether that makes a difference."""
        before = self._look()
        again = self._learner.evaluate(x, y)
        after = self._look()
        if before is not None and after is not None and before != after:
            self._tell(
                "Evaluating a sample changes the model. Evaluate without learning: for River, not "
                "within compose.learn_during_predict(); for PyTorch, with the model in eval mode, "
                "where BatchNorm keeps its running statistics."
            )
        elif not same(loss, again):
            self._tell(
                "Evaluating the same sample twice gives different losses, though the model looks "
                "the same: the prediction is random, as with dropout in train mode. Evaluate in "
                "eval mode (model.eval()), or fix the random state of a prediction."
            )

    def end(self, held: tuple[Any, Any] | None) -> None:
        """Remember model and held sample at the end of a step."""
        self.left -= 1
        if self.left > 0:
            self._model = self._look()
            self._held = None if held is None else self._timed(digest, held)
        else:
            self._model = self._held = None

    def forget(self) -> None:
        """Expect the model to be another one: it was trained, or its sample was taken away."""
        self._model = self._held = None

    def _look(self) -> Any:
        """Return something that differs where the model does; None if that cannot be had."""
        look = getattr(self._learner, "fingerprint", None)
        return self._timed(digest, self._learner) if look is None else self._timed(look)

    def _timed(self, look: Callable[..., Any], *what: Any) -> Any:
        """Return what a look gives; None from the first one on that takes too long."""
        if not self._patient:
            return None
        start = time.perf_counter()
        found = look(*what)
        self._patient = time.perf_counter() - start < PATIENCE
        return found

    def _tell(self, message: str) -> None:
        if message not in self._told:
            self._told.add(message)
            warnings.warn(message, MonitorWarning, stacklevel=4)


class Contents(pickle.Pickler):
    """Pickles a tensor as its own numbers, without the rest of what it is a view of."""

    def reducer_override(self, obj: Any) -> Any:
        """Return how a tensor is written."""
        if hasattr(obj, "detach") and hasattr(obj, "numpy"):
            return np.asarray, (obj.detach().cpu().numpy(),)
        return NotImplemented


def digest(value: Any) -> bytes | None:
    """Return a digest of whatever can be pickled; None for what cannot."""
    import hashlib

    try:
        buffer = io.BytesIO()
        Contents(buffer).dump(value)
        return hashlib.blake2b(buffer.getbuffer(), digest_size=16).digest()
    except Exception:  # whatever a foreign object raises here, it cannot be compared
        return None


def same(one: Any, two: Any) -> bool:
    """Tell whether two losses, or arrays of them, are the same; NaN is the same as NaN."""
    if one is None or two is None:
        return one is two
    return bool(np.array_equal(np.asarray(one), np.asarray(two), equal_nan=True))
