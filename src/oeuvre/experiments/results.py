"""The page of results: every claim with our figure and the verdict, tables and figures."""

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import polars as pl

from oeuvre.experiments import judging, paper
from oeuvre.experiments.board import Board
from oeuvre.experiments.datasets import DATASETS
from oeuvre.experiments.judging import Finding, NothingToJudge
from oeuvre.experiments.paper import Claim
from oeuvre.experiments.pictures import settings_of
from oeuvre.experiments.sweep import Sweep
from oeuvre.experiments.tasks import BEYOND, PAPER, DriftingRegression, NeuralNetwork, choose
from oeuvre.report.pages import markdown

__all__ = ["contest", "judge", "page"]

TITLES = {
    "linear": "Linear regression",
    "experts": "Expert advice",
    "logistic": "Logistic regression",
    "neural": "Neural networks",
    "drift": "Drifting data",
    "standardised": "Drifting data, standardised",
    "shifts": "Shifting targets (ours)",
    "fast": "Fast learners (ours)",
    "others": "Other learners (ours)",
}
NOTES = {
    "linear": "Runs of the same dimension share their draws across noise levels: the twelve cells "
    "are not independent.",
    "neural": "The paper's second image set is EMNIST digits. It is a large download and runs as "
    "`oeuvre reproduce emnist`; by default Fashion-MNIST stands in its place, under its own name. "
    "The truth is the paper's, 1,024 samples at each step, or the sharp one, the whole test set at "
    "every tenth step. The first is itself noisy, which hides a part of every estimator's gain.",
    "drift": "The paper does not say that its ADWIN is tuned; here it is, as the other baselines.",
    "standardised": "The same data, with features and target at mean 0 and variance 1 instead of "
    "in [0, 1], and the same claims, which are not counted above. OEUVRE's RMSE over that of the "
    "best baseline comes near to the paper's: in the burn-in the model now moves further for the "
    "spread of its losses, so ĉ/b̂ is larger, γ_t with it, and OEUVRE follows.",
    "shifts": "A regression whose target jumps, moves or swings; the learner follows.",
    "fast": "A running mean and ridge regression: their loss changes by the order of 1/t at first, "
    "and then hardly at all.",
    "others": "A perceptron, a classifier that errs rarely, heavy tails, a learner that diverges, "
    "a support vector machine.",
}
SUMMARY = ("task", "truth", "cells", "RMSE / best", "worst", "RMSE / median", "MAE / best")
CAPTIONS = {
    "contest": "RMSE over that of the best baseline: the geometric mean over the cells of each "
    "group. Networks are judged by the sharp truth. The lower the better; 1 is a baseline tuned "
    "with the truth.",
    "representative": "A representative run: the seed whose RMSE of OEUVRE is the median.",
    "linear": "OEUVRE and what goes beyond it, beside the median baseline and the one best by "
    "RMSE; bars are deviations over seeds.",
    "linear-all": "OEUVRE and every baseline at its best setting.",
    "experts": "OEUVRE and what goes beyond it, beside the median baseline and the one best by "
    "RMSE.",
    "experts-all": "OEUVRE and every baseline at its best setting.",
    "neural": "Every estimator but the prequential mean, which is far off; the paper's truth.",
    "neural-sharp": "The same against the loss on the whole test set, at every tenth step.",
}


def judge(board: Board) -> list[tuple[Claim, Finding]]:
    """Return the claims that the tasks on the board allow to judge, with what was found."""
    groups = set(board.table["group"])
    found = []
    for claim in paper.CLAIMS:
        if groups.issuperset(claim.groups):
            with suppress(NothingToJudge):
                found.append((claim, claim.judge(board)))
    return found


