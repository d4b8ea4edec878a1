"""Linear mixed models as lme4 fits them, with Satterthwaite's degrees of freedom as lmerTest computes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ordbridge.fast.blocks import Structure
from ordbridge.fast.deviance import CrossProducts, Room, cross_products_of, deviance, new_room
from ordbridge.fast.factors import Layout
from ordbridge.fast.information import add_variance_part
from ordbridge.fast.optimise import Clock, Minimum, minimise

__all__ = ["SINGULAR", "LmerSolution", "fit_lmer"]

SINGULAR = 1e-4  # lme4's isSingular: a relative standard deviation below it
AT_ZERO = 1e-4
DIFFERENCE = 1e-4
GAIN = 1e-11


@dataclass(frozen=True, eq=False)
class LmerSolution:
    """The optimum, in the caller's scales and order of factors; ``entries`` are those of the relative Cholesky factors."""

    beta: np.ndarray
    vcov: np.ndarray
    df: np.ndarray
    sigma: float
    L: list[np.ndarray]
    entries: np.ndarray
    loglik: float
    gradient: np.ndarray
    hessian: np.ndarray  # of the deviance in (entries, sigma), as lmerTest has it
    modes: list[np.ndarray]
    mode_variance: list[np.ndarray]
    evaluations: int
    converged: bool
    singular: bool


class _Objective:
    """Half the profiled deviance as a function of the entries of the relative Cholesky factors."""

    def __init__(self, data: CrossProducts, room: Room, reml: bool) -> None:
        self.data, self.room, self.reml = data, room, reml
        self.evaluations = 0

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        gradient = np.zeros(x.size)
        self.evaluations += 1
        return float(deviance(self.data, self.room, x, self.reml, gradient)), gradient

    def prepare(self, direction: np.ndarray) -> None:
        """Nothing is carried along a line."""

    def moved(self, step: float) -> None:
        """Nothing is carried along a line."""

    def information(self) -> np.ndarray:
        """Expected information about the entries, with sigma profiled out, at the last evaluation."""
        data, room = self.data, self.room
        size = data.factor.size
        out, traces = np.zeros((size, size)), np.zeros(size)
        for which, L, N in ((0, room.L1, room.factors.N11), (1, room.L2, room.factors.N22)):
            add_variance_part(data.factor, data.row, data.column, which, L, N, out, traces)
        return out - 0.5 * np.outer(traces, traces) / data.n


def fit_lmer(
    y: np.ndarray,
    X: np.ndarray,
    structure: Structure,
    layout: Layout,
    REML: bool = True,
    timeout: float | None = None,
) -> LmerSolution:
    """Fit a linear mixed model with one grouping factor or two crossed ones.

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

    References
    ----------
    Bates, Maechler, Bolker & Walker (2015), J. Stat. Software 67(1); Kuznetsova, Brockhoff & Christensen (2017),
    J. Stat. Software 82(13) for the degrees of freedom.
    """
    clock = Clock(timeout)
    Q, R = np.linalg.qr(X)
    start = Q.T @ y
    data = _cross_products(y - Q @ start, Q, structure, layout)
    objective = _Objective(data, new_room(structure, data), REML)
    best = _search(objective, layout, clock)
    x = _settle_at_zero(objective, layout.fold(best.x), layout)
    value, gradient = objective(x)
    room = objective.room
    n, p = X.shape
    sigma = float(np.sqrt(room.values[1] / (n - p if REML else n)))
    beta = np.linalg.solve(R, start + room.gamma)
    R_inverse = np.linalg.inv(R)
    modes, variances = _modes(structure, room, layout, sigma)
    hessian, jacobian = _variance_derivatives(objective, x, sigma, R_inverse, clock)
    vcov = jacobian[-1] * sigma / 2.0  # the covariance is sigma^2 times a matrix, its derivative in sigma 2 sigma times it
    log_det_R = float(np.log(np.abs(np.diag(R))).sum()) if REML else 0.0
    return LmerSolution(
        beta=beta,
        vcov=vcov,
        df=satterthwaite(vcov, hessian, jacobian),
        sigma=sigma,
        L=layout.matrices(x / layout.entry_scales),
        entries=x / layout.entry_scales,
        loglik=-value - log_det_R,
        gradient=2.0 * gradient * layout.entry_scales,
        hessian=hessian,
        modes=modes,
        mode_variance=variances,
        evaluations=objective.evaluations,
        converged=best.converged,
        singular=bool((x[layout.diagonal] / layout.entry_scales[layout.diagonal] < SINGULAR).any()),
    )


def satterthwaite(vcov: np.ndarray, hessian: np.ndarray, jacobian: np.ndarray) -> np.ndarray:
    """Degrees of freedom of every coefficient: 2 v^2 / (g' S g).

    v is the coefficient's variance, g its gradient in the variance parameters (entries of the Cholesky factors and sigma),
    and S = 2 Hessian^-1 of the deviance in them, with directions of no positive curvature left out as lmerTest does.

    Examples
    --------
    >>> satterthwaite(np.eye(1), np.eye(1), np.ones((1, 1, 1))).tolist()
    [1.0]
    """
    values, vectors = np.linalg.eigh(hessian)
    positive = values > 1e-8
    S = 2.0 * (vectors[:, positive] / values[positive]) @ vectors[:, positive].T
    variances = np.diag(vcov)
    g = np.array([np.diag(derivative) for derivative in jacobian])
    with np.errstate(divide="ignore", invalid="ignore"):
        return 2.0 * variances**2 / np.einsum("aj,ab,bj->j", g, S, g)


