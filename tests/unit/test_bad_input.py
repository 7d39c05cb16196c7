"""Bad input gets an error of our own tree that names the argument, and the state stays."""

import io
import math
from array import array
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from oeuvre import (
    Adwin,
    DriftWindow,
    Estimator,
    ExponentialMovingAverage,
    FadingFactor,
    Oeuvre,
    OeuvreError,
    SlidingWindow,
)
from oeuvre.errors import InvalidInput, InvalidLoss, InvalidParameter
from tests.conftest import AS_DATA, Make, Pairs, snapshot

NAN, INF = math.nan, math.inf
MASKED = np.ma.array([1.0, 999.0], mask=[False, True])
DATES = np.array(["2020-01-01"], dtype="datetime64[ns]")
HUGE = np.array(["1e400"], dtype=np.longdouble)


class Trap:
    """Something that claims to be a number and is not."""

    def __float__(self) -> float:
        raise LookupError("no")


CALLS: dict[str, tuple[Callable[[Estimator], Any], str]] = {
    "nan": (lambda e: e.update(NAN, 0.1), "'loss' must be a finite number. Got nan"),
    "inf": (lambda e: e.update(INF, 0.1), "'loss' must be a finite number. Got inf"),
    "numpy nan": (lambda e: e.update(np.float64("nan"), 0.1), "'loss' must be a finite number"),
    "none": (lambda e: e.update(None, 0.1), "'loss' must be a finite number. Got None"),
    "text": (lambda e: e.update("0.5", 0.1), "'loss' must be a finite number. Got '0.5'"),
    "complex": (lambda e: e.update(1j, 0.1), "'loss' must be a finite number. Got 1j"),
    "array": (lambda e: e.update(np.ones(1), 0.1), "'loss' must be a finite number. Got array"),
    "list": (lambda e: e.update([0.5], 0.1), "'loss' must be a finite number. Got \\[0.5\\]"),
    "huge int": (lambda e: e.update(10**400, 0.1), "'loss' must be .* Got 10{79} instead"),
    "masked": (lambda e: e.update(np.ma.masked, 0.1), "'loss' must be a finite number"),
    "text scalar": (lambda e: e.update(np.array("1.5"), 0.1), "'loss' must be a finite number"),
    "bytes": (lambda e: e.update(array("b", b"1.5"), 0.1), "'loss' must be a finite number"),
    "date": (lambda e: e.update(np.datetime64("2020-01-01", "ns"), 0), "'loss' must be a finite"),
    "trap": (lambda e: e.update(Trap(), 0.1), "'loss' must be a finite number"),
    "batch": (lambda e: e.update([1.0, 2.0], 0.1), "Several samples are for update_many"),
    "previous nan": (lambda e: e.update(0.5, NAN), "'previous' must be a finite number. Got nan"),
    "previous inf": (lambda e: e.update(0.5, -INF), "'previous' must be a finite number. Got -inf"),
    "previous text": (lambda e: e.update(0.5, "x"), "'previous' must be a finite number. Got 'x'"),
    "rate nan": (lambda e: e.update(0.5, 0.4, rate=NAN), "'rate' must be a finite number of at"),
    "rate negative": (lambda e: e.update(0.5, 0.4, rate=-1), "'rate' must be .* Got -1 instead"),
    "rate text": (lambda e: e.update(0.5, 0.4, rate="1/t"), "'rate' must be .* Got '1/t'"),
    "empty batch": (lambda e: e.update_many([], []), "'losses' must have one dimension and at "),
    "flat batch": (lambda e: e.update_many(0.5, 0.4), "'losses' must have one dimension"),
    "square batch": (lambda e: e.update_many([[0.5]], [[0.4]]), "Got the shape \\(1, 1\\)"),
    "batch shapes": (lambda e: e.update_many([1, 2], [1]), "'previous' must have as many entries"),
    "batch nan": (lambda e: e.update_many([1, NAN], [1, 1]), "'losses' must .* nan at index 1"),
    "batch inf": (lambda e: e.update_many([1, 1], [INF, 1]), "'previous' must .* inf at index 0"),
    "batch text": (lambda e: e.update_many(["1"], ["1"]), "'losses' must be an array of numbers"),
    "batch objects": (lambda e: e.update_many(["1", None], [1, 1]), "'losses' must be an array"),
    "batch ragged": (lambda e: e.update_many([[1], [1, 2]], [1, 1]), "'losses' must be an array"),
    "batch masked": (lambda e: e.update_many(MASKED, MASKED), "'losses' must be an array of numb"),
    "batch dates": (lambda e: e.update_many(DATES, DATES), "'losses' must be an array of numbers"),
    "batch file": (lambda e: e.update_many(io.StringIO(), [1]), "'losses' must be an array of num"),
    "batch trap": (lambda e: e.update_many([Trap()], [1]), "'losses' must be an array of numbers"),
    "batch long": (lambda e: e.update_many(HUGE, HUGE), "'losses' must .* inf at index 0"),
    "batch overflow": (lambda e: e.update_many([1e308] * 9, [0] * 9), "sum of a batch must stay"),
    "replay nan": (lambda e: e.replay([1, NAN], [1, 1]), "'losses' must .* nan at index 1"),
    "replay previous nan": (lambda e: e.replay([1, 1], [NAN, 1]), "'previous' must .* index 0"),
    "replay shapes": (lambda e: e.replay([1, 1], [1]), "'previous' must have as many entries as "),
    "replay empty": (lambda e: e.replay([], []), "'losses' must have one dimension and at least"),
    "replay text": (lambda e: e.replay("abc", "abc"), "'losses' must be an array of numbers"),
    "replay complex": (lambda e: e.replay([1j], [1]), "'losses' must be an array of numbers"),
    "replay none": (lambda e: e.replay(None, None), "'losses' must"),
    "rates short": (lambda e: e.replay([1, 1], [1, 1], rates=[1]), "'rates' must have as many"),
    "rates negative": (lambda e: e.replay([1], [1], rates=[-1]), "'rates' must .* -1.0 at index 0"),
    "rates nan": (lambda e: e.replay([1], [1], rates=[NAN]), "'rates' must hold finite numbers"),
    "sizes negative": (lambda e: e.replay([1], [1], sizes=[-1]), "'sizes' must hold whole numbers"),
    "sizes zero": (lambda e: e.replay([1], [1], sizes=[0]), "'sizes' must .* Got 0.0 at index 0"),
    "sizes broken": (lambda e: e.replay([1], [1], sizes=[1.5]), "'sizes' must hold whole numbers"),
    "sizes nan": (lambda e: e.replay([1], [1], sizes=[NAN]), "'sizes' must hold whole numbers"),
    "sizes huge": (
        lambda e: e.replay([1], [1], sizes=[2.0**53]),
        "'sizes' must hold whole numbers",
    ),
    "sizes short": (lambda e: e.replay([1] * 5, [1] * 5, sizes=[2]), "'sizes' must have 5 entries"),
    "sizes text": (lambda e: e.replay([1], [1], sizes=["a"]), "'sizes' must be an array of "),
}


