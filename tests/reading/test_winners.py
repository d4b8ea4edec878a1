"""Comparisons without a verdict on two sides: winners beside losers, yes and no for each side, names of the worse one.

Each file has the same choices among three systems, so that the points of all must be the same.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordbridge as ob
from ordbridge.preferences.table import PairTable, pair_table
from ordbridge.reading.preferences import PreferencesFound

NAMES = ("alpha", "beta", "gamma")
Choice = tuple[str, str, str, str, str]


def choices(names: tuple[Any, ...] = NAMES, ties: bool = False) -> list[tuple[Any, ...]]:
    """Return rater, item, two systems in the order shown, and who won: a, b or tie."""
    rng = np.random.default_rng(5)
    rows: list[tuple[Any, ...]] = []
    for rater in range(8):
        for item in range(15):
            a, b = rng.permutation(3)[:2]
            latent = (a - b) * 0.7 + rng.logistic()
            won = "tie" if ties and abs(latent) < 0.5 else "a" if latent > 0 else "b"
            rows.append((f"w{rater}", f"i{item}", names[a], names[b], won))
    return rows


def written(path: Path, header: str, rows: list[tuple[Any, ...]]) -> Path:
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n", encoding="utf-8")
    return path


def points(table: PairTable) -> dict[str, float]:
    return dict(zip(table.systems, table.points_matrix().sum(axis=1).tolist(), strict=True))


def expected(rows: list[tuple[Any, ...]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for _, _, a, b, won in rows:
        for system, got in ((a, {"a": 1.0, "tie": 0.5}), (b, {"b": 1.0, "tie": 0.5})):
            total[str(system)] = total.get(str(system), 0.0) + got.get(won, 0.0)
    return total


@pytest.mark.parametrize("names", [NAMES, (11, 12, 13), (1, 2, 3)])
@pytest.mark.parametrize(
    "header",
    [
        "judge,candidate_chosen,candidate_not_chosen",
        "judge,Candidate.Chosen,Candidate.Not.Chosen",
        "judge,winner,loser",
        "judge,chosen_model,rejected_model",
        "judge,chosen,notChosen",
    ],
)
def test_winners_beside_losers(header: str, names: tuple[Any, ...], tmp_path: Path) -> None:
    rows = choices(names)
    file = written(tmp_path / "x.csv", header, [(r, a, b) if won == "a" else (r, b, a) for r, _, a, b, won in rows])
    table = pair_table(file)
    assert points(table) == expected(rows)
    assert not table.shown_both_ways(), "the place of the winner says nothing about what was shown first"
    assert len(table.raters) == 8


def test_winners_whose_side_is_said(tmp_path: Path) -> None:
    rows = choices()
    sides = {"a": "left", "b": "right"}
    cells = [(*((a, r, b) if won == "a" else (b, r, a)), sides[won]) for r, _, a, b, won in rows]
    table = pair_table(written(tmp_path / "x.csv", "chosen,judge,not_chosen,choice", cells))
    shown = [(table.systems[a], table.systems[b]) for a, b in zip(table.first, table.second, strict=True)]
    assert shown == [(a, b) for _, _, a, b, _ in rows] and points(table) == expected(rows)


FLAGS = {
    "rater,item,model_a,model_b,winner_model_a,winner_model_b,winner_tie": lambda won: (
        won == "a",
        won == "b",
        won == "tie",
    ),
    "observer,scene,condition_A,condition_B,is_A_selected": lambda won: (won == "a",),
    "rater,item,model_1,model_2,chose_1,chose_2": lambda won: (won == "a", won == "b"),
}


@pytest.mark.parametrize("header", FLAGS)
@pytest.mark.parametrize("yes", [("1", "0"), ("True", "False"), ("yes", "no")])
def test_yes_and_no_for_each_side(header: str, yes: tuple[str, str], tmp_path: Path) -> None:
    rows = choices(ties="tie" in header)
    cells = [(r, i, a, b, *(yes[0] if one else yes[1] for one in FLAGS[header](won))) for r, i, a, b, won in rows]
    table = pair_table(written(tmp_path / "x.csv", header, cells))
    assert points(table) == expected(rows) and len(table.raters) == 8


def test_a_no_that_may_be_a_tie_is_asked_about(tmp_path: Path) -> None:
    cells = [(r, i, a, b, won == "a") for r, i, a, b, won in choices()]
    with pytest.raises(ob.InputError, match="no may mean a tie or that the other system is better"):
        ob.read(written(tmp_path / "x.csv", "rater,item,model_a,model_b,a_wins", cells))


@pytest.mark.parametrize("name", ["loser", "not_preferred", "rejected", "worse", "least_preferred"])
@pytest.mark.parametrize("said", ["name", "place"])
def test_verdicts_that_name_the_worse_system(name: str, said: str, tmp_path: Path) -> None:
    rows = choices()
    other = {"a": 1, "b": 0}
    cells = [
        (r, i, a, b, (a, b)[other[won]] if said == "name" else f"model_{'ab'[other[won]]}") for r, i, a, b, won in rows
    ]
    table = pair_table(written(tmp_path / "x.csv", f"rater,item,model_a,model_b,{name}", cells))
    assert points(table) == expected(rows) and not table.criteria


@pytest.mark.parametrize("names", [(71, 72, 73), (1, 2, 3)])
def test_numbers_of_systems_are_no_places_and_their_columns_no_verdicts(names: tuple[int, ...], tmp_path: Path) -> None:
    rows = choices(names)
    cells = [(r, a, b, a if won == "a" else b, f"Text {a}?") for r, _, a, b, won in rows]
    table = pair_table(
        written(tmp_path / "x.csv", "participant_id,choice_id1,choice_id2,winner_id,choice1_text", cells)
    )
    assert points(table) == expected(rows) and table.n == len(rows)
    assert table.item is None, "the text of a system is no item"


def test_numbers_that_may_be_places_are_asked_about(tmp_path: Path) -> None:
    cells = [(r, *((1, 2) if k % 2 else (2, 1)), 1 + k % 3 % 2) for k, (r, *_) in enumerate(choices())]
    with pytest.raises(ob.InputError, match="may be a system or the place"):
        ob.read(written(tmp_path / "x.csv", "participant_id,system_1,system_2,winner", cells))


def test_answers_that_are_not_understood_are_named(tmp_path: Path) -> None:
    cells = [(r, i, a, b, "model_c" if k % 4 == 0 else f"model_{won}") for k, (r, i, a, b, won) in enumerate(choices())]
    with pytest.raises(ob.InputError, match=r"winner of x\.csv says 'model_c' in 30 of 120 rows"):
        ob.read(written(tmp_path / "x.csv", "rater,item,model_a,model_b,winner", cells))


@pytest.mark.parametrize("header", ["player_1,player_2,winner", "image_left,image_right,chosen_image"])
def test_columns_that_the_verdict_says_again(header: str, tmp_path: Path) -> None:
    rows = choices()
    cells = [(r, a, b, {"a": a, "b": b}[won]) for r, _, a, b, won in rows]
    table = pair_table(written(tmp_path / "x.csv", f"judge,{header}", cells))
    assert points(table) == expected(rows) and table.item is None and not table.criteria


def test_conversations_are_texts_and_no_rows(tmp_path: Path) -> None:
    """A list of turns for each text must not multiply the comparisons."""
    rows = choices()
    file = tmp_path / "x.jsonl"
    lines = []
    for r, i, a, b, won in rows:
        turns = [{"role": role, "content": role} for role in ("user", "assistant")]
        models = dict(zip(("chosen_model", "rejected_model"), (a, b) if won == "a" else (b, a), strict=True))
        lines.append(json.dumps({"annotator": r, "prompt": i, "chosen": turns, "rejected": turns, **models}))
    file.write_text("\n".join(lines))
    assert points(pair_table(file)) == expected(rows)


@pytest.mark.parametrize("named", [True, False])
def test_pairwise_tasks_of_label_studio(named: bool, tmp_path: Path) -> None:
    rows = choices()
    sides = {"a": "left", "b": "right"}
    tasks = []
    for k, (rater, item, a, b, won) in enumerate(rows):
        data = {"prompt": item, "answer1": "x", "answer2": "y"} | ({"model1": a, "model2": b} if named else {})
        result = {"value": {"selected": sides[won]}, "from_name": "comparison", "to_name": "answer1,answer2",
                  "type": "pairwise"}  # fmt: skip
        tasks.append({"id": k, "data": data, "annotations": [{"completed_by": int(rater[1:]), "result": [result]}]})
    file = tmp_path / "x.json"
    file.write_text(json.dumps(tasks))
    if named:
        table = pair_table(file)
        assert points(table) == expected(rows) and len(table.raters) == 8
    else:
        with pytest.raises(PreferencesFound, match="no column names the systems"):
            ob.read(file)
