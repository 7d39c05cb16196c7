"""Monitors of River's models, beside a loop that copies the model, and beside River's own."""

import copy
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from river import (
    base,
    compose,
    datasets,
    drift,
    ensemble,
    evaluate,
    feature_extraction,
    forest,
    linear_model,
    metrics,
    multiclass,
    naive_bayes,
    neighbors,
    optim,
    preprocessing,
    stream,
    tree,
)
from sklearn.datasets import load_diabetes, load_digits

from oeuvre import AdaptiveOeuvre, Monitor, Oeuvre, Prequential, Quality, losses, progressive
from oeuvre.errors import InvalidInput, InvalidParameter, MonitorWarning
from oeuvre.learners.river import RiverLearner

Samples = list[tuple[Any, Any]]


def made(make: Any, *args: Any, **parameters: Any) -> Any:
    return make(*args, **parameters)


def first(dataset: Any, size: int) -> Samples:
    return list(dataset)[:size]  # to its end, so that its file is closed


def logistic() -> Any:
    return made(preprocessing.StandardScaler) | made(linear_model.LogisticRegression)


def linear() -> Any:
    return made(preprocessing.StandardScaler) | made(linear_model.LinearRegression)


def softmax() -> Any:
    return made(preprocessing.StandardScaler) | made(linear_model.SoftmaxRegression)


def answers(model: Any, samples: Iterable[tuple[Any, Any]]) -> list[Any]:
    """What a model says of some samples, as probabilities where it has them."""
    if hasattr(model, "predict_proba_one") and not isinstance(model, base.Regressor):
        return [model.predict_proba_one(x) for x, _ in samples]
    return [model.predict_one(x) for x, _ in samples]


PHISHING = first(made(datasets.Phishing), 1250)
IMAGES = first(made(datasets.ImageSegments), 300)
CHICKS = first(made(datasets.ChickWeights), 200)
TRUMP = first(made(datasets.TrumpApproval), 300)


# Against a loop that copies the model at every step


@pytest.mark.parametrize("mode", ["lag", "snapshot"])
@pytest.mark.parametrize(
    ("model", "samples", "loss", "ask"),
    [
        (logistic(), PHISHING[:600], "log", "predict_proba_one"),
        (logistic(), PHISHING[:200], "zero-one", "predict_one"),
        (linear(), TRUMP, "squared", "predict_one"),
        (
            made(tree.HoeffdingTreeRegressor, grace_period=20),
            TRUMP[:100],
            "absolute",
            "predict_one",
        ),
        (softmax(), IMAGES[:150], "cross-entropy", "predict_proba_one"),
    ],
    ids=["logistic, log", "logistic, zero-one", "linear", "tree", "softmax"],
)
def test_every_number_is_that_of_a_loop_that_copies_the_model(
    model: Any, samples: Samples, loss: str, ask: str, mode: Any
) -> None:
    monitored, mine = copy.deepcopy(model), copy.deepcopy(model)
    monitor = Monitor.of(monitored, loss=loss, mode=mode)
    cost, estimator, before = losses.named(loss), AdaptiveOeuvre(), copy.deepcopy(mine)
    for snapshot, (x, y) in zip(monitor.run(samples), samples, strict=True):
        now, last = (float(cost(y, getattr(each, ask)(x))) for each in (mine, before))
        estimator.update(now, last)
        assert (snapshot.loss, snapshot.previous, snapshot.estimate) == (now, last, estimator.get())
        before = copy.deepcopy(mine)
        mine.learn_one(x, y)
    monitor.flush()
    assert answers(monitored, samples[:50]) == answers(mine, samples[:50])
    assert monitor.n == len(samples)


