"""Which estimator suits a log: a ranking without the truth."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from oeuvre.errors import InvalidLoss, NotEnoughData
from oeuvre.estimators.arrays import Floats, Steps, check_steps
from oeuvre.estimators.base import Estimator
from oeuvre.estimators.ensemble import Ensemble, check_members
from oeuvre.estimators.ranking import BATCHES, Ranking, rank
from oeuvre.estimators.windows import SlidingWindow
from oeuvre.parameters import integer

__all__ = ["compare"]


def compare(
    losses: ArrayLike,
    previous: ArrayLike,
    estimators: Sequence[Estimator],
    *,
    rates: ArrayLike | None = None,
    sizes: ArrayLike | None = None,
    horizon: int = 10,
) -> Ranking:
    """Rank estimators on a log of losses, without the truth.

    What comes after a step is a fresh look at the loss of its model, and if samples are
    independent, so is it of any estimate made at that step. So each estimate L_t is scored by
    `(L_t − y_t)²`, and `E(L_t − y_t)² = E(L_t − truth)² + noise` with a noise common to all. y_t is
    the mean of two looks: the mean of the next `horizon` values of `previous`, and an `Ensemble`
    run backwards over all that comes later, with the losses of the two models in exchanged roles.

    Parameters
    ----------
    losses, previous, rates, sizes
        The log, as `replay` takes it.
    estimators
        What to compare; fresh copies of them are used.
    horizon
        How many values of `previous` go into the first look. It should be longer than samples hang
        together, or else estimators that forget fast look better than they are.

    Returns
    -------
    Ranking
        From best to worst, each with its excess over the best and the standard error of that,
        which takes into account that neighbouring steps are alike.

    Examples
    --------
    A learner that averages; its loss falls at first, so old losses should be forgotten, but slowly:

    >>> import numpy as np
    >>> from oeuvre import AdaptiveOeuvre, FadingFactor, Prequential, compare
    >>> z = np.random.default_rng(0).normal(size=2001)
    >>> model = (9.0 + np.cumsum(z[:-1])) / np.arange(1, 2001)
    >>> losses, previous = (z[2:] - model[1:]) ** 2, (z[2:] - model[:-1]) ** 2
    >>> compare(losses, previous, [Prequential(), FadingFactor(0.9), AdaptiveOeuvre()])
    estimator                       score       excess    ± error
    AdaptiveOeuvre()             0.126712            0          0
    FadingFactor(fading=0.9)     0.333958        0.207       0.12
    Prequential()                 0.33589        0.209       0.21
    """
    members = check_members("compare", estimators)
    horizon = integer("compare", "horizon", horizon, 1)
    if previous is None:
        raise InvalidLoss(
            "'previous' must be the losses of the previous models on the same samples: without "
            "them nothing can be ranked. Got None instead."
        )
    steps = check_steps(losses, previous, rates, sizes, True)
    scored = len(steps.losses) - horizon
    if scored < 1:
        raise NotEnoughData(
            f"A ranking needs more than {horizon} steps, the horizon. Got {len(steps.losses)}."
        )
    target = looks(steps, horizon)
    errors = np.empty((len(members), scored))
    for row, member in zip(errors, members, strict=True):
        course = member.clone().replay(
            steps.losses, steps.previous, rates=steps.rates, sizes=steps.sizes
        )
        np.square(course.estimate[:scored] - target, out=row)
    batches = max(1, min(BATCHES, scored // (2 * horizon)))
    batch = scored // batches
    sums = errors[:, : batch * batches].reshape(len(members), batches, batch).sum(axis=2)
    return rank([repr(member) for member in members], sums, batch, errors.sum(axis=1), scored)


def looks(steps: Steps, horizon: int) -> Floats:
    """Return for each step, the last `horizon` apart, a look at its model's loss from later."""
    previous = steps.losses if steps.previous is None else steps.previous
    later, earlier = previous[:0:-1], steps.losses[:0:-1]  # from the end to the second step
    sizes = None if steps.sizes is None else steps.sizes[:0:-1]
    following = SlidingWindow(horizon).replay(later, sizes=sizes).estimate
    backwards = Ensemble(horizon=horizon).replay(later, earlier, sizes=sizes).estimate
    target: Floats = (following + backwards)[::-1][: len(previous) - horizon] / 2.0
    return target
