"""Tests beside those of R: anova of two clmm, lmerTest's F, pbkrtest's bootstrap.

Tolerances: both engines maximise the same likelihood, and R's optimisers stop within 1e-4 of it, so ratios agree to
1e-3; F tests to 1e-4, for the same reason. Two bootstraps agree within Monte Carlo error: their ratios are samples of
one distribution (Kolmogorov–Smirnov, p > .001), their p-values differ by less than four standard
errors. Seen with R 4.2.2, ordinal 2022.11-16, lmerTest 3.1-3, pbkrtest 0.5-2.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import ordbridge as ob
from ordbridge.bridge import rscript
from ordbridge.models.inference import bootstrap
from ordbridge.models.inference.hypothesis import hypothesis
from ordbridge.results import findings_of, has

pytestmark = [pytest.mark.needs_r, pytest.mark.filterwarnings("ignore::ordbridge.ConvergenceWarning")]

CODE = """
suppressMessages({library(ordinal); library(lmerTest); library(pbkrtest)})
arguments <- commandArgs(TRUE)
data <- read.csv(arguments[1], stringsAsFactors = TRUE)
data$ordered <- factor(data$rating, ordered = TRUE)
show <- function(name, ...) cat(name, format(c(...), digits = 12), "\\n")
larger <- clmm(ordered ~ system + length + (1 | participant) + (1 | item), data)
smaller <- clmm(ordered ~ length + (1 | participant) + (1 | item), data)
table <- anova(smaller, larger)
show("clmm", table$LR.stat[2], table$"Pr(>Chisq)"[2])
table <- anova(clm(ordered ~ wide, data = data), clm(ordered ~ system * wide, data = data))
show("clm", table$LR.stat[2], table$"Pr(>Chisq)"[2])
mixed <- lmerTest::lmer(score ~ system + (1 | participant) + (1 | item), data)
show("f", unlist(anova(mixed)["system", c("F value", "DenDF", "Pr(>F)")]))
show("kr", unlist(anova(mixed, ddf = "Kenward-Roger")["system", c("F value", "DenDF", "Pr(>F)")]))
larger <- lme4::lmer(score ~ system + (1 | participant) + (1 | item), data, REML = FALSE)
smaller <- lme4::lmer(score ~ 1 + (1 | participant) + (1 | item), data, REML = FALSE)
compared <- PBmodcomp(larger, smaller, nsim = 400, seed = 1)
show("pb", compared$test["PBtest", c("stat", "p.value")])
show("draws", compared$ref)
"""


@pytest.fixture(scope="module")
def r(four: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[float]]:
    folder = tmp_path_factory.mktemp("inference")
    code, data = folder / "tests.R", folder / "four.csv"
    code.write_text(CODE)
    four.to_csv(data, index=False)
    lines = [line.split() for line in rscript.run(code, Path(data)).splitlines()]
    return {line[0]: [float(value) for value in line[1:]] for line in lines}


@pytest.mark.parametrize("engine", ["r", "fast"])
def test_likelihood_ratio_of_clmm(engine: str, four: pd.DataFrame, r: dict[str, list[float]]) -> None:
    fit = ob.clmm("rating ~ system + length + (1 | participant) + (1 | item)", four, engine=engine)
    found = fit.test("system", "lrt").to_pylist()[0]
    assert [found["statistic"], found["p_value"]] == pytest.approx(r["clmm"], rel=1e-3)


@pytest.mark.parametrize("engine", ["r", "fast"])
def test_likelihood_ratio_of_clm(engine: str, four: pd.DataFrame, r: dict[str, list[float]]) -> None:
    found = ob.clm("rating ~ system * wide", four, engine=engine).test("system", "lrt").to_pylist()[0]
    assert found["df"] == 6
    assert [found["statistic"], found["p_value"]] == pytest.approx(r["clm"], rel=1e-6)


@pytest.mark.parametrize("engine", ["r", "fast"])
def test_f_of_lmer(engine: str, four: pd.DataFrame, r: dict[str, list[float]]) -> None:
    fit = ob.lmer("score ~ system + (1 | participant) + (1 | item)", four, engine=engine)
    found = fit.test("system", "f").to_pylist()[0]
    assert [found["statistic"], found["den_df"], found["p_value"]] == pytest.approx(r["f"], rel=1e-4)


@pytest.mark.filterwarnings("ignore::ordbridge.ConvergenceWarning")
def test_native_f_where_combinations_have_degrees_of_freedom_of_their_own(four: pd.DataFrame) -> None:
    """Random slopes: lmerTest combines those of each combination; REML and maximum likelihood."""
    for reml in (True, False):
        formula = "score ~ system + length + (system | participant) + (1 | item)"
        native, by_r = (ob.lmer(formula, four, REML=reml, engine=engine) for engine in ("fast", "r"))
        for term in ("system", "length", {"systemB": 1, "systemC": -1}):
            mine, theirs = (fit.test(term, "f").to_pylist()[0] for fit in (native, by_r))
            assert (mine["engine"], theirs["engine"], mine["df"]) == ("fast", "r", theirs["df"])
            for name in ("statistic", "den_df", "p_value"):
                assert mine[name] == pytest.approx(theirs[name], rel=2e-3), (reml, term, name)


def test_kenward_and_roger(four: pd.DataFrame, r: dict[str, list[float]]) -> None:
    fit = ob.lmer("score ~ system + (1 | participant) + (1 | item)", four, ddf="Kenward-Roger")
    found = fit.test("system", "f").to_pylist()[0]
    assert [found["statistic"], found["den_df"], found["p_value"]] == pytest.approx(r["kr"], rel=1e-4)


def test_bootstrap_of_lmer(four: pd.DataFrame, r: dict[str, list[float]]) -> None:
    fit = ob.lmer("score ~ system + (1 | participant) + (1 | item)", four)  # by R and REML: the bootstrap is neither
    table = fit.test("system", "bootstrap", draws=999)
    found = table.to_pylist()[0]
    statistic, p = r["pb"]
    assert found["statistic"] == pytest.approx(statistic, rel=1e-4)
    assert abs(found["p_value"] - p) < 4 * np.hypot(found["mc_error"], np.sqrt(p * (1 - p) / 400))
    assert found["engine"] == "fast" and has(findings_of(table), "refitted-natively")
    comparison, _, _ = bootstrap.prepare(fit, hypothesis(fit, "system"), seed=3)
    drawn = [comparison.one(i)[0] for i in range(400)]
    assert stats.ks_2samp(drawn, r["draws"]).pvalue > 0.001
    assert stats.kstest(np.array(drawn) + 1.0, stats.chi2(3).cdf).pvalue < 1e-6  # which such a test can tell


def test_bootstrap_says_what_it_cannot_do(wine: pd.DataFrame) -> None:
    fit = ob.clmm("rating ~ temp + (1 | judge)", wine, nAGQ=-5)
    sentence = r"the bootstrap needs native fits, and .* nAGQ=-5 asks for another one; use method='lrt'"
    with pytest.raises(ob.InputError, match=sentence):
        fit.test("temp", "bootstrap")
