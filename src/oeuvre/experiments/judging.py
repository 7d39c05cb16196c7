"""Whether what the paper observed is seen here: one judge for each kind of claim.

Words of the paper are read as numbers, the same for every claim: "comparable", "competitive" or
"close" is at most `CLOSE` times the other, "clearly lower" at most `CLEAR` times, "much worse" at
least `MUCH` times, and "reasonably well" less than that. Each baseline stands at its best setting.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from oeuvre.experiments.board import METRICS, Board
from oeuvre.experiments.sweep import BASELINES
from oeuvre.experiments.tasks import PAPER

__all__ = ["CLEAR", "CLOSE", "MUCH", "Finding", "Judge", "NothingToJudge"]

CLOSE, CLEAR, MUCH = 1.1, 0.9, 1.5
NAMES = {"rmse": "RMSE", "mae": "MAE", "bias": "|bias|"}


class NothingToJudge(LookupError):
    """A claim is about tasks that are not on the board."""


@dataclass(frozen=True)
class Finding:
    """The outcome of each check behind a claim, and the figures in words."""

    checks: list[bool]
    figures: str

    @property
    def verdict(self) -> str:
        """Say "holds" if all checks agree, "does not hold here" if none does."""
        if all(self.checks):
            return "holds"
        return "holds in part" if any(self.checks) else "does not hold here"


Judge: TypeAlias = Callable[[Board], Finding]


def cells(board: Board, *prefixes: str, sizes: Iterable[int] = (), at_least: int = 1) -> list[str]:
    """Return the paper's tasks whose names begin with one of some words and have some size.

    Raises NothingToJudge if they are fewer than the claim is about.
    """
    wanted = {f"{letter}{size}" for size in sizes for letter in "dk"}
    found = [
        task
        for task in board.tasks(*PAPER)
        if task.startswith(prefixes or ("",)) and (not wanted or wanted & set(task.split("-")))
    ]
    if len(found) < at_least:
        raise NothingToJudge(prefixes)
    return found


def within(column: str, limit: float, *prefixes: str, sizes: Iterable[int] = ()) -> Judge:
    """Judge whether one of our ratios is at most a limit in every cell."""

    def judge(board: Board) -> Finding:
        values = board.ratios(cells(board, *prefixes, sizes=sizes), column)
        checks = [value <= limit for value in values]
        metric, other = column.split("_to_")
        text = f"{NAMES[metric]} {span(values)} times that of the {other} baseline"
        if len(values) > 1:
            text += f"; at most {limit:g} in {sum(checks)} of {len(values)} cells"
        return Finding(checks, text)

    return judge


def lowest(metrics: Iterable[str], *prefixes: str, factor: float = 1.0, at_least: int = 1) -> Judge:
    """Judge whether we are at most `factor` times the lowest of the baselines, by each metric."""

    def judge(board: Board) -> Finding:
        checks, texts = [], []
        for metric in metrics:
            ratios = []
            for task in cells(board, *prefixes, at_least=at_least):
                others = [size(board, task, family, metric) for family in BASELINES]
                ratios.append(size(board, task, "OEUVRE", metric) / min(others))
            checks += [ratio <= factor for ratio in ratios]
            texts.append(f"{NAMES[metric]} {span(ratios)}")
        return Finding(checks, "over the lowest of the baselines: " + ", ".join(texts))

    return judge


def size(board: Board, task: str, family: str, metric: str) -> float:
    """Return a metric of a family's best setting; of the bias, the mean of its absolute value."""
    return float(board.row(task, family)["bias_size" if metric == "bias" else metric])


def span(values: list[float]) -> str:
    """Write a range of numbers."""
    low, high = f"{min(values):.2f}", f"{max(values):.2f}"
    return low if low == high else f"{low} to {high}"


def order(board: Board, task: str) -> list[str]:
    """Return all families, the lowest RMSE first."""
    return sorted(board.families, key=lambda family: size(board, task, family, "rmse"))


def ranking(board: Board, task: str) -> str:
    """Write the families and their RMSEs in order."""
    return ", ".join(f"{f} {size(board, task, f, 'rmse'):.4f}" for f in order(board, task))


def everywhere(board: Board) -> Finding:
    """Judge whether we are close to the best baseline or better, in all cells by RMSE and MAE."""
    checks, texts = [], []
    for metric in ("rmse", "mae"):
        values = board.ratios(cells(board), f"{metric}_to_best")
        near = [value <= CLOSE for value in values]
        better = sum(value < 1.0 for value in values)
        checks += near
        texts.append(
            f"{NAMES[metric]} {span(values)} times that of the best baseline, below it in {better} "
            f"of {len(values)} cells and at most {CLOSE:g} times in {sum(near)}"
        )
    return Finding(checks, "; ".join(texts))


