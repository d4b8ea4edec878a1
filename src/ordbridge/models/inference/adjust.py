"""Several comparisons at once: p-values and interval widths, as emmeans adjusts them."""

from __future__ import annotations

import numpy as np

ADJUSTMENTS = ("holm", "tukey", "bonferroni", "sidak", "fdr", "none")


def adjusted(statistic: np.ndarray, df: np.ndarray, method: str, levels: int) -> np.ndarray:
    """Return two-sided p-values of a family of all comparisons between ``levels`` levels.

    Examples
    --------
    >>> adjusted(np.array([2.0, 3.0, 0.5]), np.full(3, np.inf), "holm", 3).round(4).tolist()
    [0.091, 0.0081, 0.6171]
    """
    from scipy import stats

    if method == "tukey":
        return np.array([tukey(abs(t), v, levels) for t, v in zip(statistic, df, strict=True)])
    return adjusted_p(2.0 * stats.t.sf(np.abs(statistic), df), method)


def adjusted_p(p: np.ndarray, method: str) -> np.ndarray:
    """Return p-values corrected by a method that needs nothing else.

    References
    ----------
    Holm, S. (1979). A simple sequentially rejective multiple test procedure. *Scandinavian Journal of Statistics* 6,
    65–70.
    Benjamini, Y. & Hochberg, Y. (1995). Controlling the false discovery rate. JRSS B 57, 289–300.

    Examples
    --------
    >>> adjusted_p(np.array([0.03, 0.01, 0.5]), "holm").tolist()
    [0.06, 0.03, 0.5]
    """
    m = len(p)
    if method == "none":
        return p
    if method == "bonferroni":
        return np.minimum(1.0, m * p)
    if method == "sidak":
        return -np.expm1(m * np.log1p(-np.minimum(p, 1 - 1e-16)))
    order = np.argsort(p, kind="stable")
    out = np.empty(m)
    if method == "holm":
        out[order] = np.minimum(1.0, np.maximum.accumulate((m - np.arange(m)) * p[order]))
    else:
        out[order] = np.minimum(1.0, np.minimum.accumulate((m / np.arange(1, m + 1) * p[order])[::-1])[::-1])
    return out


def with_alphas(p: np.ndarray, method: str, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Return corrected p-values, and α of the interval of each that excludes 0 where its p-value is below ``alpha``.

    References
    ----------
    Serlin, R. C. (1993). Confidence intervals and the scientific method: a case for Holm on the range. Journal of
    Experimental Education 61, 350–360.

    Examples
    --------
    >>> [part.round(4).tolist() for part in with_alphas(np.array([0.01, 0.03, 0.5]), "holm", 0.05)]
    [[0.03, 0.06, 0.5], [0.0167, 0.025, 0.025]]
    """
    m, adjusted = len(p), adjusted_p(p, method)
    found = int((adjusted < alpha).sum())
    if method == "holm":
        alphas = np.empty(m)
        steps = np.minimum(np.arange(m), min(found, m - 1))  # the method stops at the last of them
        alphas[np.argsort(p, kind="stable")] = alpha / (m - steps)
        return adjusted, alphas
    level = {"none": alpha, "bonferroni": alpha / m, "sidak": -np.expm1(np.log1p(-alpha) / m)}
    return adjusted, np.full(m, level.get(method, alpha * max(1, found) / m))


def tukey(t: float, df: float, levels: int) -> float:
    """Return the p-value of one of all comparisons between ``levels`` levels, by Tukey's studentised range."""
    from scipy import stats

    return float(stats.studentized_range.sf(t * np.sqrt(2.0), levels, min(df, 1e6)))


def quantile(conf_level: float, df: np.ndarray, method: str, levels: int) -> np.ndarray:
    """Return how many standard errors wide a simultaneous interval is on each side; Bonferroni's for Holm and fdr."""
    from scipy import stats

    m = len(df)
    if method == "tukey":
        finite = np.minimum(df, 1e6)
        return np.asarray(stats.studentized_range.ppf(conf_level, levels, finite) / np.sqrt(2.0))
    level = {"none": conf_level, "sidak": conf_level ** (1 / m)}.get(method, 1 - (1 - conf_level) / m)
    return np.asarray(stats.t.ppf(0.5 + level / 2, df))
