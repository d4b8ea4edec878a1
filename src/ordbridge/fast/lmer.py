"""Linear mixed models as lme4 fits them, with Satterthwaite's degrees of freedom as lmerTest computes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ordbridge.fast.curvature import second_derivatives
from ordbridge.fast.descent import ARRIVED, UNDERWAY, descend
from ordbridge.fast.deviance import CrossProducts, Room, cross_products_of, deviance, new_room
from ordbridge.fast.factors import Layout
from ordbridge.fast.optimise import Clock, Minimum, newton
from ordbridge.fast.structure import Structure

__all__ = ["SINGULAR", "LmerSolution", "fit_lmer"]

SINGULAR = 1e-4  # lme4's isSingular: a relative standard deviation below it
AT_ZERO = 1e-4
SEARCHED, SETTLED = 1e-12, 1e-11  # promised gains at which BFGS ends, and Newton's method after it
AT_A_TIME, MOST = 10, 300  # steps of BFGS between two looks at the clock, and in all


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
        self.last: tuple[np.ndarray, float, np.ndarray] | None = None
        self.differentiated: tuple[np.ndarray, float, np.ndarray] | None = None
        self.hessian = self.jacobian = np.empty(0)  # in (entries, sigma): of the deviance, and of sigma^2 A^-1

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        if self.last is None or (self.last[0] != x).any():
            gradient = np.zeros(x.size)
            self.evaluations += 1
            self.last = (x.copy(), float(deviance(self.data, self.room, x, self.reml, gradient)), gradient)
        return self.last[1], self.last[2]

    def prepare(self, direction: np.ndarray) -> None:
        """Nothing is carried along a line."""

    def moved(self, step: float) -> None:
        """Nothing is carried along a line."""

    def curvature(self) -> np.ndarray:
        """Return the Hessian at the last evaluation; the derivatives it comes from are kept."""
        if self.differentiated is not self.last:
            size, p = self.data.factor.size, self.room.A.shape[0]
            self.hessian, self.jacobian = np.empty((size + 1, size + 1)), np.empty((size + 1, p, p))
            second_derivatives(self.data, self.room, self.reml, self.sigma, self.hessian, self.jacobian)
            self.differentiated = self.last
        return 0.5 * _profile(self.hessian)

    @property
    def sigma(self) -> float:
        """The residual standard deviation at the last evaluation."""
        n, p = self.data.n, self.room.A.shape[0]
        return float(np.sqrt(self.room.values[1] / (n - p if self.reml else n)))

    def inverse(self) -> np.ndarray | None:
        """Nothing is guessed: the search begins elsewhere."""
        return None

    def descend(self, x: np.ndarray, clock: Clock) -> Minimum:
        """Go down from x by BFGS, a few steps at a time so that the clock is looked at."""
        x, gradient, B = x.copy(), np.zeros(x.size), np.empty((x.size, x.size))
        value, done, used, state = 0.0, 0, 0, UNDERWAY
        while state == UNDERWAY and done < MOST:
            clock.check()
            value, more, state = descend(
                self.data, self.room, self.reml, x, gradient, B, value, done, AT_A_TIME, SEARCHED
            )
            done, used = done + AT_A_TIME, used + more
        self.evaluations += used
        self.last = (x.copy(), value, gradient)
        return Minimum(x, value, gradient, used, state == ARRIVED)


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
    x = layout.fold(best.x)
    value, gradient = objective(x)
    objective.curvature()
    room, scale, sigma, hessian = objective.room, layout.entry_scales, objective.sigma, objective.hessian
    R_inverse = np.linalg.inv(R)
    vcov = sigma**2 * R_inverse @ np.linalg.inv(room.A) @ R_inverse.T
    modes, variances = _modes(structure, room, layout, sigma)
    return LmerSolution(
        beta=R_inverse @ (start + room.gamma),
        vcov=vcov,
        df=satterthwaite(vcov, hessian, R_inverse @ objective.jacobian @ R_inverse.T),
        sigma=sigma,
        L=layout.matrices(x / scale),
        entries=x / scale,
        loglik=-value - (float(np.log(np.abs(np.diag(R))).sum()) if REML else 0.0),
        gradient=2.0 * gradient * scale,
        hessian=_profile(hessian) * scale[:, None] * scale,
        modes=modes,
        mode_variance=variances,
        evaluations=objective.evaluations,
        converged=best.converged,
        singular=bool((x[layout.diagonal] / scale[layout.diagonal] < SINGULAR).any()),
    )


def satterthwaite(vcov: np.ndarray, hessian: np.ndarray, jacobian: np.ndarray) -> np.ndarray:
    """Degrees of freedom of every coefficient: 2 v^2 / (g' S g).

    v is the coefficient's variance, g its gradient in the variance parameters (entries of the Cholesky factors and
    sigma), and S = 2 Hessian^-1 of the deviance in them, with directions of no positive curvature left out as lmerTest
    does.

    Examples
    --------
    >>> satterthwaite(np.eye(1), np.eye(1), np.ones((1, 1, 1))).tolist()
    [1.0]
    """
    values, vectors = np.linalg.eigh(hessian)
    positive = values > 1e-8
    S = 2.0 * (vectors[:, positive] / values[positive]) @ vectors[:, positive].T
    g = np.diagonal(jacobian, axis1=1, axis2=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(2.0 * np.diag(vcov) ** 2 / np.sum(g * (S @ g), axis=0))


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
    ends: list[Minimum] = []
    for correlation in (0.0, 0.6, -0.6):
        x = np.where(layout.diagonal, 0.5, 0.5 * correlation)
        found = objective.descend(x, clock)
        ends.append(found)
        doubtful = not found.converged or (np.abs(found.x[layout.first]) < 0.05).any()
        if not (doubtful and layout.has_correlations):
            break
    best = ends[0]
    for found in ends[1:]:
        if found.value < best.value - 1e-9:
            best = found
    x = _settle_at_zero(objective, layout.fold(best.x), best.value, layout)
    return newton(objective, x, objective.curvature, clock, SETTLED)


def _settle_at_zero(objective: _Objective, x: np.ndarray, value: float, layout: Layout) -> np.ndarray:
    """Put standard deviations that are zero but for rounding at zero, if the deviance does not mind (as lme4 does)."""
    tiny = layout.diagonal & (x < AT_ZERO)
    if not tiny.any():
        return x
    settled = np.where(tiny, 0.0, x)
    return settled if objective(settled)[0] <= value + 1e-9 else x


def _profile(hessian: np.ndarray) -> np.ndarray:
    """Take sigma out of a Hessian in (entries, sigma)."""
    return hessian[:-1, :-1] - hessian[:-1, -1:] * hessian[-1:, :-1] / hessian[-1, -1]


def _modes(structure: Structure, room: Room, layout: Layout, sigma: float) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Conditional modes L u and their conditional variances sigma^2 diag(L N L'), as lme4's condVar."""
    modes, variances = [], []
    for L, u, N, scale in (
        (room.L1, room.u1, room.factors.N11, layout.scales[0]),
        (room.L2, room.u2, room.factors.N22, layout.scales[1]),
    ):
        modes.append(u @ L.T / scale)
        variances.append(sigma**2 * np.einsum("ab,gbc,ac->ga", L, N, L) / scale**2)
    return structure.unsort(*modes), structure.unsort(*variances)
