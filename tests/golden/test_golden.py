"""The library beside vectors of an independent computation with 50 digits (`generate.py`)."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oeuvre
from oeuvre import Oeuvre, rates
from tests.golden import generate

VECTORS = json.loads(generate.TARGET.read_text())


@pytest.mark.parametrize("case", VECTORS["estimators"], ids=lambda case: case["name"])
def test_estimator(case: dict[str, Any]) -> None:
    est = Oeuvre(
        rates.Power(case["exponent"]),
        b=case["b"],
        c=case["c"],
        burn_in=case["burn_in"],
        gamma=case["gamma"],
    )
    course = est.replay(case["losses"], case["previous"], rates=case["rates"], sizes=case["sizes"])
    for name, expected in case["expected"].items():
        np.testing.assert_allclose(
            getattr(course, name), np.array(expected, dtype=float), rtol=1e-11, atol=1e-14
        )


@pytest.mark.parametrize(
    "case", VECTORS["averages"], ids=lambda case: f"{case['kind']}-{bool(case['sizes'])}"
)
def test_average(case: dict[str, Any]) -> None:
    kind = getattr(oeuvre, case["kind"])
    est = kind() if case["parameter"] is None else kind(case["parameter"])
    course = est.replay(case["losses"], sizes=case["sizes"])
    np.testing.assert_allclose(
        course.estimate, np.array(case["expected"], dtype=float), rtol=1e-12, atol=1e-14
    )


def test_the_file_is_what_the_generator_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed = generate.TARGET.read_text()
    monkeypatch.setattr(generate, "TARGET", tmp_path / "vectors.json")
    generate.main()
    assert (tmp_path / "vectors.json").read_text() == committed


def test_the_generator_shares_no_code_with_the_library() -> None:
    assert "oeuvre" not in Path(generate.__file__).read_text().replace("oeuvre_", "")


def test_the_vectors_reach_every_case() -> None:
    weights = [float(w) for case in VECTORS["estimators"] for w in case["expected"]["weight"][1:]]
    assert 0.0 in weights
    assert any(
        float(w) == 1.0
        for case in VECTORS["estimators"]
        if case["b"] is not None
        for w in case["expected"]["weight"][1:]
    )