def close_to_the_averages(board: Board) -> Finding:
    """Judge whether we are close to the best of SW, EMA and FFPreq in the linear cells."""
    checks, texts = [], []
    for metric in METRICS:
        for family in ("SW", "EMA", "FFPreq"):
            ratios = [
                size(board, task, "OEUVRE", metric) / size(board, task, family, metric)
                for task in cells(board, "linear")
            ]
            checks += [ratio <= CLOSE for ratio in ratios]
            if metric == "rmse":
                texts.append(f"{family} {span(ratios)}")
    share = sum(checks) / len(checks)
    return Finding(checks, f"RMSE over {', '.join(texts)}; {share:.0%} of all comparisons close")


def much_worse(board: Board) -> Finding:
    """Judge whether ADWIN and the prequential mean are much worse in the linear cells."""
    checks, texts = [], []
    for family in ("ADWIN", "Prequential"):
        rows = {task: board.row(task, family) for task in cells(board, "linear")}
        checks += [row[f"{metric}_to_best"] >= MUCH for row in rows.values() for metric in METRICS]
        small = [row["rmse_to_best"] for task, row in rows.items() if "-d25-" in task]
        large = [row["rmse_to_best"] for task, row in rows.items() if "-d200-" in task]
        texts.append(f"{family} {span(small)} at d = 25 and {span(large)} at d = 200")
    return Finding(checks, "RMSE over the best baseline: " + "; ".join(texts))


def nearer_the_median(board: Board) -> Finding:
    """Judge whether our MAE is nearer the median baseline's than the best's, for few experts."""
    checks, texts = [], []
    for task in cells(board, "experts-bernoulli", sizes=(25, 50)):
        row = board.row(task)
        best, median = row["mae_to_best"], row["mae_to_median"]
        checks.append(abs(math.log(median)) < abs(math.log(best)))
        texts.append(f"{best:.2f} of the best and {median:.2f} of the median")
    return Finding(checks, "MAE " + "; ".join(texts))


def worst_is_ema(board: Board) -> Finding:
    """Judge whether EMA is the worst family by every metric in the expert cells."""
    checks, texts = [], []
    for metric in METRICS:
        worst = [
            max(board.families, key=lambda family: size(board, task, family, metric))
            for task in cells(board, "experts")
        ]
        checks += [family == "EMA" for family in worst]
        texts.append(f"by {NAMES[metric]} in {worst.count('EMA')}")
    return Finding(checks, f"EMA is worst {', '.join(texts)} of {len(worst)} cells")


