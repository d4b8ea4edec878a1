"""Predictions and simulated responses from a fitted model.

``ordinal`` has no ``predict`` for clmm, so these are computed here. With linear predictor η (offset included), random
effects b with covariance Σ, their row of the model matrix z, cut-points θ, residual spread σ and the link's
distribution function F:

    conditional   P(y ≤ j) = F((θ_j − η − zᵀb̂) / σ)
    population    P(y ≤ j) = F((θ_j − η) / σ)
    marginal      P(y ≤ j) = ∫ F((θ_j − η − √v·x) / σ) φ(x) dx,   v = zᵀΣz

Nominal effects make θ, scale effects make σ a property of the row; elsewhere σ is 1. The marginal integral is
one-dimensional whatever the number of random effects, because zᵀb is normal. For the probit link it is
Φ((θ_j − η)/√(σ² + v)) (Agresti 2013, section 13.1). Elsewhere it is the trapezoidal rule, whose error falls
exponentially with the distance of F's poles from the real axis over the step (Trefethen & Weideman 2014): below 1e-12
for every link and any variance.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ordbridge.models.links import LINKS
from ordbridge.models.problem import Estimates, Matrices, Problem

KINDS = ("conditional", "population", "marginal")
FURTHEST, STEP = 8.5, 0.05  # of the trapezoidal rule in standard normal units; finer for standard deviations above 2


def table(problem: Problem, estimates: Estimates, rows: Matrices, kind: str) -> pa.Table:
    """Return the predictions of all rows as a table."""
    if not problem.ordinal:
        return pa.table({"mean": _column(_predictor(estimates, rows, kind), rows.complete)})
    probability = probabilities(problem, estimates, rows, kind)
    return pa.table({level: _column(probability[:, j], rows.complete) for j, level in enumerate(estimates.levels)})


def probabilities(problem: Problem, estimates: Estimates, rows: Matrices, kind: str) -> np.ndarray:
    """Return the probability of every category, one line per row of the data."""
    eta = _predictor(estimates, rows, kind)
    variance = marginal_variance(estimates, rows) if kind == "marginal" else np.zeros(len(eta))
    sigma = spread(estimates, rows)
    distance = (cutpoints(estimates, rows) - eta[:, None]) / sigma[:, None]
    cumulative = _cumulative(str(problem.link), distance, variance / sigma**2)
    edges = np.hstack([np.zeros((len(eta), 1)), cumulative, np.ones((len(eta), 1))])
    return np.diff(edges, axis=1)


def cutpoints(estimates: Estimates, rows: Matrices) -> np.ndarray:
    """Return the cut-points of each row, which nominal effects move."""
    return estimates.cutpoints + rows.nominal @ estimates.cutpoint_shifts.reshape(-1, estimates.cutpoints.size)


def spread(estimates: Estimates, rows: Matrices) -> np.ndarray:
    """Return the residual spread of each row: 1 without scale effects."""
    return np.exp(rows.scale @ estimates.estimate[estimates.having("scale")])


def location(estimates: Estimates, rows: Matrices) -> np.ndarray:
    """Return the linear predictor of each row without random effects."""
    found: np.ndarray = rows.X @ estimates.estimate[estimates.having("fixed")] + rows.offset
    return found


def _predictor(estimates: Estimates, rows: Matrices, kind: str) -> np.ndarray:
    eta = location(estimates, rows)
    if kind == "conditional":
        eta = eta + _random_part(rows, [term.modes for term in estimates.random])
    return eta


def simulated(problem: Problem, estimates: Estimates, rows: Matrices, n: int, seed: int | tuple[int, ...]) -> pa.Table:
    """Return ``n`` columns of new responses."""
    random = np.random.default_rng(seed)
    eta = location(estimates, rows)
    if problem.ordinal:
        theta, sigma = cutpoints(estimates, rows), spread(estimates, rows)[:, None]
    draws = {}
    for i in range(n):
        effects = [_draw(random, term.covariance, len(term.levels)) for term in estimates.random]
        latent = eta + _random_part(rows, effects)
        if not problem.ordinal:
            draws[f"sim_{i + 1}"] = pa.array(latent + random.normal(0.0, float(estimates.sigma or 0.0), len(eta)))
            continue
        cumulative = LINKS[str(problem.link)].cdf((theta - latent[:, None]) / sigma)
        codes = (random.random(len(eta))[:, None] > cumulative).sum(axis=1)
        draws[f"sim_{i + 1}"] = pa.DictionaryArray.from_arrays(
            pa.array(codes, pa.int32()), pa.array(estimates.levels), ordered=True
        )
    return pa.table(draws)


def _random_part(rows: Matrices, effects: list[np.ndarray]) -> np.ndarray:
    """Return zᵀb of each row; a level that is not known has effect zero."""
    total = np.zeros(len(rows.X))
    for Z, level, b in zip(rows.Z, rows.level, effects, strict=True):
        known = np.vstack([b, np.zeros((1, b.shape[1]))])
        total += np.einsum("ij,ij->i", Z, known[level])
    return total


def marginal_variance(estimates: Estimates, rows: Matrices) -> np.ndarray:
    """Return the variance zᵀΣz of the random effects of each row, for new levels of all groups."""
    total = np.zeros(len(rows.X))
    for Z, term in zip(rows.Z, estimates.random, strict=True):
        total += np.einsum("ij,jk,ik->i", Z, term.covariance, Z)
    return total


def _cumulative(link: str, distance: np.ndarray, variance: np.ndarray) -> np.ndarray:
    cdf = LINKS[link].cdf
    if link == "probit":
        return cdf(distance / np.sqrt(1.0 + variance)[:, None])
    if not variance.any():
        return cdf(distance)
    sd = np.sqrt(variance)[:, None]
    nodes = np.linspace(-FURTHEST, FURTHEST, 1 + int(np.ceil(2 * FURTHEST / STEP * max(1.0, sd.max() / 2))))
    weights = np.exp(-0.5 * nodes**2)
    total = np.zeros_like(distance)
    for x, w in zip(nodes, weights / weights.sum(), strict=True):
        total += w * cdf(distance - sd * x)
    return total


def _draw(random: np.random.Generator, covariance: np.ndarray, levels: int) -> np.ndarray:
    values, vectors = np.linalg.eigh(covariance)  # a covariance on the boundary has no Cholesky factor
    root = vectors * np.sqrt(np.clip(values, 0.0, None))
    return random.standard_normal((levels, len(values))) @ root.T


def _column(values: np.ndarray, complete: np.ndarray) -> pa.Array:
    return pa.array(np.where(complete, values, np.nan), pa.float64(), from_pandas=True)
