"""Monitors of scikit-learn's estimators, beside a loop that copies the model, and its metrics."""

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics
from sklearn.cluster import MiniBatchKMeans
from sklearn.datasets import load_diabetes, load_digits
from sklearn.linear_model import LinearRegression, Perceptron, SGDClassifier, SGDRegressor
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler

import oeuvre
from oeuvre import AdaptiveOeuvre, Monitor, Oeuvre, losses
from oeuvre.errors import InvalidInput, InvalidParameter, MonitorWarning
from oeuvre.learners.sklearn import SklearnLearner

ROWS, TARGETS = load_diabetes(return_X_y=True)
TARGETS = (TARGETS - TARGETS.mean()) / TARGETS.std()
IMAGES, DIGITS = load_digits(return_X_y=True)
IMAGES = IMAGES / 16.0
EVEN = np.where(DIGITS % 2 == 0, "even", "odd")
NAMED = pd.DataFrame(ROWS, columns=list("abcdefghij"))


def batches(x: Any, y: Any, size: int, steps: int) -> list[tuple[Any, Any]]:
    return [(x[i : i + size], y[i : i + size]) for i in range(0, size * steps, size)]


def state(model: Any) -> bytes:
    return pickle.dumps(model)


def course(monitor: Monitor, samples: Any) -> list[tuple[float, float, float]]:
    return [(each.loss, each.previous, each.estimate) for each in monitor.run(samples)]


# Against a loop that copies the model at every step


@pytest.mark.parametrize("mode", ["lag", "snapshot"])
@pytest.mark.parametrize("size", [1, 8])
@pytest.mark.parametrize("estimator", [AdaptiveOeuvre(), Oeuvre()], ids=["adaptive", "rate"])
def test_every_number_is_that_of_a_loop_that_copies_the_model(
    size: int, mode: Any, estimator: Any
) -> None:
    single = size == 1
    samples: list[Any] = list(zip(ROWS[:150], TARGETS[:150], strict=True))
    samples = samples if single else batches(ROWS, TARGETS, size, 50)
    monitored, mine = (SGDRegressor(random_state=0, eta0=0.1) for _ in range(2))
    monitor = Monitor.of(monitored, estimator=estimator.clone(), mode=mode)
    mine.partial_fit(*((part[np.newaxis] for part in samples[0]) if single else samples[0]))
    expected, before, by_hand = [], None, estimator.clone()
    for x, y in samples[1:]:
        rows, truths = (x[np.newaxis], np.array([y])) if single else (x, y)
        now, last = ((each.predict(rows) - truths) ** 2 for each in (mine, before or mine))
        by_hand.update_many(now, last)
        previous = float(np.add.accumulate(last)[-1]) / len(last)
        expected.append((float(np.add.accumulate(now)[-1]) / len(now), previous, by_hand.get()))
        before = copy.deepcopy(mine)
        mine.partial_fit(rows, truths)
    found = course(monitor, samples)
    monitor.flush()
    assert all(np.isnan(found[0]))  # there was no model yet
    assert (found[1][0], found[1][2]) == (expected[0][0], expected[0][2])
    assert np.isnan(found[1][1])  # and none before that
    assert found[2:] == expected[1:]
    assert state(monitored) == state(mine)


# Every kind of model


def everything() -> dict[str, Any]:
    return {
        "sgd, hinge": (SGDClassifier(random_state=0), "zero-one"),
        "sgd, log": (SGDClassifier("log_loss", random_state=0), "log"),
        "perceptron": (Perceptron(random_state=0), None),
        "passive aggressive": (SGDClassifier(learning_rate="pa1", random_state=0), None),
        "gaussian": (GaussianNB(var_smoothing=0.1), "log"),
        "multinomial": (MultinomialNB(), "cross-entropy"),
        "bernoulli": (BernoulliNB(), "log"),
        "complement": (ComplementNB(), "zero-one"),
        "network": (MLPClassifier(hidden_layer_sizes=(8,), random_state=0), "log"),
    }


