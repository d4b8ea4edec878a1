"""The same call with both engines: the same tables and names, and numbers as close as R's optimisers allow."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ordbridge as ob

pytestmark = [pytest.mark.needs_r, pytest.mark.filterwarnings("ignore::ordbridge.ConvergenceWarning")]


@pytest.fixture(scope="module")
def study() -> pd.DataFrame:
    """A small unbalanced study with text, numbers, truth values and missing values."""
    rng = np.random.default_rng(4)
    n = 200
    table = pd.DataFrame(
        {
            "p": [f"p{i:02d}" for i in rng.integers(0, 12, n)],
            "i": rng.integers(0, 9, n),
            "s": pd.Categorical(rng.choice(list("ABC"), n)),
            "x": rng.normal(size=n),
            "warm": rng.random(n) < 0.5,
            "h": pd.Categorical(rng.choice(["lo", "mid", "hi"], n), categories=["lo", "mid", "hi"], ordered=True),
        }
    )
    latent = pd.Series(rng.normal(0, 0.9, 12), index=sorted(table["p"].unique()))[table["p"]].to_numpy()
    latent = (
        latent + rng.normal(0, 0.6, 9)[table["i"]] + 0.5 * table["s"].cat.codes + 0.4 * table["x"] + rng.normal(size=n)
    )
    table["y"] = np.digitize(latent, [-1, 0, 1, 2]) + 1
    table["v"] = latent.round(3)
    table.loc[[3, 50], "x"] = np.nan
    table.loc[7, "s"] = None
    return table


CASES = [  # model, formula, options, relative tolerance of p
    ("clm", "y ~ s*x", {"link": "probit"}, 1e-9),
    ("clm", "y ~ s + warm + h", {"link": "cloglog"}, 1e-9),
    ("clm", "y ~ x", {"link": "loglog", "threshold": "symmetric"}, 1e-9),
    ("clm", "y ~ 1", {"threshold": "equidistant"}, 1e-9),
    ("clm", "y ~ 0 + s", {}, 1e-9),
    ("clm", "y ~ x", {"link": "cauchit"}, 2e-4),  # ordinal puts infinity at 1e5, where a Cauchy tail is still 3e-6
    ("clmm", "y ~ x + (1 | p) + (1 | i)", {"link": "cloglog"}, 1e-3),
    ("clmm", "y ~ s + (1 | i) + (x | p)", {"link": "probit", "threshold": "symmetric"}, 2e-3),
    ("clmm", "y ~ x + (1 | p) + (0 + x | p)", {"threshold": "equidistant"}, 1e-3),
    ("clmm", "y ~ x + I(2*x) + s + (1 | p) + (1 | i)", {"link": "loglog"}, 1e-3),
    ("lm", "v ~ s*x", {}, 1e-10),
    ("lm", "log(v + 10) ~ poly(i, 2) + s:warm", {}, 1e-10),
    ("lmer", "v ~ s + (1 | p)", {}, 1e-4),
    ("lmer", "v ~ s*warm + (1 | p) + (1 | i)", {"REML": False}, 1e-4),
    ("lmer", "v ~ s + (x || p) + (1 | i)", {}, 2e-4),
    ("lmer", "v ~ x + I(3*x) + (1 | i) + (1 | p)", {}, 1e-4),
]


@pytest.mark.parametrize(("model", "formula", "options", "tolerance"), CASES, ids=[f"{c[0]} {c[1]}" for c in CASES])
def test_both_engines_agree(model: str, formula: str, options: dict, tolerance: float, study: pd.DataFrame) -> None:
    fit = getattr(ob, model)
    theirs, ours = (fit(formula, study, engine=engine, **options) for engine in ("r", "fast"))
    r, e = theirs.estimates, ours.estimates
    assert e.terms == r.terms and e.effects == r.effects and e.levels == r.levels and e.dropped == r.dropped
    assert e.edf == r.edf and e.rows.tolist() == r.rows.tolist() and e.singular == r.singular
    np.testing.assert_allclose(e.p_value, r.p_value, rtol=30 * tolerance, atol=tolerance * 1e-3)
    fixed = [effect == "fixed" for effect in e.effects]
    np.testing.assert_allclose(e.p_value[fixed], r.p_value[fixed], rtol=tolerance, atol=1e-12)
    np.testing.assert_allclose(e.estimate, r.estimate, rtol=tolerance, atol=1e-4 if model == "clmm" else 1e-6)
    np.testing.assert_allclose(e.df, r.df, rtol=1e-3)
    assert e.loglik >= r.loglik - 1e-6
    assert ours.tidy().schema == theirs.tidy().schema
    assert ours.glance().schema == theirs.glance().schema
    assert ours.varcorr().schema == theirs.varcorr().schema
    for mine, other in zip(e.random, r.random, strict=True):
        assert (mine.group, mine.terms, mine.levels) == (other.group, other.terms, other.levels)
        np.testing.assert_allclose(mine.covariance, other.covariance, rtol=2e-3, atol=1e-5)
        np.testing.assert_allclose(mine.modes, other.modes, atol=5e-4)
        np.testing.assert_allclose(mine.mode_sd, other.mode_sd, rtol=2e-3, atol=1e-4)


def test_predictions_of_new_rows_agree(study: pd.DataFrame) -> None:
    new = study.head(25).copy()
    new.loc[0, "p"] = "nobody"
    calls = [
        (ob.clmm, "y ~ x + (1 | p) + (1 | i)", {"link": "probit"}),
        (ob.lmer, "v ~ poly(i, 2) + s*x + (1 | p) + (x | i)", {}),
    ]
    for fit, formula, options in calls:
        theirs, ours = (fit(formula, study, engine=engine, **options) for engine in ("r", "fast"))
        for kind in ("conditional", "population"):
            tables = [f.predict(new, kind=kind).to_pandas().select_dtypes("number").to_numpy() for f in (ours, theirs)]
            np.testing.assert_allclose(*tables, atol=5e-4)
            assert np.isfinite(tables[0][0]).all()


def test_lmer_against_a_tightly_converged_lmer(study: pd.DataFrame, tmp_path: Path) -> None:
    """lme4 stops when the deviance hardly changes; told to go on, it meets p to 1e-5 and df to 1e-4."""
    study.to_csv(tmp_path / "study.csv", index=False)
    formulas = ["v ~ s + (s | p)", "v ~ s*x + (x | p) + (1 | i)", "v ~ h + (x | i)"]
    code = """
