"""``ob.compare_links`` and ``ob.random_effects``."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import ordbridge as ob

pytestmark = pytest.mark.filterwarnings("ignore::ordbridge.ConvergenceWarning")


@pytest.mark.needs_r
def test_links_are_those_of_single_fits(wine: pd.DataFrame) -> None:
    """Beside R's own fits of every link and threshold: AIC to 1e-3, by which R stops early with the cauchit link."""
    formula = "rating ~ temp + contact"
    found = ob.compare_links(ob.clm(formula, wine, engine="fast")).to_pylist()
    assert len(found) == 20 and [row["aic"] for row in found] == sorted(row["aic"] for row in found)
    assert found[0]["delta_aic"] == 0.0
    for row in found:
        r = ob.clm(formula, wine, link=row["link"], threshold=row["threshold"])
        assert row["aic"] == pytest.approx(r.glance()["aic"][0].as_py(), abs=1e-3)
        assert row["delta_aic"] == pytest.approx(row["aic"] - found[0]["aic"])


def test_links_of_a_linear_model_are_refused(four: pd.DataFrame) -> None:
    with pytest.raises(ob.InputError, match="links are compared for clm and clmm; this is a fitted lm"):
        ob.compare_links(ob.lm("score ~ system", four, engine="fast"))


def ratings(slope: float, seed: int = 3) -> pd.DataFrame:
    plan = ob.design.crossed(items=20, raters=12)
    truth = ob.simulate.Truth(
        effects=0.3, thresholds=(-1, 0, 1), participant_sd=(0.5, slope), item_sd=(0.5, 0.0), slope_coding="centred"
    )
    return ob.simulate.ratings(plan, truth, seed).to_pandas()


def test_slopes_that_are_there_stay_and_others_go() -> None:
    """A test at the level .2 keeps one in five of those that are not there, at most: 10 studies, four errors."""
    kept = []
    for seed in range(10):
        found = ob.random_effects(ratings(slope=1.5, seed=seed), link="probit")
        assert found.maximal == "rating ~ system + (system | participant) + (system | item)"
        assert "(system | participant)" in found.supported
        kept.append("(system | item)" in found.supported)
    assert np.mean(kept) <= 0.2 + 4 * (0.2 * 0.8 / 10) ** 0.5 and not all(kept)


@pytest.mark.parametrize("model", ["clmm", "lmer"])
def test_every_step_is_a_likelihood_ratio(model: str) -> None:
    data = ratings(slope=0.7)
    found = ob.random_effects(data, model=model)
    steps = found.steps.to_pylist()
    assert steps[0]["formula"] == found.maximal and steps[0]["p_value"] is None
    options = {"REML": False} if model == "lmer" else {}
    before = steps[0]
    for step in range(1, steps[-1]["step"] + 1):
        tried = [row for row in steps if row["step"] == step]
        for row in tried:
            fits = [getattr(ob, model)(one["formula"], data, engine="fast", **options) for one in (row, before)]
            test = ob.anova(*fits).to_pylist()[1]
            assert row["p_value"] == pytest.approx(test["p_value"], abs=1e-6) and row["df"] == test["df"] == 2
            assert row["p_value"] == pytest.approx(stats.chi2.sf(row["statistic"], 2))
        weakest = max(tried, key=lambda row: row["p_value"])
        assert [row["kept"] for row in tried] == [row is weakest and row["p_value"] > 0.2 for row in tried]
        before = weakest if weakest["kept"] else before
    assert before["formula"] == found.supported


def test_what_a_design_identifies() -> None:
    """Every item under one system only, and a third group in which nobody rates twice."""
    random = np.random.default_rng(2)
    p, i = (g.ravel() for g in np.meshgrid(range(8), range(10), indexing="ij"))
    data = pd.DataFrame(
        {
            "rating": random.integers(1, 5, p.size),
            "system": np.array(["A", "B"])[i % 2],
            "participant": [f"p{k}" for k in p],
            "item": [f"i{k}" for k in i],
            "session": [f"s{k}" for k in range(p.size)],
            "site": np.where(p < 4, "x", "y"),
        }
    )
    found = ob.random_effects(data, groups=("participant", "item", "session", "site"))
    rows = {(row["group"], row["effect"]): row for row in found.identified.to_pylist()}
    assert rows["participant", "system"]["identified"] and rows["item", "intercept"]["identified"]
    assert rows["item", "system"]["reason"] == "system does not vary within item"
    assert rows["session", "intercept"]["reason"] == "no level of session has two ratings"
    assert rows["site", "intercept"]["reason"] == "site has 2 levels, and at least 3 are needed"
    assert found.maximal == "rating ~ system + (system | participant) + (1 | item)"
    once = data.drop_duplicates(["participant", "system"])
    with pytest.raises(ob.InputError, match="no random effect can be told apart"):
        ob.random_effects(data, groups=("session",))
    rows = ob.random_effects(once, groups=("participant",)).identified.to_pylist()
    assert rows[1]["reason"] == "no level of participant has two ratings at one level of system"


def test_refusals() -> None:
    data = ratings(slope=0.0)
    for options, sentence in (
        ({"model": "clm"}, "model='clm'"),
        ({"alpha": 20}, "alpha=20"),
        ({"predictors": ()}, "give at least one predictor"),
        ({"groups": ("rater",)}, "there is no column 'rater'"),
    ):
        with pytest.raises((ob.InputError, ob.FormulaError), match=sentence):
            ob.random_effects(data, **options)  # type: ignore[arg-type]


def test_a_slope_needs_levels_that_have_two_systems_in_common():
    """Items within systems, but for two that are shared: a covariance would rest on these two."""
    random = np.random.default_rng(3)
    rows = [
        {
            "participant": f"p{p}",
            "item": f"i{i}",
            "system": "A" if i < 12 else "B",
            "rating": int(random.integers(1, 5)),
        }
        for p in range(10)
        for i in range(24)
    ]
    rows += [{**row, "system": "B"} for row in rows if row["item"] in ("i0", "i1")]
    found = ob.random_effects(pd.DataFrame(rows))
    reasons = {(row["group"], row["effect"]): row["reason"] for row in found.identified.to_pylist()}
    assert reasons["item", "system"] == "2 levels of item have both system A and B, and 3 are needed"
    assert not reasons["participant", "system"] and found.maximal.endswith("+ (system | participant) + (1 | item)")


def test_many_levels_have_one_variance_in_place_of_slopes():
    plan = ob.design.crossed(items=8, raters=6, systems=4)
    ratings = ob.simulate.ratings(plan, ob.simulate.Truth(effects=(0.1, 0.2, 0.3), thresholds=(-1, 0, 1)), seed=1)
    found = ob.random_effects(ratings, slopes_up_to=3)
    groups = "(1 | participant) + (1 | participant:system) + (1 | item) + (1 | item:system)"
    assert found.maximal == f"rating ~ system + {groups}"
    assert "system |" not in "".join(found.steps["formula"].to_pylist())
    assert "(system | participant)" in ob.random_effects(ratings, slopes_up_to=4).maximal
