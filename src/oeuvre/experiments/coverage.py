"""How often intervals hold, and how wide they are, on learners whose true loss is known.

Two studies. On the stationary tasks of the board, which have no bounds, the intervals of the
central limit theorem: at a hundred steps of each run, after the first hundred. On learners with
losses in [0, 1] and exactly known stability, all kinds: those for one step at a few steps of each
path, those for all steps at once at every step.

The unit of work is a task with a few seeds. What is finished is kept in files, so a run that was
stopped goes on, and a changed estimator or interval is run anew.
"""

import inspect
from collections.abc import Generator, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import joblib
import numpy as np
import polars as pl

from oeuvre import AdaptiveOeuvre, Ensemble, Estimator, Oeuvre
from oeuvre.experiments import datasets
from oeuvre.experiments.store import Store, fingerprint, read_code
from oeuvre.experiments.tasks import GROUPS, LogisticRegression, NeuralNetwork, Stream, Task
from oeuvre.experiments.tasks.bounded import BoundedExperts, BoundedMean
from oeuvre.experiments.tasks.neural import import_torch

__all__ = [
    "BOUNDED",
    "KINDS",
    "LEVEL",
    "WIDE",
    "Coverage",
    "Part",
    "board_tasks",
    "kinds_of",
    "watch",
]

LEVEL = 0.95
WIDE = "OEUVRE, conservative"
FIRST = 100
"""Steps up to this one do not count on the board."""
PLACES = 100
"""At how many steps of a run on the board intervals are looked at."""
REPLICAS = 25
"""How many draws of test images are scored on each training of a network."""
CHUNK = 25
"""How many seeds are one unit of work."""
STEPS = (100, 300, 1000, 2000)
"""Where intervals for one step are looked at on the bounded learners."""
FULL: dict[str, Any] = {
    "paths": 2000,
    "seeds": {"linear": 400, "experts": 200, "logistic": 250, "neural": 3},
}
QUICK: dict[str, Any] = {"paths": 100, "seeds": {"linear": 25, "experts": 25}}
"""How many paths and seeds, so that standard errors are below 0.01; or a first look."""
BOUNDED: tuple[BoundedMean | BoundedExperts, ...] = (
    BoundedMean(),
    BoundedExperts("beta"),
    BoundedExperts("bernoulli"),
)

Asked: TypeAlias = Mapping[str, tuple[Estimator, Mapping[str, Any]]]
"""By a name to print: an estimator, and how to ask it."""

KINDS: dict[str, dict[str, Any]] = {
    "normal": {},
    "conservative": {"kind": "conservative"},
    "hoeffding": {"kind": "hoeffding"},
    "hoeffding, paper": {"kind": "hoeffding", "proxy": "paper"},
    "bernstein": {"kind": "bernstein"},
    "anytime": {"kind": "anytime", "horizon": STEPS[-1]},
    "bernstein, all steps": {"kind": "bernstein", "horizon": STEPS[-1]},
}
"""Every kind of interval, as it is asked for on the bounded learners."""


def kinds_of(task: Task) -> Asked:
    """Return whom to ask on a task, and for what."""
    if isinstance(task, BoundedMean | BoundedExperts):
        known = Oeuvre(task.stability, b=1.0, c=task.c)
        return {name: (known, asked) for name, asked in KINDS.items()}
    paper = Oeuvre(task.rate)
    return {
        "OEUVRE": (paper, {}),
        "Adaptive": (AdaptiveOeuvre(), {}),
        "Ensemble": (Ensemble(), {}),
        WIDE: (paper, {"kind": "conservative"}),
    }


def board_tasks() -> list[Task]:
    """Return the stationary tasks of the board and its networks, each with an exact truth."""
    return [
        LogisticRegression(whole=True) if isinstance(task, LogisticRegression) else task
        for group in ("linear", "experts", "logistic", "neural")
        for task in GROUPS[group]
    ]


def runs(task: Task, seed: int) -> list[Stream]:
    """Return the streams of a seed: one, or for a network several that share a training."""
    if isinstance(task, NeuralNetwork):
        return task.replicas(seed, REPLICAS)
    return [task.stream(seed)]


def places_of(stream: Stream, task: Task) -> list[int]:
    """Return the steps at which intervals are looked at, in order."""
    if isinstance(task, BoundedMean | BoundedExperts):
        return list(range(1, len(stream.truth) + 1))
    known = np.flatnonzero(~np.isnan(stream.truth[FIRST:])) + FIRST + 1
    chosen = np.unique(np.linspace(0, len(known) - 1, min(PLACES, len(known))).astype(int))
    return [int(step) for step in known[chosen]]


def watch(
    stream: Stream, asked: Asked, places: Iterable[int], at_all: Iterable[str] = ()
) -> list[dict[str, Any]]:
    """Ask for intervals along a stream: a row for each question and step.

    Those named in `at_all` are asked at every place; the others at those of STEPS only, if any
    are named at all.
    """
    everywhere = set(at_all)
    rows = []
    for estimator in dict.fromkeys(estimator for estimator, _ in asked.values()):
        names = {name: how for name, (whom, how) in asked.items() if whom is estimator}
        runner, at = estimator.clone(), 0
        for place in places:
            advance(runner, stream, at, place)
            at = place
            truth = stream.truth[place - 1]
            for name, how in names.items():
                if everywhere and name not in everywhere and place not in STEPS:
                    continue
                interval = runner.interval(LEVEL, **how)
                rows.append(
                    {
                        "asked": name,
                        "step": place,
                        "held": truth in interval,
                        "half": interval.width / 2,
                    }
                )
    return rows


