"""Each task beside a slow, obvious computation of the same definition."""

import math
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from oeuvre.errors import InvalidParameter
from oeuvre.experiments import datasets
from oeuvre.experiments.tasks import (
    GROUPS,
    PAPER,
    DriftingRegression,
    ExpertAdvice,
    LinearRegression,
    LogisticRegression,
    NeuralNetwork,
    StandardisedRegression,
    Stream,
    choose,
)
from tests.experiments.data import DIABETES, csv, publish, write_emnist

REAL = os.environ.get("OEUVRE_DATA")


def dot(u: list[float], v: list[float]) -> float:
    return math.fsum(a * b for a, b in zip(u, v, strict=True))


def by_hand(
    x: list[list[float]], y: list[float], eta: float, per: float
) -> tuple[list[list[float]], list[float], list[float]]:
    """Square loss over `per`, in the order of the paper; the weights, losses and previous ones."""
    weights = [0.0] * len(x[0])
    models, loss, previous = [], [], []
    for t in range(1, len(y) + 1):
        now, target = x[t - 1], y[t - 1]
        previous.append((dot(weights, now) - target) ** 2 / per)  # score on the model before
        if t > 1:  # train on the sample that was held back, which is number t − 1
            then, last = x[t - 2], y[t - 2]
            slope = 2.0 * (dot(weights, then) - last) / per
            step = eta / math.sqrt(t - 1)
            weights = [w - step * slope * feature for w, feature in zip(weights, then, strict=True)]
        loss.append((dot(weights, now) - target) ** 2 / per)  # and again
        models.append(weights)
    return models, loss, previous


def check(stream: Stream, loss: list[float], previous: list[float], truth: list[float]) -> None:
    np.testing.assert_allclose(stream.loss, loss, rtol=1e-9)
    np.testing.assert_allclose(stream.previous, previous, rtol=1e-9)
    np.testing.assert_allclose(stream.truth, truth, rtol=1e-9)
    assert stream.loss[0] == stream.previous[0]
    assert np.all(stream.loss[1:] != stream.previous[1:])


def linear_samples(task: LinearRegression, seed: int) -> tuple[np.ndarray, ...]:
    """The draws of a linear task, in their order: Σ, w*, x, y."""
    rng = np.random.default_rng(seed)
    d = task.dimension
    if task.covariance == "random":
        root = rng.standard_normal((d, d))
        wishart = root @ root.T
        sigma = np.array(
            [
                [wishart[i, j] / math.sqrt(wishart[i, i] * wishart[j, j]) for j in range(d)]
                for i in range(d)
            ]
        )
    elif task.covariance == "identity":
        sigma = np.eye(d)
    else:
        sigma = np.array([[2.0 ** -abs(i - j) for j in range(d)] for i in range(d)])
    target = rng.standard_normal(d)
    target = target / math.sqrt(target @ target)
    x = rng.standard_normal((task.steps, d)) @ np.linalg.cholesky(sigma).T
    y = x @ target + task.noise * rng.standard_normal(task.steps)
    return sigma, target, x, y


@pytest.mark.parametrize("covariance", ["random", "identity", "toeplitz"])
def test_linear_regression_by_hand(covariance: str) -> None:
    task = LinearRegression(4, 0.5, covariance, steps=12)  # type: ignore[arg-type]
    sigma, target, x, y = linear_samples(task, 7)
    models, loss, previous = by_hand(x.tolist(), y.tolist(), 0.01, per=4)
    off = np.array(models) - target
    truth = [(row @ sigma @ row + 0.25) / 4 for row in off]
    check(task.stream(7), loss, previous, truth)
    assert np.allclose(np.diag(sigma), 1.0)
    assert truth[0] == pytest.approx((target @ sigma @ target + 0.25) / 4)


def test_linear_truth_is_the_mean_loss_of_fresh_samples() -> None:
    """200,000 fresh samples; a deviation of 4.5 standard errors has probability 7e-6."""
    task = LinearRegression(6, 0.3, steps=400)
    sigma, target, x, y = linear_samples(task, 3)
    models, _, _ = by_hand(x.tolist(), y.tolist(), 0.01, per=6)
    rng = np.random.default_rng(99)
    fresh = rng.standard_normal((200_000, 6)) @ np.linalg.cholesky(sigma).T
    losses = (fresh @ (target - models[-1]) + 0.3 * rng.standard_normal(200_000)) ** 2 / 6
    error = losses.std() / math.sqrt(len(losses))
    assert task.stream(3).truth[-1] == pytest.approx(losses.mean(), abs=4.5 * error)


