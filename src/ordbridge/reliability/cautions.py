"""What makes coefficients of reliability mislead, looked for in the ratings themselves."""

from __future__ import annotations

import numpy as np

from ordbridge.reliability.pairs import common_items
from ordbridge.reliability.ratings import Ratings
from ordbridge.results import Finding, found

FEW_ITEMS = 30
DOMINANT_SHARE = 0.9
ONE_SIDED = 8  # so many differences, all in one direction, come about by chance once in 128 times


MISLEADING = frozenset({"few-shared-items", "dominant-category", "no-common-items", "never-above", "one-rater-group",
                        "sorted-within-items", "texts-rated-twice"})  # fmt: skip
"""Findings about the ratings themselves, which are warnings of Python, too."""


def cautions(ratings: Ratings, subject: str = "") -> list[Finding]:
    """Return everything in these ratings that makes a coefficient mislead.

    Examples
    --------
    >>> from ordbridge.reliability import prepare
    >>> [caution.code for caution in cautions(prepare([[1, 2], [2, 3], [1, 1]]))]
    ['few-shared-items']
    """
    seen = []
    n = len(ratings.rated_by(2).items)
    if n < FEW_ITEMS:
        seen.append(found("few-shared-items", subject, n=n))
    counts = np.bincount(ratings.code, minlength=len(ratings.categories))
    if (share := counts.max() / counts.sum()) >= DOMINANT_SHARE:
        category = str(ratings.categories[counts.argmax()])
        seen.append(found("dominant-category", subject, share=float(share), category=category))
    n_raters = len(ratings.raters)
    possible = n_raters * (n_raters - 1) // 2
    if missing := possible - ratings.n_sharing:
        seen.append(found("no-common-items", subject, missing=missing, pairs=possible))
    if pairs := sorted_pairs(ratings):
        lower, higher, common = pairs[0]
        names = {"lower": str(ratings.raters[lower]), "higher": str(ratings.raters[higher])}
        code = "never-above" if len(pairs) < ratings.n_sharing else "sorted-within-items"
        seen.append(found(code, subject, **names, n=common, pairs=len(pairs)))
    return seen


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
