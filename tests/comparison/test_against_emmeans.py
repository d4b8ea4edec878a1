"""Comparisons beside plain R: emmeans on wine, soup and the whole of PPLM, and integrals in R for a clmm.

One Rscript, ``emmeans.R``, fits everything. For clm and lmer, emmeans gives means and pairwise differences in rating
points (``mode = "mean.class"``) with Holm's and Dunnett's p-values; ``mvt`` is Dunnett's exact distribution, by
mvtnorm, whose own error is 1e-3. emmeans does not know a clmm on the scale of ratings: there R integrates over
participants by ``integrate`` and takes differences for the standard errors, from ``vcov`` of the fit.

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


def agrees(compared: ob.comparison.Comparison, found: dict, tolerance: float) -> None:
    """Means, standard errors, differences, and corrected p-values."""
    means, pairs = rows(found["means"]), rows(found["pairs"])
    for row in compared.ranking.to_pylist():
        assert row["estimate"] == pytest.approx(means[row["system"]]["estimate"], rel=tolerance)
        assert row["std_error"] == pytest.approx(means[row["system"]]["error"], rel=tolerance)
    assert compared.pairs.num_rows == len(pairs)
    # emmeans puts names that are not plain words into brackets
    pairs = {what.replace("(", "").replace(")", ""): row for what, row in pairs.items()}
    for row in compared.pairs.to_pylist():
        forth, back = f"{row['a']} - {row['b']}", f"{row['b']} - {row['a']}"
        other, sign = (pairs[forth], 1.0) if forth in pairs else (pairs[back], -1.0)
        assert row["difference"] == pytest.approx(sign * other["estimate"], rel=tolerance, abs=1e-6)
        assert row["adjusted"] == pytest.approx(other["p"], rel=20 * tolerance, abs=1e-9)


@pytest.mark.parametrize("engine", ["fast", "r"])
@pytest.mark.parametrize(("name", "reference"), [("wine", "cold no"), ("soup", None), ("pplm", "B")])
def test_expected_ratings_and_differences_of_clm(by_r, name, reference, engine, shared):
    answers, folder = by_r
    file = shared / "data" / "pplm.csv" if name == "pplm" else folder / f"{name}.csv"
    table = pd.read_csv(file)[["participant", "item", "system", "rating"]]
    found = ob.compare(table, model="clm", engine=engine, anyway=True)
    agrees(found, answers[name], 1e-5)
    reference = reference or min(table.system)
    against = ob.compare(table, model="clm", engine=engine, reference=reference, anyway=True)
    exact = {what.replace("(", "").replace(")", ""): row for what, row in rows(answers[name]["against"]).items()}
    for row in against.pairs.to_pylist():
        other = exact[f"{row['a']} - {row['b']}"]
        assert row["difference"] == pytest.approx(other["estimate"], rel=1e-4, abs=1e-6)
        assert row["adjusted"] == pytest.approx(other["p"], abs=2e-3)  # mvtnorm's own error


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["fast", "r"])
def test_expected_ratings_and_differences_of_clmm(by_r, engine):
    answers, folder = by_r
    table = pd.read_csv(folder / "soup.csv")
    found = ob.compare(table, formula="rating ~ system + (1 | participant)", engine=engine, test="wald", anyway=True)
    assert found.models["model"].to_pylist() == ["clmm"]
    agrees(found, answers["soup clmm"], 2e-3)


@pytest.mark.parametrize("engine", ["fast", "r"])
def test_expected_ratings_and_differences_of_lmer(by_r, engine, shared):
    import numpy as np

    table = pd.read_csv(shared / "data" / "pplm.csv")[["participant", "item", "system", "rating"]]
    some = table.iloc[np.floor(np.linspace(1, len(table), 3000) + 1e-9).astype(int) - 1]  # as R's seq cuts off
    formula = "rating ~ system + (1 | participant) + (1 | item)"
    found = ob.compare(some, model="lmer", formula=formula, engine=engine, anyway=True)
    agrees(found, by_r[0]["pplm lmer"], 2e-3)
