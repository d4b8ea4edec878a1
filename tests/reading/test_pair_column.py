"""Verdicts that are names: the systems of a row in one column, or only two names and ties; and what is no verdict."""

from __future__ import annotations

import pytest

import ordbridge as ob
from ordbridge.preferences import pair_table

PAIRS = [("base", "large"), ("large", "tuned"), ("base", "tuned")] * 4
WINNERS = ["large", "tuned", "same", "base", "large", "tuned", "large", "same", "tuned", "large", "tuned", "base"]


@pytest.mark.parametrize("between", [",", " vs. ", "_vs_", " | ", ";"])
def test_systems_in_one_column(between: str) -> None:
    table = {"judge": list("uvw") * 4, "text": [f"t{k % 4}" for k in range(12)],
             "options": [between.join(pair) for pair in PAIRS], "overall": WINNERS}  # fmt: skip
    got = pair_table(table)
    assert got.systems == ("base", "large", "tuned") and got.n == 12 and len(got.raters) == 3
    won = [
        None if y == 1 else got.systems[a if y == 2 else b]
        for a, b, y in zip(got.first, got.second, got.y, strict=True)
    ]
    assert won == [None if one == "same" else one for one in WINNERS]


def test_several_columns_of_verdicts_are_criteria() -> None:
    table = {"options": [",".join(pair) for pair in PAIRS], "plot": WINNERS, "style": WINNERS[::-1]}
    table["style"] = [pair[0] for pair in PAIRS[:6]] + [pair[1] for pair in PAIRS[6:]]
    assert pair_table(table).criteria == ("plot", "style")


def test_two_names_and_ties() -> None:
    table = {"rater": list("uvw") * 2, "item": list("112233"), "winner": ["gpt", "llama", "tie", "gpt", "gpt", "llama"]}
    got = pair_table(table)
    assert got.systems == ("gpt", "llama") and got.points.sum() == 3.5


@pytest.mark.parametrize(
    "column",
    [
        {"authors": [",".join(pair) for pair in PAIRS], "note": ["good", "bad", "fine"] * 4},
        {"label": ["positive", "negative", "neither"] * 4},
        {"choice": ["yes", "no", "both"] * 4},
    ],
)
def test_what_is_no_verdict(column: dict[str, list[str]]) -> None:
    table = {"rater": list("uvw") * 4, "item": [f"t{k}" for k in range(12)], "rating": [1, 2, 3, 4] * 3, **column}
    assert ob.read(table).table.num_rows == 12
    del table["rating"]
    with pytest.raises(ob.InputError) as refused:
        ob.compare(table, engine="fast")
    assert "comparisons of" not in str(refused.value)
