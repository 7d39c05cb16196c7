"""A small neural network trained by AdamW, scored on fresh test images."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from oeuvre.errors import MissingExtra
from oeuvre.estimators.arrays import Floats
from oeuvre.experiments.tasks.base import Stream, Task
from oeuvre.experiments.tasks.images import images

__all__ = ["NeuralNetwork"]

TRAIN_BATCH = 128
PAPER_TRUTH = 1024
SHARP_EVERY = 10
POPULATION = 2000
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
        with one_thread() as torch:
            training = Training(torch, self.data, rng)
            size = len(training.test_y)
            everything = slice(None)
            steps: list[tuple[float, float, float, float, float]] = []
            for rows in self.batches(rng, len(training.train_y)):
                fresh, others = (
                    torch.from_numpy(rng.integers(size, size=count))
                    for count in (self.samples, PAPER_TRUTH)
                )
                previous = training.score(fresh)
                rate = training.step(rows)
                last = len(steps) + 1
                sharp = training.score(everything) if last % SHARP_EVERY == 0 else np.nan
                steps.append((training.score(fresh), previous, training.score(others), rate, sharp))
            return Stream(*np.array(steps).T)

    def replicas(self, seed: int, count: int) -> list[Stream]:
        """Train once, and score `count` independent draws of images at each step.

        They are drawn from the first 2,000 test images, whose mean loss is then the exact truth.
        """
        rng = np.random.default_rng(seed)
        with one_thread() as torch:
            training = Training(torch, self.data, rng)
            whole = slice(POPULATION)
            losses, previous, rates, truth = [], [], [], []
            before = training.losses(whole)
            for rows in self.batches(rng, len(training.train_y)):
                rates.append(training.step(rows))
                after = training.losses(whole)
                drawn = rng.integers(len(after), size=(count, self.samples))
                losses.append(after[drawn].mean(axis=1))
                previous.append(before[drawn].mean(axis=1))
                truth.append(after.mean())
                before = after
        return [
            Stream(loss.copy(), last.copy(), np.array(truth), np.array(rates))
            for loss, last in zip(np.array(losses).T, np.array(previous).T, strict=True)
        ]

    def batches(self, rng: np.random.Generator, rows: int) -> Iterator[NDArray[np.int64]]:
        """Yield the rows of each training batch; every epoch has an order of its own."""
        for _ in range(self.epochs):
            order = rng.permutation(rows)
            for start in range(0, rows, TRAIN_BATCH):
                yield order[start : start + TRAIN_BATCH]


class Training:
    """A network, what trains it, and the images."""

    def __init__(self, torch: Any, data: str, rng: np.random.Generator) -> None:
        self.torch = torch
        self.train_x, self.train_y, self.test_x, self.test_y = map(torch.from_numpy, images(data))
        with SEEDING, torch.random.fork_rng(devices=[]):  # layers draw from a generator of all
            torch.manual_seed(int(rng.integers(2**31)))
            first = torch.nn.Linear(self.train_x.shape[1], HIDDEN)
            self.model = torch.nn.Sequential(first, torch.nn.ReLU(), torch.nn.Linear(HIDDEN, 10))
        self.entropy = torch.nn.functional.cross_entropy
        self.optimiser = torch.optim.AdamW(self.model.parameters(), lr=LEARNING_RATE)
        self.now = self.parameters()

    def parameters(self) -> Any:
        """Return a copy of all parameters as one vector."""
        vector = self.torch.nn.utils.parameters_to_vector(self.model.parameters())
        return vector.detach().clone()

    def step(self, rows: NDArray[np.int64]) -> float:
        """Train on a batch; return the largest absolute entry of the parameters' update."""
        self.optimiser.zero_grad()
        self.entropy(self.model(self.train_x[rows]), self.train_y[rows]).backward()
        self.optimiser.step()
        then, self.now = self.now, self.parameters()
        return float((self.now - then).abs().max())

    def score(self, rows: Any) -> float:
        """Return the mean loss on some test images."""
        with self.torch.inference_mode():
            return float(self.entropy(self.model(self.test_x[rows]), self.test_y[rows]))

    def losses(self, rows: slice) -> Floats:
        """Return the loss on each of some test images."""
        with self.torch.inference_mode():
            each = self.entropy(self.model(self.test_x[rows]), self.test_y[rows], reduction="none")
        result: Floats = each.numpy().astype(np.float64)
        return result


@contextmanager
def one_thread() -> Iterator[Any]:
    """Give PyTorch, on one thread: the order of sums is then fixed."""
    torch = import_torch()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield torch
    finally:
        torch.set_num_threads(threads)


def import_torch() -> Any:
    """Return PyTorch, or say how to install it."""
    try:
        import torch
    except ImportError:
        raise MissingExtra(
            "The neural task needs PyTorch, which is not installed: pip install 'oeuvre[paper]'"
        ) from None
    return torch
