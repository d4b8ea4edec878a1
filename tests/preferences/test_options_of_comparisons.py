"""Options of reading hold for comparisons, too: none is ignored without a word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ordbridge as ob
from ordbridge.comparison import CompareOptions
from ordbridge.preferences import compare_preferences, pair_table


@pytest.fixture
def turns(folder: Path) -> Path:
    """Return a published file: 30 questions with two turns each, 3 systems, verdicts of 3 raters in columns."""
    file = folder.parents[1] / "data" / "real" / "twostage_human_eval.csv"
    if not file.exists():
        pytest.skip("the real files are not here")
    return file


def test_rows_and_columns_that_were_asked_for(turns: Path) -> None:
    assert pair_table(turns).n == 540
    assert pair_table(turns, where="turn == 1").n == 270
    assert pair_table(turns, ignore="winner2").n == 360
    both = pair_table(turns, item="Question_ID,turn")
    assert len(both.items) == 60 and both.columns["item"] == "question_id + turn"
    assert len(pair_table(turns, item="TURN").items) == 2


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"item": "question"}, "there is no column 'question' for item=.*did you mean 'question_id'"),
        ({"item": "question_id,trun"}, "there is no column 'trun'"),
        ({"where": "trun == 1"}, "trun"),
        ({"levels": ["tie", "model_1"]}, "levels= is for ratings"),
        ({"levels": {"minor": 1}}, "weights= is for ratings"),
        ({"columns": "system"}, "columns= is for ratings"),
        ({"scale": (1, 5)}, "scale= is for ratings"),
        ({"lower_is_better": True}, "lower_is_better= is for ratings"),
    ],
)
def test_what_cannot_be_used_is_refused(turns: Path, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ob.InputError, match=sentence):
        pair_table(turns, **options)


def test_what_was_taken_for_what_is_said_of_every_role(turns: Path) -> None:
    found = ob.compare(turns, engine="fast")
    assert found.recognised == {
        "systems": "model_1, model_2", "outcome": "winner1, winner2, winner3",
        "participant": "winner1, winner2, winner3", "item": "question_id",
    }  # fmt: skip
    assert "item = question_id" in found.columns


def test_turns_are_no_copies(turns: Path) -> None:
    [said] = [one for one in ob.compare(turns, engine="fast").findings if "turn" in one.text]
    assert said.code == "comparisons-told-apart" and said.values["both"] == "question_id,turn"
    apart = compare_preferences(pair_table(turns, item=said.values["both"]), engine="fast")
    assert not {"comparisons-told-apart", "repeated-comparisons"} & {one.code for one in apart.findings}


def test_several_files_are_one_study(turns: Path, tmp_path: Path) -> None:
    head, *rows = turns.read_text().splitlines()
    halves = [tmp_path / "first.csv", tmp_path / "second.csv"]
    for place, half in enumerate(halves):
        half.write_text("\n".join([head, *rows[place::2]]))
    assert pair_table(halves).n == 540


def test_the_first_of_files_with_other_columns_is_not_the_answer(turns: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text(turns.read_text().replace("turn", "round", 1))
    with pytest.raises(ob.InputError, match="have different columns"):
        pair_table([turns, other])


def test_ranks_of_which_a_high_one_is_better(folder: Path) -> None:
    file = folder.parents[1] / "data" / "real" / "jfleg_pairwise.csv"
    if not file.exists():
        pytest.skip("the real files are not here")
    low, high = (pair_table(file, lower_is_better=way) for way in (True, False))
    assert (low.points + high.points == 1).all() and low.n == high.n == pair_table(file).n


def test_an_answer_for_each_value_of_a_column(turns: Path) -> None:
    whole = ob.compare(turns, engine="fast", options=CompareOptions(by="Turn"))
    assert whole.ranking["criterion"].to_pylist() == ["1"] * 3 + ["2"] * 3
    first = compare_preferences(pair_table(turns, where="turn == 1"), engine="fast")
    assert [row["win_rate"] for row in whole.rows("ranking", "1")] == first.ranking["win_rate"].to_pylist()


@pytest.mark.parametrize(
    "options", [{"blocks": "turn"}, {"covariates": "turn"}, {"overall": "equal"}, {"magnitude": True}, {"draws": 99}]
)
def test_options_of_ratings_are_refused(turns: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ob.InputError, match=f"has comparisons, and {next(iter(options))}= is for ratings"):
        ob.compare(turns, engine="fast", options=CompareOptions(**options))


def test_a_column_that_is_not_there(turns: Path) -> None:
    with pytest.raises(ob.InputError, match="no column 'trun' for by=; twostage_human_eval"):
        ob.compare(turns, engine="fast", options=CompareOptions(by="trun"))
