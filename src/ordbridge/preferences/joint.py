"""Ratings and comparisons of the same systems on one latent scale: shared strengths, thresholds of their own.

A comparison of a and b has η = β_a − β_b + u_ra − u_rb + v_ia − v_ib, a rating of a η = β_a + u_ra + v_ia + s_r + t_i,
with thresholds that need not be symmetric. Raters and items of the same name have the same preferences u and v in both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg, optimize, sparse

from ordbridge.errors import FitError, InputError
from ordbridge.preferences.fitting import NO_MAXIMUM
from ordbridge.preferences.rows import RowTerms, cut_points, row_terms
from ordbridge.preferences.tied import Comparisons, start_spacings
from ordbridge.support.naming import arg

__all__ = ["Joint", "JointFit", "Rated", "fit_joint"]

LARGEST = 2500  # random effects, which are one dense matrix
STEPS = 60
CLOSE = 1e-16
DIFFERENCE = 1e-5
FIRST_SD = 0.5
STEEPNESS = 1e-5
SMALLEST, WIDEST = np.log(1e-4), np.log(20.0)


@dataclass(frozen=True, eq=False)
class Rated:
    """Coded ratings: y from 0 to categories − 1, all of which occur."""

    system: np.ndarray
    y: np.ndarray
    categories: int
    groups: tuple[np.ndarray, ...]
    """For each grouping of the comparisons the level of every rating; −1 where it has none."""


@dataclass(frozen=True, eq=False)
class JointFit:
    """Maximum likelihood estimates; the standard deviations of raters and items themselves are of ratings only."""

    loglik: float
    coefficients: np.ndarray
    covariance: np.ndarray
    sd: np.ndarray
    own_sd: np.ndarray
    cuts: np.ndarray
    thresholds: np.ndarray
    converged: bool


class Joint:
    """Minus the Laplace log likelihood, and its gradient.

    Parameters are log spacings of comparisons; the lowest threshold of ratings and log distances of the others; log
    standard deviations of level:system, then of levels themselves; coefficients.

    Parameters
    ----------
    pairs
        The comparisons; −1 in a grouping for rows without a level.
    rated
        The ratings.
    apart
        Whether ratings have strengths of their own.
    """

    def __init__(self, pairs: Comparisons, rated: Rated, apart: bool = False) -> None:
        self.pairs, self.rated = pairs, rated
        S, n, m = pairs.systems, pairs.n, len(rated.y)
        self.spacings = (pairs.categories - 1) // 2
        self.thresholds = rated.categories - 1
        X = np.zeros((n + m, S))
        X[np.arange(n), pairs.first] = 1.0
        X[np.arange(n), pairs.second] -= 1.0
        X[n + np.arange(m), rated.system] = 1.0
        columns = [X[:, 1:]]
        if apart:
            columns.append(np.where(np.arange(n + m)[:, None] >= n, X[:, 1:], 0.0))
        if pairs.position:
            columns.append((np.arange(n + m) < n)[:, None].astype(float))
        self.X = np.column_stack(columns)
        self.blocks = self._random_columns()
        self.effects = [block.shape[1] for block in self.blocks]
        if sum(self.effects) > LARGEST:
            raise InputError(
                f"ratings and comparisons together have {sum(self.effects):,} random effects, more than {LARGEST:,}; "
                f"leave the item out, or use {arg('random', 'none')}"
            )
        self.Z = sparse.hstack(self.blocks, format="csr") if self.blocks else sparse.csr_matrix((n + m, 0))
        self.start = np.zeros(self.Z.shape[1])

    def _random_columns(self) -> list[sparse.csr_matrix]:
        """Return the columns of level:system of each grouping, then those of levels, which only ratings have."""
        S, n, m = self.pairs.systems, self.pairs.n, len(self.rated.y)
        shared, own = [], []
        for of_pairs, of_ratings in zip(self.pairs.groups, self.rated.groups, strict=True):
            have, rated = np.flatnonzero(of_pairs >= 0), np.flatnonzero(of_ratings >= 0)
            rows = np.concatenate([have, have, n + rated])
            cell = np.concatenate(
                [of_pairs[have] * S + self.pairs.first[have], of_pairs[have] * S + self.pairs.second[have],
                 of_ratings[rated] * S + self.rated.system[rated]]
            )  # fmt: skip
            sign = np.repeat([1.0, -1.0, 1.0], [len(have), len(have), len(rated)])
            used, column = np.unique(cell, return_inverse=True)
            shared.append(sparse.csr_matrix((sign, (rows, column)), (n + m, len(used))))
            used, column = np.unique(of_ratings[rated], return_inverse=True)
            own.append(sparse.csr_matrix((np.ones(len(rated)), (n + rated, column)), (n + m, len(used))))
        self.own = [k for k, block in enumerate(own) if block.shape[1] > 2]
        return [*shared, *(own[k] for k in self.own)]

    @property
    def outer(self) -> int:
        """The number of parameters that are not coefficients."""
        return self.spacings + self.thresholds + len(self.blocks)

    def first(self) -> np.ndarray:
        """Return where to start: thresholds at which answers are as frequent as they are."""
        share = np.cumsum(np.bincount(self.rated.y, minlength=self.rated.categories))[:-1] / len(self.rated.y)
        cuts = np.log(share / (1 - share))
        return np.concatenate([
            start_spacings(self.pairs), cuts[:1], np.log(np.diff(cuts)), np.full(len(self.blocks), np.log(FIRST_SD)),
            np.zeros(self.X.shape[1]),
        ])  # fmt: skip

    def split(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return cut-points of comparisons and of ratings with infinite ends, standard deviations, coefficients."""
        at = self.spacings + self.thresholds
        own = x[self.spacings : at]
        rating = np.concatenate([[-np.inf], own[0] + np.concatenate([[0.0], np.cumsum(np.exp(own[1:]))]), [np.inf]])
        pairs = cut_points(x[: self.spacings], self.pairs.categories)
        return pairs, rating, np.exp(x[at : self.outer]), x[self.outer :]

    def _terms(self, x: np.ndarray, eta: np.ndarray) -> RowTerms:
        pairs, rating, _, _ = self.split(x)
        upper = np.concatenate([pairs[self.pairs.y + 1], rating[self.rated.y + 1]])
        lower = np.concatenate([pairs[self.pairs.y], rating[self.rated.y]])
        return row_terms(upper - eta, lower - eta, self.pairs.link)

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return minus the log likelihood and its gradient; infinite where there is no mode."""
        _, _, sd, beta = self.split(x)
        Z = self.Z @ sparse.diags(np.repeat(sd, self.effects)) if self.blocks else self.Z
        offset = self.X @ beta
        inner, q = self.start, Z.shape[1]
        terms = self._terms(x, offset + Z @ inner)
        loss = 0.5 * inner @ inner - terms.value.sum()
        factor = None
        for _ in range(STEPS):
            H = (Z.T @ sparse.diags(terms.weight) @ Z).toarray() + np.eye(q)
            try:
                factor = linalg.cho_factor(H, lower=True, check_finite=False)
            except linalg.LinAlgError:
                return np.inf, np.zeros(len(x))
            slope = Z.T @ terms.slope - inner
            step = linalg.cho_solve(factor, slope, check_finite=False)
            if not 0.5 * slope @ step > CLOSE:
                break
            length = 1.0
            while True:
                new = inner + length * step
                after = self._terms(x, offset + Z @ new)
                moved = 0.5 * new @ new - after.value.sum()
                if moved <= loss + 1e-13 * abs(loss) or length < 1e-6:
                    break
                length /= 2
            inner, terms, loss = new, after, moved
        if factor is None or not np.isfinite(loss):
            return np.inf, np.zeros(len(x))
        self.start = inner
        value = loss + np.log(np.diag(factor[0])).sum()
        return float(value), self._gradient(x, Z, factor, inner, offset, terms, sd)

    def _gradient(
        self, x: np.ndarray, Z: sparse.csr_matrix, factor: tuple[np.ndarray, bool], inner: np.ndarray,
        offset: np.ndarray, terms: RowTerms, sd: np.ndarray,
    ) -> np.ndarray:  # fmt: skip
        inverse = linalg.cho_solve(factor, np.eye(Z.shape[1]), check_finite=False)
        half = Z @ inverse  # rows: H⁻¹z
        spread = np.asarray(Z.multiply(half).sum(axis=1)).ravel()
        pull = -0.5 * spread * terms.third  # ½ log det by the linear predictor
        back = inverse @ (Z.T @ pull)
        shifted = pull - terms.weight * (Z @ back)
        eta = offset + Z @ inner
        out = np.zeros(len(x))
        for k in range(self.spacings + self.thresholds):
            h = np.zeros(len(x))
            h[k] = DIFFERENCE
            high, low = self._terms(x + h, eta), self._terms(x - h, eta)
            by = 0.5 / DIFFERENCE
            slope, weight = (high.slope - low.slope) * by, (high.weight - low.weight) * by
            out[k] = -(high.value - low.value).sum() * by + 0.5 * spread @ weight + (Z.T @ slope) @ back
        pulled = Z.T @ terms.slope
        start = 0
        for k, size in enumerate(self.effects):
            chosen = slice(start, start + size)
            mine = Z[:, chosen]
            direct = mine @ inner[chosen]  # by log σ
            part = np.asarray(mine.multiply(half[:, chosen]).sum(axis=1)).ravel()
            at = self.spacings + self.thresholds + k
            out[at] = (shifted - terms.slope) @ direct + terms.weight @ part + pulled[chosen] @ back[chosen]
            start += size
        out[self.outer :] = self.X.T @ (shifted - terms.slope)
        return out


def fit_joint(pairs: Comparisons, rated: Rated, apart: bool = False) -> JointFit:
    """Fit by maximum likelihood with Laplace's approximation.

    References
    ----------
    Kristensen, K. et al. (2016). TMB: automatic differentiation and Laplace approximation. JSS 70(5).

    Examples
    --------
    >>> four = np.zeros(4, int), np.ones(4, int), np.array([0, 1, 1, 1])
    >>> ratings = Rated(np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 2, 0, 0, 1]), 3, ())
    >>> fit_joint(Comparisons(*four, 2, 2), ratings).coefficients.round(2).tolist()  # both say that the first is better
    [-1.31]
    """
    model = Joint(pairs, rated, apart)
    sds = slice(model.spacings + model.thresholds, model.outer)

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        outside = np.maximum(x[sds] - WIDEST, 0.0) + np.minimum(x[sds] - SMALLEST, 0.0)
        inside = x.copy()
        inside[sds] = np.clip(x[sds], SMALLEST, WIDEST)
        value, gradient = model(inside)
        if not np.isfinite(value):
            return 1e10, np.zeros(len(x))
        gradient[sds] = np.where(outside != 0, 2 * outside, gradient[sds])
        return value + float(outside @ outside), gradient

    x = model.first()
    for _ in range(3):  # in units of the curvature, until that is enough
        values, vectors = np.linalg.eigh(_hessian(objective, x))
        scale = vectors / np.sqrt(np.clip(np.abs(values), 0.1, None))
        point = x.copy()

        def scaled(z: np.ndarray, point: np.ndarray = point, scale: np.ndarray = scale) -> tuple[float, np.ndarray]:
            value, gradient = objective(point + scale @ z)
            return value, scale.T @ gradient

        found = optimize.minimize(
            scaled, np.zeros(len(x)), jac=True, method="BFGS", options={"gtol": STEEPNESS, "maxiter": 200}
        )
        x = point + scale @ found.x
        if np.abs(found.jac).max() < STEEPNESS:
            break
    value, _ = objective(x)
    if value >= 1e10:
        raise FitError(NO_MAXIMUM)
    free = np.ones(len(x), dtype=bool)
    free[sds] = x[sds] > SMALLEST + 1.0
    at = np.flatnonzero(free)
    covariance = np.full((len(x), len(x)), np.nan)
    covariance[np.ix_(at, at)] = np.linalg.inv(_hessian(objective, x)[np.ix_(at, at)])
    cuts, thresholds, sd, beta = model.split(x)
    sd = np.where(sd < 1.1e-3, 0.0, sd)
    shared = len(pairs.groups)
    own = np.zeros(shared)
    own[model.own] = sd[shared:]
    settled = bool(np.abs(found.jac).max() < 1e-2)
    return JointFit(-value, beta, covariance[model.outer :, model.outer :], sd[:shared], own, cuts, thresholds, settled)


def _hessian(objective, x: np.ndarray, step: float = 1e-3) -> np.ndarray:  # type: ignore[no-untyped-def]
    rows = [(objective(x + h)[1] - objective(x - h)[1]) / (2 * step) for h in step * np.eye(len(x))]
    hessian = np.array(rows)
    return np.asarray((hessian + hessian.T) / 2)
