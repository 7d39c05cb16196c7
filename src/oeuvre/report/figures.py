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
    truth: ArrayLike, estimates: Mapping[str, ArrayLike], *, title: str, ylabel: str = "loss"
) -> Figure:
    """Draw the true loss and estimates of it over time, the first estimate on top."""
    true = np.asarray(truth)
    steps = np.arange(1, len(true) + 1)
    figure = Figure(figsize=(9.0, 4.2), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    for depth, (name, values) in enumerate(estimates.items()):
        width = 1.8 if depth == 0 else 1.0
        axes.plot(steps, values, color=COLOURS[depth], lw=width, label=name, zorder=5 - depth)
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
    axes.legend(ncols=2, frameon=False, loc="upper right")
    return figure


def save_png(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure to a PNG file, whole or not at all."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    atomic.write_bytes(path, buffer.getvalue())
