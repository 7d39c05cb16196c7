"""Which adapter a model gets, what is refused, and what is said where a library is missing."""

import importlib
import subprocess
import sys
from typing import Any

import pytest
import torch
from river import cluster, linear_model, preprocessing, tree
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression, SGDClassifier, SGDRegressor

from oeuvre import AdaptiveOeuvre, Monitor, Oeuvre, Quality
from oeuvre.errors import InvalidParameter, MissingExtra
from oeuvre.learners import Learner, learner_of
from oeuvre.learners.river import RiverLearner
from oeuvre.learners.sklearn import SklearnLearner
from oeuvre.learners.torch import TorchLearner


def made(make: Any, *args: Any) -> Any:
    return make(*args)


class Own:
    """A learner of one's own."""

    def evaluate(self, x: Any, y: Any) -> float:
        return float(y)

    def learn(self, x: Any, y: Any) -> None:
        pass


NETWORK = torch.nn.Linear(2, 1)


@pytest.mark.parametrize(
    ("model", "options", "kind"),
    [
        (made(linear_model.LinearRegression), {}, RiverLearner),
        (
            made(preprocessing.StandardScaler) | made(linear_model.LogisticRegression),
            {"loss": "log"},
            RiverLearner,
        ),
        (made(tree.HoeffdingTreeClassifier), {"loss": "zero-one"}, RiverLearner),
        (SGDRegressor(), {"loss": "absolute"}, SklearnLearner),
        (SGDClassifier(), {"classes": [0, 1], "loss": "hinge"}, SklearnLearner),
        (NETWORK, {"optimizer": torch.optim.SGD(NETWORK.parameters(), 0.1)}, TorchLearner),
        (NETWORK, {"step": print, "loss": "squared", "score": "eval"}, TorchLearner),
        (Own(), {}, Own),
    ],
)
def test_each_library_has_its_adapter(model: Any, options: Any, kind: type[Any]) -> None:
    monitor = Monitor.of(model, **options)
    assert type(monitor.learner) is kind
    assert isinstance(monitor.learner, Learner)
    assert kind is Own or monitor.learner.model is model  # type: ignore[attr-defined]
    assert isinstance(monitor.estimator, AdaptiveOeuvre)
    assert type(learner_of(model, **options)) is kind


def test_the_options_of_a_monitor_go_to_the_monitor() -> None:
    estimator = Oeuvre()
    monitor = Monitor.of(
        SGDClassifier(),
        "hinge",
        estimator,
        classes=[0, 1],
        mode="snapshot",
        skip=True,
        quality=True,
    )
    assert monitor.estimator is estimator
    assert isinstance(monitor.quality, Quality)
    assert monitor.to_dict()["params"] == {
        "mode": "snapshot",
        "skip": True,
        "quality": True,
        "guard": 5,
        "limit": 1000,
    }


@pytest.mark.parametrize(
    "model",
    [3, "a model", None, lambda x: x, object(), KMeans(2), LinearRegression(), torch.zeros(3), {}],
    ids=lambda model: type(model).__name__,
)
def test_what_is_no_model_is_refused_by_a_message_that_says_what_is_one(model: Any) -> None:
    with pytest.raises(
        InvalidParameter,
        match="'model'.* of Monitor.of must be a River model.*'partial_fit'.*PyTorch.*'learn'",
    ):
        Monitor.of(model)


@pytest.mark.parametrize(
    "kind", [linear_model.LinearRegression, SGDRegressor, torch.nn.Linear, Own]
)
def test_a_class_is_not_a_model(kind: type[Any]) -> None:
    with pytest.raises(
        InvalidParameter, match="'model' parameter of Monitor.of must be a model, not"
    ):
        Monitor.of(kind)


def test_a_clustering_of_rivers_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="'model'.* must be a River regressor or classifier"):
        Monitor.of(made(cluster.KMeans))


def test_a_learner_has_its_own_loss() -> None:
    with pytest.raises(InvalidParameter, match="'loss'.* must be left out: a learner has"):
        Monitor.of(Own(), "squared")
    with pytest.raises(InvalidParameter, match="'classes'.* must be left out"):
        Monitor.of(Own(), classes=[0, 1])


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (made(linear_model.LinearRegression), {"classes": [0, 1]}),
        (SGDRegressor(), {"optimizer": None}),
        (NETWORK, {"step": print, "classes": [0, 1]}),
    ],
)
def test_an_option_of_another_adapter_is_refused(model: Any, options: Any) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        Monitor.of(model, **options)


def test_a_learner_without_labels_has_no_quality() -> None:
    with pytest.raises(InvalidParameter, match="'quality'.* this learner has no 'predicted'"):
        Monitor.of(Own(), quality=True)


BLOCK = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {names!r}:
            raise ImportError(f"No module named {{name!r}}")

sys.meta_path.insert(0, Block())
from oeuvre import Monitor
from oeuvre.errors import MissingExtra

class Model:
    def partial_fit(self, x, y): ...
    def predict(self, x): ...

class Network:
    def state_dict(self): ...
    def __call__(self, x): ...

try:
    {action}
except MissingExtra as error:
    assert isinstance(error, ImportError)
    print(error)
"""


@pytest.mark.parametrize(
    ("names", "action", "message"),
    [
        (
            ["sklearn"],
            "Monitor.of(Model())",
            "SklearnLearner needs scikit-learn, which is not installed: "
            "pip install 'oeuvre[sklearn]'",
        ),
        (["torch"], "Monitor.of(Network())", "pip install 'oeuvre[torch]'"),
        (["torch"], "import oeuvre.learners.torch", "needs PyTorch, which is not installed"),
        (["torch", "lightning"], "import oeuvre.learners.lightning", "pip install 'oeuvre["),
    ],
)
def test_a_missing_library_is_told_with_the_command_that_installs_it(
    names: list[str], action: str, message: str
) -> None:
    script = BLOCK.format(names=names, action=action)
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stderr) == (0, "")
    assert message in found.stdout


def test_a_missing_lightning_is_told_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "lightning.pytorch", None)
    monkeypatch.delitem(sys.modules, "oeuvre.learners.lightning", raising=False)
    message = r"needs Lightning, which is not installed: pip install 'oeuvre\[lightning\]'"
    with pytest.raises(MissingExtra, match=message):
        importlib.import_module("oeuvre.learners.lightning")


def test_no_library_is_imported_before_its_model_comes() -> None:
    script = (
        "import sys, oeuvre\n"
        "oeuvre.Monitor\n"
        "names = {'river', 'sklearn', 'torch', 'lightning', 'pandas'}\n"
        "print(sorted(names & set(sys.modules)))"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert found.stdout == "[]\n"
