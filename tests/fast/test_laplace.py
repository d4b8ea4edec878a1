"""The Laplace objective against a dense computation and quadrature, its gradient against differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from dense_reference import design_matrix, laplace, quadrature

from ordbridge import _core
from ordbridge.fast.clm import fit_clm
from ordbridge.fast.clmm import laplace_objective
from ordbridge.fast.factors import Layout
from ordbridge.fast.ratings import Responses
from ordbridge.fast.structure import Structure
from ordbridge.models import thresholds
from ordbridge.models.links import LINKS

EXACT = 1e-6


class Case:
    """A small crossed study with a parameter vector at which everything is evaluated."""

    def __init__(
        self,
        link: str = "probit",
        threshold: str = "flexible",
        factors: int = 2,
        q: int = 2,
        seed: int = 0,
        beyond: bool = False,
        systems: bool = False,
        levels: tuple[int, ...] = (8, 11, 5),
        n: int = 90,
    ) -> None:
        rng = np.random.default_rng(seed)
        cuts = 4
        self.groups = [np.unique(rng.integers(0, k, n), return_inverse=True)[1] for k in levels[:factors]]
        self.Z = [np.column_stack([np.ones(n), rng.normal(size=(n, q - 1))]) for _ in range(factors)]
        if systems:  # few kinds of rows
            self.Z = [np.column_stack([np.ones(n), np.eye(q)[rng.integers(0, q, n)][:, 1:]]) for _ in range(factors)]
        self.X = rng.normal(size=(n, 2))
        self.y = np.r_[np.arange(cuts + 1), rng.integers(0, cuts + 1, n - cuts - 1)]
        self.structure = Structure.build(self.groups, self.Z)
        self.layout = Layout.build(self.structure, [(q,)] * factors)
        self.jacobian = thresholds.jacobian(cuts, threshold)
        alpha = np.linalg.lstsq(self.jacobian, np.array([-1.5, -0.6, 0.5, 1.7]), rcond=None)[0]
        entries = rng.normal(0.0, 0.5, self.layout.factor.size)
        self.ratings = Responses.plain(self.y, self.X, cuts, link, threshold)
        mean = [alpha, [0.3, -0.5]]
        if beyond:  # nominal effects small enough to leave the thresholds in order
            self.ratings = replace(
                self.ratings,
                nominal=rng.uniform(-0.5, 0.5, (n, 2)),
                scale=rng.normal(0, 0.7, (n, 2)),
                weights=np.where(np.arange(n) % 9 == 8, 0.0, rng.uniform(0.3, 2.5, n)),
                offset=rng.normal(0, 0.5, n),
            )
            mean = [alpha, rng.normal(0, 0.15, 2 * alpha.size), [0.3, -0.5], [0.4, -0.3]]
        self.parameters = np.concatenate([*mean, entries])
        self.link = link

    def new(self) -> _core.Laplace:
        objective = laplace_objective(self.ratings.ordered(self.structure.order), self.structure, self.layout)
        objective.closeness = EXACT
        return objective

    def value(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        return self.new()(parameters)

    def dense(self, link: str) -> float:
        own, x = self.ratings, self.parameters
        L = self.layout.matrices(x[own.size :] / self.layout.entry_scales)
        fixed = own.X @ x[own.n_alpha : own.n_alpha + 2]
        blocks = x[: own.n_alpha].reshape(-1, self.jacobian.shape[1]) @ self.jacobian.T
        cutpoints = np.column_stack([np.ones(len(self.y)), own.nominal]) @ blocks
        sigma = np.exp(own.scale @ x[own.log_scale])
        offset, weights = (0.0 if own.offset is None else own.offset), own.weights
        Zt = design_matrix(self.groups, self.Z, L)
        return laplace(self.y, fixed + offset, cutpoints, Zt, link, sigma=sigma, weights=weights)[0]


@pytest.mark.parametrize("link", ["probit", "logit"])
@pytest.mark.parametrize(("factors", "q"), [(1, 1), (1, 3), (2, 1), (2, 2), (2, 3), (3, 1), (3, 2)])
def test_objective_is_the_dense_one(link: str, factors: int, q: int) -> None:
    case = Case(link, factors=factors, q=q)
    assert case.value(case.parameters)[0] == pytest.approx(case.dense(link), abs=1e-9)


@pytest.mark.parametrize("link", ["probit", "logit"])
@pytest.mark.parametrize(("factors", "q"), [(1, 1), (2, 2), (3, 1)])
def test_objective_with_everything_is_the_dense_one(link: str, factors: int, q: int) -> None:
    """Scale and nominal effects, weights (some of them zero) and an offset."""
    case = Case(link, factors=factors, q=q, beyond=True)
    assert case.value(case.parameters)[0] == pytest.approx(case.dense(link), abs=1e-8)  # it cancels in the tails


def check_gradient(value: Callable[[np.ndarray], tuple[float, np.ndarray]], x: np.ndarray) -> None:
    _, gradient = value(x)
    h = 1e-3
    for k in range(gradient.size):
        e = np.zeros(gradient.size)
        e[k] = h
        v = [value(x + step * e)[0] for step in (-3, -2, -1, 1, 2, 3)]
        slope = (-v[0] + 9 * v[1] - 45 * v[2] + 45 * v[3] - 9 * v[4] + v[5]) / (60 * h)
        assert gradient[k] == pytest.approx(slope, abs=1e-8)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("threshold", thresholds.THRESHOLDS)
@pytest.mark.parametrize("beyond", [False, True])
def test_gradient_is_exact(link: str, threshold: str, beyond: bool) -> None:
    case = Case(link, threshold, beyond=beyond)
    check_gradient(case.value, case.parameters)
    n = case.ratings.size
    check_gradient(_core.Ratings(**case.ratings.arguments()), case.parameters[:n])


@pytest.mark.parametrize(("factors", "q"), [(1, 1), (1, 2), (2, 3), (3, 2)])
def test_gradient_is_exact_for_any_dimension(factors: int, q: int) -> None:
    case = Case("logit", factors=factors, q=q, seed=2)
    check_gradient(case.value, case.parameters)


@pytest.mark.parametrize("threshold", thresholds.THRESHOLDS)
def test_hessian_of_a_clm_is_that_of_its_gradient(threshold: str) -> None:
    """Newton's method and the standard errors of a clm rest on it; with everything in the model."""
    case = Case("logit", threshold, beyond=True)
    found = fit_clm(case.ratings)
    loss = _core.Ratings(**case.ratings.arguments())
    step = 1e-5 * np.eye(case.ratings.size)
    differences = [(loss(found.parameters + e)[1] - loss(found.parameters - e)[1]) / 2e-5 for e in step]
    assert found.converged
    np.testing.assert_allclose(found.hessian, differences, rtol=1e-6, atol=1e-6)


