"""What the study of coverage found: tables, figures, and their place on a page."""

import math
from pathlib import Path

import polars as pl
from matplotlib.figure import Figure

from oeuvre import atomic
from oeuvre.experiments.coverage import BOUNDED, KINDS, LEVEL, STEPS, WIDE
from oeuvre.report import figures
from oeuvre.report.pages import markdown, splice

__all__ = ["board_rows", "bounded_rows", "conclude", "draw", "fragment", "summary"]

TITLES = {
    "bounded-mean": "running mean",
    "experts-beta-k10": "Hedge, Beta losses",
    "experts-bernoulli-k10": "Hedge, Bernoulli losses",
}
BAND = (0.93, 0.97)
COMMAND = "make coverage"


def summary(results: pl.DataFrame) -> pl.DataFrame:
    """Sum up a row for each run into one for each task, question and step.

    `held` and `always` are shares with their standard errors over the seeds, `half` is the
    geometric mean.
    """
    shares = [name for name in ("held", "always") if name in results.columns]
    keys = ["task", "asked", *(["step"] if "step" in results.columns else [])]
    seeds = results.group_by(*keys, "seed", maintain_order=True).agg(
        *(pl.col(name).mean() for name in shares), pl.col("half").log().mean().exp()
    )  # what shares a training is one observation
    return seeds.group_by(keys, maintain_order=True).agg(
        *(pl.col(name).mean() for name in shares),
        *(
            (pl.col(name).std() / pl.len().sqrt()).fill_null(math.nan).alias(f"{name}_error")
            for name in shares
        ),
        pl.col("half").log().mean().exp(),
        pl.len().alias("runs"),
    )


def bounded(results: pl.DataFrame) -> pl.DataFrame:
    """Return the summary of the learners with losses in [0, 1]."""
    return summary(results.filter(pl.col("task").is_in([task.name for task in BOUNDED])))


def board(results: pl.DataFrame) -> pl.DataFrame:
    """Return the summary of the tasks of the board."""
    rest = results.filter(~pl.col("task").is_in([task.name for task in BOUNDED]))
    table = summary(rest.drop("step", "always", strict=False))
    return table.sort(pl.col("asked") == WIDE, maintain_order=True)  # that one comes last


def bounded_rows(results: pl.DataFrame) -> list[tuple[str, ...]]:
    """Return a header, and for each learner and kind how often it missed and how wide it is."""
    table = bounded(results)
    header = ("learner", "kind", "holds for", "missed", *(f"at {step:,}" for step in STEPS[1:]))
    rows = [(*header, "of tight Hoeffding's")]
    for task in dict.fromkeys(table["task"]):
        halves = {
            (row["asked"], row["step"]): row["half"]
            for row in table.filter(task=task).iter_rows(named=True)
        }
        for kind, how in KINDS.items():
            at = table.filter(task=task, asked=kind)
            everywhere = "horizon" in how
            share = "always" if everywhere else "held"
            worst = at.sort(share).row(0, named=True)
            last = STEPS[-1]
            rows.append(
                (
                    TITLES[task],
                    kind,
                    "all steps" if everywhere else "one step",
                    f"{1 - worst[share]:.4f} ± {worst[f'{share}_error']:.4f}",
                    *(f"{halves[kind, step]:.3g}" for step in STEPS[1:]),
                    f"{halves[kind, last] / halves['hoeffding', last]:.2f}",
                )
            )
    return rows


def board_rows(results: pl.DataFrame) -> list[tuple[str, ...]]:
    """Return a header, and for each task how often each interval held, and how wide it is."""
    table = board(results)
    asked = list(dict.fromkeys(table["asked"]))
    rows = [("task", *asked, *(f"width, {name}" for name in asked[:-1]), "runs")]
    for task in dict.fromkeys(table["task"]):
        found = {row["asked"]: row for row in table.filter(task=task).iter_rows(named=True)}
        rows.append(
            (
                task,
                *(f"{found[name]['held']:.3f} ± {found[name]['held_error']:.3f}" for name in asked),
                *(f"{found[name]['half'] / found[WIDE]['half']:.2f}" for name in asked[:-1]),
                str(found[WIDE]["runs"]),
            )
        )
    return rows


