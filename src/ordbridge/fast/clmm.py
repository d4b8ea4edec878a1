"""Cumulative link mixed models: the Laplace likelihood that ordinal::clmm maximises, maximised with exact gradients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ordbridge.fast import thresholds
from ordbridge.fast.clm import fit_clm
from ordbridge.fast.factors import Layout
from ordbridge.fast.information import SMALLEST, information
from ordbridge.fast.laplace import Model, State, evaluate, new_state, tangent
from ordbridge.fast.links import LINKS
from ordbridge.fast.optimise import Clock, Minimum, minimise
from ordbridge.fast.structure import Structure

__all__ = ["BOUNDARY", "ClmmSolution", "fit_clmm"]

BOUNDARY = 1e-3  # Cholesky diagonals below it are left out of the Hessian, as ordinal does
SMALL_SD, LARGE_SD = 0.05, 3.0  # an end with a first standard deviation below or any above is tried from other starts
SEARCH, CLOSE, EXACT = 1e-3, 3e-5, 1e-6  # how closely modes are found: during the search, in differences, at the end
DIFFERENCE = 1e-5
ATTEMPTS = 3  # how often a Hessian is taken; each but the last may show a way down, on which the search goes on
SETTLED = 1e-6  # a step that promises to gain less ends the search
LATENT_SD = {"probit": 1.0, "logit": 1.7, "cloglog": 1.2, "loglog": 1.2, "cauchit": 1.6}  # roughly, in probit units


@dataclass(frozen=True, eq=False)
class ClmmSolution:
    """The optimum, in the caller's scales and order of factors.

    ``parameters`` are thresholds, coefficients, then the free entries of the Cholesky factors ``L`` in ``layout``'s
    order; ``free`` marks those that the Hessian is about. ``modes`` and ``mode_variance`` are per factor levels × q.
    """

    parameters: np.ndarray
    L: list[np.ndarray]
    loglik: float
    gradient: np.ndarray
    hessian: np.ndarray
    free: np.ndarray
    modes: list[np.ndarray]
    mode_variance: list[np.ndarray]
    evaluations: int
    starts: int
    converged: bool


class _Objective:
    """The Laplace objective with its memory: the modes, carried along the tangent of a search line."""

    def __init__(self, model: Model, state: State, closeness: float = SEARCH) -> None:
        self.model, self.state, self.closeness = model, state, closeness
        self.evaluations = 0
        self.last: tuple[np.ndarray, float, float, np.ndarray] | None = None
        self.base = (state.u1.copy(), state.u2.copy())
        self.tangent = (np.zeros_like(state.u1), np.zeros_like(state.u2))

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        if self.last is None or self.last[1] > self.closeness or (self.last[0] != x).any():
            gradient = np.empty(x.size)
            self.evaluations += 1
            value = float(evaluate(self.model, self.state, x, gradient, self.closeness))
            self.last = (x.copy(), self.closeness, value, gradient)
        return self.last[2], self.last[3]

    def forget(self) -> None:
        """Start the modes again from zero."""
        self.state.u1[:] = 0.0
        self.state.u2[:] = 0.0
        self.last = None

    def prepare(self, direction: np.ndarray) -> None:
        tangent(self.model, self.state, direction)
        self.base = (self.state.u1.copy(), self.state.u2.copy())
        self.tangent = (self.state.du1.copy(), self.state.du2.copy())

    def moved(self, step: float) -> None:
        self.state.u1[:] = self.base[0] + step * self.tangent[0]
        self.state.u2[:] = self.base[1] + step * self.tangent[1]

    def inverse(self) -> np.ndarray | None:
        """Invert the approximate information matrix at the last evaluation."""
        diagonals = np.concatenate([np.diag(self.state.L1), np.diag(self.state.L2)])
        if np.abs(diagonals).min() < SMALLEST:
            return None
        return _inverse(information(self.model, self.state))

    def hessian(self, x: np.ndarray, gradient: np.ndarray, free: np.ndarray, clock: Clock) -> np.ndarray:
        """Differences of the exact gradient around the point of the last evaluation."""
        directions = np.eye(x.size)[free]
        lines = []
        for direction in directions:
            self.prepare(direction)
            lines.append((self.base, self.tangent))
        H = np.empty((free.size, free.size))
        for k, (direction, line) in enumerate(zip(directions, lines, strict=True)):
            clock.check()
            self.base, self.tangent = line
            self.moved(DIFFERENCE)
            _, ahead = self(x + DIFFERENCE * direction)
            H[k] = (ahead - gradient)[free] / DIFFERENCE
        self.moved(0.0)
        return 0.5 * (H + H.T)


def fit_clmm(
    y: np.ndarray,
    X: np.ndarray,
    structure: Structure,
    layout: Layout,
    cuts: int,
    link: str = "logit",
    threshold: str = "flexible",
    timeout: float | None = None,
) -> ClmmSolution:
    """Fit a cumulative link mixed model with one grouping factor or two crossed ones.

    Parameters
    ----------
    y
        Categories from 0 to ``cuts``, each of them used.
    X
        Columns of the fixed effects, without an intercept and of full rank.
    structure, layout
        The rows' grouping, and which entries of the Cholesky factors are free.
    cuts
        Number of cut-points.
    link, threshold
        As in ordinal::clmm.
    timeout
        Seconds after which the fit is given up.

    References
    ----------
    Christensen, R. H. B. (2019). ordinal: regression models for ordinal data, R package.
    """
    clock = Clock(timeout)
    scale_X = _largest(X)
    scale_Z = layout.scales
    X = np.ascontiguousarray((X / scale_X)[structure.order])
    jacobian = thresholds.jacobian(cuts, threshold)
    n_mean = jacobian.shape[1] + X.shape[1]
    model = Model(
        structure.graph,
        LINKS[link],
        np.ascontiguousarray(y[structure.order], dtype=np.int64),
        X,
        np.ascontiguousarray(structure.z1 / scale_Z[0]),
        np.ascontiguousarray(structure.z2 / scale_Z[1]),
        jacobian,
        layout.factor,
        layout.row,
        layout.column,
    )
    state = new_state(structure)
    objective = _Objective(model, state)
    mean = fit_clm(model.y, X, cuts, link, threshold).parameters
    best, starts = _search(objective, mean, layout, link, clock)
    best, free, hessian = _finish(objective, best, n_mean, layout, clock)
    x = best.x
    scale = np.concatenate([np.ones(jacobian.shape[1]), scale_X, layout.entry_scales])
    modes, variances = _modes(structure, state, scale_Z)
    return ClmmSolution(
        parameters=x / scale,
        L=layout.matrices(x[n_mean:] / layout.entry_scales),
        loglik=-best.value,
        gradient=best.gradient * scale,
        hessian=hessian * np.outer(scale[free], scale[free]),
        free=free,
        modes=modes,
        mode_variance=variances,
        evaluations=objective.evaluations,
        starts=starts,
        converged=best.converged,
    )


def _largest(columns: np.ndarray) -> np.ndarray:
    """Scale of each column, so that parameters are of the order of one whatever the units."""
    largest = np.abs(columns).max(axis=0, initial=0.0)
    return np.where(largest > 0, largest, 1.0)


def _starts(layout: Layout, sd: float) -> Iterator[np.ndarray]:
    """Cholesky entries to start from: uncorrelated, then positively and negatively correlated."""
    for correlation in (0.0, 0.6, -0.6):
        yield np.where(layout.diagonal, sd, correlation * sd)


def _search(objective: _Objective, mean: np.ndarray, layout: Layout, link: str, clock: Clock) -> tuple[Minimum, int]:
    """Minimise from one start, and from two more if the first end is doubtful; return the lowest end."""
    sd = 0.5 * LATENT_SD[link]
    spread = np.sqrt(1.0 + 0.25 * layout.mean_square)
    ends: list[tuple[Minimum, np.ndarray, np.ndarray]] = []
    best = 0
    for entries in _starts(layout, sd):
        objective.forget()
        found = _descend(objective, np.concatenate([mean * spread, entries]), clock)
        ends.append((found, objective.state.u1.copy(), objective.state.u2.copy()))
        lowest = ends[best][0]
        if found.value < lowest.value - 1e-7 or (found.converged and not lowest.converged):
            best = len(ends) - 1
        if not (_doubtful(found, mean.size, layout) and layout.has_correlations):
            break
    if len(ends) > 1:
        _, objective.state.u1[:], objective.state.u2[:] = ends[best]
        objective.last = None
    return ends[best][0], len(ends)


def _descend(objective: _Objective, x: np.ndarray, clock: Clock) -> Minimum:
    value, _ = objective(x)
    if not np.isfinite(value):
        return Minimum(x, np.inf, np.full(x.size, np.nan), 1, False)
    return minimise(objective, x, clock)


def _inverse(H: np.ndarray) -> np.ndarray:
    """Inverse of a matrix that may be nearly singular, never with a direction longer than a unit step."""
    values, vectors = np.linalg.eigh(H)
    return (vectors / np.maximum(values, 1e-2 * max(values.max() * 1e-3, 1.0))) @ vectors.T


def _doubtful(found: Minimum, n_mean: int, layout: Layout) -> bool:
    """Tell whether to try other starts: no convergence, a term's first standard deviation at zero, or a huge one."""
    entries = np.abs(found.x[n_mean:])
    return not found.converged or bool((entries[layout.first] < SMALL_SD).any() or (entries > LARGE_SD).any())


