"""The board against sums done by hand, and the claims against boards made for them."""

import math
from typing import Any

import polars as pl
import pytest

from oeuvre.experiments import paper, results
from oeuvre.experiments.board import Board
from oeuvre.experiments.judging import Finding
from oeuvre.experiments.sweep import BASELINES, Sweep
from oeuvre.experiments.tasks import PAPER, choose


def row(task: str, seed: int, family: str, setting: str, *metrics: float) -> dict[str, Any]:
    names = ("group", "task", "seed", "family", "setting", "truth", "rmse", "mae", "bias")
    values = (task.split("-", maxsplit=1)[0], task, seed, family, setting, "paper", *metrics)
    return dict(zip(names, values, strict=True))


@pytest.fixture(scope="module")
def small() -> Board:
    scores = [
        row("linear-a", 0, "OEUVRE", "Oeuvre()", 1.0, 0.5, 0.1),
        row("linear-a", 1, "OEUVRE", "Oeuvre()", 3.0, 0.7, -0.3),
        row("linear-a", 0, "SW", "SlidingWindow(size=10)", 4.0, 1.0, 0.4),
        row("linear-a", 1, "SW", "SlidingWindow(size=10)", 6.0, 1.0, 0.4),
        row("linear-a", 0, "SW", "SlidingWindow(size=50)", 1.0, 2.0, 1.0),
        row("linear-a", 1, "SW", "SlidingWindow(size=50)", 7.0, 2.0, 1.0),
        row("linear-a", 0, "EMA", "Ema()", 8.0, 0.1, 0.0),
        row("linear-a", 1, "EMA", "Ema()", 8.0, 0.1, 0.0),
        row("linear-b", 0, "OEUVRE", "Oeuvre()", 6.0, 1.0, 1.0),
        row("linear-b", 0, "SW", "SlidingWindow(size=10)", 4.0, 1.0, 2.0),
        row("linear-b", 0, "SW", "SlidingWindow(size=50)", 3.0, 2.0, 4.0),
        row("linear-b", 0, "EMA", "Ema()", 12.0, 1.0, 0.0),
    ]
    return Board(pl.DataFrame(scores))


def test_means_and_spreads_over_seeds(small: Board) -> None:
    ours = small.row("linear-a")
    assert (ours["rmse"], ours["rmse_spread"], ours["seeds"]) == (2.0, 1.0, 2)
    assert (ours["mae"], ours["bias"]) == (pytest.approx(0.6), pytest.approx(-0.1))
    assert ours["bias_spread"] == pytest.approx(0.2)


def test_the_best_baseline_is_chosen_by_its_mean_rmse(small: Board) -> None:
    best = small.best_baseline("linear-a")
    assert (best["setting"], best["rmse"]) == ("SlidingWindow(size=50)", 4.0)
    assert best["rmse_to_best"] == 1.0
    ours = small.row("linear-a")
    assert ours["rmse_to_best"] == 0.5
    assert ours["mae_to_best"] == pytest.approx(0.3)  # 0.6 / 2, though EMA has 0.1
    assert ours["bias_to_best"] == pytest.approx(0.2)  # the mean size 0.2, over 1


def test_the_median_baseline_is_over_all_settings(small: Board) -> None:
    assert small.median_baseline("linear-a") == {"rmse": 5.0, "mae": 1.0, "bias": 0.4}
    assert small.row("linear-a")["rmse_to_median"] == pytest.approx(0.4)
    assert small.row("linear-a")["bias_to_median"] == pytest.approx(0.5)


def test_every_setting_is_on_the_board_and_one_of_a_family_is_chosen(small: Board) -> None:
    assert len(small.table) == 8
    chosen = small.table.filter("chosen").select("task", "setting").rows()
    assert chosen.count(("linear-a", "SlidingWindow(size=50)")) == 1
    assert ("linear-a", "SlidingWindow(size=10)") not in chosen
    assert small.families == ["OEUVRE", "SW", "EMA"]
    assert small.tasks() == small.tasks("linear") == ["linear-a", "linear-b"]


def test_geometric_mean_and_worst_cell(small: Board) -> None:
    (ours,) = small.summary().filter(family="OEUVRE").to_dicts()
    assert ours["cells"] == 2
    assert ours["rmse_to_best"] == pytest.approx(math.sqrt(0.5 * 2.0))
    assert (ours["worst"], ours["worst_cell"]) == (2.0, "linear-b")
    assert ours["rmse_to_median"] == pytest.approx(math.sqrt(0.4 * 1.5))
    assert ours["mae_to_best"] == pytest.approx(math.sqrt(0.3 * 0.5))