@pytest.mark.parametrize("call", CALLS)
def test_bad_data_changes_nothing(call: str, make: Make, pairs: Pairs) -> None:
    act, message = CALLS[call]
    est = make()
    est.replay(pairs[0][:20], pairs[1][:20])
    before = snapshot(est)
    with pytest.raises(InvalidInput, match=message):
        act(est)
    assert snapshot(est) == before


@pytest.mark.parametrize("name", AS_DATA)
@pytest.mark.parametrize("steps", [1, 20, 40])
def test_the_document_is_the_same_before_and_after(name: str, steps: int, pairs: Pairs) -> None:
    est = AS_DATA[name]()
    est.replay(pairs[0][:steps], pairs[1][:steps])
    before = est.to_dict()
    for act, _ in CALLS.values():
        with pytest.raises(OeuvreError):
            act(est)
    assert est.to_dict() == before


@pytest.mark.parametrize("steps", [1, 29, 40])
def test_previous_is_needed_after_the_first_step(steps: int, pairs: Pairs) -> None:
    est = Oeuvre()
    est.replay(pairs[0][:steps], pairs[1][:steps])
    before = est.to_dict()
    for act in (
        lambda: est.update(0.5),
        lambda: est.update_many([0.5, 0.4]),
        lambda: est.replay([0.5]),
        lambda: est.replay([0.5, 0.4], sizes=[2]),
    ):
        with pytest.raises(InvalidLoss, match="'previous' must be the loss"):
            act()
    assert est.to_dict() == before
    with pytest.raises(InvalidLoss, match="'previous' must be the losses"):
        Oeuvre().replay([0.5, 0.4])
    assert Oeuvre().replay([0.5]).estimate[0] == 0.5