def ratios(results: pl.DataFrame) -> dict[str, float]:
    """Return the geometric mean over the tasks of each width over that of the conservative one."""
    table = board(results)
    *names, _ = dict.fromkeys(table["asked"])
    result = {}
    for name in names:
        pair = table.filter(asked=name).join(table.filter(asked=WIDE), on="task", suffix="_wide")
        logs = (pair["half"] / pair["half_wide"]).log()
        result[name] = math.exp(logs.sum() / len(logs))
    return result


def ranges(results: pl.DataFrame) -> dict[str, tuple[float, float]]:
    """Return for each interval of kind "normal" how often it held, in the worst and best task."""
    shares: dict[str, list[float]] = {}
    for row in board(results).iter_rows(named=True):
        shares.setdefault(row["asked"], []).append(row["held"])
    *names, _ = shares
    return {name: (min(shares[name]), max(shares[name])) for name in names}


def draw(results: pl.DataFrame) -> dict[str, Figure]:
    """Draw how often the intervals of the board held, and how wide those of bounded losses are."""
    drawn = {}
    table = board(results)
    if len(table):
        tasks = list(dict.fromkeys(table["task"]))
        series: dict[str, tuple[list[float], list[float]]] = {}
        for name in dict.fromkeys(table["asked"]):
            rows = table.filter(asked=name)
            series[name] = rows["held"].to_list(), rows["held_error"].to_list()
        drawn["coverage"] = figures.dots(
            tasks,
            series,
            band=BAND,
            line=LEVEL,
            xlabel=f"share of intervals of {LEVEL:.0%} that held, after step 100",
        )
    drawn["widths"] = figures.lines([[panel(bounded(results), task) for task in TITLES]])
    return drawn


def panel(table: pl.DataFrame, task: str) -> figures.Panel:
    """Return the widths of every kind on a bounded learner; beyond the range they say nothing."""
    series = {}
    for kind in KINDS:
        halves = table.filter(task=task, asked=kind).sort("step")["half"].to_list()
        shown = [half if half <= 1.0 else math.nan for half in halves]
        series[kind] = shown, [0.0] * len(shown)
    return figures.Panel(
        title=TITLES[task],
        labels=[f"{step:,}" for step in STEPS],
        series=series,
        xlabel="step",
        ylabel="half-width",
        logarithmic=True,
    )


def fragment(results: pl.DataFrame, folder: str) -> str:
    """Write tables and figures in Markdown; figures are looked for in `folder`."""
    header, *rows = bounded_rows(results)
    paths = bounded(results)["runs"].to_list()[0]
    parts = [
        f"### Losses in [0, 1], known stability\n\n{paths:,} paths of 2,000 steps each, at "
        f"{LEVEL:.0%}: at most {1 - LEVEL:.2f} may be missed. *Missed*: for one step, the largest "
        f"share at any of the steps {', '.join(map(str, STEPS))}; for all steps, the share of the "
        "paths with a miss anywhere.",
        markdown(header, rows, numbers=5),
        f"![Half-widths of every kind over time]({folder}/widths.png)",
    ]
    if len(board(results)):
        header, *rows = board_rows(results)
        means = ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios(results).items())
        extremes = ", ".join(
            f"{name} {low:.3f} to {high:.3f}" for name, (low, high) in ranges(results).items()
        )
        parts += [
            f"### The paper's tasks\n\nThe share of steps after step 100 at which an interval of "
            f'kind "normal" at {LEVEL:.0%} held, and its width over that of OEUVRE\'s '
            f'"conservative" one. Over the tasks: {extremes}. Widths in geometric '
            f"mean: {means}.",
            markdown(header, rows, numbers=len(header) - 1),
            f"![How often intervals held, task by task]({folder}/coverage.png)",
        ]
    return "\n\n".join(parts)


def conclude(results: pl.DataFrame, folder: Path, page: Path | None) -> Path:
    """Write tables and figures to `coverage.md` in a folder, or into a page; return which."""
    place = folder if page is None else page.with_suffix("")
    place.mkdir(parents=True, exist_ok=True)
    for name, figure in draw(results).items():
        figures.save_png(figure, place / f"{name}.png")
    if page is not None:
        splice(page, fragment(results, page.stem), COMMAND)
        return page
    atomic.write_bytes(folder / "coverage.md", fragment(results, ".").encode())
    return folder / "coverage.md"
