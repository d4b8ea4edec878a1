"""False alarms of other methods as they were computed before, with R: rankings as pairs, Wald's and LR tests."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "preference_rates.py"
N = 40
METHODS = ("pairs, naive", "the same, LR × 3/(k+1)", "Plackett–Luce, naive", "mean rank, two-way t, one pair")
# rates in 400 studies (of five systems 200), in the order of METHODS
RANKINGS = {
    (3, 0.0): (0.100, 0.037, 0.043, 0.007),
    (3, 0.5): (0.545, 0.453, 0.453, 0.062),
    (5, 0.0): (0.275, 0.065, 0.060, 0.010),
    (5, 0.5): (0.875, 0.655, 0.660, 0.030),
}
# systems, raters, answers: likelihood ratio and Wald in 1000 studies
SMALL = {(2, 3, 3): (0.094, 0.139), (4, 3, 3): (0.125, 0.194)}


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("preference_rates", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def close(rate: float, known: float, n: int, of: int) -> bool:
    """Tell whether two shares differ by less than 3.5 standard errors."""
    pooled = max((rate * n + known * of) / (n + of), 0.5 / n)
    return abs(rate - known) < 3.5 * np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / of))


@pytest.mark.slow
@pytest.mark.parametrize(("systems", "sd"), RANKINGS)
def test_rankings(systems: int, sd: float, script: ModuleType) -> None:
    studies = [script.ranking_alarms(systems, sd, seed, mixed=False) for seed in range(N)]
    for method, known in zip(METHODS, RANKINGS[systems, sd], strict=True):
        assert close(np.mean([one[method] for one in studies]), known, N, 400 if systems == 3 else 200), method
    # ten raters: χ² takes the covariance of a bootstrap for known
    chi2, f = (np.mean([one[f"bootstrap of raters, {name}"] for one in studies]) for name in ("χ²", "F"))
    assert chi2 >= f + 0.02 and chi2 > 0.05


@pytest.mark.slow
def test_raters_and_items_keep_the_level(script: ModuleType) -> None:
    """Where naive tests reject in about half of the studies (.048 and .060 of 400 with both)."""
    studies = [script.ranking_alarms(3, 0.5, seed) for seed in range(25)]
    rates = {name: np.mean([one[name] for one in studies]) for name in studies[0]}
    assert close(rates["pairs with raters and items"], 0.048, 25, 400)
    assert close(rates["compare (Plackett–Luce with both, any pair)"], 0.060, 25, 400)
    assert rates["pairs, naive"] > 0.3


@pytest.mark.slow
@pytest.mark.parametrize(("systems", "raters", "answers"), SMALL)
def test_small_studies(systems: int, raters: int, answers: int, script: ModuleType) -> None:
    studies = [script.small_alarms(systems, raters, answers, seed) for seed in range(N)]
    for method, known in zip(("likelihood ratio", "Wald"), SMALL[systems, raters, answers], strict=True):
        assert close(np.mean([one[method] for one in studies]), known, N, 1000), method
    assert np.mean([one["naive"] for one in studies]) > 0.15
