"""Samples as plain data: what a monitor holds back, written to JSON and read again, bit by bit.

Numbers, text, lists and dicts stay what they are. Everything else is a dict with the key "~", which
says what it is; nothing that is read is executed.
"""

import base64
import datetime as dt
import math
import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from oeuvre.errors import NotSerializable, StateError

__all__ = ["from_data", "to_data"]

TAG = "~"
DTYPE = r"[<>|=][biufcSUMm]\d+(\[\w+\])?"
"""Types of arrays that are written: numbers, text and dates."""


def to_data(value: Any) -> Any:
    """Return a sample as what JSON can hold, or raise NotSerializable."""
    kind = type(value)
    if value is None or kind in (bool, int, str):
        return value
    if kind is float:
        return value if math.isfinite(value) else {TAG: "float", "text": repr(value)}
    if kind is list:
        return [to_data(each) for each in value]
    if kind is tuple:
        return {TAG: "tuple", "items": [to_data(each) for each in value]}
    if isinstance(value, dict):
        if all(type(key) is str and key != TAG for key in value):
            return {key: to_data(each) for key, each in value.items()}
        items = [[to_data(key), to_data(each)] for key, each in value.items()]
        return {TAG: "dict", "items": items}
    if kind in (dt.datetime, dt.date):
        return {TAG: kind.__name__, "text": value.isoformat()}
    if kind is np.ndarray or isinstance(value, np.generic):
        return array_to_data(value)
    torch, pandas = sys.modules.get("torch"), sys.modules.get("pandas")
    if torch is not None and kind is torch.Tensor:
        try:
            made = array_to_data(value.detach().cpu().numpy())
        except TypeError:
            raise refused(value) from None
        return {TAG: "tensor", "array": made}
    if pandas is not None and kind in (pandas.DataFrame, pandas.Series):
        return frame_to_data(value, value.to_frame() if kind is pandas.Series else value)
    raise refused(value)


def frame_to_data(value: Any, frame: Any) -> dict[str, Any]:
    """Return a pandas DataFrame, or a Series in the form of one, as data."""
    plain = all(isinstance(each, np.dtype) for each in frame.dtypes)
    indexes = frame.index, frame.columns
    if not plain or any(index.nlevels > 1 or index.names != [None] for index in indexes):
        raise refused(value)
    columns = [
        [to_data(name), to_data(frame.iloc[:, place].to_numpy())]
        for place, name in enumerate(frame.columns)
    ]
    if not hasattr(value, "columns"):
        columns[0][0] = to_data(value.name)
    index = to_data(frame.index.to_numpy())
    return {TAG: type(value).__name__, "columns": columns, "index": index}


def array_to_data(value: Any) -> dict[str, Any]:
    """Return a NumPy array or scalar as data."""
    shape = list(value.shape)
    if value.dtype.kind == "O":
        return {TAG: "objects", "shape": shape, "items": [to_data(v) for v in value.ravel()]}
    if not re.fullmatch(DTYPE, value.dtype.str):
        raise refused(value)
    raw = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
    what = "scalar" if isinstance(value, np.generic) else "array"
    return {TAG: what, "dtype": value.dtype.str, "shape": shape, "bytes": raw}


def refused(value: Any) -> NotSerializable:
    """Build the error for a sample that cannot be written."""
    return NotSerializable(
        f"A held sample is written as data, and {type(value).__name__} cannot be: numbers, text, "
        "lists, dicts, dates, arrays, tensors and pandas frames can. Use pickle where you trust "
        "the file, or call flush() before saving."
    )


def from_data(data: Any) -> Any:
    """Return the sample that `to_data` wrote, or raise StateError."""
    try:
        return read(data)
    except StateError:
        raise
    except (
        LookupError,
        TypeError,
        ValueError,
        ArithmeticError,
        ImportError,
        RecursionError,
    ) as error:
        raise StateError(f"A sample in this saved state cannot be read: {error}") from error


def read(data: Any) -> Any:
    """Undo `to_data`."""
    if isinstance(data, list):
        return [read(each) for each in data]
    if not isinstance(data, dict):
        return data
    if TAG not in data:
        return {key: read(each) for key, each in data.items()}
    if data[TAG] not in READERS:
        raise StateError(f"A sample in this saved state is of an unknown kind, {data[TAG]!r:.80}.")
    return READERS[data[TAG]](data)


def read_array(data: dict[str, Any]) -> Any:
    """Return an array of numbers, text or dates."""
    name = data["dtype"]
    if not (isinstance(name, str) and re.fullmatch(DTYPE, name)):
        raise StateError(f"An array in this saved state cannot be of type {name!r:.80}.")
    dtype = np.dtype(name)
    raw = base64.b64decode(data["bytes"], validate=True)
    array = np.frombuffer(raw, dtype) if dtype.itemsize else np.zeros(data["shape"], dtype)
    if math.prod(array.shape) != math.prod(data["shape"]):
        raise StateError("An array in this saved state must have as many entries as its shape.")
    return array.reshape(data["shape"]).copy()


def read_objects(data: dict[str, Any]) -> Any:
    """Return an array of Python objects."""
    made = np.empty(len(data["items"]), dtype=object)
    for place, each in enumerate(data["items"]):
        made[place] = read(each)
    return made.reshape(data["shape"])


def read_tensor(data: dict[str, Any]) -> Any:
    """Return a torch tensor."""
    import torch

    return torch.from_numpy(np.array(read(data["array"])))


def read_frame(data: dict[str, Any]) -> Any:
    """Return a pandas DataFrame."""
    import pandas as pd

    names = [read(name) for name, _ in data["columns"]]
    parts = dict(enumerate(read(values) for _, values in data["columns"]))
    frame = pd.DataFrame(parts, index=read(data["index"]))
    frame.columns = pd.Index(names)
    return frame


READERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "float": lambda data: float(data["text"]),
    "tuple": lambda data: tuple(read(each) for each in data["items"]),
    "dict": lambda data: {read(key): read(each) for key, each in data["items"]},
    "datetime": lambda data: dt.datetime.fromisoformat(data["text"]),
    "date": lambda data: dt.date.fromisoformat(data["text"]),
    "array": read_array,
    "scalar": lambda data: read_array(data)[()],
    "objects": read_objects,
    "tensor": read_tensor,
    "DataFrame": read_frame,
    "Series": lambda data: read_frame(data).iloc[:, 0].rename(read(data["columns"][0][0])),
}
