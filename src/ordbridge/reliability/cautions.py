"""What makes coefficients of reliability lie, looked for in the ratings themselves."""

from __future__ import annotations

import numpy as np

from ordbridge.reliability.pairs import common_items
from ordbridge.reliability.ratings import Ratings

__all__ = ["cautions", "sorted_pairs"]

FEW_ITEMS = 30
DOMINANT_SHARE = 0.9
ONE_SIDED = 8  # so many differences, all in one direction, come about by chance once in 128 times


def cautions(ratings: Ratings) -> list[tuple[str, str]]:
    """Return (kind, sentence) for everything in these ratings that makes a coefficient mislead.

    Examples
    --------
    >>> from ordbridge.reliability import prepare
    >>> cautions(prepare([[1, 2], [2, 3], [1, 1]]))
    [('few items', 'only 3 items have two or more ratings: coefficients are unstable and their intervals rough')]
    """
    found = [_few_items(ratings), _dominant_category(ratings), _no_common_items(ratings), _sorted_within_items(ratings)]
    return [caution for caution in found if caution]


def sorted_pairs(ratings: Ratings) -> list[tuple[int, int, int]]:
    """Return (lower, higher, common items) for every two raters of whom one is never above the other."""
    if not ratings.ordered:
        return []
    common = common_items(ratings, least=1)
    a_above, b_above = (
        np.add.reduceat(common.count * side, common.start[:-1]) for side in (common.x > common.y, common.x < common.y)
    )
    one_sided = np.flatnonzero((np.minimum(a_above, b_above) == 0) & (a_above + b_above >= ONE_SIDED))
    order = np.where(a_above == 0, [common.a, common.b], [common.b, common.a])[:, one_sided]
    return list(zip(*order.tolist(), common.size[one_sided].tolist(), strict=True))


def _few_items(ratings: Ratings) -> tuple[str, str] | None:
    n = len(ratings.rated_by(2).items)
    if n >= FEW_ITEMS:
        return None
    return (
        "few items",
        f"only {n} items have two or more ratings: coefficients are unstable and their intervals rough",
    )


def _dominant_category(ratings: Ratings) -> tuple[str, str] | None:
    counts = np.bincount(ratings.code, minlength=len(ratings.categories))
    share = counts.max() / counts.sum()
    if share < DOMINANT_SHARE:
        return None
    return (
        "dominant category",
        f"{share:.0%} of the ratings are {ratings.categories[counts.argmax()]!r}: κ and α can be near zero although "
        "raters nearly always agree; read them beside percent agreement and Gwet's AC",
    )


def _no_common_items(ratings: Ratings) -> tuple[str, str] | None:
    n_raters = len(ratings.raters)
    possible = n_raters * (n_raters - 1) // 2
    missing = possible - ratings.n_sharing
    if not missing:
        return None
    return (
        "no common items",
        f"{missing} of {possible} pairs of raters have no item in common: nothing is known about their agreement, "
        "and means over pairs leave them out; Krippendorff's α and Conger's κ do not need pairs",
    )


def _sorted_within_items(ratings: Ratings) -> tuple[str, str] | None:
    pairs = sorted_pairs(ratings)
    if not pairs:
        return None
    lower, higher, common = pairs[0]
    low, high = ratings.raters[lower], ratings.raters[higher]
    never = f"rater {low!r} is never above rater {high!r} in any of {common} common items"
    if len(pairs) < ratings.n_sharing:
        more = f" (the same holds for {len(pairs)} pairs of raters in all)" if len(pairs) > 1 else ""
        return "never above", f"{never}{more}: the one is much stricter, or these are not two raters' own ratings"
    return (
        "sorted within items",
        f"{never}, and so on for all pairs: either they are always stricter, or the ratings were sorted within items, "
        "so that a 'rater' is a rank position and not a person, which inflates γ and every other correlation; ask for "
        "the ratings in their original order",
    )
