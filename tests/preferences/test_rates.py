"""False alarms and power of methods, as they were computed before with R and other programs: every row of these tables.

Our own studies are kept by ``benchmarks/preference_rates.py``. Rates of both are shares of different simulated studies,
and may differ by 3.5 standard errors of their difference; one study of each cell is computed again here.
"""

from __future__ import annotations

import importlib.util
from collections import defaultdict
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "preference_rates.py"
RANKED = (
    "pairs, naive",
    "the same, LR × 3/(k+1)",
    "Plackett–Luce, naive",
    "pairs with raters and items",
    "bootstrap of raters, χ²",
    "bootstrap of raters, F",
    "bootstrap of raters and items",
    "mean rank, two-way t, one pair",
)
CHOSEN = ("maxdiff, naive", "implied pairs, naive", "implied pairs with raters and items",
          "best − worst, two-way t, one pair")  # fmt: skip
COMPARE = "compare (Plackett–Luce, any pair)"
# rates in the order of the methods; from 400 studies, of five systems 200, of power 300
KNOWN = {
    ("rankings", "3 systems, SD 0"): (0.100, 0.037, 0.043, 0.018, 0.138, 0.050, 0.000, 0.007),
    ("rankings", "3 systems, SD 0.5"): (0.545, 0.453, 0.453, 0.048, 0.195, 0.092, 0.020, 0.062),
    ("rankings", "5 systems, SD 0"): (0.275, 0.065, 0.060, 0.015, 0.325, 0.055, 0.000, 0.010),
    ("rankings", "5 systems, SD 0.5"): (0.875, 0.655, 0.660, 0.020, 0.410, 0.105, 0.025, 0.030),
    ("best-worst", "SD 0"): (0.058, 0.212, 0.025, 0.025),
    ("best-worst", "SD 0.5"): (0.557, 0.738, 0.035, 0.035),
}
# likelihood ratio and Wald in 1000 studies, by systems, raters and answers
SMALL = {
    (2, 3, 3): (0.094, 0.139), (2, 3, 2): (0.102, 0.128), (4, 3, 3): (0.125, 0.194), (4, 3, 2): (0.120, 0.186),
    (2, 5, 3): (0.086, 0.106), (2, 5, 2): (0.076, 0.099), (4, 5, 3): (0.078, 0.113), (4, 5, 2): (0.082, 0.120),
    (2, 10, 3): (0.053, 0.063), (2, 10, 2): (0.069, 0.084), (4, 10, 3): (0.076, 0.093), (4, 10, 2): (0.071, 0.096),
    (2, 20, 3): (0.053, 0.059), (2, 20, 2): (0.063, 0.070), (4, 20, 3): (0.078, 0.087), (4, 20, 2): (0.051, 0.058),
}  # fmt: skip
# by raters: the range of naive tests, and of Wald's with t, over both numbers of systems and of answers
NAIVE = {3: (0.26, 0.51), 5: (0.26, 0.54), 10: (0.32, 0.67), 20: (0.35, 0.80)}
WALD_T = {3: (0.0, 0.003), 5: (0.016, 0.034), 10: (0.027, 0.054), 20: (0.027, 0.054)}
TWO_WAY = (0.033, 0.057)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("preference_rates", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def kept(script: ModuleType) -> dict[tuple[str, str, str], list[bool]]:
    """Return whether there was an alarm, by table, cell and method, in the order of seeds."""
    alarms = defaultdict(list)
    for row in sorted(script.kept(), key=lambda row: row["seed"]):
        alarms[row["table"], row["cell"], row["method"]].append(row["alarm"])
    return alarms


def close(alarms: list[bool], known: float, of: int) -> bool:
    """Tell whether two shares differ by less than 3.5 standard errors."""
    n, rate = len(alarms), float(np.mean(alarms))
    pooled = max((rate * n + known * of) / (n + of), 0.5 / n)
    return n >= min(of, 100) and abs(rate - known) < 3.5 * np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / of))


