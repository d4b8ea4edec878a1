"""The sampler against integrals over a grid: a binary response, one coefficient, one standard deviation."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats
from scipy.special import log_ndtr

import ordbridge as ob
from ordbridge.bayes import opinion, sampling
from ordbridge.bayes.density import rows_of
from ordbridge.bayes.priors import priors_of
from ordbridge.fast.clmm import EXACT, laplace_objective
from ordbridge.fast.factors import Layout
from ordbridge.fast.ratings import Responses
from ordbridge.fast.structure import Structure


def agreeing() -> pd.DataFrame:
    """Return four ratings of each of 12 texts, about which raters mostly agree."""
    random = np.random.default_rng(4)
    text = np.repeat(np.arange(12), 4)
    latent = 0.5 * (text % 2) + 1.5 * random.normal(size=12)[text] + random.normal(size=48)
    return pd.DataFrame({"rating": (latent > 0.3).astype(int), "system": text % 2, "text": text})


def grid_means(fit: ob.Fit) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the exact posterior's means and standard deviations, and the means with Laplace's likelihood."""
    rows = rows_of(fit)
    priors = priors_of(rows)
    middles, betas, sds = np.linspace(-4, 4, 25), np.linspace(-5, 7, 29), np.exp(np.linspace(-3.5, 3, 27))
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    weights = weights / weights.sum()
    structure = Structure.build([rows.level[0]], [rows.Z[0]])
    own = Responses.plain(rows.y, rows.X, 1, "probit", "flexible").ordered(structure.order)
    laplace = laplace_objective(own, structure, Layout.build(structure, [(1,)]))
    laplace.closeness = EXACT
    sign = np.where(rows.y == 0, 1.0, -1.0)[:, None]
    points, exact, approximate = [], [], []
    for sd, beta in itertools.product(sds, betas):
        cuts = middles + 0.5 * beta
        each = log_ndtr(sign * (cuts[:, None, None] - beta * rows.X - sd * nodes)).reshape(len(cuts), 12, 4, -1)
        prior = stats.t.logpdf(middles / priors.cutpoints, 3) + stats.norm.logpdf(beta / priors.coefficients[0])
        prior += stats.t.logpdf(sd / priors.deviations[0][0], 3) + np.log(sd)  # the grid is even in log sd
        points += [(cut, beta, sd) for cut in cuts]
        exact += list(prior + np.log(np.exp(each.sum(axis=2)) @ weights).sum(axis=1))
        approximate += [p - laplace(np.array([cut, beta, sd]))[0] for p, cut in zip(prior, cuts, strict=True)]
    means = []
    for heights in (exact, approximate):
        share = np.exp(np.array(heights) - max(heights))
        share /= share.sum()
        means.append(share @ np.array(points))
        if heights is exact:
            spread = np.sqrt(share @ (np.array(points) - means[0]) ** 2)
    return means[0], spread, means[1]


@pytest.mark.slow
def test_posterior_and_cost_of_laplace_as_on_a_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within four Monte Carlo standard errors; the grid itself is good to a hundredth of a standard deviation."""
    pytest.importorskip("numpyro", reason="needs pip install 'ordbridge[bayes]'")
    monkeypatch.setattr(opinion, "ENGINES", ("fast",))  # R is compared elsewhere
    monkeypatch.setattr(sampling, "WARM_UP", 400)
    fit = ob.clmm("rating ~ system + (1 | text)", agreeing(), link="probit", engine="fast")
    found = ob.bayes.third_opinion(fit, draws=2000, seed=1)
    mean, sd, with_laplace = grid_means(fit)
    table = found.table.to_pandas()
    error = table["sd"] / np.sqrt(table["effective_draws"])
    assert (abs(table["mean"] - mean) < 4 * error + 0.01 * sd).all()
    assert table["sd"].to_numpy() == pytest.approx(sd, rel=0.1)
    cost = with_laplace - mean
    assert (abs(table["laplace_cost"] - cost) < 4 * table["laplace_cost_mc_error"] + 0.1 * abs(cost) + 0.005 * sd).all()
    assert abs(cost[2]) > 5 * table["laplace_cost_mc_error"][2]  # there is something to find
    assert found.draws == 2000 and found.chains == 4


def test_a_sampler_that_is_not_to_be_trusted_says_so() -> None:
    row = {"effect": "fixed", "group": None, "term": "systemB", "r": None, "r_std_error": None, "fast": 0.4}
    row |= {"fast_std_error": 0.1, "mean": 0.41, "sd": 0.12, "low": 0.2, "high": 0.6, "laplace_cost": -0.0024}
    row |= {"laplace_cost_mc_error": 0.0006, "r_hat": 1.002, "effective_draws": 900.0}
    good = ob.bayes.ThirdOpinion(pa.Table.from_pylist([row]), 4, 4000, 0, 0.95)
    assert good.trusted and "nothing to doubt" in good.sentences[0]
    assert "0.020 posterior standard deviations (± 0.005) lower" in good.sentences[1]
    for change, divergences, words in (
        ({"r_hat": 1.3}, 0, "R-hat is up to 1.300"),
        ({"effective_draws": 20.0}, 0, "20 effective draws, fewer than 400"),
        ({"r_hat": None}, 0, "R-hat is up to nan"),
        ({}, 7, "7 of the 4000 draws diverged"),
    ):
        bad = ob.bayes.ThirdOpinion(pa.Table.from_pylist([row | change]), 4, 4000, divergences, 0.95)
        assert not bad.trusted and words in str(bad) and "not to be trusted" in str(bad)


def test_without_r_there_is_still_an_opinion(ratings: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    class NoR:
        @staticmethod
        def fit(_: object) -> None:
            raise ob.BridgeError("there is no R on this machine")

    monkeypatch.setattr(opinion, "engine_module", lambda engine: NoR)
    fit = ob.clm("rating ~ system", ratings, engine="fast")
    estimates, notes = opinion._both_engines(fit)
    assert notes == ("R has no numbers: there is no R on this machine.",)
    columns = opinion._engines(fit.estimates, estimates)
    assert np.isnan(columns["r"]).all() and columns["fast"].tolist() == fit.estimates.estimate.tolist()
