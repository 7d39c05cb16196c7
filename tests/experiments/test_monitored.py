"""Real models on real data, and the command that writes them down."""

import math
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from oeuvre import cli
from oeuvre.experiments import monitored
from oeuvre.report import pages


def test_the_running_metric_is_rivers_and_a_fifth_is_set_aside() -> None:
    run = monitored.PHISHING.run()
    assert 950 < run.steps < 1050
    assert run.snapshot.n == run.steps
    assert run.running > run.snapshot.estimate  # of models that are gone
    assert 0.0 < run.error < 0.05
    assert math.isnan(monitored.APPROVAL.run().aside)  # of another time


def test_the_command_writes_both_tables_into_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(monitored, "RUNS", [monitored.PHISHING.run, monitored.digits])
    monkeypatch.setattr(monitored, "quality_rows", lambda: (("metric", "a", "b"), [("F1",) * 3]))
    begin, end = pages.marks(monitored.COMMAND)
    page = tmp_path / "page.md"
    page.write_text(f"before\n{begin}\nlast time\n{end}\nafter\n")
    done: Any = CliRunner().invoke(cli.app, ["monitors", "--page", str(page)])
    assert done.exit_code == 0, done.output
    text = page.read_text()
    assert text.startswith(f"before\n{begin}\n\n| data | model |")
    assert text.endswith(f"{end}\nafter\n")
    assert "last time" not in text
    assert "\n| digits | MLPClassifier, batches of 16 |" in text
    assert "\n| F1 | F1 | F1 |\n" in text
    assert "Loss of the last model" in done.output
