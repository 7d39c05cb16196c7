"""The sweep: right scores, resumable, and only what changed is done again."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import joblib
import numpy as np
import polars as pl
import pytest

import oeuvre
from oeuvre import Oeuvre, Prequential, SlidingWindow
from oeuvre.errors import DataError, InvalidParameter
from oeuvre.experiments import datasets, store, sweep
from oeuvre.experiments.datasets import DATASETS
from oeuvre.experiments.store import Store, fingerprint
from oeuvre.experiments.sweep import BASELINES, Job, Sweep, families, score
from oeuvre.experiments.tasks import (
    DriftingRegression,
    ExpertAdvice,
    LinearRegression,
    LogisticRegression,
    NeuralNetwork,
    Stream,
)
from tests.experiments.data import files, write_emnist

TASKS = [
    LinearRegression(5, 0.1, steps=120),
    ExpertAdvice("beta", 4, steps=120),
    ExpertAdvice("bernoulli", 4, steps=120),
]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    made = Sweep(TASKS, 2, tmp_path_factory.mktemp("cells"))
    assert set(made.run(1)) == set(made.jobs)
    return made


def test_the_grid_is_the_papers() -> None:
    def values(family: str) -> set[float]:
        return {value for member in BASELINES[family] for value in member._params.values()}

    assert values("SW") == {10, 50, 100, 200, 400, 600, 800, 1000}
    assert values("EMA") == {0.1, 0.05, 0.01, 0.005, 0.001}
    assert values("FFPreq") == {0.8, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999}
    powers = {10.0**-k for k in range(2, 7)} | {5 * 10.0**-k for k in range(2, 6)}
    tenths = {k / 10 for k in range(1, 10)}
    assert sorted(values("ADWIN")) == pytest.approx(sorted(powers | tenths))
    assert len(values("ADWIN")) == 18
    assert list(BASELINES) == ["Prequential", "SW", "EMA", "FFPreq", "ADWIN"]


def test_ours_has_the_rate_of_the_task() -> None:
    assert repr(families(LogisticRegression())["OEUVRE"]) == "(Oeuvre(rate='1/t'),)"
    assert repr(families(TASKS[0])["OEUVRE"]) == "(Oeuvre(),)"  # 1/sqrt(t) is the default


def test_metrics_by_hand() -> None:
    estimate, truth = np.array([1.0, 3.0, 9.0, 2.0]), np.array([2.0, 1.0, np.nan, 2.0])
    assert score(estimate, truth) == {
        "rmse": pytest.approx((5 / 3) ** 0.5),
        "mae": pytest.approx(1.0),
        "bias": pytest.approx(1 / 3),
    }


def test_scores_are_those_of_estimators_updated_one_by_one(done: Sweep) -> None:
    scores = done.scores()
    settings = sum(len(members) for members in families(TASKS[0]).values())
    assert settings == 43
    assert len(scores) == len(TASKS) * 2 * settings
    for task in TASKS:
        stream = task.stream(1)
        for estimator in (Oeuvre(), SlidingWindow(50), Prequential()):
            course = []
            for loss, previous in zip(stream.loss, stream.previous, strict=True):
                estimator.update(loss, previous)
                course.append(estimator.get())
            error = np.array(course) - stream.truth
            (row,) = scores.filter(task=task.name, seed=1, setting=repr(estimator)).to_dicts()
            assert row["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)), rel=1e-12)
            assert row["mae"] == pytest.approx(np.mean(np.abs(error)), rel=1e-12)
            assert row["bias"] == pytest.approx(np.mean(error), rel=1e-9)


def test_rates_of_the_stream_and_a_second_truth_are_used() -> None:
    rng = np.random.default_rng(0)
    loss, previous, truth = rng.random((3, 80))
    rates = rng.random(80) / 10
    sharp = np.where(np.arange(80) % 10 == 9, truth, np.nan)
    table = sweep.score_family((Oeuvre(),), Stream(loss, previous, truth, rates, sharp))
    assert table["truth"].to_list() == ["paper", "sharp"]
    error = Oeuvre().replay(loss, previous, rates=rates).estimate - truth
    assert table["mae"].to_list() == [
        pytest.approx(np.abs(error).mean()),
        pytest.approx(np.abs(error[9::10]).mean()),
    ]


def test_a_second_run_does_nothing(done: Sweep, monkeypatch: pytest.MonkeyPatch) -> None:
    before = files(done.store.folder)
    monkeypatch.setattr(sweep, "work", None)
    assert set(done.run(1)) == set(done.jobs)
    assert files(done.store.folder) == before


def test_a_run_that_was_stopped_goes_on(done: Sweep, tmp_path: Path) -> None:
    part = Sweep(TASKS, 2, tmp_path)
    first = part.run(1)
    finished = [next(first), next(first)]
    first.close()
    assert 0 < len(files(tmp_path)) < len(files(done.store.folder))
    with pytest.raises(LookupError, match="is not done"):
        part.scores()
    assert list(part.run(1))[:2] == finished  # what is done is told first
    assert files(tmp_path) == files(done.store.folder)


@pytest.mark.parametrize("harm", ["cut", "empty", "flip", "zeros", "gone"])
def test_a_torn_file_is_made_again(done: Sweep, tmp_path: Path, harm: str) -> None:
    shutil.copytree(done.store.folder, tmp_path, dirs_exist_ok=True)
    hurt = sorted(tmp_path.rglob("*.parquet"))[::3]
    assert any("stream" in path.name for path in hurt)
    for path in hurt:
        data = bytearray(path.read_bytes())
        if harm == "cut":
            path.write_bytes(data[: len(data) // 2])
        elif harm == "empty":
            path.write_bytes(b"")
        elif harm == "flip":
            data[len(data) // 3] ^= 1
            path.write_bytes(data)
        elif harm == "zeros":
            path.write_bytes(bytes(len(data)))
        else:
            path.unlink()
    again = Sweep(TASKS, 2, tmp_path)
    assert set(again.run(1)) == set(again.jobs)
    assert again.scores().equals(done.scores())
    assert files(tmp_path) == files(done.store.folder)


def test_a_changed_estimator_costs_only_its_own_cells(
    done: Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(done.store.folder, tmp_path, dirs_exist_ok=True)
    before = files(tmp_path)
    monkeypatch.setitem(sweep.BASELINES, "SW", (SlidingWindow(3),))
    monkeypatch.setattr(LinearRegression, "make", None)  # streams are not made again
    monkeypatch.setattr(ExpertAdvice, "make", None)
    again = Sweep(TASKS, 2, tmp_path)
    assert set(again.run(1)) == set(again.jobs)
    new = set(files(tmp_path)) - set(before)
    assert len(new) == len(again.jobs)
    assert all(Path(name).name.startswith("SW.") for name in new)
    assert again.scores().filter(family="SW")["setting"].unique().to_list() == [
        "SlidingWindow(size=3)"
    ]


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the package's sources that a test may change."""
    package = tmp_path / "oeuvre"
    shutil.copytree(Path(oeuvre.__file__).parent, package)
    monkeypatch.setattr(oeuvre, "__file__", str(package / "__init__.py"))
    store.read_code.cache_clear()
    yield package
    store.read_code.cache_clear()