def _fold(objective: _Objective, best: Minimum, n_mean: int, layout: Layout) -> None:
    """Give every diagonal of the Cholesky factors a positive sign, and its column of the modes with it."""
    entries = best.x[n_mean:]
    negative = layout.diagonal & (entries < 0)
    for factor, column in zip(layout.factor[negative], layout.column[negative], strict=True):
        (objective.state.u1 if factor == 0 else objective.state.u2)[:, column] *= -1.0
        objective.last = None
    best.x[n_mean:] = layout.fold(entries)


def _finish(
    objective: _Objective, best: Minimum, n_mean: int, layout: Layout, clock: Clock
) -> tuple[Minimum, np.ndarray, np.ndarray]:
    """Return the optimum, the free parameters and their Hessian; go on searching where the Hessian shows a way down."""
    for attempt in range(ATTEMPTS):
        _fold(objective, best, n_mean, layout)
        objective.closeness = EXACT
        value, gradient = objective(best.x)
        best = replace(best, value=value, gradient=gradient)
        at_zero = np.zeros(best.x.size, dtype=bool)
        at_zero[n_mean:] = layout.diagonal & (best.x[n_mean:] / layout.entry_scales < BOUNDARY)
        free = np.flatnonzero(~at_zero)
        objective.closeness = CLOSE
        hessian = objective.hessian(best.x, gradient, free, clock)
        onward = _way_down(objective, best, free, hessian) if attempt < ATTEMPTS - 1 else None
        if onward is None:
            break
        objective.closeness = SEARCH
        found = minimise(objective, onward, clock, inverse=_inverse(_filled(hessian, free, onward.size)))
        if not found.value < best.value - 1e-9:
            break
        best = found
    objective.closeness = EXACT
    return _polish(objective, best, free, hessian), free, hessian


