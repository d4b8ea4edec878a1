"""Predictions and simulated responses against the formulas of the model, written out and integrated by scipy.

The fits come from the native engine, and their estimates are replaced by chosen ones with correlated random effects,
different for every participant and item, so that no formula can be right by accident.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import integrate, stats

import ordbridge as ob

pytestmark = pytest.mark.filterwarnings("ignore::ordbridge.ConvergenceWarning")

RESIDUAL = {
    "logit": stats.logistic,
    "probit": stats.norm,
    "cloglog": stats.gumbel_l,
    "loglog": stats.gumbel_r,
    "cauchit": stats.cauchy,
}
BELOW: dict[str, Callable[[float], float]] = {  # the same for one number, quick enough to be integrated
    "logit": lambda t: 1 / (1 + math.exp(-t)),
    "probit": lambda t: math.erfc(-t / math.sqrt(2)) / 2,
    "cloglog": lambda t: 1 - math.exp(-math.exp(t)),
    "loglog": lambda t: math.exp(-math.exp(-t)),
    "cauchit": lambda t: 0.5 + math.atan(t) / math.pi,
}
CUTS = np.array([-1.2, 0.3, 1.9])
SYSTEM_B, SLOPE = 0.7, -0.45
PARTICIPANT = np.array([[0.8, -0.3], [-0.3, 0.5]])  # covariance of intercept and slope over x
ITEM = np.array([[0.4]])
PARTICIPANT_MODES = np.array([[0.9, -0.2], [-0.4, 0.5], [0.1, 0.3], [-1.1, 0.0], [0.6, -0.7], [0.2, 0.8]])
ITEM_MODES = np.array([[0.5], [-0.3], [0.8], [-0.9], [0.15]])
SIGMA, INTERCEPT = 1.3, 2.5


@pytest.fixture(scope="module")
def study() -> pd.DataFrame:
    """Six participants rate five items under both systems: 60 ratings in four categories, every category used."""
    rows = pd.DataFrame(itertools.product(range(6), range(5), "AB"), columns=["p", "i", "system"])
    random = np.random.default_rng(4)
    x = np.round(random.normal(0, 1, 60), 2)
    return rows.assign(
        p=[f"p{p}" for p in rows["p"]],
        i=[f"i{i}" for i in rows["i"]],
        x=x,
        y=pd.qcut(x + random.normal(0, 1, 60), 4, labels=False) + 1,
        z=x + random.normal(0, 1, 60),
    )


def with_known_estimates(fit: ob.Fit) -> ob.Fit:
    """The fit, as if its estimates were those at the top of this file."""
    participant, item = fit.estimates.random
    assert participant.levels == tuple(f"p{i}" for i in range(6)) and item.levels == tuple(f"i{i}" for i in range(5))
    random = (
        dataclasses.replace(participant, covariance=PARTICIPANT, modes=PARTICIPANT_MODES),
        dataclasses.replace(item, covariance=ITEM, modes=ITEM_MODES),
    )
    ordinal = fit.problem.ordinal
    before = CUTS if ordinal else [INTERCEPT]
    return dataclasses.replace(
        fit,
        estimates=dataclasses.replace(
            fit.estimates,
            estimate=np.array([*before, SYSTEM_B, SLOPE]),
            cutpoints=CUTS if ordinal else np.empty(0),
            sigma=None if ordinal else SIGMA,
            random=random,
        ),
    )


def clmm(study: pd.DataFrame, link: str) -> ob.Fit:
    formula = "y ~ system + x + (1 + x | p) + (1 | i)"
    return with_known_estimates(ob.clmm(formula, study, link=link, engine="fast"))


@pytest.fixture(scope="module")
def lmer(study: pd.DataFrame) -> ob.Fit:
    return with_known_estimates(ob.lmer("z ~ system + x + (1 + x | p) + (1 | i)", study, engine="fast"))


def fixed_part(row: pd.Series) -> float:
    return SYSTEM_B * (row["system"] == "B") + SLOPE * row["x"]


def random_part(row: pd.Series) -> float:
    intercept, slope = PARTICIPANT_MODES[int(row["p"][1:])]
    return float(intercept + slope * row["x"] + ITEM_MODES[int(row["i"][1:]), 0])


def variance(x: float) -> float:
    """Var(b₀ + b₁x) + Var(item)."""
    return 0.8 + 2 * -0.3 * x + 0.5 * x**2 + 0.4


def averaged(link: str, t: float, sd: float) -> float:
    """The mean of P(residual ≤ t − b) over a normal b, by scipy; ``points`` marks where the integrand turns."""

    def weighted(u: float) -> float:
        return BELOW[link](t - sd * u) * math.exp(-u * u / 2) / math.sqrt(2 * math.pi)

    turns = {float(np.clip((t + shift) / sd, -11.5, 11.5)) for shift in (-5, -1, 0, 1, 5)}
    options = {"epsabs": 1e-14, "epsrel": 1e-13, "limit": 500, "points": sorted({0.0, *turns})}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", integrate.IntegrationWarning)  # it cannot do better than the last digits
        return float(integrate.quad(weighted, -12, 12, **options)[0])


def as_rows(table: pa.Table) -> np.ndarray:
    return np.column_stack([table[name].to_numpy() for name in table.column_names])


# -- predictions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("link", RESIDUAL)
def test_conditional_and_population_probabilities(link: str, study: pd.DataFrame) -> None:
    fit = clmm(study, link)
    cdf = RESIDUAL[link].cdf
    conditional, population = (fit.predict(kind=kind) for kind in ("conditional", "population"))
    assert conditional.column_names == population.column_names == ["1", "2", "3", "4"]
    for position, row in study.iterrows():
        eta, b = fixed_part(row), random_part(row)
        at_zero = [cdf(CUTS[0] - eta), cdf(CUTS[1] - eta) - cdf(CUTS[0] - eta), cdf(CUTS[2] - eta) - cdf(CUTS[1] - eta)]
        np.testing.assert_allclose(as_rows(population)[position], [*at_zero, 1 - sum(at_zero)], atol=1e-13)
        below = cdf(CUTS - eta - b)
        expected = [below[0], below[1] - below[0], below[2] - below[1], 1 - below[2]]
        np.testing.assert_allclose(as_rows(conditional)[position], expected, atol=1e-13)


@pytest.mark.parametrize("link", RESIDUAL)
def test_marginal_probabilities_are_the_integral_over_correlated_effects(link: str, study: pd.DataFrame) -> None:
    new = pd.DataFrame({"system": ["A", "B", "B", "A"], "x": [0.0, 1.5, -2.0, 40.0]})  # sd 1.1, 1.2, 2.1, 27.9
    found = as_rows(clmm(study, link).predict(new, kind="marginal"))
    for row, probability in zip(new.itertuples(), found, strict=True):
        eta = SYSTEM_B * (row.system == "B") + SLOPE * row.x
        below = [averaged(link, cut - eta, variance(row.x) ** 0.5) for cut in CUTS]
        np.testing.assert_allclose(probability, np.diff([0, *below, 1]), rtol=0, atol=2e-12)


@pytest.mark.parametrize("link", RESIDUAL)
@pytest.mark.parametrize("sd", [0.0, 0.01, 0.3, 1.9, 2.6])
def test_marginal_probabilities_for_any_standard_deviation(link: str, sd: float, study: pd.DataFrame) -> None:
    """The stated error of 1e-12 is also that of rows whose effects hardly vary."""
    fit = ob.clmm("y ~ x + (1 | p)", study, link=link, engine="fast")
    random = dataclasses.replace(fit.estimates.random[0], covariance=np.array([[sd**2]]))
    estimates = dataclasses.replace(fit.estimates, random=(random,), estimate=np.array([*CUTS, 1.0]), cutpoints=CUTS)
    found = as_rows(dataclasses.replace(fit, estimates=estimates).predict({"x": [0.4]}, kind="marginal"))[0]
    cdf = RESIDUAL[link].cdf
    below = [averaged(link, cut - 0.4, sd) if sd else cdf(cut - 0.4) for cut in CUTS]
    np.testing.assert_allclose(found, np.diff([0, *below, 1]), rtol=0, atol=1e-12)


def test_an_unknown_participant_keeps_the_effect_of_a_known_item(study: pd.DataFrame) -> None:
    fit = clmm(study, "logit")
    new = pd.DataFrame({"system": "B", "x": 2.0, "p": ["p3", "nobody", "p3", None], "i": ["i2", "i2", "nothing", "i2"]})
    found = fit.predict(new)["1"].to_pylist()
    eta = SYSTEM_B + 2.0 * SLOPE
    participant, item = -1.1 + 2.0 * 0.0, 0.8
    effects = [participant + item, item, participant, item]
    np.testing.assert_allclose(found, [stats.logistic.cdf(CUTS[0] - eta - b) for b in effects], rtol=1e-12)


def test_a_row_with_a_missing_predictor_has_no_prediction(study: pd.DataFrame, lmer: ob.Fit) -> None:
    new = pd.DataFrame({"system": ["A", None, "B"], "x": [1.0, 1.0, np.nan], "p": "p1", "i": "i1"})
    for fit in (clmm(study, "cloglog"), lmer):
        for kind in ("conditional", "population", "marginal"):
            for column in fit.predict(new, kind=kind).columns:
                assert [value is None for value in column.to_pylist()] == [False, True, True]


def test_predicted_means_of_lmer(study: pd.DataFrame, lmer: ob.Fit) -> None:
    eta = [INTERCEPT + fixed_part(row) for _, row in study.iterrows()]
    conditional = [mean + random_part(row) for mean, (_, row) in zip(eta, study.iterrows(), strict=True)]
    assert lmer.predict().column_names == ["mean"]
    np.testing.assert_allclose(lmer.predict()["mean"], conditional, rtol=1e-12)
    for kind in ("population", "marginal"):  # the mean over effects of mean zero is the mean at zero
        np.testing.assert_allclose(lmer.predict(kind=kind)["mean"], eta, rtol=1e-12)


def test_a_kind_that_was_read_from_a_file_is_the_same_kind(study: pd.DataFrame) -> None:
    fit = clmm(study, "probit")
    for kind in ("conditional", "population", "marginal"):
        read = json.loads(json.dumps(kind))  # an equal word, but not the same object
        assert fit.predict(kind=read).equals(fit.predict(kind=kind))


# -- simulated responses ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["logit", "probit", "cauchit"])
def ordinal_draws(request: pytest.FixtureRequest, study: pd.DataFrame) -> tuple[str, pa.Table]:
    return request.param, clmm(study, request.param).simulate(3000, seed=5)


@pytest.mark.slow
def test_simulated_ratings_are_ordered_categories(ordinal_draws: tuple[str, pa.Table]) -> None:
    _, draws = ordinal_draws
    assert draws.column_names == [f"sim_{k}" for k in range(1, 3001)]
    kind = draws.schema.field("sim_1").type
    assert pa.types.is_dictionary(kind) and kind.ordered
    assert draws["sim_1"].chunk(0).dictionary.to_pylist() == ["1", "2", "3", "4"]
    assert draws.num_rows == 60


@pytest.mark.slow
def test_simulated_ratings_have_the_marginal_distribution(
    ordinal_draws: tuple[str, pa.Table], study: pd.DataFrame
) -> None:
    """χ² of each row's counts over the draws: 60 rows with 3 degrees of freedom each, none far out, none too good."""
    link, draws = ordinal_draws
    ratings = as_rows(draws).astype(int)
    p_values = []
    for position, row in study.iterrows():
        below = [averaged(link, cut - fixed_part(row), variance(row["x"]) ** 0.5) for cut in CUTS]
        observed = np.bincount(ratings[position], minlength=5)[1:]
        p_values.append(stats.chisquare(observed, 3000 * np.diff([0, *below, 1])).pvalue)
    assert min(p_values) > 1e-4
    assert 0.3 < np.mean(p_values) < 0.7


