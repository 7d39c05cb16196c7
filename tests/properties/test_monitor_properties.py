"""Any sample survives being written; any course of a monitor survives being read again."""

import datetime as dt
import json
import math
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from oeuvre import Monitor
from oeuvre.monitor.samples import from_data, to_data
from tests.unit.test_monitor import MODES, Failing, Fuse, Linear, brute_force, rows, samples

DTYPES = st.sampled_from(["?", "i1", "<u4", "<i8", "f2", "<f4", "<f8", ">f8", "c16", "S3", "U2"])
ARRAYS = st.one_of(
    hnp.arrays(DTYPES, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)),
    hnp.arrays(st.sampled_from(["<M8[s]", "<m8[ns]", "M8[D]"]), 3),
)
SCALARS = st.one_of(
    hnp.from_dtype(np.dtype("f4")),
    hnp.from_dtype(np.dtype("i2")),
    hnp.from_dtype(np.dtype("?")),
    hnp.from_dtype(np.dtype("M8[s]")),
    st.text(min_size=1, max_size=3).filter(lambda text: "\0" not in text).map(np.str_),
)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=True, allow_infinity=True),
    st.text(max_size=5),
    st.dates(),
    st.datetimes(timezones=st.sampled_from([None, dt.UTC])),
    SCALARS,
    ARRAYS,
)
KEYS = st.one_of(st.text(max_size=3), st.just("~"), st.integers(), st.booleans(), st.none())
KEYS = st.one_of(KEYS, st.tuples(KEYS, st.dates()))


def nest(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    few = st.lists(inner, max_size=3)
    return st.one_of(
        few, few.map(tuple), few.map(objects), st.dictionaries(KEYS, inner, max_size=3)
    )


def objects(values: list[Any]) -> Any:
    made = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        made[i] = value
    return made


def same(one: Any, two: Any) -> bool:
    """Tell whether two samples have the same types, the same shapes and the same bits."""
    if type(one) is not type(two):
        return False
    if isinstance(one, float) and not isinstance(one, np.generic):
        return bool(one.hex() == two.hex())
    if isinstance(one, list | tuple):
        return len(one) == len(two) and all(map(same, one, two))
    if isinstance(one, dict):
        return same(list(one), list(two)) and same(list(one.values()), list(two.values()))
    if isinstance(one, np.ndarray) and one.dtype.kind == "O":
        return one.shape == two.shape and same(list(one.flat), list(two.flat))
    if isinstance(one, np.ndarray | np.generic):
        alike = (one.dtype, one.shape) == (two.dtype, two.shape)
        return alike and one.tobytes() == two.tobytes()
    return bool(one == two)


def through_json(value: Any) -> Any:
    return from_data(json.loads(json.dumps(to_data(value), allow_nan=False)))


@given(st.recursive(LEAVES, nest, max_leaves=8))
@example([math.inf, -math.inf, math.nan, -0.0, 5e-324, 2**70])
@example({"~": "array", 1: {"~": {"a": (np.float64("nan"), np.array(math.inf))}}})
def test_a_sample_is_read_as_it_was_written(value: Any) -> None:
    assert same(through_json(value), value)


COLUMNS = st.sampled_from(["<f8", "<i8", "?", "<M8[ns]", "O"])
NAMES = st.one_of(st.text(max_size=2), st.integers(-5, 5))


@given(
    kinds=st.dictionaries(NAMES, COLUMNS, min_size=1, max_size=4),
    index=st.sampled_from([st.integers(), st.text()]).flatmap(
        lambda each: st.lists(each, min_size=1)
    ),
    data=st.data(),
)
def test_a_frame_and_its_columns_are_read_as_they_were_written(
    kinds: dict[Any, str], index: list[Any], data: st.DataObject
) -> None:
    columns = {}
    for name, kind in kinds.items():
        words = st.one_of(st.text(max_size=2), st.none(), st.integers()) if kind == "O" else None
        columns[name] = data.draw(hnp.arrays(kind, len(index), elements=words))
    frame = pd.DataFrame(columns, index=index)
    pd.testing.assert_frame_equal(through_json(frame), frame, check_exact=True)
    for name in columns:
        pd.testing.assert_series_equal(through_json(frame[name]), frame[name], check_exact=True)


@given(steps=st.integers(1, 12), seed=st.integers(0, 2**32), batch=st.booleans())
def test_both_modes_are_the_model_copied_at_every_step(steps: int, seed: int, batch: bool) -> None:
    stream = samples(steps, batch, seed)
    for mode in MODES:
        monitor = Monitor(Linear(), mode=mode, quality=True)
        assert rows(monitor, stream) == brute_force(stream, Monitor(Linear()).estimator)


ACTS = st.lists(
    st.sampled_from(
        ["update", "again", "fail", "missing", "bad", "ask", "answer", "flush", "drop"]
    ),
    max_size=25,
)


def live(acts: list[str], seed: int, save: bool) -> tuple[list[Any], dict[str, Any]]:
    """Go through a life of a monitor, written and read again after every act if `save`."""
    fuse = Fuse("evaluate")
    monitor = Monitor(Failing(fuse), skip=True, quality=True, guard=0, limit=3)
    told: list[Any] = []
    tickets: list[tuple[int, Any]] = []
    stream = samples(len(acts) + 1, seed=seed)
    last = stream[-1]
    for act, (x, y) in zip(acts, stream, strict=False):
        match act:
            case "update":
                told.append(monitor.update(x, y))
            case "again":
                told.append(monitor.update(last[0].copy(), last[1]))
            case "fail":
                last = (x, y)
                fuse.at = (fuse.calls["evaluate"] + 2,)
                try:
                    told.append(monitor.update(x, y))
                except OSError:
                    told.append(None)
                fuse.at = ()
            case "missing":
                told.append(monitor.update(x, None))
            case "bad":
                told.append(monitor.update(x, np.inf))
            case "ask":
                tickets.append((monitor.ask(x), y))
            case "answer" if tickets and tickets[-1][0] in monitor._waiting:
                told.append(monitor.answer(*tickets.pop()))
            case "flush":
                monitor.flush()
            case "drop":
                monitor.discard()
        if save:
            text = json.dumps(monitor.to_dict(), allow_nan=False)
            monitor = Monitor.from_dict(json.loads(text), monitor.learner)
    return told, monitor.to_dict()


@given(acts=ACTS, seed=st.integers(0, 2**32))
def test_a_monitor_read_again_after_every_act_lives_the_same_life(
    acts: list[str], seed: int
) -> None:
    straight, again = live(acts, seed, False), live(acts, seed, True)
    assert repr(again) == repr(straight)
    assert straight[1]["state"]["skipped"] == acts.count("missing") + acts.count("bad")
