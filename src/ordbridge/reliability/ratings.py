"""From a long table or a matrix to one items × raters table of category codes with gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge import tables
from ordbridge.errors import InputError

__all__ = ["GAP", "LEVELS", "Ratings", "prepare", "require"]

GAP = -1
LEVELS = ("nominal", "ordinal", "interval", "ratio")


@dataclass(frozen=True)
class Ratings:
    """Who gave which item which category.

    Attributes
    ----------
    codes
        Items × raters; the position of the rating in ``categories``, or ``GAP`` where there is none.
    categories
        Labels of the categories, lowest first.
    scores
        Their numeric values, or ``None`` when the ratings are words.
    ordered
        Whether the categories have an order: numbers, ordered categories, or words with a given ``scale``.
    items, raters
        Labels of the rows and columns of ``codes``.
    """

    codes: np.ndarray
    categories: tuple[Any, ...]
    scores: np.ndarray | None
    ordered: bool
    items: tuple[Any, ...]
    raters: tuple[Any, ...]

    @property
    def n_missing(self) -> int:
        """Number of empty cells."""
        return int((self.codes == GAP).sum())

    @property
    def centred(self) -> np.ndarray:
        """The categories' numeric values around their mean, so that sums of squares lose no digits."""
        scores = np.asarray(self.scores, dtype=float)
        return scores - scores.mean()

    @property
    def values(self) -> np.ndarray:
        """Items × raters of numeric ratings (positions of the categories when they are words), NaN in the gaps."""
        scores = np.arange(len(self.categories), dtype=float) if self.scores is None else self.scores
        return np.where(self.codes == GAP, np.nan, scores[self.codes])

    def of_raters(self, raters: Sequence[Any]) -> Ratings:
        """Return the ratings of some raters, without the items that none of them saw."""
        columns = [self.raters.index(rater) for rater in raters]
        return replace(self, codes=self.codes[:, columns], raters=tuple(raters))._rows(
            (self.codes[:, columns] != GAP).any(1)
        )

    def rated_by(self, at_least: int) -> Ratings:
        """Return the items with at least so many ratings."""
        return self._rows((self.codes != GAP).sum(axis=1) >= at_least)

    def complete(self) -> Ratings:
        """Return the items that every rater rated."""
        return self.rated_by(len(self.raters))

    def _rows(self, keep: np.ndarray) -> Ratings:
        items = tuple(item for item, kept in zip(self.items, keep, strict=True) if kept)
        return replace(self, codes=self.codes[keep], items=items)


def prepare(
    data: Any,
    item: str = "item",
    rater: str = "participant",
    rating: str = "rating",
    scale: Sequence[Any] | None = None,
) -> Ratings:
    """Return ``data`` as :class:`Ratings`.

    Parameters
    ----------
    data
        A long table (anything :func:`ordbridge.tables.to_arrow` takes: one row a rating), an items × raters matrix
        (array or nested lists, gaps as ``None`` or NaN), or :class:`Ratings`, which are returned as they are.
    item, rater, rating
        Columns of the long table.
    scale
        ``(lowest, highest)`` of a numeric scale, or all its categories in order. Ratings outside of it are refused;
        categories that nobody used count where a coefficient depends on how many there are.

    Examples
    --------
    >>> ratings = prepare([[1, 2], [3, None]])
    >>> ratings.codes.tolist(), ratings.categories
    ([[0, 1], [2, -1]], (1, 2, 3))
    """
    if isinstance(data, Ratings):
        return data
    if isinstance(data, (np.ndarray, list, tuple)):
        matrix = _matrix(data)
        items = tuple(range(1, matrix.shape[0] + 1))
        raters = tuple(range(1, matrix.shape[1] + 1))
        rows, columns = (index.ravel() for index in np.indices(matrix.shape))
        labels = pa.chunked_array([_arrow(matrix.ravel())])
    else:
        table = tables.to_arrow(data)
        items, rows = _labels(tables.column(table, item, role="item"), item)
        raters, columns = _labels(tables.column(table, rater, role="rater"), rater)
        labels = tables.column(table, rating, role="rating")
    categories, scores, ordered, codes = _categories(labels, scale, items, raters, rows, columns)
    given = codes != GAP
    rows, columns, codes = rows[given], columns[given], codes[given]
    if not len(codes):
        raise InputError("there are no ratings: every cell is empty")
    _refuse_repeats(rows, columns, items, raters)
    grid = np.full((len(items), len(raters)), GAP, dtype=np.int64)
    grid[rows, columns] = codes
    ratings = Ratings(grid, categories, scores, ordered, items, raters)
    present = tuple(r for r, used in zip(raters, (grid != GAP).any(axis=0), strict=True) if used)
    return ratings.of_raters(present)


def require(ratings: Ratings, what: str, level: str = "nominal", *, varied: bool = True, raters: int = 2) -> None:
    """Refuse ratings on which ``what`` is not defined, with one sentence that says why."""
    if level not in LEVELS:
        raise InputError(f"level={level!r} is not a level of measurement; use one of {', '.join(LEVELS)}")
    if len(ratings.raters) < raters:
        raise InputError(f"{what} needs at least two raters; there is one ({ratings.raters[0]!r})")
    if len(ratings.items) < 2:
        raise InputError(f"{what} needs at least two items; there is {len(ratings.items)}")
    used = np.unique(ratings.codes[ratings.codes != GAP])
    if varied and len(used) == 1:
        raise InputError(
            f"all {(ratings.codes != GAP).sum()} ratings are {ratings.categories[used[0]]!r}: "
            f"without any variation {what} is not defined"
        )
    if level == "ordinal" and not ratings.ordered:
        raise InputError(
            f"{what} at the ordinal level needs categories with an order, but the ratings are words "
            f"({ratings.categories[0]!r}, …): give scale=[...] with all categories from lowest to highest, "
            "or choose level='nominal'"
        )
    if level in ("interval", "ratio") and ratings.scores is None:
        raise InputError(
            f"{what} at the {level} level needs numbers, but the ratings are words ({ratings.categories[0]!r}, …): "
            "choose level='nominal' or 'ordinal'"
        )
    if level == "ratio" and ratings.scores is not None and ratings.scores.min() < 0:
        raise InputError(
            f"{what} at the ratio level needs a true zero, but there is a rating of {ratings.scores.min():g}"
        )


