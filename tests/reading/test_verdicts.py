"""Verdicts with grades keep them; numbers whose direction nobody can know are asked about."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordbridge as ob
from ordbridge.preferences import pair_table
from ordbridge.reading.verdicts import grades

SYSTEMS = ["alpha", "beta", "gamma"]
WORDS = {-3: "B is much better", -2: "B is better", -1: "B is slightly better", 0: "tie", 1: "A is slightly better",
         2: "A is better", 3: "A is much better"}  # fmt: skip
ARROWS = {-3: "[[B>>A]]", -2: "[[B>A]]", -1: "[[B>A]]", 0: "[[A=B]]", 1: "[[A>B]]", 2: "[[A>B]]", 3: "[[A>>B]]"}


def study(said: dict[int, Any], name: str = "preference") -> tuple[dict[str, list[Any]], list[int]]:
    """Return votes of six people in the words of ``said``, and what they meant, from −3 to 3."""
    rng = np.random.default_rng(0)
    rows = []
    for rater in range(6):
        for item in range(10):
            for a in range(3):
                for b in range(3):
                    if a != b and rng.random() < 0.4:
                        eta = 0.7 * (a - b) + rng.logistic()
                        meant = int(np.searchsorted([-2, -1, -0.3, 0.3, 1, 2], eta)) - 3
                        rows.append((f"r{rater}", f"i{item}", SYSTEMS[a], SYSTEMS[b], meant))
    names = ("annotator", "prompt_id", "model_a", "model_b", name)
    columns = [list(column) for column in zip(*rows, strict=True)]
    return dict(zip(names, [*columns[:4], [said[one] for one in columns[4]]], strict=True)), columns[4]


def test_words_keep_their_grades() -> None:
    table, meant = study(WORDS)
    got = pair_table(table)
    assert got.categories == 7 and got.y.tolist() == [one + 3 for one in meant]
    assert ob.compare(table, engine="fast").models["model"].to_pylist() == ["graded Bradley–Terry model"]


def test_arrows_keep_their_grades() -> None:
    table, meant = study(ARROWS, "verdict")
    got = pair_table(table)
    expected = [int(np.sign(one) * (1 + (abs(one) == 3))) + 2 for one in meant]
    assert got.categories == 5 and got.y.tolist() == expected


def test_an_even_scale_has_no_tie() -> None:
    table, meant = study(WORDS)
    keep = [k for k, one in enumerate(meant) if one]
    got = pair_table({name: [cells[k] for k in keep] for name, cells in table.items()})
    assert got.categories == 6
    assert got.y.tolist() == [meant[k] + 3 - (meant[k] > 0) for k in keep]


@pytest.mark.parametrize(
    "said",
    [
        {k: k for k in WORDS},
        {k: k + 4 for k in WORDS},
        {k: int(np.sign(k)) for k in WORDS},
        {k: (np.sign(k) + 1) / 2 for k in WORDS},
        {k: int(k > 0) for k in WORDS},
        {k: 0 if k == 0 else 1 if k > 0 else 2 for k in WORDS},  # or 0 the first, 1 the second, 2 a tie
    ],
)
def test_numbers_without_a_direction_are_asked_about(said: dict[int, Any]) -> None:
    """−1 was read as 1 and 0.5 as nothing: 76 % of wins became 52 and 64 %."""
    table, _ = study(said, "winner")
    with pytest.raises(ob.InputError, match="do not say which of them prefer the first"):
        ob.compare(table, engine="fast")


def test_numbers_of_the_places_are_verdicts() -> None:
    table, meant = study({k: 1 if k > 0 else 2 for k in WORDS}, "winner")
    assert pair_table(table).points.tolist() == [float(one > 0) for one in meant]


def test_what_has_no_grades() -> None:
    assert grades(["left", "right", "tie"]) is None
    assert grades(["A is much better", "a tie of both", "who knows", "the second text is long"]) is None
    assert grades(["1>2", "2>>1", "1=2", None]) == [1, -2, 0, None]
    assert grades(["A>A", "A>>B", "A>B"]) is None  # one of three is not understood
