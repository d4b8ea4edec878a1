"""The reproduction of Howcroft & Rieser (2021): its verdicts, and a small run."""

import csv
import math
import re
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from ordbridge.cli import main
from ordbridge.errors import InputError
from ordbridge.papers import howcroft2021, howcroft_evidence
from ordbridge.papers import power_verdicts as judge
from ordbridge.papers.reproduction import FAILS, HOLDS, UNDECIDED


def rows_of(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def compared(only_a, only_b, n=1000):
    from ordbridge.power import estimates

    a = np.r_[np.ones(only_a), np.zeros(n - only_a)].astype(bool)
    b = np.r_[np.zeros(n - only_b), np.ones(only_b)].astype(bool)
    return estimates.compare(a, b)


def share(hits, n):
    from ordbridge.power.estimates import clopper_pearson

    low, high = clopper_pearson(hits, n)
    return {"n": n, "power": hits / n, "conf_low": low, "conf_high": high}


def test_never_lower():
    better, equal, worse = compared(100, 20), compared(30, 30), compared(20, 60)
    assert judge.never_lower([better, equal]).verdict == HOLDS
    assert judge.never_lower([better, equal, worse]).verdict == FAILS
    assert judge.never_lower([better, compared(3, 3, n=40)]).verdict == UNDECIDED


def test_a_single_low_cell_among_many_is_no_proof():
    slightly = compared(20, 36)  # p = .04 alone, nothing among 100 cells
    assert slightly["p_value"] < 0.05
    assert judge.never_lower([slightly]).verdict == FAILS
    assert judge.never_lower([slightly] * 100).verdict != FAILS


@pytest.mark.slow
def test_advantage_has_the_error_of_paired_shares():
    random = np.random.default_rng(1)
    rows = []
    for _ in range(2000):
        a = random.random(100) < 0.5
        b = np.where(random.random(100) < 0.8, a, random.random(100) < 0.4)
        from ordbridge.power import estimates

        rows.append(estimates.compare(a, b))
    spread = np.std([row["difference"] for row in rows])
    assert judge.advantage(rows[:1]).error == pytest.approx(spread, rel=0.25)
    assert judge.advantage(rows).error == pytest.approx(spread / math.sqrt(2000), rel=0.05)


def test_other_rules():
    assert judge.reaches(share(180, 200), 0.8).verdict == HOLDS
    assert judge.reaches(share(165, 200), 0.8).verdict == UNDECIDED
    assert judge.stays_below(share(140, 200), 0.8).verdict == HOLDS
    assert judge.stays_below(share(180, 200), 0.8).verdict == FAILS
    assert [judge.keeps_level([share(n, 2000)]).verdict for n in (110, 150, 200)] == [HOLDS, UNDECIDED, FAILS]
    mean = judge.Weighted
    assert judge.small(mean(0.01, 0.01), "x").verdict == HOLDS
    assert judge.small(mean(0.09, 0.01), "x").verdict == FAILS
    assert judge.small(mean(0.0, 0.1), "x").verdict == UNDECIDED
    assert judge.not_below(mean(-0.1, 0.01)).verdict == FAILS
    assert judge.at_least_half(mean(0.02, 0.01), mean(0.2, 0.01)).verdict == FAILS
    assert judge.at_least_half(mean(0.15, 0.01), mean(0.2, 0.01)).verdict == HOLDS
    assert judge.largest(mean(0.3, 0.01), [mean(0.2, 0.01), mean(0.1, 0.01)]).verdict == HOLDS
    assert judge.largest(mean(0.1, 0.01), [mean(0.2, 0.01), mean(0.1, 0.01)]).verdict == FAILS


@pytest.mark.slow
def test_what_the_linear_model_tests():
    rows = {(r["variance"], r["slope_coding"], r["thresholds"]): r for r in howcroft_evidence.linear_null().to_pylist()}
    for setting, expected in (("low", -0.06), ("representative", -0.08), ("high", -0.11)):
        assert rows[setting, "treatment", "published"]["difference_at_0"] == pytest.approx(expected, abs=0.006)
    assert rows["representative", "treatment", "published"]["sd_second"] == pytest.approx(1.54, abs=0.005)
    assert rows["representative", "treatment", "published"]["sd_first"] == pytest.approx(1.26, abs=0.005)
    for (_, coding, thresholds), row in rows.items():
        if coding == "centred":  # equal spread of both systems: the same distribution at latent effect 0
            assert row["sd_first"] == pytest.approx(row["sd_second"])
            assert row["difference_at_0"] == pytest.approx(0, abs=1e-6)
            assert row["effect_of_equal_means"] == pytest.approx(0, abs=1e-5)
        elif thresholds == "centred":  # symmetric in the mean, not in the spread of each threshold
            assert 0 < row["effect_of_equal_means"] < 0.006
        else:
            assert row["effect_of_equal_means"] > 0.02


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Run Figure 2 without its 500 items, two datasets per cell."""
    out = tmp_path_factory.mktemp("howcroft")
    command = ["reproduce", "howcroft2021", "--out", str(out), "--figure", "2", "--variant", "corrected", "published"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(howcroft2021, "items", (50, 100))
        assert main([*command, "--datasets", "2", "--both-signs", "--engine", "fast", "--quiet"]) == 0
    return out


@pytest.mark.slow
def test_a_small_run_leaves_tables_figures_and_claims(small):
    names = {path.name for path in small.iterdir()}
    for table in ("claims", "power_corrected", "power_published", "differences_corrected", "questions", "linear_null"):
        assert {f"{table}.csv", f"{table}.parquet"} <= names
    assert {"figure1.png", "figure2_corrected.png", "figure2_published.png", "report.html"} <= names
    assert "both_signs_corrected.png" in names and "both_signs_published.png" not in names  # the first variant's
    powers = rows_of(small / "power_corrected.csv")
    assert len(powers) == 3 * 4 * 9 * 4  # settings, sizes, effects of both signs and 0, models
    assert {row["n"] for row in powers} == {"2"}
    assert len(rows_of(small / "power_published.csv")) == 3 * 4 * 5 * 4
    for table, expected in (
        ("claims", ("in every cell", "50 items", "80 % power")),
        ("left_open", ("at latent effect 0", "negative effects", "centred slopes")),
    ):
        judged = rows_of(small / f"{table}.csv")
        assert {row["verdict"] for row in judged} <= {HOLDS, FAILS, UNDECIDED}
        assert {row["where"] == "left open" for row in judged} == {table == "left_open"}
        for claim in expected:
            assert claim in " ".join(row["claim"] for row in judged)
    page = (small / "report.html").read_text(encoding="utf-8")
    assert (
        "What the paper leaves open" in page and f"Of {len(rows_of(small / 'claims.csv'))} claims of the paper" in page
    )
    assert len(rows_of(small / "deciding.csv")) == 3 * 2 * 2 * 4 * 2  # settings, items, ratings, effects, models


def evidence_of(lmer, clmm, deciding=()):
    """Return evidence with the same shares of 200 datasets, or 1000 in deciding cells, everywhere."""
    cells = [
        {"variance": setting, "items": items, "ratings_per_text": ratings, "effect": effect}
        for setting in ("low", "high", "extra-low")
        for items in (50, 100)
        for ratings in (3, 10)
        for effect in howcroft2021.effects
    ]

    def table(shares, n):
        models = zip(("lmer", "clmm"), shares, strict=True)
        rows = [{**cell, "model": m, **share(round(n * p), n)} for m, p in models for cell in cells]
        return pa.Table.from_pylist(rows)

    power = table((lmer, clmm), 200)
    compared = pa.Table.from_pylist([{**cell, **howcroft_compared(lmer, clmm)} for cell in cells])
    return howcroft_evidence.Evidence(power, compared, table(deciding, 1000) if deciding else power.slice(0, 0))


def howcroft_compared(lmer, clmm, n=200):
    from ordbridge.power import estimates

    return estimates.compare(np.arange(n) < clmm * n, np.arange(n) < lmer * n)


def verdicts(evidence):
    rows = howcroft_evidence._published_claims(evidence, "corrected")
    return {row["claim"]: (row["verdict"], row["where"]) for row in rows}


def test_80_percent_needs_a_linear_model_that_misses_it_and_an_ordinal_one_that_reaches_it():
    claim = "100 items, 3 ratings, effect 0.46: 80 % power needs the ordinal model (high, corrected)"
    for lmer, clmm, expected in ((0.5, 0.9, HOLDS), (0.5, 0.6, FAILS), (0.5, 0.81, UNDECIDED), (0.9, 0.95, FAILS)):
        assert verdicts(evidence_of(lmer, clmm))[claim][0] == expected
    assert verdicts(evidence_of(0.5, 0.81, deciding=(0.5, 0.9)))[claim][0] == HOLDS, "more datasets decide"


def test_half_the_items_is_a_claim_of_figure_2_and_the_extra_settings_are_of_figure_3():
    found = verdicts(evidence_of(0.50, 0.46))
    name = "the ordinal model with 50 items is about as powerful as the linear with 100 ({}, 3 ratings, corrected)"
    assert found[name.format("low")] == (UNDECIDED, "Figure 2")
    assert found[name.format("extra-low")] == (UNDECIDED, "Figure 3")
    tie, below = (verdicts(evidence_of(0.5, 0.46, deciding=(0.5, p))) for p in (0.49, 0.4))
    assert tie[name.format("low")][0] == HOLDS and below[name.format("low")][0] == FAILS


@pytest.mark.slow
def test_questions_pair_both_models_and_name_what_lmer_tests(small):
    rows = rows_of(small / "questions.csv")
    assert len(rows) == 2 * 2 * 2 * 3 * 3  # sizes, thresholds, codings, settings, effects
    assert {(row["items"], row["ratings_per_text"]) for row in rows} == {("100", "3"), ("50", "10")}
    null = [float(r["mean_difference"]) for r in rows if float(r["effect"]) == 0 and r["slope_coding"] == "treatment"]
    assert min(null) < -0.1
    for row in rows:
        difference = float(row["power_clmm"]) - float(row["power_lmer"])
        assert float(row["difference"]) == pytest.approx(difference)
        assert float(row["negative_lmer"]) <= float(row["power_lmer"])


@pytest.mark.slow
def test_question_means_are_means_over_the_settings(small):
    cells, means = rows_of(small / "questions.csv"), rows_of(small / "question_means.csv")
    assert len(means) == len(cells) / 3
    axes = ("items", "ratings_per_text", "slope_coding", "thresholds", "effect")
    for mean in means:
        own = [row for row in cells if all(row[name] == mean[name] for name in axes)]
        assert {row["variance"] for row in own} == {"low", "representative", "high"}
        for name in ("power_lmer", "power_clmm", "difference", "negative_lmer"):
            assert float(mean[name]) == pytest.approx(np.mean([float(row[name]) for row in own]))
        assert float(mean["conf_low"]) <= float(mean["difference"]) <= float(mean["conf_high"])


def test_bad_input():
    with pytest.raises(InputError, match="must be a list of 'corrected', 'published' or both"):
        howcroft2021.reproduce("corrected")
    with pytest.raises(InputError, match="there is no figure '4'"):
        howcroft2021.reproduce(figure="4")
    with pytest.raises(InputError, match="datasets=0 must be an integer ≥ 1"):
        howcroft2021.reproduce(datasets=0)


@pytest.mark.needs_r
def test_through_r_the_time_is_said_first(tmp_path):
    grids = howcroft2021._main(["corrected"], ["low"], both_signs=False)
    said = howcroft2021._how_long(grids, {"corrected-low": 100}, {"lm": {}}, 1, 2, tmp_path)
    assert said.startswith("through R, 3000 datasets will take about ")
    assert "with 2 worker processes" in said


def test_a_small_study_that_took_long_by_chance_does_not_shorten_the_forecast(tmp_path, monkeypatch):
    """Large cells take longer than small ones, also where of the two timed datasets the smaller one took longer."""
    from ordbridge import power

    took = iter((6.0, 4.0))
    monkeypatch.setattr(power, "run", lambda *_, **__: SimpleNamespace(fits=pa.table({"seconds": [next(took)]})))
    grids = howcroft2021._main(["corrected"], ["low"], both_signs=False)
    said = howcroft2021._how_long(grids, {"corrected-low": 100}, {"lm": {}}, 1, 1, tmp_path)
    hours = int(re.search(r"about (\d+) h", said)[1])
    assert 3000 * 6.0 / 3600 < hours < 3000 * 60 / 3600


@pytest.mark.needs_r
@pytest.mark.slow
def test_r_can_start_at_the_native_optimum(tmp_path, monkeypatch):
    """One small cell through R: clmm's p-values are the native ones; R's lmer may stop short of its optimum."""
    monkeypatch.setattr(howcroft2021, "items", (50,))
    monkeypatch.setattr(howcroft2021, "ratings", (3,))
    monkeypatch.setattr(howcroft2021, "effects", (0.62,))
    monkeypatch.setattr(howcroft2021, "models", {"lmer": {"REML": False}, "clmm": {}})
    monkeypatch.setattr(howcroft2021, "figures", {"2": ("low",), "3": ("low",), "all": ("low",)})
    monkeypatch.setattr(howcroft2021, "_how_long", lambda *_: "")
    monkeypatch.setattr(howcroft_evidence, "reproduction", lambda runs, *_: runs)
    found = {
        engine: howcroft2021.reproduce(datasets=1, questions=0, engine=engine, **start, store=tmp_path / engine)
        for engine, start in (("r", {"start": "fast"}), ("fast", {}))
    }
    ours, theirs = (
        found[engine]["corrected-low"].fits.to_pandas().sort_values(["cell", "model"]) for engine in ("fast", "r")
    )
    assert theirs["status"].isin(["ok", "warning"]).all()
    ours, theirs = (fits.loc[fits["model"] == "clmm", "p_value"].to_numpy() for fits in (ours, theirs))
    assert len(ours) == 2 and theirs == pytest.approx(ours, rel=1e-2)