def test_bad_first_step_changes_nothing(make: Make) -> None:
    est = make()
    before = snapshot(est)
    for bad in ("x", INF, [1.0], 1j):
        with pytest.raises(InvalidLoss, match="'previous' must be a finite number"):
            est.update(0.5, bad)
    with pytest.raises(InvalidLoss, match="'loss' must be a finite number"):
        est.update(NAN, NAN)
    assert snapshot(est) == before


@pytest.mark.parametrize("steps", [2, 40])
def test_what_leaves_the_range_of_a_float_is_refused_whole(
    make: Make, steps: int, pairs: Pairs
) -> None:
    est = make()
    est.replay(pairs[0][:steps], pairs[1][:steps])
    before = snapshot(est)
    losses = [0.5, -1.7e308, 1.7e308, 1.7e308, -1.7e308]
    said = ""
    try:
        est.replay(losses, losses[::-1])
    except InvalidLoss as error:
        said = str(error)
    if said:
        assert "range of a float" in said or "squares it" in said
        assert snapshot(est) == before
    else:  # a plain mean may get by
        assert math.isfinite(est.get())
        assert math.isfinite(est.weight)


def test_unaligned_strided_and_readonly_arrays_are_arrays(make: Make) -> None:
    values = np.random.default_rng(0).random(40)
    raw = np.frombuffer(b"x" + values.tobytes(), dtype=np.float64, offset=1)
    spread = np.zeros(80)
    spread[::2] = values
    plain = make()
    plain.replay(values, values)
    for odd in (raw, spread[::2], values.astype(">f8"), list(values), values.astype(object)):
        other = make()
        other.replay(odd, odd)
        assert snapshot(other) == snapshot(plain)


def test_nan_may_fill_the_first_batch_only(make: Make) -> None:
    previous = np.array([NAN, NAN, 0.5, 0.5])
    est, other = make(), make()
    est.replay(np.ones(4), previous, sizes=[2, 2])
    other.replay(np.ones(4), [1.0, 1.0, 0.5, 0.5], sizes=[2, 2])
    assert snapshot(est) == snapshot(other)
    with pytest.raises(InvalidLoss, match="'previous' must .* nan at index 2"):
        make().replay(np.ones(4), [NAN, NAN, NAN, 0.5], sizes=[2, 2])


def test_a_detector_is_not_given_what_it_would_square_beyond_a_float() -> None:
    est = Adwin()
    est.update(1e100)
    with pytest.raises(InvalidLoss, match="'loss' must be at most 1e\\+100 in size"):
        est.update(-1.1e100)
    assert est.n == 1


def test_a_step_of_a_settled_estimator_that_overflows_is_refused() -> None:
    for est in (Oeuvre(b=1.0, c=1.0), Oeuvre(b=1.0, c=1.0, gamma=0.1)):
        for steps in (0, 1, 2, 3):
            before = est.to_dict()
            for loss, previous in ((1.7e308, -1.7e308), (1e160, 1e160), (1e160, 0.0)):
                with pytest.raises(InvalidLoss, match="within the range of a float"):
                    est.update(loss, previous)
                with pytest.raises(InvalidLoss, match="within the range of a float"):
                    est.replay([1.0, loss], [1.0, previous])
            assert est.n == steps
            assert est.to_dict() == before
            est.update(1e139, 1e139)
    rising = Oeuvre(b=1e100, c=1e100, gamma=0.1)
    rising.update(1.0)
    before = rising.to_dict()
    with pytest.raises(InvalidLoss, match="within the range of a float"):
        rising.update(1.0, 1.0, rate=1e200)
    assert rising.to_dict() == before


