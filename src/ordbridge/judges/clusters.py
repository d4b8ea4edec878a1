"""Means and regressions with standard errors over clusters, and a jackknife over clusters and raters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ordbridge.reliability.jackknife import TOGETHER, combined, group_of, variance_together

Interval = dict[str, float]
"""``estimate``, ``conf_low``, ``conf_high``, and ``p_value`` of a test against 0."""
MOST_GROUPS = 50


def student(estimate: float, error: float, df: float, conf_level: float) -> Interval:
    """Return an estimate with Student's interval and test."""
    from scipy.stats import t

    width = float(t.ppf((1 + conf_level) / 2, df)) * error
    p = float(2 * t.sf(abs(estimate) / error, df)) if error > 0 else float("nan")
    return {"estimate": estimate, "conf_low": estimate - width, "conf_high": estimate + width, "p_value": p}


def regression(y: np.ndarray, x: np.ndarray, cluster: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    r"""Return least-squares coefficients, their covariance over clusters (CR1), and its degrees of freedom.

    Examples
    --------
    >>> b, v, df = regression(np.array([1.0, 2.0, 4.0]), np.ones((3, 1)), np.arange(3))
    >>> round(float(b[0]), 2), round(float(v[0, 0]), 4), df  # the mean, s²/n, n − 1
    (2.33, 0.7778, 2)
    """
    bread = np.linalg.pinv(x.T @ x)
    b = bread @ x.T @ y
    _, at = np.unique(cluster, return_inverse=True)
    groups = int(at.max()) + 1
    scores = np.zeros((groups, x.shape[1]))
    np.add.at(scores, at, x * (y - x @ b)[:, None])
    factor = groups / (groups - 1) * (len(y) - 1) / max(len(y) - x.shape[1], 1) if groups > 1 else np.nan
    return b, bread @ (factor * scores.T @ scores) @ bread, groups - 1


def jackknife(
    statistic: Callable[[np.ndarray], np.ndarray], sides: list[np.ndarray], conf_level: float
) -> list[Interval]:
    """Return a vector of statistics with intervals from leaving out the groups of each side.

    Parameters
    ----------
    statistic
        The statistics of the rows that are kept.
    sides
        For each source of variance, clusters or raters, the group of every row; more than 50 are joined at random.

    References
    ----------
    As :mod:`ordbridge.reliability.jackknife`: what clusters and raters both count is taken off once, with
    Satterthwaite's degrees of freedom.
    """
    whole = statistic(np.ones(len(sides[0]), dtype=bool))
    left_out = [_groups(side, MOST_GROUPS) for side in sides]
    found = [np.array([statistic(group != g) for g in range(groups)]) for group, groups in left_out if groups > 1]
    variances = [(len(v) - 1) / len(v) * ((v - v.mean(axis=0)) ** 2).sum(axis=0) for v in found]
    sizes = [len(values) for values in found]
    if len(found) == 2:
        (one, g), (other, h) = (_groups(side, TOGETHER) for side in sides)
        both = np.array([[statistic((one != i) & (other != j)) for j in range(h)] for i in range(g)])
        alone = [np.array([statistic(group != k) for k in range(n)]) for group, n in ((one, g), (other, h))]
        with np.errstate(invalid="ignore"):
            single = np.nan_to_num(variance_together(whole, alone[0], alone[1], both))  # 0 is on the safe side
        total, df = combined(variances[0], variances[1], single, sizes[0], sizes[1])
    else:
        total = variances[0] if variances else np.full(len(whole), np.nan)
        df = np.full(len(whole), sizes[0] - 1.0 if sizes else 1.0)
    return [
        student(float(value), float(np.sqrt(v)), float(f) if np.isfinite(f) else 1.0, conf_level)
        for value, v, f in zip(whole, total, df, strict=True)
    ]


def _groups(side: np.ndarray, most: int) -> tuple[np.ndarray, int]:
    """Return the group of every row, and how many groups there are."""
    _, at = np.unique(side, return_inverse=True)
    size = int(at.max()) + 1
    return group_of(size, most)[at], min(size, most)
