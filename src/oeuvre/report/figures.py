"""Figures, drawn with Matplotlib and without a screen."""

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter
from numpy.typing import ArrayLike

from oeuvre import atomic
from oeuvre.intervals import Interval

__all__ = ["Panel", "against_truth", "bars", "dots", "lines", "over_time", "save", "save_png"]

COLOURS = (
    *("#c2410c", "#94a3b8", "#0e7490", "#7c3aed", "#4d7c0f", "#1e3a8a"),
    *("#f59e0b", "#be185d", "#16a34a", "#475569", "#111827"),
)
"""The first estimate stands out; the others are there to compare."""
MARKERS = ("o", "s", "^", "D", "v", "P", "h", "X", "*", "<", ">")
HATCHES = ("", "", "///", "...", "xxx", "\\\\\\", "", "", "", "", "")
DASHES = (
    *("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)), "-", (0, (3, 1))),
    *("-", "-", "-", (0, (5, 2)), (0, (1.5, 1.5))),
)
FAMILIES = (
    *("OEUVRE", "Prequential", "SW", "EMA", "FFPreq", "ADWIN"),
    *("Adaptive", "Two-gain", "Ensemble", "median", "best"),
)
"""Names that look the same in every figure."""
POINTS = 1000
"""A course with more steps than this is drawn at so many of them, evenly spaced."""


@dataclass(frozen=True)
class Panel:
    """One set of axes: series of means with their spreads over labelled places."""

    title: str
    labels: Sequence[str]
    series: Mapping[str, tuple[Sequence[float], Sequence[float]]]
    xlabel: str = ""
    ylabel: str = ""
    logarithmic: bool = False
    linked: bool = True
    """Whether neighbouring places belong together, so that a line between them says something."""


def against_truth(
    truth: ArrayLike,
    estimates: Mapping[str, ArrayLike],
    *,
    ends: Sequence[Interval | None],
    title: str,
    ylabel: str = "loss",
    truth_name: str = "true loss",
) -> Figure:
    """Draw the true loss and estimates of it over time.

    The first estimate is on top, with its intervals, `ends`, as a band from where there are some.
    """
    true = np.asarray(truth)
    steps = np.arange(1, len(true) + 1)
    first, *_ = estimates
    known = [(t, *each) for t, each in zip(steps, ends, strict=True) if each is not None]
    figure = Figure(figsize=(9.0, 4.2), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    for depth, (name, values) in enumerate(estimates.items()):
        thick = 1.8 if depth == 0 else 1.0
        colour = COLOURS[style_of(name, depth)]
        axes.plot(steps, values, color=colour, lw=thick, label=name, zorder=5 - depth / 9)
    if known:
        colour = COLOURS[style_of(first, 0)]
        axes.fill_between(
            *np.array(known).T, color=colour, alpha=0.13, lw=0, label=f"{first}, 95 %"
        )
    axes.plot(steps, true, color="black", lw=1.6, ls=(0, (4, 2)), label=truth_name, zorder=6)
    low, high = true.min(), true.max()
    axes.set(
        title=title,
        xlabel="step",
        ylabel=ylabel,
        xlim=(1, len(true)),
        ylim=(low - 0.35 * (high - low), high + 0.25 * (high - low)),
    )
    tidy(axes)
    axes.legend(ncols=3, frameon=False, loc="upper right")
    return figure


def over_time(
    truth: ArrayLike,
    estimates: Mapping[str, ArrayLike],
    *,
    title: str,
    ylabel: str = "loss",
) -> Figure:
    """Draw the true loss and estimates of it, each of the others in a panel with the first.

    Six courses on one set of axes hide each other; in pairs the eye can compare.
    """
    true = np.asarray(truth)
    shown = np.unique(np.linspace(0, len(true) - 1, min(POINTS, len(true))).astype(int))
    first, *others = estimates
    figure = Figure(figsize=(9.0, 1.55 * len(others) + 0.9), dpi=120, layout="constrained")
    panels = figure.subplots(len(others), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for depth, (axes, name) in enumerate(zip(panels, others, strict=True), start=1):
        axes.plot(shown + 1, true[shown], color="black", alpha=0.3, lw=2.4, label="true loss")
        for each, style in ((name, style_of(name, depth)), (first, style_of(first, 0))):
            values = np.asarray(estimates[each])[shown]
            axes.plot(shown + 1, values, color=COLOURS[style], lw=1.0, label=each)
        tidy(axes)
        axes.set(ylabel=ylabel, xlim=(1, len(true)))
        axes.legend(ncols=3, frameon=False, loc="upper right", fontsize=8)
    low, high = true.min(), true.max()
    room = 0.25 * (high - low)
    panels[0].set(title=title, ylim=(low - room, high + 1.6 * room))
    panels[-1].set_xlabel("step")
    return figure


def lines(grid: Sequence[Sequence[Panel]]) -> Figure:
    """Draw panels in rows, each series a line (or marks) with its spread as error bars."""
    figure, cells = _panels(grid)
    for axes, panel in cells:
        places = np.arange(len(panel.labels))
        for place, (name, (means, spreads)) in enumerate(panel.series.items()):
            style = style_of(name, place)
            axes.errorbar(
                places + (0.04 if panel.linked else 0.13) * (place - len(panel.series) / 2),
                means,
                yerr=spreads,
                label=name,
                color=COLOURS[style],
                marker=MARKERS[style],
                ls=DASHES[style] if panel.linked else "none",
                ms=4.5,
                lw=1.8 if style == 0 else 1.2,
                elinewidth=0.8,
                capsize=2,
                zorder=10 - style,
            )
        axes.set_xticks(places, panel.labels)
    _legend(figure, cells[0][0])
    return figure


def dots(
    labels: Sequence[str],
    series: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    band: tuple[float, float],
    line: float,
    xlabel: str,
) -> Figure:
    """Draw a row of marks with error bars for each label, beside a line and a band to be in."""
    figure = Figure(figsize=(7.5, 0.24 * len(labels) + 1.2), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    places = np.arange(len(labels))
    axes.axvspan(*band, color="#e5e7eb", lw=0)
    axes.axvline(line, color="black", lw=0.8)
    for place, (name, (means, errors)) in enumerate(series.items()):
        style = style_of(name, place)
        hollow = place == len(series) - 1
        axes.errorbar(
            means,
            places + 0.17 * (place - len(series) / 2),
            xerr=errors,
            label=name,
            color=COLOURS[style],
            marker=MARKERS[style],
            mfc="white" if hollow else COLOURS[style],
            ls="none",
            ms=4,
            elinewidth=0.8,
            capsize=1.5,
        )
    axes.set_yticks(places, labels, fontsize=8)
    axes.invert_yaxis()
    axes.set(xlabel=xlabel)
    tidy(axes)
    _legend(figure, axes)
    return figure


def bars(grid: Sequence[Sequence[Panel]]) -> Figure:
    """Draw panels in rows, each series a bar at every place, with its spread."""
    figure, cells = _panels(grid)
    for axes, panel in cells:
        places = np.arange(len(panel.labels))
        width = 0.8 / len(panel.series)
        for place, (name, (means, spreads)) in enumerate(panel.series.items()):
            style = style_of(name, place)
            axes.bar(
                places + width * (place - (len(panel.series) - 1) / 2),
                means,
                0.92 * width,
                yerr=spreads,
                label=name,
                color=COLOURS[style],
                hatch=HATCHES[style],
                edgecolor="white",
                error_kw={"elinewidth": 0.8, "capsize": 2},
            )
        axes.set_xticks(places, panel.labels)
        axes.axhline(0.0, color="black", lw=0.6)
    _legend(figure, cells[0][0])
    return figure


def _panels(grid: Sequence[Sequence[Panel]]) -> tuple[Figure, list[tuple[Axes, Panel]]]:
    """Return a figure, and the axes of each panel with labels and scales set."""
    rows, columns = len(grid), len(grid[0])
    size = (max(3.1 * columns, 6.0), 2.3 * rows + 0.7)
    figure = Figure(figsize=size, dpi=150, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    cells = [(axes[i, j], grid[i][j]) for i in range(rows) for j in range(columns)]
    for each, panel in cells:
        tidy(each)
        each.set_title(panel.title, fontsize=10)
        each.set(xlabel=panel.xlabel, ylabel=panel.ylabel)
        if panel.logarithmic:
            each.set_yscale("log")
            each.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0, 7.0)))
            each.yaxis.set_major_formatter(FormatStrFormatter("%g"))
            each.yaxis.set_minor_formatter(NullFormatter())
    return figure, cells


def _legend(figure: Figure, axes: Axes) -> None:
    handles, names = axes.get_legend_handles_labels()
    columns = min(len(names), int(figure.get_figwidth() / 1.4))
    figure.legend(handles, names, loc="outside upper center", ncols=columns, frameon=False)


def style_of(name: str, place: int) -> int:
    """Return the style of a series: that of its family if it names one, or else its place."""
    family = name.split(maxsplit=1)[0]
    return FAMILIES.index(family) if family in FAMILIES else place


def tidy(axes: Axes) -> None:
    """Leave out what does not carry information."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)
    axes.grid(axis="y", color="#e5e7eb", lw=0.8)


def save(figure: Figure, stem: Path) -> list[Path]:
    """Write a figure as PNG and as SVG, each whole or not at all; return the files."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # it has been laid out; once is enough for both
    save_png(figure, stem.with_suffix(".png"))
    buffer = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": stem.name}):  # the same figure, the same bytes
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    atomic.write_bytes(stem.with_suffix(".svg"), buffer.getvalue())
    return [stem.with_suffix(".png"), stem.with_suffix(".svg")]


def save_png(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure to a PNG file, whole or not at all."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    atomic.write_bytes(path, buffer.getvalue())
