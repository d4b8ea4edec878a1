"""The answer of a plan never says more than its table: verdicts, recommendation and sentence agree."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ordbridge as ob
from ordbridge.errors import InputError
from ordbridge.planning.evidence import ENOUGH, Candidate, recommend, verdict
from ordbridge.planning.result import table_of
from ordbridge.planning.search import _curve, search
from ordbridge.planning.undecided import more_datasets
from ordbridge.planning.wording import sentence_of
from ordbridge.simulate import Truth

ASKED = {"effect": [0.3], "target": 0.8, "alpha": 0.05, "model": "clmm", "test": "test of systemB", "cost": None}


def answered(rows, kind="designs", **changes):
    asked = {**ASKED, **changes}
    best, curve = recommend(kind, rows, asked["target"]), _curve(rows, asked["alpha"])
    return table_of(rows, best, curve, asked).to_pylist(), sentence_of(kind, best, rows, curve, asked)


def design(items, significant=0, n=0, ratings=3, effect=0.3):
    return Candidate(items, ratings, items // 5, 2 * items * ratings, 2.0 * items * ratings, effect,
                     n=n, significant=significant)  # fmt: skip


def test_a_plan_whose_datasets_ran_out_recommends_nothing():
    """100 items were significant 80 times of 100, true power .744, and larger designs came out at 78 and 80 %."""
    table, sentence = answered([[design(100, 80, 100), design(110, 312, 400), design(120, 216, 270)]])
    assert [row["verdict"] for row in table] == ["undecided"] * 3
    assert not any(row["recommended"] for row in table)
    assert "smallest" not in sentence and "enough" not in sentence
    assert sentence.startswith("No design in the range was shown to reach 80% power with 770 datasets")
    for words in ("100 items × 3 ratings per text (80% of 100)", "110 items × 3 ratings per text (78% of 400)",
                  "120 items × 3 ratings per text (80% of 270)", "more datasets would decide (datasets="):  # fmt: skip
        assert words in sentence


def test_a_larger_design_that_should_do_is_named_when_nothing_was_shown():
    sentence = answered([[design(100, 320, 400), design(110, 330, 400), design(120), design(200)]])[1]
    assert re.search(r"200 items × 3 ratings per text should have 9\d%: about 200 more", sentence)
    assert "(datasets=1000)" in sentence


def test_a_number_of_datasets_that_nobody_would_simulate_is_not_asked_for():
    """A power of .8 is told from .8 by no number of datasets; about .76 of 100 some hundreds say."""
    assert "No reasonable number of datasets would decide" in answered([[design(100, 1600, 2000)]])[1]
    assert "reasonable" not in answered([[design(100, 76, 100)]])[1]


def test_cheaper_designs_that_are_undecided_are_named():
    table, sentence = answered([[design(100, 80, 100), design(110, 312, 400), design(150, 360, 400)]])
    assert [row["recommended"] for row in table] == [False, False, True]
    assert "150 items × 3 ratings per text, 30 participants, 900 ratings in all are enough. An effect" in sentence
    assert "is found in 90% of studies (95 % interval" in sentence
    assert "400 datasets" in sentence
    assert (
        "Whether a smaller design is enough is undecided: 110 items × 3 ratings per text (78% of 400); 100" in sentence
    )
    assert "smallest" not in sentence


def test_the_smallest_is_called_so_when_all_smaller_ones_fall_short():
    table, sentence = answered([[design(90), design(100, 40, 100), design(150, 360, 400)]])
    assert [row["verdict"] for row in table] == ["not simulated", "falls short", "reaches"]
    assert "The smallest design with 80% power is 150 items" in sentence and "undecided" not in sentence
    prices = {"rating": 0.1}
    priced = answered([[design(100, 40, 100), design(150, 360, 400)]], cost=prices)[1]
    assert "The cheapest design with 80% power is 150 items" in priced


def test_one_lucky_cell_is_no_answer():
    """176 of 200 alone would do; the larger designs say that it was luck."""
    lucky, larger, largest = design(100, 176, 200), design(110, 312, 400), design(120, 320, 400)
    assert verdict(lucky, [[lucky]], 0.8) == "reaches"
    table, sentence = answered([[lucky, larger, largest]])
    assert [row["verdict"] for row in table] == ["undecided"] * 3
    assert not any(row["recommended"] for row in table) and sentence.startswith("No design in the range was shown")
    asked_for = []

    def look(candidate, n):
        asked_for.append(candidate.items)
        candidate.n, candidate.significant = n, round(n * {100: 0.75, 110: 0.78, 120: 0.8, 160: 0.9}[candidate.items])

    rows = [[lucky, larger, largest, design(160)]]
    search(rows, look, target=0.8, alpha=0.05, budget=1800, most=400)
    assert recommend("designs", rows, 0.8).items == 160  # and the search goes on


@pytest.mark.parametrize(("significant", "words", "recommended"), [
    (120, "it falls short of 80%", False), (330, "is undecided. About", False), (380, "it reaches 80%", True),
])  # fmt: skip
def test_one_design_is_recommended_only_if_it_reaches_the_target(significant, words, recommended):
    table, sentence = answered([[design(100, significant, 400)]], kind="power")
    assert words in sentence and table[0]["recommended"] is recommended


def test_the_smallest_effect_is_a_bound_while_smaller_ones_are_undecided():
    row = [design(50, *counts, effect=e) for e, counts in {0.2: (20, 100), 0.38: (320, 400), 0.42: (345, 400)}.items()]
    assert (
        "the smallest effect found with 80% power is at most 0.42. It is found in 86%" in answered([row], "effect")[1]
    )
    assert "is at most -0.42" in answered([row], "effect", direction=-1)[1]
    assert "the smallest effect found with 80% power is 0.42. It is" in answered([row[::2]], "effect")[1]


FOUR = {
    "effect": [0.25, 0.5, 0.4],
    "points": [0.2, 0.41, 0.33],
    "superiority": [0.55, 0.61, 0.58],
    "names": ["B", "BC", "BCR", "BR"],
    "systems": ["A", "B", "C", "D"],
}


@pytest.mark.parametrize(("term", "words"), [
    ("systemC", "a difference of +0.41 rating points between BCR and B (a text of BCR is rated higher in 61%; latent"),
    ("C - B", "a difference of +0.21 rating points between BCR and BC (latent effect 0.25) is found"),
    ("all pairs", "every difference that there is (rating points against B: BC +0.2, BCR +0.41, BR +0.33; latent"),
    ("all against A", "every difference that there is (rating points against B: BC +0.2, BCR +0.41, BR +0.33; latent"),
    ("any difference", "that the systems differ (rating points against B: BC +0.2, BCR +0.41, BR +0.33; latent"),
])  # fmt: skip
def test_several_systems_in_the_users_words(term, words):
    sentence = answered([[design(100, 380, 400)]], "power", term=term, **FOUR)[1]
    assert words in sentence and "is found in 95%" in sentence


def test_the_smallest_effect_is_said_in_rating_points():
    truth = Truth(effects=0.3, thresholds=(-1, 0, 1), item_sd=(0.5, 0))
    asked = {"truth": truth.to_dict(), "names": ["base", "ours"]}
    row = [design(50, *counts, effect=e) for e, counts in {0.38: (320, 400), 0.5: (370, 400)}.items()]
    sentence = answered([row], "effect", **asked)[1]
    whole = "at most +0.41 rating points (a text of ours is rated above one of base in 61%; latent effect 0.5). It is"
    assert whole in sentence and "undecided: +0.31 rating points (80% of 400)" in sentence


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
def test_sentence_verdicts_and_recommendation_agree(rows, target, priced):
    table, sentence = answered(rows, target=target, cost={"rating": 1.0} if priced else None)
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
        words = f"{best[0]['items']} items × {best[0]['ratings_per_text']:g} ratings per text, "
        assert words in sentence and f"{best[0]['n']} datasets" in sentence
        cheaper = [row for row in table if price[id(row)] < price[id(best[0])]]
    else:
        assert sentence.startswith("No design in the range") and "are enough" not in sentence
        cheaper = table
    undecided = [row for row in cheaper if not any(row is k for k in known)]
    superlative, other = ("cheapest", "smallest") if priced else ("smallest", "cheapest")
    assert (superlative in sentence) == (bool(best) and not undecided) and other not in sentence
    assert ("ndecided" in sentence) == bool(undecided)
    words = [rf"(?<!\d){row['items']} items × {row['ratings_per_text']:g} ratings per text \(" for row in undecided]
    named = [pattern for pattern in words if re.search(pattern, sentence)]
    assert len(named) == min(3, len(undecided))
    if len(undecided) > 3:
        assert f"{len(undecided) - 3} other" in sentence


@pytest.mark.slow
def test_the_type_i_error_of_the_recommended_design_is_measured():
    """Independent normal ratings: the t test keeps its level, so that 1000 null datasets have about 50 rejections."""
    truth = Truth(effects=(0.5,), scale="interval")
    options = {"model": "lm", "texts_per_participant": 10, "vary": {"items": [20, 60, 120], "ratings_per_text": 2}}
    options["calibrate"] = False
    found = ob.planning.plan(truth, **options)
    row = found.recommended
    assert row["size_n"] == found.asked["null_datasets"] == 800
    assert row["size_low"] < row["size"] < row["size_high"]
    assert row["size_low"] < 0.05 < row["size_high"]
    assert f"It rejects a true null in {row['size']:.1%} of studies" in str(found)
    others = [r["size"] for r in found.designs.to_pylist() if not r["recommended"]]
    assert others == [None] * len(others)
    assert ob.planning.plan(truth, null=0, **options).recommended["size"] is None


@pytest.mark.slow
def test_a_test_that_rejects_too_often_is_said_in_the_answer():
    """An lm that ignores that six raters differ in their preference: far more than 5 % of null studies."""
    truth = Truth(effects=(0.5,), scale="interval", participant_sd=(0.5, 0.8))
    options = {"model": "lm", "vary": {"items": 20, "ratings_per_text": 3}, "texts_per_participant": 20, "most": 50}
    found = ob.planning.plan(truth, calibrate=False, **options)
    (row,) = found.designs.to_pylist()
    assert row["participants"] == 6 and row["size_low"] > 0.1
    assert row["power"] == row["nominal_power"] and row["critical_value"] is None
    assert f"With 6 participants the test rejects a true null in {row['size']:.1%} of studies" in str(found)
    assert any("6 participants" in note and "More participants" in note for note in found.notes)
    held = ob.planning.plan(truth, **options)  # as plans are made unless one says otherwise
    (adjusted,) = held.designs.to_pylist()
    assert (adjusted["size"], adjusted["nominal_power"]) == (row["size"], row["power"])
    assert adjusted["power"] < row["power"] and adjusted["critical_value"] < 0.01
    assert adjusted["conf_low"] < adjusted["power"] < adjusted["conf_high"]
    assert f"below {adjusted['critical_value']:.3g} in 5%: that is the critical value here" in str(held)
    assert "size-adjusted, alpha 0.05, lm" in str(held) and held.asked["calibrated"]
    assert any(f"below {adjusted['critical_value']:.3g} instead" in note for note in held.notes)
    assert held.protocol.critical_value == adjusted["critical_value"]


@pytest.mark.slow
def test_the_size_of_a_few_raters_is_that_of_the_model_that_will_be_used():
    """clmm's Wald test with 6 raters rejects too often, lmer with REML and Satterthwaite does not."""
    truth = Truth(effects=(0.5,), thresholds=(-1, 0, 1), participant_sd=(0.6, 0.8), item_sd=(0.5, 0.5),
                  slope_coding="centred")  # fmt: skip
    options = {"vary": {"items": 20, "ratings_per_text": 6}, "texts_per_participant": 20, "most": 20, "null": 400}
    found = {model: ob.planning.plan(truth, model=model, **options) for model in ("clmm", "lmer")}
    sizes = {model: plan.designs.to_pylist()[0] for model, plan in found.items()}
    assert sizes["clmm"]["size"] > sizes["lmer"]["size"]
    assert sizes["clmm"]["size_low"] > 0.05 > sizes["lmer"]["size_low"]
    assert "lmer, REML" in str(found["lmer"]) and found["lmer"].asked["REML"] is True


