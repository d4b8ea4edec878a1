"""The same quantities written down plainly with dense matrices, to check the engine against."""

from __future__ import annotations

import numpy as np
from scipy import special, stats

DISTRIBUTIONS = {
    "probit": (stats.norm.cdf, stats.norm.pdf, lambda x: -x * stats.norm.pdf(x)),
    "logit": (
        special.expit,
        lambda x: special.expit(x) * special.expit(-x),
        lambda x: special.expit(x) * special.expit(-x) * (1 - 2 * special.expit(x)),
    ),
    "cloglog": (stats.gumbel_l.cdf, stats.gumbel_l.pdf, lambda x: stats.gumbel_l.pdf(x) * (1 - np.exp(x))),
    "loglog": (stats.gumbel_r.cdf, stats.gumbel_r.pdf, lambda x: stats.gumbel_r.pdf(x) * (np.exp(-x) - 1)),
    "cauchit": (stats.cauchy.cdf, stats.cauchy.pdf, lambda x: -2 * x / (1 + x**2) * stats.cauchy.pdf(x)),
}

FAR = {"probit": 1e9, "logit": 1e9, "cloglog": 600.0, "loglog": 600.0, "cauchit": 1e40}  # as good as infinite


def design_matrix(groups: list[np.ndarray], Z: list[np.ndarray], L: list[np.ndarray]) -> np.ndarray:
    """Z~: for every row the vectors L' z in the columns of its levels, factor after factor, level after level."""
    n = groups[0].size
    blocks = []
    for group, z, factor in zip(groups, Z, L, strict=True):
        q = z.shape[1]
        block = np.zeros((n, (group.max() + 1) * q))
        for i in range(n):
            block[i, group[i] * q : (group[i] + 1) * q] = factor.T @ z[i]
        blocks.append(block)
    return np.hstack(blocks)


def laplace(
    y: np.ndarray,
    fixed: np.ndarray,
    cutpoints: np.ndarray,
    Zt: np.ndarray,
    link: str,
    start: np.ndarray | None = None,
    sigma: np.ndarray | float = 1.0,
    weights: np.ndarray | None = None,
) -> tuple[float, np.ndarray]:
    """-log likelihood by Laplace's approximation, and the modes; cut-points are the same for all rows, or one row each.

    A link that is not log-concave needs a start: plain Newton steps do not find the modes from zero, of which there
    may be several.
    """
    F, f, g = DISTRIBUTIONS[link]
    rows = np.arange(len(y))
    cutpoints = np.broadcast_to(cutpoints, (len(y), np.shape(cutpoints)[-1]))
    end = FAR[link] * np.ones((len(y), 1))
    edges = np.hstack([-end, cutpoints, end])
    w = np.ones(len(y)) if weights is None else weights
    u = np.zeros(Zt.shape[1]) if start is None else start

    def parts(u: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        eta = fixed + Zt @ u
        a, b = (edges[rows, y + 1] - eta) / sigma, (edges[rows, y] - eta) / sigma
        pi = F(a) - F(b)
        r = (f(a) - f(b)) / pi
        d = r**2 - (g(a) - g(b)) / pi
        return pi, w * r / sigma, w * d / sigma**2

    for _ in range(200):
        _, r, d = parts(u)
        H = np.eye(u.size) + Zt.T @ (d[:, None] * Zt)
        step = np.linalg.solve(H, u + Zt.T @ r)
        u = u - step
        if np.abs(step).max() < 1e-13:
            break
    pi, _, d = parts(u)
    H = np.eye(u.size) + Zt.T @ (d[:, None] * Zt)
    return float(-(w * np.log(pi)).sum() + 0.5 * u @ u + 0.5 * np.linalg.slogdet(H)[1]), u


def quadrature(
    y: np.ndarray, fixed: np.ndarray, cutpoints: np.ndarray, group: np.ndarray, sd: float, link: str
) -> float:
    """-log likelihood with one scalar random effect, integrated by the trapezoidal rule on a fine grid."""
    F = DISTRIBUTIONS[link][0]
    nodes = np.linspace(-12, 12, 4801)
    weights = stats.norm.pdf(nodes) * 0.005
    edges = np.concatenate([[-1e9], cutpoints, [1e9]])
    total = 0.0
    for level in range(group.max() + 1):
        own = group == level
        eta = fixed[own][:, None] + sd * nodes
        pi = F(edges[y[own] + 1][:, None] - eta) - F(edges[y[own]][:, None] - eta)
        total -= np.log((weights * pi.prod(axis=0)).sum())
    return total


def deviance(y: np.ndarray, X: np.ndarray, Zt: np.ndarray, reml: bool) -> float:
    """The profiled ML or REML deviance of a linear mixed model, from its n x n covariance matrix."""
    n, p = X.shape
    V = np.eye(n) + Zt @ Zt.T
    Vi = np.linalg.inv(V)
    A = X.T @ Vi @ X
    beta = np.linalg.solve(A, X.T @ Vi @ y)
    r2 = (y - X @ beta) @ Vi @ (y - X @ beta)
    if reml:
        return np.linalg.slogdet(V)[1] + np.linalg.slogdet(A)[1] + (n - p) * (1 + np.log(2 * np.pi * r2 / (n - p)))
    return np.linalg.slogdet(V)[1] + n * (1 + np.log(2 * np.pi * r2 / n))