def test_large_and_negative_losses_are_numbers(make: Make) -> None:
    est = make()
    losses = np.random.default_rng(0).normal(-1e9, 1e8, 100)
    est.replay(losses, losses + 1.0)
    assert -2e9 < est.get() < 0


def test_overflow_in_the_burn_in_names_the_step() -> None:
    est = Oeuvre()
    est.replay([0.5, 0.4, 0.3], [0.5, 0.5, 0.4])
    before = est.to_dict()
    for act in (
        lambda: est.update(1e200, 0.0),
        lambda: est.update(1e200, 1e200),
        lambda: est.update(0.5, 0.4, rate=1e-320),
        lambda: est.update(1.7e308, -1.7e308),
    ):
        with pytest.raises(InvalidLoss, match=r"within the range of a float.* Got loss="):
            act()
    assert est.to_dict() == before


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Oeuvre(b=1.0), "'c' parameter of Oeuvre must be given together with 'b'"),
        (lambda: Oeuvre(c=1.0), "'b' parameter of Oeuvre must be given together with 'c'"),
        (lambda: Oeuvre(b=0.0, c=1.0), "'b' parameter of Oeuvre must be a finite number"),
        (lambda: Oeuvre(b="1", c=1.0), "'b' parameter of Oeuvre must be .* Got '1' instead"),
        (lambda: Oeuvre(b=1.0, c=-1.0), "'c' parameter of Oeuvre must be .* at least 0"),
        (lambda: Oeuvre(b=NAN, c=1.0), "'b' parameter of Oeuvre must be"),
        (lambda: Oeuvre(b=1e300, c=1.0), "'b' parameter of Oeuvre must be"),
        (lambda: Oeuvre(burn_in=3), "'burn_in' parameter of Oeuvre must be an int of at least 4"),
        (lambda: Oeuvre(burn_in=30.0), "'burn_in' parameter of Oeuvre must be an int"),
        (lambda: Oeuvre(burn_in=True), "'burn_in' parameter of Oeuvre must be an int"),
        (lambda: Oeuvre(gamma=1.5), "'gamma' parameter of Oeuvre must be .* from 0 to 1"),
        (lambda: Oeuvre(gamma="1/t^2"), "'gamma' parameter of Oeuvre must be None, '1/t'"),
        (lambda: Oeuvre(gamma="x*sigma"), "'gamma' parameter of Oeuvre must be None, '1/t'"),
        (lambda: Oeuvre(gamma="-2*sigma"), "'gamma' parameter of Oeuvre must be None, '1/t'"),
        (lambda: Oeuvre(gamma=True), "'gamma' parameter of Oeuvre must be"),
        (lambda: SlidingWindow(0), "'size' parameter of SlidingWindow must be an int of at least"),
        (lambda: SlidingWindow(2.0), "'size' parameter of SlidingWindow must be an int"),
        (lambda: SlidingWindow(2**50), "'size' parameter of SlidingWindow must be small enough"),
        (lambda: SlidingWindow(2**60), "'size' parameter of SlidingWindow must be .* at most 9007"),
        (lambda: Oeuvre(burn_in=2**63), "'burn_in' parameter of Oeuvre must be .* at most 9007"),
        (lambda: Oeuvre(gamma="0*sigma"), "'gamma' parameter of Oeuvre must be None, '1/t'"),
        (lambda: FadingFactor(0.0), "'fading' parameter of FadingFactor must be .* above 0"),
        (lambda: FadingFactor(1.1), "'fading' parameter of FadingFactor must be .* at most 1"),
        (lambda: ExponentialMovingAverage(0), "'alpha' parameter of ExponentialMovingAverage"),
        (lambda: Adwin(0.0), "'delta' parameter of Adwin must be .* above 0 and at most 1"),
        (lambda: DriftWindow(3), "'detector' parameter of DriftWindow must be a drift detector"),
        (lambda: DriftWindow(dict), "'detector' parameter of DriftWindow must be a drift"),
    ],
)
def test_bad_parameters_are_named(build: Callable[[], Estimator], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        build()