def test_information_is_near_the_hessian() -> None:
    """The search starts from it; where H hardly depends on the parameters it is the Hessian itself."""
    case = Case("probit", beyond=True)
    case.parameters[case.ratings.size :] *= 0.05
    objective = case.new()
    objective(case.parameters)
    n = case.ratings.size
    guess = objective.information()[:n, :n]
    exact = objective.hessian(case.parameters, np.arange(n), 1e-5)
    np.testing.assert_allclose(guess, exact, atol=2e-2 * np.abs(exact).max())


def check_hessian(case: Case, tolerance: float = 1e-9) -> None:
    """The gradient's differences of fourth order are right to 1e-11 of the largest entry."""
    n, h = case.parameters.size, 1e-4
    columns = []
    for step in h * np.eye(n):
        g = [case.value(case.parameters + k * step)[1] for k in (-2, -1, 1, 2)]
        columns.append((g[0] - 8 * g[1] + 8 * g[2] - g[3]) / (12 * h))
    found = case.new().hessian(case.parameters, np.arange(n), np.nan)  # differences would give no number
    np.testing.assert_allclose(found, columns, atol=tolerance * np.abs(columns).max())


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("threshold", ["flexible", "symmetric", "equidistant"])
def test_hessian_is_exact(link: str, threshold: str) -> None:
    case = Case(link, threshold, beyond=True, systems=True)
    scale = case.ratings.log_scale
    case.ratings, case.parameters = replace(case.ratings, scale=np.empty((90, 0))), np.delete(case.parameters, scale)
    check_hessian(case)


