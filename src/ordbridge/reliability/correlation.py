"""Correlation: whether raters put the items in the same order, whatever part of the scale they use.

For more than two raters γ pools the comparisons of all pairs of raters; the other coefficients of pairs are averaged
over pairs, weighted by the items that each pair has in common. Kendall's W takes all raters at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ordbridge.errors import InputError
from ordbridge.reliability import pairs
from ordbridge.reliability.jackknife import Replicates, estimate
from ordbridge.reliability.pairs import CommonItems, common_items
from ordbridge.reliability.ratings import Ratings, prepare, require
from ordbridge.reliability.records import Coefficient

NO_VARIATION = "no two raters have enough common items on which both vary"


def goodman_kruskal_gamma(
    data: Any,
    item: str = "item",
    participant: str = "participant",
    rating: str = "rating",
    *,
    pooled: bool = True,
    scale: Sequence[Any] | None = None,
    min_common: int | None = None,
    raters: str | None = None,
    conf_level: float | None = 0.95,
) -> Coefficient:
    r"""Goodman & Kruskal's γ: concordant minus discordant pairs of items over both, :math:`(C - D) / (C + D)`.

    Pairs of items tied for either rater are left out, which makes γ large when raters use few categories. For more
    than two raters C and D are summed over all pairs of raters (pooled γ), so that a pair with few common items says
    little; ``pooled=False`` gives the mean of the pairs' γ, as in Amidei et al. (2019), weighted by common items.

    Parameters
    ----------
    data, item, participant, rating, scale
        See :func:`ordbridge.reliability.prepare`.
    pooled
        Whether to pool the pairs of raters.
    min_common
        Common items that a pair needs to enter; by default 10 where raters saw different items.
    raters, conf_level
        See :func:`ordbridge.reliability.fleiss_kappa`.

    References
    ----------
    Goodman, L. A., & Kruskal, W. H. (1954). Measures of association for cross classifications. JASA 49, 732-764.

    Examples
    --------
    >>> goodman_kruskal_gamma([[1, 1], [2, 3], [3, 2], [4, 4]]).estimate
    0.6666666666666666
    """
    name, definition = "Goodman & Kruskal's γ", "(C − D) / (C + D) from the cross table"
    ratings = _ready(data, item, participant, rating, scale, name, "ordinal")
    if not pooled:
        return over_pairs(ratings, _mean_gamma, name, definition, min_common, raters, conf_level)

    def sums(common: CommonItems) -> Replicates:
        c, d, _, _, c_i, d_i, _, _ = pairs.concordance(common)
        return pairs.pooled(common, (c - d, c + d), (c_i - d_i, c_i + d_i))

    how = "C and D summed over pairs of raters"
    return over_pairs(ratings, sums, name, definition, min_common, raters, conf_level, how)


def kendall_tau(
    data: Any,
    item: str = "item",
    participant: str = "participant",
    rating: str = "rating",
    *,
    scale: Sequence[Any] | None = None,
    min_common: int | None = None,
    raters: str | None = None,
    conf_level: float | None = 0.95,
) -> Coefficient:
    r"""Kendall's τ-b: like γ, but ties count: :math:`(C - D) / \sqrt{(N - T_a)(N - T_b)}`.

    N is the number of pairs of items, :math:`T_a` and :math:`T_b` those tied for a and for b. Three or more raters:
    the mean over pairs of raters, weighted by common items.

    References
    ----------
    Kendall, M. G. (1945). The treatment of ties in ranking problems. Biometrika 33, 239-251.

    Examples
    --------
    >>> round(kendall_tau([[1, 1], [2, 3], [3, 2], [3, 4]]).estimate, 4)
    0.5477
    """
    ratings = _ready(data, item, participant, rating, scale, "Kendall's τ", "ordinal")

    def mean(common: CommonItems) -> Replicates:
        return pairs.weighted_mean(common, *pairs.tau_b(common))

    return over_pairs(ratings, mean, "Kendall's τ-b", "τ-b, corrected for ties", min_common, raters, conf_level)


def pearson(
    data: Any,
    item: str = "item",
    participant: str = "participant",
    rating: str = "rating",
    *,
    scale: Sequence[Any] | None = None,
    min_common: int | None = None,
    raters: str | None = None,
    conf_level: float | None = 0.95,
) -> Coefficient:
    """Pearson's product-moment correlation of the ratings themselves, which takes their distances at face value.

    Three or more raters: the mean over pairs of raters, weighted by common items (no Fisher transformation).

    References
    ----------
    Pearson, K. (1895). Proceedings of the Royal Society of London 58, 240-242.

    Examples
    --------
    >>> round(pearson([[1, 1], [2, 3], [3, 2], [4, 4]]).estimate, 4)
    0.8
    """
    ratings = _ready(data, item, participant, rating, scale, "Pearson's r", "interval")

    def mean(common: CommonItems) -> Replicates:
        return pairs.weighted_mean(common, *pairs.product_moment(common, ratings.points))

    return over_pairs(ratings, mean, "Pearson's r", "product-moment correlation", min_common, raters, conf_level)


def spearman(
    data: Any,
    item: str = "item",
    participant: str = "participant",
    rating: str = "rating",
    *,
    scale: Sequence[Any] | None = None,
    min_common: int | None = None,
    raters: str | None = None,
    conf_level: float | None = 0.95,
) -> Coefficient:
    """Spearman's ρ: Pearson's r of mean ranks.

    Three or more raters: the mean over pairs of raters, weighted by common items.

    References
    ----------
    Spearman, C. (1904). The proof and measurement of association between two things. Am. J. Psychology 15, 72-101.

    Examples
    --------
    >>> round(spearman([[1, 1], [2, 3], [3, 2], [4, 9]]).estimate, 4)
    0.8
    """
    ratings = _ready(data, item, participant, rating, scale, "Spearman's ρ", "ordinal")

    def mean(common: CommonItems) -> Replicates:
        return pairs.weighted_mean(common, *pairs.rho(common))

    return over_pairs(ratings, mean, "Spearman's ρ", "Pearson's r of mean ranks", min_common, raters, conf_level)


def kendall_w(
    data: Any,
    item: str = "item",
    participant: str = "participant",
    rating: str = "rating",
    *,
    scale: Sequence[Any] | None = None,
    raters: str | None = None,
    conf_level: float | None = 0.95,
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
    >>> w = kendall_w([[1, 1, 2], [2, 3, 1], [3, 2, 3], [4, 4, 4]])
    >>> round(w.estimate, 4), round(w.p_value, 4)
    (0.7778, 0.0719)
    """
    from scipy.stats import chi2

    given = _ready(data, item, participant, rating, scale, "Kendall's W", "ordinal")
    ratings = complete_items(given, "Kendall's W")
    m, n = len(ratings.raters), len(ratings.items)
    value = estimate(
        ratings,
        _concordance_of_rankings,
        name="Kendall's W",
        definition="coefficient of concordance, corrected for ties; χ² test with n − 1 degrees of freedom",
        undefined="every rater gave all common items the same rating",
        raters=raters,
        conf_level=conf_level,
        note=items_left_out(given, ratings),
    )
    chi_square = m * (n - 1) * value.estimate
    return replace(value, statistic=chi_square, df=float(n - 1), p_value=float(chi2.sf(chi_square, n - 1)))