@pytest.mark.parametrize(
    ("module", "changed"),
    [
        ("_kernels/oeuvre.py", {"oeuvre"}),
        ("rates.py", {"oeuvre"}),
        ("_kernels/averages.py", {"window"}),
        ("estimators/base.py", {"oeuvre", "window"}),
        ("experiments/tasks/gradient.py", {"linear"}),
        ("experiments/tasks/images.py", {"neural"}),
        ("experiments/tasks/base.py", {"linear", "neural"}),
        ("experiments/datasets.py", set()),
        ("errors.py", set()),
    ],
)
def test_code_is_part_of_the_fingerprint(copied: Path, module: str, changed: set[str]) -> None:
    things = {
        "oeuvre": Oeuvre(),
        "window": SlidingWindow(5),
        "linear": TASKS[0],
        "neural": NeuralNetwork("mnist", 8),
    }
    before = {name: fingerprint(thing) for name, thing in things.items()}
    path = copied / module
    text = path.read_text()
    path.write_text('"""Another docstring."""\n\n# a comment\n' + text.split('"""', 2)[2])
    store.read_code.cache_clear()
    assert {name: fingerprint(thing) for name, thing in things.items()} == before
    path.write_text(text + "\n\nADDED = 1\n")
    store.read_code.cache_clear()
    after = {name: fingerprint(thing) for name, thing in things.items()}
    assert {name for name in things if after[name] != before[name]} == changed


def test_a_task_from_elsewhere_is_known_by_its_own_code_too(copied: Path) -> None:
    class Mine(LinearRegression):
        def make(self, rng: np.random.Generator) -> Stream:
            return super().make(rng)

    code = fingerprint(Mine(5, 0.1))["code"]
    assert {"oeuvre.experiments.tasks.linear", "oeuvre.experiments.tasks.gradient"} < set(code)
    assert any(name.endswith("Mine") for name in code)
    typed = type("Typed", (), {"__module__": "a_prompt"})
    assert fingerprint(typed())["code"] == {"Typed": store.THIS_PROCESS}