@pytest.mark.slow
def test_simulated_ratings_of_one_participant_belong_together(study: pd.DataFrame) -> None:
    """For the probit link two latent ratings are jointly normal, so two low ratings have a known probability."""
    ratings = as_rows(clmm(study, "probit").simulate(3000, seed=6)).astype(int)
    first = 0
    for second in range(1, 60):
        a, b = study.iloc[first], study.iloc[second]
        cov = (0.8 - 0.3 * (a["x"] + b["x"]) + 0.5 * a["x"] * b["x"]) * (a["p"] == b["p"]) + 0.4 * (a["i"] == b["i"])
        spread = [[1 + variance(a["x"]), cov], [cov, 1 + variance(b["x"])]]
        middle = CUTS[1] - np.array([fixed_part(a), fixed_part(b)])
        expected = stats.multivariate_normal(cov=spread).cdf(middle)
        share = np.mean((ratings[first] <= 2) & (ratings[second] <= 2))
        assert abs(share - expected) < 4.5 * np.sqrt(expected * (1 - expected) / 3000), (a, b)


def covariance_of(study: pd.DataFrame) -> np.ndarray:
    """Covariance of the responses of lmer: effects of participants and items that two rows share, and the residual."""
    z = np.column_stack([np.ones(60), study["x"]])
    same_p, same_i = (study[c].to_numpy()[:, None] == study[c].to_numpy() for c in ("p", "i"))
    return (z @ PARTICIPANT @ z.T) * same_p + 0.4 * same_i + SIGMA**2 * np.eye(60)


