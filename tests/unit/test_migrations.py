"""States from before there were intervals: same estimates, wider intervals that narrow again."""

import copy
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oeuvre
from oeuvre import AdaptiveOeuvre, Ensemble, Estimator, Oeuvre
from oeuvre.errors import StateError
from tests.conftest import Pairs, learner_pairs, snapshot

OLD = re.findall(
    r"\w+",
    "n estimate gamma bound retained folds b c values mass change_mean change_spread loss_mean "
    "loss_spread p q r",
)
"""What a state of an Oeuvre of version 1 had."""
SETTINGS: dict[str, dict[str, Any]] = {
    "optimal": {"b": 1.0, "c": 0.3},
    "1/t": {"rate": "1/t", "b": 1.0, "c": 0.5},
    "static": {"b": 1.0, "c": 0.0},
    "weights 1/t": {"b": 1.0, "c": 0.3, "gamma": "1/t"},
    "constant weights": {"b": 1.0, "c": 0.1, "gamma": 0.05},
    "estimated": {},
}
FROM_THEN = """{
 "format": "oeuvre", "kind": "Oeuvre", "version": 1,
 "params": {"rate": "1/sqrt(t)", "b": 1.0, "c": 0.3, "burn_in": 30, "gamma": null},
 "state": {
  "n": 8, "estimate": 0.3445620767652244, "gamma": 0.1737363519418392,
  "bound": 0.26137484623031826, "retained": 0.08715006277819567, "folds": 0, "b": 1.0, "c": 0.3,
  "values": 0, "mass": 0.0, "change_mean": 0.0, "change_spread": 0.0, "loss_mean": 0.0,
  "loss_spread": 0.0, "p": 0.0, "q": 0.0, "r": 0.0
 }
}
"""
"""A file as version 1 wrote it, after 8 steps."""