@pytest.mark.parametrize("quality", [False, True])
@pytest.mark.parametrize("case", list(everything()))
def test_a_classifier_is_trained_as_without_a_monitor_and_never_warned_about(
    case: str, quality: bool
) -> None:
    model, loss = everything()[case]
    mine = copy.deepcopy(model)
    monitor = Monitor.of(model, loss, classes=range(10), guard=20, quality=quality)
    samples = batches(IMAGES, DIGITS, 20, 20)
    errors = Monitor.of(
        copy.deepcopy(model), "zero-one", oeuvre.Quality().estimator.clone(), classes=range(10)
    )
    course(errors, samples)
    found = course(monitor, samples)
    monitor.flush()
    for x, y in samples:
        mine.partial_fit(x, y, classes=range(10))
    assert monitor.n == 19
    assert state(model) == state(mine)
    assert len({each[0] for each in found[1:]}) > 5
    if monitor.quality is not None:
        assert monitor.quality.accuracy == 1.0 - errors.get()
        assert set(monitor.quality.labels) == set(range(10))


@pytest.mark.parametrize(
    ("make", "loss"),
    [
        (lambda: SGDRegressor(random_state=0), None),
        (lambda: SGDRegressor("epsilon_insensitive", random_state=0), "absolute"),
        (lambda: MLPRegressor(hidden_layer_sizes=(4,), random_state=0), "squared"),
        (lambda: MLPRegressor(hidden_layer_sizes=(4,), random_state=0), losses.pinball(0.9)),
        (lambda: SGDRegressor(random_state=0), lambda y, said: abs(y - said) ** 1.5),
    ],
    ids=["sgd", "absolute", "network", "pinball", "function"],
)
def test_a_regressor_is_scored_by_its_loss(make: Any, loss: Any) -> None:
    model, mine = make(), make()
    monitor = Monitor.of(model, loss, guard=20)
    cost = losses.squared if loss is None else losses.named(loss)
    mine.partial_fit(ROWS[:20], TARGETS[:20])
    monitor.update(ROWS[:20], TARGETS[:20])
    for x, y in batches(ROWS[20:], TARGETS[20:], 20, 10):
        by_hand = [cost(*each) for each in zip(y.tolist(), mine.predict(x).tolist(), strict=True)]
        assert monitor.update(x, y).loss == pytest.approx(np.mean(by_hand), rel=1e-12)
        mine.partial_fit(x, y)


@pytest.mark.parametrize("labels", [DIGITS, EVEN, DIGITS > 4], ids=["numbers", "text", "bool"])
@pytest.mark.parametrize(
    "make",
    [GaussianNB, MultinomialNB, lambda: SGDClassifier("log_loss", alpha=1.0, random_state=0)],
)
def test_the_log_loss_is_that_of_scikit_learn(make: Any, labels: Any) -> None:
    model, classes = make(), np.unique(labels)
    model.partial_fit(IMAGES[:100] + 0.1, labels[:100], classes=classes)
    monitor = Monitor.of(model, "log")
    x, y = IMAGES[100:160], labels[100:160]
    given = model.predict_proba(x)
    cut = np.clip(given, 1e-15, 1.0)
    by_hand = -np.log(cut[np.arange(60), np.searchsorted(classes, y)])
    snapshot = monitor.update(x, y)
    assert snapshot.loss == pytest.approx(float(np.mean(by_hand)), rel=1e-12)
    if given.min() > 1e-15:
        theirs = metrics.log_loss(y, given, labels=classes)
        assert snapshot.loss == pytest.approx(theirs, rel=1e-12)
    assert list(monitor.learner.predicted) == list(model.predict(x))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "labels", [EVEN, DIGITS % 2, np.where(DIGITS % 2 == 0, -1, 1)], ids=["text", "0, 1", "-1, 1"]
)
def test_the_hinge_loss_is_that_of_scikit_learn(labels: Any) -> None:
    model = SGDClassifier(random_state=0)
    monitor = Monitor.of(model, "hinge", classes=np.unique(labels), quality=True)
    for x, y in batches(IMAGES, labels, 30, 10):
        snapshot = monitor.update(x, y)
        if snapshot.n:
            theirs = metrics.hinge_loss(y, model.decision_function(x))
            assert snapshot.loss == pytest.approx(theirs, rel=1e-12)
    assert list(monitor.learner.predicted) == list(model.predict(x))  # type: ignore[attr-defined]
    assert monitor.quality is not None
    assert set(monitor.quality.labels) == set(np.unique(labels).tolist())