def page(sweep: Sweep, board: Board, choices: pl.DataFrame, figures: Sequence[str]) -> str:
    """Write the page in Markdown; figures are looked for in the folder `results` beside it."""
    groups = board.table["group"].unique(maintain_order=True).to_list()
    verdicts = judge(board)
    counts = Counter(finding.verdict for _, finding in verdicts)
    parts = [
        "# The paper's results, reproduced",
        introduction(sweep),
        *(
            [
                f"Of {len(verdicts)} claims judged, {counts['holds']} hold, "
                f"{counts['holds in part']} hold in part and {counts['does not hold here']} do not "
                "hold here."
            ]
            if verdicts
            else []
        ),
        "## Overview",
        "OEUVRE's error as a ratio to that of the best baseline, chosen in hindsight in each cell "
        "for its RMSE, and to the median over all settings of all baselines: geometric means over "
        "the cells.",
        markdown(SUMMARY, summary_rows(board), numbers=5),
        "## Beyond the paper",
        "`Adaptive` is `AdaptiveOeuvre()`, `Two-gain` is `AdaptiveOeuvre(two_gain=True)` and "
        "`Ensemble` is `Ensemble()`: none of them has a rate, a window or any other setting. RMSE "
        "over that of the best baseline, the geometric mean over the cells, and in brackets the "
        "worst cell:",
        markdown(*split(contest(board)), numbers=len(board.contenders) + 1),
        *picture("contest", figures),
        "The mean error (bias) over all steps and seeds as a part of the RMSE, the mean of its "
        "size over the cells:",
        markdown(*split(biases(board)), numbers=len(board.contenders)),
        chosen(choices),
    ]
    overall = [pair for pair in verdicts if len(pair[0].groups) > 1]
    if overall:
        parts += ["## Over all tasks", claims(overall)]
    for group in groups:
        own = (
            judge(as_drift(board))
            if group == "standardised"
            else [pair for pair in verdicts if pair[0].groups == (group,)]
        )
        parts += [f"## {TITLES.get(group, group)}"]
        parts += [NOTES[group]] if group in NOTES else []
        parts += [scalings(board)] if group == "standardised" else []
        parts += [claims(own, reasons=group != "standardised")] if own else []
        parts += [
            "Means over the seeds, ± their standard deviation:"
            if sweep.seeds > 1 and any(t.seeded and t.group == group for t in sweep.tasks)
            else "One run of each:",
            cell_table(board, group),
        ]
        if group == "drift":
            parts += drift_tables(sweep, board)
        for name in figures:
            if name.startswith(group) or (group == "logistic" and name == "representative"):
                parts += picture(name, figures)
    return "\n\n".join(parts) + "\n"


def picture(name: str, figures: Sequence[str]) -> list[str]:
    """Show a figure, if there is one."""
    return [f"![{caption(name)}](results/{name}.png)\n\n*{caption(name)}*"] * (name in figures)