def test_mini_batches_equal_a_loop_that_copies_the_model() -> None:
    frame = pd.DataFrame([x for x, _ in PHISHING])
    labels = pd.Series([y for _, y in PHISHING])
    monitored, mine = logistic(), logistic()
    monitor = Monitor.of(monitored, loss="log")
    cost, estimator, before = losses.log(), AdaptiveOeuvre(), copy.deepcopy(mine)
    for start in range(0, 400, 16):
        x, y = frame[start : start + 16], labels[start : start + 16]
        now, last = (
            [
                cost(*each)
                for each in zip(y, m.predict_proba_many(x).to_dict("records"), strict=True)
            ]
            for m in (mine, before)
        )
        estimator.update_many(now, last)
        snapshot = monitor.update(x, y)
        assert snapshot.estimate == estimator.get()
        assert snapshot.loss == pytest.approx(np.mean(now), rel=1e-14)
        before = copy.deepcopy(mine)
        mine.learn_many(x, y)
    monitor.flush()
    assert answers(monitored, PHISHING[:50]) == answers(mine, PHISHING[:50])


@pytest.mark.parametrize(
    ("make", "samples", "loss"),
    [
        (lambda: made(naive_bayes.GaussianNB), PHISHING, "log"),
        (lambda: made(naive_bayes.GaussianNB), PHISHING, "zero-one"),
        (linear, TRUMP, None),
    ],
    ids=["bayes, log", "bayes, zero-one", "linear"],
)
def test_a_model_takes_mini_batches_from_its_very_first_one(
    make: Any, samples: Samples, loss: str | None
) -> None:
    frame = pd.DataFrame([x for x, _ in samples])
    labels = pd.Series([y for _, y in samples])
    model, mine = make(), make()
    monitor = Monitor.of(model, loss=loss)
    for start in range(0, 100, 20):
        batch = frame[start : start + 20], labels[start : start + 20]
        snapshot = monitor.update(*batch)
        mine.learn_many(*batch)
    monitor.flush()
    assert snapshot.loss > 0.0
    rows = [(row, None) for row in frame[:30].to_dict("records")]
    assert answers(model, rows) == answers(mine, rows)


# What a model is, and how it is scored


@pytest.mark.parametrize(
    ("model", "kind", "asks", "loss"),
    [
        (linear(), "regressor", "predict", losses.squared),
        (made(tree.HoeffdingTreeRegressor), "regressor", "predict", losses.squared),
        (logistic(), "classifier", "predict_proba", losses.named("log")),
        (softmax(), "classifier", "predict_proba", losses.named("cross-entropy")),
        (made(tree.HoeffdingTreeClassifier), "classifier", "predict_proba", losses.named("log")),
    ],
    ids=["linear", "tree regressor", "logistic", "softmax", "tree classifier"],
)
def test_the_default_loss_is_that_of_the_kind_of_model(
    model: Any, kind: str, asks: str, loss: losses.Loss
) -> None:
    learner = RiverLearner(model)
    assert (learner.kind, learner.asks) == (kind, asks)
    assert learner.loss.needs == loss.needs
    assert (learner.loss.many, learner.loss.range) == (loss.many, loss.range)


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        ("zero-one", lambda y, label, _: float(label != y)),
        ("log", lambda y, _, given: -np.log(max(given.get(y, 0.0), 1e-15))),
        (losses.log(0.01), lambda y, _, given: -np.log(max(given.get(y, 0.0), 0.01))),
        (lambda y, label: 2.0 * (label != y), lambda y, label, _: 2.0 * (label != y)),
        (
            losses.Loss(lambda y, p: 1.0 - p.get(y, 0.0), needs="probabilities"),
            lambda y, _, given: 1.0 - given.get(y, 0.0),
        ),
    ],
    ids=["zero-one", "log", "log with a least", "function", "own, of probabilities"],
)
def test_each_loss_gets_the_prediction_it_needs(loss: Any, expected: Any) -> None:
    model = made(tree.HoeffdingTreeClassifier, grace_period=20)
    learner = RiverLearner(model, loss)
    seen, unanswered = set(), 0
    for x, y in IMAGES[:120]:
        found = learner.evaluate(x, y)
        if found is None:  # it has no label yet, and a plain function is not asked what that costs
            assert model.predict_one(x) is None
            unanswered += 1
            learner.learn(x, y)
            continue
        assert found == pytest.approx(
            expected(y, model.predict_one(x), model.predict_proba_one(x)), rel=1e-12
        )
        seen.add(found)
        learner.learn(x, y)
    assert len(seen) > 1
    assert unanswered == (1 if learner.loss.needs == "value" else 0)
    assert learner.predicted == model.predict_one(IMAGES[119][0])


