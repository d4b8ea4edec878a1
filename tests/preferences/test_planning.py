"""How many comparisons: numbers whose power was simulated; sheets and next pairs; the commands."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow.csv as pacsv
import pytest
from simulated_study import study

import ordbridge as ob
from ordbridge.cli import main
from ordbridge.preferences import comparison_sheet, next_pairs, plan_comparisons
from ordbridge.preferences.sample_size import points_variances

# SD of raters and items, ties, raters, items, comparisons; their power in 300 simulated studies was .777 to .810
SIMULATED = [
    (0.0, 0.0, None, None, 778),
    (0.0, 0.29, None, None, 551),
    (0.3, 0.0, 60, 100, 3398),
    (0.3, 0.27, 60, 100, 1634),
    (0.5, 0.24, 150, 150, 2247),
    (0.5, 0.24, 100, 400, 1817),
]


@pytest.mark.parametrize(("sd", "ties", "raters", "items", "n"), SIMULATED)
def test_numbers_whose_power_was_simulated(
    sd: float, ties: float, raters: int | None, items: int | None, n: int
) -> None:
    plan = plan_comparisons(0.55, raters=raters, items=items, rater_sd=sd, item_sd=sd, ties=ties)
    assert plan.options["comparisons"][0].as_py() == pytest.approx(n, rel=0.012)  # shares of ties are rounded


def test_more_than_59_raters_even_with_endless_items() -> None:
    plan = plan_comparisons(0.55, raters=[59, 60], items=10**9, ties=0.24)
    assert [row is None for row in plan.options["comparisons"].to_pylist()] == [True, False]
    assert plan.findings[0].values == {"raters": 60}


def test_variances_of_points_are_those_of_a_simulation() -> None:
    rng = np.random.default_rng(1)
    found = points_variances(0.6, 0.6, 0.4, 0.2)
    total = found.rater + found.item + found.rest
    assert total == pytest.approx(0.8 / 4 - 0.01)
    from scipy import optimize

    from ordbridge.preferences.win_rates import WinRates

    spread = np.sqrt(2 * 0.36 + 2 * 0.16)
    tie = optimize.brentq(lambda t: _ties(t, spread) - 0.2, 0.01, 5)
    rates = WinRates(float(spread), tie)
    eta = optimize.brentq(lambda e: float(rates.points(e)) - 0.6, -5, 5)
    inside = WinRates(float(np.sqrt(2) * 0.4), tie).points(eta + np.sqrt(2) * 0.6 * rng.normal(size=40_000))
    assert found.rater == pytest.approx(inside.var(), rel=0.03)


def _ties(tie: float, spread: float) -> float:
    from scipy import optimize

    from ordbridge.preferences.win_rates import WinRates

    rates = WinRates(float(spread), tie)
    return float(rates.ties(optimize.brentq(lambda e: float(rates.points(e)) - 0.6, -20, 20)))


def test_sheets_balance_pairs_items_and_orders() -> None:
    sheet = comparison_sheet(["A", "B", "C"], items=10, raters=6, per_rater=15).to_pylist()
    pairs = Counter(frozenset((row["first"], row["second"])) for row in sheet)
    assert max(pairs.values()) - min(pairs.values()) <= 1
    orders = Counter((row["first"], row["second"]) for row in sheet)
    assert max(orders.values()) - min(orders.values()) <= 1
    assert set(Counter(row["item"] for row in sheet).values()) == {9}
    once = Counter((row["rater"], row["item"], frozenset((row["first"], row["second"]))) for row in sheet)
    assert set(once.values()) == {1}


def test_next_pairs_ask_about_what_is_least_known() -> None:
    table = study(1, strength=(0.0, 0.0, 0.0, 0.0))
    rare = table.rows((table.first != 3) & (table.second != 3) | (np.arange(table.n) % 6 == 0))
    asked = next_pairs(rare, 20)
    last = sum(row["n"] for row in asked.to_pylist() if "s3" in (row["first"], row["second"]))
    assert last >= 14 and sum(asked["n"].to_pylist()) == 20
    counts = next_pairs(rare, 1, by="balanced").to_pylist()
    assert "s3" in (counts[0]["first"], counts[0]["second"])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"win_rate": 0.5}, "equal systems"),
        ({"ties": 1.0}, "ties=1 must be"),
        ({"rater_sd": -1}, "rater_sd=-1 must be"),
        ({"raters": 1}, "raters"),
    ],
)
def test_impossible_plans(arguments: dict[str, float], sentence: str) -> None:
    with pytest.raises(ob.InputError, match=sentence):
        plan_comparisons(**arguments)  # type: ignore[arg-type]


def test_commands(tmp_path, capsys) -> None:
    assert main(["plan", "--win-rate", "0.55", "--rater-sd", "0", "--item-sd", "0", "--ties", "0"]) == 0
    assert "778 comparisons tell 55% from 50% with 80% power." in capsys.readouterr().out
    assert main(["plan", "--ties", "0.2"]) == 2
    out = tmp_path / "sheet.csv"
    sheet = ["design", "comparisons", "--names", "A", "B", "--items", "3", "--raters", "2", "--per-rater", "3"]
    assert main([*sheet, "--out", str(out)]) == 0
    assert pacsv.read_csv(out).num_rows == 6
    assert main(["design", "comparisons", "--names", "A", "B"]) == 2
