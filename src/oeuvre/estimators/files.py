"""A state to a file and back: JSON, never executed.

What that needs is imported when it is needed: `import oeuvre` stays light.
"""

import os
from typing import Any

from oeuvre import atomic
from oeuvre.errors import StateError
from oeuvre.estimators.base import Estimator
from oeuvre.estimators.paired import Paired
from oeuvre.estimators.quality import Quality
from oeuvre.parameters import invalid

__all__ = ["OTHERS", "load", "read", "save"]

FORMAT = "oeuvre"
OTHERS: dict[str, type[Any]] = {"Paired": Paired, "Quality": Quality}
"""What can be saved besides estimators, by its name."""


def save(obj: Any, path: str | os.PathLike[str]) -> None:
    """Write an estimator to a JSON file, whole or not at all; or a `Paired`, `Quality`, `Monitor`.

    Raises NotSerializable if it holds code (a function as a rate, a River detector). A monitor is
    saved without its model.

    Examples
    --------
    >>> import pathlib, tempfile, oeuvre
    >>> est = oeuvre.Prequential()
    >>> est.update(0.5)
    >>> path = pathlib.Path(tempfile.mkdtemp(), "loss.json")
    >>> oeuvre.save(est, path)
    >>> oeuvre.load(path).get()
    0.5
    """
    import json

    if not isinstance(obj, (Estimator, *OTHERS.values())):
        wanted = ", ".join(f"a {name}" for name in OTHERS)
        raise invalid("save", "obj", f"an estimator, {wanted}", obj)
    document: dict[str, Any] = obj.to_dict()  # type: ignore[attr-defined]
    text = json.dumps({"format": FORMAT, **document}, allow_nan=False, indent=1)
    atomic.write_bytes(path, text.encode() + b"\n")


def load(path: str | os.PathLike[str]) -> Any:
    """Read what `save` wrote, with this version of the library or an older one.

    Raises StateError if the file is torn, foreign or of a newer version. A monitor needs its model
    back, and is read by `Monitor.load(path, learner)`.
    """
    document = read(path)
    kind = document.get("kind")
    if kind == "Monitor":
        raise StateError(f"{os.fspath(path)!r} is read by Monitor.load(path, learner).")
    found = OTHERS.get(kind, Estimator) if isinstance(kind, str) else Estimator
    return found.from_dict(document)


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the state in a file that `save` wrote, or raise StateError."""
    import json
    from pathlib import Path

    try:
        document = json.loads(Path(path).read_bytes())
    except (ValueError, RecursionError) as error:
        raise StateError(f"{os.fspath(path)!r} must be a whole JSON file: {error}") from None
    if not isinstance(document, dict) or document.pop("format", None) != FORMAT:
        raise StateError(f"{os.fspath(path)!r} must be a file that oeuvre.save wrote.")
    return document