def test_the_linear_model_learns() -> None:
    stream = LinearRegression(25, 0.05).stream(0)
    assert len(stream.loss) == 10_000
    assert stream.truth[-1] < 0.7 * stream.truth[0]


@pytest.mark.parametrize("distribution", ["beta", "bernoulli"])
def test_expert_advice_by_hand(distribution: str) -> None:
    task = ExpertAdvice(distribution, 5, steps=12)  # type: ignore[arg-type]
    rng = np.random.default_rng(2)
    if distribution == "beta":
        alpha, beta = rng.integers(1, 10, size=(2, 5))
        losses = rng.beta(alpha, beta, size=(12, 5))
        mean = alpha / (alpha + beta)
    else:
        mean = rng.uniform(0.01, 0.99, size=5)
        losses = (rng.random((12, 5)) < mean).astype(float)
    total = [0.0] * 5
    weights = [0.2] * 5
    loss, previous, truth = [], [], []
    for t in range(1, 13):
        now = losses[t - 1].tolist()
        previous.append(dot(weights, now))
        if t > 1:
            total = [a + b for a, b in zip(total, losses[t - 2].tolist(), strict=True)]
            eta = math.sqrt(math.log(5) / t)
            powers = [math.exp(-eta * each) for each in total]
            weights = [power / math.fsum(powers) for power in powers]
        loss.append(dot(weights, now))
        truth.append(dot(weights, mean.tolist()))
    stream = task.stream(2)
    np.testing.assert_allclose(stream.loss, loss, rtol=1e-12)
    np.testing.assert_allclose(stream.previous, previous, rtol=1e-12)
    np.testing.assert_allclose(stream.truth, truth, rtol=1e-12)


def test_expert_truth_is_the_mean_loss_of_fresh_samples() -> None:
    """Means of Beta(α, β) are α/(α + β): 300,000 draws; 4.5 standard errors, 7e-6 by chance."""
    rng = np.random.default_rng(4)
    alpha, beta = rng.integers(1, 10, size=(2, 3))
    stream = ExpertAdvice("beta", 3, steps=2).stream(4)
    fresh = np.random.default_rng(8).beta(alpha, beta, size=(300_000, 3)).mean(axis=1)
    error = fresh.std() / math.sqrt(len(fresh))
    assert stream.truth[0] == pytest.approx(fresh.mean(), abs=4.5 * error)


def test_hedge_finds_the_best_expert() -> None:
    rng = np.random.default_rng(0)
    mean = rng.uniform(0.01, 0.99, size=25)
    truth = ExpertAdvice("bernoulli", 25).stream(0).truth
    assert truth[0] == pytest.approx(mean.mean())
    assert truth[-1] == pytest.approx(mean.min(), abs=0.02)


@pytest.mark.parametrize(
    ("task", "parameter"),
    [
        (LinearRegression(3, 0.1, "round", steps=5), "covariance"),  # type: ignore[arg-type]
        (ExpertAdvice("gamma", 3, steps=5), "distribution"),  # type: ignore[arg-type]
    ],
)
def test_unknown_words_are_refused(task: LinearRegression, parameter: str) -> None:
    with pytest.raises(InvalidParameter, match=f"The '{parameter}' parameter"):
        task.stream(0)


def test_logistic_regression_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OEUVRE_DATA", str(tmp_path))
    rng = np.random.default_rng(1)
    target = rng.integers(2, size=20)
    features = rng.normal(3.0, 2.0, size=(20, 2)) + target[:, None]
    text = csv("Diabetes_binary,BMI,Age", np.column_stack((target, features)))
    publish(monkeypatch, tmp_path, "diabetes_brfss2015", DIABETES, text)
    stream = LogisticRegression(steps=12).stream(6)

    scaled = (features - features.mean(axis=0)) / features.std(axis=0)
    order = np.random.default_rng(6).permutation(20)[:12]
    x = [[*scaled[i].tolist(), 1.0] for i in order]
    sign = [2 * int(target[i]) - 1 for i in order]

    def entropy(w: list[float], i: int) -> float:
        return math.log(1.0 + math.exp(-sign[i] * dot(w, x[i])))

    current = [0.0, 0.0, 0.0]
    past = [current]  # the weights so far; the model is their mean
    model = current
    loss, previous, truth = [], [], []
    for t in range(1, 13):
        previous.append(entropy(model, t - 1))
        if t > 1:
            pull = sign[t - 2] / (1.0 + math.exp(sign[t - 2] * dot(current, x[t - 2])))
            step = 0.05 / math.sqrt(t - 1)
            current = [w + step * pull * f for w, f in zip(current, x[t - 2], strict=True)]
            past.append(current)
            model = [math.fsum(column) / len(past) for column in zip(*past, strict=True)]
        loss.append(entropy(model, t - 1))
        truth.append(math.fsum(entropy(model, i) for i in range(12)) / 12)
    check(stream, loss, previous, truth)
    assert LogisticRegression.rate == "1/t"


