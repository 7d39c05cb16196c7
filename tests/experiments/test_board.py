"""The board against sums done by hand, and the claims against boards made for them."""

import math
from typing import Any

import polars as pl
import pytest

from oeuvre.experiments import paper, results
from oeuvre.experiments.board import METRICS, Board
from oeuvre.experiments.judging import Finding
from oeuvre.experiments.sweep import BASELINES, RATE_FREE, Sweep
from oeuvre.experiments.tasks import BEYOND, PAPER, choose


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


def whole(ours: float = 1.0, **levels: float) -> Board:
    """A board of all the paper's tasks, on which every metric of a family is one number.

    `levels` has numbers for families, or for one cell and metric: cell__family__metric, where the
    dashes of the cell are written as single underscores.
    """
    families = {"OEUVRE": ours, **dict.fromkeys(RATE_FREE, 0.1), **dict.fromkeys(BASELINES, 1.0)}
    families |= {name: level for name, level in levels.items() if name in families}
    rows = []
    for task in choose(PAPER):
        for family, level in families.items():
            metrics = dict.fromkeys(METRICS, level)
            for metric in METRICS:
                key = f"{task.name}__{family}__{metric}".replace("-", "_").replace(".", "_")
                metrics[metric] = levels.get(key, level)
            one = row(task.name, 0, family, f"{family}()", *metrics.values())
            rows.append({**one, "group": task.group})
            if task.group == "neural":
                rows.append({**one, "group": task.group, "truth": "sharp"})
    return Board(pl.DataFrame(rows))


def verdicts(board: Board) -> dict[str, str]:
    return {claim.says: finding.verdict for claim, finding in results.judge(board)}


def verdict_of(says: str, board: Board) -> str:
    (found,) = (verdict for claim, verdict in verdicts(board).items() if says in claim)
    return found


def test_every_claim_is_judged_and_named_once() -> None:
    found = results.judge(whole(0.5))
    assert len(found) == len(paper.CLAIMS) > 40
    assert len({claim.says for claim in paper.CLAIMS}) == len(paper.CLAIMS)
    assert all(finding.figures for _, finding in found)


ORDER = {"EMA": 1.0, "SW": 1.1, "FFPreq": 1.3, "ADWIN": 1.9, "Prequential": 2.2}


@pytest.mark.parametrize(
    ("says", "holds", "fails"),
    [
        ("OEUVRE matches or outperforms", {"ours": 1.09}, {"ours": 1.11}),
        (
            "Which baseline is best varies",
            {
                "ours": 1.0,
                "SW": 0.9,
                "drift_wine_quality__EMA__rmse": 0.1,
                "drift_wine_quality__EMA__mae": 0.1,
            },
            {"SW": 0.9},
        ),
        ("more accurate than every tuned baseline", {"ours": 0.99}, {"ours": 1.01}),
        ("The RMSE is competitive", {"ours": 1.09}, {"ours": 1.11}),
        ("yet an advantage", {"ours": 0.99}, {"ours": 1.01}),
        ("The MAE is very close", {"ours": 1.09}, {"ours": 1.11}),
        ("The MAE is significantly below the median", {"ours": 0.89}, {"ours": 0.91}),
        ("The bias is competitive", {"ours": 1.09}, {"ours": 1.11}),
        ("comparable to the best settings of SW, EMA and FFPreq", {"ours": 1.09}, {"ours": 1.11}),
        (
            "ADWIN and the prequential mean are much worse",
            {"ADWIN": 1.51, "Prequential": 1.51},
            {"ADWIN": 1.49, "Prequential": 1.49},
        ),
        ("With Beta losses the RMSE is significantly lower", {"ours": 0.89}, {"ours": 0.91}),
        ("With both distributions the RMSE is below", {"ours": 0.99}, {"ours": 1.01}),
        ("With Beta losses the MAE is comparable", {"ours": 1.09}, {"ours": 1.11}),
        ("the RMSE is comparable to the best for 25 and 50", {"ours": 1.09}, {"ours": 1.11}),
        ("outperforms the best baseline from 100", {"ours": 0.99}, {"ours": 1.01}),
        (
            "closer to the median baseline's for few",
            {"ours": 1.4, "SW": 0.5, "EMA": 1.3, "FFPreq": 1.3, "ADWIN": 1.3},
            {"ours": 0.6, "SW": 0.5, "EMA": 1.3, "FFPreq": 1.3},
        ),
        ("the MAE becomes comparable", {"ours": 1.09}, {"ours": 1.11}),
        ("EMA is the worst", {"EMA": 1.2}, {"EMA": 0.9}),
        ("With Beta losses OEUVRE has the lowest RMSE and bias", {"ours": 0.9}, {"ours": 1.05}),
        ("the RMSE is comparable to the best for all", {"ours": 1.09}, {"ours": 1.11}),
        ("With Bernoulli losses OEUVRE has the lowest bias", {"ours": 0.9}, {"ours": 1.05}),
        ("With 128 samples OEUVRE has the lowest RMSE", {"ours": 0.9}, {"ours": 1.05}),
        ("With 128 samples the bias is significantly lower", {"ours": 0.89}, {"ours": 0.95}),
        ("With 8 samples the results are similar", {"ours": 0.9}, {"ours": 1.05}),
        ("With 8 samples RMSE and bias are competitive", {"ours": 1.09}, {"ours": 1.11}),
        ("With 8 samples ADWIN has a lower RMSE", {"ADWIN": 0.9}, {"ADWIN": 1.1}),
        (
            "the lowest RMSE and second-lowest MAE",
            {"ours": 0.9, "neural_fashion_mnist_8__SW__mae": 0.8},
            {"ours": 1.2, "SW": 1.1},
        ),
        ("With 8 samples the bias is the lowest", {"ours": 0.9}, {"ours": 1.05}),
        ("OEUVRE follows the true loss well", {"ours": 1.09}, {"ours": 1.11}),
        (
            "EMA and SW are best, followed by",
            {"ours": 1.2, **ORDER},
            {"ours": 2.1, **ORDER, "FFPreq": 0.5},
        ),
        (
            "so OEUVRE has more difficulty",
            {"drift_toulouse_bikes__OEUVRE__rmse": 1.2},
            {"drift_toulouse_bikes__OEUVRE__rmse": 0.9},
        ),
        ("all estimators lag", dict.fromkeys(("ours", *BASELINES), -1.0), {}),
        (
            "which is competitive with the other two",
            {"ours": 1.4, **ORDER},
            {"ours": 0.9, "ADWIN": 0.7, "Prequential": 0.7},
        ),
        ("OEUVRE is third", {"ours": 1.2, **ORDER}, {"ours": 1.2, **ORDER, "FFPreq": 0.5}),
        ("does not track it well", {"ours": 1.11}, {"ours": 1.09}),
        ("does reasonably well", {"ours": 1.49}, {"ours": 1.51}),
        (
            "degrades where drift is abrupt",
            {"drift_wine_quality__OEUVRE__rmse": 1.2},
            {"drift_wine_quality__OEUVRE__rmse": 0.9},
        ),
        (
            "competitive with the best baseline by RMSE, MAE and bias",
            {"ours": 1.09},
            {"ours": 1.11},
        ),
    ],
)
def test_each_claim_holds_on_one_board_and_fails_on_another(
    says: str, holds: dict[str, float], fails: dict[str, float]
) -> None:
    assert verdict_of(says, whole(**holds)) == "holds"
    assert verdict_of(says, whole(**fails)) == "does not hold here"


