"""A River model that learns a real stream, with pages set aside to tell how good it really is.

The stream is River's Phishing data: 1,250 web pages, each described by nine features. About a fifth
of them, drawn at random, are set aside and never learned; the mean loss of the current model on
them is close to its true loss.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from river import datasets, linear_model, preprocessing

from oeuvre.estimators import Snapshot
from oeuvre.monitor import Monitor

__all__ = ["SET_ASIDE", "DemoStep", "run", "split"]

SET_ASIDE = 0.2


class DemoStep(NamedTuple):
    """What the monitor knows after a step, and the current model's mean loss on pages set aside."""

    snapshot: Snapshot
    truth: float


def split(samples: Iterable[Any], seed: int) -> tuple[list[Any], list[Any]]:
    """Return the samples to learn, in their order, and a random fifth that is set aside."""
    everything = list(samples)
    aside = np.random.default_rng(seed).random(len(everything)) < SET_ASIDE
    learned, hidden = (
        [sample for sample, apart in zip(everything, aside, strict=True) if apart == part]
        for part in (False, True)
    )
    return learned, hidden


def run(seed: int) -> tuple[int, Iterator[DemoStep]]:
    """Return the number of steps, and the steps of learning the pages that are not set aside."""
    stream, tests = split(datasets.Phishing(), seed)
    model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    monitor = Monitor.of(model, loss="log")

    def steps() -> Iterator[DemoStep]:
        for snapshot in monitor.run(stream):
            losses = [monitor.learner.evaluate(x, y) for x, y in tests]
            yield DemoStep(snapshot, float(np.mean(losses)))

    return len(stream), steps()
