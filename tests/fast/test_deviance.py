"""The profiled deviance and Satterthwaite's degrees of freedom against plain dense computations."""

from __future__ import annotations

import numpy as np
import pytest
from dense_reference import design_matrix
from dense_reference import deviance as dense_deviance

from ordbridge import _core
from ordbridge.fast.factors import Layout
from ordbridge.fast.lmer import fit_lmer, profiled_deviance
from ordbridge.fast.structure import Structure


class Case:
    """A small crossed study with numeric responses."""

    def __init__(
        self,
        factors: int = 2,
        q: int = 2,
        blocks: tuple[int, ...] | None = None,
        levels: tuple[int, ...] = (7, 12, 5),
        n: int = 80,
        within: int = 0,
    ) -> None:
        rng = np.random.default_rng(0)
        self.groups = [np.unique(rng.integers(0, k, n), return_inverse=True)[1] for k in levels[:factors]]
        if within:  # and every factor's levels within so many systems
            system = rng.integers(0, within, n)
            self.groups += [np.unique(within * g + system, return_inverse=True)[1] for g in self.groups]
            factors *= 2
        self.Z = [np.column_stack([np.ones(n), rng.normal(size=(n, q - 1))]) for _ in range(factors)]
        self.X = np.column_stack([np.ones(n), rng.normal(size=(n, 2))])
        effects = sum(rng.normal(size=(g.max() + 1, q))[g] * z for g, z in zip(self.groups, self.Z, strict=True)).sum(
            axis=1
        )
        self.y = 3 + effects + rng.normal(size=n)
        self.structure = Structure.build(self.groups, self.Z)
        self.layout = Layout.build(self.structure, [blocks or (q,)] * factors)

    def objective(self, reml: bool) -> tuple[_core.Deviance, float]:
        Q, R = np.linalg.qr(self.X)
        constant = float(np.log(np.abs(np.diag(R))).sum()) if reml else 0.0
        return profiled_deviance(self.y - Q @ (Q.T @ self.y), Q, self.structure, self.layout, reml), constant


@pytest.mark.parametrize("reml", [True, False])
@pytest.mark.parametrize(
    ("factors", "q", "blocks"),
    [(1, 1, None), (1, 3, None), (2, 1, None), (2, 2, None), (2, 2, (1, 1)), (3, 1, None), (3, 2, None)],
)
def test_deviance_is_the_dense_one_and_its_gradient_exact(
    reml: bool, factors: int, q: int, blocks: tuple[int, ...] | None
) -> None:
    case = Case(factors, q, blocks)
    objective, constant = case.objective(reml)
    x = np.random.default_rng(1).normal(0.0, 0.6, case.layout.factor.size)
    value, gradient = objective(x)
    Zt = design_matrix(case.groups, case.Z, case.layout.matrices(x / case.layout.entry_scales))
    assert 2 * (value + constant) == pytest.approx(dense_deviance(case.y, case.X, Zt, reml), abs=1e-9)
    for k in range(x.size):
        e = np.zeros(x.size)
        e[k] = 1e-3
        v = [objective(x + step * e)[0] for step in (-3, -2, -1, 1, 2, 3)]
        slope = (-v[0] + 9 * v[1] - 45 * v[2] + 45 * v[3] - 9 * v[4] + v[5]) / 6e-2
        assert gradient[k] == pytest.approx(slope, abs=1e-8)