def split(table: list[tuple[str, ...]]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the first row of a table, and the others."""
    return table[0], table[1:]


def contest(board: Board) -> list[tuple[str, ...]]:
    """Return a header, and for each group and truth each contender's mean ratio and worst one."""
    table = [("task", "truth", "cells", *board.contenders)]
    for (group, truth), part in board.summary().group_by("group", "truth", maintain_order=True):
        rows = {row["family"]: row for row in part.iter_rows(named=True)}
        ratios = (
            f"{rows[family]['rmse_to_best']:.2f} ({rows[family]['worst']:.2f})"
            for family in board.contenders
        )
        table.append(
            (TITLES.get(str(group), str(group)), str(truth), str(part["cells"][0]), *ratios)
        )
    return table


def biases(board: Board) -> list[tuple[str, ...]]:
    """Return a header, and for each group and truth each contender's mean |bias| / RMSE."""
    table = [("task", "truth", *board.contenders)]
    part = pl.col("bias").abs() / pl.col("rmse")
    means = (
        board.table.filter("chosen")
        .group_by("group", "truth", "family", maintain_order=True)
        .agg(part.mean().alias("part"))
    )
    for (group, truth), rows in means.group_by("group", "truth", maintain_order=True):
        parts = dict(rows.select("family", "part").iter_rows())
        shown = (f"{parts[family]:.2f}" for family in board.contenders)
        table.append((TITLES.get(str(group), str(group)), str(truth), *shown))
    return table


def chosen(choices: pl.DataFrame) -> str:
    """Say how good a choice without the truth is."""
    rows = []
    for (group,), part in (
        *choices.group_by("group", maintain_order=True),
        (("all",), choices),
    ):
        ratios = part["ratio"].to_numpy()
        rows.append(
            (
                TITLES.get(str(group), str(group)),
                str(len(part)),
                f"{(ratios <= 1.1).mean():.0%}",
                f"{ratios.mean():.3f}",
                f"{ratios.max():.2f}",
            )
        )
    header = ("task", "runs", "within 10 %", "mean", "worst")
    return (
        "`oeuvre.compare`, which has no truth, chooses among these and all settings of the "
        f"baselines but ADWIN's, {choices['offered'][0]} in all. The RMSE of its choice over the "
        "lowest one in the same run, and how often it is within 10 % of that:\n\n"
        + markdown(header, rows, numbers=4)
    )


def as_drift(board: Board) -> Board:
    """Return the board of the standardised data under the names of the drifting ones."""
    return Board(
        board.scores.filter(group="standardised").with_columns(
            pl.lit("drift").alias("group"),
            pl.col("task").str.replace("^standardised", "drift"),
        )
    )


def caption(figure: str) -> str:
    """Say what a figure shows."""
    kind, _, data = figure.partition("-")
    if data in DATASETS:
        title = DATASETS[data].title + (", standardised" if kind == "standardised" else "")
        return f"{title}: OEUVRE beside each estimator at its best setting."
    if kind == "shifts":
        return f"A target with {data} changes: the Ensemble beside the others, at their best."
    return CAPTIONS[figure]


def introduction(sweep: Sweep) -> str:
    """Say what was run and how words are read."""
    if sweep.seeds >= 10 and set(sweep.tasks).issuperset(choose((*PAPER, *BEYOND))):
        made = f"`make paper` wrote this page, from {sweep.seeds} seeds of each task that has any."
    else:
        words = ", ".join(dict.fromkeys(task.group for task in sweep.tasks))
        short = any(isinstance(task, NeuralNetwork) and task.epochs < 10 for task in sweep.tasks)
        made = (
            f"A partial run ({words}; seeds: {sweep.seeds}"
            f"{'; networks trained for fewer epochs than the paper' if short else ''}): verdicts "
            "can differ from those of `make paper`, which runs all, and reasons are as found there."
        )
    return (
        f"{made} The tasks are the paper's, and some of ours at the end; where it is silent, the "
        "docstrings of "
        "`oeuvre.experiments.tasks` say what was chosen. Metrics are over all steps, burn-in "
        f'included. Words are read as numbers: "comparable", "competitive" or "close" is at most '
        f'{judging.CLOSE:g} times the other, "significantly lower" at most {judging.CLEAR:g} '
        f'times, "much worse" at least {judging.MUCH:g} times and "reasonably well" less. A claim '
        "holds if it does in every cell it is about, and does not hold here if it does in none. "
        "Baselines stand at their best settings, tuned with the truth; `oeuvre reproduce` leaves "
        "all settings in `board.csv`."
    )


def summary_rows(board: Board) -> list[tuple[str, ...]]:
    """Return OEUVRE's rows of the summary: task, truth, cells and four ratios."""
    return [
        (
            TITLES.get(row["group"], row["group"]),
            row["truth"],
            str(row["cells"]),
            f"{row['rmse_to_best']:.2f}",
            f"{row['worst']:.2f}",
            f"{row['rmse_to_median']:.2f}",
            f"{row['mae_to_best']:.2f}",
        )
        for row in board.summary().filter(family="OEUVRE").iter_rows(named=True)
    ]


def scalings(board: Board) -> str:
    """Write OEUVRE's RMSE over that of the best baseline: the paper's, and with either scaling."""
    rows = []
    for data, printed in paper.DRIFT_TABLES.items():
        best = min(rmse for family, (rmse, _, _) in printed.items() if family != "OEUVRE")
        tasks = (f"{group}-{data}" for group in ("drift", "standardised"))
        ratios = (printed["OEUVRE"][0] / best, *board.ratios(tasks, "rmse_to_best"))
        rows.append((DATASETS[data].title, *(f"{ratio:.2f}" for ratio in ratios)))
    return markdown(("data", "paper", "in [0, 1]", "standardised"), rows, numbers=3)


def claims(pairs: Iterable[tuple[Claim, Finding]], *, reasons: bool = True) -> str:
    """Write what the paper says, what was found and the verdict, with the likely reasons below."""
    header = ("where", "the paper says", "here", "verdict", *(["reason"] if reasons else []))
    notes: list[str] = []
    rows = []
    for claim, finding in pairs:
        mark = ""
        if reasons and finding.verdict != "holds" and claim.reason:
            notes += [] if claim.reason in notes else [claim.reason]
            mark = chr(ord("a") + notes.index(claim.reason))
        where = (claim.where, claim.says, finding.figures, f"**{finding.verdict}**")
        rows.append((*where, mark) if reasons else where)
    listed = [f"- ({chr(ord('a') + place)}) {note}" for place, note in enumerate(notes)]
    return "\n\n".join(
        [markdown(header, rows), *(["Likely reasons:", "\n".join(listed)] if listed else [])]
    )


def cell_table(board: Board, group: str) -> str:
    """Write OEUVRE and the best baseline of each cell, against each truth, and our ratios."""
    others = board.contenders[1:]
    header = (
        *("cell", "best baseline", "its RMSE", "OEUVRE's", "ratio", "MAE ratio", "OEUVRE's bias"),
        *(f"{family}, ratio" for family in others),
    )

    def spread(row: dict[str, Any], metric: str) -> str:
        return f" ± {row[f'{metric}_spread']:.2g}" if row["seeds"] > 1 else ""

    rows = []
    for task in board.tasks(group):
        for truth in board.table.filter(task=task)["truth"].unique(maintain_order=True):
            ours, best = board.row(task, truth=truth), board.best_baseline(task, truth)
            rows.append(
                (
                    task if truth == "paper" else f"{task}, {truth} truth",
                    f"{best['family']} {settings_of(best['setting'])}".strip(),
                    *(f"{row['rmse']:.3g}{spread(row, 'rmse')}" for row in (best, ours)),
                    f"{ours['rmse_to_best']:.2f}",
                    f"{ours['mae_to_best']:.2f}",
                    f"{ours['bias']:+.2g}{spread(ours, 'bias')}",
                    *(f"{board.row(task, each, truth)['rmse_to_best']:.2f}" for each in others),
                )
            )
    return markdown(header, rows, numbers=5 + len(others))


def drift_tables(sweep: Sweep, board: Board) -> list[str]:
    """Write the paper's tables of the drifting data with ours beside them."""
    parts = []
    for task in sweep.tasks:
        if isinstance(task, DriftingRegression) and task.group == "drift":
            rows = []
            for family, printed in paper.DRIFT_TABLES[task.data].items():
                row = board.row(task.name, family)
                ours = (row["rmse"], row["mae"], row["bias"])
                pairs = zip(printed, ours, strict=True)
                rows.append((family, *(f"{x:.4f}" for pair in pairs for x in pair)))
            header = (
                "estimator",
                "RMSE, paper",
                "here",
                "MAE, paper",
                "here",
                "bias, paper",
                "here",
            )
            parts += [f"### {DATASETS[task.data].title}", markdown(header, rows, numbers=6)]
    return parts