def within(alarms: list[bool], ends: tuple[float, float], of: int) -> bool:
    return ends[0] <= np.mean(alarms) <= ends[1] or any(close(alarms, end, of) for end in ends)


@pytest.mark.parametrize(("table", "cell"), KNOWN)
def test_rankings_and_best_worst(table: str, cell: str, kept: dict[tuple[str, str, str], list[bool]]) -> None:
    methods = RANKED if table == "rankings" else CHOSEN
    for method, known in zip(methods, KNOWN[table, cell], strict=True):
        assert close(kept[table, cell, method], known, 200 if "5 systems" in cell else 400), method


def test_power_and_items_that_are_ranked_once(kept: dict[tuple[str, str, str], list[bool]]) -> None:
    for method, known in (("pairs with raters and items", 0.420), ("bootstrap of raters and items", 0.303)):
        assert close(kept["power", "3 systems, SD 0.5", method], known, 300), method
    assert close(kept["once", "10 raters", "pairs with raters and items"], 0.125, 400)
    for cell, known in (("10 raters", 0.068), ("20 raters", 0.060)):
        assert close(kept["once", cell, "pairs with raters"], known, 400)


def test_preferences_of_single_rankings(kept: dict[tuple[str, str, str], list[bool]]) -> None:
    """Random effects of each ranking do not repair pairs: .067 and .100 of 60 studies."""
    for cell, known in (("3 systems, SD 0", 0.067), ("3 systems, SD 0.5", 0.100)):
        assert close(kept["ranking effects", cell, "pairs with raters, items and rankings"], known, 60), cell


def test_laplace_is_that_of_the_native_engine(script: ModuleType) -> None:
    rng = np.random.default_rng(1)
    r, i = script.crossed(4, 6)
    table = script.exploded(script.ranked(rng, np.zeros(3), 0.8, r, i), r, i)
    fit = script.fit_tied(table.coded(("rater", "item")))
    signed = np.eye(3)[table.first] - np.eye(3)[table.second]
    K = sum(sd**2 * (signed @ signed.T) * (codes[:, None] == codes)
            for sd, codes in zip(fit.sd, (table.rater, table.item), strict=True))  # fmt: skip
    own = script.laplace(np.where(table.y == 1, 1.0, -1.0), signed[:, 1:] @ fit.coefficients, K)
    assert own == pytest.approx(fit.loglik, abs=1e-7)


def test_compare_keeps_the_level(kept: dict[tuple[str, str, str], list[bool]]) -> None:
    """Plackett–Luce with raters (and items) had .020, .060, and .072 and .058 where each item is ranked once."""
    cells = [key for key in kept if key[2] == COMPARE and key[0] != "power"]
    assert len(cells) == 6
    for key in cells:
        n = len(kept[key])
        assert np.mean(kept[key]) < 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / n), key


@pytest.mark.parametrize(("systems", "raters", "answers"), SMALL)
def test_small_studies(systems: int, raters: int, answers: int, kept: dict[tuple[str, str, str], list[bool]]) -> None:
    cell = "small", f"{systems} systems, {raters} raters, {answers} answers"
    for method, known in zip(("likelihood ratio", "Wald"), SMALL[systems, raters, answers], strict=True):
        assert close(kept[*cell, method], known, 1000), method
    assert within(kept[*cell, "naive"], NAIVE[raters], 1000)
    assert within(kept[*cell, "Wald with t"], WALD_T[raters], 1000)
    assert within(kept[*cell, "points, two-way t, one pair"], TWO_WAY, 1000)


def test_kept_studies_are_those_of_the_script(script: ModuleType, kept: dict[tuple[str, str, str], list[bool]]) -> None:
    for table, cells in script.TABLES.items():
        for cell, study in cells.items() if table not in script.MOST else ():  # a study of those takes seconds
            for method, alarm in study(3).items():
                assert kept[table, cell, method][3] == bool(alarm), (table, cell, method)
