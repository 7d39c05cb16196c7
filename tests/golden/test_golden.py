"""The library beside vectors of an independent computation with 50 digits (`generate.py`)."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oeuvre
from oeuvre import AdaptiveOeuvre, Ensemble, Oeuvre, rates
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


@pytest.mark.parametrize(
    "case", VECTORS["adaptives"], ids=lambda case: f"{case['name']}-{case['two_gain']}"
)
def test_adaptive(case: dict[str, Any]) -> None:
    est = AdaptiveOeuvre(two_gain=case["two_gain"], drift=case["drift"])
    course = est.replay(case["losses"], case["previous"], sizes=case["sizes"])
    expected = {name: np.array(x, dtype=float) for name, x in case["expected"].items()}
    np.testing.assert_allclose(course.estimate, expected["estimate"], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(course.weight, expected["weight"], rtol=1e-11)
    assert course.variance is not None
    np.testing.assert_allclose(course.variance, expected["variance"], rtol=1e-11)
    assert est.gains == pytest.approx((expected["beta"][-1], expected["weight"][-1]), rel=1e-11)
    assert est.restarts == int(case["drift"] is not None)


@pytest.mark.parametrize(
    "case", VECTORS["blends"], ids=lambda case: f"{case['horizon']}-{bool(case['sizes'])}"
)
def test_blend(case: dict[str, Any]) -> None:
    members = [
        getattr(oeuvre, kind)(*([] if parameter is None else [parameter]))
        for kind, parameter in case["members"]
    ]
    est = Ensemble(members, prior=case["prior"], horizon=case["horizon"])
    course = est.replay(case["losses"], case["previous"], sizes=case["sizes"])
    for got, name in ((course.estimate, "estimate"), (est.weights, "weights")):
        np.testing.assert_allclose(got, np.array(case["expected"][name], dtype=float), rtol=1e-11)


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
    gains = [
        (float(beta), float(gamma))
        for case in VECTORS["adaptives"]
        if case["two_gain"]
        for beta, gamma in zip(case["expected"]["beta"], case["expected"]["weight"], strict=True)
    ]
    assert any(gamma < beta < 1.0 for beta, gamma in gains)
    assert any(gamma == beta < 1.0 for beta, gamma in gains)
    assert any(gamma < beta == 1.0 for beta, gamma in gains[3:])
