"""How much the constants beyond the paper matter, and whether they were tuned to the tasks.

Reads the streams that `make paper` has left in out/paper. Each constant is varied over a wide grid;
then, leaving out one group of tasks at a time, the setting that is best on all others is judged on
the one left out, beside the setting in use. Writes `benchmarks/constants.md`: `make constants`.
"""

import importlib.util
import itertools
import math
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import NDArray
from rich.progress import track

import oeuvre
from oeuvre.estimators.ensemble import default_bank
from oeuvre.experiments.board import Board
from oeuvre.experiments.sweep import Job, Sweep, score
from oeuvre.experiments.tasks import BEYOND, PAPER, Stream, choose

RESULTS = Path(__file__).with_name("constants.md")
CELLS = Path(__file__).parents[1] / "out" / "paper" / "cells"
SEEDS = 3
"""So many of the ten seeds are used; the ratios are those of the same seeds."""

RATES = (0.05, 0.1, 0.2, 0.4, 0.8)
SHARES = (1e-5, 5e-5, 2e-4, 1e-3)
RESTS = (0.02, 0.05, 0.2, 0.5)
IN_USE = (0.2, 2e-4, 0.2)
SETTINGS = tuple(itertools.product(RATES, SHARES, RESTS))
"""η, α, and the part of the prior that is not on the two rate-free members."""
HORIZONS = (1, 3, 10, 30, 100)
MEMORIES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

Floats = NDArray[np.float64]


def blends(members: Floats, previous: Floats, horizon: int = 10) -> Floats:
    """Return the course of the blend for each of SETTINGS: the rule of `Ensemble`, on arrays."""
    eta, share, rest = (np.array(column)[:, None] for column in zip(*SETTINGS, strict=True))
    default = np.array(default_bank()[1])
    free = default.copy()
    free[2:] = 0.0
    prior = (1 - rest) * free / free.sum() + rest * (default - free) / (default - free).sum()
    weights = prior.copy()
    noise = np.zeros((len(SETTINGS), 1))
    streak = np.zeros((len(SETTINGS), 1))
    course = np.empty((len(previous), len(SETTINGS)))
    sums = np.concatenate(([0.0], np.cumsum(previous)))
    for t in range(len(previous)):
        count = t - horizon + 1
        if count >= 1:
            said, mine = course[t - horizon, :, None], members[:, t - horizon]
            target = (sums[t + 1] - sums[t + 1 - horizon]) / horizon + np.zeros_like(said)
            value = horizon * (said - target) ** 2
            streak = np.where(value > 3.0 * noise, streak + 1, 0)
            if count > 10:
                firm = (noise > 1e-290) & (streak <= 3 * horizon)
                far = firm & (value > 25.0 * noise)
                shrink = np.sqrt(25.0 * noise / np.where(far, value, 1.0))
                target = np.where(far, said + (target - said) * shrink, target)
                value = np.where(firm, np.minimum(value, 3.0 * noise), value)
            noise = noise + max(0.01, count**-0.8) * (value - noise)
            error = (mine - target) ** 2
            excess = error - error.min(axis=1, keepdims=True)
            loud = noise > 1e-290
            pull = eta * excess / np.where(loud, noise, 1.0)
            weights = weights * np.where(loud, np.exp(-np.minimum(50.0, pull)), 1.0)
            weights /= weights.sum(axis=1, keepdims=True)
            weights += np.where(loud, share, 0.0) * (prior - weights)
        course[t] = weights @ members[:, t]
    return course