def high_then_comparable(board: Board) -> Finding:
    """Judge whether our MAE is high for few experts and like the others' for many."""
    few = board.ratios(cells(board, "experts-bernoulli", sizes=(25, 50)), "mae_to_best")
    many = []
    for task in cells(board, "experts-bernoulli", sizes=(100, 200)):
        others = sorted(size(board, task, family, "mae") for family in BASELINES)
        many.append(size(board, task, "OEUVRE", "mae") / others[len(others) // 2])
    checks = [ratio > CLOSE for ratio in few] + [ratio <= CLOSE for ratio in many]
    return Finding(
        checks,
        f"{span(few)} times the best for 25 and 50 experts; "
        f"{span(many)} times the median of the tuned baselines for 100 and 200",
    )


def spread_of_bias(*prefixes: str) -> Judge:
    """Judge whether our bias varies more between runs than it is large."""

    def judge(board: Board) -> Finding:
        rows = [board.row(task) for task in cells(board, *prefixes)]
        texts = [f"{row['bias']:+.4f} ± {row['bias_spread']:.4f}" for row in rows]
        return Finding([row["bias_spread"] > abs(row["bias"]) for row in rows], "; ".join(texts))

    return judge


def adwin_is_ahead(board: Board) -> Finding:
    """Judge whether ADWIN is ahead of us on MNIST with 8 samples."""
    (task,) = cells(board, "neural-mnist-8")
    ratios = [
        size(board, task, "ADWIN", metric) / size(board, task, "OEUVRE", metric)
        for metric in ("rmse", "mae")
    ]
    text = f"ADWIN's RMSE is {ratios[0]:.2f} times ours, its MAE {ratios[1]:.2f} times"
    return Finding([ratio < 1.0 for ratio in ratios], text)


def first_and_second(board: Board) -> Finding:
    """Judge whether we have the lowest RMSE and the second-lowest MAE on the other image set.

    That is EMNIST, or Fashion-MNIST where EMNIST was not run.
    """
    others = cells(board, "neural-emnist-8", "neural-fashion_mnist-8")
    task = next((name for name in others if "emnist-8" in name), others[0])
    places = [
        1 + sum(size(board, task, other, m) < size(board, task, "OEUVRE", m) for other in BASELINES)
        for m in ("rmse", "mae")
    ]
    text = f"{task}: place {places[0]} by RMSE and {places[1]} by MAE, of {len(board.families)}"
    return Finding([places[0] == 1, places[1] <= 2], text)


def near_ema_and_sw(board: Board) -> Finding:
    """Judge whether we are close to the best EMA and SW on UCI Bike Sharing."""
    (task,) = cells(board, "drift-bike_sharing_uci")
    ratios = [
        size(board, task, "OEUVRE", "rmse") / size(board, task, family, "rmse")
        for family in ("EMA", "SW")
    ]
    return Finding([ratio <= CLOSE for ratio in ratios], ranking(board, task))


def two_then_two(board: Board) -> Finding:
    """Judge the order on Toulouse Bikes: EMA and SW, then OEUVRE and FFPreq."""
    (task,) = cells(board, "drift-toulouse_bikes")
    found = order(board, task)
    checks = [set(found[:2]) == {"EMA", "SW"}, set(found[2:4]) == {"OEUVRE", "FFPreq"}]
    return Finding(checks, ranking(board, task))


def all_lag(board: Board) -> Finding:
    """Judge whether every estimator stays below the rising loss of the Chick Weights."""
    (task,) = cells(board, "drift-chick_weights")
    biases = {family: board.row(task, family)["bias"] for family in board.families}
    text = "bias " + ", ".join(f"{family} {bias:+.4f}" for family, bias in biases.items())
    return Finding([bias < 0.0 for bias in biases.values()], text)


def between(board: Board) -> Finding:
    """Judge whether we are behind the tuned averages and close to the rest on Chick Weights."""
    (task,) = cells(board, "drift-chick_weights")
    ours = size(board, task, "OEUVRE", "rmse")
    ahead = [size(board, task, family, "rmse") < ours for family in ("EMA", "SW", "FFPreq")]
    rest = [
        ours <= CLOSE * size(board, task, family, "rmse") for family in ("Prequential", "ADWIN")
    ]
    return Finding(ahead + rest, ranking(board, task))


def third(board: Board) -> Finding:
    """Judge the order on Wine Quality: SW and EMA, then OEUVRE."""
    (task,) = cells(board, "drift-wine_quality")
    found = order(board, task)
    return Finding([set(found[:2]) == {"EMA", "SW"}, found[2] == "OEUVRE"], ranking(board, task))


def close(metrics: Iterable[str], *prefixes: str) -> Judge:
    """Judge whether we are close to the best baseline by some metrics, in every cell."""

    def judge(board: Board) -> Finding:
        tasks = cells(board, *prefixes)
        values = {metric: board.ratios(tasks, f"{metric}_to_best") for metric in metrics}
        texts = [f"{NAMES[metric]} {span(found)}" for metric, found in values.items()]
        checks = [value <= CLOSE for found in values.values() for value in found]
        return Finding(checks, f"over the best baseline: {', '.join(texts)}")

    return judge


def best_varies(board: Board) -> Finding:
    """Judge whether the best baseline is another one in other cells and by other metrics."""
    checks, texts = [], []
    for metric in ("rmse", "mae"):
        found = Counter(
            min(BASELINES, key=lambda family: size(board, task, family, metric))
            for task in cells(board)
        )
        checks.append(len(found) > 1)
        shown = ", ".join(f"{family} in {count}" for family, count in found.most_common())
        texts.append(f"by {NAMES[metric]} {shown}")
    return Finding(checks, f"best {'; '.join(texts)} cells")


def harder(board: Board) -> Finding:
    """Judge whether Toulouse Bikes are harder for us than UCI Bike Sharing."""
    (toulouse,) = board.ratios(cells(board, "drift-toulouse"), "rmse_to_best")
    (sharing,) = board.ratios(cells(board, "drift-bike"), "rmse_to_best")
    text = f"RMSE over the best baseline {toulouse:.2f} on Bikes, {sharing:.2f} on Bike Sharing"
    return Finding([toulouse > sharing], text)


def hard_to_track(board: Board) -> Finding:
    """Judge whether we lose the truth of the wine more than the best baseline does."""
    (ratio,) = board.ratios(cells(board, "drift-wine"), "rmse_to_best")
    return Finding([ratio > CLOSE], f"RMSE {ratio:.2f} times that of the best baseline")


def worse_when_abrupt(board: Board) -> Finding:
    """Judge whether we lose more on the wine, red then white, than where drift is gradual."""
    ratios = {task: board.ratios([task], "rmse_to_best")[0] for task in cells(board, "drift")}
    abrupt = ratios["drift-wine_quality"]
    gradual = [ratios["drift-bike_sharing_uci"], ratios["drift-toulouse_bikes"]]
    text = f"RMSE over the best baseline {abrupt:.2f} on the wine, {span(gradual)} on the bikes"
    return Finding([abrupt > ratio for ratio in gradual], text)
