"""Cumulative link mixed models: the Laplace likelihood that ordinal::clmm maximises, maximised with exact gradients."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ordbridge import _core
from ordbridge.errors import FitError
from ordbridge.fast.clm import fit_clm
from ordbridge.fast.factors import Layout
from ordbridge.fast.optimise import Clock, Minimum, minimise
from ordbridge.fast.ratings import Responses
from ordbridge.fast.several_maxima import End, Found, Start, search_nested_models
from ordbridge.fast.structure import Structure

__all__ = ["BOUNDARY", "ClmmSolution", "fit_clmm", "maximised_clmm"]

BOUNDARY = 1e-3  # Cholesky diagonals below it are left out of the Hessian, as ordinal does
LEAST = 0.2  # of a given start's standard deviations, relative to the usual start
SMALL_SD, LARGE_SD = 0.05, 2.5  # an end with a first standard deviation below or any above is doubtful
SEARCH, CLOSE, EXACT = 1e-3, 3e-5, 1e-6  # how closely modes are found: during the search, in differences, at the end
DIFFERENCE = 1e-5
ATTEMPTS = 3  # how often a Hessian is taken; each but the last may show a way down, on which the search goes on
GAIN = 1e-9  # a step that promises less ends the search,
SETTLED = 1e-6  # and what is left at its end may promise no more
DISTINCT = 1e-4  # log likelihoods further apart are not the same maximum
SEVERAL_MAXIMA = ("cauchit",)
ROUNDING = 1e-14  # a Hessian with a smaller share of its largest eigenvalue cannot be solved
LATENT_SD = {"probit": 1.0, "logit": 1.7, "cloglog": 1.2, "loglog": 1.2, "cauchit": 1.6}  # roughly, in probit units


@dataclass(frozen=True, eq=False)
class ClmmSolution:
    """The optimum, in the caller's scales and order of factors.

    ``parameters`` are thresholds, coefficients, then the free entries of the Cholesky factors ``L`` in ``layout``'s
    order; ``free`` marks those that the Hessian is about. ``modes`` and ``mode_sd`` are per factor levels × q.
    """

    parameters: np.ndarray
    L: list[np.ndarray]
    loglik: float
    gradient: np.ndarray
    hessian: np.ndarray
    free: np.ndarray
    modes: list[np.ndarray]
    mode_sd: list[np.ndarray]
    evaluations: int
    starts: int
    converged: bool
    unsettled: float | None = None  # a higher log likelihood, at which a search from another start did not converge


def fit_clmm(
    ratings: Responses,
    structure: Structure,
    layout: Layout,
    timeout: float | None = None,
    nAGQ: int = 1,
    near: np.ndarray | None = None,
) -> ClmmSolution:
    """Fit a cumulative link mixed model.

    Parameters
    ----------
    ratings
        The rows, in the caller's order.
    structure, layout
        The rows' grouping, and which entries of the Cholesky factors are free.
    timeout
        Seconds after which the fit is given up.
    nAGQ
        Nodes of adaptive Gauss-Hermite quadrature, for one grouping factor with one effect; 1 is Laplace's
        approximation, for any random effects.
    near
        Entries of the Cholesky factors to start from, such as those from which the rows were drawn.

    References
    ----------
    Christensen, R. H. B. (2019). ordinal: regression models for ordinal data, R package.
    """
    clock = Clock(timeout)
    own, scale = ratings.ordered(structure.order).unit()
    n_mean = own.size
    laplace, found = _searched(own, structure, layout, clock, nAGQ, near)
    best, free, hessian = _finish_one(laplace, found.ends, n_mean, layout, clock, own.link in SEVERAL_MAXIMA)
    x = best.x
    scale = np.concatenate([scale, layout.entry_scales])
    modes, mode_sd = structure.of_levels(laplace.conditional())
    return ClmmSolution(
        parameters=x / scale,
        L=layout.matrices(x[n_mean:] / layout.entry_scales),
        loglik=-best.value,
        gradient=best.gradient * scale,
        hessian=hessian * np.outer(scale[free], scale[free]),
        free=free,
        modes=modes,
        mode_sd=mode_sd,
        evaluations=laplace.evaluations + found.evaluations,
        starts=found.starts,
        converged=best.converged,
        unsettled=-found.unsettled if found.unsettled < best.value - DISTINCT else None,
    )


def maximised_clmm(
    ratings: Responses,
    structure: Structure,
    layout: Layout,
    timeout: float | None = None,
    nAGQ: int = 1,
    near: np.ndarray | None = None,
) -> float:
    """Return the highest log likelihood alone; arguments as of :func:`fit_clmm`.

    The Hessian is what takes the other half of a fit. Here it is asked for a way down only where the search may not
    have ended at a maximum.
    """
    clock = Clock(timeout)
    own, _ = ratings.ordered(structure.order).unit()
    laplace, found = _searched(own, structure, layout, clock, nAGQ, near)
    best, modes = found.ends[0]
    if best.converged and own.link not in SEVERAL_MAXIMA:
        laplace.modes, laplace.closeness = modes, EXACT
        value = laplace(best.x)[0]
        if np.isfinite(value):
            return -value
    return -_finish_one(laplace, found.ends, own.size, layout, clock, own.link in SEVERAL_MAXIMA)[0].value


def laplace_objective(
    ratings: Responses, structure: Structure, layout: Layout, nAGQ: int = 1, free: np.ndarray | slice = slice(None)
) -> _core.Laplace:
    """Return the objective of sorted rows: a function of the ratings' parameters and scaled entries, all or some."""
    entries = {"factor": layout.factor[free], "row": layout.row[free], "column": layout.column[free]}
    objective = _core.Laplace(structure.core, **(ratings.arguments() | entries))
    if nAGQ > 1:
        objective.set_quadrature(*np.polynomial.hermite.hermgauss(nAGQ))
    return objective


