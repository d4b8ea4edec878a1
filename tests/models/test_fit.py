"""The tables of a fit, predictions, contrasts, simulation and comparison."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import integrate, stats
from scipy.special import expit

import ordbridge as ob
from ordbridge.bridge import rscript

pytestmark = pytest.mark.needs_r

COLUMNS = ["effect", "term", "estimate", "std_error", "statistic", "df", "p_value", "conf_low", "conf_high"]


@pytest.fixture(scope="module")
def clmm(ratings: pd.DataFrame) -> ob.Fit:
    return ob.clmm("rating ~ system + (1 | participant) + (1 | item)", ratings, link="probit")


def test_tidy(clmm: ob.Fit) -> None:
    table = clmm.tidy()
    assert isinstance(table, pa.Table)
    assert table.column_names == COLUMNS
    assert table["effect"].to_pylist() == ["threshold"] * 4 + ["fixed"]
    assert table["df"].null_count == 5
    row = table.to_pylist()[-1]
    assert row["conf_high"] - row["estimate"] == pytest.approx(stats.norm.ppf(0.975) * row["std_error"], rel=1e-12)
    wider = clmm.tidy(conf_level=0.99).to_pylist()[-1]
    assert wider["conf_high"] > row["conf_high"]


def test_intervals_of_a_linear_model_use_t(ratings: pd.DataFrame) -> None:
    row = ob.lm("rating ~ system", ratings).tidy().to_pylist()[1]
    assert row["df"] == 118
    assert row["conf_high"] - row["estimate"] == pytest.approx(stats.t.ppf(0.975, 118) * row["std_error"], rel=1e-12)


def test_p_value_by_term_or_predictor(clmm: ob.Fit) -> None:
    assert clmm.p_value("systemB") == clmm.p_value("system") == clmm.tidy()["p_value"][4].as_py()


def test_glance(clmm: ob.Fit) -> None:
    row = clmm.glance().to_pylist()[0]
    assert row["n_groups"] == {"participant": 12, "item": 10}
    assert (row["model"], row["engine"], row["link"], row["threshold"]) == ("clmm", "r", "probit", "flexible")
    assert row["n_obs"] == 120 and row["n_dropped"] == 0 and row["edf"] == 7
    assert row["aic"] == pytest.approx(14 - 2 * row["loglik"]) and row["converged"] is True
    assert row["r_version"].startswith("4.") and row["package_version"].startswith("ordinal ")


def test_varcorr_and_ranef(ratings: pd.DataFrame) -> None:
    fit = ob.lmer("rating ~ system + (system | participant)", ratings)
    rows = fit.varcorr().to_pylist()
    assert [(r["group"], r["term"]) for r in rows] == [
        ("participant", "(Intercept)"), ("participant", "systemB"), ("Residual", None),
    ]  # fmt: skip
    assert rows[1]["variance"] == pytest.approx(rows[1]["sd"] ** 2)
    assert len(rows[1]["correlations"]) == 1 and abs(rows[1]["correlations"][0]) <= 1 + 1e-9
    assert fit.ranef().num_rows == 24
    assert fit.ranef().column_names == ["group", "level", "term", "estimate", "std_error"]


def test_groups_with_equally_many_levels_keep_their_names(ratings: pd.DataFrame) -> None:
    """ordinal 2022.11-16 names the variances in reverse order here; its random effects show which is which."""
    equal = ratings[ratings["participant"].isin([f"p{i}" for i in range(10)])]
    fit = ob.clmm("rating ~ system + (1 | participant) + (1 | item)", equal, link="probit")
    sd = {row["group"]: row["sd"] for row in fit.varcorr().to_pylist()}
    modes = fit.ranef().to_pandas().groupby("group")["estimate"].std()
    assert (sd["participant"] > sd["item"]) == (modes["participant"] > modes["item"])
    linear = ob.lmer("rating ~ system + (1 | participant) + (1 | item)", equal).varcorr().to_pylist()
    linear_sd = {row["group"]: row["sd"] for row in linear}
    assert (sd["participant"] > sd["item"]) == (linear_sd["participant"] > linear_sd["item"])


def test_every_form_of_table_gives_the_same(ratings: pd.DataFrame, tmp_path: object) -> None:
    ratings.to_csv(f"{tmp_path}/r.csv", index=False)
    pq.write_table(pa.Table.from_pandas(ratings), f"{tmp_path}/r.parquet")
    forms = [ratings, pl.DataFrame(ratings.to_dict("list")), pa.Table.from_pandas(ratings), ratings.to_dict("list")]
    forms += [f"{tmp_path}/r.csv", f"{tmp_path}/r.parquet"]
    tables = [ob.clm("rating ~ system * length", form).tidy() for form in forms]
    assert all(table.equals(tables[0]) for table in tables)


def test_ordered_categorical_response(ratings: pd.DataFrame) -> None:
    names = ["awful", "bad", "fair", "good", "great"]
    worded = pd.Categorical(np.array(names)[ratings["rating"] - 1], categories=names, ordered=True)
    fit = ob.clm("rating ~ system", ratings.assign(rating=worded))
    assert fit.estimates.terms[:2] == ("awful|bad", "bad|fair")
    assert fit.p_value("system") == ob.clm("rating ~ system", ratings).p_value("system")


def test_missing_rows_are_dropped_and_counted(ratings: pd.DataFrame) -> None:
    holes = ratings.astype({"rating": float})
    holes.loc[[1, 5], "rating"] = np.nan
    holes.loc[7, "length"] = np.nan
    fit = ob.clmm("rating ~ length + (1 | participant)", holes)
    row = fit.glance().to_pylist()[0]
    assert (row["n_obs"], row["n_dropped"]) == (117, 3)
    assert not {1, 5, 7} & set(fit.estimates.rows.tolist())
    assert fit.tidy().equals(ob.clmm("rating ~ length + (1 | participant)", holes.dropna()).tidy())


@pytest.mark.parametrize("name", ["my rating", "a.b", "größe", "if", "TRUE", "a`b", "function"])
def test_odd_names_of_columns(name: str, ratings: pd.DataFrame) -> None:
    from ordbridge.formula import quote

    odd = ratings.rename(columns={"system": name, "participant": f"{name} 2"})
    formula = f"rating ~ {quote(name)} + (1 | {quote(name + ' 2')})"
    for model in (ob.clmm, ob.lmer):
        fit = model(formula, odd)
        plain = model("rating ~ system + (1 | participant)", ratings)
        assert fit.p_value(name) == plain.p_value("system")
        assert fit.contrasts(name)["p_adjusted"].equals(plain.contrasts("system")["p_adjusted"])
        assert fit.predict(odd.head(3)).equals(plain.predict(ratings.head(3)))


def test_convergence_problems_are_on_the_result_and_warned_of(ratings: pd.DataFrame) -> None:
    noise = ratings.assign(rating=np.tile(np.arange(10) % 5 + 1, 12))  # every participant gives the same ratings
    with pytest.warns(ob.ConvergenceWarning, match="is singular: a variance is estimated at zero"):
        fit = ob.lmer("rating ~ system + (1 | participant)", noise)
    assert fit.singular and "SINGULAR" in fit.summary()


def test_separation_shows(ratings: pd.DataFrame) -> None:
    split = ratings.assign(rating=np.where(ratings["system"] == "A", 1, 2))
    with pytest.warns(ob.ConvergenceWarning):
        fit = ob.clm("rating ~ system", split)
    assert not fit.converged
    assert "Hessian is numerically singular" in fit.estimates.findings[0].what


# -- predictions ------------------------------------------------------------------------------------------------


R_PREDICTIONS = """
file <- commandArgs(TRUE)[1]
d <- read.csv(file, stringsAsFactors = TRUE)
if (commandArgs(TRUE)[2] == "clm") {
  d$rating <- factor(d$rating)
  fit <- ordinal::clm(rating ~ system + length, data = d)
  write.csv(predict(fit, subset(d, select = -rating), type = "prob")$fit, file, row.names = FALSE)
} else {
  fit <- suppressMessages(lme4::lmer(rating ~ poly(length, 2) + (1 | participant) + (1 | item), d))
  population <- predict(fit, d, re.form = NA)
  write.csv(data.frame(conditional = predict(fit, d), population = population), file, row.names = FALSE)
}
"""


def predictions_of_r(model: str, ratings: pd.DataFrame, folder: Path) -> pd.DataFrame:
    """Return what predict() gives in plain R, one row per rating."""
    file = folder / "ratings.csv"
    ratings.to_csv(file, index=False)
    rscript.run("-e", R_PREDICTIONS, file, model)
    return pd.read_csv(file)


def test_predictions_of_clm_are_those_of_r(ratings: pd.DataFrame, tmp_path: Path) -> None:
    """The tolerance is that of numbers written as text, 15 digits, after the same search."""
    fit = ob.clm("rating ~ system + length", ratings, link="logit")
    expected = predictions_of_r("clm", ratings, tmp_path)
    np.testing.assert_allclose(fit.predict().to_pandas(), expected, rtol=1e-10)


def test_probabilities_sum_to_one(clmm: ob.Fit) -> None:
    for kind in ("conditional", "population", "marginal"):
        table = clmm.predict(kind=kind)
        assert table.column_names == ["1", "2", "3", "4", "5"]
        np.testing.assert_allclose(table.to_pandas().sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("link", ["probit", "logit"])
def test_marginal_is_the_integral(link: str, ratings: pd.DataFrame) -> None:
    fit = ob.clmm("rating ~ system + (system | participant) + (1 | item)", ratings, link=link)
    first = fit.predict(pd.DataFrame({"system": ["A", "B"]}), kind="marginal")["1"].to_pylist()
    cdf = {"probit": stats.norm.cdf, "logit": expit}[link]
    e = fit.estimates
    for system, found in enumerate(first):
        z = np.array([1.0, system])
        variance = sum(z[: t.covariance.shape[0]] @ t.covariance @ z[: t.covariance.shape[0]] for t in e.random)
        center = e.cutpoints[0] - e.estimate[-1] * system

        def weighted(x: float, center: float = center, sd: float = np.sqrt(variance)) -> float:
            return float(cdf(center - sd * x) * stats.norm.pdf(x))

        assert found == pytest.approx(integrate.quad(weighted, -12, 12)[0], abs=1e-8)


def test_unknown_levels_get_the_population_value(clmm: ob.Fit) -> None:
    new = pd.DataFrame({"system": ["A"], "participant": ["nobody"], "item": ["nothing"]})
    assert clmm.predict(new).equals(clmm.predict(new, kind="population"))
    assert clmm.predict(new).equals(clmm.predict(new[["system"]]))
    known = clmm.predict(new.assign(participant="p0"))
    assert not known.equals(clmm.predict(new))


def test_predictions_of_lmer_are_those_of_r(ratings: pd.DataFrame, tmp_path: Path) -> None:
    """Two runs of lmer on the same data differ by 1e-12 or so, relative (docs/models.md)."""
    fit = ob.lmer("rating ~ poly(length, 2) + (1 | participant) + (1 | item)", ratings)
    expected = predictions_of_r("lmer", ratings, tmp_path)
    for kind in ("conditional", "population"):
        np.testing.assert_allclose(fit.predict(ratings, kind=kind)["mean"], expected[kind], rtol=1e-7)


def test_conditional_predictions_of_lmer_add_the_random_effects(ratings: pd.DataFrame) -> None:
    fit = ob.lmer("rating ~ poly(length, 2) + (system | participant) + (1 | item)", ratings)
    again = fit.predict(ratings)
    np.testing.assert_allclose(fit.predict()["mean"], again["mean"], rtol=1e-12)
    effects = fit.ranef().to_pandas().set_index(["group", "level", "term"])["estimate"]
    row = ratings.iloc[3]
    b = effects["participant", row["participant"], "(Intercept)"] + effects["item", row["item"], "(Intercept)"]
    b += effects["participant", row["participant"], "systemB"] * (row["system"] == "B")
    population = fit.predict(ratings, kind="population")["mean"][3].as_py()
    assert again["mean"][3].as_py() == pytest.approx(population + b, rel=1e-12)


def test_scale_and_poly_use_the_fits_rows(ratings: pd.DataFrame) -> None:
    fit = ob.lm("rating ~ scale(length) + poly(length, 2)", ratings.assign(length=ratings["length"]))
    whole = fit.predict()["mean"].to_pylist()
    assert fit.predict(ratings.iloc[[5]])["mean"].to_pylist() == pytest.approx([whole[5]], rel=1e-12)


def test_rows_with_missing_predictors_have_no_prediction(clmm: ob.Fit) -> None:
    table = clmm.predict(pd.DataFrame({"system": ["A", None]}))
    assert table["1"].null_count == 1 and table["1"][0].as_py() > 0


@pytest.mark.parametrize(
    ("newdata", "sentence"),
    [
        ({"item": ["i1"]}, "newdata has no column 'system'"),
        (
            {"system": ["C"]},
            "newdata's column 'system' holds 'C', which is not a level in the fit; the levels are 'A', 'B'",
        ),
        ({"system": [1]}, "newdata's column 'system' is numeric, but it was factor when the model was fitted"),
    ],
)
def test_newdata_that_does_not_fit(clmm: ob.Fit, newdata: dict[str, list[object]], sentence: str) -> None:
    with pytest.raises(ob.InputError) as refusal:
        clmm.predict(newdata)
    assert sentence in str(refusal.value)


def test_kind_of_prediction(clmm: ob.Fit) -> None:
    with pytest.raises(ob.InputError, match="kind='mean' is not known"):
        clmm.predict(kind="mean")


# -- simulation ---------------------------------------------------------------------------------------------------


def test_simulation_is_repeatable_and_has_the_marginal_shares(clmm: ob.Fit) -> None:
    draws = clmm.simulate(400, seed=3)
    assert draws.equals(clmm.simulate(400, seed=3))
    assert not draws.select(["sim_1"]).equals(clmm.simulate(1, seed=4))
    assert draws.num_rows == 120 and draws.schema.field("sim_1").type.ordered
    shares = np.array([[np.mean(draws[c].to_numpy() == level) for level in "12345"] for c in draws.column_names])
    expected = clmm.predict(kind="marginal").to_pandas().mean().to_numpy()
    error = shares.std(axis=0) / np.sqrt(len(shares))
    assert (np.abs(shares.mean(axis=0) - expected) < 4 * error).all()


def test_simulated_responses_of_lmer_have_the_fitted_variance(ratings: pd.DataFrame) -> None:
    fit = ob.lmer("rating ~ 1 + (1 | participant)", ratings)
    draws = fit.simulate(500, seed=1).to_pandas().to_numpy()
    total = sum(row["variance"] for row in fit.varcorr().to_pylist())
    assert draws.var() == pytest.approx(total, rel=0.1)


# -- contrasts and comparison -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def three_systems(ratings: pd.DataFrame) -> pd.DataFrame:
    system = np.array(["A", "B", "C"])[np.arange(len(ratings)) % 3]
    return ratings.assign(system=system, rating=np.clip(ratings["rating"] + (system == "C"), 1, 5))


@pytest.mark.parametrize("model", ["clm", "clmm", "lm", "lmer"])
def test_contrasts(model: str, three_systems: pd.DataFrame) -> None:
    random = " + (1 | participant)" if model in ("clmm", "lmer") else ""
    fit = getattr(ob, model)(f"rating ~ system * length{random}", three_systems)
    table = fit.contrasts("system", adjust="none").to_pandas()
    assert list(zip(table["system_a"], table["system_b"], strict=True)) == [("A", "B"), ("A", "C"), ("B", "C")]
    mean = three_systems["length"].mean()
    e = dict(zip(fit.estimates.terms, fit.estimates.estimate, strict=True))
    assert table["difference"][0] == pytest.approx(-(e["systemB"] + mean * e["systemB:length"]), rel=1e-9)
    holm = fit.contrasts("system").to_pandas()["p_adjusted"]
    raw = table["p_value"]
    order = raw.sort_values().index
    expected = np.minimum(1, np.maximum.accumulate(raw[order] * [3, 2, 1]))
    np.testing.assert_allclose(holm[order], expected, rtol=1e-9)
    assert table["df"].isna().all() == (model in ("clm", "clmm"))


def test_contrasts_need_a_factor(clmm: ob.Fit) -> None:
    with pytest.raises(ob.InputError, match="'length' is not a factor of this model"):
        clmm.contrasts("length")
    with pytest.raises(ob.InputError, match="adjust='magic' is not known"):
        clmm.contrasts("system", adjust="magic")


def test_anova(ratings: pd.DataFrame) -> None:
    small = ob.clmm("rating ~ 1 + (1 | participant)", ratings)
    large = ob.clmm("rating ~ system + (1 | participant)", ratings)
    table = ob.anova(large, small).to_pylist()
    assert table[0]["p_value"] is None and table[1]["df"] == 1
    statistic = 2 * (large.estimates.loglik - small.estimates.loglik)
    assert table[1]["p_value"] == pytest.approx(stats.chi2.sf(statistic, 1), rel=1e-12)


def test_anova_of_one_fit(ratings: pd.DataFrame) -> None:
    fit = ob.lmer("rating ~ system + (1 | participant)", ratings)
    row = ob.anova(fit).to_pylist()[0]
    assert row["term"] == "system" and row["num_df"] == 1
    assert row["p_value"] == pytest.approx(fit.p_value("system"), rel=1e-9)  # F with one df is t squared
    with pytest.raises(ob.InputError, match="a single clm has nothing to be compared with"):
        ob.anova(ob.clm("rating ~ system", ratings))


def test_anova_refits_by_maximum_likelihood(ratings: pd.DataFrame) -> None:
    formulas = ["rating ~ 1 + (1 | participant)", "rating ~ system + (1 | participant)"]
    reml = ob.anova(*(ob.lmer(f, ratings) for f in formulas))
    assert reml.equals(ob.anova(*(ob.lmer(f, ratings, REML=False) for f in formulas)))


def test_anova_refuses_what_cannot_be_compared(ratings: pd.DataFrame) -> None:
    fit = ob.clm("rating ~ system", ratings)
    for other, sentence in [
        (ob.clm("rating ~ system + length", ratings.iloc[1:]), "not fitted on the same rows"),
        (ob.lm("rating ~ system + length", ratings), "cannot be compared by likelihood"),
        (ob.clm("rating ~ length", ratings), "neither is nested in the other"),
        (ob.clm("rating ~ system + length", ratings, link="probit"), "differ in link or threshold"),
        (ob.clm("rating ~ system + length", ratings.assign(rating=ratings["rating"].to_numpy()[::-1])), "same rows"),
    ]:
        with pytest.raises(ob.InputError, match=sentence):
            ob.anova(fit, other)


def test_a_fit_is_frozen(clmm: ob.Fit) -> None:
    with pytest.raises(AttributeError):
        clmm.engine = "fast"  # type: ignore[misc]


def test_the_summary_has_all_of_its_parts(clmm: ob.Fit) -> None:
    text = clmm.summary()
    for part in ("Cumulative Link Mixed Model", "Random effects:", "Coefficients:", "Threshold coefficients:", "1|2"):
        assert part in text
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert clmm.summary() == text
