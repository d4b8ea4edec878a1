"""What a fit has to say about itself: variances at zero, flat directions, separation, gaps between categories.

A number that should not be trusted blindly never leaves the engine without one of these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ordbridge.models.problem import Condition, Problem

if TYPE_CHECKING:
    from ordbridge.fast.clm import ClmSolution
    from ordbridge.fast.clmm import ClmmSolution
    from ordbridge.fast.lmer import LmerSolution

__all__ = ["clm_conditions", "clmm_conditions", "gap_conditions", "lmer_conditions"]

TOLERANCE = np.sqrt(np.finfo(float).eps)  # of ordinal's convergence checks
GRADIENT = 1e-3  # gradient that a mixed model may be left with
FLAT = 1e-6  # eigenvalues of the variance parameters below this share of the largest say nothing
SEPARATED = 8.0  # standard errors, on the latent scale, that only separated data produce


def _warning(text: str) -> Condition:
    return Condition("fit", "warning", text)


def _message(text: str) -> Condition:
    return Condition("fit", "message", text)


def gap_conditions(problem: Problem, levels: tuple[str, ...]) -> list[Condition]:
    """Say which whole numbers between the lowest and the highest rating nobody used."""
    try:
        used = [int(level) for level in levels]
    except ValueError:
        return []
    if used != sorted(used) or used[-1] - used[0] > 100:
        return []
    gaps = sorted(set(range(used[0], used[-1])) - set(used))
    if not gaps:
        return []
    shown = ", ".join(map(str, gaps))
    return [_message(f"no {problem.formula.response} is {shown}: the categories beside it are treated as neighbours")]


def clm_conditions(found: ClmSolution, X: np.ndarray, jacobian: np.ndarray) -> tuple[list[Condition], np.ndarray, bool]:
    """Return ordinal's own convergence checks (``conv.check``) with the covariance matrix and whether all is well."""
    size = found.parameters.size
    vcov = np.full((size, size), np.nan)
    values = np.linalg.eigvalsh(found.hessian)
    steepest = float(np.abs(found.gradient).max())
    if (negative := int((values < -TOLERANCE).sum())) > 0:
        words = f"Model failed to converge: degenerate Hessian with {negative} negative eigenvalues"
        return [_warning(words)], vcov, False
    if values[0] > 0:
        vcov = np.linalg.inv(found.hessian)
    if steepest > 1e-6 or not found.converged:
        return [_warning(f"Model failed to converge with max|grad| = {steepest:g} (tol = 1e-06)")], vcov, False
    cutpoints = jacobian @ found.parameters[: jacobian.shape[1]]
    if (np.diff(cutpoints) <= 0).any():
        return [_warning("not all thresholds are increasing: fit is invalid")], vcov, False
    said = []
    if values[0] < TOLERANCE:
        words = "Hessian is numerically singular: parameters are not uniquely determined"
        return [_warning(words)], np.full((size, size), np.nan), False
    if values[-1] * TOLERANCE > 1:
        said.append(_warning("Model is nearly unidentifiable: very large eigenvalue - Rescale variables?"))
    if values[0] / values[-1] < TOLERANCE:
        said.append(_warning("Model is nearly unidentifiable: large eigenvalue ratio - Rescale variables?"))
    said += _separation(vcov, X, jacobian)
    return said, vcov, not said


def _separation(vcov: np.ndarray, X: np.ndarray, jacobian: np.ndarray) -> list[Condition]:
    """Say that an estimate runs away: a standard error that no overlapping data produce.

    Compared are cut-points at the mean of X and coefficients a standard deviation of their column, so that units do not
    matter.
    """
    n_alpha = jacobian.shape[1]
    T = np.zeros((jacobian.shape[0] + X.shape[1], vcov.shape[0]))
    T[: jacobian.shape[0], :n_alpha] = jacobian
    T[: jacobian.shape[0], n_alpha:] = -X.mean(axis=0)
    T[jacobian.shape[0] :, n_alpha:] = np.diag(X.std(axis=0))
    with np.errstate(invalid="ignore"):
        std_error = np.sqrt(np.diag(T @ vcov @ T.T))
    if not (std_error > SEPARATED).any():
        return []
    return [_warning("estimates run away: some categories or levels are separated (a likelihood without a maximum)")]


