"""Linear mixed models as lme4 fits them, with Satterthwaite's degrees of freedom as lmerTest computes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ordbridge.fast.blocks import Structure
from ordbridge.fast.deviance import CrossProducts, Room, cross_products_of, deviance, new_room
from ordbridge.fast.factors import Layout
from ordbridge.fast.information import SMALLEST, add_variance_part
from ordbridge.fast.optimise import Clock, Minimum, minimise

__all__ = ["SINGULAR", "LmerSolution", "fit_lmer"]

SINGULAR = 1e-4  # lme4's isSingular: a relative standard deviation below it
AT_ZERO = 1e-4
DIFFERENCE = 1e-5
GAIN = 1e-10  # where the search ends; a Newton step follows


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
    hessian: np.ndarray  # of the deviance in (entries, sigma), as lmerTest has it
    profile_hessian: np.ndarray  # with sigma at its best for any entries
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

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        if self.last is None or not np.array_equal(self.last[0], x):
            gradient = np.zeros(x.size)
            self.evaluations += 1
            self.last = (x.copy(), float(deviance(self.data, self.room, x, self.reml, gradient)), gradient)
        return self.last[1], self.last[2]

    def prepare(self, direction: np.ndarray) -> None:
        """Nothing is carried along a line."""

    def moved(self, step: float) -> None:
        """Nothing is carried along a line."""

    def inverse(self) -> np.ndarray | None:
        """Invert the expected information about the entries, with sigma profiled out, at the last evaluation."""
        data, room = self.data, self.room
        if min(np.abs(np.diag(L)).min(initial=1.0) for L in (room.L1, room.L2)) < SMALLEST:
            return None
        size = data.factor.size
        out, traces = np.zeros((size, size)), np.zeros(size)
        for which, L, N in ((0, room.L1, room.factors.N11), (1, room.L2, room.factors.N22)):
            free = np.flatnonzero(data.factor == which)
            add_variance_part(free, data.row, data.column, L, N, out, traces)
        values, vectors = np.linalg.eigh(out - 0.5 * np.outer(traces, traces) / data.n)
        return (vectors / np.maximum(values, 0.1)) @ vectors.T


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
    slope, hessian, jacobian = _variance_derivatives(objective, x, clock)
    x, value, gradient = _polish(objective, x, slope, hessian)
    room, scale = objective.room, layout.entry_scales
    sigma = _sigma(objective)
    R_inverse = np.linalg.inv(R)
    vcov = sigma**2 * R_inverse @ np.linalg.inv(room.A) @ R_inverse.T
    modes, variances = _modes(structure, room, layout, sigma)
    return LmerSolution(
        beta=R_inverse @ (start + room.gamma),
        vcov=vcov,
        df=satterthwaite(vcov, hessian, R_inverse @ jacobian @ R_inverse.T),
        sigma=sigma,
        L=layout.matrices(x / scale),
        entries=x / scale,
        loglik=-value - (float(np.log(np.abs(np.diag(R))).sum()) if REML else 0.0),
        gradient=2.0 * gradient * scale,
        hessian=hessian * np.outer(np.append(scale, 1.0), np.append(scale, 1.0)),
        profile_hessian=_profile(hessian) * np.outer(scale, scale),
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
    ends: list[Minimum] = []
    for correlation in (0.0, 0.6, -0.6):
        x = np.where(layout.diagonal, 0.5, 0.5 * correlation)
        found = minimise(objective, x, clock, GAIN)
        ends.append(found)
        doubtful = not found.converged or (np.abs(found.x[layout.first]) < 0.05).any()
        if not (doubtful and layout.has_correlations):
            break
    best = ends[0]
    for found in ends[1:]:
        if found.value < best.value - 1e-9:
            best = found
    return best


def _settle_at_zero(objective: _Objective, x: np.ndarray, layout: Layout) -> np.ndarray:
    """Put standard deviations that are zero but for rounding at zero, if the deviance does not mind (as lme4 does)."""
    tiny = layout.diagonal & (x < AT_ZERO)
    if not tiny.any():
        return x
    settled = np.where(tiny, 0.0, x)
    return settled if objective(settled)[0] <= objective(x)[0] + 1e-9 else x


def _sigma(objective: _Objective) -> float:
    """Return the residual standard deviation at the last evaluation."""
    n, p = objective.data.n, objective.room.A.shape[0]
    return float(np.sqrt(objective.room.values[1] / (n - p if objective.reml else n)))


def _variance_derivatives(
    objective: _Objective, x: np.ndarray, clock: Clock
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gradient and Hessian of the deviance in (entries, sigma), and the derivatives of the coefficients' covariance.

    lmerTest takes the last two by Richardson extrapolation; here the gradient in the entries is exact, so that plain
    differences of it do. The coefficients are those of the orthonormal columns.
    """
    data, room, reml = objective.data, objective.room, objective.reml
    size, p = x.size, room.A.shape[0]
    freedom = data.n - p if reml else data.n
    objective(x)
    sigma = _sigma(objective)

    def at_hand() -> tuple[np.ndarray, np.ndarray]:
        slope = room.parts[0] + room.parts[1] / sigma**2
        return slope + room.parts[2] if reml else slope, sigma**2 * np.linalg.inv(room.A)

    slope, covariance = at_hand()
    H = np.empty((size + 1, size + 1))
    J = np.empty((size + 1, p, p))
    H[size, :size] = H[:size, size] = -2.0 * room.parts[1] / sigma**3
    H[size, size] = 6.0 * room.values[1] / sigma**4 - 2.0 * freedom / sigma**2
    J[size] = 2.0 / sigma * covariance
    for k, direction in enumerate(np.eye(size)):
        clock.check()
        objective(x + DIFFERENCE * direction)
        slope_ahead, covariance_ahead = at_hand()
        H[k, :size] = (slope_ahead - slope) / DIFFERENCE
        J[k] = (covariance_ahead - covariance) / DIFFERENCE
    H[:size, :size] = 0.5 * (H[:size, :size] + H[:size, :size].T)
    return slope, H, J


def _profile(hessian: np.ndarray) -> np.ndarray:
    """Take sigma out of a Hessian in (entries, sigma)."""
    return hessian[:-1, :-1] - np.outer(hessian[:-1, -1], hessian[-1, :-1]) / hessian[-1, -1]


def _polish(
    objective: _Objective, x: np.ndarray, slope: np.ndarray, hessian: np.ndarray
) -> tuple[np.ndarray, float, np.ndarray]:
    """Take one Newton step with the Hessian at hand, sigma profiled out, and keep it if it helps."""
    H = _profile(hessian)
    inside = (x != 0.0) | (slope != 0.0)  # entries at zero by symmetry stay there
    step = np.zeros_like(x)
    values = np.linalg.eigvalsh(H[np.ix_(inside, inside)]) if inside.any() else np.zeros(1)
    if values[0] > 1e-6 * values[-1]:
        step[inside] = np.linalg.solve(H[np.ix_(inside, inside)], slope[inside])
    if 0 < np.abs(step).max() < 0.01:
        value, gradient = objective(x - step)
        if np.abs(gradient).max() <= np.abs(0.5 * slope).max():
            return x - step, value, gradient
    value, gradient = objective(x)
    return x, value, gradient


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
