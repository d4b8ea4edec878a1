"""The answer of a plan never says more than its table: verdicts, recommendation and sentence agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planned_studies import planned

import ordbridge as ob
from ordbridge.errors import InputError
from ordbridge.planning.effect_words import aimed
from ordbridge.planning.evidence import ENOUGH, Candidate, recommend, verdict
from ordbridge.planning.result import table_of
from ordbridge.planning.search import _curve, search
from ordbridge.planning.undecided import more_datasets
from ordbridge.planning.wording import answer_of, of_undecided
from ordbridge.power import Goal
from ordbridge.simulate import Truth

TRUTH = Truth(effects=0.3, thresholds=(-1, 0, 1), item_sd=(0.5, 0))
ASKED = {"effect": [0.3], "target": 0.8, "alpha": 0.05, "model": "clmm", "costs": {}, "names": ["base", "ours"],
         "truth": TRUTH.to_dict()}  # fmt: skip


def answered(rows, kind="designs", **changes):
    """Return the table, the answer, and what is undecided by code."""
    asked = {**ASKED, **changes}
    best, curve = recommend(kind, rows, asked["target"]), _curve(rows, asked["alpha"])
    undecided = {one.code: one for one in of_undecided(kind, best, rows, curve, asked)}
    return table_of(rows, best, curve, asked).to_pylist(), answer_of(kind, best, rows, curve, asked), undecided


def design(items, significant=0, n=0, ratings=3, effect=0.3):
    return Candidate(items, ratings, items // 5, 2 * items * ratings, 2.0 * items * ratings, effect,
                     n=n, significant=significant)  # fmt: skip


def test_a_plan_whose_datasets_ran_out_recommends_nothing():
    """100 items were significant 80 times of 100, true power .744, and larger designs came out at 78 and 80 %."""
    table, answer, undecided = answered([[design(100, 80, 100), design(110, 312, 400), design(120, 216, 270)]])
    assert [row["verdict"] for row in table] == ["undecided"] * 3
    assert not any(row["recommended"] for row in table)
    assert answer.startswith("No design in the range was shown to reach 80% power with 770 datasets")
    (finding,) = undecided.values()
    assert finding.values["n"] == 3 and finding.values["more"] > 0
    for words in ("100 items × 3 (about 74%)", "110 items × 3 (78%)", "120 items"):
        assert words in finding.text


def test_a_larger_design_that_should_do_is_named_when_nothing_was_shown():
    undecided = answered([[design(100, 320, 400), design(110, 330, 400), design(120), design(200)]])[2]
    likely = undecided["likely-design"]
    assert likely.values["design"].startswith("200 items") and 0.9 < likely.values["power"] < 1
    assert likely.values["more"] == 200


def test_a_number_of_datasets_that_nobody_would_simulate_is_not_asked_for():
    """A power of .8 is told from .8 by no number of datasets; about .76 of 100 some hundreds say."""
    assert list(answered([[design(100, 1600, 2000)]])[2]) == ["undecidable-designs"]
    assert list(answered([[design(100, 76, 100)]])[2]) == ["undecided-designs"]


def test_cheaper_designs_that_are_undecided_are_named():
    table, answer, undecided = answered([[design(100, 80, 100), design(110, 312, 400), design(150, 360, 400)]])
    assert [row["recommended"] for row in table] == [False, False, True]
    assert answer == "Run 150 items with 3 ratings each: 900 ratings by 30 raters, power 90% (87 to 93%)."
    assert undecided["undecidable-designs"].values["designs"] == ["110 items × 3 (78%)", "100 items × 3 (about 75%)"]


def test_nothing_is_undecided_when_all_smaller_designs_fall_short():
    table, answer, undecided = answered([[design(90), design(100, 40, 100), design(150, 360, 400)]])
    assert [row["verdict"] for row in table] == ["not simulated", "falls short", "reaches"]
    assert answer.startswith("Run 150 items") and not undecided
    priced = answered([[design(100, 40, 100), design(150, 360, 400)]], costs={"rating": 0.1, "currency": "£"})[1]
    assert "£900 for 900 ratings" in priced


def test_one_lucky_cell_is_no_answer():
    """176 of 200 alone would do; the larger designs say that it was luck."""
    lucky, larger, largest = design(100, 176, 200), design(110, 312, 400), design(120, 320, 400)
    assert verdict(lucky, [[lucky]], 0.8) == "reaches"
    table, answer, _ = answered([[lucky, larger, largest]])
    assert [row["verdict"] for row in table] == ["undecided"] * 3
    assert not any(row["recommended"] for row in table) and answer.startswith("No design in the range was shown")
    asked_for = []

    def look(candidate, n):
        asked_for.append(candidate.items)
        candidate.n, candidate.significant = n, round(n * {100: 0.75, 110: 0.78, 120: 0.8, 160: 0.9}[candidate.items])

    rows = [[lucky, larger, largest, design(160)]]
    search(rows, look, target=0.8, alpha=0.05, budget=1800, most=400)
    assert recommend("designs", rows, 0.8).items == 160  # and the search goes on


@pytest.mark.parametrize(("significant", "words", "recommended"), [
    (120, "falls short of 80%", False), (330, "is too close to 80% to call", False), (380, "reaches 80%", True),
])  # fmt: skip
def test_one_design_is_recommended_only_if_it_reaches_the_target(significant, words, recommended):
    table, answer, undecided = answered([[design(100, significant, 400)]], kind="power")
    assert words in answer and table[0]["recommended"] is recommended
    assert bool(undecided) == ("close" in words)


def test_the_smallest_effect_is_a_bound_while_smaller_ones_are_undecided():
    row = [design(50, *counts, effect=e) for e, counts in {0.2: (20, 100), 0.38: (320, 400), 0.42: (345, 400)}.items()]
    _, answer, undecided = answered([row], "effect")
    assert "power is at most +0.35 rating points (latent 0.42, ours rated higher 60% of the time)" in answer
    assert next(iter(undecided.values())).values["designs"] == ["+0.31 rating points (80%)"]
    assert "is at most -0.35 rating points (latent -0.42" in answered([row], "effect", direction=-1)[1]
    assert "is at most 0.42 latent units" in answered([row], "effect", names=["a", "b", "c"])[1]
    assert "power is +0.35" in answered([[row[0], row[2]]], "effect")[1]


FOUR = {
    "effect": [0.25, 0.5, 0.4],
    "points": [0.2, 0.41, 0.33],
    "superiority": [0.55, 0.61, 0.58],
    "names": ["B", "BC", "BCR", "BR"],
    "systems": ["A", "B", "C", "D"],
    "margin": None,
}


@pytest.mark.parametrize(("term", "words"), [
    ("systemC", "Power to find BCR 0.41 points above B (latent 0.5, BCR rated higher 61% of the time)"),
    ("C - B", "Power to find BCR 0.21 points above BC (latent 0.25)"),
    ("all pairs", "Power to find every difference that there is (points above B: BC +0.2, BCR +0.41, BR +0.33; latent"),
    ("all against A", "Power to find every difference that there is (points above B: BC +0.2, BCR +0.41, BR +0.33;"),
    ("any difference", "Power to find any difference (points above B: BC +0.2, BCR +0.41, BR +0.33; latent"),
])  # fmt: skip
def test_several_systems_in_the_users_words(term, words):
    assert aimed({**FOUR, "term": term}).startswith(words)


def test_what_deciding_takes():
    """A power of .85 is told from .80 by 196 datasets: 1.96 standard errors of .0255 are .05."""
    rows = [[design(100, 8500, 10_000)]]
    curve = _curve(rows, 0.05)
    assert float(curve.power(0.3, 100, 3)) == pytest.approx(0.85, abs=0.002)
    assert more_datasets([design(100, 17, 20)], curve, 0.8) == (200, 200)
    assert more_datasets([design(100, 85, 100), design(110, 40, 50)], curve, 0.8) == (100, 200)  # 100 items decide
    assert more_datasets([design(80), design(90), design(100, 85, 100)], curve, 0.8)[0] > 1000  # 90 items: power .80
    assert more_datasets([design(100, 340, 400)], curve, 0.8) == (400, 800)  # it was bad luck, and may be again


def larger(one, other):
    pairs = [(one[name], other[name]) for name in ("items", "ratings_per_text", "effect")]
    return one is not other and all(a >= b for a, b in pairs)


@st.composite
def tables(draw):
    """Designs with random counts, in no sensible order of power."""
    items = draw(st.lists(st.integers(1, 60), min_size=1, max_size=5, unique=True))
    price = draw(st.sampled_from([1.0, 0.25]))
    rows = []
    for ratings in draw(st.lists(st.sampled_from([1, 2, 3, 5]), min_size=1, max_size=3, unique=True)):
        rows.append([])
        for m in sorted(items):
            n = draw(st.sampled_from([0, 20, 50, 100, 200, 270, 400, 1600]))
            near = draw(st.booleans())
            share = draw(st.floats(0.7, 0.9) if near else st.floats(0, 1))
            rows[-1].append(Candidate(m, ratings, m, 2 * m * ratings, price * 2 * m * ratings, 0.3,
                                      n=n, significant=round(share * n)))  # fmt: skip
    return rows


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(tables(), st.sampled_from([0.5, 0.8, 0.9]), st.booleans())
def test_answer_verdicts_and_recommendation_agree(rows, target, priced):
    table, answer, found = answered(rows, target=target, costs={"rating": 1.0} if priced else {})
    price = {id(row): row["ratings"] for row in table}
    for row in table:
        if row["verdict"] == "reaches":
            assert row["conf_low"] >= target and row["n"] >= ENOUGH
            lower = [r for r in table if larger(r, row) and r["n"] and r["power"] < row["power"]]
            pooled = sum(r["power"] * r["n"] for r in [row, *lower]) / sum(r["n"] for r in [row, *lower])
            assert pooled > target
        if row["verdict"] == "falls short":
            assert row["conf_high"] < target
        assert (row["verdict"] == "not simulated") == (row["n"] == 0)
    best = [row for row in table if row["recommended"]]
    reaching = [row for row in table if row["verdict"] == "reaches"]
    assert len(best) == bool(reaching)
    short = [row for row in table if row["verdict"] == "falls short"]
    known = [row for row in table if any(row is s or larger(s, row) for s in short)]
    if best:
        assert best[0]["verdict"] == "reaches" and price[id(best[0])] == min(price[id(row)] for row in reaching)
        each = f"{best[0]['ratings_per_text']:g} rating{'' if best[0]['ratings_per_text'] == 1 else 's'} each"
        assert answer.startswith(f"Run {best[0]['items']} items with {each}: ")
        cheaper = [row for row in table if price[id(row)] < price[id(best[0])]]
    else:
        assert answer.startswith("No design in the range")
        cheaper = table
    undecided = [row for row in cheaper if not any(row is k for k in known)]
    assert {"undecided-designs", "undecidable-designs"}.isdisjoint(found) == (not undecided)
    if undecided:
        finding = next(iter(found.values()))
        assert finding.values["n"] == len(undecided)
        assert len(finding.values["designs"]) == min(4, len(undecided))  # three by name, and how many others


@pytest.mark.slow
def test_the_type_i_error_of_the_recommended_design_is_measured():
    """Independent normal ratings: the t test keeps its level, so that 1000 null datasets have about 50 rejections."""
    truth = Truth(effects=(0.5,), scale="interval")
    options = {"model": "lm", "texts_per_participant": 10, "items": [20, 60, 120], "ratings_per_text": 2}
    options["calibrate"] = False
    found = planned(truth, **options)
    row = found.recommended
    assert row["size_n"] == found.settings["null_datasets"] == 800
    assert row["size_low"] < row["size"] < row["size_high"]
    assert row["size_low"] < 0.05 < row["size_high"]
    (size,) = (one for one in found.findings if one.code == "type-one-error")
    assert size.values["size"] == row["size"] and f"{row['size']:.1%} false positives" in str(found)
    others = [r["size"] for r in found.designs.to_pylist() if not r["recommended"]]
    assert others == [None] * len(others)
    assert planned(truth, null_datasets=0, **options).recommended["size"] is None


@pytest.mark.slow
def test_a_test_that_rejects_too_often_is_said_in_the_answer():
    """An lm that ignores that six raters differ in their preference: far more than 5 % of null studies."""
    truth = Truth(effects=(0.5,), scale="interval", participant_sd=(0.5, 0.8))
    options = {"model": "lm", "items": 20, "ratings_per_text": 3, "texts_per_participant": 20, "max_per_design": 50}
    found = planned(truth, calibrate=False, **options)
    (row,) = found.designs.to_pylist()
    assert row["participants"] == 6 and row["size_low"] > 0.1
    assert row["power"] == row["nominal_power"] and row["critical_value"] is None
    (liberal,) = (one for one in found.findings if one.code == "liberal-test")
    assert liberal.severity == "warning" and (liberal.values["participants"], liberal.values["size"]) == (
        6,
        row["size"],
    )
    held = planned(truth, **options)  # as plans are made unless one says otherwise
    (adjusted,) = held.designs.to_pylist()
    assert (adjusted["size"], adjusted["nominal_power"]) == (row["size"], row["power"])
    assert adjusted["power"] < row["power"] and adjusted["critical_value"] < 0.01
    assert adjusted["conf_low"] < adjusted["power"] < adjusted["conf_high"]
    (told,) = (one for one in held.findings if one.code == "critical-value")
    assert told.values["critical_value"] == adjusted["critical_value"] and held.settings["calibrated"]
    assert held.protocol.critical_value == adjusted["critical_value"]


@pytest.mark.slow
def test_the_size_of_a_few_raters_is_that_of_the_model_that_will_be_used():
    """clmm's Wald test with 6 raters rejects too often, lmer with REML and Satterthwaite does not."""
    truth = Truth(effects=(0.5,), thresholds=(-1, 0, 1), participant_sd=(0.6, 0.8), item_sd=(0.5, 0.5),
                  slope_coding="centred")  # fmt: skip
    options = {
        "items": 20,
        "ratings_per_text": 6,
        "texts_per_participant": 20,
        "max_per_design": 20,
        "null_datasets": 400,
    }
    found = {model: planned(truth, model=model, **options) for model in ("clmm", "lmer")}
    sizes = {model: plan.designs.to_pylist()[0] for model, plan in found.items()}
    assert sizes["clmm"]["size"] > sizes["lmer"]["size"]
    assert sizes["clmm"]["size_low"] > 0.05 > sizes["lmer"]["size_low"]
    assert "lmer, REML" in str(found["lmer"]) and found["lmer"].settings["REML"] is True