def _cross_products(y: np.ndarray, Q: np.ndarray, structure: Structure, layout: Layout) -> CrossProducts:
    J1, J2 = structure.levels
    z1, z2 = structure.z1 / layout.scales[0], structure.z2 / layout.scales[1]
    q1, q2, columns = z1.shape[1], z2.shape[1], Q.shape[1] + 1
    data = CrossProducts(
        graph=structure.graph,
        M11=np.empty((J1, q1, q1)),
        M12=np.empty((structure.graph.partner.size, q1, q2)),
        M22=np.empty((J2, q2, q2)),
        Zx1=np.empty((columns, J1, q1)),
        Zx2=np.empty((columns, J2, q2)),
        n=y.size,
        yy=float(y @ y),
        factor=layout.factor,
        row=layout.row,
        column=layout.column,
    )
    sorted_columns = np.column_stack([Q, y])[structure.order]
    cross_products_of(
        data.graph, z1, z2, np.ascontiguousarray(sorted_columns), data.Zx1, data.Zx2, data.M11, data.M12, data.M22
    )
    return data


def _search(objective: _Objective, layout: Layout, clock: Clock) -> Minimum:
    """Minimise from lme4's start, and from two correlated ones if the first end has an intercept at zero."""
    best: Minimum | None = None
    for correlation in (0.0, 0.6, -0.6):
        x = np.where(layout.diagonal, 0.5, 0.5 * correlation)
        objective(x)
        values, vectors = np.linalg.eigh(objective.information())
        inverse = (vectors / np.maximum(values, 0.1)) @ vectors.T
        found = minimise(objective, x, inverse, clock, gain=GAIN)
        if best is None or found.value < best.value - 1e-9:
            best = found
        doubtful = not found.converged or (np.abs(found.x[layout.first]) < 0.05).any()
        if not (doubtful and layout.has_correlations):
            break
    return best


def _settle_at_zero(objective: _Objective, x: np.ndarray, layout: Layout) -> np.ndarray:
    """Put standard deviations that are zero but for rounding at zero, if the deviance does not mind (as lme4 does)."""
    tiny = layout.diagonal & (x < AT_ZERO)
    if not tiny.any():
        return x
    settled = np.where(tiny, 0.0, x)
    return settled if objective(settled)[0] <= objective(x)[0] + 1e-9 else x


def _variance_derivatives(
    objective: _Objective, x: np.ndarray, sigma: float, R_inverse: np.ndarray, clock: Clock
) -> tuple[np.ndarray, np.ndarray]:
    """Hessian of the deviance in (entries, sigma) and derivatives of the coefficients' covariance, both with p unprofiled.

    lmerTest takes both by Richardson extrapolation of the deviance; here the gradient in the entries is exact, so central
    differences of it are as accurate.
    """
    data, room, reml = objective.data, objective.room, objective.reml
    size, freedom = x.size, data.n - room.A.shape[0] if reml else data.n

    def at(entries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        objective(entries)
        slope = room.parts[0] + room.parts[1] / sigma**2 + (room.parts[2] if reml else 0.0)
        return slope, sigma**2 * R_inverse @ np.linalg.inv(room.A) @ R_inverse.T

    H = np.empty((size + 1, size + 1))
    J = np.empty((size + 1, *room.A.shape))
    objective(x)
    r2 = room.values[1]
    H[size, :size] = H[:size, size] = -2.0 * room.parts[1] / sigma**3
    H[size, size] = 6.0 * r2 / sigma**4 - 2.0 * freedom / sigma**2
    J[size] = 2.0 * sigma * R_inverse @ np.linalg.inv(room.A) @ R_inverse.T
    for k in range(size):
        clock.check()
        e = np.zeros(size)
        e[k] = DIFFERENCE
        (slope_up, cov_up), (slope_down, cov_down) = at(x + e), at(x - e)
        H[k, :size] = (slope_up - slope_down) / (2.0 * DIFFERENCE)
        J[k] = (cov_up - cov_down) / (2.0 * DIFFERENCE)
    H[:size, :size] = 0.5 * (H[:size, :size] + H[:size, :size].T)
    return H, J


def _modes(
    structure: Structure, room: Room, layout: Layout, sigma: float
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Conditional modes L u and their conditional variances sigma^2 diag(L N L'), as lme4's condVar."""
    modes, variances = [], []
    for L, u, N, scale in (
        (room.L1, room.u1, room.factors.N11, layout.scales[0]),
        (room.L2, room.u2, room.factors.N22, layout.scales[1]),
    ):
        modes.append(u @ L.T / scale)
        variances.append(sigma**2 * np.einsum("ab,gbc,ac->ga", L, N, L) / scale**2)
    return structure.unsort(*modes), structure.unsort(*variances)