def test_the_hinge_loss_of_one_row_is_that_of_the_row_in_a_batch() -> None:
    model = SGDClassifier(random_state=0).partial_fit(IMAGES[:50], EVEN[:50], ["even", "odd"])
    learner = SklearnLearner(model, "hinge")
    together = learner.evaluate(IMAGES[50:60], EVEN[50:60])
    alone = [learner.evaluate(IMAGES[i], EVEN[i]) for i in range(50, 60)]
    assert alone == pytest.approx(together.tolist(), rel=1e-12)
    assert learner.predicted[0] == model.predict(IMAGES[59:60])[0]


# Samples


def test_single_rows_are_batches_of_one() -> None:
    tables = [
        zip(ROWS[:60], TARGETS[:60], strict=True),
        zip(ROWS[:60].tolist(), TARGETS[:60].tolist(), strict=True),
        batches(ROWS, TARGETS, 1, 60),
    ]
    one, two, three = (course(Monitor.of(SGDRegressor(random_state=0)), each) for each in tables)
    assert one[1:] == two[1:] == three[1:]
    assert len(one) == 60


def test_rows_and_batches_with_names_are_used_with_their_names() -> None:
    model, plain = SGDRegressor(random_state=0), SGDRegressor(random_state=0)
    targets = pd.Series(TARGETS)
    monitor, other = Monitor.of(model), Monitor.of(plain)
    frames: list[Any] = [(NAMED[i : i + 5], targets[i : i + 5]) for i in range(0, 50, 5)]
    rows: list[Any] = [(NAMED.iloc[i], TARGETS[i]) for i in range(50, 60)]
    arrays = [*batches(ROWS, TARGETS, 5, 10), *zip(ROWS[50:60], TARGETS[50:60], strict=True)]
    assert course(monitor, frames + rows)[1:] == course(other, arrays)[1:]
    assert list(model.feature_names_in_) == list("abcdefghij")


def test_sparse_batches_are_batches() -> None:
    dense = batches(IMAGES, DIGITS, 20, 10)
    expected = course(Monitor.of(MultinomialNB(), "log", classes=range(10)), dense)
    matrix = pytest.importorskip("scipy.sparse").csr_matrix
    sparse = [(matrix(x), y) for x, y in dense]
    found = course(Monitor.of(MultinomialNB(), "log", classes=range(10)), sparse)
    assert np.array(found[1:]) == pytest.approx(np.array(expected[1:]), nan_ok=True)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([1.0, np.nan, 0.0]),
        np.array([1, None, 0], dtype=object),
        pd.Series([1.0, None, 0.0]),
        pd.Series([1, None, 0], dtype="Int64"),
        pd.Series(["1", None, "0"], dtype="string"),
        pd.Series([1, None, 0], dtype="category"),
    ],
    ids=["float", "object", "series", "integers", "strings", "categories"],
)
def test_a_batch_with_a_missing_label_is_refused_or_left_out(labels: Any) -> None:
    model = GaussianNB().fit(IMAGES[:50] + 0.1, DIGITS[:50] % 2)
    with pytest.raises(InvalidInput, match="'y' must be a label, without missing ones"):
        Monitor.of(model).update(IMAGES[:3], labels)
    skipping = Monitor.of(model, skip=True)
    skipping.update(IMAGES[:3], labels)
    assert (skipping.n, skipping.skipped) == (0, 1)