@pytest.mark.parametrize("reml", [True, False])
@pytest.mark.parametrize("zeros", [0, 1, 2])
@pytest.mark.parametrize(
    "case",
    [
        Case(1, 3),
        Case(2, 1),
        Case(2, 2),
        Case(2, 2, (1, 1)),
        Case(2, 2, levels=(40, 60)),
        Case(2, 1, levels=(4, 900), n=1500),
        Case(2, 2, levels=(9, 300), n=900),
        Case(2, 1, levels=(560, 600), n=2000),
        Case(3, 1),
        Case(3, 2, n=150),
        Case(2, 1, n=200, within=3),
        Case(1, 2, n=200, within=3, levels=(15,)),
    ],
    ids=[
        *("one factor", "scalars", "vectors", "uncorrelated", "few pairs", "many levels", "many levels, vectors"),
        *("many levels of both", "three", "three vectors", "interactions", "nested vectors"),
    ],
)
@pytest.mark.slow
def test_second_derivatives_are_exact(case: Case, zeros: int, reml: bool) -> None:
    """Hessian and Jacobian against differences, also where standard deviations are zero."""
    objective, _ = case.objective(reml)
    x = np.random.default_rng(1).normal(0.0, 0.6, case.layout.factor.size)
    x[np.flatnonzero(case.layout.diagonal)[:zeros]] = 0.0
    objective(x)
    (whole, jacobian), sigma = objective.second_derivatives(), objective.sigma
    hessian = 0.5 * (whole[:-1, :-1] - np.outer(whole[:-1, -1], whole[-1, :-1]) / whole[-1, -1])  # sigma profiled out
    one = np.eye(3)
    np.testing.assert_allclose(jacobian[-1], 2 / sigma * objective.inference(one)[0], rtol=1e-9)
    for k, e in enumerate(np.eye(x.size) * 1e-4):
        gradients, covariances = [], []
        for step in (-2, -1, 1, 2):
            gradients.append(objective(x + step * e)[1])
            covariances.append(sigma**2 * objective.inference(one)[0] / objective.sigma**2)
        for exact, (a, b, c, d) in ((hessian[k], gradients), (jacobian[k], covariances)):
            difference = (a - 8 * b + 8 * c - d) / 12e-4
            np.testing.assert_allclose(exact, difference, atol=1e-7 * max(1.0, np.abs(exact).max()))


@pytest.mark.parametrize("zeros", [0, 2])
@pytest.mark.parametrize(
    "case",
    [
        Case(3, 2, n=150),
        Case(2, 1, n=200, within=3),
        Case(2, 1, n=300, within=3, levels=(40, 60)),  # by rows with few entries
        Case(3, 2, n=300, levels=(60, 80, 40)),
    ],
    ids=["three", "interactions", "sparse interactions", "three sparse vectors"],
)
def test_second_derivatives_level_by_level_are_those_of_families(case: Case, zeros: int) -> None:
    x = np.random.default_rng(1).normal(0.0, 0.6, case.layout.factor.size)
    x[np.flatnonzero(case.layout.diagonal)[:zeros]] = 0.0
    found = []
    for one_by_one in (False, True):
        case.structure.core.one_by_one = one_by_one
        objective, _ = case.objective(True)
        found.append((objective(x), objective.second_derivatives()))
    case.structure.core.one_by_one = False
    (value, gradient), (hessian, jacobian) = found[0]
    assert value == pytest.approx(found[1][0][0], rel=1e-12)
    np.testing.assert_allclose(gradient, found[1][0][1], atol=1e-9)
    np.testing.assert_allclose(hessian, found[1][1][0], atol=1e-9 * np.abs(hessian).max())
    np.testing.assert_allclose(jacobian, found[1][1][1], atol=1e-9 * np.abs(jacobian).max())


def test_degrees_of_freedom_are_those_of_an_analysis_of_variance() -> None:
    """Balanced data with one random intercept: the effect within groups has n - groups - 1 degrees of freedom."""
    rng = np.random.default_rng(2)
    group, x = np.repeat(np.arange(10), 6), np.tile([0.0, 1.0], 30)
    y = rng.normal(0, 2, 10)[group] + x + rng.normal(size=60)
    structure = Structure.build([group], [np.ones((60, 1))])
    found = fit_lmer(y, np.column_stack([np.ones(60), x]), structure, Layout.build(structure, [(1,)]), REML=True)
    assert found.df[1] == pytest.approx(60 - 10 - 1, rel=1e-9)


def test_likelihood_ratio_of_a_variance_at_zero_is_zero() -> None:
    group = np.repeat(np.arange(8), 5)
    y = np.tile([1.0, 2.0, 4.0, 3.0, 5.0], 8)
    structure = Structure.build([group], [np.ones((40, 1))])
    found = fit_lmer(y, np.ones((40, 1)), structure, Layout.build(structure, [(1,)]), REML=False)
    assert found.singular and found.converged
    assert found.entries.tolist() == [0.0]
    assert found.loglik == pytest.approx(-20 * (1 + np.log(2 * np.pi * 2.0)), abs=1e-9)
