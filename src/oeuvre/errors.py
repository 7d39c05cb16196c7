"""One tree of errors. Each message names the argument, what it must be and what it got."""

__all__ = [
    "DataError",
    "InvalidInput",
    "InvalidLoss",
    "InvalidParameter",
    "MissingExtra",
    "MonitorWarning",
    "NotAvailable",
    "NotEnoughData",
    "NotSerializable",
    "OeuvreError",
    "StateError",
]


class OeuvreError(Exception):
    """The root: `except OeuvreError` catches whatever this library raises on purpose."""


class InvalidParameter(OeuvreError, ValueError):
    """An argument of a constructor is outside what it may be."""


class InvalidInput(OeuvreError, ValueError):
    """A rate, a size or an array given with the data cannot be used. The state is as it was."""


class InvalidLoss(InvalidInput):
    """A loss is missing, not a number, not finite or too large. The state is as it was."""


class NotEnoughData(OeuvreError, RuntimeError):
    """Asked for a result before the first update."""


class NotAvailable(OeuvreError, AttributeError):
    """Asked for something this estimator does not have, such as the variance of an average."""


class StateError(OeuvreError, ValueError):
    """A saved state is torn, foreign, or from a newer version of the library."""


class NotSerializable(OeuvreError, TypeError):
    """The object holds something that cannot be written as data (a callable, a River detector)."""


class MissingExtra(OeuvreError, ImportError):
    """An optional dependency is not installed; the message holds the command that installs it."""


class DataError(OeuvreError, OSError):
    """A public data set is missing or not what it should be; the message says what to put where."""


class MonitorWarning(UserWarning):
    """A monitored model is used in a way that makes its estimate wrong; the message says how."""
