"""Vowpal Wabbit, in a process of its own that prints JSON lines, and in this one."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import oeuvre
from oeuvre import AdaptiveOeuvre, Ensemble, Monitor, Oeuvre
from oeuvre.errors import InvalidInput
from oeuvre.learners.lines import LossLines

vowpalwabbit = pytest.importorskip("vowpalwabbit")
STEPS = 200
SCRIPT = f"""
import json, random
import vowpalwabbit

random.seed(0)
model = vowpalwabbit.Workspace("--quiet")
held = None
for _ in range({STEPS}):
    a, b = random.random(), random.random()
    y = 2.0 * a - b + random.gauss(0.0, 0.1)
    text = f"| a:{{a}} b:{{b}}"
    entry = {{}}
    if held is not None:
        entry["previous"] = (model.predict(text) - y) ** 2
        model.learn(held)
    entry["loss"] = (model.predict(text) - y) ** 2
    held = f"{{y}} {{text}}"
    print(json.dumps(entry), flush=True)
model.finish()
"""


@contextmanager
def wabbit() -> Iterator[Any]:
    """A process that trains, and prints what its samples cost."""
    command = [sys.executable, "-c", SCRIPT]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        yield process
    assert process.returncode == 0


class Wabbit:
    """The same model as a learner."""

    def __init__(self) -> None:
        self.model = vowpalwabbit.Workspace("--quiet")

    def evaluate(self, x: str, y: float) -> float:
        said: float = self.model.predict(x)
        return (said - y) ** 2

    def learn(self, x: str, y: float) -> None:
        self.model.learn(f"{y} {x}")


def samples() -> list[tuple[str, float]]:
    import random

    random.seed(0)
    found = []
    for _ in range(STEPS):
        a, b = random.random(), random.random()
        found.append((f"| a:{a} b:{b}", 2.0 * a - b + random.gauss(0.0, 0.1)))
    return found


@pytest.mark.parametrize(
    "estimator", [AdaptiveOeuvre(), Oeuvre(), Ensemble()], ids=["adaptive", "rate", "ensemble"]
)
def test_a_process_and_a_monitor_tell_the_same(estimator: Any) -> None:
    learner = Wabbit()
    monitor = Monitor(learner, estimator.clone())
    expected = list(monitor.run(samples()))
    learner.model.finish()
    with wabbit() as process:
        found = list(LossLines(process.stdout, estimator.clone()))
    assert len(found) == STEPS
    assert [each.loss for each in found] == [each.loss for each in expected]
    assert [each.previous for each in found[1:]] == [each.previous for each in expected[1:]]
    assert [each.estimate for each in found] == [each.estimate for each in expected]
    assert [each.interval for each in found] == [each.interval for each in expected]
    assert found[-1].estimate < 0.5 * found[0].estimate  # it learns


def test_every_line_is_used_as_it_comes() -> None:
    with wabbit() as process:
        lines = LossLines(process.stdout)
        first = next(lines)
        assert (first.n, first.loss) == (1, first.estimate)
        second = next(lines)
        assert second.n == lines.line == 2
        assert sum(1 for _ in lines) == STEPS - 2


def test_a_file_of_lines_goes_on_in_a_saved_estimator(tmp_path: Path) -> None:
    with wabbit() as process:
        rows = process.stdout.read().decode().splitlines(keepends=True)
    (tmp_path / "all.jsonl").write_text("".join(rows))
    (tmp_path / "one.jsonl").write_text("".join(rows[:70]))
    (tmp_path / "two.jsonl").write_text("\n" + "".join(rows[70:]))
    whole = [each.estimate for each in LossLines(tmp_path / "all.jsonl")]
    half = LossLines(str(tmp_path / "one.jsonl"))
    found = [each.estimate for each in half]
    oeuvre.save(half.estimator, tmp_path / "state.json")
    again = LossLines(tmp_path / "two.jsonl", oeuvre.load(tmp_path / "state.json"))
    found += [each.estimate for each in again]
    assert found == whole


def test_a_process_that_dies_in_the_midst_of_a_line_leaves_the_estimate_as_it_was() -> None:
    with wabbit() as process:
        rows = process.stdout.read().splitlines(keepends=True)
    torn = [*rows[:50], rows[50][:9]]
    lines = LossLines(torn)
    found = [next(lines) for _ in range(50)]
    with pytest.raises(InvalidInput, match="Line 51: it must be a whole JSON object"):
        next(lines)
    assert (lines.estimator.n, lines.estimator.get()) == (50, found[-1].estimate)
    assert next(lines, None) is None
    skipping = LossLines(torn, skip=True)
    assert [each.estimate for each in skipping] == [each.estimate for each in found]
    assert skipping.skipped == 1


def test_batches_of_lines_are_batches() -> None:
    with wabbit() as process:
        rows = [json.loads(row) for row in process.stdout]
    pairs = [(row["loss"], row.get("previous", row["loss"])) for row in rows]
    by_hand, entries = AdaptiveOeuvre(), []
    for i in range(0, STEPS, 5):
        now, last = (list(each) for each in zip(*pairs[i : i + 5], strict=True))
        by_hand.update_many(now, last)
        entries.append(json.dumps({"loss": now, "previous": last}))
    lines = LossLines(entries)
    assert sum(1 for _ in lines) == STEPS // 5
    assert lines.estimator.get() == by_hand.get()
    sizes = LossLines(
        json.dumps(
            {"loss": sum(each["loss"]) / 5, "previous": sum(each["previous"]) / 5, "size": 5}
        )
        for each in map(json.loads, entries)
    )
    assert sum(1 for _ in sizes) == STEPS // 5
    assert sizes.estimator.get() == pytest.approx(by_hand.get(), rel=1e-12)