def everything() -> list[Any]:
    """Models of every kind; those that draw random numbers are seeded."""
    knn = made(neighbors.LazySearch, window_size=50)
    return [
        (made(linear_model.LinearRegression, optimizer=made(optim.Adam, 0.01)), TRUMP),
        (made(linear_model.PARegressor), TRUMP),
        (made(linear_model.BayesianLinearRegression), TRUMP),
        (made(neighbors.KNNRegressor, engine=knn), TRUMP),
        (made(tree.HoeffdingAdaptiveTreeRegressor, grace_period=20, seed=1), TRUMP),
        (made(tree.SGTRegressor, grace_period=20), TRUMP),
        (made(forest.ARFRegressor, n_models=2, seed=1), TRUMP),
        (made(ensemble.BaggingRegressor, linear(), n_models=2, seed=1), TRUMP),
        (made(linear_model.PAClassifier), PHISHING),
        (made(linear_model.Perceptron), PHISHING),
        (made(linear_model.ALMAClassifier), PHISHING),
        (made(naive_bayes.GaussianNB), IMAGES),
        (made(naive_bayes.BernoulliNB), PHISHING),
        (made(neighbors.KNNClassifier, engine=knn), IMAGES),
        (made(tree.HoeffdingTreeClassifier, grace_period=20), IMAGES),
        (made(tree.HoeffdingAdaptiveTreeClassifier, grace_period=20, seed=1), IMAGES),
        (made(tree.ExtremelyFastDecisionTreeClassifier, grace_period=20), IMAGES),
        (made(forest.ARFClassifier, n_models=2, seed=1), IMAGES),
        (made(forest.AMFClassifier, n_estimators=2, seed=1), IMAGES),
        (made(ensemble.ADWINBaggingClassifier, logistic(), n_models=2, seed=1), PHISHING),
        (made(ensemble.AdaBoostClassifier, logistic(), n_models=2, seed=1), PHISHING),
        (made(ensemble.LeveragingBaggingClassifier, logistic(), n_models=2, seed=1), PHISHING),
        (made(ensemble.SRPClassifier, softmax(), n_models=2, seed=1), IMAGES),
        (made(multiclass.OneVsRestClassifier, logistic()), IMAGES),
        (made(drift.DriftRetrainingClassifier, logistic()), PHISHING),
        (made(feature_extraction.PolynomialExtender) | linear(), TRUMP),
        (made(preprocessing.TargetStandardScaler, linear()), TRUMP),
        (made(preprocessing.OneHotEncoder) | made(linear_model.LinearRegression), CHICKS),
    ]


@pytest.mark.parametrize(
    ("model", "samples"),
    everything(),
    ids=lambda each: "" if isinstance(each, list) else type(each).__name__,
)
def test_an_ordinary_model_is_trained_as_without_a_monitor_and_never_warned_about(
    model: Any, samples: Samples
) -> None:
    mine = copy.deepcopy(model)
    monitor = Monitor.of(model, guard=15)
    for _ in monitor.run(samples[:40]):
        pass
    monitor.flush()
    for x, y in samples[:40]:
        (mine.predict_one if monitor.learner.kind == "regressor" else mine.predict_proba_one)(x)  # type: ignore[attr-defined]
        mine.learn_one(x, y)
    assert monitor.n == 40
    assert answers(model, samples[40:60]) == answers(mine, samples[40:60])


# Streams