def _searched(
    own: Responses, structure: Structure, layout: Layout, clock: Clock, nAGQ: int, near: np.ndarray | None
) -> tuple[_core.Laplace, Found]:
    """Return the objective of sorted and scaled rows, and where searches of it ended."""
    laplace = laplace_objective(own, structure, layout, nAGQ)
    if own.link not in SEVERAL_MAXIMA:
        return laplace, _search(laplace, own, layout, clock, near)
    coefficients = slice(own.n_alpha, own.n_alpha + own.X.shape[1])

    def objective(entries: np.ndarray, with_predictors: bool) -> _core.Laplace:
        rows = own if with_predictors else replace(own, X=own.X[:, :0])
        return laplace_objective(rows, structure, layout, nAGQ, entries)

    return laplace, search_nested_models(objective, _start(own, layout), coefficients, layout, clock)


def _start(ratings: Responses, layout: Layout, near: np.ndarray | None = None) -> Start:
    """Return the usual start: the fit without random effects, stretched to the latent variance with them."""
    mean = fit_clm(ratings).parameters
    sd = 0.5 * LATENT_SD[ratings.link]

    def start(factor: float, correlation: float) -> np.ndarray:
        entries = factor * np.where(layout.diagonal, sd, correlation * sd)
        share = 0.25 * factor**2
        if near is not None and (factor, correlation) == (1.0, 0.0):
            scaled = near * layout.entry_scales  # not from zero, where the gradient is zero, too
            entries = np.where(layout.diagonal, np.maximum(scaled, LEAST * sd), scaled)
            share = 0.25 * float(np.mean((entries[layout.diagonal] / sd) ** 2))
        spread = np.sqrt(1.0 + share * layout.mean_square)
        wider = mean * spread  # thresholds and coefficients are further apart given the random effects
        wider[ratings.log_scale] = mean[ratings.log_scale]
        return np.concatenate([wider, entries])

    return start


