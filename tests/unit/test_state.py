"""State as data: to a dict or a file and back, across versions, torn and foreign files."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

import oeuvre
from oeuvre import Estimator, Oeuvre, Prequential, SlidingWindow, rates
from oeuvre.errors import InvalidParameter, NotSerializable, StateError
from tests.conftest import WITH_CODE, Make, Pairs, snapshot


def test_file_and_back(make_data: Make, pairs: Pairs, tmp_path: Path) -> None:
    est = make_data()
    path = tmp_path / "state.json"
    for steps in (0, 3, 100):
        if steps:
            est.replay(pairs[0][:steps], pairs[1][:steps])
        oeuvre.save(est, path)
        again = oeuvre.load(path)
        assert type(again) is type(est)
        assert repr(again) == repr(est)
        assert again.to_dict() == est.to_dict()
    assert [p.name for p in tmp_path.iterdir()] == ["state.json"]


@pytest.mark.parametrize("name", WITH_CODE)
def test_code_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    with pytest.raises(NotSerializable, match="A state is written as data, and .* code"):
        oeuvre.save(WITH_CODE[name](), path)
    assert not list(tmp_path.iterdir())


def test_a_failed_save_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state.json"
    est = Prequential()
    est.update(0.5)
    oeuvre.save(est, path)
    old = path.read_bytes()

    def fail(_: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    est.update(0.7)
    with pytest.raises(OSError, match="disk full"):
        oeuvre.save(est, path)
    assert path.read_bytes() == old
    assert [p.name for p in tmp_path.iterdir()] == ["state.json"]


def test_a_file_torn_at_any_byte_is_refused(pairs: Pairs, tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    est = Oeuvre()
    est.replay(*pairs)
    oeuvre.save(est, path)
    whole = path.read_bytes()
    for end in range(len(whole) - 2):
        path.write_bytes(whole[:end])
        with pytest.raises(StateError):
            oeuvre.load(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe\x00",
        b"not json",
        b"[]",
        b"null",
        b"{}",
        b'{"format": "other"}',
        b'{"format": "oeuvre"}',
        b'{"format": "oeuvre", "kind": "Oeuvre", "version": 1}',
        b"[" * 100_000,
    ],
)
def test_foreign_files_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(content)
    with pytest.raises(StateError):
        oeuvre.load(path)


def test_the_systems_errors_name_the_file_that_was_asked_for(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none\.json'$"):
        oeuvre.load(tmp_path / "none.json")
    with pytest.raises(FileNotFoundError, match=r"/missing/state\.json'$"):
        oeuvre.save(Prequential(), tmp_path / "missing" / "state.json")
    with pytest.raises(IsADirectoryError):
        oeuvre.save(Prequential(), tmp_path)


def test_only_estimators_are_saved(tmp_path: Path) -> None:
    for wrong in (3, str(tmp_path)):
        with pytest.raises(InvalidParameter, match="'obj' parameter of save must be an estimator"):
            oeuvre.save(wrong, tmp_path / "x.json")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("kind",), "os.system", "'kind' of a saved state must be one of"),
        (("kind",), ["Oeuvre"], "'kind' of a saved state must be one of"),
        (("version",), 3, "newer version of oeuvre"),
        (("version",), 0, "'version' of a saved state must be"),
        (("version",), "1", "'version' of a saved state must be"),
        (("params",), [], "must be mappings"),
        (("state",), None, "must be mappings"),
        (("params", "burn_in"), 1, "'burn_in' parameter of Oeuvre must be"),
        (("params", "extra"), 1, "of this saved Oeuvre do not fit: .*'extra'"),
        (("params", "rate"), {"exponent": -1}, "'exponent' parameter of Power"),
        (("state", "extra"), 1, "'state' of a saved Oeuvre must have"),
        (("state", "n"), -1, "'n' in this saved Oeuvre cannot be -1"),
        (("state", "n"), 2.5, "'n' in this saved Oeuvre cannot be 2.5"),
        (("state", "n"), True, "'n' in this saved Oeuvre cannot be True"),
        (("state", "estimate"), "0.5", "'estimate' in this saved Oeuvre cannot be '0.5'"),
        (("state", "estimate"), float("nan"), "'estimate' in this saved Oeuvre cannot be nan"),
        (("state", "bound"), -1.0, "'bound' in this saved Oeuvre cannot be -1.0"),
        (("state", "bound"), 0.0, "entries of this saved Oeuvre do not fit each other"),
        (("state", "gamma"), 7.0, "'gamma' in this saved Oeuvre cannot be 7.0"),
        (("state", "retained"), 0.0, "'retained' in this saved Oeuvre cannot be 0.0"),
        (("state", "started"), -1, "'started' in this saved Oeuvre cannot be -1"),
        (("state", "outside"), 1.5, "'outside' in this saved Oeuvre cannot be 1.5"),
        (("state", "segments"), 1, "'state' of a saved Oeuvre must have"),
        (("state", "n"), 2**63, "'n' in this saved Oeuvre cannot be 9223372036854775808"),
    ],
)
def test_wrong_entries_are_named(
    path: tuple[str, ...], value: Any, message: str, pairs: Pairs
) -> None:
    est = Oeuvre()
    est.replay(*pairs)
    document = json.loads(json.dumps(est.to_dict()))
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(StateError, match=message):
        Estimator.from_dict(document)


def test_a_window_must_fit_its_rings() -> None:
    document = SlidingWindow(5).to_dict()
    document["params"]["size"] = 6
    with pytest.raises(
        StateError, match=r"'sums' in this saved SlidingWindow\(size=6\) has 5 entries"
    ):
        SlidingWindow.from_dict(document)


def test_a_foreign_format_is_refused_whatever_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_text(json.dumps({"format": "other", **Prequential().to_dict()}))
    with pytest.raises(StateError, match="must be a file that oeuvre.save wrote"):
        oeuvre.load(path)


def test_impossible_averages_and_kinds_with_code_are_refused() -> None:
    document = Prequential().to_dict()
    document["state"]["n"] = 5
    with pytest.raises(StateError, match="do not fit each other"):
        Prequential.from_dict(document)
    document = {**Prequential().to_dict(), "kind": "Adwin", "params": {"delta": 0.1}}
    with pytest.raises(StateError, match="Adwin.* is never written as data"):
        Estimator.from_dict(document)


def test_a_saved_file_has_the_rights_of_a_new_file(tmp_path: Path) -> None:
    path, plain = tmp_path / "state.json", tmp_path / "plain"
    plain.write_text("")
    oeuvre.save(Prequential(), path)
    assert path.stat().st_mode == plain.stat().st_mode
    path.chmod(0o600)
    oeuvre.save(Prequential(), path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_from_dict_on_a_class_takes_that_kind_only() -> None:
    document = Prequential().to_dict()
    assert isinstance(Prequential.from_dict(document), Prequential)
    with pytest.raises(StateError, match="must be one of: Oeuvre. Got 'Prequential'"):
        Oeuvre.from_dict(document)


def test_an_older_version_migrates(
    pairs: Pairs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of today, read by a library two versions on, in which names and fields changed."""
    path = tmp_path / "old.json"
    est = Oeuvre()
    est.replay(*pairs)
    oeuvre.save(est, path)

    def rename(
        params: dict[str, Any], state: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"hold": params.pop("burn_in"), **params}, state

    def rename_back(
        params: dict[str, Any], state: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"burn_in": params.pop("hold"), **params}, {**state, "folds": state["folds"] + 1}

    today = Oeuvre._migrations
    monkeypatch.setattr(Oeuvre, "_migrations", (*today, rename, rename_back))
    new = oeuvre.load(path)
    assert snapshot(new) == {**snapshot(est), "folds": 1}
    assert new.to_dict()["version"] == 4
    future = new.to_dict()
    monkeypatch.setattr(Oeuvre, "_migrations", (*today, rename))
    with pytest.raises(StateError, match="its state has version 4, this one reads up to 3"):
        Estimator.from_dict(future)


def test_the_document_is_plain_data(make_data: Make, pairs: Pairs) -> None:
    est = make_data()
    est.replay(*pairs)
    document = est.to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["version"] == {"Oeuvre": 2}.get(document["kind"], 1)


def test_a_power_rate_survives() -> None:
    document = Oeuvre(rates.Power(0.7)).to_dict()
    assert document["params"]["rate"] == {"exponent": 0.7}
    assert repr(Estimator.from_dict(document)) == "Oeuvre(rate=rates.Power(0.7))"
