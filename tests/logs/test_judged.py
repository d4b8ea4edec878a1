"""Judges and people in one log: own scorers, edited scores, and the tests of ordbridge.judges on them."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import ordbridge as ob
from ordbridge.cli import main
from ordbridge.errors import InputError
from ordbridge.logs.table import about

sys.path.insert(0, str(Path(__file__).parent))
import made


def graded(value, **more):
    return {"value": value, "metadata": {"grading": str(value)}, **more}


def test_own_scorers_and_edited_scores(tmp_path):
    edited = graded(
        5,
        history=[
            {"value": 2, "provenance": None},
            {"value": 4, "provenance": {"author": "anna"}},
            {"value": 5, "provenance": {"author": "ben"}},
            {"value": "UNCHANGED", "explanation": "why", "provenance": {"author": "cy"}},
        ],
    )
    rows = [
        made.sample(1, 1, {"quality": graded(3), "human_dee": 4}),
        made.sample(1, 2, {"quality": edited}),
        made.sample(2, 1, {"quality": graded(4)}),
    ]
    path = made.eval_file(tmp_path / "a.eval", made.header("m"), rows)
    seen = {(row["item"], row["participant"], row["kind"]): row["rating"] for row in ob.logs.ratings(path).to_pylist()}
    assert seen == {
        ("sums/1/1", "human_dee", "human"): 4, ("sums/1/1", "quality", "judge"): 3, ("sums/1/2", "quality", "judge"): 2,
        ("sums/1/2", "anna", "human"): 4, ("sums/1/2", "ben", "human"): 5, ("sums/1/2", "cy", "human"): 5,
        ("sums/2/1", "quality", "judge"): 4,
    }  # fmt: skip
    assert set(ob.logs.ratings(path)["sample"].to_pylist()) == {"sums/1", "sums/2"}
    table = ob.logs.read(path)
    assert [row["score"] for row in table.to_pylist() if row["scorer"] == "quality"] == [3, 5, 4]
    assert next(one for one in about(table)["findings"] if one.code == "edited-scores").values["n"] == 1


def test_without_people_that_is_said(tmp_path):
    path = made.eval_file(tmp_path / "a.eval", made.header("m"), [made.sample(1, 1, {"quality": graded(3), "x": 1})])
    with pytest.raises(InputError, match="no scores by people beside quality"):
        ob.logs.ratings(path)
    with pytest.raises(InputError, match="no log has the scorer 'y'; there are quality, x"):
        ob.logs.ratings(path, judge="y")


@pytest.mark.slow
def test_the_alternative_annotator_test_from_a_log(tmp_path, capsys):
    """With epochs as other texts of one sample, a judge as good as people passes; mixing epochs up would hide it."""
    rng = np.random.default_rng(5)
    rows = []
    for item in range(30):
        for epoch in (1, 2):
            true = rng.normal(3, 1.2)
            score = lambda true=true: int(np.clip(round(true + rng.normal(0, 0.4)), 1, 5))  # noqa: E731
            rows.append(
                made.sample(
                    item, epoch, {"quality": graded(score()), **{f"human_{who}": score() for who in ("a", "b", "c")}}
                )
            )
    path = made.eval_file(tmp_path / "a.eval", made.header("m"), rows)
    found = ob.judges.alt_test(ob.logs.ratings(path), cluster="sample")
    assert found.winning_rate == 1.0
    assert main(["judges", str(path)]) == 0
    assert "passes the alternative annotator test" in capsys.readouterr().out
