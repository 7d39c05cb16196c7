"""The command line: parse, call, print."""

import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import numpy as np

from oeuvre import Ensemble, Estimator, Interval, Prequential, SlidingWindow, __version__
from oeuvre.errors import MissingExtra, OeuvreError

try:
    import typer
    from rich.console import Console
    from rich.console import Group as Together
    from rich.live import Live
    from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn
    from rich.table import Table
except ImportError:
    sys.exit("The command line needs Typer and Rich: pip install 'oeuvre[cli]'")

__all__ = ["app", "main"]

LATER = 100
"""The demo tells the error of the steps after this one too: by then the beginning is forgotten."""

Jobs = Annotated[
    int | None, typer.Option(min=1, help="How many runs at a time; one a core by default.")
]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="What is the loss of a model that keeps learning, now, and how sure are we?",
)


def show_version(wanted: bool) -> None:
    """Print the version and leave."""
    if wanted:
        typer.echo(f"oeuvre {__version__}")
        raise typer.Exit


def check_png(path: Path) -> Path:
    """Refuse a path that no picture can be written to, before any work is done."""
    if path.suffix != ".png" or path.is_dir():
        raise typer.BadParameter(f"must be a file name that ends in .png. Got {str(path)!r}.")
    return path


@contextmanager
def needing(what: str, extra: str) -> Iterator[None]:
    """Say how to install what an import finds missing."""
    try:
        yield
    except MissingExtra:
        raise
    except ImportError as error:
        raise MissingExtra(
            f"{what} needs {error.name}, which is not installed: pip install 'oeuvre[{extra}]'"
        ) from error


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, help="Print the version and leave.")
    ] = False,
) -> None:
    """Hold the options that stand before any command."""


@app.command()
def demo(
    out: Annotated[
        Path, typer.Option(callback=check_png, help="Where to write the picture, a PNG file.")
    ] = Path("out/demo.png"),
    seed: Annotated[int, typer.Option(min=0, help="Which pages are set aside.")] = 0,
) -> None:
    """Watch a River model learn to tell phishing pages, and four estimates of its loss."""
    with needing("The demo", "demo"):
        from oeuvre.experiments import demo as task
        from oeuvre.report import figures
    out.parent.mkdir(parents=True, exist_ok=True)

    others: dict[str, Estimator] = {
        "Ensemble": Ensemble(),
        "Prequential mean": Prequential(),
        "SW of 100": SlidingWindow(100),
    }
    course: dict[str, list[float]] = {
        name: [] for name in ("set aside", "Adaptive OEUVRE", *others)
    }
    ends: list[Interval | None] = []
    total, steps = task.run(seed)
    console = Console()
    progress = Progress(console=console)
    bar = progress.add_task("learning online", total=total)

    def table(t: int) -> Table:
        title = f"Log loss of the current model after {t:,} pages"
        view = Table(title=title, title_justify="left")
        view.add_column("estimate by")
        for name in ("now", "RMSE", f"RMSE after {LATER} pages"):
            view.add_column(name, justify="right")
        truth = np.array(course["set aside"])
        for name, values in course.items():
            off = np.array(values) - truth
            errors = (
                f"{np.sqrt(np.mean(part**2)):.4f}" for part in (off, off[LATER:]) if part.size
            )
            view.add_row(name, f"{values[-1]:.4f}", *(() if name == "set aside" else errors))
        view.caption = f"The monitor says: from {ends[-1]}"
        return view

    with Live(console=console, refresh_per_second=10) as live:
        for t, (snapshot, truth) in enumerate(steps, start=1):
            course["set aside"].append(truth)
            course["Adaptive OEUVRE"].append(snapshot.estimate)
            for name, estimator in others.items():
                estimator.update(snapshot.loss, snapshot.previous)
                course[name].append(estimator.get())
            ends.append(snapshot.interval)
            if t % 10 == 0 or t == total:
                progress.update(bar, completed=t)
                live.update(Together(table(t), progress))

    figure = figures.against_truth(
        course.pop("set aside"),
        course,
        ends=ends,
        title="A River model learns to tell phishing pages (scaler | logistic regression)",
        ylabel="log loss",
        truth_name="pages set aside",
    )
    figures.save_png(figure, out)
    console.print(f"\nThe picture is in {out}")


@contextmanager
def long_work(console: Console) -> Iterator[Progress]:
    """Show how far work has come; whoever stops it, or whatever kills it, gets one line."""
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # stop as Ctrl-C does
    warnings.filterwarnings("ignore", message="You could benefit from adjusting the input task")
    columns = (*Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn())
    try:
        with Progress(*columns, console=console) as progress:
            yield progress
    except KeyboardInterrupt:
        console.print("Stopped. The same command goes on from here.")
        raise typer.Exit(130) from None
    except TerminatedWorkerError:
        console.print("A worker was killed, perhaps for want of memory. Try again with --jobs 1.")
        raise typer.Exit(1) from None


class Group(StrEnum):
    """What can be reproduced."""

    LINEAR = "linear"
    EXPERTS = "experts"
    LOGISTIC = "logistic"
    NEURAL = "neural"
    DRIFT = "drift"
    SHIFTS = "shifts"
    FAST = "fast"
    OTHERS = "others"
    EMNIST = "emnist"


