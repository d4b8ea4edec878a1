"""Adaptive Gauss-Hermite quadrature against a fine grid, differences and R."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import ordbridge as ob
from ordbridge.errors import InputError
from ordbridge.fast.clmm import laplace_objective
from ordbridge.fast.factors import Layout
from ordbridge.fast.ratings import Responses
from ordbridge.fast.structure import Structure
from ordbridge.models.problem import Problem

CUTS = np.array([-1.2, 0.1, 1.4])


class Study:
    """Seven levels with a slope and everything that ratings can have beside."""

    def __init__(self, link: str) -> None:
        random = np.random.default_rng(3)
        n = 60
        self.group = np.r_[np.arange(7), random.integers(0, 7, n - 7)]
        self.z = random.normal(1.0, 0.3, n)
        self.X, self.scale = random.normal(size=(n, 1)), 0.3 * random.normal(size=(n, 1))
        self.y = np.r_[np.arange(4), random.integers(0, 4, n - 4)]
        self.weights = random.uniform(0.5, 1.5, n)
        self.link = link
        none = np.empty((n, 0))
        rows = Responses(self.y, self.X, 3, link, "flexible", none, self.scale, self.weights, None)
        self.structure = Structure.build([self.group], [self.z[:, None]])
        self.layout = Layout.build(self.structure, [(1,)])
        self.rows = rows.ordered(self.structure.order)
        self.x = np.concatenate([CUTS, [0.6, 0.4, 0.9 * self.structure.scales[0][0]]])

    def objective(self, nAGQ: int):  # type: ignore[no-untyped-def]
        found = laplace_objective(self.rows, self.structure, self.layout, nAGQ)
        found.closeness = 1e-7
        return found

    def exact(self) -> float:
        """Return -log likelihood by a sum over 4001 points of the normal density."""
        from scipy.stats import norm

        cdf = norm.cdf if self.link == "probit" else lambda x: 1.0 / (1.0 + np.exp(-x))
        u = np.linspace(-9.0, 9.0, 4001)
        edges = np.concatenate([[-np.inf], CUTS, [np.inf]])
        sigma = np.exp(0.4 * self.scale[:, 0])[:, None]
        eta = 0.6 * self.X + 0.9 * self.z[:, None] * u
        with np.errstate(over="ignore", divide="ignore"):
            pi = cdf((edges[self.y + 1][:, None] - eta) / sigma) - cdf((edges[self.y][:, None] - eta) / sigma)
            rows = self.weights[:, None] * np.log(pi)
        levels = np.array([rows[self.group == g].sum(axis=0) for g in range(7)])
        return -float(np.log((np.exp(levels) * norm.pdf(u)).sum(axis=1) * (u[1] - u[0])).sum())


@pytest.mark.parametrize("link", ["probit", "logit"])
def test_it_is_the_integral(link: str) -> None:
    """Laplace is one node; the error falls with their number (to 1e-8 with 25, in -log likelihood)."""
    study = Study(link)
    laplace = laplace_objective(study.rows, study.structure, study.layout)
    laplace.closeness = 1e-7
    assert study.objective(1)(study.x)[0] == pytest.approx(laplace(study.x)[0], abs=1e-11)
    errors = [abs(study.objective(nodes)(study.x)[0] - study.exact()) for nodes in (1, 3, 7, 25)]
    assert errors[0] > errors[1] > errors[2] > errors[3]
    assert errors[3] < 1e-8


@pytest.mark.parametrize("link", ["probit", "logit", "cloglog", "cauchit"])
@pytest.mark.parametrize("nodes", [2, 3, 10])
def test_the_gradient_is_exact(link: str, nodes: int) -> None:
    study = Study(link)
    objective = study.objective(nodes)
    _, gradient = objective(study.x)
    for k, e in enumerate(1e-4 * np.eye(study.x.size)):
        a, b, c, d = (objective(study.x + step * e)[0] for step in (-2, -1, 1, 2))
        assert gradient[k] == pytest.approx((a - 8 * b + 8 * c - d) / 12e-4, abs=1e-8)


@pytest.mark.needs_r
@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_wine_as_in_r(link: str, wine: pd.DataFrame) -> None:
    """To 1e-5 where R's search ends; its Hessian comes from differences (5e-5), its modes end at a gradient of 1e-4."""
    formula = "rating ~ temp + contact + (1 | judge)"
    r, fast = (ob.clmm(formula, wine, link=link, nAGQ=10, engine=engine).estimates for engine in ("r", "fast"))
    assert fast.loglik == pytest.approx(r.loglik, abs=1e-7)
    assert fast.estimate == pytest.approx(r.estimate, abs=1e-5)
    assert fast.std_error == pytest.approx(r.std_error, rel=5e-5)
    assert fast.random[0].covariance == pytest.approx(r.random[0].covariance, rel=2e-5)
    assert fast.random[0].modes == pytest.approx(r.random[0].modes, abs=1e-5)
    assert fast.random[0].mode_sd == pytest.approx(r.random[0].mode_sd, abs=1e-4)


def test_a_profile_integrates_as_the_fit_does(ratings: pd.DataFrame) -> None:
    fit = ob.clmm("rating ~ system + (1 | participant)", ratings, nAGQ=7, engine="fast")
    from ordbridge.fast import profile

    assert isinstance(fit.problem, Problem)
    found = profile(fit.problem)
    k = next(i for i, one in enumerate(found.quantities) if one.effect == "fixed")
    estimate = found.quantities[k].estimate
    assert found.at(k, estimate) == pytest.approx(fit.estimates.loglik, abs=1e-7)
    assert found.at(k, estimate + 0.3) < fit.estimates.loglik - 0.1


@pytest.mark.parametrize(
    ("formula", "nAGQ", "words"),
    [
        ("rating ~ system + (1 | participant) + (1 | item)", 5, r"single random effect.*check_laplace"),
        ("rating ~ system + (system | participant)", 5, r"single random effect"),
        ("rating ~ system + (1 | participant)", 101, "10 are plenty"),
    ],
)
def test_what_quadrature_is_not_for(formula: str, nAGQ: int, words: str, ratings: pd.DataFrame) -> None:
    with pytest.raises(InputError, match=words):
        ob.clmm(formula, ratings, nAGQ=nAGQ, engine="fast")