def plain_kernel(memory: float) -> ModuleType:
    """Return the kernel of `AdaptiveOeuvre` as plain Python, with another memory of its moments."""
    path = Path(oeuvre.__file__).parent / "_kernels" / "adaptive.py"
    spec = importlib.util.spec_from_file_location("plain_adaptive", path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.MEMORY = memory  # type: ignore[attr-defined]
    return module


def adaptive(kernel: ModuleType, stream: Stream, two_gain: bool) -> Floats:
    """Return the course of `AdaptiveOeuvre` with a kernel of its own."""
    core = kernel.AdaptiveCore()
    core._configure(two_gain, False)
    core._clear()
    course = np.empty(len(stream.loss))
    pairs = zip(stream.loss.tolist(), stream.previous.tolist(), strict=True)
    for t, (loss, previous) in enumerate(pairs):
        core._advance(loss, previous, 1.0)
        course[t] = core._estimate
    return course


def errors(job: Job, stream: Stream, kernels: dict[float, ModuleType]) -> dict[str, float]:
    """Return the RMSE of everything that is varied, on one run."""
    truth = stream.truth if stream.sharp is None else stream.sharp
    members = np.array(
        [member.replay(stream.loss, stream.previous).estimate for member in default_bank()[0]]
    )
    steps = np.arange(1, len(truth) + 1)
    told = stream.truth + np.cumsum(stream.loss - stream.truth) / steps
    one = oeuvre.AdaptiveOeuvre().replay(stream.loss, stream.previous).estimate
    courses = dict(zip(SETTINGS, blends(members, stream.previous).T, strict=True))
    course = oeuvre.Ensemble().replay(stream.loss, stream.previous).estimate
    np.testing.assert_allclose(courses[IN_USE], course, rtol=1e-6)  # it is the library's rule
    found = {"told": score(told, truth)["rmse"], "one gain": score(one, truth)["rmse"]}
    for setting, course in courses.items():
        found[f"blend {setting}"] = score(course, truth)["rmse"]
    for horizon in HORIZONS:
        course = oeuvre.Ensemble(horizon=horizon).replay(stream.loss, stream.previous).estimate
        found[f"horizon {horizon}"] = score(course, truth)["rmse"]
    for memory, kernel in kernels.items() if job.seed == 0 else ():
        for two_gain in (False, True):
            course = adaptive(kernel, stream, two_gain)
            found[f"memory {memory} {two_gain}"] = score(course, truth)["rmse"]
    return found


def measure() -> dict[str, dict[str, float]]:
    """Return, for each group, the mean log ratio of each variant's RMSE to the best baseline's."""
    sweep = Sweep(choose((*PAPER, *BEYOND)), 10, CELLS)
    board = Board(sweep.scores())
    kernels = {memory: plain_kernel(memory) for memory in MEMORIES}
    cells: dict[tuple[str, str], dict[str, list[float]]] = {}
    jobs = [job for job in sweep.jobs if job.seed < SEEDS]
    for job in track(jobs, "varying the constants"):
        stream = sweep.stream(job)
        truth = "paper" if stream.sharp is None else "sharp"
        setting = board.best_baseline(job.task.name, truth)["setting"]
        run = board.scores.filter(task=job.task.name, seed=job.seed, truth=truth, setting=setting)
        best = float(run["rmse"][0])
        cell = cells.setdefault((job.task.group, job.task.name), {})
        for name, error in errors(job, stream, kernels).items():
            cell.setdefault(name, []).append(math.log(error / best))
    groups: dict[str, dict[str, list[float]]] = {}
    for (group, _), cell in cells.items():
        for name, logs in cell.items():
            groups.setdefault(group, {}).setdefault(name, []).append(float(np.mean(logs)))
    return {
        group: {name: float(np.mean(logs)) for name, logs in part.items()}
        for group, part in groups.items()
    }


def table(header: list[str], rows: list[list[str]]) -> str:
    """Write a table in Markdown."""
    marks = ["---", *("---:" for _ in header[1:])]
    return "\n".join("| " + " | ".join(line) + " |" for line in [header, marks, *rows])


def over_groups(logs: dict[str, dict[str, float]], names: dict[str, str]) -> str:
    """Write the ratios of some variants, a row for each and a column for each group."""
    rows = [
        [label, *(f"{math.exp(part[name]):.2f}" for part in logs.values())]
        for label, name in names.items()
    ]
    return table(["", *logs], rows)


def left_out(logs: dict[str, dict[str, float]]) -> str:
    """Write, for each group, the setting that is best on all others, and its ratio on this one."""
    rows = []
    for group, own in logs.items():
        others = [part for other, part in logs.items() if other != group]
        best = min(SETTINGS, key=lambda s: sum(part[f"blend {s}"] for part in others))
        ratios = (math.exp(own[f"blend {setting}"]) for setting in (best, IN_USE))
        lowest = math.exp(min(own[f"blend {setting}"] for setting in SETTINGS))
        shown = [f"{ratio:.3f}" for ratio in (*ratios, lowest)]
        rows.append([group, *(f"{value:g}" for value in best), *shown])
    header = ["left out", "η", "α", "rest", "ratio", "in use", "best of all in hindsight"]
    return table(header, rows)


def main() -> None:
    """Run everything, print it and write it down."""
    logs = measure()
    one_by_one = (
        {f"η = {eta:g}": f"blend {(eta, *IN_USE[1:])}" for eta in RATES}
        | {f"α = {share:g}": f"blend {(IN_USE[0], share, IN_USE[2])}" for share in SHARES}
        | {f"rest of the prior = {rest:g}": f"blend {(*IN_USE[:2], rest)}" for rest in RESTS}
    )
    memory = {
        f"{memory}, {'two gains' if two_gain else 'one gain'}": f"memory {memory} {two_gain}"
        for two_gain in (False, True)
        for memory in MEMORIES
    }
    parts = [
        "# Constants",
        "Written by `make constants`. RMSE over that of the best baseline, geometric means over "
        f"the cells of each group, {SEEDS} seeds (networks by their sharp truth).",
        "## One group left out",
        "The setting of the blend (η, α, and the part of the prior that is not on the two "
        "rate-free members) that is best on all other groups, out of "
        f"{len(SETTINGS)}; its ratio on the group left out, and that of the setting in use, "
        f"{IN_USE}.",
        left_out(logs),
        "## One constant varied",
        over_groups(logs, one_by_one),
        "## The horizon",
        over_groups(logs, {f"horizon {h}": f"horizon {h}" for h in HORIZONS}),
        "## What there is to win",
        "A mean of all losses that is told every exact change of the true loss, beside "
        "`AdaptiveOeuvre`: noise is what remains. (Where the truth is itself an estimate, as for "
        "networks and drifting data, the first row is too good to be true.)",
        over_groups(logs, {"told every change": "told", "`AdaptiveOeuvre`": "one gain"}),
        "## The memory of the moments",
        "The exponent of `AdaptiveOeuvre`'s moments, the first seed only.",
        over_groups(logs, memory),
    ]
    text = "\n\n".join(parts) + "\n"
    print(text)
    RESULTS.write_text(text)


if __name__ == "__main__":
    main()