def _concordance_of_rankings(ratings: Ratings) -> float:
    from scipy.stats import rankdata

    table = complete_table(ratings)
    n, m = table.shape
    ranks = rankdata(table, axis=0)
    spread = ((ranks.sum(axis=1) - m * (n + 1) / 2) ** 2).sum()
    ties = (
        n**3 - n - 12 * ((ranks - (n + 1) / 2) ** 2).sum(axis=0)
    ).sum()  # what ties take from the squares is Σ t³ − t
    below = m**2 * (n**3 - n) - m * ties
    return float(12 * spread / below) if below > 1e-6 else np.nan


def test_retest(
    first: Any,
    second: Any,
    item: str = "item",
    participant: str = "participant",
    rating: str = "rating",
    *,
    scale: Sequence[Any] | None = None,
    raters: str | None = None,
    conf_level: float | None = 0.95,
) -> Coefficient:
    """Pearson's r between the ratings that the same raters gave the same items in two runs.

    One point is one rater's two ratings of one item; resamples draw items with all their ratings. The p-value is that
    of the usual t test with (points − 2) degrees of freedom.

    References
    ----------
    Belz, A., & Kow, E. (2011). Discrete vs. continuous rating scales for language evaluation in NLP. ACL 2011, 230-235.

    Examples
    --------
    >>> r = test_retest([[1, 2], [2, 2], [4, 5]], [[1, 2], [3, 2], [5, 5]])
    >>> round(r.estimate, 4), r.n_items, r.n_raters
    (0.9527, 3, 2)
    """
    from scipy.stats import t

    name = "test–retest r"
    both = _given_twice(*(prepare(run, item, participant, rating, scale) for run in (first, second)))
    points = len(both.code) // 2
    if points < 3:
        raise InputError(f"test–retest correlation needs at least 3 ratings given twice; there are {points}")
    value = estimate(
        both,
        _retest,
        name=name,
        definition="Pearson's r of the same raters' ratings of the same items in two runs",
        undefined="the ratings of one run do not vary",
        raters=raters,
        conf_level=conf_level,
        n_pairs=points,
        note=f"n_pairs counts the {points} pairs of ratings",
    )
    df, r = points - 2, value.estimate
    t_value = r * np.sqrt(df / max(1 - r**2, np.finfo(float).tiny))
    return replace(
        value,
        n_missing=len(both.items) * len(both.raters) // 2 - points,
        statistic=float(t_value),
        df=float(df),
        p_value=float(2 * t.sf(abs(t_value), df)),
    )