@pytest.mark.slow
def test_a_linear_model_is_told_that_its_null_is_another():
    truth = Truth(effects=(0.5,), thresholds=(-1.8, -1.2, -0.6, 0, 0.6), item_sd=(0.6, 0.8))
    options = {"items": 25, "ratings_per_text": 2, "max_per_design": 20, "null_datasets": 50, "calibrate": True}
    found = planned(truth, model="lm", **options)
    (effect,) = found.settings["null_effects"]
    means = ob.simulate.implied(truth.shift(effect=effect)).differences["difference"].to_pylist()
    assert effect > 0.02 and means == pytest.approx([0.0], abs=1e-6)
    assert found.designs["critical_value"][0].as_py() is not None
    assert planned(truth, model="clm", **options).settings["null_effects"] == [0.0]


@pytest.mark.slow
def test_a_pair_without_the_first_system_has_a_type_one_error_of_its_own():
    """B and C spread differently from A and from each other; what is calibrated is the pair where its means agree."""
    truth = Truth(effects=(0.0, 0.5), thresholds=(-1.8, -1.2, -0.6, 0, 0.6), residual_spread=(0.2, 0.5))
    options = {"items": 25, "ratings_per_text": 2, "max_per_design": 20, "null_datasets": 50, "calibrate": True}
    found = planned(truth, model="lm", test=("B", "C"), **options)
    effects = found.settings["null_effects"]
    means = ob.simulate.implied(truth.without_effects().shift(effect=effects)).differences["difference"].to_pylist()
    assert effects[0] != pytest.approx(effects[1], abs=0.005) and means == pytest.approx([0.0] * 3, abs=1e-6)
    (design,) = found.designs.to_pylist()
    assert design["size_n"] == 50 and design["critical_value"] is not None


