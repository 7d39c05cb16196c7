"""The paper's figures, from a finished sweep."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from oeuvre.estimators.arrays import Floats
from oeuvre.experiments.board import METRICS, Board
from oeuvre.experiments.datasets import DATASETS
from oeuvre.experiments.sweep import BASELINES, Job, Sweep, families
from oeuvre.experiments.tasks import (
    DriftingRegression,
    ExpertAdvice,
    LinearRegression,
    LogisticRegression,
    NeuralNetwork,
    ShiftingRegression,
    Task,
)
from oeuvre.report.figures import Panel, bars, lines, over_time

__all__ = ["draw"]

NAMES = {"rmse": "RMSE", "mae": "MAE", "bias": "bias"}


def draw(sweep: Sweep, board: Board) -> Iterator[tuple[str, Figure]]:
    """Yield each figure that the tasks of the sweep allow, by its name."""
    yield "contest", _contest(board)
    linear = [task for task in sweep.tasks if isinstance(task, LinearRegression)]
    if linear:
        columns = {
            f"noise {noise:g}": [task for task in linear if task.noise == noise]
            for noise in dict.fromkeys(task.noise for task in linear)
        }
        ticks = [f"{task.dimension}" for task in next(iter(columns.values()))]
        yield "linear", _compare(board, columns, METRICS, ticks, "dimension")
        yield "linear-all", _compare(board, columns, METRICS, ticks, "dimension", every=True)
    experts = [task for task in sweep.tasks if isinstance(task, ExpertAdvice)]
    if experts:
        kinds = {
            f"{name.capitalize()} losses": [task for task in experts if task.distribution == name]
            for name in dict.fromkeys(task.distribution for task in experts)
        }
        ticks = [f"{task.experts}" for task in next(iter(kinds.values()))]
        yield "experts", _compare(board, kinds, METRICS[:2], ticks, "experts")
        yield "experts-all", _compare(board, kinds, METRICS, ticks, "experts", every=True)
    neural = [task for task in sweep.tasks if isinstance(task, NeuralNetwork)]
    if neural:
        yield "neural", _networks(board, neural, "paper")
        yield "neural-sharp", _networks(board, neural, "sharp")
    for task in sweep.tasks:
        if isinstance(task, LogisticRegression):
            yield "representative", _run(sweep, board, task, "Diabetes Health Indicators")
        elif isinstance(task, DriftingRegression):
            standardised = ", standardised" if task.group == "standardised" else ""
            title = DATASETS[task.data].title + standardised
            yield task.name, _run(sweep, board, task, title)
        elif isinstance(task, ShiftingRegression):
            title = f"A target with {task.kind} changes"
            yield task.name, _run(sweep, board, task, title, first="Ensemble")


def _contest(board: Board) -> Figure:
    """Draw, for each group of tasks, the mean ratio of each contender to the best baseline."""
    summary = board.summary()
    sharp = set(summary.filter(truth="sharp")["group"])
    kept = summary.filter((pl.col("truth") == "sharp") | ~pl.col("group").is_in(sharp))
    groups = kept["group"].unique(maintain_order=True).to_list()
    series = {
        family: (kept.filter(family=family)["rmse_to_best"].to_list(), [0.0] * len(groups))
        for family in board.contenders
    }
    labels = [group.replace("standardised", "standard-\nised") for group in groups]
    title = "RMSE over that of the best baseline"
    return lines([[Panel(title, labels, series, logarithmic=True, linked=False)]])


def _compare(
    board: Board,
    columns: Mapping[str, Sequence[Task]],
    metrics: Sequence[str],
    ticks: list[str],
    xlabel: str,
    *,
    every: bool = False,
) -> Figure:
    """Draw us beside the best and the median baseline, or beside the best of every family."""

    def values(rows: list[dict[str, Any]], metric: str) -> tuple[list[float], list[float]]:
        return [row[metric] for row in rows], [row.get(f"{metric}_spread", 0.0) for row in rows]

    grid = []
    for metric in metrics:
        line: list[Panel] = []
        for title, tasks in columns.items():
            names = [task.name for task in tasks]
            if every:
                shown = {
                    family: [board.row(name, family) for name in names] for family in board.families
                }
            else:
                shown = {
                    **{
                        each: [board.row(name, each) for name in names] for each in board.contenders
                    },
                    "median baseline": [board.median_baseline(name) for name in names],
                    "best baseline": [board.best_baseline(name) for name in names],
                }
            line.append(
                Panel(
                    title=title if metric == metrics[0] else "",
                    labels=ticks,
                    series={name: values(rows, metric) for name, rows in shown.items()},
                    xlabel=xlabel if metric == metrics[-1] else "",
                    ylabel=NAMES[metric] if not line else "",
                    logarithmic=metric != "bias",
                )
            )
        grid.append(line)
    return lines(grid)


def _networks(board: Board, tasks: list[NeuralNetwork], truth: str) -> Figure:
    """Draw bars for each data set: a row for each number of samples, a column for each metric.

    As in the paper, the prequential mean is left out.
    """
    grid = []
    for samples in dict.fromkeys(task.samples for task in tasks):
        some = [task for task in tasks if task.samples == samples]
        line = []
        for metric in METRICS:
            series = {}
            for family in board.everyone:
                if family == "Prequential":
                    continue  # many times the others, whose bars could no longer be told apart
                rows = [board.row(task.name, family, truth) for task in some]
                series[family] = (
                    [row[metric] for row in rows],
                    [row[f"{metric}_spread"] for row in rows],
                )
            titles = [DATASETS[task.data].title for task in some]
            line.append(Panel(f"{NAMES[metric]}, {samples} samples a step", titles, series))
        grid.append(line)
    return bars(grid)


def _run(sweep: Sweep, board: Board, task: Task, title: str, first: str = "OEUVRE") -> Figure:
    """Draw the course of one run, each estimator at the best setting of its family.

    The run is the one whose RMSE of the `first` is the median over the seeds (the lower of two).
    """
    jobs = [job for job in sweep.jobs if job.task == task]
    ours = board.scores.filter(family=first, task=task.name, truth="paper").sort("rmse")
    middle = ours["seed"][(len(ours) - 1) // 2]
    truth, course = _courses(sweep, board, next(job for job in jobs if job.seed == middle))
    return over_time(truth, {first: course.pop(first), **course}, title=title)


def settings_of(estimator: str) -> str:
    """Return what stands between the brackets of an estimator's repr."""
    return estimator.partition("(")[2].rstrip(")")


def _courses(sweep: Sweep, board: Board, job: Job) -> tuple[Floats, dict[str, Floats]]:
    """Return the truth of a job and the course of each family at its best setting."""
    stream = sweep.stream(job)
    course = {}
    for family, members in families(job.task).items():
        setting = board.row(job.task.name, family)["setting"]
        member = next(each for each in members if repr(each) == setting)
        replay = member.clone().replay(stream.loss, stream.previous, rates=stream.rates)
        tuned = settings_of(setting) if family in BASELINES else ""
        course[f"{family} {tuned}".strip()] = replay.estimate
    return stream.truth, course
