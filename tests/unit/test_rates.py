"""Stability rates: the paper's table, words and schedules."""

from typing import Any

import numpy as np
import pytest

from oeuvre import Oeuvre, rates
from oeuvre.errors import InvalidInput, InvalidParameter
from tests.conftest import learner_pairs


@pytest.mark.parametrize(
    ("learner", "exponent"),
    [
        ("FTL", 1.0),
        ("FTRL", 0.5),
        ("RDA", 0.5),
        ("IOL", 0.5),
        ("OMD", 0.5),
        ("OMD with averaging", 1.0),
    ],
)
def test_table_of_the_paper(learner: str, exponent: float) -> None:
    assert rates.for_learner(learner) == rates.Power(exponent)
    assert rates.for_learner(learner.lower()) == rates.Power(exponent)
    assert rates.for_learner(learner.replace(" ", "-")) == rates.Power(exponent)
    assert rates.for_learner(learner.replace(" ", "_")) == rates.Power(exponent)


@pytest.mark.parametrize("learner", ["iol", "omd"])
def test_stability_of_the_order_of_the_step_size(learner: str) -> None:
    assert rates.for_learner(learner, "1/t") == rates.Power(1.0)
    assert rates.for_learner(learner, rates.Power(0.7)) == rates.Power(0.7)
    assert rates.for_learner(learner, lambda t: 0.1 * t)(3) == pytest.approx(0.3)


@pytest.mark.parametrize("exponent", [0.0, 0.3, 0.5, 0.7, 1.0, 2.0])
def test_power(exponent: float) -> None:
    for t in (1, 2, 17, 10**8):
        assert rates.Power(exponent)(t) == pytest.approx(t**-exponent, rel=1e-15)


@pytest.mark.parametrize(
    ("word", "exponent"), [("1/t", 1.0), ("1/sqrt(t)", 0.5), ("constant", 0.0)]
)
def test_words(word: str, exponent: float) -> None:
    assert rates.make(word) == rates.Power(exponent)
    assert rates.word(rates.Power(exponent)) == word
    assert repr(Oeuvre(rates.Power(exponent), burn_in=50)) in (
        f"Oeuvre(rate={word!r}, burn_in=50)",
        "Oeuvre(burn_in=50)",
    )


def test_a_schedule_a_power_and_rates_at_each_step_are_one() -> None:
    losses, previous = learner_pairs(100)
    t = np.arange(1, 101)
    given = Oeuvre().replay(losses, previous, rates=1 / t)
    for rate in ("1/t", rates.Power(1.0), rates.Schedule(lambda t: 1 / t), lambda t: 1 / t):
        course = Oeuvre(rate).replay(losses, previous)
        np.testing.assert_array_equal(course.estimate, given.estimate)
        np.testing.assert_array_equal(course.weight, given.weight)
    one_by_one = Oeuvre()
    for cur, prev, step in zip(losses, previous, t, strict=True):
        one_by_one.update(cur, prev, rate=1 / step)
    assert one_by_one.get() == given.estimate[-1]


@pytest.mark.parametrize("bad", ["1/t^2", 3, None, 0.5])
def test_bad_rates(bad: object) -> None:
    with pytest.raises(InvalidParameter, match=r"'rate' parameter of Oeuvre must be .*Got"):
        Oeuvre(bad)


def test_bad_parts() -> None:
    with pytest.raises(InvalidParameter, match=r"'exponent' parameter of Power must be"):
        rates.Power(-1.0)
    with pytest.raises(InvalidParameter, match=r"'function' parameter of Schedule must be"):
        rates.Schedule(3)
    with pytest.raises(InvalidParameter, match=r"'step_size' parameter of for_learner must be one"):
        rates.for_learner("omd", 0.1)
    for step in (0, -1, 2.5, 10**30):
        with pytest.raises(InvalidParameter, match=r"'t' parameter of Power must be an int"):
            rates.Power(0.5)(step)
    for name in ("sgd", 7, ["ftl"]):
        with pytest.raises(InvalidParameter, match=r"'name' parameter of for_learner must be"):
            rates.for_learner(name)


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf"), "1", None])
def test_a_schedule_that_goes_wrong_leaves_the_state_as_it_was(value: Any) -> None:
    est = Oeuvre(lambda t: 0.5 if t < 5 else value)
    est.replay(np.ones(4), np.ones(4))
    before = est._get_state()
    with pytest.raises(InvalidInput, match="'rate' must be a finite number of at least 0"):
        est.update(1.0, 1.0)
    with pytest.raises(InvalidInput, match="'rate' must be a finite number of at least 0"):
        est.replay(np.ones(4), np.ones(4))
    assert est._get_state() == before
