"""Correlation: whether raters put the items in the same order, whatever part of the scale they use.

For more than two raters the coefficients of pairs are averaged over pairs of raters, on the items that each pair has
in common; Kendall's W takes all raters at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ordbridge.errors import InputError
from ordbridge.reliability.bootstrap import PairStatistic, each_pair, estimate, margin
from ordbridge.reliability.ratings import GAP, Ratings, prepare, require
from ordbridge.reliability.records import Coefficient

__all__ = ["goodman_kruskal_gamma", "kendall_tau", "kendall_w", "pearson", "spearman", "test_retest"]

NO_VARIATION = "no two raters have common items on which both vary"


def goodman_kruskal_gamma(
    data: Any,
    item: str = "item",
    rater: str = "participant",
    rating: str = "rating",
    *,
    scale: Sequence[Any] | None = None,
    draws: int = 1000,
    seed: int = 1,
    confidence: float = 0.95,
) -> Coefficient:
    r"""Goodman & Kruskal's γ: concordant minus discordant pairs of items over both, :math:`(C - D) / (C + D)`.

    Pairs of items tied for either rater are left out, which makes γ large when raters use few categories. C and D come
    from the cross table of the two raters. Three or more raters: the mean over pairs of raters.

    References
    ----------
    Goodman, L. A., & Kruskal, W. H. (1954). Measures of association for cross classifications. JASA 49, 732-764.

    Examples
    --------
    >>> goodman_kruskal_gamma([[1, 1], [2, 3], [3, 2], [4, 4]], draws=0).value
    0.6666666666666666
    """
    ratings = _ready(data, item, rater, rating, scale, "Goodman & Kruskal's γ", "ordinal")
    return _over_pairs(
        ratings,
        gamma_of_pair,
        "Goodman & Kruskal's γ",
        "(C − D) / (C + D) from the cross table",
        draws,
        seed,
        confidence,
    )


def kendall_tau(
    data: Any,
    item: str = "item",
    rater: str = "participant",
    rating: str = "rating",
    *,
    scale: Sequence[Any] | None = None,
    draws: int = 1000,
    seed: int = 1,
    confidence: float = 0.95,
) -> Coefficient:
    r"""Kendall's τ-b: like γ, but ties count: :math:`(C - D) / \sqrt{(N - T_a)(N - T_b)}`.

    N is the number of pairs of items, :math:`T_a` and :math:`T_b` those tied for a and for b. Three or more raters:
    the mean over pairs of raters.

    References
    ----------
    Kendall, M. G. (1945). The treatment of ties in ranking problems. Biometrika 33, 239-251.

    Examples
    --------
    >>> round(kendall_tau([[1, 1], [2, 3], [3, 2], [3, 4]], draws=0).value, 4)
    0.5477
    """
    ratings = _ready(data, item, rater, rating, scale, "Kendall's τ", "ordinal")
    return _over_pairs(ratings, _tau_of_pair, "Kendall's τ-b", "τ-b, corrected for ties", draws, seed, confidence)


def pearson(
    data: Any,
    item: str = "item",
    rater: str = "participant",
    rating: str = "rating",
    *,
    scale: Sequence[Any] | None = None,
    draws: int = 1000,
    seed: int = 1,
    confidence: float = 0.95,
) -> Coefficient:
    """Pearson's product-moment correlation of the ratings themselves, which takes their distances at face value.

    Three or more raters: the mean over pairs of raters (no Fisher transformation).

    References
    ----------
    Pearson, K. (1895). Proceedings of the Royal Society of London 58, 240-242.

    Examples
    --------
    >>> round(pearson([[1, 1], [2, 3], [3, 2], [4, 4]], draws=0).value, 4)
    0.8
    """
    ratings = _ready(data, item, rater, rating, scale, "Pearson's r", "interval")
    scores = ratings.centred

    def r(a: np.ndarray, b: np.ndarray, counts: np.ndarray) -> np.ndarray:
        return _weighted_correlation(scores[a][None, :], scores[b][None, :], counts)

    return _over_pairs(ratings, r, "Pearson's r", "product-moment correlation", draws, seed, confidence)


def spearman(
    data: Any,
    item: str = "item",
    rater: str = "participant",
    rating: str = "rating",
    *,
    scale: Sequence[Any] | None = None,
    draws: int = 1000,
    seed: int = 1,
    confidence: float = 0.95,
) -> Coefficient:
    """Spearman's ρ: Pearson's r of mean ranks, which are taken anew in every resample.

    Three or more raters: the mean over pairs of raters.

    References
    ----------
    Spearman, C. (1904). The proof and measurement of association between two things. Am. J. Psychology 15, 72-101.

    Examples
    --------
    >>> round(spearman([[1, 1], [2, 3], [3, 2], [4, 9]], draws=0).value, 4)
    0.8
    """
    ratings = _ready(data, item, rater, rating, scale, "Spearman's ρ", "ordinal")
    return _over_pairs(ratings, _rho_of_pair, "Spearman's ρ", "Pearson's r of mean ranks", draws, seed, confidence)


def kendall_w(
    data: Any,
    item: str = "item",
    rater: str = "participant",
    rating: str = "rating",
    *,
    scale: Sequence[Any] | None = None,
    draws: int = 1000,
    seed: int = 1,
    confidence: float = 0.95,
) -> Coefficient:
    r"""Kendall's W, the concordance of all raters' rankings of the items, corrected for ties, with its χ² test.

    .. math:: W = \frac{12 \sum_i (R_i - \bar R)^2}{m^2 (n^3 - n) - m \sum_j \sum_t (t^3 - t)}, \qquad
              \chi^2 = m (n - 1) W

    with :math:`R_i` the sum of item i's mean ranks over the m raters and t the sizes of rater j's groups of ties. Only
    items that every rater rated enter. χ² has n − 1 degrees of freedom, an approximation that is rough for n ≤ 7.
    From 1 (one ranking) to 0; the mean of Spearman's ρ over pairs is (mW − 1)/(m − 1) when there are no ties.

    References
    ----------
    Kendall, M. G., & Babington Smith, B. (1939). The problem of m rankings. Annals of Math. Statistics 10, 275-287.
    Siegel, S., & Castellan, N. J. (1988). Nonparametric Statistics for the Behavioral Sciences, 2nd ed., 262-272.

    Examples
    --------
    >>> w = kendall_w([[1, 1, 2], [2, 3, 1], [3, 2, 3], [4, 4, 4]], draws=0)
    >>> round(w.value, 4), round(w.p_value, 4)
    (0.7778, 0.0719)
    """
    from scipy.stats import chi2

    given = _ready(data, item, rater, rating, scale, "Kendall's W", "ordinal")
    ratings = complete_items(given, "Kendall's W")
    m, n = len(ratings.raters), len(ratings.items)

    def statistic(codes: np.ndarray, counts: np.ndarray) -> np.ndarray:
        ranks = np.zeros_like(counts)
        ties = np.zeros(len(counts))
        for j in range(m):
            ranks += _mean_ranks(codes[:, j], counts)
            groups = margin(codes[:, j], counts)
            ties += (groups**3 - groups).sum(axis=1)
        spread = (counts * (ranks - m * n / 2) ** 2).sum(axis=1)  # mean ranks run from 0 here, so their mean is n/2
        return 12 * spread / (m**2 * (n**3 - n) - m * ties)

    value = estimate(
        ratings,
        statistic,
        name="Kendall's W",
        definition="coefficient of concordance, corrected for ties; χ² test with n − 1 degrees of freedom",
        undefined="every rater gave all common items the same rating",
        draws=draws,
        seed=seed,
        confidence=confidence,
        note=items_left_out(given, ratings),
    )
    chi_square = m * (n - 1) * value.value
    return replace(value, statistic=chi_square, df=float(n - 1), p_value=float(chi2.sf(chi_square, n - 1)))


def test_retest(
    first: Any,
    second: Any,
    item: str = "item",
    rater: str = "participant",
    rating: str = "rating",
    *,
    scale: Sequence[Any] | None = None,
    draws: int = 1000,
    seed: int = 1,
    confidence: float = 0.95,
) -> Coefficient:
    """Pearson's r between the ratings that the same raters gave the same items in two runs.

    One point is one rater's two ratings of one item; resamples draw items with all their ratings. The p-value is that
    of the usual t test with (points − 2) degrees of freedom.

    References
    ----------
    Belz, A., & Kow, E. (2011). Discrete vs. continuous rating scales for language evaluation in NLP. ACL 2011, 230-235.

    Examples
    --------
    >>> r = test_retest([[1, 2], [2, 2], [4, 5]], [[1, 2], [3, 2], [5, 5]], draws=0)
    >>> round(r.value, 4), r.n_items, r.n_raters
    (0.9527, 3, 2)
    """
    from scipy.stats import t

    both = _side_by_side(*(prepare(run, item, rater, rating, scale) for run in (first, second)))
    require(both, "test–retest correlation", "interval")
    m, scores = len(both.raters) // 2, both.centred

    def statistic(codes: np.ndarray, counts: np.ndarray) -> np.ndarray:
        rows, columns = np.nonzero(_given_twice(codes))
        x, y = scores[codes[rows, columns]], scores[codes[rows, columns + m]]
        return _weighted_correlation(x[None, :], y[None, :], counts[:, rows])

    value = estimate(
        both,
        statistic,
        name="test–retest r",
        definition="Pearson's r of the same raters' ratings of the same items in two runs",
        undefined="the ratings of one run do not vary",
        draws=draws,
        seed=seed,
        confidence=confidence,
    )
    points = int(_given_twice(both.codes).sum())
    if points < 3:
        raise InputError(f"test–retest correlation needs at least 3 ratings given twice; there are {points}")
    df, r = points - 2, value.value
    t_value = r * np.sqrt(df / max(1 - r**2, np.finfo(float).tiny))
    return replace(
        value,
        n_raters=m,
        n_pairs=points,
        n_missing=both.n_missing // 2,
        statistic=float(t_value),
        df=float(df),
        p_value=float(2 * t.sf(abs(t_value), df)),
        note="; ".join(filter(None, [f"n_pairs counts the {points} pairs of ratings", value.note])),
    )


def gamma_of_pair(a: np.ndarray, b: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return γ of two raters for every line of counts, NaN where no pair of items is untied for both."""
    concordant, discordant = _concordance(*_cross_table(a, b, counts))
    return (concordant - discordant) / (concordant + discordant)


