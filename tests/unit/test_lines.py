"""Loss pairs of another program: a file, a list, a pipe; whole lines, bad lines, torn lines."""

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from oeuvre import AdaptiveOeuvre, Estimator, Oeuvre, Prequential
from oeuvre.errors import InvalidInput, InvalidLoss, InvalidParameter
from oeuvre.learners.lines import LossLines
from tests.conftest import Make, learner_pairs, snapshot

UNTYPED: Any = LossLines
MAKE: dict[str, Make] = {
    "adaptive": AdaptiveOeuvre,
    "paper": lambda: Oeuvre(burn_in=5),
    "average": Prequential,
}


def entries(steps: int = 30) -> list[dict[str, Any]]:
    """Return single pairs, batches, means with their size, and rates, by turns."""
    made: list[dict[str, Any]] = []
    for t, (loss, previous) in enumerate(zip(*learner_pairs(steps), strict=True)):
        entry: dict[str, Any] = {"loss": float(loss), "previous": float(previous), "note": [t]}
        if t % 4 == 1:
            entry = {"loss": [loss, 2 * loss, 0.1], "previous": [previous, loss, 0.3]}
        elif t % 4 == 2:
            entry["size"] = t
        if t % 3 == 0:
            entry["rate"] = 1.0 / (1 + t)
        made.append(entry)
    del made[0]["previous"]
    return made


def direct(est: Estimator) -> Estimator:
    """Feed an estimator by hand what the lines say."""
    for entry in entries():
        loss, previous, rate = entry["loss"], entry.get("previous"), entry.get("rate")
        if isinstance(loss, list):
            est.update_many(loss, previous, rate=rate)
        else:
            est._update_batch(loss, previous, rate, float(entry.get("size", 1)))
    return est


LINES = [json.dumps(entry) for entry in entries()]
WITH_BLANKS = "\n" + "\n \n".join(LINES) + "\n\n"


@pytest.mark.parametrize("name", MAKE)
@pytest.mark.parametrize("kind", ["path", "text path", "list", "bytes", "text file", "binary file"])
def test_every_source_gives_the_floats_of_direct_updates(
    kind: str, name: str, tmp_path: Path
) -> None:
    path, est = tmp_path / "losses.jsonl", MAKE[name]()
    path.write_text(WITH_BLANKS)
    with path.open() as text, path.open("rb") as binary:
        sources: dict[str, Any] = {
            "path": path,
            "text path": str(path),
            "list": LINES,
            "bytes": [line.encode() for line in LINES],
            "text file": text,
            "binary file": binary,
        }
        lines = LossLines(sources[kind], est)
        found = list(lines)
        assert list(lines) == []
        assert (text.closed, binary.closed) == (False, False)
    assert snapshot(est) == snapshot(direct(MAKE[name]()))
    assert [each.n for each in found] == list(range(1, 31))
    assert (found[-1].estimate, lines.skipped) == (est.get(), 0)
    assert lines.line == (30 if kind in ("list", "bytes") else 61)


