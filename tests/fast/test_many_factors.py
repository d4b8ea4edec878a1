"""Any number of grouping factors, crossed and nested, beside R: lme4's own examples and simulated studies.

Tolerances are those of R's searches: lme4 stops when the deviance changes by about 1e-8, clmm at a gradient of 1e-4.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ordbridge as ob

pytestmark = [pytest.mark.needs_r, pytest.mark.filterwarnings("ignore::ordbridge.ConvergenceWarning")]


def crossed() -> pd.DataFrame:
    """Return 300 ratings in which participants, items, batches and sites meet at random."""
    random = np.random.default_rng(5)
    n, sizes = 300, {"participant": 14, "item": 12, "batch": 6, "site": 5}
    table = pd.DataFrame({name: random.integers(0, size, n) for name, size in sizes.items()})
    table["system"] = random.choice(list("AB"), n)
    second = (table["system"] == "B").to_numpy(float)
    latent = 0.5 * second + random.normal(size=n)
    for sd, (name, size) in zip((0.8, 0.6, 0.6, 0.6), sizes.items(), strict=True):
        latent += random.normal(0, sd, size)[table[name]]
    latent += 0.5 * second * random.normal(size=14)[table["participant"]]
    return table.assign(rating=1 + np.digitize(latent, [-1, 0, 1, 2]), score=latent.round(3))


def nested() -> pd.DataFrame:
    """Return eight ratings by each of five pupils of eight schools, whose slopes differ."""
    random = np.random.default_rng(5)
    school, pupil = np.repeat(np.arange(8), 40), np.tile(np.repeat(np.arange(5), 8), 8)
    own, x = school * 5 + pupil, random.normal(size=320).round(3)
    latent = 0.4 * x + random.normal(0, 0.8, 8)[school] + random.normal(0, 0.7, 40)[own] + random.normal(size=320)
    latent += x * (random.normal(0, 0.6, 8)[school] + random.normal(0, 0.6, 40)[own])
    table = pd.DataFrame({"school": school, "pupil": pupil, "x": x, "score": latent.round(3)})
    return table.assign(rating=1 + np.digitize(latent, [-1, 0, 1]))


THREE = "system + (1 | participant) + (1 | item) + (1 | batch)"
CASES = [
    ("Penicillin", "lmer", "diameter ~ 1 + (1 | plate) + (1 | sample)", {}),
    ("Pastes", "lmer", "strength ~ 1 + (1 | batch/cask)", {}),
    ("Pastes", "clmm", "category ~ 1 + (1 | batch/cask)", {}),
    ("crossed", "lmer", f"score ~ {THREE}", {}),
    ("crossed", "clmm", f"rating ~ {THREE}", {"link": "probit"}),
    ("crossed", "lmer", f"score ~ {THREE} + (1 | site)", {"REML": False}),
    ("crossed", "lmer", "score ~ system + (system | participant) + (1 | item) + (1 | batch)", {}),
    ("nested", "lmer", "score ~ x + (x | school/pupil)", {}),
    pytest.param("nested", "clmm", "rating ~ x + (x | school/pupil)", {"link": "probit"}, marks=pytest.mark.slow),
]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pd.DataFrame]:
    from ordbridge.bridge import rscript
    from ordbridge.bridge.session import r_folder

    found = {"crossed": crossed(), "nested": nested()}
    folder: Path = tmp_path_factory.mktemp("lme4")
    for name in ("Penicillin", "Pastes"):
        rscript.run(r_folder() / "baseline.R", "--export", f"lme4::{name}", folder / f"{name}.csv")
        found[name] = pd.read_csv(folder / f"{name}.csv")
    found["Pastes"]["category"] = np.digitize(found["Pastes"]["strength"], [58, 60, 62])
    return found


@pytest.mark.parametrize(("data", "model", "formula", "options"), CASES)
def test_as_in_r(data: str, model: str, formula: str, options: dict, tables: dict[str, pd.DataFrame]) -> None:
    fit = getattr(ob, model)
    r, e = (fit(formula, tables[data], engine=engine, **options).estimates for engine in ("r", "fast"))
    assert e.terms == r.terms and e.singular == r.singular
    assert e.loglik == pytest.approx(r.loglik, abs=1e-6) and e.loglik >= r.loglik - 1e-7
    ordinal = model == "clmm"
    np.testing.assert_allclose(e.estimate, r.estimate, atol=1e-4 if ordinal else 1e-6)
    np.testing.assert_allclose(e.std_error, r.std_error, rtol=2e-3 if ordinal else 1e-4)
    np.testing.assert_allclose(e.p_value, r.p_value, rtol=5e-3 if ordinal else 2e-3, atol=1e-12)
    np.testing.assert_allclose(e.df, r.df, rtol=1e-3)
    for mine, other in zip(e.random, r.random, strict=True):
        assert (mine.group, mine.terms, mine.levels) == (other.group, other.terms, other.levels)
        np.testing.assert_allclose(mine.covariance, other.covariance, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(mine.modes, other.modes, atol=3e-4)
        np.testing.assert_allclose(mine.mode_sd, other.mode_sd, rtol=2e-3, atol=1e-4)
