"""The confusion matrix of the current classifier, beside scikit-learn where it stands still."""

import copy
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn import metrics

from oeuvre import AdaptiveOeuvre, Oeuvre, Prequential, Quality
from oeuvre.errors import (
    InvalidInput,
    InvalidParameter,
    NotAvailable,
    NotEnoughData,
    NotSerializable,
    StateError,
)

UNTYPED: Any = Quality
QUALITIES: dict[str, Callable[[], Quality]] = {
    "two gains": Quality,
    "adaptive": lambda: Quality(AdaptiveOeuvre()),
    "drift": lambda: Quality(AdaptiveOeuvre(drift="cusum")),
    "known": lambda: Quality(Oeuvre(b=0.5, c=0.3)),
    "burn-in": lambda: Quality(Oeuvre(burn_in=10)),
    "constant": lambda: Quality(Oeuvre(gamma=0.1)),
}
EACH = pytest.mark.parametrize("name", QUALITIES)
LABELS: dict[str, list[Any]] = {
    "numbers": [0, 1],
    "truth values": [False, True],
    "classes": ["cat", "dog", "fish"],
    "many": list(range(5)),
}
SOME = pytest.mark.parametrize("labels", LABELS)


def answers(labels: list[Any], steps: int = 200, seed: int = 0) -> tuple[Any, Any, Any]:
    """Return truths, and labels by the current and by the previous model, right half the time."""
    rng = np.random.default_rng(seed)
    y = rng.integers(len(labels), size=steps)
    made = [np.where(rng.random(steps) < 0.5, y, rng.integers(len(labels), size=steps))]
    made.append(np.where(rng.random(steps) < 0.8, made[0], rng.integers(len(labels), size=steps)))
    return tuple(np.array(labels)[each] for each in (y, *made))


def fed(quality: Quality, y: Any, now: Any, last: Any) -> Quality:
    for each in zip(y, now, last, strict=True):
        quality.update(*each)
    return quality


@SOME
@pytest.mark.parametrize(
    "make", [Quality, QUALITIES["adaptive"], lambda: Quality(Oeuvre(b=0.5, c=0.0))]
)
def test_a_model_that_stands_still_has_the_plain_matrix(
    make: Callable[[], Quality], labels: str
) -> None:
    y, now, _ = answers(LABELS[labels])
    quality = fed(make(), y, now, now)
    plain = metrics.confusion_matrix(y, now, labels=quality.labels, normalize="all")
    near: dict[str, Any] = {"rel": 1e-9, "abs": 1e-12}
    assert quality.matrix == pytest.approx(plain, **near)
    assert quality.accuracy == pytest.approx(metrics.accuracy_score(y, now), **near)
    assert quality.balanced_accuracy == pytest.approx(metrics.balanced_accuracy_score(y, now))
    assert quality.mcc == pytest.approx(metrics.matthews_corrcoef(y, now), **near)
    average = "binary" if len(LABELS[labels]) == 2 else "macro"
    each: dict[str, Any] = {"average": None, "labels": quality.labels, "zero_division": 0}
    for found, theirs in (
        (quality.precision, metrics.precision_score),
        (quality.recall, metrics.recall_score),
        (quality.f1, metrics.f1_score),
    ):
        assert found() == pytest.approx(theirs(y, now, average=average, zero_division=0), **near)
        assert [found(label) for label in quality.labels] == pytest.approx(theirs(y, now, **each))


def test_a_class_that_is_never_predicted_counts_as_nothing() -> None:
    y, now = list("aabbc"), list("abbbb")
    quality = fed(Quality(), y, now, now)
    options: dict[str, Any] = {"average": "macro", "zero_division": 0}
    assert quality.precision() == pytest.approx(metrics.precision_score(y, now, **options))
    assert quality.recall() == pytest.approx(metrics.recall_score(y, now, **options))
    assert quality.f1() == pytest.approx(metrics.f1_score(y, now, **options))
    assert quality.mcc == pytest.approx(metrics.matthews_corrcoef(y, now))
    assert math.isnan(quality.precision("c"))
    assert quality.recall("c") == quality.f1("c") == 0.0
    assert math.isnan(quality.recall("never seen"))


