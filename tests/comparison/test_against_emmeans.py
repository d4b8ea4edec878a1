"""Means and comparisons beside plain R: emmeans on wine, soup and the whole of PPLM, and integrals in R for a clmm.

One Rscript, ``emmeans.R``, fits everything. Of a clm, emmeans gives means and pairwise differences in rating points
(``mode = "mean.class"``), which are those of ``fit.means``, and latent differences with Dunnett's p-values (``mvt`` is
the exact distribution, by mvtnorm, whose own error is 1e-3), which are those of ``compare(estimand="latent")``. emmeans
does not know a clmm on the scale of ratings: there R integrates over participants by ``integrate`` and takes
differences for the standard errors, from ``vcov`` of the fit. Of an lmer, everything is that of ``compare``.

Tolerances, relative: 1e-5 for clm (both sides end at the same optimum), 2e-3 for the clmm (R's standard errors come
from differences) and for lmer (lme4 stops its search early).
"""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import ordbridge as ob
from ordbridge.bridge import rscript
from ordbridge.comparison import CompareOptions

pytestmark = pytest.mark.needs_r

SCRIPT = Path(__file__).with_name("emmeans.R")


@pytest.fixture(scope="module")
def by_r(tmp_path_factory, request) -> tuple[dict, Path]:
    folder = tmp_path_factory.mktemp("emmeans")
    pplm = Path(__file__).resolve().parents[3] / "shared" / "data" / "pplm.csv"
    arguments = [SCRIPT, folder, *([pplm] if pplm.is_file() else [])]
    return json.loads(rscript.run(*arguments)), folder


def rows(found: dict) -> dict[str, dict[str, float]]:
    return {
        what: {"estimate": e, "error": s, "p": p}
        for what, e, s, p in zip(found["what"], found["estimate"], found["error"], found["p"], strict=True)
    }


def plain(found: dict) -> dict[str, dict[str, float]]:
    """The rows of pairs; emmeans puts names that are not plain words into brackets."""
    return {what.replace("(", "").replace(")", ""): row for what, row in rows(found).items()}


def of_pair(found: dict[str, dict[str, float]], a: str, b: str) -> tuple[float, float]:
    """The difference of a from b, and its p-value."""
    row = found.get(f"{a} - {b}")
    return (row["estimate"], row["p"]) if row else (-found[f"{b} - {a}"]["estimate"], found[f"{b} - {a}"]["p"])


def means_agree(fit: ob.Fit, found: dict, tolerance: float) -> None:
    """Means, standard errors, differences, and corrected p-values of z tests."""
    means, pairs = rows(found["means"]), plain(found["pairs"])
    table = fit.means("system", df="asymptotic").table.to_pylist()
    for row in table:
        if row["what"] == "mean":
            assert row["estimate"] == pytest.approx(means[row["level"]]["estimate"], rel=tolerance)
            assert row["std_error"] == pytest.approx(means[row["level"]]["error"], rel=tolerance)
        else:
            estimate, p = of_pair(pairs, row["system_a"], row["system_b"])
            assert row["estimate"] == pytest.approx(estimate, rel=tolerance, abs=1e-6)
            assert row["p_adjusted"] == pytest.approx(p, rel=20 * tolerance, abs=1e-9)
    assert sum(row["what"] == "difference" for row in table) == len(pairs)