def whole(ours: float, others: dict[str, float] | None = None) -> Board:
    """A board of all the paper's tasks, on which every metric of a family is one number."""
    levels = {"OEUVRE": ours, **dict.fromkeys(BASELINES, 1.0), **(others or {})}
    rows = []
    for task in choose(PAPER):
        for family, level in levels.items():
            for seed in range(2):
                one = row(task.name, seed, family, f"{family}()", *[level] * 3)
                rows.append({**one, "group": task.group})
                if task.group == "neural":
                    rows.append({**one, "group": task.group, "truth": "sharp"})
    return Board(pl.DataFrame(rows))


def verdicts(board: Board) -> dict[str, str]:
    return {claim.says: finding.verdict for claim, finding in results.judge(board)}


def test_every_claim_is_judged_and_its_words_are_few() -> None:
    found = results.judge(whole(0.5))
    assert len(found) == len(paper.CLAIMS) > 35
    assert len({claim.says for claim in paper.CLAIMS}) == len(paper.CLAIMS)
    assert all(finding.figures for _, finding in found)


def test_verdicts_follow_the_board() -> None:
    good, bad = verdicts(whole(0.5)), verdicts(whole(3.0))
    about_us = [
        claim
        for claim in paper.CLAIMS
        if any(word in claim.says for word in ("competitive", "lowest RMSE and MAE", "matches"))
        and "other two" not in claim.says
    ]
    assert len(about_us) > 7
    for claim in about_us:
        assert good[claim.says] == "holds", claim.says
        assert bad[claim.says] == "does not hold here", claim.says
    high = "With Bernoulli losses the MAE is high for 25 and 50 experts, then like the others'."
    assert good[high] == bad[high] == "holds in part"
    assert verdicts(whole(0.95))["The MAE is very close to the best baseline's."] == "holds"


def test_verdicts_on_the_order_of_the_drift_runs() -> None:
    tables = {"EMA": 1.0, "SW": 1.1, "FFPreq": 1.3, "ADWIN": 1.9, "Prequential": 2.2}
    found = verdicts(whole(1.2, tables))
    assert found["EMA and SW are best, followed by OEUVRE and FFPreq."] == "holds"
    assert found["SW and EMA are best, and OEUVRE is third."] == "holds"
    assert found["ADWIN and the prequential mean are much worse, by all three metrics."] == "holds"
    found = verdicts(whole(1.2, {**tables, "FFPreq": 0.5}))
    assert found["SW and EMA are best, and OEUVRE is third."] == "does not hold here"
    assert found["EMA and SW are best, followed by OEUVRE and FFPreq."] == "does not hold here"


def test_a_claim_needs_all_of_its_tasks() -> None:
    only = Board(whole(0.5).scores.filter(group="drift"))
    assert {claim.groups for claim, _ in results.judge(only)} == {("drift",)}


@pytest.mark.parametrize(
    ("checks", "verdict"),
    [
        ([True, True], "holds"),
        ([True, False], "holds in part"),
        ([False, False], "does not hold here"),
    ],
)
def test_verdict_of_checks(checks: list[bool], verdict: str) -> None:
    assert Finding(checks, "").verdict == verdict


def test_the_papers_tables_are_whole() -> None:
    assert set(paper.DRIFT_TABLES) == {
        "toulouse_bikes",
        "bike_sharing_uci",
        "chick_weights",
        "wine_quality",
    }
    for table in paper.DRIFT_TABLES.values():
        assert set(table) == {"OEUVRE", *BASELINES}
        for rmse, mae, bias in table.values():
            assert rmse >= mae >= abs(bias)  # as it must be


def test_the_page_shows_claims_tables_and_figures(tmp_path: Any) -> None:
    sweep = Sweep(choose(PAPER), 10, tmp_path)
    text = results.page(sweep, whole(3.0), ["linear", "representative", "drift-wine_quality"])
    assert "`make paper` wrote this page, from 10 seeds" in text
    for claim in paper.CLAIMS:
        assert claim.says in text
    assert text.count("](results/") == 3
    assert "| OEUVRE | 0.0193 | 3.0000 | 0.0164 | 3.0000 | -0.0044 | 3.0000 |" in text
    for part in (
        Sweep(choose(PAPER), 2, tmp_path),
        Sweep(choose(PAPER, quick=True), 10, tmp_path),
        Sweep(choose(PAPER[:2]), 10, tmp_path),
    ):
        assert results.introduction(part).startswith("A partial run")
