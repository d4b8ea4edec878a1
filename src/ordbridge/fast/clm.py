"""Cumulative link models without random effects: Newton's method on the exact likelihood, as ordinal::clm does it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ordbridge.fast import thresholds
from ordbridge.fast.compiled import kernel
from ordbridge.fast.links import LINKS, interval, interval_terms

__all__ = ["ClmSolution", "fit_clm"]


GRADIENT, STEP = 1e-6, 1e-6  # ordinal's criteria
ITERATIONS, HALVINGS = 100, 30


@dataclass(frozen=True, eq=False)
class ClmSolution:
    """Parameters (thresholds, then coefficients) with what the likelihood says about them."""

    parameters: np.ndarray
    hessian: np.ndarray
    gradient: np.ndarray
    loglik: float
    iterations: int
    converged: bool


@kernel
def _loss(link, y, X, jacobian, parameters):  # type: ignore[no-untyped-def]
    cuts, n_alpha = jacobian.shape
    n, p = X.shape
    edges = np.empty(cuts + 2)
    edges[0], edges[cuts + 1] = -math.inf, math.inf
    edges[1 : cuts + 1] = np.dot(jacobian, parameters[:n_alpha])
    total = 0.0
    for i in range(n):
        eta = 0.0
        for j in range(p):
            eta += X[i, j] * parameters[n_alpha + j]
        total -= interval(link, edges[y[i] + 1] - eta, edges[y[i]] - eta)
        if not total < math.inf:
            return math.inf
    return total


@kernel
def _derivatives(link, y, X, jacobian, parameters, gradient, hessian):  # type: ignore[no-untyped-def]
    """Fill gradient and Hessian, first in cut-points and coefficients, then in the parameters."""
    cuts, n_alpha = jacobian.shape
    n, p = X.shape
    edges = np.empty(cuts + 2)
    edges[0], edges[cuts + 1] = -math.inf, math.inf
    edges[1 : cuts + 1] = np.dot(jacobian, parameters[:n_alpha])
    g = np.zeros(cuts + 2)
    H = np.zeros((cuts + 2, cuts + 2))
    cross = np.zeros((cuts + 2, p))
    gradient[:] = 0.0
    hessian[:] = 0.0
    for i in range(n):
        eta = 0.0
        for j in range(p):
            eta += X[i, j] * parameters[n_alpha + j]
        low, up = y[i], y[i] + 1
        _, ra, rb, ga, gb, _, _ = interval_terms(link, edges[up] - eta, edges[low] - eta)
        r = ra - rb
        d = r * r - (ga - gb)
        r_up, r_lo = ga - r * ra, r * rb - gb
        g[up] -= ra
        g[low] += rb
        H[up, up] += ra * ra - ga
        H[low, low] += rb * rb + gb
        H[up, low] -= ra * rb
        H[low, up] -= ra * rb
        for j in range(p):
            x = X[i, j]
            gradient[n_alpha + j] += r * x
            cross[up, j] += r_up * x
            cross[low, j] += r_lo * x
            for k in range(j + 1):
                hessian[n_alpha + j, n_alpha + k] += d * x * X[i, k]
    inner = slice(1, cuts + 1)
    gradient[:n_alpha] = np.dot(jacobian.T, g[inner])
    hessian[:n_alpha, :n_alpha] = np.dot(np.dot(jacobian.T, np.ascontiguousarray(H[inner, inner])), jacobian)
    hessian[n_alpha:, :n_alpha] = np.dot(np.ascontiguousarray(cross[inner].T), jacobian)
    for j in range(n_alpha + p):
        for k in range(j):
            hessian[k, j] = hessian[j, k]


def fit_clm(y: np.ndarray, X: np.ndarray, cuts: int, link: str, threshold: str) -> ClmSolution:
    """Fit a cumulative link model.

    Parameters
    ----------
    y
        Categories from 0 to ``cuts``, each of them used.
    X
        Columns of the fixed effects, without an intercept and of full rank.
    cuts
        Number of cut-points: categories less one.
    link, threshold
        As in ordinal::clm.

    References
    ----------
    Christensen, R. H. B. (2019). Cumulative link models for ordinal regression with the R package ordinal.

    Examples
    --------
    >>> fit_clm(np.array([0, 0, 0, 1]), np.empty((4, 0)), 1, "logit", "flexible").parameters.round(4).tolist()
    [1.0986]
    """
    jacobian = thresholds.jacobian(cuts, threshold)
    code = LINKS[link]
    y = np.ascontiguousarray(y, dtype=np.int64)
    x = np.concatenate([thresholds.start(cuts, threshold), np.zeros(X.shape[1])])
    gradient, hessian = np.empty(x.size), np.empty((x.size, x.size))
    value = _loss(code, y, X, jacobian, x)
    flat = 0
    for iteration in range(1, ITERATIONS + 1):
        _derivatives(code, y, X, jacobian, x, gradient, hessian)
        step = _newton_step(hessian, gradient)
        small = np.abs(gradient).max() < GRADIENT
        flat += small
        if small and (np.abs(step).max() < STEP * 1e-2 or flat > 5):
            return ClmSolution(x, hessian, gradient, -value, iteration, True)
        for halving in range(HALVINGS):
            tried = x - step * 0.5**halving
            tried_value = _loss(code, y, X, jacobian, tried)
            if tried_value <= value + 1e-12 * abs(value):
                break
        else:
            return ClmSolution(x, hessian, gradient, -value, iteration, bool(small))
        x, value = tried, tried_value
    return ClmSolution(x, hessian, gradient, -value, ITERATIONS, False)


def _newton_step(hessian: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Solve for the step, with a heavier diagonal where the Hessian is not positive definite (as ordinal does)."""
    try:
        np.linalg.cholesky(hessian)
    except np.linalg.LinAlgError:
        lowest = np.linalg.eigvalsh(hessian)[0]
        hessian = hessian + (abs(lowest) + 1.0) * np.eye(gradient.size)
    return np.linalg.solve(hessian, gradient)
