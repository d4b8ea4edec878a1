"""Plans in the words of the person who pays: points, names, money, losses."""

import math

import numpy as np
import pytest

import ordbridge as ob
from ordbridge.cli import main
from ordbridge.errors import InputError
from ordbridge.planning.money import Prices, prices_of
from ordbridge.simulate import Truth
from ordbridge.simulate.effect_units import effect_units

TRUTH = Truth(effects=1.0, thresholds=(-1, 0, 1), item_sd=(0.3, 0.1))
QUICK = {"model": "lm", "texts_per_participant": 10, "datasets": 300, "most": 100, "null": 0}
ONE = {"vary": {"items": 20, "ratings_per_text": 2}, **QUICK}


@pytest.mark.slow
def test_points_and_superiority_are_the_same_effect():
    (units,) = effect_units(TRUTH).to_pylist()
    by_points = ob.planning.plan(TRUTH, effect_points=units["points"], **ONE)
    by_chance = ob.planning.plan(TRUTH, superiority=units["superiority"], **ONE)
    for found in (by_points, by_chance):
        assert found.asked["effect"] == pytest.approx([1.0], abs=1e-6)
        assert f"{units['points']:+.2g} rating points between B and A" in str(found)
    assert by_points.units.to_pylist()[0]["superiority"] == pytest.approx(units["superiority"], abs=1e-6)


@pytest.mark.slow
def test_systems_have_the_users_names_everywhere():
    names = ["B", "BC", "BCR", "BR"]
    found = ob.planning.plan(TRUTH, systems=4, names=names, effect=[0.2, 0.9, 0.4], test=("B", "BCR"), **ONE)
    assert "BCR against B" in str(found) and found.units["system"].to_pylist() == names[1:]
    strong = ob.planning.plan(TRUTH, names=names, effect=[0.0, 3.0, 0.0], test=("BCR", "B"), **ONE)
    weak = ob.planning.plan(TRUTH, names=names, effect=[0.0, 3.0, 0.0], test=("BR", "B"), **ONE)
    assert strong.designs["power"][0].as_py() > 0.9 > 0.3 > weak.designs["power"][0].as_py()  # the pair that was named


@pytest.mark.slow
def test_every_system_against_one_of_them():
    found = ob.planning.plan(TRUTH, names=["x", "y", "z"], effect=[0.8, 1.6], test=("reference", "y"), **ONE)
    assert "every system against y, Holm" in str(found)
    assert found.pairs["pair"].to_pylist() == ["y against x", "z against y"]
    assert found.designs["power"][0].as_py() <= min(found.pairs["power"].to_pylist())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"effect": 1.0, "effect_points": 0.4}, "the effect is given twice, as effect= and as effect_points="),
        ({"names": ["a", "a"]}, "must be 2 different names"),
        ({"spend": 100.0}, "spend= needs prices"),
        ({"loss": 1.5}, "loss=1.5 must lie between 0 and 1"),
        ({"cost": {"rating": 0.1, "fees": 1}}, "cost has 'fees'"),
        ({"minutes": 0.0}, "minutes=0 must be above 0"),
        ({"systems": 3, "effect": 0.5, "test": ("A", "X")}, "is not a pair of the systems A, B, C"),
    ],
)
def test_contradictions_get_one_sentence(options, sentence):
    with pytest.raises(InputError) as error:
        ob.planning.plan(TRUTH, **{**ONE, **options})
    assert sentence in str(error.value)


@pytest.mark.slow
def test_the_most_that_money_buys():
    vary = {"items": [10, 20, 40, 80], "ratings_per_text": [2, 4]}
    cost = {"rating": 0.1, "participant": 1.0, "fee": 0.25}
    found = ob.planning.plan(TRUTH, effect=0.3, vary=vary, cost=cost, currency="£", spend=60.0, loss=0.2, **QUICK)
    assert "The most that £60.00 buys is" in str(found) and "recruit" in str(found)
    bought = [row for row in found.designs.to_pylist() if row["cost"] <= 60]
    assert max(row["predicted"] for row in bought) == pytest.approx(
        next(row["predicted"] for row in bought if f"{row['items']} items × {row['ratings_per_text']:g}" in
             found.sentence.partition("buys is ")[2])
    )  # fmt: skip
    one = found.designs.to_pylist()[0]
    assert one["cost"] == pytest.approx((0.1 * one["ratings"] + one["participants"]) * 1.25 / 0.8, abs=0.01)


def test_a_fair_wage():
    assert "£21.60 an hour" in prices_of({"rating": 0.12, "participant": 1.5}, "£", minutes=0.5).wage(25)
    assert Prices(loss=0.1).recruited(20) == 23 and math.isclose(Prices(loss=0.5).of(10, 1), 20.0)


@pytest.mark.slow
def test_what_if_raters_or_items_differ_more():
    found = ob.planning.plan(TRUTH, effect=0.5, **ONE)
    rows = {row["if"]: row["power"] for row in found.sensitivity.to_pylist()}
    assert rows["effect a quarter smaller"] < found.designs["power"][0].as_py()
    assert [row["n"] for row in found.sensitivity.to_pylist()] == [200] * 4


@pytest.mark.slow
def test_pilots_keep_their_names(ratings):
    pilot = ratings.assign(system=np.where(ratings["system"] == "A", "rules", "gpt"))
    found = ob.planning.plan(pilot=pilot, effect=0.8, formula="rating ~ system", draws=3, **ONE)
    assert "between rules and gpt" in str(found), str(found)
    assert "in 4 of 5 such worlds" in str(found)


def test_budget_is_refused_at_the_command_line_because_it_may_be_money(capsys):
    assert main(["plan", "--preset", "howcroft2021", "--variance", "low", "--effect", "0.3", "--budget", "500"]) == 2
    assert "--spend for money, --datasets for simulations" in capsys.readouterr().err
