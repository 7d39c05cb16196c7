"""A monitor as data: at any step, in the midst of one, after a crash; and foreign files."""

import copy
import json
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import oeuvre
from oeuvre import Monitor, Quality
from oeuvre.errors import InvalidParameter, MonitorWarning, NotSerializable, StateError
from oeuvre.monitor.samples import from_data, to_data
from tests.unit.test_monitor import ESTIMATORS, Failing, Fuse, Linear, Mean, row, rows, samples


def reread(monitor: Monitor) -> Monitor:
    """Return a monitor read from what this one writes, with the same learner."""
    text = json.dumps(monitor.to_dict(), allow_nan=False)
    again = Monitor.from_dict(json.loads(text), monitor.learner)
    assert json.dumps(again.to_dict(), allow_nan=False) == text
    return again


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("batch", [False, True], ids=["rows", "batches"])
def test_read_again_at_every_step_it_goes_on_the_same(batch: bool, name: str) -> None:
    stream = samples(20, batch)
    straight = Monitor(Linear(), ESTIMATORS[name](), quality=True)
    monitor = Monitor(Linear(), ESTIMATORS[name](), quality=True)
    expected, found = rows(straight, stream), []
    for sample in stream:
        monitor = reread(monitor)
        found.append(row(monitor.update(*sample)))
    assert found == expected
    assert monitor.to_dict() == straight.to_dict()


@pytest.mark.parametrize("batch", [False, True], ids=["rows", "batches"])
def test_a_step_broken_off_half_way_is_finished_after_reading(batch: bool) -> None:
    stream = samples(12, batch)
    straight = Monitor(Linear(), quality=True, guard=0)
    expected, found = rows(straight, stream), []
    fuse = Fuse("evaluate", tuple(range(3, 40, 3)))  # each second evaluation, the first time
    monitor = Monitor(Failing(fuse), quality=True, guard=0)
    for t, (x, y) in enumerate(stream):
        if t:
            with pytest.raises(OSError, match="blown"):
                monitor.update(x, y)
            monitor = reread(monitor)
        found.append(row(monitor.update(x.copy(), copy.copy(y))))
    assert (found, monitor.unseen) == (expected, 0)
    assert monitor.to_dict() == straight.to_dict()


class Dropping(Mean):
    """Fails at the second evaluation after it has learned two samples."""

    def __init__(self) -> None:
        super().__init__()
        self.n, self.asked = 1, 0

    def evaluate(self, x: Any, y: Any) -> float | None:
        self.asked += 1
        if self.asked == 3:
            raise OSError("blown")
        return super().evaluate(x, y)


SAMPLES: dict[str, Any] = {
    "row": np.arange(3.0),
    "column by column": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "dict": {"colour": "red", "size": 2.0},
    "dict that repeats itself": {"red": "red"},
    "frame": pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}),
    "row of a frame": pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}).iloc[[1]],
    "tuple": (1, "a", None),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_the_sample_of_a_broken_step_is_known_again_after_reading(name: str) -> None:
    monitor = Monitor(Dropping(), guard=0)
    monitor.update(0.0, 0.5)
    with pytest.raises(OSError, match="blown"):
        monitor.update(SAMPLES[name], 1.0)
    snapshot = reread(monitor).update(SAMPLES[name], 1.0)
    assert (snapshot.loss, snapshot.previous) == (0.5625, 1.0)


def test_waiting_questions_and_counters_are_kept() -> None:
    monitor = Monitor(Linear(), skip=True, limit=3, guard=2)
    stream = samples(8)
    tickets = [monitor.ask(x) for x, _ in stream[:5]]
    monitor.update(*stream[5])
    monitor.update(stream[6][0], None)
    monitor.flush()
    twin = copy.deepcopy(monitor)
    again = reread(monitor)
    assert (again.waiting, again.expired, again.skipped, again.unseen) == (3, 2, 1, 0)
    for i in (3, 2):
        answers = [row(each.answer(tickets[i], 1.0)) for each in (again, twin)]
        assert answers[0] == answers[1]
    assert (again.unseen, again.ask(0), again.waiting) == (1, 6, 2)


def test_a_file_and_back_with_the_model_beside_it(tmp_path: Path) -> None:
    stream, path = samples(10, batch=True), tmp_path / "monitor.json"
    expected = rows(Monitor(Linear()), stream)
    monitor = Monitor(Linear())
    list(monitor.run(stream[:6]))
    oeuvre.save(monitor, path)
    learner = pickle.loads(pickle.dumps(monitor.learner))
    assert rows(Monitor.load(path, learner), stream[6:]) == expected[6:]
    with pytest.raises(StateError, match=r"monitor.json' is read by Monitor.load\(path, learner\)"):
        oeuvre.load(path)