def scaled_columns(table: np.ndarray) -> list[list[float]]:
    columns = []
    for column in table.T.tolist():
        low, high = min(column), max(column)
        columns.append([(value - low) / (high - low) for value in column])
    return columns


def standard_columns(table: np.ndarray) -> list[list[float]]:
    columns = []
    for column in table.T.tolist():
        mean = math.fsum(column) / len(column)
        deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in column) / len(column))
        columns.append([(value - mean) / deviation for value in column])
    return columns


def drift_by_hand(
    features: np.ndarray,
    target: np.ndarray,
    scaled: Callable[[np.ndarray], list[list[float]]] = scaled_columns,
) -> tuple[list[float], ...]:
    x = [[*row, 1.0] for row in zip(*scaled(features), strict=True)]
    (y,) = scaled(target[:, None])
    models, loss, previous = by_hand(x, y, 0.01, per=1)
    kept = len(y) - 50
    truth = [
        math.fsum((dot(models[t], x[s]) - y[s]) ** 2 for s in range(t + 1, t + 51)) / 50
        for t in range(kept)
    ]
    return loss[:kept], previous[:kept], truth


def test_drift_on_chick_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OEUVRE_DATA", str(tmp_path))
    rows = np.random.default_rng(0).integers(1, 50, size=(64, 4)).astype(float)
    text = csv("weight,time,chick,diet", rows)
    publish(monkeypatch, tmp_path, "chick_weights", "chick-weights.csv", text)
    check(DriftingRegression("chick_weights").stream(0), *drift_by_hand(rows[:, 1:], rows[:, 0]))
    standard = StandardisedRegression("chick_weights").stream(0)
    check(standard, *drift_by_hand(rows[:, 1:], rows[:, 0], standard_columns))


def test_drift_on_bike_sharing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OEUVRE_DATA", str(tmp_path))
    names = "season,yr,mnth,hr,holiday,weekday,workingday,weathersit,temp,atemp,hum,windspeed"
    rng = np.random.default_rng(1)
    features, counts = rng.random((60, 12)), rng.integers(1, 99, size=(60, 2))
    total = counts.sum(axis=1)
    rows = np.column_stack((np.arange(60), np.zeros(60), features, counts, total))
    text = csv(f"instant,dteday,{names},casual,registered,cnt", rows)
    publish(monkeypatch, tmp_path, "bike_sharing_uci", "hour.csv.gz", text)
    stream = DriftingRegression("bike_sharing_uci").stream(0)
    check(stream, *drift_by_hand(features, total.astype(float)))


def test_drift_on_toulouse_bikes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OEUVRE_DATA", str(tmp_path))
    rng = np.random.default_rng(2)
    weather, bikes = rng.random((70, 5)), rng.integers(0, 30, size=70)
    stations = [("pomme", "carmes", "esquirol")[i] for i in rng.integers(3, size=70)]
    lines = ["moment,bikes,station,clouds,description,humidity,pressure,temperature,wind"]
    for (clouds, humidity, pressure, temperature, wind), station, count in zip(
        weather.tolist(), stations, bikes.tolist(), strict=True
    ):
        lines.append(
            f"2016-04-01 00:00:07,{count},{station},{clouds!r},clear sky,{humidity!r},"
            f"{pressure!r},{temperature!r},{wind!r}"
        )
    publish(
        monkeypatch, tmp_path, "toulouse_bikes", "toulouse_bikes.csv.gz", "\n".join(lines) + "\n"
    )
    shown = np.array([[float(s == name) for name in dict.fromkeys(stations)] for s in stations])
    stream = DriftingRegression("toulouse_bikes").stream(0)
    check(stream, *drift_by_hand(np.hstack((weather, shown)), bikes.astype(float)))


