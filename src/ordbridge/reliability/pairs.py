"""Pairs of raters: the items that two raters have in common, and coefficients over all pairs at once.

Two raters' ratings of their common items are a cross table; only its filled cells are kept, with how often each
occurs. Coefficients of a pair come from two loops over its cells, together with what they would be without one item of
each cell. So a mean over pairs is known without each item and without each rater after one pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ordbridge import _core
from ordbridge.reliability.jackknife import TOGETHER, Replicates, group_of
from ordbridge.reliability.ratings import GAP, Ratings

LEAST_COMMON = 10  # common items that a pair needs to enter a mean, where raters saw different items
MOST_SHARED = 5_000_000  # pairs of ratings of one item; beyond, a random choice of pairs of raters has to do
MOST_PAIRS = 20_000


@dataclass(frozen=True)
class CommonItems:
    """Filled cells of the cross tables of all pairs of raters.

    Attributes
    ----------
    a, b
        The two raters of each pair, as positions in ``ratings.raters``.
    size
        Number of common items of each pair.
    start
        Where the cells of each pair start, and where the last one ends.
    x, y, count
        Of each cell: the category that a gave, that b gave, and for how many items.
    item, cell
        Of each common item of each pair: the item, and its cell.
    n_items, n_raters
        Of the ratings.
    left_out
        What was left out, in words; empty when every pair with common items is here.
    """

    a: np.ndarray
    b: np.ndarray
    size: np.ndarray
    start: np.ndarray
    x: np.ndarray
    y: np.ndarray
    count: np.ndarray
    item: np.ndarray
    cell: np.ndarray
    n_items: int
    n_raters: int
    left_out: str

    @property
    def cells(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Start of each pair, and x, y and count of each cell."""
        return self.start, self.x, self.y, self.count

    @cached_property
    def pair_of_cell(self) -> np.ndarray:
        """The pair that each cell belongs to."""
        return np.repeat(np.arange(len(self.a)), np.diff(self.start))


def common_items(ratings: Ratings, least: int | None = None, seed: int = 1) -> CommonItems:
    """Return the common items of all pairs of raters that have at least ``least`` of them.

    By default every pair counts where everybody rated everything or there are two raters, and pairs with
    ``LEAST_COMMON`` items elsewhere.

    Examples
    --------
    >>> from ordbridge.reliability import prepare
    >>> common = common_items(prepare([[1, 1], [2, 1], [2, 1]]))
    >>> common.size.tolist(), common.x.tolist(), common.y.tolist(), common.count.tolist()
    ([3], [0, 1], [0, 0], [1.0, 2.0])
    """
    if least is None:
        least = 1 if ratings.crossed or len(ratings.raters) == 2 else LEAST_COMMON
    kept: dict[tuple[int, int], CommonItems] = ratings.__dict__.setdefault("_common_items", {})  # for all coefficients
    if (least, seed) not in kept:
        kept[least, seed] = _common_items(ratings, least, seed)
    return kept[least, seed]