def test_an_unfitted_model_learns_its_first_batch_unscored() -> None:
    monitor = Monitor.of(SGDRegressor(random_state=0))
    first = monitor.update(ROWS[:5], TARGETS[:5])
    assert (first.n, first.interval) == (0, None)
    assert np.isnan(first.estimate)
    assert np.isnan(first.loss)
    second = monitor.update(ROWS[5:10], TARGETS[5:10])
    assert second.n == 1
    assert second.loss == second.estimate
    assert np.isnan(second.previous)  # there was no model before
    third = monitor.update(ROWS[10:15], TARGETS[10:15])
    assert third.n == 2
    assert third.loss != third.previous


@pytest.mark.parametrize("mode", ["lag", "snapshot"])
def test_a_fitted_model_is_scored_at_once_and_needs_no_classes(mode: Any) -> None:
    model = GaussianNB().fit(IMAGES[:200] + 0.1, DIGITS[:200])
    monitor = Monitor.of(model, mode=mode, quality=True)
    wrong = float(np.mean(model.predict(IMAGES[200:250]) != DIGITS[200:250]))
    first = monitor.update(IMAGES[200:250], DIGITS[200:250])
    assert (first.n, first.loss) == (1, wrong)
    monitor.update(IMAGES[250:300], DIGITS[250:300])
    assert monitor.n == 2


# Errors


@pytest.mark.parametrize(
    ("model", "options", "match"),
    [
        (SGDClassifier(), {}, "'classes'.* must be given, all labels there are"),
        (SGDRegressor(), {"classes": [0, 1]}, "'classes'.* must be None: this is no classifier"),
        (SGDClassifier(), {"loss": "log", "classes": [0, 1]}, "'loss'.* has no 'predict_proba'"),
        (GaussianNB(), {"loss": "hinge", "classes": [0, 1]}, "has no 'decision_function'"),
        (SGDRegressor(), {"loss": "log"}, "has no 'predict_proba'"),
        (SGDRegressor(), {"loss": "unheard-of"}, "'loss'.* must be one of 'squared'"),
        (SGDRegressor, {}, "'model'.* must be .*with 'partial_fit'"),
        (LinearRegression(), {}, "'model'.* must be .*with 'partial_fit'"),
        (StandardScaler(), {}, "'model'.* must be .*classifier or regressor"),
    ],
)
def test_what_cannot_be_scored_is_refused_at_once(model: Any, options: Any, match: str) -> None:
    with pytest.raises(InvalidParameter, match=match):
        SklearnLearner(model, **options)


def test_a_clustering_is_refused_since_it_has_no_loss_of_targets() -> None:
    with pytest.raises(InvalidParameter, match="'model'.* must be .*(classifier|regressor)"):
        Monitor.of(MiniBatchKMeans(2))


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (ROWS[:3], TARGETS[:2]),
        (ROWS[:3], 1.0),
        (ROWS[:4].reshape(2, 2, 10), TARGETS[:2]),
        (3.0, 1.0),
    ],
    ids=["lengths", "one target", "three dimensions", "no row"],
)
def test_shapes_that_do_not_fit_are_an_error_and_nothing_moves(x: Any, y: Any) -> None:
    model = SGDRegressor(random_state=0)
    monitor = Monitor.of(model)
    monitor.update(ROWS[:3], TARGETS[:3])
    with pytest.raises(InvalidInput, match="'x' must be a row or a table"):
        monitor.update(x, y)
    assert not hasattr(model, "coef_")
    monitor.update(ROWS[3:6], TARGETS[3:6])
    assert monitor.n == 1


def test_targets_of_another_shape_than_the_predictions_are_an_error() -> None:
    model = SGDRegressor(random_state=0).partial_fit(ROWS[:5], TARGETS[:5])
    with pytest.raises(InvalidInput, match="'y' must have the shape of the predictions"):
        Monitor.of(model).update(ROWS[5:8], TARGETS[5:8, np.newaxis])


def test_a_loss_of_scores_wants_two_classes() -> None:
    model = SGDClassifier(random_state=0).partial_fit(IMAGES[:50], DIGITS[:50], range(10))
    with pytest.raises(InvalidInput, match="A loss of scores needs two classes"):
        Monitor.of(model, "hinge").update(IMAGES[50:60], DIGITS[50:60])


