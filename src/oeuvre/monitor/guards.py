"""Watching the first samples for the mistakes that make every later number wrong.

Four are looked for: an evaluation that changes the model; one that is random; a model that
something else has trained since the step before, so that it may know the sample it is scored on;
and a held sample that was changed before it was learned.
"""

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from oeuvre.errors import MonitorWarning
from oeuvre.learners import Learner
from oeuvre.learners.digests import digest
from oeuvre.monitor.values import Losses, as_losses

__all__ = ["Guard"]

PATIENCE = 0.25
"""Seconds that a look at a model or a sample may take; after a longer one nothing is looked at."""


CHANGES = (
    "Evaluating a sample changes the model. Evaluate without learning: for River, not within "
    "compose.learn_during_predict(); for PyTorch, with the model in eval mode, where BatchNorm "
    "keeps its running statistics."
)
RANDOM = (
    "Evaluating the same sample twice gives different losses, though the model looks the same: the "
    "prediction is random, as with dropout in train mode. Evaluate in eval mode (model.eval()), or "
    "fix the random state of a prediction."
)
UNSTEADY = (
    "Evaluating the same sample twice gives different losses: either that changes the model, or "
    "the prediction is random, as with dropout in train mode. Evaluate without learning, and in "
    "eval mode."
)
ELSEWHERE = (
    "The state of the model changed between two steps. If something else has trained it, it may "
    "have learned a sample before it is scored on it, and its loss looks too good. Let the monitor "
    "train it: call monitor.update(x, y) and nothing else."
)
REUSED = (
    "The sample held back is no longer what it was, or the same object was given twice in a row, "
    "so the model would learn a sample before it is scored on it. If the stream fills one buffer "
    "again and again, give a copy: monitor.update(x.copy(), y)."
)


class Guard:
    """Checks for the first `samples` steps of a monitor; each mistake is told once."""

    def __init__(self, learner: Learner, samples: int) -> None:
        self.left = samples
        self._learner = learner
        self._told: set[str] = set()
        self._model: Any = None
        self._begun: Any = None
        self._held: Any = None
        self._patient = True

    def begin(self, x: Any, held: tuple[Any, Any] | None) -> None:
        """Look at the model and the held sample at the beginning of a step."""
        model = self._begun = self._look()
        if self._model is not None and model is not None and model != self._model:
            self._tell(ELSEWHERE if model == self._look() else CHANGES)
        if held is not None and (
            (x is held[0] and (isinstance(x, dict | list) or hasattr(x, "shape")))
            or (self._held is not None and self._timed(digest, held) not in (None, self._held))
        ):
            self._tell(REUSED)

    def evaluated(self, x: Any, y: Any, loss: Losses) -> None:
        """Evaluate a sample once more, and see whether that makes a difference."""
        again = as_losses(self._learner.evaluate(x, y))
        before, after = self._begun, self._look()
        for _ in range(2):  # a model that only fills something in has settled by then
            if before != after:
                self._learner.evaluate(x, y)
                before, after = after, self._look()
        if before is not None and after is not None and before != after:
            self._tell(CHANGES)
        elif not same(loss, again):
            self._tell(UNSTEADY if after is None else RANDOM)

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
        return self._timed(state_of, self._learner) if look is None else self._timed(look)

    def _timed(self, look: Callable[..., Any], *what: Any) -> Any:
        """Return what a look gives; None from the first one on that takes too long."""
        if not self._patient:
            return None
        start = time.perf_counter()
        try:
            found = look(*what)
        except Exception:  # a guard must not break what works without it
            self._patient = False
            return None
        self._patient = time.perf_counter() - start < PATIENCE
        return found

    def _tell(self, message: str) -> None:
        if message not in self._told:
            self._told.add(message)
            warnings.warn(message, MonitorWarning, stacklevel=depth())


def depth() -> int:
    """Return how many calls up, from the caller, the first one is that is not this library's."""
    frame, levels = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("oeuvre."):
        frame, levels = frame.f_back, levels + 1
    return levels


def state_of(learner: Learner) -> Any:
    """Return digests of what a learner holds, but for what it noted at its last evaluation.

    What cannot be pickled, such as a function, is left out.
    """
    if not hasattr(learner, "__dict__"):
        return digest(learner)
    held = {name: digest(each) for name, each in vars(learner).items() if name != "predicted"}
    return {name: each for name, each in held.items() if each is not None} or None


def same(one: Losses, two: Losses) -> bool:
    """Tell whether two losses, or means of a batch, are the same up to rounding, NaN too."""
    if one is None or two is None:
        return one is two
    return bool(np.allclose(one, two, rtol=1e-4, atol=0.0, equal_nan=True))