def _filled(hessian: np.ndarray, free: np.ndarray, size: int) -> np.ndarray:
    full = np.eye(size)
    full[np.ix_(free, free)] = hessian
    return full


def _way_down(objective: _Objective, best: Minimum, free: np.ndarray, hessian: np.ndarray) -> np.ndarray | None:
    """Return a lower point to go on from, at a saddle or where the search ended early; None at a minimum."""
    values, vectors = np.linalg.eigh(hessian)
    if values[0] < -1e-4 * values[-1]:
        for step in (0.2, -0.2):
            x = best.x.copy()
            x[free] += step * vectors[:, 0]
            if objective(x)[0] < best.value:
                return x
        return None
    return best.x if _promised(best.gradient[free], hessian) > SETTLED else None


def _promised(gradient: np.ndarray, hessian: np.ndarray) -> float:
    """Return what a Newton step promises to gain, with flat directions counted as steeper than they are."""
    values, vectors = np.linalg.eigh(hessian)
    inner = vectors.T @ gradient
    return 0.5 * float(np.sum(inner**2 / np.maximum(values, 1e-4 * values[-1])))


def _polish(objective: _Objective, best: Minimum, free: np.ndarray, hessian: np.ndarray) -> Minimum:
    """Take one Newton step, with everything evaluated exactly where it ends."""
    step = np.zeros(best.x.size)
    if np.linalg.eigvalsh(hessian)[0] > 0:
        step[free] = np.linalg.solve(hessian, best.gradient[free])
    x = best.x
    if 0 < np.abs(step).max() < 0.05 and objective(x - step)[0] <= best.value:
        x = x - step
    value, gradient = objective(x)
    return Minimum(x, value, gradient, best.evaluations, _promised(gradient[free], hessian) < SETTLED)


def _modes(
    structure: Structure, state: State, scale_Z: tuple[np.ndarray, np.ndarray]
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Conditional modes L u^ and their conditional variances, the diagonal of L N L' (as ordinal's condVar)."""
    modes, variances = [], []
    for L, u, N, scale in (
        (state.L1, state.u1, state.factors.N11, scale_Z[0]),
        (state.L2, state.u2, state.factors.N22, scale_Z[1]),
    ):
        modes.append(u @ L.T / scale)
        variances.append(np.einsum("ab,gbc,ac->ga", L, N, L) / scale**2)
    return structure.unsort(*modes), structure.unsort(*variances)
