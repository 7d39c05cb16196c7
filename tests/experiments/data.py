"""Small files in the layout of the public data sets, for tests that need no more."""

import gzip
import hashlib
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from oeuvre.experiments import datasets

DIABETES = "diabetes_binary_health_indicators_BRFSS2015.csv.gz"


def write_idx(path: Path, array: np.ndarray) -> None:
    """Write an IDX file of unsigned bytes by the book: magic, sizes, entries."""
    header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(header + array.astype(np.uint8).tobytes()))


def write_emnist(folder: Path, train: int = 300, test: int = 100) -> None:
    """Write EMNIST digits of noise whose class shows; nothing is published of their content."""
    rng = np.random.default_rng(5)
    for part, size in (("train", train), ("test", test)):
        labels = rng.integers(10, size=size)
        pictures = rng.integers(0, 60, size=(size, 28, 28))
        pictures[np.arange(size), :, 2 * labels] += 150
        stem = folder / "emnist" / f"emnist-digits-{part}"
        write_idx(stem.with_name(f"{stem.name}-images-idx3-ubyte.gz"), pictures)
        write_idx(stem.with_name(f"{stem.name}-labels-idx1-ubyte.gz"), labels)


def publish(monkeypatch: pytest.MonkeyPatch, folder: Path, key: str, name: str, text: str) -> None:
    """Write a file of a data set and let it count as the published one."""
    data = text.encode()
    path = folder / key / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    dataset = datasets.DATASETS[key]
    files = tuple(
        replace(source, sha256=hashlib.sha256(data).hexdigest()) if source.name == name else source
        for source in dataset.files
    )
    monkeypatch.setitem(datasets.DATASETS, key, replace(dataset, files=files))
    datasets.content.cache_clear()


def csv(header: str, rows: np.ndarray, separator: str = ",") -> str:
    """Write numbers as a CSV file."""
    buffer = io.StringIO()
    np.savetxt(buffer, rows, delimiter=separator, fmt="%.17g", header=header, comments="")
    return buffer.getvalue()


def files(folder: Path) -> dict[str, bytes]:
    """Read every file under a folder."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