@pytest.mark.parametrize("row", [False, True], ids=["batch", "row"])
def test_a_label_that_is_none_of_the_classes_is_refused_before_anything_moves(row: bool) -> None:
    model = GaussianNB()
    monitor = Monitor.of(model, classes=[0, 1, 2])
    few = DIGITS < 3
    x, y = IMAGES[few] + 0.1, DIGITS[few]
    monitor.update(x[:10], y[:10])
    with pytest.raises(InvalidInput, match=r"'y' must be one of the classes, \[0 1 2\]. Got .*7"):
        monitor.update(*((x[10], 7) if row else (x[10:20], np.full(10, 7))))
    assert not hasattr(model, "theta_")
    monitor.update(x[10:20], y[10:20])
    assert monitor.update(x[20:30], y[20:30]).n == 2


# Saving


@pytest.mark.parametrize("kind", ["array", "frame", "row", "series"])
def test_a_saved_monitor_goes_on_where_it_was(kind: str, tmp_path: Path) -> None:
    targets = pd.Series(TARGETS, name="progression")
    make: dict[str, Any] = {
        "array": lambda i: (ROWS[i : i + 7], TARGETS[i : i + 7]),
        "frame": lambda i: (NAMED[i : i + 7], targets[i : i + 7]),
        "row": lambda i: (ROWS[i], TARGETS[i]),
        "series": lambda i: (NAMED.iloc[i], targets[i]),
    }
    samples = [make[kind](i) for i in range(0, 280, 7)]
    whole, half = SGDRegressor(random_state=0), SGDRegressor(random_state=0)
    expected = course(through := Monitor.of(whole), samples)
    monitor = Monitor.of(half)
    found = course(monitor, samples[:20])
    oeuvre.save(monitor, tmp_path / "monitor.json")
    kept = pickle.loads(pickle.dumps(half))
    resumed = Monitor.load(tmp_path / "monitor.json", SklearnLearner(kept))
    found += course(resumed, samples[20:])
    for each in (through, resumed):
        each.flush()
    assert found[1:] == expected[1:]
    assert (kept.coef_.tobytes(), kept.intercept_.tobytes()) == (
        whole.coef_.tobytes(),
        whole.intercept_.tobytes(),
    )
    assert json.loads((tmp_path / "monitor.json").read_text())["state"]["held"]["~"] == "tuple"


def test_a_saved_classifier_and_its_quality_go_on_where_they_were(tmp_path: Path) -> None:
    samples = batches(IMAGES, EVEN, 10, 40)
    whole, half = (SGDClassifier("log_loss", random_state=0) for _ in range(2))
    through = Monitor.of(whole, "log", classes=["even", "odd"], quality=True)
    expected = course(through, samples)
    monitor = Monitor.of(half, "log", classes=["even", "odd"], quality=True)
    course(monitor, samples[:13])
    oeuvre.save(monitor, tmp_path / "monitor.json")
    resumed = Monitor.load(tmp_path / "monitor.json", SklearnLearner(half, "log"))
    assert course(resumed, samples[13:]) == expected[13:]
    assert through.quality is not None
    assert resumed.quality is not None
    assert np.array_equal(resumed.quality.matrix, through.quality.matrix)


# The guard


def test_a_model_that_is_trained_by_hand_is_noticed() -> None:
    model = SGDRegressor(random_state=0)
    monitor = Monitor.of(model)
    samples = batches(ROWS, TARGETS, 5, 10)
    monitor.update(*samples[0])
    monitor.update(*samples[1])
    model.partial_fit(*samples[1])
    with pytest.warns(MonitorWarning, match="model changed between two steps"):
        monitor.update(*samples[2])


def test_a_buffer_that_is_filled_again_and_again_is_noticed() -> None:
    monitor = Monitor.of(SGDRegressor(random_state=0))
    rows, targets = ROWS[:5].copy(), TARGETS[:5].copy()
    monitor.update(rows, targets)
    rows[:], targets[:] = ROWS[5:10], TARGETS[5:10]
    with pytest.warns(MonitorWarning, match="The sample held back is no longer what it was"):
        monitor.update(rows, targets)