@pytest.mark.parametrize("batch", [False, True])
def test_another_model_is_noticed_when_a_monitor_is_read(tmp_path: Path, batch: bool) -> None:
    path = tmp_path / "monitor.json"
    monitor = Monitor(Linear())
    list(monitor.run(samples(6, batch=batch)))
    oeuvre.save(monitor, path)
    with pytest.warns(MonitorWarning, match="the model, or the loss, is another one") as told:
        other = Monitor.load(path, Linear())
    assert (other.n, told[0].filename) == (6, __file__)
    monitor.flush()
    oeuvre.save(monitor, path)
    assert Monitor.load(path, Linear()).n == 6  # nothing is held, so nothing can be compared


def test_a_monitor_of_a_class_of_ones_own_is_saved_too(tmp_path: Path) -> None:
    class Own(Monitor):
        pass

    oeuvre.save(Own(Linear()), tmp_path / "own.json")
    assert type(Own.load(tmp_path / "own.json", Linear())) is Own


def test_a_class_that_is_only_called_so_is_not_saved(tmp_path: Path) -> None:
    foreign: Any = type("Monitor", (), {})()
    with pytest.raises(InvalidParameter, match="'obj' parameter of save must be an estimator"):
        oeuvre.save(foreign, tmp_path / "foreign.json")


def test_a_quality_is_saved_and_read(tmp_path: Path) -> None:
    quality = Quality()
    quality.update("a", "b")
    oeuvre.save(quality, tmp_path / "quality.json")
    again = oeuvre.load(tmp_path / "quality.json")
    assert isinstance(again, Quality)
    assert again.to_dict() == quality.to_dict()
    with pytest.raises(StateError, match="Monitor must be a mapping with the keys"):
        Monitor.load(tmp_path / "quality.json", Linear())


def test_a_copy_of_the_model_is_not_data(tmp_path: Path) -> None:
    monitor = Monitor(Linear(), mode="snapshot")
    assert reread(monitor).n == 0
    monitor.update(*samples(1)[0])
    with pytest.raises(NotSerializable, match="In the mode 'snapshot' .* Pickle .* mode 'lag'"):
        oeuvre.save(monitor, tmp_path / "monitor.json")
    assert not list(tmp_path.iterdir())


def test_a_torn_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "monitor.json"
    monitor = Monitor(Linear(), quality=True)
    list(monitor.run(samples(3)))
    oeuvre.save(monitor, path)
    whole = path.read_bytes()
    for end in range(0, len(whole) - 2, 7):
        path.write_bytes(whole[:end])
        with pytest.raises(StateError):
            Monitor.load(path, Linear())
    for foreign in (
        b"[]",
        b"\xff\xfe",
        b'{"format": "other"}',
        b'{"format": "oeuvre"}',
        b"[" * 99999,
    ):
        path.write_bytes(foreign)
        with pytest.raises(StateError):
            Monitor.load(path, Linear())


NOT_A_LOSS = {"~": "tuple", "items": [1, 1, "text", None]}


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("kind",), "Quality"),
        (("version",), 2),
        (("extra",), 1),
        (("params",), None),
        (("params", "mode"), "copy"),
        (("params", "extra"), 1),
        (("estimator",), {}),
        (("estimator", "kind"), "os.system"),
        (("quality",), None),
        (("quality", "matrix"), [[1.0]]),
        (("quality", "matrix", 0, 0), float("nan")),
        (("quality", "labels"), [[1], [2]]),
        (("quality", "version"), 2),
        (("quality", "estimator", "kind"), "Prequential"),
        (("state",), []),
        (("state", "skipped"), -1),
        (("state", "tickets"), 1.5),
        (("state", "gap"), 1),
        (("state", "guard"), "5"),
        (("state", "held"), [1, 2]),
        (("state", "held"), {"~": "tuple", "items": [1]}),
        (("state", "held"), {"~": "os.system", "text": "true"}),
        (("state", "moved"), {"~": "tuple", "items": [1, 2]}),
        (("state", "moved"), NOT_A_LOSS),
        (("state", "waiting"), [[0, 1]]),
        (("state", "waiting"), [1]),
    ],
)
def test_wrong_entries_are_refused(place: tuple[Any, ...], value: Any) -> None:
    monitor = Monitor(Linear(), quality=True)
    list(monitor.run(samples(5)))
    document = json.loads(json.dumps(monitor.to_dict()))
    at = document
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = value
    with pytest.raises(StateError):
        Monitor.from_dict(document, Linear())


def test_what_is_no_mapping_is_refused() -> None:
    wrong: Any = [1]
    with pytest.raises(StateError, match="must be a mapping with the keys"):
        Monitor.from_dict(wrong, Linear())


ARRAY = {"~": "array", "dtype": "<f8", "shape": [1], "bytes": "AAAAAAAA8D8="}


