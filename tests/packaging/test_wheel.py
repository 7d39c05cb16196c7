"""Wheels from a bare checkout, with and without a compiler."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
USE = """
import sys
sys.path.insert(0, sys.argv[1])
import oeuvre
from oeuvre._kernels import COMPILED
assert oeuvre.__file__.startswith(sys.argv[1]), oeuvre.__file__
est = oeuvre.Oeuvre()
est.replay([0.5, 0.25, 0.75], [0.5, 0.5, 0.5])
print(COMPILED, est.get().hex())
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Copy what git holds, or would: nothing that was built."""
    target = tmp_path / "checkout"
    target.mkdir()
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, target)
    built = shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "src", target / "src", ignore=built)
    return target


@pytest.mark.parametrize("compiler", [True, False], ids=["compiler", "no compiler"])
def test_wheel(checkout: Path, compiler: bool) -> None:
    environment = dict(os.environ)
    if not compiler:
        environment.update(CC="no-such-compiler", CXX="no-such-compiler")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", "dist", "."],
        cwd=checkout,
        env=environment,
        capture_output=True,
        check=True,
    )
    (wheel,) = (checkout / "dist").glob("oeuvre-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(checkout / "installed")
    suffixes = {Path(name).suffix for name in names}
    assert ".c" not in suffixes
    assert (".so" in suffixes) is compiler
    for name in ("py.typed", "_kernels/oeuvre.py", "_kernels/oeuvre.pxd"):
        assert f"oeuvre/{name}" in names
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", USE, str(checkout / "installed")],
        cwd=checkout,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
        capture_output=True,
        text=True,
        check=True,
    )
    import oeuvre

    est = oeuvre.Oeuvre()
    est.replay([0.5, 0.25, 0.75], [0.5, 0.5, 0.5])
    assert done.stdout.split() == [str(compiler), est.get().hex()]
