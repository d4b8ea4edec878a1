"""Scale and nominal effects, weights and offsets of clm and clmm: what they mean, and what is refused."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import ordbridge as ob
from ordbridge.errors import FormulaError, InputError
from ordbridge.models.laplace_check import laplace_errors
from ordbridge.results import findings_of, has

CROSSED = "rating ~ system + (1 | participant) + (1 | item)"


def clm(formula: str, data: object, **options: object) -> ob.Fit:
    return ob.clm(formula, data, engine="fast", **options)


def clmm(formula: str, data: object, **options: object) -> ob.Fit:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ob.ConvergenceWarning)
        return ob.clmm(formula, data, engine="fast", **options)


@pytest.fixture(scope="module")
def spread() -> pd.DataFrame:
    """40 items × 10 raters × 2 systems, of which B scatters twice as much."""
    truth = ob.simulate.Truth(
        effects=0.5,
        thresholds=(-1.2, -0.3, 0.5, 1.4),
        participant_sd=(0.6, 0.0),
        item_sd=(0.7, 0.0),
        residual_spread=2.0,
    )
    return ob.simulate.ratings(ob.design.crossed(items=40, raters=10), truth, seed=5).to_pandas()


@pytest.mark.parametrize("fit", [clm, clmm])
def test_whole_weights_are_rows_written_out(fit, ratings: pd.DataFrame) -> None:
    formula = "rating ~ system" if fit is clm else CROSSED
    weighted = ratings.assign(times=1 + np.arange(len(ratings)) % 3)
    one, many = (
        fit(formula, weighted, weights="times"),
        fit(formula, weighted.loc[weighted.index.repeat(weighted.times)]),
    )
    np.testing.assert_allclose(one.estimates.estimate, many.estimates.estimate, atol=1e-6)
    np.testing.assert_allclose(one.estimates.std_error, many.estimates.std_error, rtol=1e-5)
    assert one.estimates.loglik == pytest.approx(many.estimates.loglik, abs=1e-8)
    assert one.glance()["bic"][0].as_py() == pytest.approx(many.glance()["bic"][0].as_py(), abs=1e-8)
    assert (one.n_obs, one.n_weighted) == (len(ratings), many.n_obs)


@pytest.mark.parametrize("fit", [clm, clmm])
def test_a_weight_of_zero_is_a_row_left_out(fit, ratings: pd.DataFrame) -> None:
    """Even where a category then has no ratings left."""
    formula = "rating ~ system" if fit is clm else CROSSED
    on = (np.arange(len(ratings)) % 5 > 0) & (ratings["rating"] > 1)
    one, other = fit(formula, ratings, weights=on.astype(float)), fit(formula, ratings[on])
    assert one.estimates.levels == other.estimates.levels == ("2", "3", "4", "5")
    assert one.estimates.loglik == pytest.approx(other.estimates.loglik, abs=1e-8)
    np.testing.assert_allclose(one.estimates.estimate, other.estimates.estimate, atol=1e-6)


@pytest.mark.parametrize("fit", [clm, clmm])
def test_an_offset_is_a_predictor_with_coefficient_one(fit, ratings: pd.DataFrame) -> None:
    formula = "rating ~ system" if fit is clm else CROSSED
    free = fit(formula.replace("system", "system + length", 1), ratings)
    slope = free.tidy().to_pylist()[free.estimates.position("length")]["estimate"]
    held = fit(formula, ratings, offset=slope * ratings["length"])
    assert held.estimates.loglik == pytest.approx(free.estimates.loglik, abs=1e-6)
    assert held.estimates.edf == free.estimates.edf - 1
    np.testing.assert_allclose(np.array(list(held.predict().to_pydict().values())),
                               np.array(list(free.predict().to_pydict().values())), atol=1e-4)  # fmt: skip


def test_scale_effects_of_a_clmm_are_found(spread: pd.DataFrame) -> None:
    fit = clmm(CROSSED, spread, link="probit", scale="~ system")
    row = fit.tidy().to_pylist()[-1]
    assert (row["effect"], row["term"]) == ("scale", "systemB")
    assert row["conf_low"] < np.log(2) < row["conf_high"] and row["p_value"] < 1e-6
    assert fit.p_value("systemB", effect="scale") == row["p_value"] != fit.p_value("system")
    truth = ob.simulate.Truth.from_fit(fit)
    assert truth.residual_spread == pytest.approx((np.exp(row["estimate"]),))
    assert "log-scale coefficients" in fit.summary() and "scale: ~ system" in fit.summary()


def test_a_numbered_system_gives_the_same_truth(spread: pd.DataFrame) -> None:
    """With the values 2 and 3 the first system's residual is not 1, and the truth is measured by it."""
    numbered = spread.assign(system=np.where(spread["system"] == "A", 2, 3))
    one, other = (ob.simulate.Truth.from_fit(clmm(CROSSED, d, scale="~ system")) for d in (spread, numbered))
    for name in ("effects", "thresholds", "participant_sd", "item_sd", "residual_spread"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-4, atol=1e-6)


