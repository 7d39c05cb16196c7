"""Averages of past losses, the baselines of the paper: cheap, and about models that are gone.

All of them are one smoothing step, L_t = L_{t−1} + w_t (ℓ_t(z_t) − L_{t−1}), and differ in w_t. The
paper's estimator with γ_t = w_t would be the same but for ℓ_{t−1}(z_t), which they do not look at.
"""

from oeuvre._kernels.averages import AverageCore
from oeuvre.errors import NotAvailable
from oeuvre.estimators.base import Estimator, count, fraction, nonnegative, number
from oeuvre.parameters import real

__all__ = ["Average", "ExponentialMovingAverage", "FadingFactor", "Prequential"]


class Average(AverageCore, Estimator, abstract=True):
    """What all averages share: they have an effective sample size and no variance."""

    __slots__ = ()

    _fields = {
        "n": count,
        "estimate": number,
        "weight": fraction,
        "mass": nonnegative,
        "squares": nonnegative,
    }

    def reset(self) -> None:
        """Forget everything but the parameters."""
        self._clear()

    @property
    def weight(self) -> float:
        """The weight of the newest step in the mean."""
        self._check_started()
        return self._weight

    @property
    def effective_n(self) -> float:
        """(Σw)²/Σw²: the number of equally weighted losses whose mean would be as steady."""
        self._check_started()
        return self._mass * self._mass / self._squares

    @property
    def variance(self) -> float:
        """Not available: an average of past models is not an estimate of the current one."""
        raise NotAvailable(
            f"{type(self).__name__} averages the losses of past models, so it has no variance "
            "around the loss of the current one. Oeuvre, AdaptiveOeuvre and Ensemble have."
        )


class Prequential(Average):
    """The mean of all losses so far, w_t = 1/t: the test-then-train score.

    With batches, the mean of all samples.

    Examples
    --------
    >>> from oeuvre import Prequential
    >>> est = Prequential()
    >>> for loss in (1.0, 2.0, 6.0):
    ...     est.update(loss)
    >>> est.get()
    3.0
    """

    __slots__ = ()

    def __init__(self) -> None:
        self._params = {}
        self._configure(1.0, 0.0)
        self._clear()


class FadingFactor(Average):
    """The prequential mean with a fading memory: sum and count fade together.

        S_t = ℓ_t(z_t) + f S_{t−1},   N_t = 1 + f N_{t−1},   L_t = S_t / N_t,   so w_t = 1/N_t

    A batch of B samples adds B to N.

    Parameters
    ----------
    fading
        f, the weight the past keeps at each step: above 0, at most 1 (no fading).

    References
    ----------
    Gama, Sebastião, Rodrigues (2013). On evaluating stream learning algorithms.

    Examples
    --------
    >>> from oeuvre import FadingFactor
    >>> est = FadingFactor(0.5)
    >>> for loss in (1.0, 4.0):
    ...     est.update(loss)
    >>> est.get()  # (4 + 1/2) / (1 + 1/2)
    3.0
    """

    __slots__ = ()

    def __init__(self, fading: float) -> None:
        fading = real("FadingFactor", "fading", fading, 0.0, 1.0, open_low=True)
        self._params = {"fading": fading}
        self._configure(fading, 0.0)
        self._clear()


class ExponentialMovingAverage(Average):
    """A moving average with constant weight: w_1 = 1, then w_t = alpha, whatever the batch size.

    Parameters
    ----------
    alpha
        The weight of the new loss (as in pandas): above 0, at most 1.

    Examples
    --------
    >>> from oeuvre import ExponentialMovingAverage
    >>> est = ExponentialMovingAverage(0.25)
    >>> for loss in (1.0, 5.0):
    ...     est.update(loss)
    >>> est.get()
    2.0
    """

    __slots__ = ()

    def __init__(self, alpha: float) -> None:
        alpha = real("ExponentialMovingAverage", "alpha", alpha, 0.0, 1.0, open_low=True)
        self._params = {"alpha": alpha}
        self._configure(1.0, alpha)
        self._clear()
