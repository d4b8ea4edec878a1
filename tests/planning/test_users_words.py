"""Plans in the words of the person who pays: points, names, money, losses."""

import math

import numpy as np
import pytest
from planned_studies import planned

from ordbridge.errors import InputError
from ordbridge.planning import Costs, Effect
from ordbridge.simulate import Truth
from ordbridge.simulate.effect_units import effect_units

TRUTH = Truth(effects=1.0, thresholds=(-1, 0, 1), item_sd=(0.3, 0.1))
QUICK = {"model": "lm", "texts_per_participant": 10, "datasets": 300, "max_per_design": 100, "null_datasets": 0}
ONE = {"items": 20, "ratings_per_text": 2, **QUICK}


@pytest.mark.slow
def test_points_and_superiority_are_the_same_effect():
    (units,) = effect_units(TRUTH).to_pylist()
    by_points = planned(TRUTH, effect=Effect(units["points"], "points"), **ONE)
    by_chance = planned(TRUTH, effect=Effect(units["superiority"], "superiority"), **ONE)
    for found in (by_points, by_chance):
        assert found.settings["effect"] == pytest.approx([1.0], abs=1e-6)
        assert f"B {units['points']:.2g} points above A" in found.counted
    assert by_points.units.to_pylist()[0]["superiority"] == pytest.approx(units["superiority"], abs=1e-6)


@pytest.mark.slow
def test_systems_have_the_users_names_everywhere():
    names = ["B", "BC", "BCR", "BR"]
    found = planned(TRUTH, systems=names, effect=[0.2, 0.9, 0.4], test=("B", "BCR"), **ONE)
    assert "BCR 0.73 points above B" in found.counted and found.units["system_a"].to_pylist() == names[1:]
    strong = planned(TRUTH, systems=names, effect=[0.0, 3.0, 0.0], test=("BCR", "B"), **ONE)
    weak = planned(TRUTH, systems=names, effect=[0.0, 3.0, 0.0], test=("BR", "B"), **ONE)
    assert strong.designs["power"][0].as_py() > 0.9 > 0.3 > weak.designs["power"][0].as_py()  # the pair that was named


@pytest.mark.slow
def test_every_system_against_one_of_them():
    found = planned(TRUTH, systems=["x", "y", "z"], effect=[0.8, 1.6], test=("reference", "y"), **ONE)
    assert "every system against y, Holm" in found.counted
    assert found.pairs.select(["system_a", "system_b"]).to_pylist() == [
        {"system_a": "y", "system_b": "x"},
        {"system_a": "z", "system_b": "y"},
    ]
    assert found.designs["power"][0].as_py() <= min(found.pairs["power"].to_pylist())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"systems": ["a", "a"]}, "must be 2 different names"),
        ({"cost_budget": 100.0}, "a budget needs the price"),
        ({"cost_loss": 1.5}, "loss=1.5 must lie between 0 and 1"),
        ({"cost_minutes": 0.0}, "minutes=0 must be above 0"),
        ({"systems": 3, "effect": 0.5, "test": ("A", "X")}, "is not a pair of the systems A, B, C"),
    ],
)
def test_contradictions_get_one_sentence(options, sentence):
    with pytest.raises(InputError) as error:
        planned(TRUTH, **{**ONE, **options})
    assert sentence in str(error.value)


@pytest.mark.slow
def test_the_most_that_money_buys():
    vary = {"items": [10, 20, 40, 80], "ratings_per_text": [2, 4]}
    cost = {"cost_rating": 0.1, "cost_participant": 1.0, "cost_fee": 0.25, "cost_currency": "£"}
    found = planned(TRUTH, effect=0.3, **vary, **cost, cost_budget=60.0, cost_loss=0.2, **QUICK)
    (bought,) = (row for row in found.options.to_pylist() if row["option"] == "£60 buys")
    assert f"£60 buys {bought['items']} items with {bought['ratings_per_text']:g} ratings each" in found.answer
    affordable = [row for row in found.designs.to_pylist() if row["cost"] <= 60]
    assert max(row["predicted"] for row in affordable) == pytest.approx(bought["predicted"])
    one = found.designs.to_pylist()[0]
    assert one["cost"] == pytest.approx((0.1 * one["ratings"] + one["participants"]) * 1.25 / 0.8, abs=0.01)


def test_a_fair_wage():
    assert Costs(0.12, 1.5, minutes=0.5).wage(25).hourly == pytest.approx(21.6)
    assert Costs(loss=0.1).recruited(20) == 23 and math.isclose(Costs(loss=0.5).of(10, 1), 20.0)


@pytest.mark.slow
def test_what_if_raters_or_items_differ_more():
    found = planned(TRUTH, effect=0.5, **ONE)
    rows = {row["if"]: row["power"] for row in found.sensitivity.to_pylist()}
    assert rows["effect a quarter smaller"] < found.designs["power"][0].as_py()
    assert [row["n"] for row in found.sensitivity.to_pylist()] == [200] * 4


@pytest.mark.slow
def test_pilots_keep_their_names(ratings):
    pilot = ratings.assign(system=np.where(ratings["system"] == "A", "rules", "gpt"))
    found = planned(pilot, effect=0.8, formula="rating ~ system", draws=3, **ONE)
    assert "rules" in found.counted and "gpt" in found.counted
    assert "pilot-uncertain" in {one.code for one in found.findings}
