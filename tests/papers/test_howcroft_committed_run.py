"""The committed run of Howcroft & Rieser (2021), beside an independent run of the published code."""

import csv
import importlib.util
import math
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
            theirs, n, m = float(row[column]), int(row["n_sims"]), int(mine["n"])
            pooled = (theirs * n + float(mine["power"]) * m) / (n + m)
            error = math.sqrt(max(pooled * (1 - pooled), 0.5 / (n + m)) * (1 / n + 1 / m))
            differences.append(float(mine["power"]) - theirs)
            z.append(differences[-1] / error)
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


def test_findings_have_the_tables_of_the_committed_run():
    spec = importlib.util.spec_from_file_location("findings_tables", ROOT / "tools" / "findings_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    pages = [ROOT / "docs" / "findings.md", ROOT / "docs" / "reproduction" / "howcroft2021.md"]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    for name, table in module.tables().items():
        assert table in text, name