def aged(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document as version 1 would have written it, members and all."""
    old = copy.deepcopy(document)
    if old["kind"] == "Oeuvre":
        old["version"] = 1
        old["state"] = {name: old["state"][name] for name in OLD}
    if old["kind"] == "Ensemble":
        old["state"]["members"] = [aged(each) for each in old["state"]["members"]]
        if old["params"]["estimators"] is not None:
            old["params"]["estimators"] = [aged(each) for each in old["params"]["estimators"]]
    return old


def bounded(steps: int, seed: int = 0) -> Pairs:
    """Losses from 0 to 1, and those of the model before."""
    rng = np.random.default_rng(seed)
    losses = rng.random(steps)
    return losses, np.clip(losses + rng.normal(size=steps) * 0.3 / steps, 0.0, 1.0)


def feed(est: Estimator, pairs: Pairs, start: int, stop: int) -> None:
    if start < stop:
        est.replay(pairs[0][start:stop], pairs[1][start:stop])


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("steps", [0, 1, 2, 3, 31, 32, 100])
def test_the_estimates_go_on_as_if_nothing_had_happened(name: str, steps: int) -> None:
    pairs = bounded(200)
    est = Oeuvre(**SETTINGS[name])
    feed(est, pairs, 0, steps)
    old = aged(est.to_dict())
    assert len(old["state"]) == 17
    again = Oeuvre.from_dict(json.loads(json.dumps(old)))
    assert again.n == steps
    if steps:
        assert (again.get(), again.weight) == (est.get(), est.weight)
        assert (again.variance, again.effective_n) == (est.variance, est.effective_n)
    feed(est, pairs, steps, 200)
    feed(again, pairs, steps, 200)
    assert {key: snapshot(again)[key] for key in OLD} == {key: snapshot(est)[key] for key in OLD}
    assert again.to_dict()["version"] == 2
    assert Estimator.from_dict(again.to_dict()).to_dict() == again.to_dict()


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("steps", [0, 1, 5, 31, 32, 77])
def test_the_widest_that_fits_stands_in_for_what_is_lost(name: str, steps: int) -> None:
    est = Oeuvre(**SETTINGS[name])
    feed(est, bounded(100), 0, steps)
    old, new = snapshot(est), snapshot(Oeuvre.from_dict(aged(est.to_dict())))
    b = old["b"] if name != "estimated" else 0.0  # estimated constants bound nothing
    assert new == {
        **{key: old[key] for key in OLD},
        "batch": 1.0,
        "started": min(1, steps) if old["gamma"] < 1.0 else steps,
        "outside": 0,
        "realised": 0.0,
        "promised": old["bound"],
        "opening": steps * b**2,
        "share": new["share"],
        "tight": old["bound"] if b else 0.0,
        "drop": b,
        "rise": b,
        "reach": b,
        "pace": pytest.approx(1.0 if steps < 32 else (steps - steps % 32) ** -0.7, rel=1e-12),
        "change": 0.0,
        "level": old["estimate"],
        "var_d": 2.0 * old["gamma"] * old["bound"],
        "var_p": 0.0,
        "cov": 0.0,
    }
    assert 0.0 < new["share"] < 1e-30


def test_a_sequence_goes_on_only_from_a_start_of_the_plan() -> None:
    pairs = bounded(40)
    for rates, finite in (([0.1] * 20, True), ([0.1] * 19 + [9.0], False)):
        est = Oeuvre(b=1.0, c=0.3)
        est.replay(pairs[0][:20], pairs[1][:20], rates=rates)
        again = Oeuvre.from_dict(aged(est.to_dict()))
        assert again._started == est._started == (1 if finite else 20)
        for kind in ("anytime", "bernstein"):
            ends = again.interval(kind=kind, horizon=30)
            if not finite:
                assert (ends.lower, ends.upper) == (again.get() - 1.0, again.get() + 1.0)
        feed(again, pairs, 20, 40)
        for kind in ("anytime", "bernstein"):
            assert math.isfinite(again.interval(kind=kind, horizon=30).width) == finite


@pytest.mark.parametrize("name", SETTINGS)
def test_a_state_without_steps_is_a_fresh_one(name: str) -> None:
    pairs = bounded(50)
    fresh, again = (
        Oeuvre(**SETTINGS[name]),
        Oeuvre.from_dict(aged(Oeuvre(**SETTINGS[name]).to_dict())),
    )
    for est in (fresh, again):
        feed(est, pairs, 0, 50)
    assert snapshot(again) == snapshot(fresh)


@pytest.mark.parametrize("name", [name for name in SETTINGS if name != "estimated"])
@pytest.mark.parametrize("size", [1, 9, 1000])
@pytest.mark.parametrize("steps", [1, 2, 10, 100])
def test_what_is_lost_makes_intervals_wider(name: str, size: int, steps: int) -> None:
    losses = (np.random.default_rng(1).random((steps, size)) < 0.4).mean(axis=1)
    est = Oeuvre(**SETTINGS[name])
    est.replay(losses, losses, sizes=np.full(steps, size))
    again = Oeuvre.from_dict(aged(est.to_dict()))
    for kind in ("hoeffding", "bernstein"):
        before, after = est.interval(kind=kind), again.interval(kind=kind)
        assert -math.inf < after.lower <= before.lower
        assert before.upper <= after.upper < math.inf
    assert again.interval(kind="conservative") == est.interval(kind="conservative")
    assert again.interval(kind="hoeffding", proxy="paper") == est.interval(
        kind="hoeffding", proxy="paper"
    )
    if steps > 2:
        assert again.interval().width == pytest.approx(again.interval(kind="conservative").width)


@pytest.mark.parametrize("steps", [1, 2, 3, 31, 32, 33, 100])
def test_intervals_of_every_kind_are_there_at_once_and_later(steps: int) -> None:
    pairs = bounded(300)
    est = Oeuvre(b=1.0, c=0.3)
    feed(est, pairs, 0, steps)
    again = Oeuvre.from_dict(aged(est.to_dict()))
    for stop in (steps, steps + 1, steps + 2, 300):
        feed(again, pairs, again.n, stop)
        for kind in ("normal", "conservative", "hoeffding", "bernstein"):
            made = again.interval(kind=kind)
            assert math.isfinite(made.width) or (kind == "normal" and again.n <= 2)
        for kind in ("anytime", "bernstein"):
            assert math.isfinite(again.interval(kind=kind, horizon=100).width)


@pytest.mark.parametrize("name", ["optimal", "constant weights", "estimated"])
def test_with_time_nothing_is_left_of_it(name: str) -> None:
    pairs = bounded(20_000, seed=3)
    est = Oeuvre(**SETTINGS[name])
    feed(est, pairs, 0, 100)
    again = Oeuvre.from_dict(aged(est.to_dict()))
    kinds = ["normal", "conservative"]
    if name != "estimated":
        kinds += ["hoeffding", "bernstein"]
    ratios = []
    for stop in (100, 1000, 20_000):
        for each in (est, again):
            feed(each, pairs, each.n, stop)
        ratios.append([again.interval(kind=k).width / est.interval(kind=k).width for k in kinds])
    assert max(ratios[0]) > 1.2 or name == "estimated"
    assert ratios[2] == pytest.approx([1.0] * len(kinds), abs=1e-2)
    assert max(ratios[1]) < max(1.2, *ratios[0])


def test_adaptive_weights_had_all_they_need() -> None:
    fields = (
        "n estimate beta gamma ratio lag pairs samples pace change level var_d var_p cov long_p "
        "realised kept up down restarts"
    )
    document = AdaptiveOeuvre().to_dict()
    assert document["version"] == 1
    assert set(document["state"]) == set(fields.split())


@pytest.mark.parametrize("members", [False, True])
@pytest.mark.parametrize("steps", [0, 40])
def test_members_of_a_blend_migrate(members: bool, steps: int, tmp_path: Path) -> None:
    pairs = learner_pairs(200)
    given = [AdaptiveOeuvre(), Oeuvre(b=1.0, c=0.3), Oeuvre(burn_in=5), oeuvre.Prequential()]
    est = Ensemble(given, horizon=3) if members else Ensemble()
    feed(est, pairs, 0, steps)
    old = aged(est.to_dict())
    versions = {each["kind"]: each["version"] for each in old["state"]["members"]}
    assert versions["Oeuvre"] == versions["AdaptiveOeuvre"] == 1
    path = tmp_path / "old.json"
    path.write_text(json.dumps({"format": "oeuvre", **old}))
    again = oeuvre.load(path)
    assert isinstance(again, Ensemble)
    for each in (est, again):
        feed(each, pairs, steps, 200)
    assert again.get() == est.get()
    assert again.weights.tolist() == est.weights.tolist()
    assert [m.get() for m in again.members] == [m.get() for m in est.members]
    assert again.interval().width == pytest.approx(est.interval().width, rel=0.1)


def test_a_file_from_then(tmp_path: Path) -> None:
    """The numbers after it are those that version 1 went on to."""
    path = tmp_path / "old.json"
    path.write_text(FROM_THEN)
    est = oeuvre.load(path)
    assert isinstance(est, Oeuvre)
    course = est.replay([0.35, 0.6, 0.2], [0.37, 0.55, 0.22])
    assert course.estimate.tolist() == [
        0.32863107296960337,
        0.41154699558460484,
        0.3648680010836144,
    ]
    assert course.variance is not None
    assert course.variance.tolist() == [
        0.24396208959915167,
        0.22945471648629062,
        0.21713661537432072,
    ]
    for kind in ("normal", "conservative", "hoeffding", "bernstein"):
        made = est.interval(kind=kind)
        assert -100.0 < made.lower < est.get() < made.upper < 100.0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n", None),
        ("n", "8"),
        pytest.param("n", 10**400, id="n-huge"),
        ("bound", -1.0),
        ("bound", "x"),
        ("bound", math.nan),
        ("gamma", []),
    ],
)
def test_a_torn_state_of_then_is_refused(name: str, value: object) -> None:
    document = json.loads(FROM_THEN)
    del document["format"]
    for torn in ({**document["state"], name: value}, {**document["state"]}):
        if torn[name] == document["state"][name]:
            del torn[name]
        with pytest.raises(StateError):
            Oeuvre.from_dict({**document, "state": torn})
    assert Oeuvre.from_dict(document).n == 8
