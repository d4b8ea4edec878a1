"""The check of the Laplace approximation: its arithmetic, both kinds of breakdown, and silence where all is well."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

import ordbridge as ob
from ordbridge.models.laplace_check import _exact_loglik, laplace_errors


def agreeing(sd: float, seed: int | list[int], texts: int = 40) -> pd.DataFrame:
    """Three ratings of each text, the system between texts, and nothing to find."""
    random = np.random.default_rng(seed)
    text = np.repeat(np.arange(texts), 3)
    latent = sd * random.normal(size=texts)[text] + random.normal(size=text.size)
    cuts = np.sqrt(1 + sd**2) * np.array([-0.84, -0.25, 0.25, 0.84])
    system = np.array(["A", "B"])[text % 2]
    return pd.DataFrame({"rating": 1 + (latent[:, None] > cuts).sum(axis=1), "system": system, "item": text})


def rare(times: int, seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    participant, item = (index.ravel() for index in np.indices((11, 20)))
    rating = np.where(np.isin(np.arange(220), random.choice(220, times, replace=False)), 1, 2)
    system = np.array(["A", "B"])[(participant + item) % 2]
    return pd.DataFrame({"rating": rating, "system": system, "participant": participant, "item": item})


def said(fit: ob.Fit) -> list[str]:
    return [condition.what for condition in fit.estimates.findings if "Laplace" in condition.what]


@pytest.mark.filterwarnings("ignore::ordbridge.ConvergenceWarning")
@pytest.mark.parametrize("engine", ["r", "fast"])
def test_the_errors_of_one_factor_add_up_to_the_exact_likelihood(engine: str) -> None:
    data = agreeing(3.0, 4, texts=12)
    fit = ob.clmm("rating ~ system + (1 | item)", data, link="probit", engine=engine)
    [group] = laplace_errors(fit.problem, fit.estimates, fit.matrices())
    edges = np.concatenate([[-np.inf], fit.estimates.cutpoints, [np.inf]])
    slope, sd = fit.estimates.estimate[-1], np.sqrt(fit.estimates.random[0].covariance[0, 0])
    category = np.unique(data["rating"], return_inverse=True)[1]
    exact = 0.0
    for level in range(12):
        own = (data["item"] == level).to_numpy()
        eta = slope * (data["system"][own] == "B").to_numpy()

        def density(u: float, own: np.ndarray = own, eta: np.ndarray = eta) -> float:
            y = category[own]
            pi = stats.norm.cdf(edges[y + 1] - eta - sd * u) - stats.norm.cdf(edges[y] - eta - sd * u)
            return float(pi.prod() * stats.norm.pdf(u))

        exact += np.log(integrate.quad(density, -8, 8, points=(-2, 0, 2), limit=200)[0])
    # the check begins at R's modes, which are good to about 1e-4
    assert group.error.sum() == pytest.approx(exact - fit.estimates.loglik, abs=2e-3)
    assert group.error.sum() > 0.1


@pytest.mark.parametrize("engine", ["r", "fast"])
def test_raters_who_agree_are_warned_about(engine: str) -> None:
    data = agreeing(12.0, 1)
    with pytest.warns(
        ob.ConvergenceWarning, match=r"the Laplace approximation does not hold for \d+ of the 40 levels of item"
    ):
        fit = ob.clmm("rating ~ system + (1 | item)", data, link="probit", engine=engine)
    [text] = said(fit)
    assert "wrong with either engine" in text
    assert next(one for one in fit.findings if one.what == text).severity == "warning"


def test_a_rare_category_is_warned_about() -> None:
    with pytest.warns(ob.ConvergenceWarning, match="the Laplace approximation does not hold"):
        ob.clmm("rating ~ system + (system | participant) + (system | item)", rare(5, 2), link="probit", engine="fast")


@pytest.mark.filterwarnings("ignore::ordbridge.ConvergenceWarning")
@pytest.mark.parametrize("link", ["probit", "logit", "cloglog", "loglog"])
def test_nothing_is_said_where_the_approximation_is_good(link: str) -> None:
    for seed in range(5):
        fit = ob.clmm("rating ~ system + (1 | item)", agreeing(0.7, seed), link=link, engine="fast")
        assert not said(fit)


@pytest.mark.needs_r
def test_quadrature_with_too_few_points_is_warned_about() -> None:
    """Its points lie where Laplace's normal density has them: with 10 p is .050, with 30 .32; the truth is .21."""
    data, formula = agreeing(8.0, [1, 3]), "rating ~ system + (1 | item)"
    with pytest.warns(ob.ConvergenceWarning, match=r"quadrature with 10 points is off by \S+ in log likelihood"):
        few = ob.clmm(formula, data, link="probit", nAGQ=10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        many = ob.clmm(formula, data, link="probit", nAGQ=30)
    assert few.p_value("system") < 0.051 and many.p_value("system") > 0.2


@pytest.mark.needs_r
@pytest.mark.parametrize("link", ["probit", "logit", "cloglog"])
def test_nothing_is_said_where_quadrature_is_good(link: str) -> None:
    """And the computation behind it is the likelihood: with 30 points on easy data R has all its digits."""
    data = agreeing(1.0, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = ob.clmm("rating ~ system + (1 | item)", data, link=link, nAGQ=30)
    assert _exact_loglik(fit.problem, fit.estimates, fit.matrices()) == pytest.approx(fit.estimates.loglik, abs=1e-5)
