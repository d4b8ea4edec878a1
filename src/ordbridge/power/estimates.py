"""What the fits say: power with its uncertainty, comparisons of models, failures, bias and coverage.

Every function takes a fits table (one engine, keys in order) and returns plain Python rows or arrays for one group.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

BIAS = (
    "truth",
    "mean_estimate",
    "bias",
    "bias_mc_error",
    "coverage",
    "coverage_low",
    "coverage_high",
    "mean_std_error",
    "sd_estimate",
    "se_ratio",
)


def clopper_pearson(successes: float, n: float, conf_level: float = 0.95) -> tuple[float, float]:
    """Return the exact binomial interval of a share; counts that are not whole come from weighted datasets.

    References
    ----------
    Clopper, C. J. & Pearson, E. S. (1934). The use of confidence or fiducial limits illustrated in the case of the
    binomial. *Biometrika* 26, 404–413.

    Examples
    --------
    >>> low, high = clopper_pearson(8, 10)
    >>> round(low, 4), round(high, 4)
    (0.4439, 0.9748)
    """
    from scipy.stats import beta  # binomtest has the same interval, for whole counts only, and takes 40 times as long

    tail = (1 - conf_level) / 2
    low = beta.ppf(tail, successes, n - successes + 1) if successes > 0 else 0.0
    high = beta.ppf(1 - tail, successes + 1, n - successes) if successes < n else 1.0
    return float(low), float(high)


def power(p_value: np.ndarray, failed: np.ndarray, alpha: float, conf_level: float = 0.95) -> dict[str, Any]:
    """Return the power of one model in one cell: significant fits among all, failures not significant, as published.

    ``p_value`` is NaN where there is none. If every fit failed there is no power, only the counts.
    """
    n, n_failed = len(p_value), int(failed.sum())
    significant = int((p_value[~failed] < alpha).sum())
    counts = {"n": n, "n_ok": n - n_failed, "n_failed": n_failed}
    names = ("power", "power_if_failures_significant", "conf_low", "conf_high", "mc_error")
    if n_failed == n:
        return counts | dict.fromkeys(names)
    share = significant / n
    low, high = clopper_pearson(significant, n, conf_level)
    values = (share, (significant + n_failed) / n, low, high, math.sqrt(share * (1 - share) / n))
    return counts | dict(zip(names, values, strict=True))


def compare(a: np.ndarray, b: np.ndarray, conf_level: float = 0.95) -> dict[str, Any]:
    """Compare two models by their significant (True) fits on the same datasets.

    The interval is the adjusted Wald interval of Agresti & Min, the test McNemar's exact test: of the datasets on which
    only one model is significant, does either have more than half?

    References
    ----------
    Agresti, A. & Min, Y. (2005). Simple improved confidence intervals for comparing matched proportions. *Statistics in
    Medicine* 24, 729–740.
    McNemar, Q. (1947). Note on the sampling error of the difference between correlated proportions or percentages.
    *Psychometrika* 12, 153–157.

    Examples
    --------
    >>> result = compare(np.array([True] * 8 + [False] * 2), np.array([True] * 2 + [False] * 8))
    >>> result["difference"], result["p_value"]
    (0.6, 0.03125)
    """
    from scipy.stats import binomtest, norm

    n, only_a, only_b = len(a), int((a & ~b).sum()), int((b & ~a).sum())
    z = float(norm.ppf(0.5 + conf_level / 2))
    centre = (only_a - only_b) / (n + 2)
    spread = z * math.sqrt((only_a + only_b + 1) - (only_a - only_b) ** 2 / (n + 2)) / (n + 2)
    discordant = only_a + only_b
    return {
        "n": n,
        "difference": (only_a - only_b) / n,
        "conf_low": max(-1.0, centre - spread),
        "conf_high": min(1.0, centre + spread),
        "only_a": only_a,
        "only_b": only_b,
        "p_value": float(binomtest(only_a, discordant, 0.5).pvalue) if discordant else 1.0,
    }


def bias(
    estimate: np.ndarray, std_error: np.ndarray, df: np.ndarray, truth: float | None, conf_level: float = 0.95
) -> dict[str, Any]:
    """Compare estimates with the truth: bias, coverage of the intervals, and whether standard errors are honest.

    ``df`` is NaN where the test is a z test. ``se_ratio`` is the mean standard error over the standard deviation of the
    estimates: below 1 the model claims more than it knows.

    References
    ----------
    Morris, T. P., White, I. R. & Crowther, M. J. (2019). Using simulation studies to evaluate statistical methods.
    *Statistics in Medicine* 38, 2074–2102.
    """
    from scipy.stats import norm, t

    n = len(estimate)
    row: dict[str, Any] = {"n_ok": n} | dict.fromkeys(BIAS) | {"truth": truth}
    if not n:
        return row
    mean_se = float(std_error.mean())
    row |= {"mean_estimate": float(estimate.mean()), "mean_std_error": mean_se}
    sd = float(estimate.std(ddof=1)) if n > 1 else None
    if sd:
        row |= {"sd_estimate": sd, "se_ratio": mean_se / sd}
    if truth is None:
        return row
    with np.errstate(invalid="ignore"):
        quantile = np.where(np.isnan(df), norm.ppf(0.5 + conf_level / 2), t.ppf(0.5 + conf_level / 2, df))
    covered = int((np.abs(estimate - truth) <= quantile * std_error).sum())
    low, high = clopper_pearson(covered, n, conf_level)
    row |= {"bias": float(estimate.mean()) - truth, "bias_mc_error": None if sd is None else sd / math.sqrt(n)}
    return row | {"coverage": covered / n, "coverage_low": low, "coverage_high": high}