def test_parameters_and_libraries_are_part_of_the_fingerprint() -> None:
    assert fingerprint(SlidingWindow(5)) != fingerprint(SlidingWindow(6))
    assert fingerprint(TASKS[0]) != fingerprint(LinearRegression(5, 0.2, steps=120))
    assert fingerprint(TASKS[0], "numpy")["libraries"] == {"numpy": np.__version__}
    one, two = Job(TASKS[0], 0), Job(TASKS[0], 1)
    assert one.maker != two.maker
    assert one.maker_of(BASELINES["SW"]) != two.maker_of(BASELINES["SW"])
    assert "river" in str(one.maker_of(BASELINES["ADWIN"]))


def test_the_data_are_part_of_what_made_a_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OEUVRE_DATA", str(tmp_path))
    wine = Job(DriftingRegression("wine_quality"), 0)
    assert wine.maker["data"] == [file.sha256 for file in DATASETS["wine_quality"].files]
    emnist = Job(NeuralNetwork("emnist", 8), 0)
    write_emnist(tmp_path, train=20, test=10)
    datasets._digest.cache_clear()
    before = emnist.maker
    write_emnist(tmp_path, train=21, test=10)
    datasets._digest.cache_clear()
    assert emnist.maker != before


def test_compiled_files_are_part_of_the_fingerprint(copied: Path) -> None:
    before = fingerprint(Oeuvre())
    (copied / "_kernels" / "oeuvre.made-up.so").write_bytes(b"other code")
    store.read_code.cache_clear()
    assert fingerprint(Oeuvre()) != before


def test_tasks_of_one_name_are_refused(tmp_path: Path) -> None:
    twice = [ExpertAdvice("beta", 4, steps=100), ExpertAdvice("beta", 4, steps=300)]
    with pytest.raises(InvalidParameter, match=r"'tasks'.*different names.*experts-beta-k4"):
        Sweep(twice, 1, tmp_path)
    assert len(Sweep([TASKS[0], TASKS[0]], 1, tmp_path).tasks) == 1
    with pytest.raises(InvalidParameter, match="The 'seeds' parameter of Sweep"):
        Sweep(TASKS, 0, tmp_path)


def test_an_error_in_a_run_names_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OEUVRE_DATA", str(tmp_path))
    write_emnist(tmp_path, train=20, test=10)
    path = tmp_path / "emnist" / "emnist-digits-test-labels-idx1-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-4])
    datasets.content.cache_clear()
    with pytest.raises(DataError, match="not a whole gzip file") as caught:
        list(Sweep([NeuralNetwork("emnist", 8)], 1, tmp_path / "cells").run(1))
    assert caught.value.__notes__ == ["This was neural-emnist-8 with seed 0."]


def test_the_store_keeps_tables(tmp_path: Path) -> None:
    kept = Store(tmp_path)
    table = pl.DataFrame({"a": [1.0, float("nan"), -0.0], "b": ["x", "y", "z"]})
    assert kept.read("some/label", {"by": 1}) is None
    kept.write("some/label", {"by": 1}, table)
    found = kept.read("some/label", {"by": 1})
    assert found is not None
    assert found.equals(table)
    assert kept.read("some/label", {"by": 2}) is None
    assert kept.read("some/lab", {"by": 1}) is None
    assert len(list(tmp_path.rglob("*"))) == 2  # a folder and a file, nothing left beside


def test_tasks_without_randomness_run_once(tmp_path: Path) -> None:
    made = Sweep([DriftingRegression("chick_weights"), TASKS[0]], 3, tmp_path)
    assert [job.seed for job in made.jobs] == [0, 0, 1, 2]


def test_workers_in_other_processes_give_the_same_files(done: Sweep, tmp_path: Path) -> None:
    made = Sweep(TASKS, 2, tmp_path)
    assert set(made.run(2)) == set(made.jobs)
    assert files(tmp_path) == files(done.store.folder)


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_dask_cluster_gives_the_same_files(done: Sweep, tmp_path: Path) -> None:
    from distributed import Client, LocalCluster

    made = Sweep(TASKS, 2, tmp_path)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
        joblib.parallel_config(backend="dask"),
    ):
        assert set(made.run()) == set(made.jobs)
        tasks_done = client.run(lambda dask_worker: len(dask_worker.state.log))
    assert sum(tasks_done.values()) > 0  # it was the cluster's workers that did it
    assert files(tmp_path) == files(done.store.folder)