def _tau_of_pair(a: np.ndarray, b: np.ndarray, counts: np.ndarray) -> np.ndarray:
    a, b, cells = _cross_table(a, b, counts)
    concordant, discordant = _concordance(a, b, cells)
    untied_a, untied_b = (cells.sum(axis=1) ** 2 - (margin(side, cells) ** 2).sum(axis=1) for side in (a, b))
    return (concordant - discordant) / np.sqrt(untied_a / 2 * untied_b / 2)


def _rho_of_pair(a: np.ndarray, b: np.ndarray, counts: np.ndarray) -> np.ndarray:
    return _weighted_correlation(_mean_ranks(a, counts), _mean_ranks(b, counts), counts)


def complete_items(ratings: Ratings, what: str) -> Ratings:
    """Return the items that every rater rated, or say that there are too few."""
    complete = ratings.complete()
    if len(complete.items) < 2:
        raise InputError(
            f"{what} needs at least two items that all {len(ratings.raters)} raters rated; "
            f"there {'is' if len(complete.items) == 1 else 'are'} {len(complete.items)}"
        )
    require(complete, what)
    return complete


def items_left_out(given: Ratings, complete: Ratings) -> str:
    """Say how many items were left out because a rater had not rated them."""
    left_out = len(given.items) - len(complete.items)
    return f"{left_out} of {len(given.items)} items that not all raters rated are left out" if left_out else ""


