"""Figures, drawn with Matplotlib and without a screen."""

import io
import os
from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from oeuvre import atomic

__all__ = ["against_truth", "save_png"]

COLOURS = ("#c2410c", "#94a3b8", "#0e7490")
"""The first estimate stands out; the others are there to compare."""


def against_truth(
    truth: ArrayLike,
    estimates: Mapping[str, ArrayLike],
    *,
    deviation: ArrayLike,
    burn_in: int,
    title: str,
    ylabel: str = "loss",
) -> Figure:
    """Draw the true loss and estimates of it over time.

    The first estimate is on top, with its standard `deviation` as a band from the end of its
    burn-in on; the burn-in is shaded.
    """
    true = np.asarray(truth)
    steps = np.arange(1, len(true) + 1)
    first, *_ = estimates
    centre, width = (np.asarray(x)[burn_in:] for x in (estimates[first], deviation))
    figure = Figure(figsize=(9.0, 4.2), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    for depth, (name, values) in enumerate(estimates.items()):
        thick = 1.8 if depth == 0 else 1.0
        axes.plot(steps, values, color=COLOURS[depth], lw=thick, label=name, zorder=5 - depth)
    band = f"{first} ± √variance"
    axes.fill_between(
        steps[burn_in:],
        centre - width,
        centre + width,
        color=COLOURS[0],
        alpha=0.13,
        lw=0,
        label=band,
    )
    axes.axvspan(1, burn_in, color="#e5e7eb", lw=0, label="burn-in")
    axes.plot(steps, true, color="black", lw=1.6, ls=(0, (4, 2)), label="true loss", zorder=6)
    low, high = true.min(), true.max()
    axes.set(
        title=title,
        xlabel="step",
        ylabel=ylabel,
        xlim=(1, len(true)),
        ylim=(low - 0.35 * (high - low), high + 0.25 * (high - low)),
    )
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e5e7eb", lw=0.8)
    axes.legend(ncols=3, frameon=False, loc="upper right")
    return figure


def save_png(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure to a PNG file, whole or not at all."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    atomic.write_bytes(path, buffer.getvalue())
