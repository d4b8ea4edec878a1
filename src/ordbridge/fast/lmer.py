"""Linear mixed models as lme4 fits them, with Satterthwaite's degrees of freedom as lmerTest computes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ordbridge import _core
from ordbridge.fast.factors import Layout
from ordbridge.fast.lm import Basis, basis_of
from ordbridge.fast.optimise import Clock, Minimum, minimise
from ordbridge.fast.structure import Structure

__all__ = ["SINGULAR", "LmerSolution", "fit_lmer", "maximised_lmer", "satterthwaite", "satterthwaite_f"]

SINGULAR = 1e-4  # lme4's isSingular: a relative standard deviation below it
AT_ZERO = 1e-4
SEARCHED, SETTLED = 1e-12, 1e-11  # promised gains at which BFGS ends, and Newton's method after it


@dataclass(frozen=True, eq=False)
class LmerSolution:
    """The optimum, in the caller's scales and order of factors; ``entries`` are of the relative Cholesky factors."""

    beta: np.ndarray
    vcov: np.ndarray
    df: np.ndarray
    sigma: float
    L: list[np.ndarray]
    entries: np.ndarray
    loglik: float
    gradient: np.ndarray
    hessian: np.ndarray  # of the deviance in the entries, with sigma at its best for any of them
    second_derivatives: tuple[np.ndarray, np.ndarray]  # of the deviance, and of the covariance, in entries and sigma
    basis: np.ndarray  # that takes the covariance in the second derivatives to the one of beta
    modes: list[np.ndarray]
    mode_sd: list[np.ndarray]
    evaluations: int
    converged: bool
    singular: bool


def fit_lmer(
    y: np.ndarray,
    X: np.ndarray,
    structure: Structure,
    layout: Layout,
    REML: bool = True,
    timeout: float | None = None,
    basis: Basis | None = None,
) -> LmerSolution:
    """Fit a linear mixed model.

    Parameters
    ----------
    y
        The response.
    X
        Columns of the fixed effects, of full rank, with the intercept if there is one.
    structure, layout
        The rows' grouping, and which entries of the relative Cholesky factors are free.
    REML
        Whether to maximise the restricted likelihood.
    timeout
        Seconds after which the fit is given up.
    basis
        X as :func:`ordbridge.fast.lm.basis_of` returns it, if it is known already.

    References
    ----------
    Bates, Maechler, Bolker & Walker (2015), J. Stat. Software 67(1); Kuznetsova, Brockhoff & Christensen (2017),
    J. Stat. Software 82(13) for the degrees of freedom.
    """
    Q, R_inverse = basis or basis_of(X)
    start = Q.T @ y
    deviance = profiled_deviance(y - Q @ start, Q, structure, layout, REML)
    best = _search(deviance, layout, Clock(timeout))
    x = layout.fold(best.x)
    value, gradient = deviance(x)
    scale, sigma = layout.entry_scales, deviance.sigma
    vcov, df = deviance.inference(R_inverse)
    modes, mode_sd = structure.of_levels(deviance.conditional())
    return LmerSolution(
        beta=R_inverse @ (start + deviance.gamma),
        vcov=vcov,
        df=df,
        sigma=sigma,
        L=layout.matrices(x / scale),
        entries=x / scale,
        loglik=-value + (_log_volume(R_inverse) if REML else 0.0),
        gradient=2.0 * gradient * scale,
        hessian=2.0 * deviance.curvature() * scale[:, None] * scale,
        second_derivatives=deviance.second_derivatives(),
        basis=R_inverse,
        modes=modes,
        mode_sd=[sigma * own for own in mode_sd],
        evaluations=deviance.evaluations,
        converged=best.converged,
        singular=bool((x[layout.diagonal] / scale[layout.diagonal] < SINGULAR).any()),
    )


def maximised_lmer(
    y: np.ndarray,
    X: np.ndarray,
    structure: Structure,
    layout: Layout,
    REML: bool = True,
    timeout: float | None = None,
    basis: Basis | None = None,
) -> float:
    """Return the highest log likelihood alone, without what tests and predictions need; arguments as above."""
    Q, R_inverse = basis or basis_of(X)
    deviance = profiled_deviance(y - Q @ (Q.T @ y), Q, structure, layout, REML)
    best = _search(deviance, layout, Clock(timeout))
    return -best.value + (_log_volume(R_inverse) if REML else 0.0)


def _log_volume(R_inverse: np.ndarray) -> float:
    """Return log |det R^-1|: what the restricted likelihood of X has beyond that of its orthonormal columns."""
    return float(np.log(np.abs(np.diag(R_inverse))).sum())


def profiled_deviance(y: np.ndarray, Q: np.ndarray, structure: Structure, layout: Layout, REML: bool) -> _core.Deviance:
    """Return the objective; Q has orthonormal columns and y is orthogonal to them."""
    columns = np.column_stack([Q, y])[structure.order]
    return _core.Deviance(structure.core, columns, layout.factor, layout.row, layout.column, REML)