def test_simulated_means_and_covariances_of_lmer(study: pd.DataFrame, lmer: ob.Fit) -> None:
    n = 4000
    draws = as_rows(lmer.simulate(n, seed=7))
    expected = covariance_of(study)
    eta = np.array([INTERCEPT + fixed_part(row) for _, row in study.iterrows()])
    whitened = np.linalg.solve(np.linalg.cholesky(expected), draws - eta[:, None])  # 60 × n independent N(0, 1)
    assert np.abs(whitened.mean(axis=1)).max() < 4.5 / np.sqrt(n)
    cov = whitened @ whitened.T / n
    assert np.abs(np.diag(cov) - 1).max() < 4.5 * np.sqrt(2 / n)
    assert np.abs(cov - np.diag(np.diag(cov))).max() < 5 / np.sqrt(n)
    assert stats.kstest(whitened.ravel(), "norm").pvalue > 1e-3


def test_simulated_responses_without_residual_are_the_effects_alone(study: pd.DataFrame, lmer: ob.Fit) -> None:
    """Two rows of one participant and one item with the same x then differ by exactly the effect of the system."""
    item, participant = lmer.estimates.random[1], lmer.estimates.random[0]
    exact = dataclasses.replace(
        lmer,
        estimates=dataclasses.replace(
            lmer.estimates,
            sigma=0.0,
            estimate=np.array([INTERCEPT, SYSTEM_B, 0.0]),
            random=(dataclasses.replace(participant, covariance=np.diag([0.8, 0.0])), item),
        ),
    )
    table = exact.simulate(20, seed=1)
    assert table.column_names == [f"sim_{k}" for k in range(1, 21)]
    draws = as_rows(table)
    np.testing.assert_allclose(draws[1::2] - draws[0::2], SYSTEM_B, atol=1e-12)
    assert draws[0].std() > 0.3  # while every draw has its own effects


