"""From the names of some tasks to a page of results: what `oeuvre reproduce` does."""

import tempfile
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import joblib

from oeuvre import atomic
from oeuvre.experiments import choosing, datasets, pictures, results, tasks
from oeuvre.experiments.board import Board
from oeuvre.experiments.sweep import Sweep
from oeuvre.experiments.tasks.neural import import_torch
from oeuvre.parameters import invalid
from oeuvre.report import figures

__all__ = ["conclude", "prepare"]


def prepare(groups: Iterable[str], out: Path, *, seeds: int = 10, quick: bool = False) -> Sweep:
    """Return the sweep over some groups of tasks, with all it needs at hand.

    Its finished work is kept under `out`. Iterate over `run()` to do it, then `conclude`.

    Raises DataError if a data set is neither in `OEUVRE_DATA` nor to be had from the network.
    """
    names = list(dict.fromkeys(groups))
    for name in names:
        if name not in tasks.GROUPS:
            words = ", ".join(map(repr, tasks.GROUPS))
            raise invalid("reproduce", "groups", f"some of {words}", name)
    sweep = Sweep(tasks.choose(names, quick=quick), seeds, out / "cells")
    if any(isinstance(task, tasks.NeuralNetwork) for task in sweep.tasks) and not has_torch():
        import_torch()  # says how to install it
    (out / "cells").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=out / "cells"):  # it can be written to, or there is no point
        pass
    datasets.ensure(key for task in sweep.tasks for key in task.datasets)
    return sweep


def has_torch() -> bool:
    """Tell whether PyTorch is there, without the seconds it takes to import it."""
    try:
        return find_spec("torch") is not None
    except (ImportError, ValueError):
        return False


def conclude(sweep: Sweep, out: Path, workers: int = -1) -> Board:
    """Judge a sweep that is done; write the page, the figures and the board under `out`.

    Figures are drawn `workers` at a time, on this machine: the folder is here.
    """
    board = Board(sweep.scores())
    choices = choosing.choices(sweep, board, workers)
    (out / "results").mkdir(parents=True, exist_ok=True)
    drawn = dict(pictures.draw(sweep, board))
    joblib.Parallel(n_jobs=workers, backend="loky")(
        joblib.delayed(figures.save)(figure, out / "results" / name)
        for name, figure in drawn.items()
    )
    atomic.write_bytes(out / "board.csv", board.table.write_csv().encode())
    atomic.write_bytes(
        out / "results.md", results.page(sweep, board, choices, list(drawn)).encode()
    )
    return board