def test_an_array_is_read_from_its_bytes() -> None:
    assert from_data(ARRAY).tolist() == [1.0]


@pytest.mark.parametrize(
    "changed",
    [
        {"dtype": "O"},
        {"dtype": "V8"},
        {"dtype": "f8,O"},
        {"dtype": "(2,"},
        {"dtype": "__import__('os')"},
        {"dtype": {}},
        {"shape": [2]},
        {"shape": None, "bytes": "AAAA"},
        {"bytes": "%"},
        {"bytes": 5},
        {"~": "objects"},
        {"~": "frame"},
        {"~": "os.system"},
        {"~": ["array"]},
        {"~": "float", "text": "one"},
        {"~": "date", "text": "today"},
        {"~": "dict", "items": [[[1], 2]]},
    ],
    ids=str,
)
def test_tampered_samples_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(StateError):
        from_data({**ARRAY, **changed})


class Loaded:
    """Would tell if it were ever made from a file."""

    def __reduce__(self) -> Any:
        return pytest.fail, ("executed",)


@pytest.mark.parametrize("value", [Loaded(), {1, 2}, b"raw", 1j, np.zeros(1, "f8,f8")])
def test_what_is_not_data_is_not_written(value: Any) -> None:
    for nested in (value, [value], {"a": value}, {1: (value,)}, np.array([value, 0], dtype=object)):
        with pytest.raises(NotSerializable, match="written as data, and .* flush"):
            to_data(nested)


ODD: dict[str, Any] = {
    "empty text": np.str_(""),
    "empty bytes": np.bytes_(b""),
    "masked": np.ma.array([1.0, 2.0], mask=[False, True]),
    "arrays in an array": np.array([np.zeros(2), np.ones(2), None], dtype=object)[:2],
    "named index": pd.DataFrame({"a": [1]}, index=pd.Index([3], name="key")),
    "same name twice": pd.DataFrame([[1, 2]], columns=["a", "a"]),
    "categories": pd.DataFrame({"a": pd.Categorical(["x"], categories=["x", "y"])}),
    "nullable": pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}),
    "series of categories": pd.Series(["x"], dtype="category"),
    "dates as index": pd.Series([1.0], index=pd.to_datetime(["2020-01-01"])),
    "two levels": pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_samples_come_back_as_they_were_or_are_not_written(name: str) -> None:
    try:
        data = to_data(ODD[name])
    except NotSerializable:
        return
    again = from_data(json.loads(json.dumps(data, allow_nan=False)))
    assert type(again) is type(ODD[name])
    if isinstance(again, pd.DataFrame):
        pd.testing.assert_frame_equal(again, ODD[name])
    elif isinstance(again, pd.Series):
        pd.testing.assert_series_equal(again, ODD[name])
    else:
        assert repr(again) == repr(ODD[name])


# A crash

PROGRAM = """
import json, os, signal, sys
import oeuvre

class Line:
    def __init__(self, w=0.0, t=0):
        self.w, self.t = w, t
    def evaluate(self, x, y):
        return (self.w * x["a"] - y) ** 2
    def learn(self, x, y):
        self.t += 1
        self.w -= 0.3 / self.t ** 0.5 * (self.w * x["a"] - y) * x["a"]

model, state, kill = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
learner = Line()
monitor = oeuvre.Monitor(learner)
if os.path.exists(state):
    learner = Line(*json.load(open(model)))
    monitor = oeuvre.Monitor.load(state, learner)
for k in range(monitor.n, 12):
    snapshot = monitor.update({"a": (7 * k % 5 - 2) / 3}, (k * k % 11) / 7)
    json.dump([learner.w, learner.t], open(model, "w"))
    oeuvre.save(monitor, state)
    print(snapshot.estimate.hex(), snapshot.interval, flush=True)
    if monitor.n in kill:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def crash(folder: Path, kill: list[int]) -> tuple[list[str], bytes]:
    """Run the program, and again each time it is killed; return what it printed and saved."""
    folder.mkdir()
    paths = [str(folder / name) for name in ("model.json", "monitor.json")]
    plain = "ignore:oeuvre runs without its compiled kernels"
    command = [sys.executable, "-W", plain, "-c", PROGRAM, *paths, json.dumps(kill)]
    printed = []
    for _ in range(len(kill) + 1):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        printed += done.stdout.splitlines()
        if done.returncode != -signal.SIGKILL:
            assert (done.returncode, done.stderr) == (0, "")
    return printed, Path(paths[1]).read_bytes()


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is of POSIX")
def test_a_program_killed_again_and_again_comes_to_the_same_end(tmp_path: Path) -> None:
    straight = crash(tmp_path / "straight", [])
    killed = crash(tmp_path / "killed", [1, 2, 3, 4, 6, 9, 11])
    assert len(straight[0]) == 12
    assert killed == straight