@SOME
@EACH
def test_the_entries_add_up_to_one_and_the_errors_to_their_estimate(name: str, labels: str) -> None:
    quality, est = QUALITIES[name](), QUALITIES[name]().estimator.clone()
    for y, now, last in zip(*answers(LABELS[labels]), strict=True):
        quality.update(y, now, last)
        est.update(float(y != now), float(y != last))
        assert quality.matrix.sum() == pytest.approx(1.0, abs=1e-9)
        wrong = quality.matrix.sum() - np.trace(quality.matrix)
        assert wrong == pytest.approx(est.get(), abs=1e-9)
        assert quality.accuracy == 1.0 - est.get()
    assert quality.estimator.to_dict() == est.to_dict()
    assert quality.n == 200


def test_each_step_is_the_recursion() -> None:
    quality, matrix = Quality(Oeuvre(b=0.5, c=0.3)), np.zeros((2, 2))
    for t, (y, now, last) in enumerate(zip(*answers([0, 1]), strict=True)):
        quality.update(y, now, last)
        one, two = np.zeros((2, 2)), np.zeros((2, 2))
        one[y, now] = two[y, last] = 1.0
        weight = quality.estimator.weight
        matrix = one + (1.0 - weight) * (matrix - two) if t else one
    order = [quality.labels.index(label) for label in (0, 1)]
    assert quality.matrix[np.ix_(order, order)] == pytest.approx(matrix, abs=1e-9)


@EACH
def test_a_batch_of_one_is_a_single_update(name: str) -> None:
    y, now, last = answers(LABELS["classes"], 60)
    single, batched = fed(QUALITIES[name](), y, now, last), QUALITIES[name]()
    for i in range(60):
        batched.update_many(y[i : i + 1], list(now[i : i + 1]), tuple(last[i : i + 1]))
    assert batched.to_dict() == single.to_dict()


def test_batches_of_a_model_that_stands_still_have_the_plain_matrix() -> None:
    y, now, _ = answers(LABELS["classes"])
    quality = Quality(Oeuvre(b=0.5, c=0.0))
    quality.update_many(y[:40], now[:40])
    for start in range(40, 200, 40):
        batch = slice(start, start + 40)
        quality.update_many(y[batch], now[batch], now[batch])
    plain = metrics.confusion_matrix(y, now, labels=quality.labels, normalize="all")
    assert quality.matrix == pytest.approx(plain)
    assert quality.n == 5


@EACH
def test_the_first_step_does_not_use_the_previous_label(name: str) -> None:
    made = []
    for previous in ((), (None,), ("dog",), ("cat",)):
        quality = QUALITIES[name]()
        quality.update("cat", "cat", *previous)
        made.append(quality.to_dict())
    assert made == [made[0]] * 4
    assert made[0]["labels"] == ["cat"]


def test_labels_may_appear_late_and_come_from_any_library() -> None:
    quality = Quality(Oeuvre(b=0.5, c=0.0))
    quality.update(np.str_("a"), "a")
    quality.update("a", np.array("b"), "a")
    assert quality.labels == ["a", "b"]
    quality.update("c", None, "a")
    assert quality.labels == ["a", "b", "c", None]
    assert quality.matrix.shape == (4, 4)
    assert quality.matrix.sum() == pytest.approx(1.0)
    assert quality.recall("c") == 0.0
    mixed = Quality()
    mixed.update_many(np.array([0, 1]), [False, np.True_], np.array([0.0, 1.0]))
    assert mixed.labels == [0, 1]
    assert mixed.accuracy == 1.0


def test_the_accuracy_has_the_interval_of_the_error_rate_turned_over() -> None:
    quality = fed(QUALITIES["adaptive"](), *answers([0, 1]))
    error = quality.estimator.interval(0.9)
    assert quality.interval(0.9).lower == 1.0 - error.upper
    assert quality.interval(0.9).upper == 1.0 - error.lower
    lower = quality.interval(side="lower")
    assert (lower.upper, lower.lower) == (
        math.inf,
        1 - quality.estimator.interval(side="upper").upper,
    )
    with pytest.raises(NotAvailable, match="two_gain=True has no interval"):
        fed(Quality(), *answers([0, 1])).interval()


