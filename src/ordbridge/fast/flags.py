"""What a fit has to say about itself: variances at zero, flat directions, separation, gaps between categories.

A number that should not be trusted blindly never leaves the engine without one of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from ordbridge.models.problem import Problem
from ordbridge.results.finding import Finding, found

if TYPE_CHECKING:
    from ordbridge.fast.clm import ClmSolution
    from ordbridge.fast.clmm import ClmmSolution
    from ordbridge.fast.lmer import LmerSolution
    from ordbridge.fast.ratings import Responses

__all__ = [
    "clm_conditions",
    "clmm_conditions",
    "gap_conditions",
    "lm_conditions",
    "lmer_conditions",
    "separated_levels",
    "unused_categories",
]

TOLERANCE = np.sqrt(np.finfo(float).eps)  # of ordinal's convergence checks
GRADIENT = 1e-3  # gradient that a mixed model may be left with
FLAT = 1e-6  # eigenvalues of the variance parameters below this share of the largest say nothing
UNKNOWN = 1e-6  # the same after scaling to a unit diagonal, where nothing is at zero: then the model is not identified
UNKNOWN_BY_DIFFERENCES = 1e-5  # for a Hessian that comes from differences
VANISHING_MODE = 7.0  # what log det H / 2 alone can gain: an eigenvalue of 1e-6 where a mode of random effects vanishes
SEPARATED = 8.0  # a standard error, on the latent scale, that only separated data produce


def gap_conditions(problem: Problem, levels: tuple[str, ...]) -> list[Finding]:
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
    return [found("rating-gap", response=str(problem.formula.response), gaps=shown)]


def clm_conditions(
    solution: ClmSolution, ratings: Responses, separated: Sequence[Finding] = ()
) -> tuple[list[Finding], np.ndarray, bool]:
    """Return ordinal's own convergence checks (``conv.check``) with the covariance matrix and whether all is well.

    ``separated`` says what :func:`separated_levels` and :func:`unused_categories` solution.
    """
    size = solution.parameters.size
    vcov = np.full((size, size), np.nan)
    named = list(separated)
    if not size:  # two categories with a cut-point at zero, and nothing to explain them
        return named, vcov, not named
    if not np.isfinite(solution.hessian).all():
        return [*named, found("hessian-not-a-number")], vcov, False
    values = np.linalg.eigvalsh(solution.hessian)
    steepest = float(np.abs(solution.gradient).max())
    if (negative := int((values < -TOLERANCE).sum())) > 0:
        return [*named, found("hessian-degenerate", n=negative)], vcov, False
    if values[0] > 0:
        with suppress(np.linalg.LinAlgError):  # where a threshold has run away, rounding decides
            vcov = np.linalg.inv(solution.hessian)
    if steepest > 1e-6 or not solution.converged:
        return [*named, found("gradient-too-large", gradient=steepest)], vcov, False
    if not _increasing(solution.parameters, ratings):
        return [*named, found("thresholds-not-increasing")], vcov, False
    said = []
    if values[0] < TOLERANCE:
        return [*named, found("hessian-singular")], np.full((size, size), np.nan), False
    if values[-1] * TOLERANCE > 1:
        said.append(found("large-eigenvalue"))
    if values[0] / values[-1] < TOLERANCE:
        said.append(found("large-eigenvalue-ratio"))
    said += named or _separation(solution.parameters, vcov, ratings)
    return said, vcov, not said


def _increasing(parameters: np.ndarray, ratings: Responses) -> bool:
    """Tell whether the thresholds of every row are in order; nominal effects move each on its own."""
    alpha = parameters[: ratings.n_alpha].reshape(1 + ratings.nominal.shape[1], -1)
    steps = np.diff(alpha @ ratings.jacobian.T, axis=1)
    if not ratings.nominal.shape[1]:
        return bool((steps > 0).all())
    return bool((steps[0] + ratings.nominal @ steps[1:] > 0).all())


def _separation(parameters: np.ndarray, vcov: np.ndarray, ratings: Responses) -> list[Finding]:
    """Say that an estimate runs away: a standard error that no overlapping data produce.

    Compared are cut-points at the mean of all columns, and coefficients a standard deviation of their column, so that
    units do not matter. With the heavy tails of the cauchit link a rare category has a cut-point in the hundreds, known
    to its own size: there a standard error is measured by the estimate.
    """
    J, X, N = ratings.jacobian, ratings.X, ratings.nominal
    cuts, n_alpha = J.shape
    if not ratings.size:
        return []
    if ratings.size == n_alpha + X.shape[1]:
        reach = np.abs(J).max(initial=0.0) * n_alpha + np.abs(X).max(initial=0.0) * X.shape[1]
        if np.sqrt(np.diag(vcov).max()) * reach < SEPARATED:
            return []  # then none of the combinations below is that uncertain
    T = np.zeros((cuts * (1 + N.shape[1]) + X.shape[1] + ratings.scale.shape[1], vcov.shape[0]))
    T[:cuts, :n_alpha] = J
    means, sds = _means_and_sds(X)
    T[:cuts, ratings.n_alpha : ratings.n_alpha + X.shape[1]] = -means
    for m, (mean, sd) in enumerate(zip(*_means_and_sds(N), strict=True), start=1):
        own = slice(m * n_alpha, (m + 1) * n_alpha)
        T[:cuts, own] = mean * J
        T[m * cuts : (m + 1) * cuts, own] = sd * J
    rest = np.concatenate([sds, _means_and_sds(ratings.scale)[1]])
    T[len(T) - rest.size :, vcov.shape[0] - rest.size :] = np.diag(rest)
    with np.errstate(invalid="ignore"):
        std_error = np.sqrt(np.diag(T @ vcov @ T.T))
    unit = np.maximum(1.0, np.abs(T @ parameters)) if ratings.link == "cauchit" else 1.0
    if not (std_error > SEPARATED * unit).any():
        return []
    return [found("separated-somewhere")]


def _means_and_sds(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    means = columns.sum(axis=0) / len(columns)
    centred = columns - means
    return means, np.sqrt((centred * centred).sum(axis=0) / len(columns))


Counts = Mapping[str, Sequence[int]]  # how often each level of a factor was given each category


def separated_levels(categories: Sequence[str], counts: Counts, total: Sequence[int]) -> list[Finding]:
    """Say which levels of fixed effects leave no room for a maximum: their ratings are all in one outermost category.

    ``total`` has the counts of all rows. Also named is a level whose ratings are all at least as high, or as low, as
    all others (Albert & Anderson 1984, Biometrika 71, 1-10: complete and quasi-complete separation).

    Examples
    --------
    >>> [said] = separated_levels(("1", "2", "3"), {"system A": [1, 1, 0], "system B": [0, 0, 2]}, [1, 1, 2])
    >>> said.text
    'Estimates run away: system B is always rated 3 (a likelihood without a maximum).'
    """
    ranges = {name: _used(own) for name, own in counts.items()}
    ends = (0, len(categories) - 1)
    always = [
        found("separated", level=name, how="is always rated", rating=f"{categories[low]} ")
        for name, (low, high) in ranges.items()
        if low == high and low in ends
    ]
    if always:
        return always
    for name, (low, high) in ranges.items():
        others = [all_of - own for all_of, own in zip(total, counts[name], strict=True)]
        if not any(others):
            continue
        lowest, highest = _used(others)
        if low >= highest:
            return [found("separated", level=name, how="is never rated lower than anything else", rating="")]
        if high <= lowest:
            return [found("separated", level=name, how="is never rated higher than anything else", rating="")]
    return []


def _used(counts: Sequence[int]) -> tuple[int, int]:
    """Return the lowest and the highest category that was given."""
    given = [category for category, count in enumerate(counts) if count]
    return given[0], given[-1]


def unused_categories(categories: Sequence[str], counts: Counts) -> list[Finding]:
    """Say which levels of nominal effects were never given some category, beside which no threshold has an estimate.

    Examples
    --------
    >>> [said] = unused_categories(("1", "2", "3"), {"system A": [1, 1, 1], "system B": [1, 1, 0]})
    >>> said.values["level"], said.values["categories"]
    ('system B', '3')
    """
    said = []
    for name, own in counts.items():
        missing = [category for category, count in zip(categories, own, strict=True) if not count]
        if missing:
            said.append(found("category-never-given", level=name, categories=", ".join(missing)))
    return said


def clmm_conditions(
    solution: ClmmSolution, ratings: Responses, separated: Sequence[Finding] = ()
) -> tuple[list[Finding], np.ndarray, bool, bool]:
    """Return what to say, the covariance of the ratings' parameters, and whether converged and singular."""
    said: list[Finding] = []
    n_mean = ratings.size
    at_zero = solution.parameters.size - solution.free.size
    if at_zero:
        said.append(found("sd-at-zero", n=at_zero))
    vcov, flat, definite = _mean_covariance(solution.hessian, n_mean)
    rank_deficient = any(_nearly_singular(L) for L in solution.L)
    inside = not at_zero and not rank_deficient
    unidentified = inside and _unidentified(solution.hessian[n_mean:, n_mean:], UNKNOWN_BY_DIFFERENCES)
    if unidentified:
        said.append(found("not-identified"))
    elif flat and definite:
        said.append(found("flat-covariances", n=flat))
    if not definite and not unidentified:
        said.append(found("hessian-not-definite"))
    steepest = float(np.abs(solution.gradient[solution.free]).max())
    if not solution.converged or steepest > GRADIENT * max(1.0, abs(solution.loglik) * 1e-3):
        said.append(found("optimiser-failed", gradient=steepest))
    if solution.unsettled is not None:
        said.append(found("unsettled-optimum", loglik=solution.unsettled))
        if not solution.converged or solution.unsettled - solution.loglik > VANISHING_MODE:
            vcov = np.full_like(vcov, np.nan)  # not a maximum, or not the one that the data speak for
    if not _increasing(solution.parameters, ratings):
        said.append(found("thresholds-not-increasing"))
    said += separated or _separation(solution.parameters[:n_mean], vcov, ratings)
    if rank_deficient and not at_zero:
        said.append(found("perfectly-correlated"))
    converged = not any(finding.severity == "warning" for finding in said)
    return said, vcov, converged, bool(at_zero or rank_deficient or (flat and not unidentified))


