"""The Laplace objective against a dense computation and quadrature, its gradient against differences."""

from __future__ import annotations

import numpy as np
import pytest
from dense_reference import design_matrix, laplace, quadrature

from ordbridge.fast import thresholds
from ordbridge.fast.factors import Layout
from ordbridge.fast.laplace import Model, State, evaluate, new_state, tangent
from ordbridge.fast.links import LINKS
from ordbridge.fast.structure import Structure

EXACT = 1e-6


class Case:
    """A small crossed study with a parameter vector at which everything is evaluated."""

    def __init__(
        self, link: str = "probit", threshold: str = "flexible", factors: int = 2, q: int = 2, seed: int = 0
    ) -> None:
        rng = np.random.default_rng(seed)
        n, cuts = 90, 4
        self.groups = [np.unique(rng.integers(0, k, n), return_inverse=True)[1] for k in (8, 11)[:factors]]
        self.Z = [np.column_stack([np.ones(n), rng.normal(size=(n, q - 1))]) for _ in range(factors)]
        self.X = rng.normal(size=(n, 2))
        self.y = np.r_[np.arange(cuts + 1), rng.integers(0, cuts + 1, n - cuts - 1)]
        self.structure = Structure.build(self.groups, self.Z)
        self.layout = Layout.build(self.structure, [(q,)] * factors)
        self.jacobian = thresholds.jacobian(cuts, threshold)
        alpha = np.linalg.lstsq(self.jacobian, np.array([-1.5, -0.6, 0.5, 1.7]), rcond=None)[0]
        entries = rng.normal(0.0, 0.5, self.layout.factor.size)
        self.parameters = np.concatenate([alpha, [0.3, -0.5], entries])
        order = self.structure.order
        self.model = Model(
            *(self.structure.graph, LINKS[link], self.y[order].astype(np.int64), np.ascontiguousarray(self.X[order])),
            *(self.structure.z1, self.structure.z2, self.jacobian),
            *(self.layout.factor, self.layout.row, self.layout.column),
        )

    def value(self, parameters: np.ndarray, state: State | None = None) -> tuple[float, np.ndarray]:
        gradient = np.empty(parameters.size)
        value = evaluate(self.model, state or new_state(self.structure), parameters, gradient, EXACT)
        return float(value), gradient

    def dense(self, link: str) -> float:
        n_alpha = self.jacobian.shape[1]
        L = self.layout.matrices(self.parameters[n_alpha + 2 :])
        fixed = self.X @ self.parameters[n_alpha : n_alpha + 2]
        cutpoints = self.jacobian @ self.parameters[:n_alpha]
        return laplace(self.y, fixed, cutpoints, design_matrix(self.groups, self.Z, L), link)[0]


@pytest.mark.parametrize("link", ["probit", "logit"])
@pytest.mark.parametrize(("factors", "q"), [(1, 1), (1, 3), (2, 1), (2, 2), (2, 3)])
def test_objective_is_the_dense_one(link: str, factors: int, q: int) -> None:
    case = Case(link, factors=factors, q=q)
    assert case.value(case.parameters)[0] == pytest.approx(case.dense(link), abs=1e-9)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("threshold", thresholds.THRESHOLDS)
def test_gradient_is_exact(link: str, threshold: str) -> None:
    case = Case(link, threshold)
    _, gradient = case.value(case.parameters)
    h = 1e-3
    for k in range(gradient.size):
        e = np.zeros(gradient.size)
        e[k] = h
        v = [case.value(case.parameters + step * e)[0] for step in (-3, -2, -1, 1, 2, 3)]
        slope = (-v[0] + 9 * v[1] - 45 * v[2] + 45 * v[3] - 9 * v[4] + v[5]) / (60 * h)
        assert gradient[k] == pytest.approx(slope, abs=1e-8)


@pytest.mark.parametrize(("factors", "q"), [(1, 1), (1, 2), (2, 3)])
def test_gradient_is_exact_for_any_dimension(factors: int, q: int) -> None:
    case = Case("logit", factors=factors, q=q, seed=2)
    _, gradient = case.value(case.parameters)
    for k in range(gradient.size):
        e = np.zeros(gradient.size)
        e[k] = 1e-3
        v = [case.value(case.parameters + step * e)[0] for step in (-3, -2, -1, 1, 2, 3)]
        slope = (-v[0] + 9 * v[1] - 45 * v[2] + 45 * v[3] - 9 * v[4] + v[5]) / 6e-2
        assert gradient[k] == pytest.approx(slope, abs=1e-8)


def test_tangent_is_the_change_of_the_modes() -> None:
    case = Case("logit")
    state = new_state(case.structure)
    direction = np.random.default_rng(1).normal(size=case.parameters.size)
    case.value(case.parameters, state)
    tangent(case.model, state, direction)
    along = state.du1.copy(), state.du2.copy()
    ends = []
    for step in (-1e-5, 1e-5):
        end = new_state(case.structure)
        case.value(case.parameters + step * direction, end)
        ends.append(end)
    np.testing.assert_allclose((ends[1].u1 - ends[0].u1) / 2e-5, along[0], atol=1e-7)
    np.testing.assert_allclose((ends[1].u2 - ends[0].u2) / 2e-5, along[1], atol=1e-7)


def test_value_does_not_depend_on_where_the_modes_started() -> None:
    case = Case("probit")
    state = new_state(case.structure)
    state.u1[:] = 2.0
    state.u2[:] = -3.0
    assert case.value(case.parameters, state)[0] == pytest.approx(case.value(case.parameters)[0], abs=1e-10)


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
        order = structure.order
        model = Model(
            *(structure.graph, LINKS["logit"], y[order].astype(np.int64), np.ascontiguousarray(x[order][:, None])),
            *(structure.z1, structure.z2, np.eye(2), layout.factor, layout.row, layout.column),
        )
        parameters = np.array([-1.0, 1.0, 0.5, 1.0])
        value = evaluate(model, new_state(structure), parameters, np.empty(4), EXACT)
        exact = quadrature(y, 0.5 * x, np.array([-1.0, 1.0]), group, 1.0, "logit")
        errors[ratings] = abs(value - exact) / 8
    assert 1e-4 < errors[3] < 0.05
    assert errors[60] < errors[3] / 3