@pytest.mark.filterwarnings("ignore:`stream.iter_pandas` is deprecated:DeprecationWarning")
def test_a_stream_of_a_table_is_a_stream() -> None:
    table = pd.DataFrame([x for x, _ in TRUMP]).drop(columns="ordinal_date")
    targets = pd.Series([y for _, y in TRUMP])
    names = list(table.columns)
    streams = [
        stream.iter_pandas(table, targets),
        stream.iter_array(table.to_numpy(), targets.to_numpy(), feature_names=names),
        zip(table.to_dict("records"), targets, strict=True),
    ]
    courses = [
        [(s.loss, s.previous, s.estimate) for s in Monitor.of(linear()).run(each)]
        for each in streams
    ]
    assert courses[0] == courses[1] == courses[2]
    assert len(courses[0]) == len(TRUMP)


@pytest.mark.parametrize(
    ("bundle", "model"), [(load_diabetes(), linear()), (load_digits(), softmax())], ids=["r", "c"]
)
def test_a_data_set_of_scikit_learn_is_a_stream(bundle: Any, model: Any) -> None:
    samples = first(stream.iter_sklearn_dataset(bundle), 100)
    monitor = Monitor.of(model)
    estimates = [snapshot.estimate for snapshot in monitor.run(samples)]
    assert monitor.n == 100
    assert all(np.isfinite(estimates))


# Errors


@pytest.mark.parametrize(
    ("model", "options", "match"),
    [
        (
            logistic(),
            {"loss": "hinge"},
            "'loss'.* must be another.*labels and probabilities",
        ),
        (
            linear(),
            {"loss": "log"},
            "'loss'.* must be one without probabilities",
        ),
        (
            linear_model.LinearRegression,
            {},
            "'model'.* must be a River regressor or classifier",
        ),
        (
            made(preprocessing.StandardScaler),
            {},
            "'model'.* must be a River regressor or classifier",
        ),
        (
            linear(),
            {"loss": "unheard-of"},
            "'loss'.* must be one of 'squared'",
        ),
        (
            linear(),
            {"loss": 3},
            "'loss'.* must be one of 'squared'.*Got 3 instead",
        ),
    ],
    ids=["scores", "probabilities", "a class", "a scaler", "word", "number"],
)
def test_what_cannot_be_scored_is_refused_at_once(model: Any, options: Any, match: str) -> None:
    with pytest.raises(InvalidParameter, match=match):
        RiverLearner(model, **options)


@pytest.mark.parametrize(
    ("model", "x", "y", "match"),
    [
        (linear(), [1.0, 2.0], 1.0, "'x' must be a dict of features, or a pandas DataFrame. Got"),
        (linear(), np.ones((3, 2)), np.ones(3), "'x' must be a dict"),
        (
            made(tree.HoeffdingTreeRegressor),
            pd.DataFrame({"a": [1.0]}),
            pd.Series([1.0]),
            "HoeffdingTreeRegressor has no 'learn_many'.*rows one by one",
        ),
        (
            linear(),
            pd.DataFrame({"a": [1.0, 2.0]}),
            pd.Series([1.0]),
            "'y' must have as many entries as 'x' has rows, 2. Got 1",
        ),
    ],
    ids=["list", "array", "no learn_many", "lengths"],
)
def test_a_sample_of_the_wrong_kind_is_refused_and_nothing_moves(
    model: Any, x: Any, y: Any, match: str
) -> None:
    monitor = Monitor.of(model)
    with pytest.raises(InvalidInput, match=match):
        monitor.update(x, y)
    assert monitor.n == 0
    monitor.update({"a": 1.0}, 1.0)
    monitor.update({"a": 2.0}, 1.0)
    assert monitor.n == 2


def test_a_pipeline_whose_end_has_no_learn_many_says_that_it_takes_single_samples() -> None:
    pipeline = made(preprocessing.StandardScaler) | made(tree.HoeffdingTreeRegressor)
    with pytest.raises(InvalidInput, match="learn_many"):
        Monitor.of(pipeline).update(pd.DataFrame({"a": [1.0, 2.0]}), pd.Series([1.0, 2.0]))


