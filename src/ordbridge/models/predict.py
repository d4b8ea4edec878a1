"""Predictions and simulated responses from a fitted model.

``ordinal`` has no ``predict`` for clmm, so these are ours. With linear predictor η, random effects b with covariance Σ,
their row of the model matrix z, cut-points θ and the link's distribution function F:

    conditional   P(y ≤ j) = F(θ_j − η − zᵀb̂)
    population    P(y ≤ j) = F(θ_j − η)
    marginal      P(y ≤ j) = ∫ F(θ_j − η − √v·x) φ(x) dx,   v = zᵀΣz

The marginal integral is one-dimensional whatever the number of random effects, because zᵀb is normal. For the probit
link it is Φ((θ_j − η)/√(1 + v)); elsewhere Gauss–Hermite quadrature (Agresti 2013, section 13.1).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ordbridge.links import LINKS
from ordbridge.models.problem import Estimates, Matrices, Problem

__all__ = ["KINDS", "simulated", "table"]

KINDS = ("conditional", "population", "marginal")
NODES = 81  # exact to 1e-9 for random standard deviations up to 3


def table(problem: Problem, estimates: Estimates, rows: Matrices, kind: str) -> pa.Table:
    """Return the predictions of all rows as a table."""
    eta = rows.X @ _coefficients(estimates)
    if kind == "conditional":
        eta = eta + _random_part(rows, [term.modes for term in estimates.random])
    if not problem.ordinal:
        return pa.table({"mean": _column(eta, rows.complete)})
    variance = _variance(estimates, rows) if kind == "marginal" else np.zeros(len(eta))
    cumulative = _cumulative(str(problem.link), estimates.cutpoints[None, :] - eta[:, None], variance)
    edges = np.hstack([np.zeros((len(eta), 1)), cumulative, np.ones((len(eta), 1))])
    probability = np.diff(edges, axis=1)
    return pa.table({level: _column(probability[:, j], rows.complete) for j, level in enumerate(estimates.levels)})


def simulated(problem: Problem, estimates: Estimates, rows: Matrices, n: int, seed: int) -> pa.Table:
    """Return ``n`` columns of new responses."""
    random = np.random.default_rng(seed)
    eta = rows.X @ _coefficients(estimates)
    draws = {}
    for i in range(n):
        effects = [_draw(random, term.covariance, len(term.levels)) for term in estimates.random]
        latent = eta + _random_part(rows, effects)
        if not problem.ordinal:
            draws[f"sim_{i + 1}"] = pa.array(latent + random.normal(0.0, float(estimates.sigma or 0.0), len(eta)))
            continue
        cumulative = LINKS[str(problem.link)].cdf(estimates.cutpoints[None, :] - latent[:, None])
        codes = (random.random(len(eta))[:, None] > cumulative).sum(axis=1)
        draws[f"sim_{i + 1}"] = pa.DictionaryArray.from_arrays(
            pa.array(codes, pa.int32()), pa.array(estimates.levels), ordered=True
        )
    return pa.table(draws)


def _coefficients(estimates: Estimates) -> np.ndarray:
    return estimates.estimate[[effect == "fixed" for effect in estimates.effects]]


def _random_part(rows: Matrices, effects: list[np.ndarray]) -> np.ndarray:
    """Return zᵀb of each row; a level that is not known has effect zero."""
    total = np.zeros(len(rows.X))
    for Z, level, b in zip(rows.Z, rows.level, effects, strict=True):
        known = np.vstack([b, np.zeros((1, b.shape[1]))])
        total += np.einsum("ij,ij->i", Z, known[level])
    return total


def _variance(estimates: Estimates, rows: Matrices) -> np.ndarray:
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
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    sd = np.sqrt(variance)[:, None]
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
