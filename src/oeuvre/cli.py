"""The command line: parse, call, print."""

import sys
from pathlib import Path
from typing import Annotated

from oeuvre import Oeuvre, Prequential, SlidingWindow, __version__, rates
from oeuvre.errors import MissingExtra, OeuvreError

try:
    import typer
    from rich.console import Console, Group
    from rich.live import Live
    from rich.progress import Progress
    from rich.table import Table
except ImportError:
    sys.exit("The command line needs Typer and Rich: pip install 'oeuvre[cli]'")

__all__ = ["app", "main"]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="What is the loss of a model that keeps learning, now, and how sure are we?",
)


def show_version(wanted: bool) -> None:
    """Print the version and leave."""
    if wanted:
        typer.echo(f"oeuvre {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, help="Print the version and leave.")
    ] = False,
) -> None:
    """Hold the options that stand before any command."""


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Where to write the picture.")] = Path("out/demo.png"),
    steps: Annotated[int, typer.Option(min=50, help="How long the stream is.")] = 4000,
    seed: Annotated[int, typer.Option(help="Which stream.")] = 0,
) -> None:
    """Train a regression model online and watch three estimates of its loss beside the truth."""
    try:
        from oeuvre.experiments import demo as task
        from oeuvre.report import figures
    except ImportError as error:
        raise MissingExtra(
            f"The demo needs {error.name}, which is not installed: pip install 'oeuvre[demo]'"
        ) from error

    estimators = {
        "OEUVRE": Oeuvre(rates.for_learner(task.LEARNER)),
        "prequential mean": Prequential(),
        "sliding window of 100": SlidingWindow(100),
    }
    course: dict[str, list[float]] = {name: [] for name in ("true loss", *estimators)}
    squares = dict.fromkeys(estimators, 0.0)
    console = Console()
    progress = Progress(console=console)
    bar = progress.add_task("learning online", total=steps)

    def table(t: int) -> Table:
        view = Table(title=f"Loss of the current model at step {t:,}", title_justify="left")
        view.add_column("estimate by")
        view.add_column("now", justify="right")
        view.add_column("RMSE so far", justify="right")
        for name, values in course.items():
            error = f"{(squares[name] / t) ** 0.5:.4f}" if name in squares else ""
            view.add_row(name, f"{values[-1]:.4f}", error)
        return view

    with Live(console=console, refresh_per_second=10) as live:
        for t, step in enumerate(task.run(steps, seed), start=1):
            course["true loss"].append(step.truth)
            for name, estimator in estimators.items():
                estimator.update(step.loss, step.previous)
                course[name].append(estimator.get())
                squares[name] += (estimator.get() - step.truth) ** 2
            if t % 50 == 0 or t == steps:
                progress.update(bar, completed=t)
                live.update(Group(table(t), progress))

    out.parent.mkdir(parents=True, exist_ok=True)
    truth = course.pop("true loss")
    title = "A linear model learning online (scikit-learn's diabetes data, averaged SGD)"
    figures.save_png(
        figures.against_truth(truth, course, title=title, ylabel="expected squared error"), out
    )
    console.print(f"\nThe picture is in {out}")


def main() -> None:
    """Run the command line; a mistake of the user's is one line, not a trace."""
    try:
        app()
    except OeuvreError as error:
        sys.exit(f"oeuvre: {error}")
