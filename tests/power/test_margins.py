"""Equivalence and non-inferiority as the goal of a power run."""

from __future__ import annotations

import numpy as np
import pytest

import ordbridge as ob
from ordbridge.errors import InputError
from ordbridge.power import Goal, Grid
from ordbridge.power.margins import latent_effect_of
from ordbridge.simulate import Truth, implied, ratings

TRUTH = Truth(effects=(0.0,), thresholds=(-1.0, 0.0, 1.0), item_sd=(0.3, 0.2))


def grid(**axes):
    return Grid(truth=TRUTH, design="crossed", items=40, ratings_per_text=3, **axes)


def run(grid, models, goal, on="rating", **options):
    return ob.power.run(grid, models, seed=3, engine="fast", goal=Goal(goal, 0.3, on), **options)


@pytest.mark.parametrize(("model", "on"), [("lm", "rating"), ("clm", "rating"), ("clm", "latent")])
@pytest.mark.slow
def test_p_values_are_those_of_the_fit(model, on):
    study = grid(effect=0.1)
    formula = "rating ~ system"
    fits = {goal: run(study, [model], datasets=2, goal=goal, on=on).fits for goal in ("equivalence", "non-inferiority")}
    (cell,) = study.cells
    for replicate in range(2):
        data = ratings(cell.design, cell.truth, cell.stream(3, replicate))
        options = {"link": "probit"} if model == "clm" else {}
        (wanted,) = (
            getattr(ob, model)(formula, data, engine="fast", **options)
            .equivalence("system", margin=0.3, on=on)
            .to_pylist()
        )
        rows = {goal: table.to_pylist()[replicate] for goal, table in fits.items()}
        assert (wanted["system_a"], wanted["system_b"]) == ("A", "B")
        assert rows["equivalence"]["estimate"] == pytest.approx(-wanted["difference"])
        assert rows["equivalence"]["p_value"] == pytest.approx(wanted["p_value"])
        assert rows["non-inferiority"]["p_value"] == pytest.approx(wanted["p_below"])  # A − B is below the margin


@pytest.mark.parametrize(("on", "model"), [("rating", "lm"), ("rating", "clm"), ("latent", "clm")])
@pytest.mark.slow
def test_size_at_the_margin_and_power_without_a_difference(on, model):
    """Where systems differ by just the margin, 5 % are called equivalent; 300 datasets, 3.5 Monte Carlo errors."""
    found = run(grid(effect=0.0), {model: "rating ~ system"}, datasets=60, goal="equivalence", on=on, null_datasets=300)
    (row,) = found.power().to_pylist()
    assert abs(row["size"] - 0.05) < 3.5 * np.sqrt(0.05 * 0.95 / 300)
    assert row["measure"] == "power" and row["power"] > row["size"] + 0.15
    assert row["adjusted_power"] > row["size"] + 0.1
    assert len(found.manifest["null_cells"]) == 2


@pytest.mark.slow
def test_non_inferiority_must_not_be_shown_of_a_system_that_is_worse_by_the_margin():
    found = run(grid(effect=[-0.4, 0.3]), ["lm"], datasets=100, goal="non-inferiority", null_datasets=20)
    worse, better = found.power()["power"].to_pylist()
    assert worse < 0.12 and better > 0.9
    (null,) = found.manifest["null_cells"].values()
    assert '"effects": [-0.' in null


def test_the_margin_in_latent_units_is_the_effect_with_that_difference_of_mean_ratings():
    truth = TRUTH.shift(effects=(0.0, 0.5))
    effect = latent_effect_of(truth, 1, -0.3, "rating")
    rows = implied(truth.shift(effect=(0.0, effect))).differences.to_pylist()
    assert next(r["difference"] for r in rows if (r["system_b"], r["system_a"]) == (0, 2)) == pytest.approx(-0.3)
    assert latent_effect_of(truth, 1, -0.3, "latent") == -0.3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("equivalence",), "needs margin= above 0"),
        (("equivalence", -1), "needs margin= above 0"),
        (("difference", 0.3), "a margin belongs to"),
        (("sameness", 0.3), "goal='sameness'"),
        (("equivalence", 0.3, "latent"), "lm has no latent scale"),
        (("equivalence", 9.0), "no effect makes mean ratings differ by margin=9"),
    ],
)
def test_goals_that_cannot_be(options, words):
    with pytest.raises(InputError, match=words):
        ob.power.run(grid(effect=0.1), ["lm"], 1, engine="fast", goal=Goal(*options), null_datasets=1)


@pytest.mark.slow
def test_a_goal_makes_another_run(tmp_path):
    run(grid(effect=0.1), ["lm"], datasets=2, goal="equivalence", store=tmp_path / "run")
    with pytest.raises(InputError, match="holds another run: goal of lm is 'equivalence' there"):
        run(grid(effect=0.1), ["lm"], datasets=2, goal="non-inferiority", store=tmp_path / "run")