def clmm_conditions(
    found: ClmmSolution, X: np.ndarray, jacobian: np.ndarray
) -> tuple[list[Condition], np.ndarray, bool, bool]:
    """Return what to say, the covariance of thresholds and coefficients, and whether converged and singular."""
    said: list[Condition] = []
    n_mean = jacobian.shape[1] + X.shape[1]
    at_zero = found.parameters.size - found.free.size
    if at_zero:
        plural = "s are" if at_zero > 1 else " is"
        said.append(
            _message(
                f"boundary (singular) fit: {at_zero} standard deviation{plural} estimated at zero and left out of the "
                "Hessian, as ordinal does"
            )
        )
    vcov, flat, definite = _mean_covariance(found.hessian, n_mean)
    if flat and definite:
        said.append(
            _message(
                f"{flat} direction{'s' if flat > 1 else ''} of the random effects' covariances cannot be determined"
            )
        )
    if not definite:
        said.append(_warning("the Hessian is not positive definite: standard errors are not to be trusted"))
    steepest = float(np.abs(found.gradient[found.free]).max())
    if not found.converged or steepest > GRADIENT * max(1.0, abs(found.loglik) * 1e-3):
        said.append(_warning(f"the optimiser did not converge: max|gradient| = {steepest:.2g}"))
    said += _separation(vcov, X, jacobian)
    rank_deficient = any(_nearly_singular(L) for L in found.L)
    if rank_deficient and not at_zero:
        said.append(_message("boundary (singular) fit: random effects are perfectly correlated"))
    converged = not any(condition.kind == "warning" for condition in said)
    return said, vcov, converged, bool(at_zero or flat or rank_deficient)


def _mean_covariance(hessian: np.ndarray, n_mean: int) -> tuple[np.ndarray, int, bool]:
    """Invert the Hessian for thresholds and coefficients; flat directions of variances are left out, and counted."""
    values = np.linalg.eigvalsh(hessian)
    if values[0] > 1e-9 * values[-1]:
        return np.linalg.inv(hessian)[:n_mean, :n_mean], 0, True
    variance = hessian[n_mean:, n_mean:]
    inner, vectors = np.linalg.eigh(variance)
    keep = inner > FLAT * max(inner[-1], 1.0) if inner.size else np.zeros(0, dtype=bool)
    cross = hessian[:n_mean, n_mean:] @ vectors[:, keep]
    mean = hessian[:n_mean, :n_mean] - (cross / inner[keep]) @ cross.T
    definite = bool(np.linalg.eigvalsh(mean)[0] > 0 and (not inner.size or inner[0] > -1e-4 * max(inner[-1], 1.0)))
    if np.linalg.eigvalsh(mean)[0] > 0:
        return np.linalg.inv(mean), int((~keep).sum()), definite
    return np.full((n_mean, n_mean), np.nan), int((~keep).sum()), False


def _nearly_singular(L: np.ndarray) -> bool:
    """Whether a covariance L L' has a direction without variance that is no zero on the diagonal of L."""
    largest = np.abs(L).max(initial=0.0)
    return bool(largest > 0 and (np.abs(np.diag(L)) < 1e-3 * largest).any())


def lmer_conditions(found: LmerSolution) -> tuple[list[Condition], bool]:
    """Return lme4's message on singular fits and whether the optimiser converged."""
    said = []
    if found.singular:
        said.append(_message("boundary (singular) fit: see help('isSingular')"))
    if not found.converged:
        steepest = float(np.abs(found.gradient).max())
        said.append(_warning(f"Model failed to converge with max|grad| = {steepest:g}"))
    if np.isnan(found.df).any():
        said.append(_warning("the degrees of freedom cannot be computed: the deviance is flat in the variances"))
    return said, found.converged
