"""Pictures of digits and clothes, from files in the IDX format."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from oeuvre.errors import DataError
from oeuvre.experiments.datasets import DATASETS, content

__all__ = ["Images", "images", "read_idx"]


class Images(NamedTuple):
    """Pictures as rows of floats from 0 to 1, and their classes."""

    train_x: NDArray[np.float32]
    train_y: NDArray[np.int64]
    test_x: NDArray[np.float32]
    test_y: NDArray[np.int64]


def read_idx(data: bytes, name: str) -> NDArray[np.uint8]:
    """Read an IDX file of unsigned bytes: a big-endian header, then the entries in C order."""
    dimensions = data[3] if len(data) >= 4 else 0
    header = 4 + 4 * dimensions
    if data[:3] != b"\0\0\x08" or not 1 <= dimensions <= 3 or len(data) < header:
        raise DataError(f"{name} must be an IDX file of unsigned bytes.")
    shape = tuple(int(size) for size in np.frombuffer(data, ">u4", dimensions, offset=4))
    if len(data) != header + int(np.prod(shape)):
        raise DataError(f"{name} must hold {shape} entries. Got {len(data) - header} instead.")
    return np.frombuffer(data, np.uint8, offset=header).reshape(shape)


def images(key: str) -> Images:
    """Return an image data set; EMNIST's pictures, stored transposed, are turned upright."""
    files = [source.name for source in DATASETS[key].files]
    arrays = [read_idx(content(key, name), name) for name in files]
    parts: list[NDArray[np.float32]] = []
    for pictures, labels, name in zip(arrays[::2], arrays[1::2], files[::2], strict=True):
        if pictures.ndim != 3 or labels.shape != pictures.shape[:1]:
            raise DataError(f"{name} must hold one picture for each label.")
        upright = pictures.transpose(0, 2, 1) if key == "emnist" else pictures
        parts.append(np.asarray(upright.reshape(len(labels), -1), np.float32) / np.float32(255))
    return Images(parts[0], arrays[1].astype(np.int64), parts[1], arrays[3].astype(np.int64))
