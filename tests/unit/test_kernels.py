"""The compiled and the plain kernels: one source, the same floats."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import oeuvre
from tests.conftest import AS_DATA

SCRIPT = """
import json, sys, warnings
import numpy as np
warnings.simplefilter("ignore")
import oeuvre
from oeuvre._kernels import COMPILED
from tests.conftest import AS_DATA
from tests.unit.test_kernels import results
print(json.dumps({"compiled": COMPILED, "results": results()}))
"""


def results() -> dict[str, list[str]]:
    """Feed every estimator a stream with batches, rates and jumps; return its floats, exactly."""
    rng = np.random.default_rng(0)
    found = {}
    for name, make in AS_DATA.items():
        est = make()
        losses, previous = rng.normal(3.0, 2.0, size=(2, 400))
        course = est.replay(losses, previous)
        paces, sizes = rng.random(100), rng.integers(1, 30, 100)
        batches = est.replay(losses[:100], previous[:100], rates=paces, sizes=sizes)
        est.update_many(losses[:9], previous[:9], rate=0.3)
        est.update(1.0, 2.0)
        columns = [course.estimate, course.weight, batches.estimate, batches.weight]
        columns += [c.variance for c in (course, batches) if c.variance is not None]
        values = [float(x) for column in columns for x in column]
        values += [v for v in est._get_state().values() if isinstance(v, float)]
        found[name] = [value.hex() for value in values]
    return found


def test_plain_kernels_give_the_same_floats(tmp_path: Path) -> None:
    package = Path(oeuvre.__file__).parent
    shutil.copytree(package, tmp_path / "oeuvre", ignore=shutil.ignore_patterns("*.so", "*.pyd"))
    root = Path(__file__).parents[2]
    output = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={"PYTHONPATH": f"{tmp_path}:{root}", "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    plain = json.loads(output)
    assert plain["compiled"] is False
    assert plain["results"] == results()


def test_plain_kernels_warn_once(tmp_path: Path) -> None:
    package = Path(oeuvre.__file__).parent
    shutil.copytree(package, tmp_path / "oeuvre", ignore=shutil.ignore_patterns("*.so", "*.pyd"))
    done = subprocess.run(
        [sys.executable, "-c", "import oeuvre; oeuvre.Oeuvre().update(1.0)"],
        env={"PYTHONPATH": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.count("RuntimeWarning: oeuvre runs without its compiled kernels") == 1


def test_skipping_init_does_not_take_the_interpreter_down() -> None:
    class Forgetful(oeuvre.SlidingWindow):
        def __init__(self) -> None:
            pass

    for act in (
        lambda: Forgetful().update(1.0),
        lambda: Forgetful().replay([1.0]),
        lambda: Forgetful().to_dict(),
    ):
        with pytest.raises((AttributeError, TypeError)):
            act()
    del oeuvre.estimators.KINDS["Forgetful"]


def test_import_is_light() -> None:
    """`import oeuvre` brings NumPy and the kernels, nothing heavier."""
    heavy = ["pandas", "torch", "river", "matplotlib", "scipy", "sklearn", "typer", "rich"]
    code = f"import sys, oeuvre; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", AS_DATA)
def test_state_is_small(name: str) -> None:
    """One estimator takes at most 1 KiB, parameters included, and no more after many steps.

    An ensemble takes at most 16 KiB.
    """
    est = AS_DATA[name]()
    losses = np.ones(1000)
    sizes = []
    for _ in range(2):
        est.replay(losses, losses)
        sizes.append(memory(est))
    assert sizes[0] == sizes[1] <= (16384 if isinstance(est, oeuvre.Ensemble) else 1024)


def memory(est: oeuvre.Estimator) -> int:
    """Return the bytes of an estimator, its parameters, its buffers and its members."""
    params = est._params
    total = sum(map(sys.getsizeof, (est, params, *params.values())))
    total += 16 * getattr(est, "_length", 0)
    if isinstance(est, oeuvre.Ensemble):
        total += sum(memory(part) for part in (*est.members, *(params["estimators"] or ())))
        total += memory(est._recent) + sum(map(sys.getsizeof, (est._members, est._calls)))
        total += sum(8 * len(b) for b in (est._prior, est._weights, est._past, est._sums))
    return total
