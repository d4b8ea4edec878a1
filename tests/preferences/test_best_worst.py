"""Best–worst choices from files: names or places, several columns of choices, and what is asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordbridge as ob
from ordbridge.preferences import best_worst_pairs, compare_preferences, pair_table
from ordbridge.results.finding import has

NAMES = [f"model {letter}" for letter in "PQRSTU"]


def choices(raters: int = 8, items: int = 10, shown: int = 4, effect: float = 0.5) -> dict[str, list[Any]]:
    """Return which of four of six systems eight people call best and worst; the last of the six is the best."""
    rng = np.random.default_rng(1)
    strength = effect * np.arange(6)
    out: dict[str, list[Any]] = {name: [] for name in ("worker", "document", *(f"Item{k + 1}" for k in range(shown)),
                                                       "BestItem", "WorstItem")}  # fmt: skip
    for rater in range(raters):
        for item in range(items):
            one = rng.permutation(6)[:shown]
            utility = strength[one] + rng.gumbel(size=shown)
            row = [f"w{rater}", f"d{item}", *(NAMES[k] for k in one)]
            row += [NAMES[one[utility.argmax()]], NAMES[one[utility.argmin()]]]
            for name, cell in zip(out, row, strict=True):
                out[name].append(cell)
    return out


def pairs_of(table: dict[str, list[Any]]) -> list[tuple[str, str]]:
    got = pair_table(table)
    wins = [(a, b) if y == 2 else (b, a) for a, b, y in zip(got.first, got.second, got.y, strict=True)]
    return sorted((got.systems[a], got.systems[b]) for a, b in wins)


def test_sets_of_a_file_are_the_implied_pairs() -> None:
    table = choices()
    sets = list(zip(*(table[f"Item{k}"] for k in (1, 2, 3, 4)), strict=True))
    implied = best_worst_pairs(sets, table["BestItem"], table["WorstItem"])
    expected = sorted(zip(implied["first"], implied["second"], strict=True))
    assert pairs_of(table) == expected and len(expected) == 80 * 5
    got = pair_table(table)
    assert got.kind == "best-worst sets" and got.raters[0] == "w0" and got.items[0] == "d0"


@pytest.mark.parametrize("places", ["1234", "ABCD"])
def test_places_in_place_of_names(places: str) -> None:
    table = choices()
    other = {name: list(cells) for name, cells in table.items() if "Item" not in name}
    for k in range(4):
        other[f"system_{k + 1}" if places == "1234" else f"system_{'abcd'[k]}"] = table[f"Item{k + 1}"]
    for name in ("best", "worst"):
        chosen = table[f"{name.capitalize()}Item"]
        other[name] = [
            places[[table[f"Item{k + 1}"][row] for k in range(4)].index(cell)] for row, cell in enumerate(chosen)
        ]
    assert pairs_of(other) == pairs_of(table)


def test_sets_that_are_smaller_in_some_rows() -> None:
    table = choices()
    for row in range(0, 80, 4):  # a system that was neither best nor worst was not shown
        middle = next(
            k for k in (1, 2, 3, 4) if table[f"Item{k}"][row] not in (table["BestItem"][row], table["WorstItem"][row])
        )
        table[f"Item{middle}"][row] = None
    assert len(pairs_of(table)) == 60 * 5 + 20 * 3


def test_answer_has_raters_and_items_and_is_not_a_plain_model() -> None:
    found = ob.compare(choices(effect=0.9), engine="fast")
    assert found.ranking["system"].to_pylist()[0] == "model U"
    assert found.models["random"].to_pylist() == ["rater:system, item:system"]
    assert has(found.findings, "exploded-rankings")


def test_best_and_worst_of_three_are_rankings() -> None:
    found = ob.compare(choices(shown=3), engine="fast")
    assert found.models["model"].to_pylist() == ["Plackett–Luce model"]
    assert not has(found.findings, "exploded-rankings")


def test_best_and_worst_of_two_are_comparisons() -> None:
    table = choices(shown=2)
    got = pair_table(table)
    assert got.kind == "best-worst" and got.n == 80
    assert compare_preferences(got, engine="fast").models["model"].to_pylist() == ["Bradley–Terry model"]


def test_two_questions_are_two_criteria() -> None:
    table = choices()
    rng = np.random.default_rng(2)
    other: dict[str, list[Any]] = {f"Item{k}": table[f"Item{k}"] for k in (1, 2, 3, 4)}
    other |= {"worker": table["worker"], "document": table["document"]}
    for criterion in ("fluency", "meaning"):
        order = [rng.permutation(4) for _ in range(80)]
        for k, name in enumerate(("best", "worst")):
            other[f"{name}_{criterion}"] = [table[f"Item{one[k] + 1}"][row] for row, one in enumerate(order)]
    assert pair_table(other).criteria == ("fluency", "meaning")


def test_what_was_shown_is_asked_about() -> None:
    table = {name: cells for name, cells in choices().items() if name[:4] != "Item"}
    with pytest.raises(ob.InputError, match="best and which is worst, but not among which; add a column"):
        ob.compare(table, engine="fast")


def test_a_choice_outside_of_what_was_shown_has_no_answer() -> None:
    table = choices()
    table["BestItem"][0] = "model Z"
    assert pair_table(table).n == 79 * 5
