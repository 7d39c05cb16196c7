"""Any program, Vowpal Wabbit among them, through a file or a pipe of JSON lines.

A line is one step, `{"loss": 0.31, "previous": 0.34}`: the losses of the current and of the
previous model on a fresh sample, or two lists for a batch. The first line needs no `previous`.
`rate` and `size` (the number of samples that both are the mean of) are optional; other entries are
not read.
"""

import json
import math
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from oeuvre.errors import InvalidInput
from oeuvre.estimators.adaptive import AdaptiveOeuvre
from oeuvre.estimators.arrays import check_batch
from oeuvre.estimators.base import Estimator
from oeuvre.estimators.snapshot import Snapshot, take
from oeuvre.parameters import boolean, invalid

__all__ = ["LossLines"]


class LossLines:
    """Loss pairs that another program writes, one JSON object a line.

    Going through it reads a line, takes a step and yields what is known then. A line that cannot be
    used is an error that names it; the estimate is as it was, and going on goes on with the line
    after it.

    Parameters
    ----------
    source
        The path of a file, or anything that gives lines: an open file, `sys.stdin`, the `stdout` of
        a process.
    estimator
        What takes the steps; an `AdaptiveOeuvre()` if none is given. It goes on from where it is.
    skip
        Whether to leave out lines that cannot be used, and count them in `skipped`.

    Examples
    --------
    >>> from oeuvre.learners.lines import LossLines
    >>> lines = ['{"loss": 0.9, "note": "the first model"}', '{"loss": 0.5, "previous": 0.7}']
    >>> for snapshot in LossLines(lines):
    ...     print(f"{snapshot.n}: {snapshot.estimate:.3f}")
    1: 0.900
    2: 0.600
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | Iterable[str | bytes],
        estimator: Estimator | None = None,
        *,
        skip: bool = False,
    ) -> None:
        if not isinstance(estimator, Estimator | None):
            raise invalid("LossLines", "estimator", "an estimator", estimator)
        self.estimator = AdaptiveOeuvre() if estimator is None else estimator
        self.skipped = 0
        self.line = 0
        """The number of the line read last."""
        self._skip = boolean("LossLines", "skip", skip)
        opened = isinstance(source, str | os.PathLike)
        self._file = Path(source).open("rb") if opened else None  # type: ignore[arg-type]  # noqa: SIM115
        self._lines: Iterator[str | bytes] = iter(self._file or source)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Snapshot]:
        return self

    def __next__(self) -> Snapshot:
        for text in self._lines:
            self.line += 1
            if not text.strip():
                continue
            try:
                return self._step(text)
            except InvalidInput as error:
                if not self._skip:
                    raise type(error)(f"Line {self.line}: {error}") from None
                self.skipped += 1
        self.close()
        raise StopIteration

    def _step(self, text: str | bytes) -> Snapshot:
        try:
            entry = json.loads(text)
        except (ValueError, RecursionError):
            entry = None
        if not isinstance(entry, dict) or "loss" not in entry:
            shown = text.strip()
            raise InvalidInput(
                f"it must be a whole JSON object with 'loss' and 'previous'. Got {shown!r:.80}."
            )
        loss, previous = entry["loss"], entry.get("previous")
        rate, size = entry.get("rate"), entry.get("size")
        estimator = self.estimator
        if isinstance(loss, list):
            estimator.update_many(loss, previous, rate=rate)
        elif size is None:
            estimator.update(loss, previous, rate=rate)
        else:
            estimator.replay(
                [loss],
                None if previous is None else [previous],
                sizes=[size],
                rates=None if rate is None else [rate],
            )
        return take(estimator, mean(loss), mean(previous))

    def close(self) -> None:
        """Close the file, if it was opened here."""
        if self._file is not None:
            self._file.close()
            self._lines = iter(())


def mean(losses: Any) -> float:
    """Return a loss, or the mean of a batch; NaN if there is none."""
    if losses is None:
        return math.nan
    return check_batch(losses, None, True)[0] if isinstance(losses, list) else float(losses)
