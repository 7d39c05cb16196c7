"""How good a choice without the truth is: `oeuvre.compare` on every run, judged with the truth."""

import joblib
import polars as pl

from oeuvre import Estimator, compare
from oeuvre.experiments.board import Board
from oeuvre.experiments.sweep import Job, Sweep, families
from oeuvre.experiments.tasks import Stream

__all__ = ["choices", "offered"]


def offered(job: Job) -> list[Estimator]:
    """Return what is compared: all settings of all families but ADWIN's, which take long."""
    found = families(job.task)
    return [member for family in found if family != "ADWIN" for member in found[family]]


def choose(job: Job, stream: Stream) -> str:
    """Return the setting that `oeuvre.compare` puts first."""
    members = offered(job)
    ranking = compare(stream.loss, stream.previous, members, rates=stream.rates)
    return ranking.best.name


def choices(sweep: Sweep, board: Board, workers: int = -1) -> pl.DataFrame:
    """Return a row for each run: what was chosen, and its RMSE over the lowest on offer.

    Judged by the sharp truth where there is one.
    """
    calls = (joblib.delayed(choose)(job, sweep.stream(job)) for job in sweep.jobs)
    picks = joblib.Parallel(n_jobs=workers, return_as="generator")(calls)
    rows = []
    for job, pick in zip(sweep.jobs, picks, strict=True):
        run = board.scores.filter(task=job.task.name, seed=job.seed)
        truth = "sharp" if "sharp" in run["truth"] else "paper"
        settings = [repr(member) for member in offered(job)]
        scores = run.filter(pl.col("truth") == truth, pl.col("setting").is_in(settings))
        errors = dict(scores.select("setting", "rmse").iter_rows())
        rows.append(
            {
                "group": job.task.group,
                "task": job.task.name,
                "seed": job.seed,
                "offered": len(settings),
                "choice": pick,
                "ratio": errors[pick] / min(errors.values()),
            }
        )
    return pl.DataFrame(rows)
