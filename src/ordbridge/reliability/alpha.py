"""Krippendorff's α."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ordbridge.reliability.agreement import NO_COMMON_ITEMS, agreement_ratings, tally_of
from ordbridge.reliability.bootstrap import estimate
from ordbridge.reliability.ratings import GAP, Ratings
from ordbridge.reliability.records import Coefficient

__all__ = ["krippendorff_alpha"]


def krippendorff_alpha(
    data: Any,
    item: str = "item",
    rater: str = "participant",
    rating: str = "rating",
    *,
    level: str = "ordinal",
    scale: Sequence[Any] | None = None,
    draws: int = 1000,
    seed: int = 1,
    confidence: float = 0.95,
) -> Coefficient:
    r"""Krippendorff's α: one minus observed over expected disagreement, for any number of raters and gaps.

    .. math:: \alpha = 1 - (n-1) \frac{\sum_u \frac{1}{m_u - 1} \sum_{i \ne j} \delta^2(x_{ui}, x_{uj})}
              {\sum_{ck} n_c n_k \delta^2(c, k)}

    over the n ratings of items with :math:`m_u \ge 2`. The distance δ² is 1 for different categories (nominal), the
    squared difference of values (interval), of values over their sum (ratio), or of mean ranks (ordinal; mean ranks
    are taken from the same ratings, so a resample has its own).

    References
    ----------
    Krippendorff, K. (2011). Computing Krippendorff's alpha-reliability. University of Pennsylvania.

    Examples
    --------
    >>> round(krippendorff_alpha([[1, 1], [2, 2], [3, 1], [2, 2]], level="nominal", draws=0).value, 4)
    0.6316
    """
    ratings = agreement_ratings(data, item, rater, rating, scale, "Krippendorff's α", level)
    n_categories = len(ratings.categories)

    def statistic(codes: np.ndarray, counts: np.ndarray) -> np.ndarray:
        tally = tally_of(codes, n_categories)
        size = tally.sum(axis=1)
        totals = counts @ tally
        if level == "ordinal":
            ranks = np.cumsum(totals, axis=1) - totals / 2  # from 0, which differences of ranks do not notice
            seen = np.where(codes == GAP, 0.0, ranks[:, codes])
            spread = 2 * (size * (seen**2).sum(axis=2) - seen.sum(axis=2) ** 2)
            observed = (counts * spread / (size - 1)).sum(axis=1)
            expected = 2 * (totals.sum(1) * (totals * ranks**2).sum(1) - (totals * ranks).sum(1) ** 2)
        else:
            distance = _distance(ratings, level)
            observed = counts @ (((tally @ distance) * tally).sum(axis=1) / (size - 1))
            expected = ((totals @ distance) * totals).sum(axis=1)
        return 1 - (totals.sum(axis=1) - 1) * observed / np.where(expected > 0, expected, np.nan)

    return estimate(
        ratings.rated_by(2),
        statistic,
        name=f"Krippendorff's α, {level}",
        definition=f"Krippendorff (2011), {level} distance",
        undefined=f"{NO_COMMON_ITEMS}, or the ratings of the items that were rated twice are all in one category",
        draws=draws,
        seed=seed,
        confidence=confidence,
    )


def _distance(ratings: Ratings, level: str) -> np.ndarray:
    if level == "nominal" or ratings.scores is None:
        return 1 - np.eye(len(ratings.categories))
    difference = ratings.scores[:, None] - ratings.scores[None, :]
    if level == "interval":
        return difference**2
    total = ratings.scores[:, None] + ratings.scores[None, :]
    return (difference / np.where(total > 0, total, 1)) ** 2