@pytest.mark.slow
def test_a_negative_effect_stays_negative_in_the_table():
    truth = Truth(effects=(-0.5,), scale="interval")
    found = planned(truth, model="lm", items=60, ratings_per_text=2, max_per_design=50, null_datasets=0)
    assert found.designs["effect"].to_pylist() == [-0.5]
    assert "B 0.5 points below A (latent -0.5" in found.counted
    smallest = planned(truth, effect="smallest", model="lm", items=60, ratings_per_text=2, null_datasets=0)
    assert (
        -0.5 < smallest.recommended["effect"] < -0.3 and f"latent {smallest.recommended['effect']:g}" in smallest.answer
    )


@pytest.mark.filterwarnings("ignore::ordbridge.errors.ConvergenceWarning")
def test_plans_fit_lmer_as_users_do():
    """The p-values that a plan counts are those of ``ob.lmer`` with its defaults, on the same datasets."""
    from ordbridge.design import counterbalanced
    from ordbridge.planning.hypotheses import hypothesis
    from ordbridge.power.grid import Grid

    truth = Truth(effects=(0.5,), thresholds=(-1, 0, 1), participant_sd=(0.5, 0.3), item_sd=(0.4, 0.3))
    grid = Grid(truth=truth, design={"kind": "counterbalanced", "texts_per_participant": 20}, items=20,
                ratings_per_text=4)  # fmt: skip
    model = hypothesis(grid.cells[0], "lmer", None, None)
    fits = ob.power.run(grid, {"lmer": model}, datasets=3, seed=5, engine="fast").fits.to_pylist()
    for row in fits:
        data = ob.simulate.ratings(
            counterbalanced(20, 4, texts_per_participant=20), truth, grid.cells[0].stream(5, row["replicate"])
        )
        fit = ob.lmer("rating ~ system + (system | participant) + (system | item)", data, engine="fast")
        assert row["p_value"] == pytest.approx(fit.p_value("systemB"), rel=1e-6)
        ml = ob.lmer("rating ~ system + (system | participant) + (system | item)", data, engine="fast", REML=False)
        assert abs(np.log(row["p_value"] / ml.p_value("systemB"))) > 0.01  # it makes a difference


