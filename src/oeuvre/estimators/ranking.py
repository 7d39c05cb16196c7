"""Estimators ranked by how well they predict fresh evaluations, with the errors of the ranking."""

import math
from collections.abc import Sequence
from typing import NamedTuple, overload

import numpy as np

from oeuvre.errors import NotEnoughData
from oeuvre.estimators.arrays import Floats

__all__ = ["BATCHES", "Ranking", "Standing", "rank"]

BATCHES = 16
"""How many batches of steps squared errors are summed over, at most: an even number."""
FEWEST = 4
"""With fewer batches than this there is no telling how much they vary."""


class Standing(NamedTuple):
    """One estimator's place in a ranking."""

    name: str
    """The call that makes it."""
    position: int
    """Its place among those that were compared, from 0."""
    score: float
    """Its mean squared error in predicting fresh evaluations: its own, plus noise common to all."""
    excess: float
    """Its score less the best one; the noise is gone from it."""
    error: float
    """The standard error of the excess; infinite where there are too few steps to tell."""


class Ranking(Sequence[Standing]):
    """Estimators from best to worst; it prints as a table.

    Lower scores are better. The noise in them is common to all, so what counts is the excess over
    the best, beside its standard error: below about twice that, the two can hardly be told apart.
    """

    __slots__ = ("standings", "steps")

    def __init__(self, standings: Sequence[Standing], steps: int) -> None:
        self.standings = tuple(standings)
        """The places, best first."""
        self.steps = steps
        """How many predictions of each were scored."""

    @property
    def best(self) -> Standing:
        """The first."""
        return self.standings[0]

    def __len__(self) -> int:
        return len(self.standings)

    @overload
    def __getitem__(self, place: int) -> Standing: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Standing, ...]: ...

    def __getitem__(self, place: int | slice) -> Standing | tuple[Standing, ...]:
        return self.standings[place]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ranking):
            return NotImplemented
        return (self.standings, self.steps) == (other.standings, other.steps)

    def __hash__(self) -> int:
        return hash((self.standings, self.steps))

    def __repr__(self) -> str:
        width = max(len("estimator"), *(len(each.name) for each in self.standings))
        lines = [f"{'estimator':{width}}  {'score':>11}  {'excess':>11}  {'± error':>9}"]
        lines += [
            f"{each.name:{width}}  {each.score:11.6g}  {each.excess:11.3g}  {each.error:9.2g}"
            for each in self.standings
        ]
        return "\n".join(lines)


def rank(names: Sequence[str], sums: Floats, batch: int, total: Floats, steps: int) -> Ranking:
    """Rank estimators by their squared errors.

    Errors of neighbouring steps depend on each other, those of long batches of steps hardly: the
    standard error of a difference is that of the mean of its batch means. That the best one was
    chosen for its score is not taken into account.

    Parameters
    ----------
    names
        One for each estimator.
    sums
        The squared errors of each estimator (a row) summed over each whole batch (a column).
    batch
        The number of steps in a batch.
    total, steps
        The squared errors of each summed over all steps, and the number of these.
    """
    if steps == 0:
        raise NotEnoughData("There is no ranking before a prediction could be scored.")
    scores = total / steps
    order = np.argsort(scores, kind="stable")
    batches = sums.shape[1]
    standings = []
    for place in order:
        gap = (sums[place] - sums[order[0]]) / batch
        error = float(gap.std(ddof=1)) / math.sqrt(batches) if batches >= FEWEST else math.inf
        standings.append(
            Standing(
                names[place],
                int(place),
                float(scores[place]),
                float(scores[place] - scores[order[0]]),
                0.0 if place == order[0] else error,
            )
        )
    return Ranking(standings, steps)
