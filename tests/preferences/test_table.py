"""What cannot be analysed gets one clear sentence; what is odd is handled and said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from simulated_study import study

import ordbridge as ob
from ordbridge.preferences import PairTable, compare_preferences, pair_table
from ordbridge.preferences.table import one_sided
from ordbridge.results.finding import has

COLUMNS = {"first": "x", "second": "y", "outcome": "vote"}


def votes(rows: str, **extra: Any) -> dict[str, Any]:
    """Return votes such as "AB>" (A against B, the first wins), "AB=", "AB<"."""
    words = rows.split()
    verdict = {">": "a", "<": "b", "=": "tie"}
    return {"x": [w[0] for w in words], "y": [w[1] for w in words], "vote": [verdict[w[2]] for w in words], **extra}


def test_a_system_against_itself_is_refused() -> None:
    with pytest.raises(ob.InputError, match=r"compared with itself in 1 row \(2\)"):
        ob.prefer(votes("AB> BB= AB<"), engine="fast", **COLUMNS)


def test_disconnected_systems_are_refused_with_their_groups() -> None:
    for analyse in (ob.prefer, compare_preferences):
        with pytest.raises(ob.InputError, match=r"2 groups of systems .* A, B \| C, D"):
            analyse(votes("AB> AB< CD> CD<"), engine="fast", **COLUMNS)


def test_always_losing_systems_are_ranked_apart() -> None:
    table = votes("AB> AB< AB> BA> AC> BC> AC> CB< AB=" * 1)
    with pytest.raises(ob.InputError, match="no strength is finite"):
        ob.prefer(table, engine="fast", **COLUMNS)
    found = compare_preferences(table, engine="fast", **COLUMNS)
    assert has(found.findings, "always-loses") and not has(found.findings, "always-wins")
    assert found.ranking["system"].to_pylist()[-1] == "C"
    assert found.ranking["win_rate"].to_pylist()[-1] is None


def test_always_winning_of_two_has_an_exact_test() -> None:
    raters = [f"r{k}" for k in range(8)]
    found = compare_preferences(votes("AB> " * 8, rater=raters), rater="rater", engine="fast", **COLUMNS)
    assert found.pairs["p_value"].to_pylist() == [2 * 0.5**8]
    assert "A beats B in 100% of comparisons (p = .008)" in found.answer


def test_only_ties_are_refused() -> None:
    for analyse in (ob.prefer, compare_preferences):
        with pytest.raises(ob.InputError, match="all 3 answers are ties"):
            analyse(votes("AB= AC= BC="), engine="fast", **COLUMNS)


def test_one_loss_in_thirty_keeps_a_finite_answer() -> None:
    """Raters who all but agree: their SD would run away without a bound, and 97 % of wins become 60 %."""
    who = {"rater": [f"r{k % 5}" for k in range(30)], "item": [f"i{k % 6}" for k in range(30)]}
    found = compare_preferences(votes("AB> " * 29 + "AB<", **who), rater="rater", item="item", engine="fast", **COLUMNS)
    [row] = found.pairs.to_pylist()
    assert row["win_rate"] > 0.9 and row["conf_low"] > 0.4


def test_always_the_first_place() -> None:
    found = compare_preferences(votes("AB> BA> " * 20), engine="fast", **COLUMNS)
    assert has(found.findings, "position-always") and not has(found.findings, "position-unknown")
    assert found.pairs["p_value"][0].as_py() > 0.5


def test_sides_by_reachability() -> None:
    table = pair_table(votes("AB> BC> BC< CD>"), **COLUMNS)
    above, core, below = one_sided(table)
    assert [[table.systems[k] for k in side] for side in (above, core, below)] == [["A"], ["B", "C"], ["D"]]


def test_unused_end_category_does_not_move_the_centre(pairs: pd.DataFrame) -> None:
    """Nobody answers 5: ordinal would drop it, and the centre of the scale would move."""
    answers = pairs["y5"].clip(upper=4)
    table = pairs.assign(y=answers)
    options = {"first": "first", "second": "second", "outcome": "y", "categories": 5, "engine": "fast"}
    plain = ob.prefer(table, **options)
    flipped = pairs.assign(y=6 - answers, first=pairs["second"], second=pairs["first"])
    assert list(ob.prefer(flipped, **options).coef.values()) == pytest.approx(list(plain.coef.values()), abs=1e-6)
    own = ob.preferences.PairTable(
        tuple("ABCD"), pairs["first"].map("ABCD".index).to_numpy(), pairs["second"].map("ABCD".index).to_numpy(),
        answers.to_numpy() - 1, 5,
    )  # fmt: skip
    from ordbridge.preferences.fitting import fit_tied

    assert fit_tied(own.coded()).coefficients == pytest.approx(list(plain.coef.values())[1:], abs=1e-5)


@pytest.mark.parametrize(
    ("answers", "sentence"),
    [
        ([2, 3, 3], "give categories="),
        ([0, 1, 2], "Code them 1"),
        ([1.5, 2, 3], "must be integers"),
        (["a", "B", "yes"], "row 3: the answer 'yes'"),
    ],
)
def test_answers_that_are_not_understood(answers: list[Any], sentence: str) -> None:
    with pytest.raises(ob.InputError, match=sentence):
        pair_table({"x": list("AAB"), "y": list("BBA"), "vote": answers}, **COLUMNS)


def test_codings_of_the_same_answers_agree() -> None:
    words = pair_table({"x": list("AAB"), "y": list("BBA"), "vote": ["a", "tie", "A"]}, **COLUMNS)
    numbers = pair_table({"x": list("AAB"), "y": list("BBA"), "vote": [3, 2, 1]}, **COLUMNS)
    signed = pair_table({"x": list("AAB"), "y": list("BBA"), "vote": [1, 0, -1]}, **COLUMNS)
    for one in (words, numbers, signed):
        assert one.y.tolist() == [2, 1, 0] and one.points.tolist() == [1.0, 0.5, 0.0]
    four = pair_table({"x": list("AAAA"), "y": list("BBBB"), "vote": [1, 2, 3, 4]}, **COLUMNS)
    assert four.y.tolist() == [0, 1, 2, 3] and four.points.tolist() == [0.0, 0.0, 1.0, 1.0]


def test_names_that_may_be_places_are_asked_about() -> None:
    """Systems called A and B, shown in both orders: "A" may be the system or the first place."""
    table = {"model_a": ["A", "B"] * 6, "model_b": ["B", "A"] * 6, "winner": ["A", "A", "B"] * 4}
    with pytest.raises(ob.InputError, match="may be a system or the place"):
        ob.compare(table, engine="fast")
    fixed = {"model_a": ["A"] * 12, "model_b": ["B"] * 12, "winner": ["A", "A", "B"] * 4}
    assert ob.compare(fixed, engine="fast").ranking["system"].to_pylist() == ["A", "B"]


def test_missing_answers_are_left_out_and_counted() -> None:
    table = pair_table({"x": list("AAB"), "y": list("BBA"), "vote": ["a", None, "a"]}, **COLUMNS)
    assert table.n == 2 and table.findings[0].values == {"n": 1, "all": 3}


def test_two_raters_are_not_random_and_that_is_said() -> None:
    found = compare_preferences(study(raters=2), engine="fast")
    assert has(found.findings, "preferences-few-levels")
    assert found.models["random"].to_pylist() == ["item:system"]


def test_order_of_the_rows_and_of_a_pair_does_not_matter() -> None:
    one = study(3)
    order = np.random.default_rng(1).permutation(one.n)
    other = PairTable(
        one.systems, one.second[order], one.first[order], 2 - one.y[order], 3, one.rater[order], one.item[order],
        one.raters, one.items,
    )  # fmt: skip
    a, b = (compare_preferences(x, engine="fast").pairs for x in (one, other))
    assert a["win_rate"].to_pylist() == pytest.approx(b["win_rate"].to_pylist(), abs=1e-5)
    assert a["p_value"].to_pylist() == pytest.approx(b["p_value"].to_pylist(), abs=1e-4)
