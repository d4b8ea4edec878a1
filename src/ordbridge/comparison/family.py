"""Several comparisons at once: corrected p-values, and the level of each interval that says the same.

An interval at the level at which a method tests its pair excludes 0 exactly where the corrected p-value is below α. For
Holm's method that is α/(m − i) for the pair with i smaller p-values, down to the first that is not significant, whose
level the rest have (Serlin 1993; Ludbrook 2000). Each of these intervals contains the uncorrected one, so that its own
coverage is never below 1 − α.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ordbridge.models.inference.adjust import tukey, with_alphas

NAMES = {
    "holm": "Holm",
    "dunnett": "Dunnett",
    "tukey": "Tukey",
    "bonferroni": "Bonferroni",
    "sidak": "Šidák",
    "fdr": "Benjamini–Hochberg",
    "none": "uncorrected",
}
ADJUSTMENTS = tuple(NAMES)
POINTS = 2**14  # of the integrals of Dunnett's distribution, whose error is then about 1e-5
ACCURACY = 1e-4  # p-values below it are not left to these integrals


@dataclass(frozen=True, eq=False)
class Corrected:
    """The comparisons of one criterion: corrected p-values, and α of each interval."""

    p_value: np.ndarray
    alpha: np.ndarray


def correct(
    p_values: Sequence[np.ndarray],
    method: str,
    alpha: float,
    over_criteria: bool,
    correlations: Sequence[np.ndarray],
    dfs: Sequence[np.ndarray],
    levels: Sequence[int],
) -> list[Corrected]:
    """Correct the p-values of each criterion, and over all criteria where that is asked for.

    Methods that use p-values alone take all comparisons of all criteria as one family. Tukey's and Dunnett's, which
    use the joint distribution within a criterion, are then at α divided by the number of criteria.

    Parameters
    ----------
    p_values
        Two-sided p-values, an array for each criterion.
    method
        One of :data:`ADJUSTMENTS`.
    alpha
        One minus the confidence level.
    over_criteria
        Whether all criteria are one family.
    correlations, dfs, levels
        For each criterion the correlations of the differences, their degrees of freedom (infinite for z), and the
        number of systems: for Dunnett's and Tukey's methods.

    References
    ----------
    Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6.
    Serlin, R. C. (1993). Confidence intervals and the scientific method: a case for Holm on the range. Journal of
    Experimental Education 61, 350–360.
    Benjamini, Y. & Yekutieli, D. (2005). False discovery rate-adjusted multiple confidence intervals for selected
    parameters. Journal of the American Statistical Association 100, 71–81.
    Dunnett, C. W. (1955). A multiple comparison procedure for comparing several treatments with a control. Journal of
    the American Statistical Association 50, 1096–1121.

    Examples
    --------
    >>> found = correct([np.array([0.01, 0.03, 0.5])], "holm", 0.05, False, [], [], [])
    >>> found[0].p_value.round(3).tolist(), found[0].alpha.round(4).tolist()
    ([0.03, 0.06, 0.5], [0.0167, 0.025, 0.025])
    """
    p_values = [np.nan_to_num(p, nan=1.0) for p in p_values]  # pairs that could not be compared
    if method in ("dunnett", "tukey"):
        families = len(p_values) if over_criteria else 1
        parts = zip(p_values, correlations, dfs, levels, strict=True)
        return [_joint(p, method, alpha, families, r, df, k) for p, r, df, k in parts]
    if not over_criteria:
        return [Corrected(*with_alphas(p, method, alpha)) for p in p_values]
    adjusted, alphas = with_alphas(np.concatenate(p_values), method, alpha)
    ends = np.cumsum([len(p) for p in p_values])[:-1]
    return [Corrected(*both) for both in zip(np.split(adjusted, ends), np.split(alphas, ends), strict=True)]


def _joint(
    p: np.ndarray, method: str, alpha: float, families: int, correlation: np.ndarray, df: np.ndarray, levels: int
) -> Corrected:
    """Correct by the distribution of the largest of the statistics; a p-value stands for the t that it belongs to."""
    from scipy import stats
    from scipy.optimize import brentq

    def survives(t: float, df: float) -> float:
        if method == "tukey":
            return tukey(t, df, levels)
        return largest_of(t, df, correlation)

    t = stats.t.isf(p / 2, df)
    found = np.array([survives(one, v) if np.isfinite(one) else 0.0 for one, v in zip(t, df, strict=True)])
    most = np.minimum(1.0, (levels * (levels - 1) / 2 if method == "tukey" else len(p)) * p)
    adjusted = np.where(most < ACCURACY, most, np.clip(found, p, most))  # far out Bonferroni's bound is the value
    alphas = np.empty(len(p))
    for v in np.unique(df):
        edge = brentq(lambda q, v=v: survives(q, v) - alpha / families, 0.1, 200.0, xtol=1e-6)
        alphas[df == v] = 2.0 * stats.t.sf(edge, v)
    return Corrected(np.minimum(1.0, families * adjusted), alphas)


def largest_of(t: float, df: float, correlation: np.ndarray) -> float:
    """Return the probability that the largest |T| of correlated t statistics exceeds t.

    T is a multivariate normal vector over a common √(χ²/df); the rectangle is integrated by separation of variables on
    fixed quasi-random points, so that the answer is always the same.

    References
    ----------
    Genz, A. (1992). Numerical computation of multivariate normal probabilities. Journal of Computational and Graphical
    Statistics 1, 141–149.

    Examples
    --------
    >>> half = np.array([[1, 0.5], [0.5, 1]])
    >>> round(largest_of(2.2121, float("inf"), half), 3)  # Dunnett's critical value for two comparisons
    0.05
    """
    from scipy import stats
    from scipy.special import ndtr, ndtri

    root = np.linalg.cholesky(correlation + 1e-10 * np.eye(len(correlation)))
    points = _points(len(correlation))
    edge = np.full(len(points), float(t))
    if np.isfinite(df):
        edge = t * np.sqrt(stats.chi2.ppf(points[:, -1], df) / df)
    inside = np.ones(len(points))
    z = np.zeros((len(points), len(correlation)))
    for k in range(len(correlation)):
        shift = z[:, :k] @ root[k, :k]
        low, high = ndtr((-edge - shift) / root[k, k]), ndtr((edge - shift) / root[k, k])
        inside *= high - low
        z[:, k] = ndtri(np.clip(low + points[:, k] * (high - low), 1e-15, 1 - 1e-15))
    return float(1.0 - inside.mean())


@lru_cache(maxsize=8)
def _points(dimensions: int) -> np.ndarray:
    from scipy.stats import qmc

    points: np.ndarray = qmc.Sobol(dimensions + 1, seed=1).random(POINTS)
    return points
