"""Finished work on disk: one Parquet file a piece, whole or not at all, known by what made it."""

import ast
import hashlib
import inspect
import io
import json
import sys
import uuid
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

import polars as pl

import oeuvre
from oeuvre import atomic

__all__ = ["Store", "fingerprint"]

ROOMS = ("oeuvre.experiments.tasks.", "oeuvre.estimators.", "oeuvre._kernels.", "oeuvre.rates")
"""Where the code lives that makes numbers; changes elsewhere do not make results stale."""
THIS_PROCESS = uuid.uuid4().hex


def fingerprint(thing: object, *libraries: str) -> dict[str, Any]:
    """Tell what makes the results of a task or an estimator: parameters, code, versions.

    The code is that of the modules its class and bases come from, and of what they import from the
    same room; comments and docstrings do not count, compiled files do. A changed estimator is a
    different one, and the others stay what they are. Of a class from elsewhere it is the class.
    """
    bases = type(thing).__mro__
    waiting = [kind.__module__ for kind in bases]
    room = ROOMS[:1] if any(name.startswith(ROOMS[0]) for name in waiting) else ROOMS[1:]
    code: dict[str, str] = {}
    for kind in bases:
        origin = kind.__module__.partition(".")[0]
        if origin != "oeuvre" and origin not in sys.stdlib_module_names:
            code[kind.__qualname__] = read_class(kind)
    while waiting:
        name = waiting.pop()
        if name not in code and name.startswith(room):
            code[name], imported = read_code(name)
            waiting += imported
    return {
        "thing": repr(thing),
        "code": code,
        "libraries": {name: metadata.version(name) for name in libraries},
    }


@lru_cache
def read_code(name: str) -> tuple[str, list[str]]:
    """Return a digest of a module's code, and the modules of this package it may import."""
    path = Path(oeuvre.__file__).parent.joinpath(*name.split(".")[1:])
    tree = ast.parse(path.with_suffix(".py").read_text(encoding="utf-8"))
    imported = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            imported += [node.module, *(f"{node.module}.{each.name}" for each in node.names)]
        elif (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            node.value.value = ""  # a docstring
    known = [each for each in imported if is_module(each)]
    compiled = [each.read_bytes() for each in sorted(path.parent.glob(f"{path.name}.*.so"))]
    return short(b"".join((ast.dump(tree).encode(), *compiled))), known


def read_class(kind: type) -> str:
    """Return a digest of a class's source, or one that only this process knows if there is none."""
    try:
        return short(inspect.getsource(kind).encode())
    except (OSError, TypeError):  # typed at a prompt
        return THIS_PROCESS


def is_module(name: str) -> bool:
    """Tell whether a name is that of a module of this package."""
    path = Path(oeuvre.__file__).parent.joinpath(*name.split(".")[1:])
    return name.startswith("oeuvre.") and path.with_suffix(".py").is_file()


class Store:
    """A folder of tables, each named by a label to read, a digest of its maker and one of itself.

    A file that is torn does not match its name; it counts as missing and is never parsed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, label: str, maker: dict[str, Any]) -> pl.DataFrame | None:
        """Return a table, or None if it is not there or not whole."""
        start = self.folder / f"{label}.{digest(maker)}"
        for path in sorted(start.parent.glob(f"{start.name}.*.parquet")):
            data = path.read_bytes()
            if path.name == f"{start.name}.{short(data)}.parquet":
                return pl.read_parquet(io.BytesIO(data))
        return None

    def write(self, label: str, maker: dict[str, Any], table: pl.DataFrame) -> None:
        """Keep a table; a crash leaves the file whole or not there."""
        buffer = io.BytesIO()
        table.write_parquet(buffer)
        data = buffer.getvalue()
        path = self.folder / f"{label}.{digest(maker)}.{short(data)}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic.write_bytes(path, data)


def digest(maker: dict[str, Any]) -> str:
    """Return a short digest of what makes a table."""
    return short(json.dumps(maker, sort_keys=True).encode())


def short(data: bytes) -> str:
    """Return the first half of the sha256 of some bytes, enough to tell files apart."""
    return hashlib.sha256(data).hexdigest()[:32]
