"""The committed run of Howcroft & Rieser (2021), beside an independent run of the published code."""

import csv
import importlib.util
import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
EVIDENCE = ROOT / "docs" / "reproduction" / "howcroft2021"
REFERENCE = ROOT / "../shared/reference/howcroft2021_power.csv"


def rows_of(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def committed(variant):
    rows = rows_of(EVIDENCE / f"power_{variant}.csv")
    where = ("variance", "items", "ratings_per_text")
    return {(*(row[name] for name in where), float(row["effect"]), row["model"]): row for row in rows}


def z_of(power, n, other, m):
    """Return the difference of two shares of independent datasets in standard errors, which are never 0."""
    pooled = (power * n + other * m) / (n + m)
    return (power - other) / math.sqrt(max(pooled * (1 - pooled), 0.5 / (n + m)) * (1 / n + 1 / m))


@pytest.mark.parametrize("variant", ["corrected", "published"])
def test_committed_powers_are_those_of_the_published_code(variant):
    """An independent run of the published R code: all differences within Monte Carlo error, and none systematic."""
    if not REFERENCE.is_file():
        pytest.skip("the reference tables are not there")
    ours, z, differences = committed(variant), [], []
    for row in rows_of(REFERENCE):
        if row["code"] != variant:
            continue
        for model, column in (("lmer", "power_lme_re"), ("clmm", "power_clm_re")):
            mine = ours[row["setting"], row["n_items"], row["n_ratings"], float(row["effect"]), model]
            differences.append(float(mine["power"]) - float(row[column]))
            z.append(z_of(float(mine["power"]), int(mine["n"]), float(row[column]), int(row["n_sims"])))
    assert len(z) == 200
    assert max(np.abs(z)) < 4  # the largest of 200 correlated normals; 4 has a chance of about 1 %
    assert np.mean(np.square(z)) < 1.35
    assert abs(np.mean(differences)) < 0.015


def test_committed_run_is_large_enough():
    for variant, effects in (("corrected", 9), ("published", 5)):
        rows = committed(variant)
        assert len(rows) == 5 * 3 * 2 * effects * 4
        assert min(int(row["n"]) for row in rows.values()) >= 200
    questions = rows_of(EVIDENCE / "questions.csv")
    assert len(questions) == 72 and min(int(row["n"]) for row in questions) >= 1000


def test_committed_run_was_audited_and_r_never_had_the_higher_likelihood():
    audits = [row for name in ("audit", "audit_questions") for row in rows_of(EVIDENCE / f"{name}.csv")]
    assert sum(int(row["compared"]) for row in audits if row["model"] == "lmer") >= 100
    assert sum(int(row["compared"]) for row in audits if row["model"] == "clmm") >= 100
    assert not any(int(row["decisions_differ"]) for row in audits)
    for name in ("audit_cases", "audit_questions_cases"):
        for case in rows_of(EVIDENCE / f"{name}.csv"):
            assert float(case["loglik"]) > float(case["loglik_r"])


def test_half_the_items_is_decided_in_the_settings_of_figure_2():
    claims = [row for row in rows_of(EVIDENCE / "claims.csv") if row["claim"].startswith("the ordinal model with 50")]
    deciding = [row for row in claims if row["where"] == "Figure 2" and row["claim"].endswith("corrected)")]
    assert len(deciding) == 6
    assert {row["verdict"] for row in deciding} == {"holds", "does not hold"}


def test_findings_have_the_tables_of_the_committed_run():
    spec = importlib.util.spec_from_file_location("findings_tables", ROOT / "tools" / "findings_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    pages = [ROOT / "docs" / "findings-tables.md", ROOT / "docs" / "reproduction" / "howcroft2021.md"]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    for name, table in module.tables().items():
        assert table in text, name


def test_a_whole_panel_went_through_r():
    """Every cell has 100 datasets by R: clmm never decides otherwise, and powers are those of the native engine."""
    panel = rows_of(EVIDENCE / "panel_through_r.csv")
    cells = {(int(row["items"]), float(row["effect"]), row["model"]) for row in panel}
    assert cells == set(product((50, 100), (0, 0.155, 0.31, 0.465, 0.62), ("lmer", "clmm")))
    for row in panel:
        assert (int(row["n"]), int(row["no_p_r"]), int(row["no_p_fast"])) == (100, 0, 0)
        assert abs(float(row["power_r"]) - float(row["power_fast"])) < 0.015
        if row["model"] == "clmm":
            assert int(row["decisions_differ"]) == 0 and float(row["largest_apart"]) < 0.01


def test_where_the_panel_differs_r_stopped_early_and_its_other_search_agrees():
    panel = rows_of(EVIDENCE / "panel_through_r.csv")
    cases = rows_of(EVIDENCE / "panel_through_r_cases.csv")
    assert len(cases) == sum(int(row["over_1_percent"]) for row in panel)
    for case in cases:
        native, p = float(case["loglik_fast"]), float(case["p_value_fast"])
        again, p_again = float(case["loglik_again"]), float(case["p_value_again"])
        assert float(case["loglik_r"]) <= native and again < native + 1e-3
        assert (p_again < 0.05) == (p < 0.05)
        if again > native - 1e-3:
            assert p_again == pytest.approx(p, rel=0.01)


def test_the_panel_is_that_of_the_published_code():
    """R's powers beside an independent run of the published R code, on other datasets."""
    if not REFERENCE.is_file():
        pytest.skip("the reference tables are not there")
    ours = {
        (row["items"], float(row["effect"]), row["model"]): row for row in rows_of(EVIDENCE / "panel_through_r.csv")
    }
    z = []
    for row in rows_of(REFERENCE):
        if (row["code"], row["setting"], row["n_ratings"]) != ("corrected", "low", "3"):
            continue
        for model, column in (("lmer", "power_lme_re"), ("clmm", "power_clm_re")):
            if mine := ours.get((row["n_items"], float(row["effect"]), model)):
                z.append(z_of(float(mine["power_r"]), int(mine["n"]), float(row[column]), int(row["n_sims"])))
    assert len(z) >= 8
    assert max(np.abs(z)) < 3.5  # of some twenty; 3.5 has a chance of about 1 %