@pytest.mark.parametrize(("factors", "q"), [(1, 1), (1, 2), (2, 1), (2, 3), (3, 2)])
@pytest.mark.parametrize("singular", [False, True])
def test_hessian_is_exact_for_any_dimension_and_where_a_variance_is_zero(factors: int, q: int, singular: bool) -> None:
    case = Case("logit", factors=factors, q=q, seed=2, systems=True)
    if singular:
        case.parameters[case.ratings.size + np.flatnonzero(case.layout.diagonal)[-1]] = 0.0
    check_hessian(case)


@pytest.mark.parametrize("q", [4, 5])
@pytest.mark.parametrize("singular", [False, True])
def test_hessian_is_exact_where_few_raters_see_an_item(q: int, singular: bool) -> None:
    """Few of all pairs meet, so that the inverse is made from those that do; levels are no multiple of 16."""
    case = Case("probit", q=q, seed=3, systems=True, levels=(45, 21), n=190)
    pairs = len(set(zip(*(group.tolist() for group in case.groups), strict=True)))
    assert pairs < 0.25 * len(set(case.groups[0])) * len(set(case.groups[1]))
    case.parameters[case.ratings.size :] *= 0.6
    if singular:
        case.parameters[case.ratings.size + np.flatnonzero(case.layout.diagonal)[-1]] = 0.0
    check_hessian(case)


@pytest.mark.parametrize("beyond", [False, True])
def test_hessian_by_differences_where_there_are_covariates_or_scale_effects(beyond: bool) -> None:
    case = Case("probit", beyond=beyond, systems=beyond)
    every = np.arange(case.parameters.size)
    found, half = (case.new().hessian(case.parameters, every, step) for step in (1e-5, 5e-6))
    np.testing.assert_allclose(found, half, atol=1e-4 * np.abs(half).max())
    assert np.abs(found - half).max() > 0


@pytest.mark.parametrize("beyond", [False, True])
def test_tangent_is_the_change_of_the_modes(beyond: bool) -> None:
    case = Case("logit", beyond=beyond)
    here = case.new()
    direction = np.random.default_rng(1).normal(size=case.parameters.size)
    here(case.parameters)
    along = here.tangent(direction)
    ends = []
    for step in (-1e-5, 1e-5):
        end = case.new()
        end(case.parameters + step * direction)
        ends.append(end.modes)
    np.testing.assert_allclose((ends[1] - ends[0]) / 2e-5, along, atol=1e-7)


def test_value_does_not_depend_on_where_the_modes_started() -> None:
    case = Case("probit")
    elsewhere = case.new()
    elsewhere.modes = np.where(np.arange(elsewhere.modes.size) % 2, 2.0, -3.0)
    assert elsewhere(case.parameters)[0] == pytest.approx(case.value(case.parameters)[0], abs=1e-10)


def test_unordered_cutpoints_have_no_likelihood() -> None:
    case = Case()
    parameters = case.parameters.copy()
    parameters[1] = parameters[0] - 0.1
    assert case.value(parameters)[0] == np.inf


def test_what_the_laplace_approximation_itself_costs() -> None:
    """On tiny data with few ratings a group the approximation is off by some hundredths; with many it hardly is."""
    rng = np.random.default_rng(5)
    errors = {}
    for ratings in (3, 60):
        group = np.repeat(np.arange(8), ratings)
        x = rng.normal(size=group.size)
        latent = 0.5 * x + rng.normal(size=8)[group] + rng.logistic(size=group.size)
        y = np.digitize(latent, [-1.0, 1.0])
        structure = Structure.build([group], [np.ones((group.size, 1))])
        layout = Layout.build(structure, [(1,)])
        rows = Responses.plain(y, x[:, None], 2, "logit", "flexible").ordered(structure.order)
        objective = laplace_objective(rows, structure, layout)
        objective.closeness = EXACT
        value = objective(np.array([-1.0, 1.0, 0.5, 1.0]))[0]
        exact = quadrature(y, 0.5 * x, np.array([-1.0, 1.0]), group, 1.0, "logit")
        errors[ratings] = abs(value - exact) / 8
    assert 1e-4 < errors[3] < 0.05
    assert errors[60] < errors[3] / 3
