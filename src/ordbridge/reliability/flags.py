"""Outlying raters: leniency and consistency of each rater, tested against raters who are exchangeable.

Exchangeable raters differ too: by chance, and because people differ. Both are in the null distribution: a rater's
number is compared with the other raters' numbers, whose variance is that of sampling plus that between raters, as in a
meta-analysis with random effects. Of all these tests 5% of the discoveries may be false (Benjamini & Hochberg).
`docs/reliability.md` has the simulated rates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ordbridge.models.inference.adjust import adjusted_p
from ordbridge.reliability.ratings import Ratings

FEWEST_ITEMS = 5  # that a rater must share with others
FEWEST_RATERS = 3
MANY_RATERS = 20  # from here on median and MAD, which a few spammers do not move
FALSE_DISCOVERIES = 0.05
REVERSED = -0.3  # correlation with the others from which on the scale seems to be read the other way round
FEW_RATERS = 8  # below, the others can be near each other by chance, and people are taken to differ at least by:
PEOPLE_DIFFER = {"leniency": 0.25, "consistency": 0.1}  # standard deviations of the ratings; Fisher's z (shares: half)


@dataclass(frozen=True)
class Standing:
    """One number per rater, NaN where it is not defined.

    Attributes
    ----------
    leniency
        Mean difference from the other raters' mean of the same items, in points of the scale; above 0 is milder.
        NaN at the nominal level.
    consistency
        Correlation with the other raters' mean of the same items, differences in leniency taken out; at the nominal
        level the share of the other raters who chose the same category.
    leniency_ends, consistency_ends
        Their 95% intervals, of t and of Fisher's z (at the nominal level of the normal distribution): two rows.
    leniency_p, consistency_p
        How likely a rater like the others is so far away (leniency), or so low (consistency).
    constant
        Whether the rater gave one and the same rating to items on which others differ.
    flagged_leniency, flagged_consistency
        Whether these are discoveries at a false discovery rate of 5%.
    """

    leniency: np.ndarray
    consistency: np.ndarray
    leniency_p: np.ndarray
    consistency_p: np.ndarray
    constant: np.ndarray
    flagged_leniency: np.ndarray
    flagged_consistency: np.ndarray
    leniency_ends: np.ndarray
    consistency_ends: np.ndarray

    def reasons(self, rater: int) -> list[str]:
        """Return why a rater is flagged, as codes: those of the findings without "rater-"; none for the others."""
        found = []
        if self.flagged_consistency[rater]:
            r = self.consistency[rater]
            if self.constant[rater]:
                found.append("constant")
            elif np.isnan(self.leniency[rater]):
                found.append("disagrees")
            else:
                found.append("reversed" if r < REVERSED else "inconsistent")
        if self.flagged_leniency[rater]:
            found.append("milder" if self.leniency[rater] > 0 else "stricter")
        return found


def standing(ratings: Ratings, level: str) -> Standing:
    """Return each rater's leniency and consistency, and who is flagged.

    Examples
    --------
    >>> import numpy as np
    >>> from ordbridge.reliability import prepare
    >>> rng = np.random.default_rng(1)
    >>> seen = rng.normal(size=(100, 1)) + rng.normal(scale=0.5, size=(100, 6))
    >>> seen[:, 5] *= -1
    >>> standing(prepare(np.round(seen + 3)), "ordinal").flagged_consistency.tolist()
    [False, False, False, False, False, True]
    """
    shared = ratings.only(ratings.per_item[ratings.row] > 1)
    n = np.bincount(shared.column, minlength=len(ratings.raters))
    with np.errstate(divide="ignore", invalid="ignore"):
        if level == "nominal":
            leniency = leniency_var = np.full(len(n), np.nan)
            consistency, consistency_var, constant = _share_of_equals(shared, n)
            on_line = consistency
        else:
            leniency, leniency_var, consistency, constant = _leniency_and_correlation(shared, n)
            on_line = np.arctanh(np.clip(consistency, -0.999, 0.999))
            consistency_var = 1.0 / (n - 3)
        wide = 1.959964 * np.sqrt(np.where((n > 3) & (consistency_var >= 0), consistency_var, np.nan))
        enough = n >= FEWEST_ITEMS
        least = PEOPLE_DIFFER["leniency"] * float(shared.points[shared.code].std())
        leniency_t = _p_values(leniency, leniency_var, enough, least, two_sided=True)
        least = PEOPLE_DIFFER["consistency"] / (2 if level == "nominal" else 1)
        consistency_t = _p_values(on_line, consistency_var, enough, least, two_sided=False)
        ends = _ends(leniency, leniency_var, n), np.array([on_line - wide, on_line + wide])
    found = false_discovery(np.concatenate([leniency_t, consistency_t]), FALSE_DISCOVERIES)
    of_consistency = ends[1] if level == "nominal" else np.tanh(ends[1])
    flagged = found[: len(n)], found[len(n) :]
    return Standing(leniency, consistency, leniency_t, consistency_t, constant, *flagged, ends[0], of_consistency)


def _ends(mean: np.ndarray, variance: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return the ends of 95% intervals of means of n differences, from the variances of these means."""
    from scipy.stats import t

    wide = t.ppf(0.975, np.maximum(n - 1, 1)) * np.sqrt(np.where(n > 1, variance, np.nan))
    return np.array([mean - wide, mean + wide])