def satterthwaite(
    L: np.ndarray, vcov: np.ndarray, sigma: float, second_derivatives: tuple[np.ndarray, np.ndarray], basis: np.ndarray
) -> np.ndarray:
    """Return the degrees of freedom of every row of L @ beta: 2 v^2 / (g' S g).

    v is the variance of the combination, g its gradient in the variance parameters (entries of the Cholesky factors and
    sigma), and S = 2 Hessian^-1 of the deviance in them, with directions of no positive curvature left out as lmerTest
    does.
    """
    hessian, jacobian = second_derivatives
    hessian, jacobian = _in_sigmas(hessian, basis @ jacobian @ basis.T, sigma)
    variance = np.einsum("qa,ab,qb->q", L, vcov, L)
    g = np.einsum("qa,kab,qb->kq", L, jacobian, L)
    return np.asarray(2.0 * variance**2 / np.sum(g * (_variance_of_variances(hessian) @ g), axis=0))


def satterthwaite_f(
    L: np.ndarray,
    beta: np.ndarray,
    vcov: np.ndarray,
    sigma: float,
    second_derivatives: tuple[np.ndarray, np.ndarray],
    basis: np.ndarray,
) -> tuple[float, float]:
    """Return F and its denominator degrees of freedom for the hypothesis that all rows of L @ beta are zero.

    With L V L' = P D P', the rows of P'L are combinations with independent estimates and variances D. F is the mean of
    their squared t. Each has Satterthwaite's degrees of freedom nu; E, the sum of nu / (nu - 2), is the mean that the
    sum of q independent squared t has, and an F with 2 E / (E - q) degrees of freedom has the same mean. That is
    lmerTest's rule, with its 2 where some nu is not above 2 and its common nu where all are equal. What else is given
    are parts of a :class:`LmerSolution`.

    References
    ----------
    Fai, A. H.-T. & Cornelius, P. L. (1996). Approximate F-tests of multiple degree of freedom hypotheses in generalized
    least squares analyses of unbalanced split-plot experiments. J. Statistical Computation and Simulation 54, 363-378.
    """
    D, P = np.linalg.eigh(L @ vcov @ L.T)
    kept = D.max() * 1e-10 < D
    D, combinations = D[kept], P[:, kept].T @ L
    statistic = float(np.mean((combinations @ beta) ** 2 / D))
    nu = satterthwaite(combinations, vcov, sigma, second_derivatives, basis)
    q = nu.size
    if (np.abs(np.diff(nu)) < 1e-8).all():
        return statistic, float(nu.mean())
    if (nu <= 2).any():
        return statistic, 2.0
    E = float(np.sum(nu / (nu - 2.0)))
    return statistic, 2.0 * E / (E - q)


def _variance_of_variances(hessian: np.ndarray) -> np.ndarray:
    """Return 2 Hessian^-1, directions of no positive curvature left out."""
    values, vectors = np.linalg.eigh(hessian)
    positive = values > 1e-8
    return np.asarray(2.0 * (vectors[:, positive] / values[positive]) @ vectors[:, positive].T)


def _in_sigmas(hessian: np.ndarray, jacobian: np.ndarray, sigma: float) -> tuple[np.ndarray, np.ndarray]:
    """Measure sigma in sigmas, so that which directions count as flat does not depend on the units of the response."""
    units = np.append(np.ones(hessian.shape[0] - 1), sigma)
    return hessian * units[:, None] * units, jacobian * units[:, None, None]


def _search(deviance: _core.Deviance, layout: Layout, clock: Clock) -> Minimum:
    """Minimise from lme4's start, and from two correlated ones if the first end has an intercept at zero."""
    ends: list[Minimum] = []
    for correlation in (0.0, 0.6, -0.6):
        x = np.where(layout.diagonal, 0.5, 0.5 * correlation)
        found = minimise(deviance, x, SEARCHED, layout, clock)
        ends.append(found)
        doubtful = not found.converged or (not found.turned and (np.abs(found.x[layout.first]) < 0.05).any())
        if not (doubtful and layout.has_correlations):
            break
    best = ends[0]
    for found in ends[1:]:
        if found.value < best.value - 1e-9:
            best = found
    x = _settle_at_zero(deviance, layout.fold(best.x), best.value, layout)
    with clock.watching() as seconds:
        return Minimum(*deviance.newton(x, SETTLED, seconds=seconds))


def _settle_at_zero(deviance: _core.Deviance, x: np.ndarray, value: float, layout: Layout) -> np.ndarray:
    """Set standard deviations that are zero up to rounding to zero, unless this raises the deviance (as lme4 does)."""
    tiny = layout.diagonal & (x < AT_ZERO)
    if not tiny.any():
        return x
    settled = np.where(tiny, 0.0, x)
    return settled if deviance(settled)[0] <= value + 1e-9 else x