def test_shares_simulated_from_a_fit_are_those_it_predicts(spread: pd.DataFrame) -> None:
    fit = clmm(CROSSED, spread, scale="~ system", nominal="~ system", link="logit")
    drawn = fit.simulate(60, seed=1).to_pandas()
    predicted = fit.predict(kind="marginal").to_pandas()
    for system in "AB":
        rows = (spread["system"] == system).to_numpy()
        shares = drawn[rows].stack().value_counts(normalize=True)
        for category in predicted:
            assert shares[category] == pytest.approx(predicted[rows][category].iloc[0], abs=0.025)


def test_new_rows_need_the_columns_of_every_part(ratings: pd.DataFrame) -> None:
    fit = clm("rating ~ system", ratings, scale="~ item", offset="length")
    new = {"system": ["A"], "item": ["i0"], "length": [9.5]}
    assert sum(fit.predict(new).to_pylist()[0].values()) == pytest.approx(1.0)
    for missing in ("item", "length"):
        with pytest.raises(InputError, match=f"newdata has no column '{missing}'"):
            fit.predict({name: value for name, value in new.items() if name != missing})
    assert fit.predict(new | {"length": [None]}).to_pylist()[0]["1"] is None


def test_rows_without_a_weight_or_offset_are_dropped(ratings: pd.DataFrame) -> None:
    gaps = ratings.assign(weight=np.where(np.arange(len(ratings)) < 7, np.nan, 1.0), known=0.0)
    gaps.loc[20, "known"] = np.nan
    fit = clm("rating ~ system", gaps, weights="weight", offset="known")
    assert fit.glance()["n_dropped"][0].as_py() == 8


ALIASED = {"formula": "rating ~ system + length", "nominal": "~ system", "scale": "~ 0 + system"}


@pytest.mark.needs_r
@pytest.mark.filterwarnings("ignore::ordbridge.errors.ConvergenceWarning")  # it is hardly identified, for R, too
def test_aliased_columns_are_named_as_in_r(ratings: pd.DataFrame) -> None:
    native, r = (ob.clm(data=ratings, engine=engine, **ALIASED).estimates for engine in ("fast", "r"))
    assert (native.dropped, native.terms, native.effects) == (r.dropped, r.terms, r.effects)


@pytest.mark.filterwarnings("ignore::ordbridge.errors.ConvergenceWarning")
def test_aliased_columns_are_dropped_and_named(ratings: pd.DataFrame) -> None:
    fit = clm(data=ratings, **ALIASED)
    assert fit.estimates.dropped == ("systemB", "systemB")  # of location, and of scale beside an intercept
    assert fit.estimates.terms[:2] == ("1|2.(Intercept)", "2|3.(Intercept)")
    assert [e for e in dict.fromkeys(fit.estimates.effects)] == ["threshold", "nominal", "fixed", "scale"]
    assert any("intercept is needed and assumed in 'scale'" in c.what for c in fit.estimates.findings)


def test_a_category_that_a_level_never_has_is_said() -> None:
    data = {"rating": [1, 2, 3, 1, 2, 3, 2, 1, 1, 2, 2, 1, 2, 1], "system": list("AAAAAAAABBBBBB")}
    with pytest.warns(ob.ConvergenceWarning, match="system B is never rated 3, so its thresholds"):
        fit = clm("rating ~ system", data, nominal="~ system")
    assert not fit.converged


def test_the_laplace_check_knows_spread_thresholds_weights_and_offset(spread: pd.DataFrame) -> None:
    """Against quadrature of the same likelihood: for one grouping factor its errors add up to the difference."""
    data = spread.assign(weight=np.where(np.arange(len(spread)) % 2, 0.5, 1.5), known=0.3)
    options = {"scale": "~ system", "nominal": "~ system", "weights": "weight", "offset": "known"}
    fit = clmm("rating ~ 1 + (1 | participant)", data, **options)
    [group] = laplace_errors(fit.problem, fit.estimates, fit.matrices())
    exact = clmm("rating ~ 1 + (1 | participant)", data, nAGQ=15, **options)
    assert fit.estimates.loglik + group.error.sum() == pytest.approx(exact.estimates.loglik, abs=1e-4)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"scale": "system"}, "scale='system' must begin with '~', such as '~ system'"),
        ({"scale": "rating ~ system"}, "must begin with '~'"),
        ({"nominal": "~ sistem"}, "nominal, position 3: there is no column 'sistem'"),
        ({"scale": "~ (1 | item)"}, "there are no random effects here|random effects must be terms of their own"),
        ({"nominal": "~ rating"}, "the response 'rating' is not allowed in nominal"),
        ({"weights": "waits"}, "there is no column 'waits' for weights"),
        ({"weights": "system"}, "weights='system' does not hold numbers"),
        ({"weights": "rating"}, "weights='rating' is the response"),
        ({"weights": [1.0, 2.0]}, r"weights has the shape \(2,\); give one number for each of 120 rows"),
        ({"weights": -np.ones(120)}, r"'\(weights\)' is -1 in row 1; a weight is 0 or more"),
        ({"weights": np.zeros(120)}, "is 0 in every row; some weights must be above 0"),
        ({"weights": {"a": 1}}, "weights must be the name of a column, or a number for every row"),
        ({"offset": np.full(120, np.nan)}, r"the column '\(offset\)' of offset is missing in every row"),
        ({"offset": np.full(120, np.inf)}, "has an infinite value in row 1"),
    ],
)
def test_refusals(options: dict, sentence: str, ratings: pd.DataFrame) -> None:
    with pytest.raises((InputError, FormulaError), match=sentence):
        clm("rating ~ system", ratings, **options)


