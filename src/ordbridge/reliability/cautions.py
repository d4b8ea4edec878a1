"""What makes coefficients of reliability lie, looked for in the ratings themselves."""

from __future__ import annotations

import numpy as np

from ordbridge.reliability.bootstrap import pairs_of_raters
from ordbridge.reliability.ratings import GAP, Ratings

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
    pairs = []
    for a, b, common in pairs_of_raters(ratings.codes):
        difference = ratings.codes[common, a] - ratings.codes[common, b]
        if np.count_nonzero(difference) >= ONE_SIDED and (difference.max() <= 0 or difference.min() >= 0):
            lower, higher = (a, b) if difference.max() <= 0 else (b, a)
            pairs.append((lower, higher, int(common.sum())))
    return pairs


def _few_items(ratings: Ratings) -> tuple[str, str] | None:
    n = len(ratings.rated_by(2).items)
    if n >= FEW_ITEMS:
        return None
    return (
        "few items",
        f"only {n} items have two or more ratings: coefficients are unstable and their intervals rough",
    )


def _dominant_category(ratings: Ratings) -> tuple[str, str] | None:
    counts = np.bincount(ratings.codes[ratings.codes != GAP], minlength=len(ratings.categories))
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
    missing = possible - sum(1 for _ in pairs_of_raters(ratings.codes))
    if not missing:
        return None
    return (
        "no common items",
        f"{missing} of {possible} pairs of raters have no item in common: nothing is known about their agreement, "
        "and means over pairs leave them out",
    )


def _sorted_within_items(ratings: Ratings) -> tuple[str, str] | None:
    pairs = sorted_pairs(ratings)
    if not pairs:
        return None
    lower, higher, common = pairs[0]
    never = f"rater {ratings.raters[lower]!r} is never above {ratings.raters[higher]!r} in any of {common} common items"
    if len(pairs) < sum(1 for _ in pairs_of_raters(ratings.codes)):
        more = f" (nor is one of two raters in {len(pairs)} pairs in all)" if len(pairs) > 1 else ""
        return "never above", f"{never}{more}: the one is much stricter, or these are not two raters' own ratings"
    return (
        "sorted within items",
        f"{never}, and so on for all pairs: either they are ever stricter, or the ratings were sorted within items, so "
        "that a 'rater' is a rank position and not a person, which inflates γ and every other correlation; ask for the "
        "ratings in their original order",
    )
