"""The verdict: every estimator beside the best and the median baseline, cell by cell.

A cell is a task. The best baseline of a cell is the setting of a baseline with the lowest mean RMSE
over the seeds, chosen in hindsight with the truth, as in the paper; MAE and bias are compared with
those of the same setting. The median baseline is the median over all settings of all baselines, the
prequential mean among them.
"""

from collections.abc import Iterable
from typing import Any

import polars as pl

from oeuvre.experiments.sweep import BASELINES, RATE_FREE

__all__ = ["METRICS", "Board"]

METRICS = ("rmse", "mae", "bias")
CELL = ("group", "task", "truth")


class Board:
    """Scores of all settings, summed up over seeds.

    `table` has a row for each setting in each cell: for each metric its mean over the seeds, the
    standard deviation over them (`rmse_spread`), and the ratios of the mean to those of the best
    and the median baseline (`rmse_to_best`, `rmse_to_median`). Ratios of the bias are of
    `bias_size`, the mean over the seeds of its absolute value: biases of different sign do not
    cancel. `chosen` marks the best setting of each family.

    Parameters
    ----------
    scores
        What `Sweep.scores` returns.
    """

    def __init__(self, scores: pl.DataFrame) -> None:
        self.scores = scores
        sized = scores.with_columns(pl.col("bias").abs().alias("bias_size"))
        means = sized.group_by(*CELL, "family", "setting", maintain_order=True).agg(
            pl.len().alias("seeds"),
            pl.col(*METRICS, "bias_size").mean(),
            *(pl.col(metric).std(ddof=0).alias(f"{metric}_spread") for metric in METRICS),
        )
        baseline = pl.col("family").is_in(list(BASELINES))
        compared = {"rmse": "rmse", "mae": "mae", "bias": "bias_size"}
        best = (
            means.filter(baseline)
            .sort("rmse", maintain_order=True)
            .group_by(*CELL, maintain_order=True)
            .first()
            .select(*CELL, *(pl.col(c).alias(f"best {c}") for c in compared.values()))
        )
        median = (
            means.filter(baseline)
            .group_by(*CELL)
            .agg(*(pl.col(c).median().alias(f"median {c}") for c in (*compared.values(), "bias")))
        )
        ratios = [
            (pl.col(column) / pl.col(f"{other} {column}")).alias(f"{metric}_to_{other}")
            for metric, column in compared.items()
            for other in ("best", "median")
        ]
        rank = pl.col("rmse").rank("ordinal").over(*CELL, "family")
        self.table = (
            means.join(best, on=CELL, maintain_order="left")
            .join(median, on=CELL, maintain_order="left")
            .with_columns(*ratios, (rank == 1).alias("chosen"))
            .drop(pl.selectors.matches("^(best|median) "))
        )
        self._medians = {
            (row["task"], row["truth"]): {metric: row[f"median {metric}"] for metric in METRICS}
            for row in median.iter_rows(named=True)
        }
        self._rows = {
            (row["task"], row["truth"], row["family"]): row
            for row in self.table.filter("chosen").iter_rows(named=True)
        }

    @property
    def families(self) -> list[str]:
        """The families of the paper on the board, OEUVRE first."""
        return [family for family in self.everyone if family not in RATE_FREE]

    @property
    def everyone(self) -> list[str]:
        """All families on the board: the paper's estimator, those beyond it, the baselines."""
        return self.table["family"].unique(maintain_order=True).to_list()

    @property
    def contenders(self) -> list[str]:
        """The families on the board that are not baselines."""
        return [family for family in self.everyone if family not in BASELINES]

    def tasks(self, *groups: str) -> list[str]:
        """Return the names of the tasks of some groups, or of all."""
        table = self.table.filter(pl.col("group").is_in(groups)) if groups else self.table
        return table["task"].unique(maintain_order=True).to_list()

    def row(self, task: str, family: str = "OEUVRE", truth: str = "paper") -> dict[str, Any]:
        """Return the row of a family's best setting in a cell."""
        return self._rows[task, truth, family]

    def best_baseline(self, task: str, truth: str = "paper") -> dict[str, Any]:
        """Return the row of the best baseline of a cell."""
        rows = [self.row(task, family, truth) for family in self.families if family in BASELINES]
        return min(rows, key=lambda row: row["rmse"])

    def median_baseline(self, task: str, truth: str = "paper") -> dict[str, float]:
        """Return the median of each metric over all settings of all baselines."""
        return self._medians[task, truth]

    def summary(self) -> pl.DataFrame:
        """Return, for each group, truth and family, the RMSE over that of the best baseline.

        The geometric mean over the cells, the worst cell, and likewise for the median baseline and
        for the MAE.
        """

        def geometric(column: str) -> pl.Expr:
            return pl.col(column).log().mean().exp().alias(column)

        return (
            self.table.filter("chosen")
            .group_by("group", "truth", "family", maintain_order=True)
            .agg(
                pl.len().alias("cells"),
                geometric("rmse_to_best"),
                pl.col("rmse_to_best").max().alias("worst"),
                pl.col("task").sort_by("rmse_to_best").last().alias("worst_cell"),
                geometric("rmse_to_median"),
                geometric("mae_to_best"),
            )
        )

    def ratios(self, tasks: Iterable[str], column: str, truth: str = "paper") -> list[float]:
        """Return one column of OEUVRE's rows, for some tasks."""
        return [float(self.row(task, truth=truth)[column]) for task in tasks]