@pytest.mark.parametrize("part", ["scale", "nominal"])
def test_r_has_no_such_clmm_and_says_who_has(part: str, ratings: pd.DataFrame) -> None:
    with pytest.raises(InputError, match=f"R's clmm has no {part} effects; use engine='fast'"):
        ob.clmm(CROSSED, ratings, **{part: "~ system"})


def test_r_takes_no_zero_weights_in_a_clmm(ratings: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="R's clmm does not take weights of 0; leave these rows out"):
        ob.clmm(CROSSED, ratings, weights=np.arange(120) % 2)


def test_numbers_do_not_meet_a_column_that_has_their_name(ratings: pd.DataFrame) -> None:
    odd = ratings.rename(columns={"length": "(weights)"})
    fit = clm("rating ~ system + `(weights)`", odd, weights=np.ones(120))
    assert fit.problem.weights == "((weights))" and fit.estimates.terms[-1] == "`(weights)`"


def test_differences_where_there_is_none(ratings: pd.DataFrame) -> None:
    fit = clm("rating ~ system", ratings, nominal="~ system")
    with pytest.raises(InputError, match=r"no single difference; use fit.means\('system'\)"):
        fit.contrasts("system")
    with pytest.raises(InputError, match=r"there is no term 'systemB'; .*'1\|2.systemB'"):
        fit.p_value("systemB")
    with pytest.raises(InputError, match="is a part of a nominal effect, which is tested as a whole"):
        fit.test("1|2.systemB")
    with pytest.raises(InputError, match="a truth has the same thresholds for every system"):
        ob.simulate.Truth.from_fit(fit)


def test_a_scale_effect_is_never_taken_for_one_on_location(ratings: pd.DataFrame) -> None:
    """They have one name in R; what asks for it without saying so means location."""
    fit = clm("rating ~ length", ratings, scale="~ system")
    assert fit.estimates.position("systemB") is None
    with pytest.raises(InputError, match=r"there is no term 'systemB'; .*'systemB' \(effect='scale'\)"):
        fit.p_value("systemB")
    assert 0 < fit.p_value("system", effect="scale") < 1


def test_the_bootstrap_does_not_draw_rows_that_stand_for_several(ratings: pd.DataFrame) -> None:
    fit = clm("rating ~ system", ratings, weights=np.full(120, 2.0))
    for ask in (lambda: fit.test("system", "bootstrap"), lambda: fit.confint("bootstrap")):
        with pytest.raises(InputError, match="with weights a row may stand for several"):
            ask()


def test_wald_and_likelihood_ratio_are_about_the_same_nominal_hypothesis(ratings: pd.DataFrame) -> None:
    fit = clm("rating ~ system * length", ratings, nominal="~ system")
    wald, ratio = (fit.test("system", method) for method in ("wald", "lrt"))
    assert wald["df"].to_pylist() == ratio["df"].to_pylist() == [5]  # four thresholds, and the interaction
    assert has(findings_of(wald), "nominal-tested")
    other = clm("rating ~ system", ratings, scale="~ system").test("system")
    assert other["df"].to_pylist() == [1]
    assert has(findings_of(other), "scale-stays")


def test_models_that_differ_in_spread_are_nested(spread: pd.DataFrame) -> None:
    plain, wide, moved = (
        clm("rating ~ system", spread, **o) for o in ({}, {"scale": "~ system"}, {"nominal": "~ system"})
    )
    table = ob.anova(plain, wide).to_pylist()
    assert (table[1]["df"], table[1]["formula"]) == (1, "rating ~ system; scale ~ system")
    assert ob.anova(plain, moved)["df"][1].as_py() == 3
    with pytest.raises(InputError, match="is not nested in"):
        ob.anova(wide, moved)
    with pytest.raises(InputError, match="the models differ in their weights"):
        ob.anova(plain, clm("rating ~ system", spread, scale="~ system", weights=np.full(len(spread), 2.0)))
