"""Krippendorff's α."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ordbridge.reliability.agreement import NO_COMMON_ITEMS, agreement_ratings, item_tally
from ordbridge.reliability.jackknife import estimate, leave_out_sums
from ordbridge.reliability.ratings import Ratings
from ordbridge.reliability.records import Coefficient

FEW_CATEGORIES = 12  # whose products are quicker than to begin again without each item and rater


def krippendorff_alpha(
    data: Any,
    item: str = "item",
    participant: str = "participant",
    rating: str = "rating",
    *,
    level: str = "ordinal",
    scale: Sequence[Any] | None = None,
    raters: str | None = None,
    conf_level: float | None = 0.95,
) -> Coefficient:
    r"""Krippendorff's α: one minus observed over expected disagreement, for any number of raters and gaps.

    .. math:: \alpha = 1 - (n-1) \frac{\sum_u \frac{1}{m_u - 1} \sum_{i \ne j} \delta^2(x_{ui}, x_{uj})}
              {\sum_{ck} n_c n_k \delta^2(c, k)}

    over the n ratings of items with :math:`m_u \ge 2`. The distance δ² is 1 for different categories (nominal), the
    squared difference of values (interval), of values over their sum (ratio), or of mean ranks (ordinal; mean ranks
    are taken from the same ratings).

    References
    ----------
    Krippendorff, K. (2011). Computing Krippendorff's alpha-reliability. University of Pennsylvania.

    Examples
    --------
    >>> round(krippendorff_alpha([[1, 1], [2, 2], [3, 1], [2, 2]], level="nominal").estimate, 4)
    0.6316
    """
    ratings = agreement_ratings(data, item, participant, rating, scale, "Krippendorff's α", level)

    def statistic(some: Ratings) -> float:
        tally = item_tally(some)
        tally = tally[tally.sum(axis=1) > 1]
        size, totals = tally.sum(axis=1), tally.sum(axis=0)
        if level == "nominal":
            observed = ((size**2 - (tally**2).sum(axis=1)) / (size - 1)).sum()
            expected = totals.sum() ** 2 - (totals**2).sum()
        elif level == "ratio":
            distance = _ratio_distance(ratings.points)
            observed = (((tally @ distance) * tally).sum(axis=1) / (size - 1)).sum()
            expected = totals @ distance @ totals
        else:  # squared differences: twice the sums of squares around the mean, whatever the number of categories
            at = np.cumsum(totals) - totals / 2 if level == "ordinal" else ratings.points - ratings.points.mean()
            observed = (2 * (size * (tally @ at**2) - (tally @ at) ** 2) / (size - 1)).sum()
            expected = 2 * (totals.sum() * (totals @ at**2) - (totals @ at) ** 2)
        return float(1 - (totals.sum() - 1) * observed / expected) if expected > 0 else np.nan

    twice = ratings.rated_by(2)
    quick = level == "ordinal" and len(ratings.categories) <= FEW_CATEGORIES
    return estimate(
        twice,
        statistic,
        name=f"Krippendorff's α, {level}",
        definition=f"Krippendorff (2011), {level} distance",
        undefined=f"{NO_COMMON_ITEMS}, or the ratings of the items that were rated twice are all in one category",
        raters=raters,
        conf_level=conf_level,
        replicates=(lambda random: leave_out_sums(twice, _products, _ordinal, random)) if quick else None,
    )


def _products(tally: np.ndarray) -> np.ndarray:
    """Return what each item adds to α at the ordinal level, whose ranks are not known before all items are.

    Of an item with two ratings or more: the counts c, and c (sum of c) and all products of c, over the sum less one.
    """
    tally = tally * (tally.sum(axis=1, keepdims=True) > 1)
    size = tally.sum(axis=1, keepdims=True)
    over = tally / np.maximum(size - 1, 1)
    return np.hstack([tally, size * over, (over[:, :, None] * tally[:, None, :]).reshape(len(tally), -1)])


def _ordinal(sums: np.ndarray) -> np.ndarray:
    """Return α at the ordinal level from the sums of :func:`_products`."""
    q = int(np.sqrt(sums.shape[-1] + 1)) - 1  # q + q + q²
    totals, sized, products = np.split(sums, [q, 2 * q], axis=-1)
    n = totals.sum(axis=-1)
    rank = np.cumsum(totals, axis=-1) - totals / 2
    squares = np.einsum("...k,...kl,...l->...", rank, products.reshape(*n.shape, q, q), rank)
    squared = (sized * rank**2).sum(axis=-1)
    observed = np.where(squared - squares > 1e-12 * squared, squared - squares, 0.0)  # no rounding in full agreement
    expected = n * (totals * rank**2).sum(axis=-1) - (totals * rank).sum(axis=-1) ** 2
    return np.where(expected > 0, 1 - (n - 1) * observed / expected, np.nan)


def _ratio_distance(at: np.ndarray) -> np.ndarray:
    total = at[:, None] + at[None, :]
    return ((at[:, None] - at[None, :]) / np.where(total > 0, total, 1)) ** 2
