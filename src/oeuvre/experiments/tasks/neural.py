"""A small neural network trained by AdamW, scored on fresh test images."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from oeuvre.errors import MissingExtra
from oeuvre.experiments.tasks.base import Stream, Task
from oeuvre.experiments.tasks.images import images

__all__ = ["NeuralNetwork"]

TRAIN_BATCH = 128
PAPER_TRUTH = 1024
SHARP_EVERY = 10
LEARNING_RATE = 5e-4
HIDDEN = 128
SEEDING = threading.Lock()


@dataclass(frozen=True)
class NeuralNetwork(Task):
    """784-128-10 with ReLU, cross-entropy, AdamW at 5e-4 on batches of 128.

    A step of the stream is a step of the optimiser: `samples` test images, drawn anew, are scored
    before and after it, and their mean losses are the step's. The paper's truth is the mean loss on
    1,024 test images, drawn anew too; the sharp truth is that of all test images, at every tenth
    step. The stability rate of a step is the largest absolute entry of the parameters' update.
    """

    data: Literal["mnist", "fashion_mnist", "emnist"]
    samples: int
    epochs: int = 10

    group: ClassVar[str] = "neural"
    cost: ClassVar[int] = 60
    libraries: ClassVar[tuple[str, ...]] = ("numpy", "torch")

    @property
    def name(self) -> str:
        """Data set and number of samples, and the number of epochs if it is not the paper's."""
        short = "" if self.epochs == 10 else f"-epochs{self.epochs}"
        return f"neural-{self.data}-{self.samples}{short}"

    @property
    def datasets(self) -> tuple[str, ...]:
        """The one it runs on."""
        return (self.data,)

    def make(self, rng: np.random.Generator) -> Stream:
        """Train for the given number of epochs on one thread."""
        torch = import_torch()
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            return self._train(rng, torch)
        finally:
            torch.set_num_threads(threads)

    def _train(self, rng: np.random.Generator, torch: Any) -> Stream:
        train_x, train_y, test_x, test_y = map(torch.from_numpy, images(self.data))
        with SEEDING, torch.random.fork_rng(devices=[]):  # layers draw from a generator of all
            torch.manual_seed(int(rng.integers(2**31)))
            first = torch.nn.Linear(train_x.shape[1], HIDDEN)
            model = torch.nn.Sequential(first, torch.nn.ReLU(), torch.nn.Linear(HIDDEN, 10))
        entropy = torch.nn.functional.cross_entropy
        optimiser = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE)

        def score(rows: Any) -> float:
            with torch.inference_mode():
                return float(entropy(model(test_x[rows]), test_y[rows]))

        def parameters() -> Any:
            return torch.nn.utils.parameters_to_vector(model.parameters()).detach().clone()

        everything = slice(None)
        steps: list[tuple[float, float, float, float, float]] = []
        now = parameters()
        for rows in self.batches(rng, len(train_y)):
            fresh, others = (
                torch.from_numpy(rng.integers(len(test_y), size=size))
                for size in (self.samples, PAPER_TRUTH)
            )
            previous = score(fresh)
            optimiser.zero_grad()
            entropy(model(train_x[rows]), train_y[rows]).backward()
            optimiser.step()
            then, now = now, parameters()
            last = len(steps) + 1
            sharp = score(everything) if last % SHARP_EVERY == 0 else np.nan
            rate = float((now - then).abs().max())
            steps.append((score(fresh), previous, score(others), rate, sharp))
        return Stream(*np.array(steps).T)

    def batches(self, rng: np.random.Generator, rows: int) -> Iterator[NDArray[np.int64]]:
        """Yield the rows of each training batch; every epoch has an order of its own."""
        for _ in range(self.epochs):
            order = rng.permutation(rows)
            for start in range(0, rows, TRAIN_BATCH):
                yield order[start : start + TRAIN_BATCH]


def import_torch() -> Any:
    """Return PyTorch, or say how to install it."""
    try:
        import torch
    except ImportError:
        raise MissingExtra(
            "The neural task needs PyTorch, which is not installed: pip install 'oeuvre[paper]'"
        ) from None
    return torch