@pytest.mark.slow
def test_a_calibrated_power_is_that_of_a_test_that_is_exact():
    """Six raters who differ in their preference: their six mean differences make a t test, whose power is known."""
    from scipy import stats

    effect, preference, each = 0.9, 0.6, 10  # with each system, by one rater
    truth = Truth(effects=(effect,), scale="interval", participant_sd=(0.4, preference))
    found = planned(truth, model="lmer", formula="rating ~ system + (system | participant)",
                             items=20, ratings_per_text=3, texts_per_participant=20, seed=2)  # fmt: skip
    (row,) = found.designs.to_pylist()
    noncentral = effect / np.sqrt((preference**2 + 2 / each) / 6)
    edge = stats.t.ppf(0.975, 5)
    exact = stats.nct.sf(edge, 5, noncentral) + stats.nct.cdf(-edge, 5, noncentral)
    assert row["participants"] == 6 and row["n"] == 500 and row["size_n"] == 800
    assert row["conf_low"] < exact < row["conf_high"]


@pytest.mark.slow
def test_equivalence_is_planned_and_its_margin_kept():
    """Independent normal ratings: two one-sided t tests, with known power."""
    from scipy import stats

    truth = Truth(effects=(0.0,), scale="interval")
    options = {
        "model": "lm",
        "goal": Goal("equivalence", margin=0.4),
        "texts_per_participant": 10,
        "seed": 3,
        "max_per_design": 200,
    }
    found = planned(truth, items=[20, 100], ratings_per_text=2, null_datasets=300, **options)
    best = found.recommended

    def exact(row):  # Phillips (1990): both tests reject, with the t distributions taken as one normal
        error = np.sqrt(4 / row["ratings"])
        return 2 * stats.norm.cdf(0.4 / error - stats.t.ppf(0.95, row["ratings"] - 2)) - 1

    assert best["verdict"] == "reaches" and exact(best) > 0.77
    assert abs(best["predicted"] - exact(best)) < 0.15
    for row in found.designs.to_pylist():
        if row["n"]:
            assert row["conf_low"] - 0.03 < exact(row) < row["conf_high"] + 0.03, row
    assert "Power to show equivalence within 0.4 rating points with B 0 points above A" in found.counted
    assert ob.figures.plan_contours(found).axes


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"effect": 0.5, "goal": Goal("equivalence", 0.4)}, "0.5, is not within the margin"),
        ({"effect": -0.4, "goal": Goal("non-inferiority", 0.4)}, "-0.4, is not within the margin"),
        ({"effect": "smallest", "goal": Goal("equivalence", 0.4)}, "is that of a difference"),
        ({"goal": Goal("equivalence")}, "needs margin="),
        ({"effect": 0.5, "calibrate": True, "null_datasets": 10}, "10 datasets .* are too few .* at least 19"),
    ],
)
def test_goals_and_nulls_that_cannot_be(options, words):
    truth = Truth(effects=(0.0,), scale="interval")
    with pytest.raises(InputError, match=words):
        planned(truth, model="lm", items=20, ratings_per_text=2, texts_per_participant=10, **options)
