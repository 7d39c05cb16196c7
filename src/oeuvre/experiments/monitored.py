"""Real models on real data, monitored: what a running metric says, and what the monitor says.

A fifth of the samples, drawn at random, is set aside and never learned; it tells what the loss of
the last model is. MNIST has a test set for that.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from river import datasets, evaluate, linear_model, metrics, preprocessing, stats, tree
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

from oeuvre import losses
from oeuvre.estimators import Ensemble, Snapshot
from oeuvre.experiments.demo import SET_ASIDE, split
from oeuvre.experiments.tasks.images import images
from oeuvre.experiments.tasks.neural import HIDDEN, LEARNING_RATE, TRAIN_BATCH, one_thread
from oeuvre.intervals import Interval
from oeuvre.monitor import Monitor
from oeuvre.report.pages import markdown

__all__ = ["COMMAND", "RUNS", "Run", "fragment", "quality_rows", "rows"]

COMMAND = "make monitors"
SEED = 0
BATCH = 16
LOG = losses.log(0.001)

Rows: TypeAlias = tuple[tuple[str, ...], list[tuple[str, ...]]]
"""The header of a table, and its rows."""


class Run(NamedTuple):
    """What was found at the end of a stream."""

    data: str
    model: str
    loss: str
    steps: int
    running: float
    """The running metric over the whole stream, by River."""
    snapshot: Snapshot
    blended: float
    """The estimate of an `Ensemble`."""
    aside: float
    """The mean loss of the last model on samples set aside, NaN if they tell nothing."""
    error: float
    """The standard error of that."""


def sum_up(
    data: str, model: str, loss: str, snapshots: Iterable[Snapshot], score: Callable[[], Any]
) -> Run:
    """Go through a run to its end, then score samples set aside; those that give none tell nothing.

    The running metric is River's mean of the losses.
    """
    ensemble, mean = Ensemble(), stats.Mean()
    last = None
    for last in snapshots:
        if not math.isnan(last.loss):
            ensemble.update(last.loss, last.previous if ensemble.n else None)
            mean.update(last.loss)
    if last is None:
        raise ValueError("A stream must not be empty.")
    found = score()
    aside = float(np.mean(found)) if len(found) else math.nan
    error = float(np.std(found) / math.sqrt(len(found))) if len(found) else math.nan
    running = float(mean.get())
    return Run(data, model, loss, last.n, running, last, ensemble.get(), aside, error)


class RiverTask(NamedTuple):
    """A data set of River's, a model, a metric and the same as a loss."""

    name: str
    dataset: Any
    model: Any
    words: str
    metric: Any
    loss: Any
    moving: bool = False
    """Whether the data move, so that samples set aside are of another time."""

    def run(self) -> Run:
        """Go through the data twice, once by River, once by a monitor."""
        stream, aside = split(self.dataset, SEED)
        running = evaluate.progressive_val_score(stream, self.model.clone(), self.metric.clone())
        monitor = Monitor.of(self.model.clone(), self.loss)
        found = sum_up(
            self.name,
            self.words,
            f"`{type(self.metric).__name__}`",
            monitor.run(stream),
            lambda: [monitor.learner.evaluate(*each) for each in aside if not self.moving],
        )
        return found._replace(running=running.get())


def digits() -> Run:
    """Train a small network of scikit-learn's on batches of digits."""
    pictures, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(SEED).permutation(len(labels))
    pictures, labels = pictures[order] / 16.0, labels[order]
    first = round(SET_ASIDE * len(labels))
    model = MLPClassifier((64,), solver="sgd", learning_rate_init=0.05, random_state=SEED)
    monitor = Monitor.of(model, LOG, classes=range(10))
    rows = pieces(np.arange(first, len(labels)), BATCH)
    return sum_up(
        "digits",
        f"MLPClassifier, batches of {BATCH}",
        "mean log loss",
        monitor.run((pictures[each], labels[each]) for each in rows),
        lambda: monitor.learner.evaluate(pictures[:first], labels[:first]),
    )


def mnist() -> Run:
    """Train a network of PyTorch's on fresh training batches, for one epoch."""
    with one_thread() as torch:
        train_x, train_y, *tests = map(torch.from_numpy, images("mnist"))
        model, optimizer = network(torch)
        monitor = Monitor.of(model, "cross-entropy", optimizer=optimizer)
        rows = pieces(np.random.default_rng(SEED).permutation(len(train_y)), TRAIN_BATCH)
        return sum_up(
            "MNIST",
            f"MLP 784-{HIDDEN}-10, AdamW, training batches of {TRAIN_BATCH}",
            "mean cross-entropy",
            monitor.run((train_x[each], train_y[each]) for each in rows),
            lambda: monitor.learner.evaluate(*tests),
        )