def test_claims_about_some_sizes_look_at_no_others() -> None:
    """Too high a MAE at d = 200, or for 200 experts, is not what these are about."""
    worse = {f"linear_d200_noise{noise}__OEUVRE__mae": 9.0 for noise in ("0_005", "0_05", "0_5")}
    says = "The MAE is significantly below the median"
    assert verdict_of(says, whole(ours=0.5, **worse)) == "holds"
    worse = {"experts_bernoulli_k200__OEUVRE__rmse": 9.0}
    assert verdict_of("comparable to the best for 25 and 50", whole(**worse)) == "holds"
    assert verdict_of("from 100 experts on", whole(0.9, **worse)) == "holds in part"


def test_claims_with_two_halves() -> None:
    high = "With Bernoulli losses the MAE is high for 25 and 50 experts"
    assert verdict_of(high, whole(3.0)) == verdict_of(high, whole(0.5)) == "holds in part"
    few = {f"experts_bernoulli_k{k}__OEUVRE__mae": 2.0 for k in (25, 50)}
    assert verdict_of(high, whole(**few)) == "holds"
    many = {f"experts_bernoulli_k{k}__OEUVRE__mae": 2.0 for k in (100, 200)}
    assert verdict_of(high, whole(**many)) == "does not hold here"


def test_the_spread_of_the_bias() -> None:
    scores = whole().scores
    other = scores.with_columns(seed=pl.lit(1, pl.Int64), bias=-pl.col("bias"))
    spread, none = Board(pl.concat((scores, other))), Board(scores)
    for says in ("the bias varies much between runs on MNIST", "too the bias varies much"):
        assert verdict_of(says, spread) == "holds"
        assert verdict_of(says, none) == "does not hold here"


def test_biases_of_opposite_sign_do_not_cancel() -> None:
    scores = whole().scores
    ours = pl.col("family") == "OEUVRE"
    flipped = scores.with_columns(
        seed=pl.lit(1, pl.Int64), bias=pl.when(ours).then(-pl.col("bias")).otherwise(pl.col("bias"))
    )
    board = Board(pl.concat((scores, flipped)))
    assert board.row("experts-beta-k25")["bias"] == 0.0
    assert board.row("experts-beta-k25")["bias_size"] == 1.0
    assert verdict_of("With Bernoulli losses OEUVRE has the lowest bias", board) == "holds"
    lower = {"SW": 0.9}
    scores = whole(**lower).scores
    flipped = scores.with_columns(
        seed=pl.lit(1, pl.Int64), bias=pl.when(ours).then(-pl.col("bias")).otherwise(pl.col("bias"))
    )
    board = Board(pl.concat((scores, flipped)))
    says = "With Bernoulli losses OEUVRE has the lowest bias"
    assert verdict_of(says, board) == "does not hold here"


