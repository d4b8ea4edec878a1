"""What a fit has to say about itself: variances at zero, flat directions, separation, gaps between categories.

A number that should not be trusted blindly never leaves the engine without one of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from ordbridge.models.problem import Condition, Problem

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


def clm_conditions(
    found: ClmSolution, ratings: Responses, separated: Sequence[str] = ()
) -> tuple[list[Condition], np.ndarray, bool]:
    """Return ordinal's own convergence checks (``conv.check``) with the covariance matrix and whether all is well.

    ``separated`` says what :func:`separated_levels` and :func:`unused_categories` found.
    """
    size = found.parameters.size
    vcov = np.full((size, size), np.nan)
    named = [_warning(_runs_away(words)) for words in separated]
    if not np.isfinite(found.hessian).all():
        words = "Model failed to converge: its Hessian is not a number - Rescale variables?"
        return [*named, _warning(words)], vcov, False
    values = np.linalg.eigvalsh(found.hessian)
    steepest = float(np.abs(found.gradient).max())
    if (negative := int((values < -TOLERANCE).sum())) > 0:
        words = f"Model failed to converge: degenerate Hessian with {negative} negative eigenvalues"
        return [*named, _warning(words)], vcov, False
    if values[0] > 0:
        with suppress(np.linalg.LinAlgError):  # where a threshold has run away, rounding decides
            vcov = np.linalg.inv(found.hessian)
    if steepest > 1e-6 or not found.converged:
        return [*named, _warning(f"Model failed to converge with max|grad| = {steepest:g} (tol = 1e-06)")], vcov, False
    if not _increasing(found.parameters, ratings):
        return [*named, _warning("not all thresholds are increasing: fit is invalid")], vcov, False
    said = []
    if values[0] < TOLERANCE:
        words = "Hessian is numerically singular: parameters are not uniquely determined"
        return [*named, _warning(words)], np.full((size, size), np.nan), False
    if values[-1] * TOLERANCE > 1:
        said.append(_warning("Model is nearly unidentifiable: very large eigenvalue - Rescale variables?"))
    if values[0] / values[-1] < TOLERANCE:
        said.append(_warning("Model is nearly unidentifiable: large eigenvalue ratio - Rescale variables?"))
    said += named or _separation(found.parameters, vcov, ratings)
    return said, vcov, not said


def _increasing(parameters: np.ndarray, ratings: Responses) -> bool:
    """Tell whether the thresholds of every row are in order; nominal effects move each on its own."""
    alpha = parameters[: ratings.n_alpha].reshape(-1, ratings.jacobian.shape[1])
    steps = np.diff(alpha @ ratings.jacobian.T, axis=1)
    if not ratings.nominal.shape[1]:
        return bool((steps > 0).all())
    return bool((steps[0] + ratings.nominal @ steps[1:] > 0).all())


def _separation(parameters: np.ndarray, vcov: np.ndarray, ratings: Responses) -> list[Condition]:
    """Say that an estimate runs away: a standard error that no overlapping data produce.

    Compared are cut-points at the mean of all columns, and coefficients a standard deviation of their column, so that
    units do not matter. With the heavy tails of the cauchit link a rare category has a cut-point in the hundreds, known
    to its own size: there a standard error is measured by the estimate.
    """
    J, X, N = ratings.jacobian, ratings.X, ratings.nominal
    cuts, n_alpha = J.shape
    if ratings.size == n_alpha + X.shape[1]:
        reach = np.abs(J).max() * n_alpha + np.abs(X).max(initial=0.0) * X.shape[1]
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
    return [_warning(_runs_away("some categories or levels are separated"))]


def _means_and_sds(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    means = columns.sum(axis=0) / len(columns)
    centred = columns - means
    return means, np.sqrt((centred * centred).sum(axis=0) / len(columns))


def _runs_away(words: str) -> str:
    return f"estimates run away: {words} (a likelihood without a maximum)"


Counts = Mapping[str, Sequence[int]]  # how often each level of a factor was given each category


def separated_levels(categories: Sequence[str], counts: Counts, total: Sequence[int]) -> list[str]:
    """Say which levels of fixed effects leave no room for a maximum: their ratings are all in one outermost category.

    ``total`` has the counts of all rows. Also named is a level whose ratings are all at least as high, or as low, as
    all others (Albert & Anderson 1984, Biometrika 71, 1-10: complete and quasi-complete separation).

    Examples
    --------
    >>> separated_levels(("1", "2", "3"), {"system A": [1, 1, 0], "system B": [0, 0, 2]}, [1, 1, 2])
    ['system B is always rated 3']
    """
    ranges = {name: _used(own) for name, own in counts.items()}
    ends = (0, len(categories) - 1)
    always = [
        f"{name} is always rated {categories[low]}"
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
            return [f"{name} is never rated lower than anything else"]
        if high <= lowest:
            return [f"{name} is never rated higher than anything else"]
    return []


def _used(counts: Sequence[int]) -> tuple[int, int]:
    """Return the lowest and the highest category that was given."""
    given = [category for category, count in enumerate(counts) if count]
    return given[0], given[-1]


def unused_categories(categories: Sequence[str], counts: Counts) -> list[str]:
    """Say which levels of nominal effects were never given some category, beside which no threshold has an estimate.

    Examples
    --------
    >>> unused_categories(("1", "2", "3"), {"system A": [1, 1, 1], "system B": [1, 1, 0]})
    ['system B is never rated 3, so that its thresholds beside it have no estimate']
    """
    said = []
    for name, own in counts.items():
        missing = [category for category, count in zip(categories, own, strict=True) if not count]
        if missing:
            said.append(
                f"{name} is never rated {', '.join(missing)}, so that its thresholds beside it have no estimate"
            )
    return said


def clmm_conditions(
    found: ClmmSolution, ratings: Responses, separated: Sequence[str] = ()
) -> tuple[list[Condition], np.ndarray, bool, bool]:
    """Return what to say, the covariance of the ratings' parameters, and whether converged and singular."""
    said: list[Condition] = []
    n_mean = ratings.size
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
    rank_deficient = any(_nearly_singular(L) for L in found.L)
    inside = not at_zero and not rank_deficient
    unidentified = inside and _unidentified(found.hessian[n_mean:, n_mean:], UNKNOWN_BY_DIFFERENCES)
    if unidentified:
        said.append(_warning(UNIDENTIFIED))
    elif flat and definite:
        said.append(
            _message(
                f"{flat} direction{'s' if flat > 1 else ''} of the random effects' covariances cannot be determined"
            )
        )
    if not definite and not unidentified:
        said.append(_warning("the Hessian is not positive definite: standard errors are not to be trusted"))
    steepest = float(np.abs(found.gradient[found.free]).max())
    if not found.converged or steepest > GRADIENT * max(1.0, abs(found.loglik) * 1e-3):
        said.append(_warning(f"the optimiser did not converge: max|gradient| = {steepest:.2g}"))
    if found.unsettled is not None:
        said.append(
            _warning(
                f"from another start the search reached a log likelihood of {found.unsettled:.2f} and did not "
                "converge: random effects have no clear mode there; use fewer random effects or another link"
            )
        )
        if not found.converged or found.unsettled - found.loglik > VANISHING_MODE:
            vcov = np.full_like(vcov, np.nan)  # not a maximum, or not the one that the data speak for
    if not _increasing(found.parameters, ratings):
        said.append(_warning("not all thresholds are increasing: fit is invalid"))
    named = [_warning(_runs_away(words)) for words in separated]
    said += named or _separation(found.parameters[:n_mean], vcov, ratings)
    if rank_deficient and not at_zero:
        said.append(_message("boundary (singular) fit: random effects are perfectly correlated"))
    converged = not any(condition.kind == "warning" for condition in said)
    return said, vcov, converged, bool(at_zero or rank_deficient or (flat and not unidentified))


UNIDENTIFIED = (
    "the data do not identify the model: some combination of the random effects' variances and correlations "
    "leaves the likelihood unchanged; simplify the random effects"
)


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


def lm_conditions(y: np.ndarray, sigma: float) -> list[Condition]:
    """Return what R's summary of a linear model says where nothing is left over."""
    if sigma**2 < (float(np.mean(y)) ** 2 + float(np.var(y))) * 1e-30:
        return [_warning("essentially perfect fit: summary may be unreliable")]
    return []


def lmer_conditions(found: LmerSolution) -> tuple[list[Condition], bool]:
    """Return lme4's message on singular fits and whether the optimiser converged."""
    said = []
    if found.singular:
        said.append(_message("boundary (singular) fit: see help('isSingular')"))
    if not found.converged:
        steepest = float(np.abs(found.gradient).max())
        said.append(_warning(f"Model failed to converge with max|grad| = {steepest:g}"))
    identified = found.singular or not _unidentified(found.hessian, UNKNOWN)
    if not identified:
        said.append(_warning(UNIDENTIFIED))
    if np.isnan(found.df).any():
        said.append(_warning("the degrees of freedom cannot be computed: the deviance is flat in the variances"))
    return said, found.converged and identified
