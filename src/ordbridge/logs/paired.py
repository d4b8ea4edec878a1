"""Two models on the same items: tests, intervals and what the data could have shown. Numbers only.

The unit is the item, never the answer: answers of one item in several epochs are averaged first. Estimates are about
new items of the same kind.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

__all__ = [
    "Paired",
    "clustered",
    "components",
    "constant",
    "detectable",
    "items_needed",
    "mcnemar",
    "mid_p",
    "paired_t",
    "pass_at",
]

POWER = 0.8
MOST_ITEMS = 10_000_000


@dataclass(frozen=True)
class Paired:
    """The mean difference of two models, and how sure it is.

    Attributes
    ----------
    difference
        Mean of the first minus mean of the second, over items.
    std_error, df, statistic, p_value
        Of its test; ``df`` is infinite for a normal distribution, ``p_value`` None where there is nothing to test.
    test
        ``"mcnemar"``, ``"t"``, ``"cluster"`` or ``"none"``.
    centre
        The middle of the interval, which Bonett & Price's method moves towards 0.
    clusters
        How many independent units there are.
    """

    difference: float
    std_error: float
    df: float
    statistic: float | None
    p_value: float | None
    test: str
    centre: float
    clusters: int

    def interval(self, alpha: float) -> tuple[float, float] | None:
        """Return the interval at level 1 − alpha, or None where the differences do not vary."""
        if not self.std_error > 0:
            return None
        half = _quantile(1 - alpha / 2, self.df) * self.std_error
        low, high = self.centre - half, self.centre + half
        return (max(-1.0, low), min(1.0, high)) if self.test == "mcnemar" else (low, high)


def mid_p(first_only: int, second_only: int) -> float:
    """Return McNemar's mid-p value: items that only one of two models got right, against a fair coin.

    Parameters
    ----------
    first_only, second_only
        How many items only the first, and only the second model got right.

    References
    ----------
    Fagerland, M. W., Lydersen, S. & Laake, P. (2013). The McNemar test for binary matched-pairs data: mid-p and
    asymptotic are better than exact conditional. BMC Medical Research Methodology 13, 91.

    Examples
    --------
    >>> round(mid_p(1, 7), 7)
    0.0390625
    """
    from scipy.special import bdtr

    both, least = first_only + second_only, min(first_only, second_only)
    if first_only == second_only:
        return 1.0
    return float(bdtr(least, both, 0.5) + (bdtr(least - 1, both, 0.5) if least else 0.0))


def mcnemar(first: np.ndarray, second: np.ndarray) -> Paired:
    """Compare right and wrong answers: McNemar's mid-p test, and the interval of Bonett & Price.

    Parameters
    ----------
    first, second
        Ones and zeros of the same items.

    References
    ----------
    Bonett, D. G. & Price, R. M. (2012). Adjusted Wald confidence interval for a difference of binomial proportions
    based on paired data. Journal of Educational and Behavioral Statistics 37, 479–488.

    Examples
    --------
    >>> found = mcnemar(np.array([1, 1, 1, 0] * 5), np.array([1, 0, 1, 0] * 5))
    >>> found.difference, [round(end, 3) for end in found.interval(0.05)]
    (0.25, [0.012, 0.443])
    """
    return constant(first.astype(float) - second)


def constant(differences: np.ndarray) -> Paired:
    """Compare shares from 0 to 1 whose differences need not vary: by signs, with Bonett & Price's interval.

    With ones and zeros that is McNemar's mid-p test.

    Examples
    --------
    >>> found = constant(np.zeros(20))
    >>> found.p_value, [round(end, 3) for end in found.interval(0.05)]
    (1.0, [-0.126, 0.126])
    """
    n = len(differences)
    up, down = float(differences[differences > 0].sum()), -float(differences[differences < 0].sum())
    a, b = (up + 1) / (n + 2), (down + 1) / (n + 2)
    error = math.sqrt((a + b - (a - b) ** 2) / (n + 2))
    p = mid_p(int((differences > 0).sum()), int((differences < 0).sum()))
    return Paired((up - down) / n, error, math.inf, None, p, "mcnemar", a - b, n)


def paired_t(differences: np.ndarray) -> Paired:
    """Compare means of items by Student's paired t.

    Examples
    --------
    >>> found = paired_t(np.array([0.1, 0.3, -0.1, 0.2]))
    >>> round(found.difference, 3), found.df, round(found.p_value, 4)
    (0.125, 3, 0.2394)
    """
    n = len(differences)
    mean = float(differences.mean())
    return _of_t(mean, float(differences.std(ddof=1) / math.sqrt(n)), n - 1, "t", n, differences)


def clustered(differences: np.ndarray, cluster: np.ndarray) -> Paired:
    """Compare means of items that belong together in clusters: robust standard error, t with clusters − 1 degrees.

    References
    ----------
    Liang, K.-Y. & Zeger, S. L. (1986). Longitudinal data analysis using generalized linear models. Biometrika 73.
    Miller, E. (2024). Adding error bars to evals. arXiv:2411.00640.

    Examples
    --------
    >>> found = clustered(np.array([0.1, 0.3, -0.1, 0.2]), np.array(["p", "p", "q", "q"]))
    >>> round(found.std_error, 3), found.clusters
    (0.075, 2)
    """
    groups, codes = np.unique(cluster, return_inverse=True)
    mean, g = float(differences.mean()), len(groups)
    sums = np.bincount(codes, weights=differences - mean, minlength=g)
    error = math.sqrt(g / (g - 1) * float((sums**2).sum())) / len(differences)
    return _of_t(mean, error, g - 1, "cluster", g, sums)


def _of_t(mean: float, error: float, df: int, test: str, units: int, values: np.ndarray) -> Paired:
    from scipy.special import stdtr

    if error <= 1e-14 * max(1.0, float(np.abs(values).max(initial=0.0))):  # the same everywhere, but for rounding
        return Paired(mean, 0.0, df, None, None, "none", mean, units)
    t = mean / error
    return Paired(mean, error, df, t, float(2 * stdtr(df, -abs(t))), test, mean, units)


def components(variance: float, within: tuple[float, float], epochs: tuple[float, float]) -> float:
    """Return the share of the variance of item differences that is noise of single runs.

    Parameters
    ----------
    variance
        Of the differences of item means.
    within
        Variance of the answers of one item, for each model.
    epochs
        Harmonic mean of the number of epochs, for each model.

    Examples
    --------
    >>> round(components(0.2, (0.15, 0.15), (3, 3)), 3)
    0.5
    """
    noise = within[0] / epochs[0] + within[1] / epochs[1]
    return 0.0 if variance <= 0 else min(1.0, noise / variance)


def detectable(error: float, df: float, alpha: float, power: float = POWER) -> float:
    """Return the smallest difference that a study with this standard error finds with this power.

    Examples
    --------
    >>> round(detectable(7.4, 28, 0.05), 1)
    21.5
    """
    return (_quantile(1 - alpha / 2, df) + _quantile(power, df)) * error


def items_needed(variance: float, effect: float, alpha: float, power: float = POWER) -> int:
    """Return how many items find a difference, by Student's paired t.

    Parameters
    ----------
    variance
        Of the differences of item means, for one item.
    effect
        The difference to be found.
    alpha, power
        Of the test.

    Examples
    --------
    >>> items_needed(0.16, 0.1, 0.05)
    128
    """
    effect = abs(effect)
    if variance <= 0:
        return 2
    n = max(2.0, (_quantile(1 - alpha / 2, math.inf) + _quantile(power, math.inf)) ** 2 * variance / effect**2)
    low = max(2, int(n))
    while low < MOST_ITEMS and detectable(math.sqrt(variance / low), low - 1, alpha, power) > effect:
        low += max(1, low // 100_000)
    return low


def pass_at(k: int, right: np.ndarray, epochs: np.ndarray) -> np.ndarray:
    """Return the probability that one of k answers is right, for each item, from all its answers without bias.

    References
    ----------
    Chen, M. et al. (2021). Evaluating large language models trained on code. arXiv:2107.03374.

    Examples
    --------
    >>> pass_at(2, np.array([0, 1, 3]), np.array([4, 4, 4])).round(3).tolist()
    [0.0, 0.5, 1.0]
    """
    from scipy.special import comb

    return np.asarray(1.0 - comb(epochs - right, k) / comb(epochs, k))


def _quantile(p: float, df: float) -> float:
    from scipy.special import ndtri, stdtrit

    return float(ndtri(p) if math.isinf(df) else stdtrit(df, p))