suppressMessages(library(lmerTest))
d <- read.csv("study.csv", stringsAsFactors = TRUE, na.strings = "")
d$h <- factor(d$h, levels = c("lo", "mid", "hi"), ordered = TRUE)
tight <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-12, maxfun = 1e5))
for (f in readLines("formulas.txt")) for (reml in c(TRUE, FALSE)) {
  fit <- suppressMessages(suppressWarnings(lmer(as.formula(f), d, REML = reml, control = tight)))
  t <- coef(summary(fit))
  cat(sprintf("%.15g", c(logLik(fit), t[, "df"], t[, "Pr(>|t|)"])), "\\n")
}
"""
    (tmp_path / "formulas.txt").write_text("\n".join(formulas) + "\n")
    (tmp_path / "run.R").write_text(code)
    done = subprocess.run(["Rscript", "--vanilla", "run.R"], cwd=tmp_path, capture_output=True, text=True, check=True)
    answers = iter(done.stdout.splitlines())
    for formula in formulas:
        for reml in (True, False):
            loglik, *rest = (float(number) for number in next(answers).split())
            found = ob.lmer(formula, study, REML=reml, engine="fast").estimates
            df, p = np.split(np.array(rest), 2)
            assert found.loglik == pytest.approx(loglik, abs=1e-7)
            np.testing.assert_allclose(found.df, df, rtol=1e-3)
            np.testing.assert_allclose(found.p_value, p, rtol=1e-4)


def test_one_scalar_effect_against_a_tightly_converged_clmm(study: pd.DataFrame, tmp_path: Path) -> None:
    """With one term (1 | g), ordinal's search for modes stops early; with gradTol = 1e-10 it meets the fast engine."""
    study.to_csv(tmp_path / "study.csv", index=False)
    code = """
suppressMessages(library(ordinal))
d <- read.csv("study.csv", stringsAsFactors = TRUE, na.strings = "")
d$y <- ordered(d$y)
fit <- clmm(y ~ s + (1 | p), data = d, control = clmm.control(gradTol = 1e-10, innerCtrl = "noWarn"))
cat(sprintf("%.15g", c(fit$logLik, coef(fit), fit$ST[[1]])))
"""
    (tmp_path / "run.R").write_text(code)
    done = subprocess.run(["Rscript", "--vanilla", "run.R"], cwd=tmp_path, capture_output=True, text=True, check=True)
    loglik, *coefficients, sd = (float(number) for number in done.stdout.split())
    found = ob.clmm("y ~ s + (1 | p)", study, engine="fast").estimates
    assert found.loglik == pytest.approx(loglik, abs=1e-6)
    np.testing.assert_allclose(found.estimate, coefficients, atol=5e-5)
    assert np.sqrt(found.random[0].covariance[0, 0]) == pytest.approx(sd, abs=1e-4)


@pytest.mark.parametrize("formula", ["y ~ x + (1 | i) + (1 | p)", "y ~ s + (1 | p)"])
def test_r_started_at_the_fast_optimum_stays_there_and_is_faster(formula: str, study: pd.DataFrame) -> None:
    plain = ob.clmm(formula, study, link="probit")
    started = ob.clmm(formula, study, link="probit", start="fast")
    assert started.engine == "r"
    assert started.estimates.loglik >= plain.estimates.loglik - 1e-6
    np.testing.assert_allclose(started.estimates.p_value, plain.estimates.p_value, rtol=0.3)
    assert started.estimates.evaluations < 0.8 * plain.estimates.evaluations