def _retest(both: Ratings) -> float:
    """Return Pearson's r of first and second ratings, which stand one after the other."""
    values = both.points[both.code].reshape(-1, 2)
    if len(values) < 2:
        return np.nan
    spread = values - values.mean(axis=0)
    return float((spread[:, 0] @ spread[:, 1]) / np.sqrt((spread**2).sum(axis=0).prod()))


def _given_twice(first: Ratings, second: Ratings) -> Ratings:
    """Return the ratings that were given in both runs, the first and the second of each one after the other."""
    if first.scores is None or second.scores is None:
        raise InputError("test–retest correlation needs numeric ratings in both runs")
    items = {label: position for position, label in enumerate(first.items)}
    raters = {label: position for position, label in enumerate(first.raters)}
    if not items.keys() & set(second.items) or not raters.keys() & set(second.raters):
        what = "items" if raters.keys() & set(second.raters) else "raters"
        raise InputError(f"the two runs have no common {what}; check their labels")
    row = np.array([items.get(label, -1) for label in second.items])[second.row]
    column = np.array([raters.get(label, -1) for label in second.raters])[second.column]
    cell_1 = first.row * len(raters) + first.column
    cell_2 = np.where((row >= 0) & (column >= 0), row * len(raters) + column, -1)
    cells, at_1, at_2 = np.intersect1d(cell_1, cell_2, return_indices=True)
    categories = np.union1d(first.scores, second.scores)
    values = np.column_stack([first.scores[first.code[at_1]], second.scores[second.code[at_2]]])
    twice = Ratings(
        np.repeat(cells // len(raters), 2),
        np.repeat(cells % len(raters), 2),
        np.searchsorted(categories, values).ravel(),
        tuple(categories.tolist()),
        categories,
        True,
        first.items,
        first.raters,
    )
    present = [r for r, number in zip(first.raters, twice.per_rater, strict=True) if number]
    return twice.of_raters(present) if present else twice


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
    data: Any, item: str, participant: str, rating: str, scale: Sequence[Any] | None, what: str, level: str
) -> Ratings:
    ratings = prepare(data, item, participant, rating, scale)
    require(ratings, what, level)
    return ratings


def complete_table(ratings: Ratings) -> np.ndarray:
    """Return items × raters of numeric ratings, of those items and raters that are left."""
    table = ratings.values
    table = table[:, ratings.per_rater > 0][ratings.per_item > 0]
    return table


def over_pairs(
    ratings: Ratings,
    replicates: Callable[[CommonItems], Replicates],
    name: str,
    definition: str,
    min_common: int | None,
    raters: str | None,
    conf_level: float | None,
    how: str = "mean over pairs of raters, weighted by common items",
) -> Coefficient:
    """Return a coefficient over pairs of raters, given by its replicates."""
    if ratings.per_item.max() < 2:
        raise InputError(f"{name} has no value here: no two raters rated a common item")
    common = common_items(ratings, min_common)
    if not len(common.a):
        raise InputError(
            f"{name} has no value here: no two raters have {min_common or pairs.LEAST_COMMON} common items; "
            "Krippendorff's α and Conger's κ need none"
        )
    found = replicates(common)
    lost = len(common.a) - (found.n_pairs or 0)
    without_value = f"{lost} of {len(common.a)} pairs of raters have no variation and are left out" if lost else ""
    return estimate(
        ratings.rated_by(2),
        lambda some: found.whole,
        name=name,
        definition=definition + ("" if len(ratings.raters) == 2 else f"; {how}"),
        undefined=NO_VARIATION,
        raters=raters,
        conf_level=conf_level,
        note="; ".join(filter(None, [common.left_out, without_value])),
        n_pairs=found.n_pairs,
        replicates=lambda random: found,
    )


def _mean_gamma(common: CommonItems) -> Replicates:
    c, d, _, _, c_i, d_i, _, _ = pairs.concordance(common)
    pair = common.pair_of_cell
    with np.errstate(divide="ignore", invalid="ignore"):
        left = ((c - d)[pair] - c_i + d_i) / ((c + d)[pair] - c_i - d_i)
        return pairs.weighted_mean(common, (c - d) / (c + d), left)