@pytest.mark.slow
def test_a_linear_model_is_told_that_its_null_is_another():
    truth = Truth(effects=(0.5,), thresholds=(-1.8, -1.2, -0.6, 0, 0.6), item_sd=(0.6, 0.8))
    options = {"vary": {"items": 25, "ratings_per_text": 2}, "most": 20, "null": 50, "calibrate": True}
    found = ob.planning.plan(truth, model="lm", **options)
    (effect,) = found.asked["null_effects"]
    means = ob.simulate.implied(truth.shift(effect=effect)).differences["difference"].to_pylist()
    assert effect > 0.02 and means == pytest.approx([0.0], abs=1e-6)
    assert f"Where mean ratings are equal (latent effect {effect:.3g}), p is below 0.05" in str(found)
    assert "not its type-I error" not in str(found) and found.designs["critical_value"][0].as_py() is not None
    assert ob.planning.plan(truth, model="clm", **options).asked["null_effects"] == [0.0]


@pytest.mark.slow
def test_a_negative_effect_stays_negative_in_the_table():
    truth = Truth(effects=(-0.5,), scale="interval")
    found = ob.planning.plan(truth, model="lm", vary={"items": 60, "ratings_per_text": 2}, most=50, null=0)
    assert found.designs["effect"].to_pylist() == [-0.5]
    assert "latent effect -0.5) is found" in str(found)
    smallest = ob.planning.plan(truth, effect="smallest", model="lm", vary={"items": 60, "ratings_per_text": 2}, null=0)
    assert -0.5 < smallest.recommended["effect"] < -0.3 and f"{smallest.recommended['effect']:g}" in smallest.sentence


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
    fits = ob.power.run(grid, {"lmer": model}, sims=3, seed=5, engine="fast").fits.to_pylist()
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
    found = ob.planning.plan(truth, model="lmer", formula="rating ~ system + (system | participant)",
                             vary={"items": 20, "ratings_per_text": 3}, texts_per_participant=20, seed=2)  # fmt: skip
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
    options = {"model": "lm", "goal": "equivalence", "margin": 0.4, "texts_per_participant": 10, "seed": 3, "most": 200}
    found = ob.planning.plan(truth, vary={"items": [20, 100], "ratings_per_text": 2}, null=300, **options)
    best = found.recommended

    def exact(row):  # Phillips (1990): both tests reject, with the t distributions taken as one normal
        error = np.sqrt(4 / row["ratings"])
        return 2 * stats.norm.cdf(0.4 / error - stats.t.ppf(0.95, row["ratings"] - 2)) - 1

    assert best["verdict"] == "reaches" and exact(best) > 0.77
    assert abs(best["predicted"] - exact(best)) < 0.15
    for row in found.designs.to_pylist():
        if row["n"]:
            assert row["conf_low"] - 0.03 < exact(row) < row["conf_high"] + 0.03, row
    assert "quivalence within 0.4 rating points is shown at a difference of +0 rating points between B and A" in str(
        found
    )
    assert "Where systems differ by the margin, p is below 0.05" in str(found)
    assert ob.figures.plan_contours(found).axes


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"effect": 0.5, "goal": "equivalence", "margin": 0.4}, "0.5, is not within the margin"),
        ({"effect": -0.4, "goal": "non-inferiority", "margin": 0.4}, "-0.4, is not within the margin"),
        ({"effect": "smallest", "goal": "equivalence", "margin": 0.4}, "belongs to goal='difference'"),
        ({"goal": "equivalence"}, "needs margin="),
        ({"effect": 0.5, "calibrate": True, "null": 10}, "null=10 .* are too few .* at least 19"),
    ],
)
def test_goals_and_nulls_that_cannot_be(options, words):
    truth = Truth(effects=(0.0,), scale="interval")
    with pytest.raises(InputError, match=words):
        ob.planning.plan(
            truth, model="lm", vary={"items": 20, "ratings_per_text": 2}, texts_per_participant=10, **options
        )
