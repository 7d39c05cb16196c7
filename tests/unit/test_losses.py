"""Losses: each formula by hand, one sample or many, by name and as an object."""

import math
import pickle
from typing import Any

import numpy as np
import pytest

from oeuvre import losses
from oeuvre.errors import InvalidInput, InvalidParameter
from oeuvre.losses import Loss

UNTYPED: Any = losses

BY_HAND: list[tuple[Loss, Any, Any, float]] = [
    (losses.squared, 3.0, 2.5, 0.25),
    (losses.squared, -1, 1, 4),
    (losses.absolute, 3.0, 2.5, 0.5),
    (losses.absolute, -1, 1, 2),
    (losses.zero_one, "cat", "cat", 0.0),
    (losses.zero_one, "cat", "dog", 1.0),
    (losses.zero_one, "cat", None, 1.0),
    (losses.zero_one, True, 1, 0.0),
    (losses.hinge, True, 0.25, 0.75),
    (losses.hinge, 1, 3.0, 0.0),
    (losses.hinge, False, 0.25, 1.25),
    (losses.hinge, 0, -2.0, 0.0),
    (losses.hinge, -1, 0.25, 1.25),
    (losses.hinge, np.int64(-1), -0.5, 0.5),
    (losses.pinball(0.75), 5.0, 1.0, 3.0),
    (losses.pinball(0.75), 1.0, 5.0, 1.0),
    (losses.pinball(), 1.0, 5.0, 2.0),
    (losses.pinball(0.0), 5.0, 1.0, 0.0),
    (losses.pinball(1.0), 5.0, 1.0, 4.0),
    (losses.pinball(0.3), 2.0, 2.0, 0.0),
    (losses.log(), "cat", {"cat": 0.8, "dog": 0.2}, -math.log(0.8)),
    (losses.log(), "fish", {"cat": 1.0}, -math.log(1e-15)),
    (losses.log(0.01), "cat", {"cat": 0.0}, -math.log(0.01)),
    (losses.log(0.01), "cat", {}, -math.log(0.01)),
    (losses.log(), "cat", {"cat": 1.0}, 0.0),
    (losses.log(), True, 0.9, -math.log(0.9)),
    (losses.log(), 0, 0.75, -math.log(0.25)),
    (losses.log(0.1), False, 1.0, -math.log(0.1)),
]
RANGES = {
    "squared": None,
    "absolute": None,
    "pinball": None,
    "zero-one": (0.0, 1.0),
    "log": (0.0, -math.log(1e-15)),
    "cross-entropy": (0.0, -math.log(1e-15)),
    "hinge": None,
}
NEEDS = {
    "squared": "value",
    "absolute": "value",
    "pinball": "value",
    "zero-one": "label",
    "log": "probabilities",
    "cross-entropy": "probabilities",
    "hinge": "score",
}


@pytest.mark.parametrize(("loss", "y", "prediction", "expected"), BY_HAND)
def test_each_is_what_its_formula_says(
    loss: Loss, y: Any, prediction: Any, expected: float
) -> None:
    assert loss(y, prediction) == expected
    if loss.range is not None:
        assert loss.range[0] <= loss(y, prediction) <= loss.range[1]


@pytest.mark.parametrize(
    ("loss", "y", "predictions"),
    [
        (losses.squared, np.array([1.0, -2.0, 0.3]), np.array([0.5, 2.0, 0.1])),
        (losses.absolute, np.array([1.0, -2.0, 0.3]), np.array([0.5, 2.0, 0.1])),
        (losses.zero_one, np.array(["a", "b", "a"]), np.array(["a", "a", "b"])),
        (losses.zero_one, ["a", "b", "c"], ["a", None, "d"]),
        (losses.zero_one, np.array([0, 1, 1]), np.array([False, True, False])),
        (losses.hinge, [True, False, 1], [0.5, 0.5, -2.0]),
        (losses.log(), ["a", "b"], [{"a": 0.5}, {"b": 0.25}]),
        (losses.pinball(0.9), [1.0, 2.0], [2.0, 1.0]),
    ],
)
def test_many_at_once_are_the_same_floats(loss: Loss, y: Any, predictions: Any) -> None:
    found = [float(each) for each in loss.each(y, predictions)]
    assert found == [float(loss(*pair)) for pair in zip(y, predictions, strict=True)]


def test_a_loss_without_a_vectorised_form_wants_as_many_predictions_as_truths() -> None:
    with pytest.raises(ValueError, match="shorter"):
        losses.hinge.each([1, 1], [0.5])


@pytest.mark.parametrize("name", RANGES)
def test_a_word_stands_for_a_loss(name: str) -> None:
    loss = losses.named(name)
    assert (loss.range, loss.needs) == (RANGES[name], NEEDS[name])
    assert losses.named(loss) is loss


def test_the_bound_of_the_log_loss_is_that_of_its_least_probability() -> None:
    assert losses.log(0.01).range == (0.0, -math.log(0.01))


def test_a_function_is_a_loss_of_the_plain_prediction() -> None:
    def cube(y: float, prediction: float) -> float:
        return abs(y - prediction) ** 3

    loss = losses.named(cube)
    assert (loss.function, loss.needs, loss.range) == (cube, "value", None)
    assert loss(3.0, 1.0) == 8.0
    assert loss.each([3.0, 1.0], [1.0, 0.0]) == [8.0, 1.0]
    vectorised = Loss(cube, many=lambda y, p: np.abs(y - p) ** 3)
    assert vectorised.each(np.array([3.0]), np.array([1.0])).tolist() == [8.0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: losses.named("quadratic"), "'loss' parameter of named .* 'squared', .*'hinge'"),
        (lambda: losses.named(None, "Monitor.of"), "'loss' parameter of Monitor.of must be one"),
        (lambda: losses.named(float), "a Loss, or a function"),
        (lambda: losses.named(["squared"]), "'loss' parameter"),
        (lambda: UNTYPED.Loss("squared"), "'function' parameter of Loss must be a function"),
        (lambda: UNTYPED.Loss(abs, needs="labels"), "'needs' .* Got 'labels'"),
        (lambda: losses.log(0.0), "'least' parameter of log .* above 0 and at most 0.5"),
        (lambda: losses.log(0.6), "'least' parameter of log"),
        (lambda: losses.log(math.nan), "'least' parameter of log"),
        (lambda: losses.pinball(-0.1), "'quantile' parameter of pinball"),
        (lambda: losses.pinball(1.1), "'quantile' parameter of pinball"),
        (lambda: UNTYPED.pinball("0.5"), "'quantile' parameter of pinball"),
    ],
)
def test_wrong_parameters_are_named(call: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        call()


@pytest.mark.parametrize("label", [2, "cat", 0.5, None])
def test_the_hinge_loss_knows_two_labels(label: Any) -> None:
    with pytest.raises(InvalidInput, match="hinge loss needs labels True and False, or 1 and -1"):
        losses.hinge(label, 0.5)


@pytest.mark.parametrize("loss", [*map(losses.named, RANGES), losses.log(0.2), losses.pinball(0.9)])
def test_losses_are_values_that_can_be_pickled(loss: Loss) -> None:
    again = pickle.loads(pickle.dumps(loss))
    assert (again.needs, again.range, again.many) == (loss.needs, loss.range, loss.many)
    given = {"value": 0.4, "score": 0.4, "label": False, "probabilities": {True: 0.4}}[loss.needs]
    assert again(True, given) == loss(True, given)
    with pytest.raises(AttributeError):
        again.needs = "value"