def _common_items(ratings: Ratings, least: int, seed: int) -> CommonItems:
    n_raters, q = len(ratings.raters), len(ratings.categories)
    shared = int((ratings.per_item.astype(np.int64) * (ratings.per_item - 1) // 2).sum())
    if shared > MOST_SHARED:
        pair, item, x, y = _of_some_pairs(ratings, seed)
        left_out = f"{MOST_PAIRS} of {n_raters * (n_raters - 1) // 2} pairs of raters, drawn at random"
    else:
        pair, item, x, y = _of_all_pairs(ratings)
        left_out = ""
    codes, of_pair, size = np.unique(pair, return_inverse=True, return_counts=True)
    enough = size >= least
    if not enough.all():
        left_out = "; ".join(
            filter(None, [left_out, f"{(~enough).sum()} pairs of raters with fewer than {least} common items left out"])
        )
        kept = enough[of_pair]
        item, x, y, of_pair = item[kept], x[kept], y[kept], (np.cumsum(enough) - 1)[of_pair[kept]]
        codes, size = codes[enough], size[enough]
    key, cell, count = np.unique((of_pair * q + x) * q + y, return_inverse=True, return_counts=True)
    start = np.searchsorted(key // (q * q), np.arange(len(codes) + 1))
    return CommonItems(
        codes // n_raters,
        codes % n_raters,
        size,
        start,
        key // q % q,
        key % q,
        count.astype(float),
        item,
        cell,
        len(ratings.items),
        n_raters,
        left_out,
    )


def _of_all_pairs(ratings: Ratings) -> tuple[np.ndarray, ...]:
    """Return, for every two ratings of an item: the pair of raters, the item, both codes."""
    order = np.lexsort((ratings.column, ratings.row))
    row, column, code = (side[order].astype(np.int64) for side in (ratings.row, ratings.column, ratings.code))
    first = np.searchsorted(row, np.arange(len(ratings.items)))
    parts = []
    for number in np.unique(ratings.per_item[ratings.per_item > 1]):  # all items with the same number of ratings
        items = np.flatnonzero(ratings.per_item == number)
        one, other = np.triu_indices(number, k=1)
        a, b = (first[items][:, None] + side for side in (one, other))
        parts.append((a.ravel(), b.ravel()))
    a, b = (np.concatenate([part[side] for part in parts]) if parts else np.zeros(0, np.int64) for side in (0, 1))
    return column[a] * len(ratings.raters) + column[b], row[a], code[a], code[b]


def _of_some_pairs(ratings: Ratings, seed: int) -> tuple[np.ndarray, ...]:
    """Return the same for a random choice of pairs of raters."""
    codes, n = ratings.codes, len(ratings.raters)
    drawn = np.random.default_rng(seed).choice(n * (n - 1) // 2, min(MOST_PAIRS, n * (n - 1) // 2), replace=False)
    b = np.floor((1 + np.sqrt(1 + 8 * drawn)) / 2).astype(np.int64)  # pairs in the order (0,1), (0,2), (1,2), (0,3), …
    a = drawn - b * (b - 1) // 2
    parts = []
    for i, j in zip(a, b, strict=True):
        items = np.flatnonzero((codes[:, i] != GAP) & (codes[:, j] != GAP))
        parts.append((np.full(len(items), i * n + j), items, codes[items, i], codes[items, j]))
    pair, item, x, y = (np.concatenate(side).astype(np.int64) for side in zip(*parts, strict=True))
    return pair, item, x, y


def weighted_mean(common: CommonItems, of_pair: np.ndarray, without_one: np.ndarray) -> Replicates:
    """Return the mean over pairs, weighted by their common items, and without each item and rater.

    Parameters
    ----------
    common
        The pairs.
    of_pair
        The coefficient of each pair, NaN where it has none; such pairs are left out.
    without_one
        For each cell, the coefficient of its pair without one of the cell's items.
    """
    size = np.where(np.isfinite(of_pair), common.size, 0.0)
    total = np.where(size > 0, size * of_pair, 0.0)
    pair = common.pair_of_cell
    left = np.isfinite(without_one) & (size[pair] > 0)
    size_left = np.where(left, size[pair] - 1, 0.0)
    size_lost = size[pair] - size_left
    total_lost = total[pair] - np.where(left, size_left * without_one, 0.0)
    return _without(common, (total, total_lost), (size, size_lost))


def pooled(
    common: CommonItems, pairs: tuple[np.ndarray, np.ndarray], cells: tuple[np.ndarray, np.ndarray]
) -> Replicates:
    """Return the ratio of two sums over all pairs, and without each item and rater.

    Parameters
    ----------
    common
        The pairs.
    pairs
        Numerator and denominator of each pair.
    cells
        What one item of each cell contributes to them.
    """
    return _without(common, (pairs[0], cells[0]), (pairs[1], cells[1]))


def _without(
    common: CommonItems, above: tuple[np.ndarray, np.ndarray], below: tuple[np.ndarray, np.ndarray]
) -> Replicates:
    """Return Σ above / Σ below over pairs, without each item that is in some pair, and without each such rater."""

    def lost(of_pair: np.ndarray, of_cell: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        items = np.bincount(common.item, weights=of_cell[common.cell], minlength=common.n_items)
        raters = sum(np.bincount(side, weights=of_pair, minlength=common.n_raters) for side in (common.a, common.b))
        return items, np.asarray(raters)

    items = np.bincount(common.item, minlength=common.n_items) > 0
    raters = np.bincount(np.concatenate([common.a, common.b]), minlength=common.n_raters) > 0
    (above_items, above_raters), (below_items, below_raters) = lost(*above), lost(*below)
    with np.errstate(divide="ignore", invalid="ignore"):
        return Replicates(
            float(above[0].sum() / below[0].sum()) if len(above[0]) else np.nan,
            ((above[0].sum() - above_items) / (below[0].sum() - below_items))[items],
            ((above[0].sum() - above_raters) / (below[0].sum() - below_raters))[raters],
            int((below[0] > 0).sum()),
            _together(common, items, raters, above, below),
        )


def _together(
    common: CommonItems,
    items: np.ndarray,
    raters: np.ndarray,
    above: tuple[np.ndarray, np.ndarray],
    below: tuple[np.ndarray, np.ndarray],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return Σ above / Σ below without groups of items, without groups of raters, and without both.

    What the items of a group contribute is added up, as if each were left out alone.
    """
    group, sizes = [], []
    for present in (items, raters):
        of_side = np.zeros(len(present), dtype=np.int64)
        of_side[present] = group_of(int(present.sum()), TOGETHER)
        group.append(of_side)
        sizes.append(min(int(present.sum()), TOGETHER))
    item, one, other = group[0][common.item], group[1][common.a], group[1][common.b]
    pair = common.pair_of_cell[common.cell]
    apart = one != other  # a pair within a group of raters is lost once
    n_cells = sizes[0] * sizes[1]

    def lost(of_pair: np.ndarray, of_cell: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        of_item = of_cell[common.cell]
        by_item = np.bincount(item, of_item, sizes[0])
        by_rater = np.bincount(one, of_pair, sizes[1]) + np.bincount(other, of_pair * apart, sizes[1])
        both = np.bincount(item * sizes[1] + one[pair], of_item, n_cells)
        both += np.bincount(item * sizes[1] + other[pair], of_item * apart[pair], n_cells)
        return by_item, by_rater, by_item[:, None] + by_rater - both.reshape(sizes)

    sums = (of_pair.sum() - side for of_pair, of_cell in (above, below) for side in lost(of_pair, of_cell))
    a_items, a_raters, a_both, b_items, b_raters, b_both = sums
    return a_items / b_items, a_raters / b_raters, a_both / b_both


def observed_and_expected(common: CommonItems, w: np.ndarray | None) -> tuple[np.ndarray, ...]:
    """Return Cohen's observed and expected agreement of each pair, and both without one item of each cell.

    Without weights ``w``, equal categories agree and others do not.
    """
    if w is None:
        w = np.eye(1 + int(max(common.x.max(initial=0), common.y.max(initial=0))))
    observed, expected, observed_left, expected_left = _core.pair_agreement(*common.cells, w)
    n, left = common.size, (common.size - 1.0)[common.pair_of_cell]
    with np.errstate(divide="ignore", invalid="ignore"):
        return observed / n, expected / n**2, observed_left / left, expected_left / left**2


def kappa(common: CommonItems, w: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return Cohen's κ of each pair, and without one item of each cell."""
    observed, expected, observed_left, expected_left = observed_and_expected(common, w)
    return beyond_chance(observed, expected), beyond_chance(observed_left, expected_left)


def beyond_chance(observed: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return (observed − expected) / (1 − expected), NaN where chance leaves no room."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(1 - expected > 1e-12, (observed - expected) / (1 - expected), np.nan)


def concordance(common: CommonItems) -> tuple[np.ndarray, ...]:
    """Return C, D and the pairs of items tied for a and for b, of each pair of raters; then per item of each cell."""
    per_item = _core.pair_comparisons(*common.cells)
    starts = common.start[:-1]
    of_pair = tuple(np.add.reduceat(side * common.count, starts) / 2 if len(starts) else side for side in per_item)
    return (*of_pair, *per_item)


def gamma(common: CommonItems) -> np.ndarray:
    """Return Goodman & Kruskal's γ of each pair, NaN where no two items are untied for both."""
    c, d, *_ = concordance(common)
    with np.errstate(divide="ignore", invalid="ignore"):
        return (c - d) / (c + d)


def tau_b(common: CommonItems) -> tuple[np.ndarray, np.ndarray]:
    """Return Kendall's τ-b of each pair, and without one item of each cell."""
    c, d, tied_a, tied_b, c_i, d_i, tied_a_i, tied_b_i = concordance(common)
    pair = common.pair_of_cell

    def tau(n: np.ndarray, s: np.ndarray, ties_a: np.ndarray, ties_b: np.ndarray) -> np.ndarray:
        pairs = n * (n - 1) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            return s / np.sqrt((pairs - ties_a) * (pairs - ties_b))

    return (
        tau(common.size, c - d, tied_a, tied_b),
        tau(common.size[pair] - 1.0, (c - d)[pair] - c_i + d_i, tied_a[pair] - tied_a_i, tied_b[pair] - tied_b_i),
    )


def rho(common: CommonItems) -> tuple[np.ndarray, np.ndarray]:
    """Return Spearman's ρ of each pair, and without one item of each cell, with ranks taken anew."""
    return _core.pair_spearman(*common.cells)


def product_moment(common: CommonItems, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Pearson's r of each pair, and without one item of each cell."""
    return _core.pair_pearson(*common.cells, points - points.mean())