def _other_starts(found: Minimum, mean: int, layout: Layout) -> list[tuple[float, float]]:
    """Return where else to start after a first end that is doubtful: factors of the first SDs, and correlations.

    A term's first standard deviation at zero may be the wrong side of a saddle, which a correlation leads around. No
    convergence or huge standard deviations (raters who all but agree) have another optimum with smaller or still larger
    ones more often than not.
    """
    entries = np.abs(found.x[mean:])
    far = not found.converged or bool((entries > LARGE_SD).any())
    near = not found.turned and bool((entries[layout.first] < SMALL_SD).any())
    correlated = [(1.0, 0.6), (1.0, -0.6)] if layout.has_correlations and (far or near) else []
    return correlated + ([(0.1, 0.0), (20.0, 0.0), (35.0, 0.0)] if far else [])


def _search(
    laplace: _core.Laplace, ratings: Responses, layout: Layout, clock: Clock, near: np.ndarray | None = None
) -> Found:
    """Minimise from one start, and from others if the first end is doubtful; return the ends, best first."""
    laplace.closeness = SEARCH
    start = _start(ratings, layout, near)
    at_zero = np.zeros(layout.structure.core.effects)
    ends: list[End] = []
    waiting = [(1.0, 0.0)]
    while waiting:
        laplace.modes = at_zero
        found = minimise(laplace, start(*waiting.pop(0)), GAIN, layout, clock)
        ends.append((found, laplace.modes))
        if len(ends) == 1:
            waiting = _other_starts(found, ratings.size, layout)
    # ends that agree to 1e-7 are the same optimum: the first of them is kept, so that results do not depend on rounding
    return Found(sorted(ends, key=lambda end: (not end[0].converged, round(end[0].value, 7))), len(ends))


def _minimise(laplace: _core.Laplace, x: np.ndarray, clock: Clock, inverse: np.ndarray | None = None) -> Minimum:
    with clock.watching() as seconds:
        return Minimum(*laplace.minimise(x, GAIN, inverse, seconds=seconds))


def _inverse(H: np.ndarray) -> np.ndarray:
    """Inverse of a matrix that may be nearly singular, never with a direction longer than a unit step."""
    values, vectors = np.linalg.eigh(H)
    return (vectors / np.maximum(values, 1e-2 * max(values.max() * 1e-3, 1.0))) @ vectors.T


def _fold(laplace: _core.Laplace, best: Minimum, n_mean: int, layout: Layout) -> Minimum:
    """Give every diagonal of the Cholesky factors a positive sign, and its column of the modes with it."""
    entries = best.x[n_mean:]
    negative = layout.diagonal & (entries < 0)
    if not negative.any():
        return best
    u = laplace.effects()
    for factor, column in zip(layout.factor[negative], layout.column[negative], strict=True):
        u[factor][:, column] *= -1.0
    laplace.modes = np.concatenate([own.ravel() for own in u])
    return replace(best, x=np.concatenate([best.x[:n_mean], layout.fold(entries)]))


def _finish_one(
    laplace: _core.Laplace, ends: list[End], n_mean: int, layout: Layout, clock: Clock, settled: bool
) -> tuple[Minimum, np.ndarray, np.ndarray]:
    """Finish the best end that has a likelihood when modes are found exactly.

    With the cauchit link some have none: modes of the random effects appear and vanish as parameters change. If
    ``settled``, an end is left only for one at which the search converged.
    """
    for best, modes in ends:
        laplace.modes = modes
        found = _finish(laplace, best, n_mean, layout, clock, settled)
        if found is not None and np.isfinite(found[0].value):
            return found
    raise FitError(
        "no maximum of the Laplace likelihood could be found: the random effects have no clear mode; "
        "use fewer random effects or another link"
    )