def _matrix(data: Any) -> np.ndarray:
    try:
        matrix = np.array(data, dtype=object)
    except ValueError:
        matrix = np.empty(0, dtype=object)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise InputError("a matrix of ratings needs one row an item and one column a rater, all rows of one length")
    return matrix


def _arrow(cells: np.ndarray) -> pa.Array:
    try:
        return pa.array(cells.tolist(), from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise InputError("the matrix mixes words and numbers; use one kind of rating") from None


def _labels(column: pa.ChunkedArray, name: str) -> tuple[tuple[Any, ...], np.ndarray]:
    """Return the distinct labels (sorted, so that nothing depends on the order of rows) and each row's position."""
    if column.null_count:
        row = column.is_null().to_pylist().index(True) + 1
        raise InputError(f"column {name!r} is empty in row {row}; fill it in or drop the row")
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    encoded = column.combine_chunks().dictionary_encode()
    labels = encoded.dictionary.to_pylist()
    order = sorted(range(len(labels)), key=lambda position: labels[position])
    rank = np.empty(len(labels), dtype=np.int64)
    rank[order] = np.arange(len(labels))
    return tuple(labels[position] for position in order), rank[encoded.indices.to_numpy()]


def _categories(
    labels: pa.ChunkedArray,
    scale: Sequence[Any] | None,
    items: tuple[Any, ...],
    raters: tuple[Any, ...],
    rows: np.ndarray,
    columns: np.ndarray,
) -> tuple[tuple[Any, ...], np.ndarray | None, bool, np.ndarray]:
    """Return the categories, their scores, whether they have an order, and the code of every rating."""
    import pyarrow.compute as pc

    ordered = False
    if pa.types.is_dictionary(labels.type):
        if labels.type.ordered and scale is None and len(labels):
            scale, ordered = labels.unify_dictionaries().chunk(0).dictionary.to_pylist(), True
        labels = labels.cast(labels.type.value_type)
    if pa.types.is_boolean(labels.type):
        labels = labels.cast(pa.int8())
    numeric = pa.types.is_integer(labels.type) or pa.types.is_floating(labels.type) or pa.types.is_decimal(labels.type)
    if numeric and not pa.types.is_integer(labels.type):
        labels = labels.cast(pa.float64())
        labels = pc.if_else(pc.is_nan(labels), pa.scalar(None, pa.float64()), labels)
        if pc.any(pc.is_inf(labels)).as_py():
            raise InputError("a rating is infinite; ratings must be finite numbers")
    elif not numeric and not (pa.types.is_string(labels.type) or pa.types.is_large_string(labels.type)):
        if labels.null_count == len(labels):
            return (), None, False, np.full(len(labels), GAP)
        raise InputError(f"ratings of type {labels.type} cannot be analysed; use numbers or words")
    used = sorted(pc.unique(labels.drop_null()).to_pylist())
    used = [int(value) for value in used] if numeric and all(value == int(value) for value in used) else used
    categories = _whole_scale(used, scale, numeric) if scale is not None else used
    position = {category: code for code, category in enumerate(categories)}
    codes = np.array(
        [GAP if label is None else position.get(label, -2) for label in labels.to_pylist()], dtype=np.int64
    )
    if (codes == -2).any():
        row = int(np.argmax(codes == -2))
        raise InputError(
            f"the rating {labels[row].as_py()!r} (item {items[rows[row]]!r}, rater {raters[columns[row]]!r}) "
            f"is outside the scale {', '.join(map(str, scale or ()))}"
        )
    scores = np.array(categories, dtype=float) if numeric else None
    return tuple(categories), scores, numeric or ordered or scale is not None, codes


def _whole_scale(used: list[Any], scale: Sequence[Any], numeric: bool) -> list[Any]:
    """Return all categories of the scale: those listed, or what lies between two numeric ends."""
    if len(scale) < 2 or len(set(scale)) < len(scale):
        raise InputError("scale needs its lowest and highest value, or all its categories, each once")
    if not numeric:
        return [str(category) for category in scale]
    if any(isinstance(value, str) for value in scale):
        raise InputError(f"the ratings are numbers, but the scale has words ({', '.join(map(str, scale))})")
    if list(scale) != sorted(scale):
        raise InputError(f"the scale {', '.join(map(str, scale))} must go from lowest to highest")
    if len(scale) > 2:
        return list(scale)
    low, high = scale
    if all(isinstance(value, int) for value in used) and low == int(low) and high == int(high):
        return list(range(int(low), int(high) + 1))
    return sorted({low, high, *(value for value in used if low <= value <= high)})


def _refuse_repeats(rows: np.ndarray, columns: np.ndarray, items: tuple[Any, ...], raters: tuple[Any, ...]) -> None:
    cells, counts = np.unique(rows * len(raters) + columns, return_counts=True)
    if counts.max() > 1:
        cell, times = int(cells[counts.argmax()]), int(counts.max())
        raise InputError(
            f"rater {raters[cell % len(raters)]!r} has {times} ratings of item {items[cell // len(raters)]!r}: "
            "choose an item column that tells texts apart, name the criterion column, or keep one rating each"
        )
