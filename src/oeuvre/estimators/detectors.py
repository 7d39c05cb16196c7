"""Drift detectors of other libraries: what they are, and how they are kept."""

import copy
from typing import Any, Protocol

from oeuvre.errors import NotSerializable
from oeuvre.parameters import invalid

__all__ = ["Detector", "describe", "fresh", "is_binary", "not_data", "pattern"]


class Detector(Protocol):
    """Whatever tells of drift the way River's detectors do."""

    @property
    def drift_detected(self) -> bool:
        """Whether the last update found drift."""

    def update(self, x: Any) -> Any:
        """Take one more value."""


def pattern(owner: str, name: str, detector: Any, wanted: str) -> Any:
    """Return a copy of a detector to make fresh ones from, or raise InvalidParameter."""
    if isinstance(detector, type) or not (
        callable(getattr(detector, "update", None)) and hasattr(detector, "drift_detected")
    ):
        raise invalid(owner, name, wanted, detector)
    try:
        return copy.deepcopy(detector)
    except Exception:
        raise invalid(owner, name, "possible to copy", detector) from None


def fresh(given: Any) -> Any:
    """Return a detector that has seen nothing."""
    return given.clone() if hasattr(given, "clone") else copy.deepcopy(given)


def is_binary(detector: Any) -> bool:
    """Tell whether a detector wants outcomes that are true or false."""
    return any(kind.__name__ == "BinaryDriftDetector" for kind in type(detector).__mro__)


def not_data(owner: str) -> NotSerializable:
    """Build the error for writing an estimator that holds a detector."""
    return NotSerializable(
        f"A state is written as data, and this {owner} holds a detector, which is code. "
        "Use pickle, in places where you trust the file."
    )


def describe(detector: Any) -> str:
    """Return the call that would make a detector like this one."""
    import inspect  # it takes long to import, and few ask

    changed = (
        f"{name}={value!r}"
        for name, parameter in inspect.signature(type(detector)).parameters.items()
        if isinstance(value := getattr(detector, name, None), int | float | str)
        and value != parameter.default
    )
    return f"{type(detector).__name__}({', '.join(changed)})"