def mnist_validation() -> Run:
    """Train the same network in a plain loop, scored on few fresh test images at each step."""
    with one_thread() as torch:
        from oeuvre.learners.torch import Validation

        train_x, train_y, test_x, test_y = map(torch.from_numpy, images("mnist"))
        model, optimizer = network(torch)
        entropy = torch.nn.functional.cross_entropy
        rng = np.random.default_rng(SEED)

        def fresh() -> Iterator[Any]:
            while True:
                rows = rng.integers(len(test_y), size=BATCH)
                yield test_x[rows], test_y[rows]

        def train() -> Iterator[Snapshot]:
            validation = Validation(model, fresh()).attach(optimizer)
            for rows in pieces(rng.permutation(len(train_y)), TRAIN_BATCH):
                optimizer.zero_grad()
                entropy(model(train_x[rows]), train_y[rows]).backward()
                optimizer.step()
                yield validation.snapshot

        return sum_up(
            "MNIST",
            f"the same; {BATCH} test images a step",
            "mean cross-entropy",
            train(),
            lambda: entropy(model(test_x), test_y, reduction="none").detach().numpy(),
        )


def network(torch: Any) -> tuple[Any, Any]:
    """Return the paper's network and its optimizer."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        layers = torch.nn.Linear(784, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, 10)
    model = torch.nn.Sequential(*layers)
    return model, torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE)


def pieces(order: Any, size: int) -> Iterator[Any]:
    """Yield the rows of each batch."""
    for start in range(0, len(order), size):
        yield order[start : start + size]


def scaled(model: Any) -> Any:
    """Return a River model behind a scaler."""
    return preprocessing.StandardScaler() | model


PHISHING = RiverTask(
    "Phishing",
    datasets.Phishing(),
    scaled(linear_model.LogisticRegression()),
    "scaler, logistic regression",
    metrics.LogLoss(),
    "log",
)
SEGMENTS = RiverTask(
    "ImageSegments",
    datasets.ImageSegments(),
    scaled(linear_model.SoftmaxRegression()),
    "scaler, softmax regression",
    metrics.CrossEntropy(),
    LOG,
)
APPROVAL = RiverTask(
    "TrumpApproval",
    datasets.TrumpApproval(),
    scaled(linear_model.LinearRegression()),
    "scaler, linear regression",
    metrics.MAE(),
    "absolute",
    moving=True,
)
RUNS: list[Callable[[], Run]] = [
    *(task.run for task in (PHISHING, SEGMENTS, APPROVAL)),
    *(digits, mnist, mnist_validation),
]


def rows(runs: list[Run]) -> Rows:
    """Return the header and the rows of the table of losses."""
    header = ("data", "model", "loss", "steps", "running", "now", "95 %", "`Ensemble`", "set aside")
    return header, [
        (
            run.data,
            run.model,
            run.loss,
            f"{run.steps:,}",
            f"{run.running:.3f}",
            f"{run.snapshot.estimate:.3f}",
            ends(run.snapshot.interval),
            f"{run.blended:.3f}",
            "" if math.isnan(run.aside) else f"{run.aside:.3f} ± {run.error:.3f}",
        )
        for run in runs
    ]


def ends(interval: Interval | None) -> str:
    """Write the ends of an interval."""
    return "" if interval is None else f"{interval.lower:.3f} to {interval.upper:.3f}"


def quality_rows() -> Rows:
    """Return the header and the rows of the table of classification metrics.

    River's MCC is for two classes.
    """
    header = ("data", "model", "metric", "running", "now", "set aside")
    table = []
    for task, model, words, macro in (
        (PHISHING, PHISHING.model.clone(), PHISHING.words, ""),
        (SEGMENTS, tree.HoeffdingTreeClassifier(), "Hoeffding tree", "Macro"),
    ):
        kinds = (f"{macro}{kind}" for kind in ("Precision", "Recall", "F1"))
        names = ["Accuracy", *kinds, "BalancedAccuracy"] + ([] if macro else ["MCC"])
        running, said = ([getattr(metrics, name)() for name in names] for _ in range(2))
        stream, aside = split(task.dataset, SEED)
        for metric in running:
            evaluate.progressive_val_score(stream, model.clone(), metric)
        monitor = Monitor.of(model, "zero-one", quality=True)
        for _ in monitor.run(stream):
            pass
        for (x, y), metric in itertools.product(aside, said):
            metric.update(y, model.predict_one(x))
        quality: Any = monitor.quality
        now = [quality.accuracy, quality.precision(), quality.recall(), quality.f1()]
        now += [quality.balanced_accuracy, quality.mcc]
        for name, first, value, last in zip(names, running, now, said, strict=False):
            cells = first.get(), value, last.get()
            table.append((task.name, words, f"`{name}`", *(f"{cell:.3f}" for cell in cells)))
    return header, table


def fragment(losses_table: Rows, quality_table: Rows) -> str:
    """Write both tables in Markdown."""
    return "\n\n".join((markdown(*losses_table, numbers=6), markdown(*quality_table, numbers=3)))