def test_a_claim_needs_all_of_its_tasks() -> None:
    scores = whole(0.5).scores
    only = Board(scores.filter(group="drift"))
    assert {claim.groups for claim, _ in results.judge(only)} == {("drift",)}
    one_set = Board(scores.filter(pl.col("task").str.starts_with("neural-fashion")))
    judged = {claim.says for claim, _ in results.judge(one_set)}
    assert not any("both image sets" in says or "MNIST" in says for says in judged)
    assert judged


def test_emnist_is_the_other_image_set_where_it_was_run() -> None:
    scores = whole(0.5).scores
    name = pl.col("task").str.replace("fashion_mnist", "emnist")
    emnist = scores.filter(pl.col("task").str.contains("fashion")).with_columns(name)
    says = "With 8 samples, on the other image set"
    for order in ((scores, emnist), (emnist, scores)):
        found = results.judge(Board(pl.concat(order)))
        (figures,) = (finding.figures for claim, finding in found if says in claim.says)
        assert figures.startswith("neural-emnist-8: place 1")


def test_standardised_data_are_judged_by_the_same_claims() -> None:
    scores = whole(0.5).scores.filter(pl.col("group").is_in(("drift", "standardised")))
    one = results.judge(results.as_drift(Board(scores)))
    two = results.judge(Board(scores.filter(group="drift")))
    assert [(claim, finding.verdict) for claim, finding in one] == [
        (claim, finding.verdict) for claim, finding in two
    ]


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
    columns = zip(
        *(line for table in paper.DRIFT_TABLES.values() for line in table.values()), strict=True
    )
    sums = [round(sum(column), 4) for column in columns]  # of the columns as they are printed
    assert sums == [0.4352, 0.3129, -0.1027]


CHOICES = pl.DataFrame(
    {
        "group": ["linear", "linear", "fast", "fast"],
        "offered": [7, 7, 7, 7],
        "ratio": [1.0, 1.2, 1.05, 1.0],
    }
)


def test_what_goes_beyond_the_paper_is_not_judged_as_the_papers() -> None:
    board = whole(3.0)
    assert board.families == ["OEUVRE", *BASELINES]
    assert board.contenders == ["OEUVRE", *RATE_FREE]
    assert board.everyone == ["OEUVRE", *RATE_FREE, *BASELINES]
    assert board.best_baseline("logistic-diabetes")["rmse"] == 1.0


def test_contenders_side_by_side() -> None:
    board = whole(3.0, linear_d25_noise0_005__Ensemble__rmse=0.4)
    header, *rows = results.contest(board)
    assert header == ("task", "truth", "cells", "OEUVRE", "Adaptive", "Two-gain", "Ensemble")
    mean = math.exp((11 * math.log(0.1) + math.log(0.4)) / 12)
    ours = ("3.00 (3.00)", "0.10 (0.10)", "0.10 (0.10)", f"{mean:.2f} (0.40)")
    assert rows[0] == ("Linear regression", "paper", "12", *ours)
    assert len(rows) == 7  # six groups, of which the networks have two truths


def test_bias_as_a_part_of_the_error() -> None:
    board = whole(3.0, linear_d25_noise0_005__OEUVRE__bias=-1.5)
    header, first, *_ = results.biases(board)
    assert header == ("task", "truth", "OEUVRE", "Adaptive", "Two-gain", "Ensemble")
    part = f"{(11 + 0.5) / 12:.2f}"
    assert first == ("Linear regression", "paper", part, "1.00", "1.00", "1.00")


def test_how_good_the_choices_were() -> None:
    text = results.chosen(CHOICES)
    assert "ADWIN's, 7 in all" in text
    assert "| Linear regression | 2 | 50% | 1.100 | 1.20 |" in text
    assert "| Fast learners (ours) | 2 | 100% | 1.025 | 1.05 |" in text
    assert "| all | 4 | 75% | 1.062 | 1.20 |" in text


def test_the_page_shows_claims_tables_and_figures(tmp_path: Any) -> None:
    sweep = Sweep(choose((*PAPER, *BEYOND)), 10, tmp_path)
    figures = ["linear", "representative", "drift-wine_quality"]
    text = results.page(sweep, whole(3.0), CHOICES, figures)
    assert "`make paper` wrote this page, from 10 seeds" in text
    for claim in paper.CLAIMS:
        assert claim.says in text
    assert text.count("](results/") == 3
    assert "| OEUVRE | 0.0193 | 3.0000 | 0.0164 | 3.0000 | -0.0044 | 3.0000 |" in text
    for part in (
        Sweep(choose((*PAPER, *BEYOND)), 2, tmp_path),
        Sweep(choose((*PAPER, *BEYOND), quick=True), 10, tmp_path),
        Sweep(choose(PAPER), 10, tmp_path),
        Sweep(choose(PAPER[:2]), 10, tmp_path),
    ):
        assert results.introduction(part).startswith("A partial run")