def _leniency_and_correlation(shared: Ratings, n: np.ndarray) -> tuple[np.ndarray, ...]:
    value = shared.points[shared.code]
    difference = value - _others(shared, value)
    leniency = _mean(shared, difference, n)
    leniency_var = _mean(shared, (difference - leniency[shared.column]) ** 2, n) / (n - 1)
    level = value - leniency[shared.column]
    others = _others(shared, level)
    x, y = level - _mean(shared, level, n)[shared.column], others - _mean(shared, others, n)[shared.column]
    xy, xx, yy = (_mean(shared, product, n) for product in (x * y, x * x, y * y))
    constant = (xx <= 1e-12) & (yy > 1e-12)
    correlation = np.where(xx > 1e-12, xy / np.sqrt(xx * yy), 0.0)
    return leniency, leniency_var, np.where(yy > 1e-12, correlation, np.nan), constant


def _share_of_equals(shared: Ratings, n: np.ndarray) -> tuple[np.ndarray, ...]:
    q = len(shared.categories)
    cell = shared.row * q + shared.code
    number = np.bincount(shared.row, minlength=len(shared.items))[shared.row]
    equal = (np.bincount(cell, minlength=len(shared.items) * q)[cell] - 1) / (number - 1)
    share = _mean(shared, equal, n)
    used = np.unique(shared.column * q + shared.code) // q
    constant = np.bincount(used, minlength=len(n)) == 1
    return share, _mean(shared, (equal - share[shared.column]) ** 2, n) / (n - 1), constant


def _others(shared: Ratings, value: np.ndarray) -> np.ndarray:
    """Return, for each rating, the mean of the other ratings of the same item."""
    total = np.bincount(shared.row, weights=value, minlength=len(shared.items))[shared.row]
    number = np.bincount(shared.row, minlength=len(shared.items))[shared.row]
    return (total - value) / (number - 1)


def _mean(shared: Ratings, value: np.ndarray, n: np.ndarray) -> np.ndarray:
    return np.bincount(shared.column, weights=value, minlength=len(n)) / n


def _p_values(
    value: np.ndarray, variance: np.ndarray, enough: np.ndarray, least: float, *, two_sided: bool
) -> np.ndarray:
    """Return how likely an exchangeable rater lies so far from the other raters, NaN where it cannot be said.

    The other raters' values have the variance τ² between raters, plus that of sampling; what one more of them would
    show is t distributed around their centre. Among few raters τ is taken to be at least ``least``.
    """
    from scipy.stats import t

    p = np.full(len(value), np.nan)
    use = np.flatnonzero(enough & np.isfinite(value) & np.isfinite(variance))
    m = len(use)
    if m < FEWEST_RATERS:
        return p
    own, sampling = value[use], variance[use]
    if m >= MANY_RATERS:
        centre = np.full(m, np.median(own))
        spread = np.full(m, (1.4826 * np.median(np.abs(own - np.median(own)))) ** 2)
        expected = np.full(m, np.median(sampling))
    else:
        centre = (own.sum() - own) / (m - 1)
        squares = ((own[None, :] - centre[:, None]) ** 2).sum(axis=1) - (own - centre) ** 2
        spread = squares / (m - 2)
        expected = (sampling.sum() - sampling) / (m - 1)
    smallest = least**2 if m < FEW_RATERS else 0.0
    between = np.maximum(spread - expected, smallest)
    total = sampling + between + (between + expected) / (m - 1)
    df = np.where(between > smallest, total**2 / ((spread * m / (m - 1)) ** 2 / (m - 2)), 1e6)
    distance = (own - centre) / np.sqrt(np.maximum(total, 1e-300))
    p[use] = 2 * t.sf(np.abs(distance), df) if two_sided else t.cdf(distance, df)
    return p


def false_discovery(p_values: np.ndarray, rate: float) -> np.ndarray:
    """Return which p-values are discoveries; NaN never is.

    References
    ----------
    Benjamini, Y., & Hochberg, Y. (1995). Controlling the false discovery rate. JRSS B 57, 289-300.

    Examples
    --------
    >>> false_discovery(np.array([0.001, 0.04, 0.5, np.nan]), 0.05).tolist()
    [True, False, False, False]
    """
    found = np.isfinite(p_values)
    found[found] = adjusted_p(p_values[found], "fdr") <= rate
    return found
