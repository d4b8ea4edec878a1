"""Fits of comparisons with tied variances: maximum likelihood, and restricted likelihood for tests and intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize, stats

from ordbridge.errors import FitError
from ordbridge.preferences.rows import cut_points
from ordbridge.preferences.tied import Comparisons, Tied, start_spacings

__all__ = ["NEAR", "Restricted", "TiedFit", "fit_tied", "restricted", "runaway"]

FIRST_SD = 0.5
SMALLEST, LARGEST = np.log(1e-4), np.log(20.0)
WIDEST = 2.0  # standard deviations of real raters and items are .4 to 1.4
RUNAWAY, REPEATS = 3.0, 4.0  # what is called made up; comparisons that each level and system must have otherwise
NEAR = 0.25  # what keeps it between 0.3 and 1; chosen by simulation, see docs/howto/preferences.md
STEP = 1e-3
NO_MAXIMUM = "no maximum of the likelihood was found: there are too few comparisons for the model"
CENTRAL_SIZE = 30  # parameters for which second derivatives are central differences; of more they are one-sided
EXACT_COST = 1_500_000  # comparisons × parameters up to which second derivatives are computed


@dataclass(frozen=True, eq=False)
class TiedFit:
    """Maximum likelihood estimates of a model with tied variances."""

    loglik: float
    coefficients: np.ndarray
    """Systems against the first, and the position where it is free."""
    covariance: np.ndarray
    sd: np.ndarray
    cuts: np.ndarray
    """With infinite ends."""
    converged: bool


@dataclass(frozen=True, eq=False)
class Restricted:
    """Estimates with coefficients integrated, and how sure their variances are."""

    coefficients: np.ndarray
    covariance: np.ndarray
    sd: np.ndarray
    cuts: np.ndarray
    parameters: np.ndarray
    parameter_covariance: np.ndarray
    slopes: tuple[np.ndarray, ...]
    """Derivatives of the covariance by each parameter."""
    converged: bool
    typical: bool = False
    """Whether standard deviations were kept near typical ones."""

    def df(self, contrast: np.ndarray) -> float:
        """Return Satterthwaite's degrees of freedom of a contrast of coefficients.

        References
        ----------
        Satterthwaite, F. E. (1946). An approximate distribution of estimates of variance components. Biometrics
        Bulletin 2, 110–114.
        """
        variance = float(contrast @ self.covariance @ contrast)
        gradient = np.array([contrast @ slope @ contrast for slope in self.slopes])
        uncertainty = float(gradient @ self.parameter_covariance @ gradient)
        return float(np.clip(2 * variance**2 / uncertainty, 1.0, 1e6)) if uncertainty > 0 else 1e6

    def test(self, contrast: np.ndarray) -> tuple[float, float, float, float]:
        """Return estimate, standard error, degrees of freedom and two-sided p-value of a contrast."""
        estimate = float(contrast @ self.coefficients)
        error = float(np.sqrt(contrast @ self.covariance @ contrast))
        df = self.df(contrast)
        return estimate, error, df, float(2 * stats.t.sf(abs(estimate) / error, df))


def _searched(model: Tied, x: np.ndarray, scale: np.ndarray, steepness: float) -> tuple[np.ndarray, bool]:
    """Minimise in units of ``scale``, a root of a guess of the inverse Hessian, within bounds of the SDs."""
    sds = slice(model.spacings, model.spacings + model.sds)

    def objective(z: np.ndarray) -> tuple[float, np.ndarray]:
        point = x + scale @ z
        outside = np.maximum(point[sds] - LARGEST, 0.0) + np.minimum(point[sds] - SMALLEST, 0.0)
        inside = point.copy()
        inside[sds] = np.clip(point[sds], SMALLEST, LARGEST)
        found = model.mode(inside)
        if not np.isfinite(found.value):
            return 1e10, np.zeros(len(z))
        gradient = found.gradient.copy()
        gradient[sds] = np.where(outside != 0, 2 * outside, gradient[sds])
        return found.value + float(outside @ outside), scale.T @ gradient

    found = optimize.minimize(
        objective, np.zeros(len(x)), jac=True, method="BFGS", options={"gtol": steepness, "maxiter": 200}
    )
    point = x + scale @ found.x
    point[sds] = np.clip(point[sds], SMALLEST, LARGEST)
    settled = bool(np.abs(found.jac).max(initial=0.0) < 1e-2)
    return point, settled


def _outer_hessian(model: Tied, x: np.ndarray, parameters: int) -> np.ndarray:
    """Return second derivatives by the first parameters, from differences of gradients."""
    central = parameters <= CENTRAL_SIZE
    here = model.mode(x).gradient
    rows = []
    for k in range(parameters):
        h = np.zeros(len(x))
        h[k] = STEP
        high, low = model.mode(x + h).gradient, model.mode(x - h).gradient if central else here
        rows.append((high - low) / (2 * STEP if central else STEP))
    return np.array(rows)


def _inverse(hessian: np.ndarray) -> np.ndarray:
    """Invert a symmetric matrix; directions that are flat or bend down are as sure as a curvature of 0.01."""
    if not len(hessian):
        return np.empty((0, 0))
    values, vectors = np.linalg.eigh((hessian + hessian.T) / 2)
    return np.asarray((vectors / np.maximum(values, 1e-2)) @ vectors.T)


def restricted(data: Comparisons, penalty: float = 0.1, widest: float = WIDEST) -> Restricted:
    """Fit with coefficients integrated (restricted likelihood) and variances kept from zero.

    Parameters
    ----------
    data
        The comparisons.
    penalty
        Of each standard deviation: ``penalty`` log σ is added to the log likelihood.
    widest
        And σ²/(2 widest²) is taken off.

    References
    ----------
    Chung, Y. et al. (2013). A nondegenerate penalized likelihood estimator for variance parameters in multilevel
    models. Psychometrika 78, 685–709.
    """
    model = Tied(data, integrate=True, penalty=penalty, widest=widest)
    x = np.concatenate([start_spacings(data), np.full(model.sds, np.log(FIRST_SD))])
    settled = True
    if model.size:
        x, settled = _searched(model, x, np.diag(np.full(len(x), 0.2)), 2e-4)
    hessian = _outer_hessian(model, x, model.size)
    spread = _inverse(hessian)
    slopes, moves = [], []
    for k in range(model.size):
        h = np.zeros(model.size)
        h[k] = STEP
        high, low = model.mode(x + h, False), model.mode(x - h, False)
        if not np.isfinite(high.value + low.value):
            raise FitError(NO_MAXIMUM)
        slopes.append((high.covariance - low.covariance) / (2 * STEP))
        moves.append((high.coefficients - low.coefficients) / (2 * STEP))
    mode = model.mode(x, False)
    if not np.isfinite(mode.value):
        raise FitError(NO_MAXIMUM)
    covariance = mode.covariance
    if moves:
        J = np.column_stack(moves)
        covariance = covariance + J @ spread @ J.T
    spacing, sd, _ = model.split(x)
    cuts = cut_points(spacing, data.categories)
    return Restricted(mode.coefficients, covariance, sd, cuts, x, spread, tuple(slopes), settled)


def runaway(data: Comparisons, sd: np.ndarray) -> bool:
    """Tell whether a standard deviation is one that Laplace's method makes up.

    Where most levels saw a system once or twice and systems have few comparisons, its likelihood rises with σ for no
    reason in the data; real raters and items have .4 to 1.4.
    """
    S = data.systems
    return any(
        one > RUNAWAY
        and 2 * data.n < REPEATS * len(np.unique(np.concatenate([g * S + data.first, g * S + data.second])))
        for one, g in zip(sd, data.groups, strict=True)
    )


def fit_tied(data: Comparisons) -> TiedFit:
    """Fit by maximum likelihood with Laplace's approximation.

    References
    ----------
    Kristensen, K. et al. (2016). TMB: automatic differentiation and Laplace approximation. JSS 70(5).

    Examples
    --------
    >>> wins = np.repeat([1, 0], [6, 3])
    >>> fit = fit_tied(Comparisons(np.zeros(9, int), np.ones(9, int), wins, 2, 2))
    >>> fit.coefficients.round(4).tolist()  # log 3/6
    [-0.6931]
    """
    near = restricted(data, penalty=0.5)
    model = Tied(data)
    outer = len(near.parameters)
    x = np.concatenate([near.parameters, near.coefficients])
    scale = np.zeros((len(x), len(x)))
    scale[:outer, :outer] = np.linalg.cholesky(_floored(near.parameter_covariance)) if outer else 0.0
    scale[outer:, outer:] = np.linalg.cholesky(near.covariance)
    x, settled = _searched(model, x, scale, 1e-5)
    mode = model.mode(x)
    if len(x) <= CENTRAL_SIZE or data.n * len(x) <= EXACT_COST:
        free = np.ones(len(x), dtype=bool)
        free[model.spacings : outer] = x[model.spacings : outer] > SMALLEST + 1.0
        covariance = np.zeros((len(x), len(x)))
        hessian = _outer_hessian(model, x, len(x))
        at = np.flatnonzero(free)
        covariance[np.ix_(at, at)] = np.linalg.inv(hessian[np.ix_(at, at)])
        covariance = (covariance + covariance.T)[outer:, outer:] / 2
    else:
        covariance = near.covariance  # of the restricted likelihood, which is a little wider
    spacing, sd, beta = model.split(x)
    sd = np.where(sd < 1.1e-3, 0.0, sd)
    return TiedFit(-mode.value, beta, covariance, sd, cut_points(spacing, data.categories), settled)


def _floored(matrix: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.clip(values, 1e-6, 1.0)) @ vectors.T)