def test_simulated_effects_of_a_correlation_of_one_stay_on_a_line(study: pd.DataFrame, lmer: ob.Fit) -> None:
    """A covariance on the boundary has no Cholesky factor; the slope is then a multiple of the intercept."""
    participant, item = lmer.estimates.random
    on_a_line = dataclasses.replace(participant, covariance=np.outer([0.9, -0.6], [0.9, -0.6]))
    none = dataclasses.replace(item, covariance=np.zeros((1, 1)))
    fit = dataclasses.replace(lmer, estimates=dataclasses.replace(lmer.estimates, sigma=0.0, random=(on_a_line, none)))
    draws = as_rows(fit.simulate(500, seed=2))
    eta = np.array([INTERCEPT + fixed_part(row) for _, row in study.iterrows()])
    unit = (draws - eta[:, None]) / (0.9 - 0.6 * study["x"].to_numpy())[:, None]
    for p in range(6):
        own = unit[10 * p : 10 * (p + 1)]
        np.testing.assert_allclose(own, np.broadcast_to(own[0], own.shape), atol=1e-5)
    assert unit[0].std() == pytest.approx(1, abs=4 / np.sqrt(2 * 500))


def test_the_seed_decides(study: pd.DataFrame) -> None:
    fit = clmm(study, "logit")
    assert fit.simulate(3, seed=1).equals(fit.simulate(3, seed=1))
    one, two = (fit.simulate(2, seed=1)[f"sim_{k}"].to_pylist() for k in (1, 2))
    other = fit.simulate(1, seed=2)["sim_1"].to_pylist()
    assert one != two and one != other


def test_models_without_random_effects_predict_and_simulate(study: pd.DataFrame) -> None:
    """A clm's three kinds of prediction are one; lm's simulated responses have its residual standard deviation."""
    ordinal = ob.clm("y ~ system + x", study, link="loglog", engine="fast")
    eta = ordinal.estimates.estimate[3] * (study["system"] == "B") + ordinal.estimates.estimate[4] * study["x"]
    first = stats.gumbel_r.cdf(ordinal.estimates.estimate[0] - eta)
    for kind in ("conditional", "population", "marginal"):
        np.testing.assert_allclose(ordinal.predict(kind=kind)["1"], first, rtol=1e-12)
    linear = ob.lm("z ~ system + x", study, engine="fast")
    design = np.column_stack([np.ones(60), study["system"] == "B", study["x"]])
    coefficients, rss, *_ = np.linalg.lstsq(design, study["z"], rcond=None)
    draws = as_rows(linear.simulate(400, seed=3)) - (design @ coefficients)[:, None]
    assert stats.kstest(draws.ravel() / np.sqrt(rss[0] / 57), "norm").pvalue > 1e-3