def advance(runner: Estimator, stream: Stream, start: int, stop: int) -> None:
    """Take the steps of a part of a stream."""
    part = slice(start, stop)
    rates = None if stream.rates is None else stream.rates[part]
    if stop > start + 1:
        runner.replay(stream.loss[part], stream.previous[part], rates=rates)
    else:
        rate = None if rates is None else rates[0]
        runner.update(stream.loss[start], stream.previous[start], rate=rate)


@dataclass(frozen=True)
class Part:
    """A task with a few seeds: the unit of work."""

    task: Task
    seeds: tuple[int, ...]

    @property
    def label(self) -> str:
        """The name under which the results are kept."""
        return f"{self.task.name}/seeds{self.seeds[0]}-{self.seeds[-1]}"

    @property
    def maker(self) -> dict[str, Any]:
        """What makes the results."""
        return {**maker_of(self.task), "seeds": self.seeds}

    def work(self) -> pl.DataFrame:
        """Return a row for each seed and question: on the board what held on average.

        On the bounded learners there is a row for each of STEPS too; for intervals that promise to
        hold at all steps at once, `always` tells whether they did up to there.
        """
        tables = []
        bounded = isinstance(self.task, BoundedMean | BoundedExperts)
        at_all = [name for name, how in KINDS.items() if "horizon" in how] if bounded else []
        for seed in self.seeds:
            for replica, stream in enumerate(runs(self.task, seed)):
                rows = watch(stream, kinds_of(self.task), places_of(stream, self.task), at_all)
                table = pl.DataFrame(rows).cast({"held": pl.Float64})
                if bounded:
                    table = table.with_columns(
                        pl.col("held").cum_min().over("asked").alias("always")
                    ).filter(pl.col("step").is_in(STEPS))
                else:
                    table = table.group_by("asked", maintain_order=True).agg(
                        pl.col("held").mean(), pl.col("half").log().mean().exp()
                    )
                tables.append(
                    table.with_columns(
                        pl.lit(self.task.name).alias("task"),
                        pl.lit(seed).alias("seed"),
                        pl.lit(replica).alias("replica"),
                    )
                )
        return pl.concat(tables)


@lru_cache
def maker_of(task: Task) -> dict[str, Any]:
    """Tell what makes the results of a task, whatever the seeds."""
    rooms = ("bernstein", "hoeffding", "interval", "normal")
    study = (runs, places_of, watch, advance, Part.work)
    return {
        "task": fingerprint(task, *task.libraries),
        "data": [digest for key in task.datasets for digest in datasets.digests(key)],
        "asked": [
            (name, fingerprint(whom), sorted(how.items()))
            for name, (whom, how) in kinds_of(task).items()
        ],
        "intervals": [read_code(f"oeuvre.intervals.{room}")[0] for room in rooms],
        "study": [inspect.getsource(each) for each in study],
    }


class Coverage:
    """Both studies, and the folder that keeps what is finished.

    Parameters
    ----------
    folder
        Where finished results are kept.
    paths
        How many paths of each bounded learner.
    seeds
        How many runs of each task of the board, by group; groups that are left out are not run.
    """

    def __init__(self, folder: Path, *, paths: int, seeds: Mapping[str, int]) -> None:
        self.store = Store(folder)
        counts: list[tuple[Task, int]] = [(task, paths) for task in BOUNDED]
        counts += [(task, seeds.get(task.group, 0)) for task in board_tasks()]
        self.parts = [
            Part(task, tuple(range(first, min(first + size, count))))
            for task, count in counts
            for size in (1 if isinstance(task, NeuralNetwork) else CHUNK,)
            for first in range(0, count, size)
        ]

    def prepare(self) -> None:
        """Make sure that data, PyTorch and the folder are at hand before any work is done."""
        tasks = {part.task for part in self.parts}
        if any(isinstance(task, NeuralNetwork) for task in tasks):
            import_torch()
        self.store.folder.mkdir(parents=True, exist_ok=True)
        datasets.ensure(key for task in tasks for key in task.datasets)

    def run(self, workers: int = -1) -> Generator[Part]:
        """Do what is not done yet, `workers` parts at a time (-1: one a core); yield each."""
        todo = []
        for part in sorted(self.parts, key=lambda part: -part.task.cost):
            if self.store.read(part.label, part.maker) is None:
                todo.append(part)
            else:
                yield part
        calls = (joblib.delayed(finish)(part) for part in todo)
        parallel = joblib.Parallel(n_jobs=workers, return_as="generator_unordered")
        with closing(parallel(calls)) as finished:
            for part, table in finished:
                self.store.write(part.label, part.maker, table)
                yield part

    def results(self) -> pl.DataFrame:
        """Return the rows of all parts, which must be done."""
        tables = []
        for part in self.parts:
            table = self.store.read(part.label, part.maker)
            if table is None:
                raise LookupError(f"{part.label} is not done.")
            tables.append(table)
        return pl.concat(tables, how="diagonal")


def finish(part: Part) -> tuple[Part, pl.DataFrame]:
    """Do a part of the work."""
    try:
        return part, part.work()
    except Exception as error:
        error.add_note(f"This was {part.label}.")
        raise