def test_entries_below_zero_are_read_as_zero() -> None:
    quality = fed(Quality(Oeuvre(b=0.5, c=0.3)), [0, 1], [0, 1], [0, 0])
    assert quality.matrix[1, 0] == quality.estimator.weight - 1.0 < -0.1
    assert quality.precision() == quality.recall() == quality.f1() == 1.0
    assert quality.precision(0) == quality.balanced_accuracy == quality.mcc == 1.0


def test_before_the_first_step_nothing_is_known() -> None:
    quality = Quality()
    for ask in (
        lambda: quality.matrix,
        lambda: quality.accuracy,
        quality.precision,
        lambda: quality.mcc,
        lambda: quality.balanced_accuracy,
    ):
        with pytest.raises(NotEnoughData):
            ask()
    assert (quality.n, quality.labels) == (0, [])


def test_one_label_has_no_correlation() -> None:
    quality = fed(Quality(), [1, 1], [1, 1], [1, 1])
    assert math.isnan(quality.mcc)
    assert quality.precision() == quality.recall() == quality.f1() == 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda q: q.update([1], 1, 1), "'y' must be a sequence of labels"),
        (lambda q: q.update(1, {}, 1), "'label' must be a sequence of labels"),
        (lambda q: q.update(1, 1, np.ones(2)), "'previous' must be a sequence of labels"),
        (lambda q: q.update_many([], [], []), "'y' must have at least one entry"),
        (lambda q: q.update_many([1], [1, 0], [1]), "as many entries as each other.*1, 2 and 1"),
        (lambda q: q.update_many([1, 1], [1, 0], [1]), "2, 2 and 1"),
        (lambda q: q.update_many([1], [1]), "'previous' must be a sequence"),
        (lambda q: q.update_many(1, 1, 1), "'y' must be a sequence"),
        (lambda q: q.update_many([[1]], [1], [1]), "'y' must be a sequence"),
    ],
)
def test_bad_input_changes_nothing(call: Callable[[Quality], None], message: str) -> None:
    quality = fed(Quality(), *answers(LABELS["many"]))
    before = quality.to_dict()
    with pytest.raises(InvalidInput, match=message):
        call(quality)
    assert quality.to_dict() == before


def test_wrong_estimators_are_refused_and_a_used_one_is_taken_fresh() -> None:
    for wrong in (Prequential(), "adaptive", AdaptiveOeuvre):
        with pytest.raises(InvalidParameter, match="'estimator' parameter of Quality must be"):
            UNTYPED(wrong)
    est = Oeuvre()
    est.update(0.5)
    assert (Quality(est).n, est.n) == (0, 1)
    assert repr(Quality(est)) == "Quality(Oeuvre())"


@SOME
@EACH
def test_the_state_goes_on_from_any_step(name: str, labels: str) -> None:
    y, now, last = (each.tolist() for each in answers(LABELS[labels], 60))
    whole = fed(QUALITIES[name](), y, now, last)
    for cut in (0, 1, 7, 30):
        part = fed(QUALITIES[name](), y[:cut], now[:cut], last[:cut])
        again = Quality.from_dict(json.loads(json.dumps(part.to_dict(), allow_nan=False)))
        assert fed(again, y[cut:], now[cut:], last[cut:]).to_dict() == whole.to_dict()
    assert copy.deepcopy(whole).to_dict() == whole.to_dict()


def test_labels_that_are_not_data_are_not_written() -> None:
    quality = Quality()
    quality.update((1, 2), (1, 2))
    with pytest.raises(NotSerializable, match="labels that are text, numbers or None"):
        quality.to_dict()


@pytest.mark.parametrize(
    "changed",
    [
        {"version": 2},
        {"labels": [0]},
        {"labels": [0, 0]},
        {"labels": None},
        {"labels": [[0], [1]]},
        {"matrix": [[1.0, 0.0]]},
        {"matrix": [[1.0, 0.0], [0.0, math.inf]]},
        {"matrix": "text"},
        {"matrix": [[1.0, 0.0], [0.0]]},
        {"estimator": None},
        {"estimator": Prequential().to_dict()},
    ],
    ids=str,
)
def test_tampered_states_are_refused(changed: dict[str, Any]) -> None:
    document = fed(Quality(), *answers([0, 1])).to_dict()
    with pytest.raises(StateError, match="entries of this saved Quality do not fit|version 1"):
        Quality.from_dict({**document, **changed})
