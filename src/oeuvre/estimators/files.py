"""A state to a file and back: JSON, never executed.

What that needs is imported when it is needed: `import oeuvre` stays light.
"""

import os

from oeuvre import atomic
from oeuvre.errors import InvalidParameter, StateError
from oeuvre.estimators.base import Estimator
from oeuvre.estimators.paired import Paired

__all__ = ["load", "save"]

FORMAT = "oeuvre"


def save(obj: Estimator | Paired, path: str | os.PathLike[str]) -> None:
    """Write an estimator, or a pair of them, to a JSON file, whole or not at all.

    Raises NotSerializable if the estimator holds code (a function as a rate, a River detector).

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

    if not isinstance(obj, Estimator | Paired):
        raise InvalidParameter(
            "The 'obj' parameter of save must be an estimator or a Paired. "
            f"Got {obj!r:.80} instead."
        )
    text = json.dumps({"format": FORMAT, **obj.to_dict()}, allow_nan=False, indent=1)
    atomic.write_bytes(path, text.encode() + b"\n")


def load(path: str | os.PathLike[str]) -> Estimator | Paired:
    """Read what `save` wrote, with this version of the library or an older one.

    Raises StateError if the file is torn, foreign or of a newer version.
    """
    import json
    from pathlib import Path

    try:
        document = json.loads(Path(path).read_bytes())
    except (ValueError, RecursionError) as error:
        raise StateError(f"{os.fspath(path)!r} must be a whole JSON file: {error}") from None
    if not isinstance(document, dict) or document.pop("format", None) != FORMAT:
        raise StateError(f"{os.fspath(path)!r} must be a file that oeuvre.save wrote.")
    if document.get("kind") == "Paired":
        return Paired.from_dict(document)
    return Estimator.from_dict(document)
