"""The command line, through its installed entry point."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import oeuvre

COMMAND = str(Path(sys.executable).with_name("oeuvre"))


def run(*arguments: str, cwd: Path, **changes: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, *arguments],
        cwd=cwd,
        env={**os.environ, "COLUMNS": "100", "PYTHONWARNINGS": "ignore", **changes},
        capture_output=True,
        text=True,
        check=False,
    )


def test_version(tmp_path: Path) -> None:
    done = run("--version", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"oeuvre {oeuvre.__version__}\n")


def test_help_names_the_commands(tmp_path: Path) -> None:
    done = run(cwd=tmp_path)
    assert "demo" in done.stdout
    assert "a model that keeps learning" in done.stdout


def test_demo_writes_a_picture_where_it_is_told(tmp_path: Path) -> None:
    done = run("demo", "--seed", "3", "--out", "a/b.png", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Log loss of the current model after 992 pages" in done.stdout
    assert re.search(r"The monitor says: from 0\.\d+ to 0\.\d+ \(95 %\)", done.stdout)
    assert "The picture is in a/b.png" in done.stdout
    assert (tmp_path / "a" / "b.png").read_bytes().startswith(b"\x89PNG")
    assert len(list((tmp_path / "a").iterdir())) == 1


@pytest.mark.parametrize(
    "option", [("--seed", "x"), ("--seed", "-1"), ("--out", "x.foo"), ("--out", ".")]
)
def test_a_bad_option_is_refused(tmp_path: Path, option: tuple[str, str]) -> None:
    done = run("demo", *option, cwd=tmp_path)
    assert done.returncode == 2
    assert option[0] in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_an_error_of_the_system_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run("demo", "--out", "file/x.png", cwd=tmp_path)
    assert done.returncode == 1
    assert re.fullmatch(r"oeuvre: .*file.*\n", done.stderr)


def test_module_is_the_command_line_too(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "oeuvre", "--version"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"oeuvre {oeuvre.__version__}\n"


def test_a_missing_extra_is_one_line_with_the_command(tmp_path: Path) -> None:
    (tmp_path / "river.py").write_text("raise ImportError('gone', name='river')")
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    done = run("demo", cwd=tmp_path, PYTHONPATH=path)
    assert done.returncode == 1
    assert done.stderr.strip() == (
        "oeuvre: The demo needs river, which is not installed: pip install 'oeuvre[demo]'"
    )
    assert not (tmp_path / "out").exists()