def test_a_pipe_is_read_line_by_line_while_the_program_runs() -> None:
    program = (
        "import sys\n"
        "for loss in (0.5, 0.25):\n"
        '    print(\'{"loss": %s, "previous": 0.75}\' % loss, flush=True)\n'
        "    sys.stdin.readline()\n"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        lines = LossLines(process.stdout, Prequential())
        assert next(lines).estimate == 0.5  # the program waits until it was read
        process.stdin.write(b"go on\n\n")
        process.stdin.flush()
        assert [each.estimate for each in lines] == [0.375]
    assert process.returncode == 0


def test_a_step_tells_the_mean_losses_and_an_interval() -> None:
    first, second, *rest = LossLines(LINES)
    assert first.loss == entries()[0]["loss"]
    assert math.isnan(first.previous)
    assert second.loss == pytest.approx(sum(entries()[1]["loss"]) / 3, rel=1e-15)
    assert second.previous == pytest.approx(sum(entries()[1]["previous"]) / 3, rel=1e-15)
    est = AdaptiveOeuvre()
    assert rest[-1].interval == direct(est).interval()
    assert [each.interval for each in LossLines(LINES, Prequential())] == [None] * len(LINES)


BAD: dict[str, tuple[str | bytes, type[InvalidInput], str]] = {
    "text": ("oops", InvalidInput, "a whole JSON object with 'loss' and 'previous'. Got 'oops'"),
    "torn": (LINES[3][:-5], InvalidInput, "a whole JSON object"),
    "torn bytes": (LINES[3][:-5].encode(), InvalidInput, "a whole JSON object"),
    "number": ("0.5", InvalidInput, "a whole JSON object"),
    "list": ("[0.5, 0.4]", InvalidInput, "a whole JSON object"),
    "no loss": ('{"previous": 0.5}', InvalidInput, "a whole JSON object"),
    "not text": (b"\xff\xfe\xff", InvalidInput, "a whole JSON object"),
    "deep": ("[" * 99_999, InvalidInput, "a whole JSON object"),
    "no previous": ('{"loss": 0.5}', InvalidLoss, "'previous' must be"),
    "no previous, size": ('{"loss": 0.5, "size": 2}', InvalidLoss, "'previous' must be"),
    "nan": ('{"loss": NaN, "previous": 0.5}', InvalidLoss, "'loss' must be a finite number"),
    "null": ('{"loss": null, "previous": 0.5}', InvalidLoss, "'loss' must be a finite number"),
    "quoted": ('{"loss": "0.5", "previous": 0.5}', InvalidLoss, "'loss' must be a finite number"),
    "previous": ('{"loss": 0.5, "previous": {}}', InvalidLoss, "'previous' must be a finite"),
    "lengths": ('{"loss": [0.5, 1], "previous": [1]}', InvalidInput, "as many entries"),
    "empty": ('{"loss": [], "previous": []}', InvalidLoss, "at least one entry"),
    "nested": ('{"loss": [[1]], "previous": [[1]]}', InvalidLoss, "one dimension"),
    "batch nan": ('{"loss": [1, NaN], "previous": [1, 1]}', InvalidLoss, "nan at index 1"),
    "batch sum": ('{"loss": [1e308, 1e308], "previous": [1, 1]}', InvalidLoss, "sum of a batch"),
    "size": ('{"loss": 1, "previous": 1, "size": 0.5}', InvalidInput, "'sizes' must hold whole"),
    "size text": ('{"loss": 1, "previous": 1, "size": "2"}', InvalidInput, "'sizes' must be"),
    "rate": ('{"loss": 1, "previous": 1, "rate": -1}', InvalidInput, "'rate' must be a finite"),
    "huge": ('{"loss": 1%s, "previous": 1}' % ("0" * 400), InvalidLoss, "'loss' must be"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_line_is_named_and_changes_nothing(name: str) -> None:
    line, error, message = BAD[name]
    source: list[str | bytes] = [*LINES[:3], "", line, *LINES[3:]]
    lines = LossLines(source)
    for _ in range(3):
        before = next(lines)
    state = lines.estimator.to_dict()
    with pytest.raises(error, match=f"^Line 5: .*{message}") as raised:
        next(lines)
    assert type(raised.value) is error
    assert lines.estimator.to_dict() == state
    assert before.n == lines.estimator.n
    assert len(list(lines)) == 27
    assert snapshot(lines.estimator) == snapshot(direct(AdaptiveOeuvre()))


@pytest.mark.parametrize("name", BAD)
def test_bad_lines_are_left_out_and_counted(name: str) -> None:
    bad = BAD[name][0]
    lines = LossLines([LINES[0], bad, *LINES[1:], bad], skip=True)
    assert len(list(lines)) == 30
    assert (lines.skipped, lines.line) == (2, 32)
    assert snapshot(lines.estimator) == snapshot(direct(AdaptiveOeuvre()))


@pytest.mark.parametrize("skip", [False, True])
def test_a_last_line_that_is_torn_is_told_or_counted(skip: bool, tmp_path: Path) -> None:
    path = tmp_path / "losses.jsonl"
    path.write_text("\n".join(LINES)[:-9])
    lines = LossLines(path, skip=skip)
    steps = [next(lines) for _ in range(29)]
    if not skip:
        with pytest.raises(InvalidInput, match="Line 30: it must be a whole JSON object"):
            next(lines)
    assert list(lines) == []
    assert (len(steps), lines.skipped, lines.line) == (29, int(skip), 30)


def test_it_goes_on_from_where_the_estimator_is_and_closes_its_file(tmp_path: Path) -> None:
    path, est = tmp_path / "losses.jsonl", AdaptiveOeuvre()
    list(LossLines(LINES[:10], est))
    path.write_text("\n".join(LINES[10:]))
    lines = LossLines(path, est)
    next(lines)
    lines.close()
    assert list(lines) == []
    list(LossLines(LINES[11:], est))
    assert snapshot(est) == snapshot(direct(AdaptiveOeuvre()))


def test_wrong_parameters_are_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="'estimator' parameter of LossLines must be an est"):
        UNTYPED([], "adaptive")
    with pytest.raises(InvalidParameter, match="'skip' parameter of LossLines must be True or"):
        UNTYPED([], skip=1)
    with pytest.raises(FileNotFoundError):
        LossLines(tmp_path / "none.jsonl")