@pytest.mark.parametrize("engine", ["fast", "r"])
@pytest.mark.parametrize(("name", "reference"), [("wine", "cold no"), ("soup", None), ("pplm", "B")])
def test_expected_ratings_and_latent_differences_of_clm(by_r, name, reference, engine, shared):
    answers, folder = by_r
    file = shared / "data" / "pplm.csv" if name == "pplm" else folder / f"{name}.csv"
    table = pd.read_csv(file)[["participant", "item", "system", "rating"]]
    if name == "pplm":  # texts were shown in several pairs, which these columns do not say
        table["item"] = [f"row {k}" for k in range(len(table))]
    means_agree(ob.clm("rating ~ system", table, engine=engine), answers[name], 1e-5)
    reference = reference or min(table.system)
    asked = {"model": "clm", "engine": engine, "reference": reference, "estimand": "latent", "force": True}
    against = ob.compare(table, **asked)
    exact = plain(answers[name]["against"])
    for row in against.pairs.to_pylist():
        other = exact[f"{row['system_a']} - {row['system_b']}"]
        assert row["difference"] == pytest.approx(other["estimate"], rel=1e-4, abs=1e-6)
        assert row["p_adjusted"] == pytest.approx(other["p"], abs=2e-3)  # mvtnorm's own error


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["fast", "r"])
def test_expected_ratings_and_latent_differences_of_clmm(by_r, engine):
    answers, folder = by_r
    table = pd.read_csv(folder / "soup.csv")
    formula = "rating ~ system + (1 | participant)"
    means_agree(ob.clmm(formula, table, engine=engine), answers["soup clmm"], 2e-3)
    asked = {"formula": formula, "engine": engine, "force": True}
    latent = plain(answers["soup clmm"]["against"])
    found = ob.compare(table, **asked, estimand="latent", options=CompareOptions(test="wald"))
    for row in found.pairs.to_pylist():
        estimate, p = of_pair(latent, row["system_a"], row["system_b"])
        assert row["difference"] == pytest.approx(estimate, rel=2e-3, abs=1e-5)
        assert row["p_adjusted"] == pytest.approx(p, rel=0.04, abs=1e-9)
    # and beside differences in points
    beside = ob.compare(table, **asked, adjust="none")
    own = {frozenset((row["system_a"], row["system_b"])): row for row in found.pairs.to_pylist()}
    for row in beside.pairs.to_pylist():
        other = own[frozenset((row["system_a"], row["system_b"]))]
        assert abs(row["latent_difference"]) == pytest.approx(abs(other["difference"]))
        assert row["latent_p_value"] == pytest.approx(other["p_value"])


@pytest.mark.parametrize("engine", ["fast", "r"])
def test_expected_ratings_and_differences_of_lmer(by_r, engine, shared):
    import numpy as np

    table = pd.read_csv(shared / "data" / "pplm.csv")[["participant", "item", "system", "rating"]]
    some = table.iloc[np.floor(np.linspace(1, len(table), 3000) + 1e-9).astype(int) - 1]  # as R's seq cuts off
    some = some.assign(text=some["item"], item=[f"row {k}" for k in range(len(some))])  # shown in several pairs
    formula = "rating ~ system + (1 | participant) + (1 | text)"
    compared = ob.compare(some, model="lmer", formula=formula, engine=engine, force=True)
    means, pairs = rows(by_r[0]["pplm lmer"]["means"]), plain(by_r[0]["pplm lmer"]["pairs"])
    for row in compared.ranking.to_pylist():
        assert row["estimate"] == pytest.approx(means[row["system"]]["estimate"], rel=2e-3)
        assert row["std_error"] == pytest.approx(means[row["system"]]["error"], rel=2e-3)
    assert compared.pairs.num_rows == len(pairs)
    for row in compared.pairs.to_pylist():
        estimate, p = of_pair(pairs, row["system_a"], row["system_b"])
        assert row["difference"] == pytest.approx(estimate, rel=2e-3, abs=1e-6)
        assert row["p_adjusted"] == pytest.approx(p, rel=0.04, abs=1e-9)


def test_differences_in_points_are_those_of_lmertest(study, tmp_path):
    """The pair's own model in plain R, with lmerTest's Satterthwaite t, is the default comparison."""
    data = study((0.0, 0.5), raters=7, items=20, slope=0.4)
    data.to_csv(tmp_path / "ratings.csv", index=False)
    script = tmp_path / "pair.R"
    script.write_text(
        "suppressMessages(library(lmerTest)); d <- read.csv(commandArgs(TRUE)[1])\n"
        "f <- lmer(rating ~ system + (system | participant) + (system | item), d)\n"
        'cat(format(summary(f)$coefficients["systemB", ], digits = 15))\n',
        encoding="utf-8",
    )
    estimate, error, df, _, p = map(float, rscript.run(script, tmp_path / "ratings.csv").split())
    for engine in ("r", "fast"):
        [row] = ob.compare(data, engine=engine).pairs.to_pylist()
        sign = 1.0 if row["system_a"] == "B" else -1.0
        assert row["difference"] == pytest.approx(sign * estimate, rel=1e-6)
        # lme4 stops its search early: 1e-3 of an error and of its degrees of freedom
        assert row["std_error"] == pytest.approx(error, rel=2e-3) and row["df"] == pytest.approx(df, rel=5e-3)
        assert row["p_value"] == pytest.approx(p, rel=5e-3)