@app.command()
def reproduce(
    groups: Annotated[
        list[Group] | None,
        typer.Argument(help="Which experiments; all but emnist if none is named."),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="How many runs of each; 10, or 2 if quick.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer seeds, and one epoch for the networks.")
    ] = False,
    jobs: Jobs = None,
    out: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="Where results go; out/paper, or out/quick if quick."),
    ] = None,
) -> None:
    """Run the paper's experiments and ours, judge its claims, draw its figures.

    A run that was stopped goes on where it was. Data sets are looked for in the folders that the
    environment variable OEUVRE_DATA lists, then downloaded.
    """
    with needing("The reproduction", "paper"):
        from oeuvre.experiments import reproduce as steps
        from oeuvre.experiments import results, tasks
    folder = out or Path("out/quick" if quick else "out/paper")
    names = [group.value for group in groups or ()] or [*tasks.PAPER, *tasks.BEYOND]
    sweep = steps.prepare(names, folder, seeds=seeds or (2 if quick else 10), quick=quick)
    console = Console()
    with long_work(console) as progress, closing(sweep.run(jobs or -1)) as done:
        bar = progress.add_task("running", total=len(sweep.jobs))
        for job in done:
            progress.update(bar, advance=1, description=job.task.name)
        progress.update(bar, description="all runs done")
        bar = progress.add_task("judging and drawing", total=None)
        board = steps.conclude(sweep, folder, jobs or -1)
        progress.update(bar, total=1, completed=1)
    verdicts = results.judge(board)
    header, *rows = results.contest(board)
    table = Table(title="RMSE over the best baseline's, mean (worst cell)", title_justify="left")
    for place, name in enumerate(header):
        table.add_column(name, justify="left" if place < 2 else "right")
    for row in rows:
        table.add_row(*row)
    console.print(table)
    for verdict in ("holds", "holds in part", "does not hold here") if verdicts else ():
        count = sum(finding.verdict == verdict for _, finding in verdicts)
        console.print(f"{count:3d} of {len(verdicts)} claims: {verdict}")
    console.print(f"\nClaims, tables and figures are in {folder / 'results.md'}")


@app.command()
def coverage(
    quick: Annotated[
        bool, typer.Option("--quick", help="Few paths, and only tasks that need no data.")
    ] = False,
    jobs: Jobs = None,
    out: Annotated[
        Path | None,
        typer.Option(
            file_okay=False, help="Where results go; out/coverage, or out/quick-coverage."
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(dir_okay=False, exists=True, help="A page to write tables and figures into."),
    ] = None,
) -> None:
    """Simulate how often intervals hold, and how wide they are, on learners of known loss.

    A run that was stopped goes on where it was.
    """
    with needing("The study of coverage", "paper"):
        from oeuvre.experiments import confidence
        from oeuvre.experiments.coverage import FULL, QUICK, Coverage
    folder = out or Path("out/quick-coverage" if quick else "out/coverage")
    study = Coverage(folder / "parts", **(QUICK if quick else FULL))
    study.prepare()
    console = Console()
    with long_work(console) as progress, closing(study.run(jobs or -1)) as done:
        bar = progress.add_task("simulating", total=len(study.parts))
        for part in done:
            progress.update(bar, advance=1, description=part.task.name)
        progress.update(bar, description="all paths done")
    results = study.results()
    written = confidence.conclude(results, folder, page)
    for title, rows, shown in (
        ("Missed at 95 %, and half-widths", confidence.bounded_rows(results), (0, 1, 3, 5, 6)),
        ("How often intervals of 95 % held", confidence.board_rows(results), (0, 1, 2, 3, 4)),
    ):
        table = Table(title=title, title_justify="left")
        for name in (rows[0][column] for column in shown):
            table.add_column(name)
        for row in rows[1:]:
            table.add_row(*(row[column].partition(" ±")[0] for column in shown))
        console.print(table)
    console.print(f"\nTables and figures are in {written}")


@app.command()
def monitors(
    page: Annotated[
        Path | None,
        typer.Option(dir_okay=False, exists=True, help="A page to write the tables into."),
    ] = None,
) -> None:
    """Monitor models of River, scikit-learn and PyTorch on real data, beside River's metrics."""
    with needing("Monitors on real data", "paper"):
        from oeuvre.experiments import monitored
        from oeuvre.report.pages import splice
    console = Console()
    with Progress(console=console) as progress:
        bar = progress.add_task("learning", total=len(monitored.RUNS) + 1)
        runs = []
        for run in monitored.RUNS:
            runs.append(run())
            progress.update(bar, advance=1, description=runs[-1].data)
        tables = monitored.rows(runs), monitored.quality_rows()
        progress.update(bar, advance=1)
    titles = "Loss of the last model", "Quality of the last model"
    for title, (header, rows) in zip(titles, tables, strict=True):
        table = Table(title=title, title_justify="left")
        for name in header:
            table.add_column(name)
        for row in rows:
            table.add_row(*row)
        console.print(table)
    if page is not None:
        splice(page, monitored.fragment(*tables), monitored.COMMAND)
        console.print(f"\nThe tables are in {page}")


def main() -> None:
    """Run the command line; a mistake of the user's is one line, not a trace."""
    try:
        app()
    except (OeuvreError, OSError) as error:
        sys.exit(f"oeuvre: {error}")