def _ready(
    data: Any, item: str, rater: str, rating: str, scale: Sequence[Any] | None, what: str, level: str
) -> Ratings:
    ratings = prepare(data, item, rater, rating, scale)
    require(ratings, what, level)
    return ratings


def _over_pairs(
    ratings: Ratings, statistic: PairStatistic, name: str, definition: str, draws: int, seed: int, confidence: float
) -> Coefficient:
    shared = ratings.rated_by(2)
    if not shared.items:
        raise InputError(f"{name} has no value here: no two raters rated a common item")
    return estimate(
        shared,
        each_pair(statistic),
        name=name,
        definition=definition + ("" if len(ratings.raters) == 2 else "; mean over pairs of raters"),
        undefined=NO_VARIATION,
        draws=draws,
        seed=seed,
        confidence=confidence,
    )


def _weighted_correlation(x: np.ndarray, y: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return Pearson's r of x and y, each point as often as counts says, for every line of counts."""
    n = counts.sum(axis=1, keepdims=True)
    x = x - (counts * x).sum(axis=1, keepdims=True) / n
    y = y - (counts * y).sum(axis=1, keepdims=True) / n
    product, square_x, square_y = ((counts * z).sum(axis=1) for z in (x * y, x * x, y * y))
    varied = (square_x > 1e-12) & (square_y > 1e-12)
    return np.where(varied, product / np.sqrt(np.where(varied, square_x * square_y, 1)), np.nan)


def _mean_ranks(codes: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return lines × points: each point's mean rank, counted from 0, when points occur as often as counts says."""
    groups = margin(codes, counts)
    return (np.cumsum(groups, axis=1) - groups / 2)[:, np.unique(codes, return_inverse=True)[1]]


def _cross_table(a: np.ndarray, b: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the filled cells of the cross table: row, column, and lines × cells of counts."""
    cell = a * (b.max() + 1) + b
    first = np.unique(cell, return_index=True)[1]
    return a[first], b[first], margin(cell, counts)


def _concordance(a: np.ndarray, b: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of concordant and discordant pairs of items, for every line of counts.

    Two different rows of the cross table differ first in one binary digit. So for each digit, cells that share the
    digits above it are sorted by column, and one cumulative sum gives what lies in lower rows to the left and to the
    right of each cell: cells × log(rows) steps instead of all pairs.
    """
    concordant, discordant = np.zeros(len(counts)), np.zeros(len(counts))
    for digit in range(int(a.max()).bit_length()):
        block, upper = a >> (digit + 1), (a >> digit) & 1
        order = np.lexsort((b, block))
        block, upper, column = block[order], upper[order], b[order]
        lower_sum = np.zeros((len(counts), len(order) + 1))
        np.cumsum(counts[:, order] * (upper == 0), axis=1, out=lower_sum[:, 1:])
        starts, ends = _runs(block, block)
        left, right = _runs(block, column)
        here = counts[:, order] * (upper == 1)
        concordant += (here * (lower_sum[:, left] - lower_sum[:, starts])).sum(axis=1)
        discordant += (here * (lower_sum[:, ends] - lower_sum[:, right])).sum(axis=1)
    return concordant, discordant


def _runs(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each position, where its run of equal (first, second) starts and where it ends."""
    change = np.flatnonzero((np.diff(first) != 0) | (np.diff(second) != 0)) + 1
    bounds = np.concatenate([[0], change, [len(first)]])
    return tuple(np.repeat(edge, np.diff(bounds)) for edge in (bounds[:-1], bounds[1:]))  # type: ignore[return-value]


def _given_twice(codes: np.ndarray) -> np.ndarray:
    m = codes.shape[1] // 2
    return (codes[:, :m] != GAP) & (codes[:, m:] != GAP)


def _side_by_side(first: Ratings, second: Ratings) -> Ratings:
    """Return the common items and raters of two runs: the columns of the first run, then those of the second."""
    items = [item for item in first.items if item in set(second.items)]
    raters = [rater for rater in first.raters if rater in set(second.raters)]
    if not items or not raters:
        raise InputError("the two runs have no common " + ("items" if raters else "raters") + "; check their labels")
    if first.scores is None or second.scores is None:
        raise InputError("test–retest correlation needs numeric ratings in both runs")
    categories = np.union1d(first.scores, second.scores)
    blocks = []
    for run in (first, second):
        codes = run.codes[np.ix_([run.items.index(i) for i in items], [run.raters.index(r) for r in raters])]
        recoded = np.searchsorted(categories, np.asarray(run.scores))[codes]
        blocks.append(np.where(codes == GAP, GAP, recoded))
    once = (blocks[0] == GAP) | (blocks[1] == GAP)
    codes = np.hstack([np.where(once, GAP, block) for block in blocks])
    labels = tuple((run, rater) for run in ("first", "second") for rater in raters)
    ratings = Ratings(codes, tuple(categories.tolist()), categories, True, tuple(items), labels)
    return ratings.rated_by(2)
