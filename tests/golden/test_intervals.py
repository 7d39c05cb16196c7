"""Intervals beside ends computed independently with 50 digits (`generate_intervals.py`)."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oeuvre import Interval, Oeuvre, intervals, rates
from tests.golden import generate_intervals as generate

VECTORS = json.loads(generate.TARGET.read_text())
KINDS: dict[str, dict[str, Any]] = {
    "normal": {"kind": "normal"},
    "conservative": {"kind": "conservative"},
    "hoeffding tight": {"kind": "hoeffding"},
    "hoeffding paper": {"kind": "hoeffding", "proxy": "paper"},
    "anytime tight": {"kind": "anytime"},
    "anytime paper": {"kind": "anytime", "proxy": "paper"},
    "bernstein": {"kind": "bernstein"},
    "bernstein at all steps": {"kind": "bernstein"},
}


def check(got: Interval, expected: list[str], scale: float) -> None:
    """Compare ends; an end near 0 is the difference of two numbers of size `scale`."""
    ends = [float(each) for each in expected]
    np.testing.assert_allclose([got.lower, got.upper], ends, rtol=1e-12, atol=1e-12 * scale)


@pytest.mark.parametrize("name", ["normal", "hoeffding", "anytime", "bernstein"])
def test_plain_numbers(name: str) -> None:
    cases = [case for case in VECTORS["plain"] if case["name"] == name]
    assert len(cases) >= 18
    for case in cases:
        given, options = case["given"], {"side": case["side"]}
        if name == "bernstein" and len(given) == 6:
            *given, options["log_ratio"] = given
        got = getattr(intervals, name)(*given, case["level"], **options)
        assert got.level == case["level"]
        check(got, case["expected"], abs(given[0]))


@pytest.mark.parametrize("case", VECTORS["streams"], ids=lambda case: case["name"])
def test_streams(case: dict[str, Any]) -> None:
    est = Oeuvre(rates.Power(case["exponent"]), b=case["b"], c=case["c"], gamma=case["gamma"])
    for expected in case["expected"]:
        part = slice(est.n, expected["t"])
        given = {key: case[key] and case[key][part] for key in ("rates", "sizes")}
        est.replay(case["losses"][part], case["previous"][part], **given)
        for name, ends in expected["ends"].items():
            options = dict(KINDS[name])
            if "anytime" in name or "all" in name:
                options["horizon"] = case["horizon"]
            check(est.interval(case["level"], **options), ends, 1.0)


def test_the_file_is_what_the_generator_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed = generate.TARGET.read_text()
    monkeypatch.setattr(generate, "TARGET", tmp_path / "intervals.json")
    generate.main()
    assert (tmp_path / "intervals.json").read_text() == committed


def test_the_generator_shares_no_code_with_the_library() -> None:
    assert "oeuvre" not in Path(generate.__file__).read_text()


def test_the_vectors_reach_every_case() -> None:
    ends = {
        (case["name"], expected["t"], kind): [float(each) for each in given]
        for case in VECTORS["streams"]
        for expected in case["expected"]
        for kind, given in expected["ends"].items()
    }
    assert {kind for _, _, kind in ends} == set(KINDS)
    for kind in KINDS:
        later = kind.startswith("anytime") or "all" in kind
        assert np.isfinite(ends["restart", 31, kind]).all()
        assert np.isfinite(ends["restart", 32, kind]).all() == (not later)
        for name, step in (("restart", 31), ("late start", 1), ("late start", 3)):
            width = np.diff(ends[name, step, kind])
            assert (width == pytest.approx(2.0, rel=1e-12)) == later
        assert np.isfinite([ends["late start", t, kind] for t in (4, 5, 20)]).all()
    larger = [each["larger"] for case in VECTORS["streams"] for each in case["expected"]]
    assert min(larger.count("seen"), larger.count("promised")) >= 10
    below, above = np.abs(np.array(ends["known", 40, "bernstein"]) - 0.5)
    assert abs(below - above) > 0.01
    assert ends["known", 40, "anytime tight"] == pytest.approx(ends["known", 40, "hoeffding tight"])
    assert ends["known", 10, "anytime tight"] != pytest.approx(ends["known", 10, "hoeffding tight"])