# Quality


@pytest.mark.parametrize("loss", ["log", "zero-one"])
def test_the_quality_of_a_classifier_is_that_of_its_labels(loss: str) -> None:
    monitor = Monitor.of(softmax(), loss=loss, quality=True)
    mine, before = softmax(), softmax()
    quality = Quality()
    for _, (x, y) in zip(monitor.run(IMAGES), IMAGES, strict=True):
        quality.update(y, mine.predict_one(x), before.predict_one(x))
        before = copy.deepcopy(mine)
        mine.learn_one(x, y)
    assert monitor.quality is not None
    assert monitor.quality.labels == quality.labels
    assert np.array_equal(monitor.quality.matrix, quality.matrix)
    assert len(monitor.quality.labels) >= 7
    assert 0.5 < monitor.quality.accuracy < 1.0
    assert monitor.quality.f1("path") == quality.f1("path")


# The guard


def test_learning_while_predicting_is_noticed() -> None:
    monitor = Monitor.of(logistic(), loss="log")
    with (
        compose.learn_during_predict(),
        pytest.warns(MonitorWarning, match="Evaluating a sample changes the model.*River"),
    ):
        for _ in monitor.run(PHISHING[:10]):
            pass


def test_a_model_that_is_trained_by_hand_between_the_updates_is_noticed() -> None:
    model = logistic()
    monitor = Monitor.of(model, loss="log")
    (x, y), *others = PHISHING[:10]
    monitor.update(x, y)
    model.learn_one(x, y)
    with pytest.warns(MonitorWarning, match="model changed between two steps"):
        monitor.update(*others[0])


def test_a_dict_that_is_filled_again_and_again_is_noticed() -> None:
    monitor = Monitor.of(logistic(), loss="log")
    buffer: dict[str, float] = {}

    def fill() -> Iterator[tuple[Any, Any]]:
        for x, y in PHISHING[:3]:
            buffer.update(x)
            yield buffer, y

    with pytest.warns(
        MonitorWarning, match="The sample held back is no longer what it was"
    ) as told:
        list(monitor.run(fill()))
    assert len(told) == 1  # and the model was not trained elsewhere


# Progressive validation


PAGES = PHISHING[:500]
CASES: dict[str, Any] = {
    "label, loss of the same kind": (logistic, PAGES, metrics.Accuracy, {"loss": "zero-one"}),
    "label, loss of the other": (logistic, PAGES, metrics.F1, {"loss": "log"}),
    "probability, same": (logistic, PAGES, metrics.LogLoss, {"loss": "log"}),
    "probability, other": (logistic, PAGES, metrics.ROCAUC, {"loss": "zero-one"}),
    "several labels": (
        logistic,
        PAGES,
        lambda: made(metrics.Accuracy) + made(metrics.F1),
        {"loss": "log"},
    ),
    "both kinds at once": (
        logistic,
        PAGES,
        lambda: made(metrics.Accuracy) + made(metrics.LogLoss),
        {"loss": "zero-one"},
    ),
    "multi-class": (softmax, IMAGES, metrics.MacroF1, {}),
    "multi-class, cross-entropy": (softmax, IMAGES, metrics.CrossEntropy, {}),
    "no answer at first": (
        lambda: made(neighbors.KNNClassifier),
        IMAGES,
        metrics.Accuracy,
        {"loss": "zero-one"},
    ),
    "tree": (lambda: made(tree.HoeffdingTreeClassifier), IMAGES, metrics.Accuracy, {}),
    "regression": (linear, TRUMP, metrics.MAE, {}),
    "several, regression": (linear, TRUMP, lambda: made(metrics.MAE) + made(metrics.R2), {}),
    "delay": (logistic, PAGES, metrics.Accuracy, {"delay": 10, "loss": "log"}),
    "delay, probabilities": (logistic, PAGES, metrics.LogLoss, {"delay": 3}),
}