def test_drift_on_wine_is_red_then_white(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OEUVRE_DATA", str(tmp_path))
    rng = np.random.default_rng(3)
    colours = {"red": rng.random((40, 3)), "white": 2.0 + rng.random((40, 3))}
    for colour, rows in colours.items():
        text = csv('"pH";"alcohol";"quality"', rows, ";")
        publish(monkeypatch, tmp_path, "wine_quality", f"winequality-{colour}.csv.gz", text)
    rows = np.concatenate(list(colours.values()))
    check(DriftingRegression("wine_quality").stream(0), *drift_by_hand(rows[:, :2], rows[:, 2]))


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Stream]:
    folder = tmp_path_factory.mktemp("data")
    write_emnist(folder, train=300, test=100)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OEUVRE_DATA", str(folder))
        datasets.content.cache_clear()
        return folder, NeuralNetwork("emnist", samples=8, epochs=4).stream(5)


def test_neural_network_by_hand(
    network: tuple[Path, Stream], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All steps again, with AdamW and the losses written out in NumPy and double precision."""
    import torch

    folder, stream = network
    monkeypatch.setenv("OEUVRE_DATA", str(folder))
    from oeuvre.experiments.tasks.images import images

    train_x, train_y, test_x, test_y = images("emnist")
    rng = np.random.default_rng(5)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(rng.integers(2**31)))
        layers = [torch.nn.Linear(784, 128), torch.nn.Linear(128, 10)]
    theta = [p.detach().double().numpy().copy() for layer in layers for p in layer.parameters()]

    def forward(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        hidden = np.maximum(x @ theta[0].T + theta[1], 0.0)
        logits = hidden @ theta[2].T + theta[3]
        return hidden, logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))

    def score(rows: np.ndarray) -> float:
        _, logs = forward(test_x[rows].astype(float))
        return -float(np.mean(logs[np.arange(len(rows)), test_y[rows]]))

    first = [np.zeros_like(p) for p in theta]
    second = [np.zeros_like(p) for p in theta]
    starts = (0, 128, 256)
    for t in range(1, 13):
        if t % 3 == 1:
            order = rng.permutation(300)
        start = starts[(t - 1) % 3]
        rows = order[start : start + 128]
        fresh, others = rng.integers(100, size=8), rng.integers(100, size=1024)
        assert stream.previous[t - 1] == pytest.approx(score(fresh), rel=1e-4)
        x = train_x[rows].astype(float)
        hidden, logs = forward(x)
        delta = np.exp(logs)
        delta[np.arange(len(rows)), train_y[rows]] -= 1.0
        delta /= len(rows)
        back = (delta @ theta[2]) * (hidden > 0.0)
        gradient = [back.T @ x, back.sum(axis=0), delta.T @ hidden, delta.sum(axis=0)]
        largest = 0.0
        for i, g in enumerate(gradient):
            first[i] = 0.9 * first[i] + 0.1 * g
            second[i] = 0.999 * second[i] + 0.001 * g * g
            mean, square = first[i] / (1 - 0.9**t), second[i] / (1 - 0.999**t)
            move = 5e-4 * (0.01 * theta[i] + mean / (np.sqrt(square) + 1e-8))
            theta[i] = theta[i] - move
            largest = max(largest, float(np.abs(move).max()))
        assert stream.rates is not None
        assert stream.rates[t - 1] == pytest.approx(largest, rel=2e-2)
        assert stream.loss[t - 1] == pytest.approx(score(fresh), rel=1e-3)
        assert stream.truth[t - 1] == pytest.approx(score(others), rel=1e-3)
        assert stream.sharp is not None
        if t == 10:
            assert stream.sharp[9] == pytest.approx(score(np.arange(100)), rel=1e-4)
            assert stream.sharp[9] != pytest.approx(score(others), rel=1e-3)


def test_the_network_learns_and_has_two_truths(network: tuple[Path, Stream]) -> None:
    _, stream = network
    assert len(stream.loss) == 12  # three batches an epoch
    assert stream.truth[-1] < 0.9 * stream.truth[0]
    assert stream.sharp is not None
    assert np.flatnonzero(~np.isnan(stream.sharp)).tolist() == [9]
    assert stream.sharp[9] == pytest.approx(stream.truth[9], rel=0.1)


PRINTER = """
import sys
from oeuvre.experiments.tasks import *
for task in (
    LinearRegression(8, 0.5, steps=300),
    ExpertAdvice("bernoulli", 6, steps=300),
    NeuralNetwork("emnist", samples=8, epochs=1),
):
    stream = task.stream(11)
    for array in (stream.loss, stream.previous, stream.truth):
        print(array.tobytes().hex())
"""


def test_runs_are_identical_across_processes(network: tuple[Path, Stream]) -> None:
    """Whatever the number of threads the libraries were told to use."""
    said = {
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", PRINTER],
            env={**os.environ, "OEUVRE_DATA": str(network[0]), **limits},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for limits in ({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}, {})
    }
    assert len(said) == 1
    assert len(said.pop()) > 10_000


def test_networks_trained_in_threads_are_those_trained_alone(
    network: tuple[Path, Stream], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OEUVRE_DATA", str(network[0]))
    task = NeuralNetwork("emnist", samples=8, epochs=1)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(task.stream, range(8)))
    for seed, stream in enumerate(together):
        np.testing.assert_array_equal(stream.loss, task.stream(seed).loss)


def test_seeds_differ_and_return() -> None:
    task = LinearRegression(3, 0.1, steps=50)
    assert np.array_equal(task.stream(1).loss, task.stream(1).loss)
    assert not np.array_equal(task.stream(1).loss, task.stream(2).loss)


def test_the_tasks_are_those_of_the_paper() -> None:
    assert {group: len(tasks) for group, tasks in GROUPS.items()} == {
        "linear": 12,
        "experts": 8,
        "logistic": 1,
        "neural": 4,
        "drift": 8,
        "shifts": 3,
        "fast": 4,
        "others": 5,
        "emnist": 2,
    }
    assert "emnist" not in PAPER
    assert {(task.dimension, task.noise, task.steps) for task in GROUPS["linear"]} == {  # type: ignore[attr-defined]
        (d, noise, 10_000) for d in (25, 50, 100, 200) for noise in (0.005, 0.05, 0.5)
    }
    assert {(t.distribution, t.experts, t.steps) for t in GROUPS["experts"]} == {  # type: ignore[attr-defined]
        (name, k, 10_000) for name in ("beta", "bernoulli") for k in (25, 50, 100, 200)
    }
    assert {(t.data, t.samples, t.epochs) for t in GROUPS["neural"]} == {  # type: ignore[attr-defined]
        (data, n, 10) for data in ("mnist", "fashion_mnist") for n in (128, 8)
    }
    assert GROUPS["logistic"] == (LogisticRegression(steps=10_000),)
    names = [task.name for tasks in GROUPS.values() for task in tasks]
    assert len(set(names)) == len(names)
    assert choose(PAPER) == [task for group in PAPER for task in GROUPS[group]]
    assert {task.epochs for task in choose(["neural"], quick=True)} == {1}  # type: ignore[attr-defined]
    assert len(choose(["drift"], quick=True)) == 4


@pytest.mark.skipif(not REAL, reason="OEUVRE_DATA does not lead to the public data sets")
@pytest.mark.parametrize(
    ("task", "steps", "first", "falls"),
    [
        (LogisticRegression(), 10_000, math.log(2), True),
        (DriftingRegression("bike_sharing_uci"), 17_329, None, False),
        (DriftingRegression("toulouse_bikes"), 182_420, None, False),
        (DriftingRegression("chick_weights"), 528, None, False),
        (DriftingRegression("wine_quality"), 6_447, None, True),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_on_the_real_data(
    task: LogisticRegression, steps: int, first: float | None, falls: bool
) -> None:
    datasets.content.cache_clear()
    stream = task.stream(0)
    assert len(stream.loss) == len(stream.truth) == steps
    assert first is None or stream.truth[0] == pytest.approx(first)
    assert (stream.truth[-1] < stream.truth[0]) == falls


@pytest.mark.skipif(not REAL, reason="OEUVRE_DATA does not lead to the public data sets")
@pytest.mark.parametrize("data", ["mnist", "fashion_mnist"])
def test_real_images(data: str) -> None:
    from oeuvre.experiments.tasks.images import images

    train_x, train_y, test_x, test_y = images(data)
    assert train_x.shape == (60_000, 784)
    assert test_x.shape == (10_000, 784)
    assert train_x.max() == 1.0
    assert sorted(set(train_y.tolist())) == sorted(set(test_y.tolist())) == list(range(10))
    if data == "mnist":  # as published
        assert train_y[:10].tolist() == [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]
        assert train_x.mean() == pytest.approx(0.1307, abs=5e-5)
