"""The choice without the truth, judged with the truth."""

from pathlib import Path

import numpy as np
import pytest

from oeuvre import compare
from oeuvre.experiments.board import Board
from oeuvre.experiments.choosing import choices, offered
from oeuvre.experiments.sweep import Sweep, families, score
from oeuvre.experiments.tasks import LinearRegression


def test_the_choice_is_that_of_compare_and_its_ratio_that_of_the_truth(tmp_path: Path) -> None:
    sweep = Sweep([LinearRegression(3, 0.1, steps=200)], 2, tmp_path)
    assert len(list(sweep.run(1))) == 2
    found = choices(sweep, Board(sweep.scores()), 1)
    assert found["seed"].to_list() == [0, 1]
    for job, row in zip(sweep.jobs, found.iter_rows(named=True), strict=True):
        stream = job.task.stream(job.seed)
        members = offered(job)
        assert row["offered"] == len(members) == 25
        best = compare(stream.loss, stream.previous, members).best.name
        errors = {
            repr(member): score(
                member.clone().replay(stream.loss, stream.previous).estimate, stream.truth
            )["rmse"]
            for member in members
        }
        assert row["choice"] == best
        assert row["ratio"] == pytest.approx(errors[best] / np.min(list(errors.values())))


def test_all_but_adwin_is_offered(tmp_path: Path) -> None:
    (job,) = Sweep([LinearRegression(3, 0.1, steps=200)], 1, tmp_path).jobs
    found = families(job.task)
    assert len(offered(job)) == sum(map(len, found.values())) - len(found["ADWIN"])