@pytest.mark.parametrize("case", list(CASES))
def test_the_metric_is_rivers_at_every_step_and_so_is_the_model(case: str) -> None:
    make, samples, metric, options = CASES[case]
    model, mine = make(), make()
    delay = {"delay": options["delay"]} if "delay" in options else {}
    theirs = evaluate.iter_progressive_val_score(
        iter(samples), mine, made(metric), step=1, yield_predictions=True, **delay
    )
    ours = progressive(
        iter(samples), model, made(metric), step=1, yield_predictions=True, **options
    )
    steps = 0
    for one, two in zip(ours, theirs, strict=True):
        assert set(one) == {*two, "Estimate", "Interval"}
        for key, value in two.items():
            if isinstance(value, metrics.base.Metric):
                assert one[key].get() == value.get()
            else:
                assert one[key] == value
        assert np.isfinite(one["Estimate"])
        steps += 1
    assert steps == len(samples)
    assert answers(model, samples[:50]) == answers(mine, samples[:50])


def test_a_label_that_comes_when_its_moment_has_come_is_rivers_too() -> None:
    model, mine = linear(), linear()
    options: Any = {"moment": "ordinal_date", "delay": lambda _, y: 3 if y > 40.0 else 1}
    theirs = list(
        evaluate.iter_progressive_val_score(
            iter(TRUMP), mine, made(metrics.MAE), yield_predictions=True, step=1, **options
        )
    )
    ours = list(
        progressive(iter(TRUMP), model, made(metrics.MAE), yield_predictions=True, **options)
    )
    assert [each["Prediction"] for each in ours] == [each["Prediction"] for each in theirs]
    assert ours[-1]["MAE"].get() == theirs[-1]["MAE"].get()
    assert answers(model, TRUMP[:50]) == answers(mine, TRUMP[:50])


@pytest.mark.parametrize("delay", [None, 7])
@pytest.mark.parametrize("step", [1, 50, 70, 300])
def test_steps_are_rivers(step: int, delay: int | None) -> None:
    theirs = evaluate.iter_progressive_val_score(
        iter(TRUMP), linear(), made(metrics.MAE), step=step, delay=delay
    )
    ours = progressive(iter(TRUMP), linear(), made(metrics.MAE), step=step, delay=delay)
    found = [(each["Step"], each["MAE"].get(), "Prediction" in each) for each in ours]
    assert found == [(each["Step"], each["MAE"].get(), False) for each in theirs]


def test_a_stream_shorter_than_a_step_is_told_about_at_its_end() -> None:
    (found,) = progressive(TRUMP[:20], linear(), made(metrics.MAE), step=50)
    assert found["Step"] == 20


def test_the_estimate_is_that_of_a_monitor() -> None:
    snapshots = list(Monitor.of(logistic(), loss="log", estimator=Oeuvre()).run(PHISHING[:200]))
    found = list(
        progressive(
            PHISHING[:200], logistic(), made(metrics.Accuracy), loss="log", estimator=Oeuvre()
        )
    )
    assert [each["Estimate"] for each in found] == [each.estimate for each in snapshots]
    assert [each["Interval"] for each in found] == [each.interval for each in snapshots]
    assert found[0]["Interval"] is None
    assert found[-1]["Estimate"] in found[-1]["Interval"]


@pytest.mark.parametrize("delay", [None, 2])
@pytest.mark.parametrize(
    "estimator", [Prequential(), AdaptiveOeuvre(two_gain=True)], ids=["average", "two gains"]
)
def test_an_estimator_without_an_interval_serves_too(estimator: Any, delay: int | None) -> None:
    found = list(
        progressive(
            TRUMP[:30], linear(), made(metrics.MAE), estimator=estimator.clone(), delay=delay
        )
    )
    assert [each["Interval"] for each in found] == [None] * 30


def test_a_metric_for_another_kind_of_model_is_refused() -> None:
    with pytest.raises(InvalidInput, match="'metric' must be a metric of River's that works"):
        list(progressive(TRUMP, linear(), made(metrics.Accuracy)))
