"""Every estimator with every setting on every task and seed, in parallel, and resumable.

The unit of work is a task with a seed: its stream is made once, and each family of estimators is
scored on it. What is finished is kept in files, a stream or the scores of a family in each; a run
that was killed goes on where it stopped, and a changed estimator or task costs only its own files.

Work is handed out by joblib, so `joblib.parallel_config(backend="dask")` sends it to a Dask
cluster. Workers get and return arrays; only the process that calls `run` touches the files.
"""

import inspect
from collections.abc import Generator, Iterable
from contextlib import closing
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import polars as pl

from oeuvre import (
    AdaptiveOeuvre,
    Adwin,
    Ensemble,
    Estimator,
    ExponentialMovingAverage,
    FadingFactor,
    Oeuvre,
    Prequential,
    SlidingWindow,
)
from oeuvre.estimators.arrays import Floats
from oeuvre.experiments import datasets
from oeuvre.experiments.store import Store, fingerprint
from oeuvre.experiments.tasks import Stream, Task
from oeuvre.parameters import integer, invalid

__all__ = ["BASELINES", "RATE_FREE", "Job", "Sweep", "families", "score"]

BASELINES: dict[str, tuple[Estimator, ...]] = {
    "Prequential": (Prequential(),),
    "SW": tuple(SlidingWindow(size) for size in (10, 50, 100, 200, 400, 600, 800, 1000)),
    "EMA": tuple(ExponentialMovingAverage(alpha) for alpha in (0.1, 0.05, 0.01, 0.005, 0.001)),
    "FFPreq": tuple(
        FadingFactor(fading) for fading in (0.8, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999)
    ),
    "ADWIN": tuple(
        Adwin(delta)
        for delta in (
            *(1e-6, 1e-5, 5e-5, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 5e-2),
            *(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
        )
    ),
}
"""The paper's baselines over its whole grid, by the paper's names."""

RATE_FREE: dict[str, tuple[Estimator, ...]] = {
    "Adaptive": (AdaptiveOeuvre(),),
    "Two-gain": (AdaptiveOeuvre(two_gain=True),),
    "Ensemble": (Ensemble(),),
}
"""What goes beyond the paper; none of it has a setting."""


def families(task: Task) -> dict[str, tuple[Estimator, ...]]:
    """Return what is judged on a task: the paper's with the task's rate, ours, the baselines."""
    return {"OEUVRE": (Oeuvre(task.rate),), **RATE_FREE, **BASELINES}


def score(estimate: Floats, truth: Floats) -> dict[str, float]:
    """Return the paper's metrics over all steps that have a truth; bias is estimate − truth."""
    error = (estimate - truth)[~np.isnan(truth)]
    return {
        "rmse": float(np.sqrt(np.mean(error**2))),
        "mae": float(np.mean(np.abs(error))),
        "bias": float(np.mean(error)),
    }


def score_family(members: Iterable[Estimator], stream: Stream) -> pl.DataFrame:
    """Score each member on a stream, against each of its truths."""
    truths = {"paper": stream.truth, "sharp": stream.sharp}
    rows = []
    for member in members:
        course = member.clone().replay(stream.loss, stream.previous, rates=stream.rates)
        rows += [
            {"setting": repr(member), "truth": name, **score(course.estimate, truth)}
            for name, truth in truths.items()
            if truth is not None
        ]
    return pl.DataFrame(rows)


def work(
    job: "Job", stream: Stream | None, missing: dict[str, tuple[Estimator, ...]]
) -> tuple["Job", Stream | None, dict[str, pl.DataFrame]]:
    """Score the families that are missing; return the stream too if it had to be made."""
    try:
        made = job.task.stream(job.seed) if stream is None else stream
        scores = {name: score_family(members, made) for name, members in missing.items()}
    except Exception as error:
        error.add_note(f"This was {job.task.name} with seed {job.seed}.")
        raise
    return job, made if stream is None else None, scores


@dataclass(frozen=True)
class Job:
    """A task with a seed: the unit of work."""

    task: Task
    seed: int

    def label(self, part: str) -> str:
        """Return the name under which a part of this job is kept."""
        return f"{self.task.name}/seed{self.seed}/{part}"

    @property
    def maker(self) -> dict[str, Any]:
        """What makes the stream."""
        return {
            "task": fingerprint(self.task, *self.task.libraries),
            "data": [digest for key in self.task.datasets for digest in datasets.digests(key)],
            "seed": self.seed,
        }

    def maker_of(self, members: tuple[Estimator, ...]) -> dict[str, Any]:
        """Tell what makes the scores of a family on the stream."""
        river = ("river",) if any(isinstance(member, Adwin) for member in members) else ()
        return {
            "stream": self.maker,
            "metrics": inspect.getsource(score) + inspect.getsource(score_family),
            "family": [fingerprint(member, *river) for member in members],
        }


class Sweep:
    """Tasks and seeds to be judged, and the folder that keeps what is finished.

    Parameters
    ----------
    tasks
        What to run. Tasks without randomness run for one seed only.
    seeds
        How many seeds, from 0 on.
    folder
        Where finished streams and scores are kept.
    """

    def __init__(self, tasks: Iterable[Task], seeds: int, folder: Path) -> None:
        self.tasks = list(dict.fromkeys(tasks))
        self.seeds = integer("Sweep", "seeds", seeds, 1)
        names = [task.name for task in self.tasks]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise invalid("Sweep", "tasks", "of different names", twice)
        self.store = Store(folder)
        self.jobs = [
            Job(task, seed) for task in self.tasks for seed in range(seeds if task.seeded else 1)
        ]

    def run(self, workers: int = -1) -> Generator[Job]:
        """Do what is not done yet, `workers` jobs at a time (-1: one a core); yield each job done.

        The slowest tasks come first, so that no core idles at the end.
        """
        todo = []
        for job in sorted(self.jobs, key=lambda job: -job.task.cost):
            missing = {
                name: members
                for name, members in families(job.task).items()
                if self.store.read(job.label(name), job.maker_of(members)) is None
            }
            if missing or self._stored(job) is None:
                todo.append((job, missing))
            else:
                yield job
        calls = (joblib.delayed(work)(job, self._stored(job), missing) for job, missing in todo)
        parallel = joblib.Parallel(n_jobs=workers, return_as="generator_unordered")
        with closing(parallel(calls)) as finished:  # whoever stops early stops the workers
            for job, made, scores in finished:
                if made is not None:
                    self.store.write(job.label("stream"), job.maker, as_table(made))
                for name, table in scores.items():
                    maker = job.maker_of(families(job.task)[name])
                    self.store.write(job.label(name), maker, table)
                yield job

    def scores(self) -> pl.DataFrame:
        """Return the scores of all jobs, which must be done: a row for each setting and truth."""
        parts = []
        for job in self.jobs:
            for name, members in families(job.task).items():
                table = self.store.read(job.label(name), job.maker_of(members))
                if table is None:
                    raise LookupError(f"{job.label(name)} is not done.")
                columns = {"group": job.task.group, "task": job.task.name, "seed": job.seed}
                parts.append(
                    table.select(
                        *(pl.lit(value).alias(key) for key, value in columns.items()),
                        pl.lit(name).alias("family"),
                        pl.all(),
                    )
                )
        return pl.concat(parts)

    def stream(self, job: Job) -> Stream:
        """Return a job's stream, made again if it is not stored."""
        return self._stored(job) or job.task.stream(job.seed)

    def _stored(self, job: Job) -> Stream | None:
        table = self.store.read(job.label("stream"), job.maker)
        if table is None:
            return None
        return Stream(**{column.name: column.to_numpy() for column in table})


def as_table(stream: Stream) -> pl.DataFrame:
    """Return the arrays that a stream has as columns."""
    arrays = {field.name: getattr(stream, field.name) for field in fields(stream)}
    return pl.DataFrame({name: array for name, array in arrays.items() if array is not None})