def _finish(
    laplace: _core.Laplace, best: Minimum, n_mean: int, layout: Layout, clock: Clock, settled: bool = False
) -> tuple[Minimum, np.ndarray, np.ndarray] | None:
    """Return the optimum, the free parameters and their Hessian; None where modes are not found, there or nearby.

    Where the Hessian shows a way down the search goes on.
    """
    stuck = False
    for attempt in range(ATTEMPTS):
        best = _fold(laplace, best, n_mean, layout)
        laplace.closeness = EXACT
        value, gradient = laplace(best.x)
        if not np.isfinite(value):
            return None
        best = replace(best, value=value, gradient=gradient)
        at_zero = np.zeros(best.x.size, dtype=bool)
        at_zero[n_mean:] = layout.diagonal & (best.x[n_mean:] / layout.entry_scales < BOUNDARY)
        free = np.flatnonzero(~at_zero)
        laplace.closeness = CLOSE
        with clock.watching() as seconds:
            hessian = laplace.hessian(best.x, free, DIFFERENCE, seconds=seconds)
        if not np.isfinite(hessian).all():
            return None
        curvature = Curvature(hessian)
        onward = _way_down(laplace, best, free, curvature) if attempt < ATTEMPTS - 1 else None
        if onward is None:
            break
        modes = laplace.modes
        laplace.closeness = SEARCH
        found = _minimise(laplace, onward, clock, _inverse(_filled(curvature.hessian, free, onward.size)))
        laplace.closeness = EXACT
        stuck = settled and not found.converged
        if stuck or not laplace(found.x)[0] < best.value - 1e-9:
            laplace.modes = modes
            break
        best = found
    laplace.closeness = EXACT
    best = _polish(laplace, best, free, curvature)
    return replace(best, converged=best.converged and not stuck), free, curvature.hessian


def _filled(hessian: np.ndarray, free: np.ndarray, size: int) -> np.ndarray:
    full = np.eye(size)
    full[np.ix_(free, free)] = hessian
    return full


class Curvature:
    """A Hessian with its eigenvalues, lowest first."""

    def __init__(self, hessian: np.ndarray) -> None:
        self.hessian = hessian
        self.values, self.vectors = np.linalg.eigh(hessian)

    def promised(self, gradient: np.ndarray) -> float:
        """Return what a Newton step promises to gain, with flat directions counted as steeper than they are."""
        inner = gradient @ self.vectors
        return 0.5 * float(inner @ (inner / np.maximum(self.values, 1e-4 * self.values[-1])))

    def newton_step(self, gradient: np.ndarray) -> np.ndarray:
        """Return Hessian^-1 gradient, or zeros where the Hessian cannot be inverted."""
        if not self.values[0] > ROUNDING * self.values[-1]:
            return np.zeros_like(gradient)
        return self.vectors @ ((gradient @ self.vectors) / self.values)


def _way_down(laplace: _core.Laplace, best: Minimum, free: np.ndarray, curvature: Curvature) -> np.ndarray | None:
    """Return a lower point to go on from, at a saddle or where the search ended early; None at a minimum."""
    if curvature.values[0] < -1e-4 * curvature.values[-1]:
        for step in (0.2, -0.2):
            x = best.x.copy()
            x[free] += step * curvature.vectors[:, 0]
            if laplace(x)[0] < best.value:
                return x
        return None
    return best.x if curvature.promised(best.gradient[free]) > SETTLED else None


def _polish(laplace: _core.Laplace, best: Minimum, free: np.ndarray, curvature: Curvature) -> Minimum:
    """Take one Newton step, with everything evaluated exactly where it ends."""
    step = np.zeros(best.x.size)
    step[free] = curvature.newton_step(best.gradient[free])
    x, modes = best.x, laplace.modes
    if 0 < np.abs(step).max() < 0.05 and laplace(x - step)[0] <= best.value:
        x = x - step
    else:
        laplace.modes = modes
    value, gradient = laplace(x)
    return Minimum(x, value, gradient, best.evaluations, curvature.promised(gradient[free]) < SETTLED)