def _unidentified(hessian: np.ndarray, tolerance: float) -> bool:
    """Whether a Hessian in the entries of Cholesky factors is flat in some direction, whatever their units."""
    size = np.sqrt(np.abs(np.diag(hessian)))
    if not size.size:
        return False
    if not (size > 0).all():
        return True
    values = np.linalg.eigvalsh(hessian / size[:, None] / size)
    return bool(values[0] < tolerance * values[-1])


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
    """Whether a covariance L L' has a direction without variance that is not a zero on the diagonal of L."""
    largest = np.abs(L).max(initial=0.0)
    return bool(largest > 0 and (np.abs(np.diag(L)) < 1e-3 * largest).any())


def lm_conditions(y: np.ndarray, sigma: float) -> list[Finding]:
    """Return what R's summary of a linear model says where nothing is left over."""
    if sigma**2 < (float(np.mean(y)) ** 2 + float(np.var(y))) * 1e-30:
        return [found("perfect-fit")]
    return []


def lmer_conditions(solution: LmerSolution) -> tuple[list[Finding], bool]:
    """Return lme4's message on singular fits and whether the optimiser converged."""
    said = []
    if solution.singular:
        said.append(found("singular"))
    if not solution.converged:
        steepest = float(np.abs(solution.gradient).max())
        said.append(found("lmer-not-converged", gradient=steepest))
    identified = solution.singular or not _unidentified(solution.hessian, UNKNOWN)
    if not identified:
        said.append(found("not-identified"))
    if np.isnan(solution.df).any():
        said.append(found("df-unknown"))
    return said, solution.converged and identified
