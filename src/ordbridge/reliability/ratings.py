"""From a long table or a matrix to ratings: which rater gave which item which category, once."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge.errors import InputError, StatisticalWarning
from ordbridge.reading import RatingTable, read, tables
from ordbridge.results import found
from ordbridge.support.arguments import number
from ordbridge.support.naming import arg

MANY_CATEGORIES = 20  # more are shown in ten equal steps
GAP = -1
MOST_POINTS = 5_000  # between the ends of a scale of whole numbers; tables of agreement grow with their square
LEVELS = ("nominal", "ordinal", "interval", "ratio")


@dataclass(frozen=True)
class Ratings:
    """Who gave which item which category: one entry per rating, so that a crowd with many gaps needs little memory.

    Attributes
    ----------
    row, column, code
        Of each rating: the position of its item in ``items``, of its rater in ``raters``, and of its category in
        ``categories``. No rater rates an item twice.
    categories
        Labels of the categories, lowest first.
    scores
        Their numeric values, or ``None`` when the ratings are words.
    ordered
        Whether the categories have an order: numbers, ordered categories, or words with a given ``scale``.
    items, raters
        Labels of items and raters. An item is a text: where there are systems, one output of one system.
    text
        What an item is, in words.
    """

    row: np.ndarray
    column: np.ndarray
    code: np.ndarray
    categories: tuple[Any, ...]
    scores: np.ndarray | None
    ordered: bool
    items: tuple[Any, ...]
    raters: tuple[Any, ...]
    text: str = "item"

    @classmethod
    def from_codes(cls, codes: np.ndarray, **labels: Any) -> Ratings:
        """Return the ratings of an items × raters table of codes with ``GAP`` in the gaps."""
        row, column = np.nonzero(codes != GAP)
        return cls(row, column, codes[row, column], **labels)

    @cached_property
    def codes(self) -> np.ndarray:
        """Items × raters: the position of the rating in ``categories``, or ``GAP`` where there is none."""
        grid = np.full((len(self.items), len(self.raters)), GAP, dtype=np.int32)
        grid[self.row, self.column] = self.code
        return grid

    @cached_property
    def per_item(self) -> np.ndarray:
        """Number of ratings of each item."""
        return np.bincount(self.row, minlength=len(self.items))

    @cached_property
    def per_rater(self) -> np.ndarray:
        """Number of ratings of each rater."""
        return np.bincount(self.column, minlength=len(self.raters))

    @cached_property
    def n_sharing(self) -> int:
        """Number of pairs of raters who rated a common item."""
        from scipy.sparse import coo_array, triu

        if self.crossed:
            return len(self.raters) * (len(self.raters) - 1) // 2
        shape = (len(self.items), len(self.raters))
        rated = coo_array((np.ones(len(self.row), dtype=np.int32), (self.row, self.column)), shape=shape).tocsr()
        return int(triu(rated.T @ rated, k=1).count_nonzero())

    def use_of_categories(self) -> list[dict[str, Any]]:
        """Return one row per rater and category: how often it was used. Many values are put into ten equal steps."""
        codes, labels = self.code, [str(category) for category in self.categories]
        if len(labels) > MANY_CATEGORIES and self.scores is not None:
            edges = np.linspace(self.scores[0], self.scores[-1], 11)
            codes = np.clip(np.searchsorted(edges, self.scores, side="right") - 1, 0, 9)[codes]
            labels = [f"{low:g} to {high:g}" for low, high in pairwise(edges)]
        q = len(labels)
        counts = np.bincount(self.column * q + codes, minlength=len(self.raters) * q).reshape(-1, q)
        return [
            {"participant": str(name), "category": label, "count": int(count), "share": float(count / line.sum())}
            for name, line in zip(self.raters, counts, strict=True)
            for label, count in zip(labels, line, strict=True)
        ]

    @property
    def texts(self) -> str:
        """What items are, in the plural."""
        return "items" if self.text == "item" else self.text.replace("text", "texts", 1)

    @property
    def n_missing(self) -> int:
        """Number of empty cells."""
        return len(self.items) * len(self.raters) - len(self.code)

    @property
    def crossed(self) -> bool:
        """Whether every rater rated every item."""
        return self.n_missing == 0

    @property
    def points(self) -> np.ndarray:
        """The categories' numeric values, or their positions when they are words."""
        return np.arange(len(self.categories), dtype=float) if self.scores is None else self.scores

    @property
    def values(self) -> np.ndarray:
        """Items × raters of numeric ratings (positions of the categories when they are words), NaN in the gaps."""
        return np.where(self.codes == GAP, np.nan, self.points[self.codes])

    def only(self, keep: np.ndarray) -> Ratings:
        """Return some of the ratings, with the same items and raters, of whom some may now have none."""
        return replace(self, row=self.row[keep], column=self.column[keep], code=self.code[keep])

    def of_raters(self, raters: Sequence[Any]) -> Ratings:
        """Return the ratings of some raters, without the items that none of them saw."""
        place = {label: position for position, label in enumerate(self.raters)}
        new = np.full(len(self.raters), -1)
        new[[place[rater] for rater in raters]] = np.arange(len(raters))
        kept = self.only(new[self.column] >= 0)
        kept = replace(kept, column=new[kept.column], raters=tuple(raters))
        return kept._rows(kept.per_item > 0)

    def first_of_each(self) -> Ratings:
        """Return each rater's first rating of each item."""
        return self.only(np.unique(self.row * len(self.raters) + self.column, return_index=True)[1])

    def rated_by(self, at_least: int) -> Ratings:
        """Return the items with at least so many ratings."""
        return self._rows(self.per_item >= at_least)

    def complete(self) -> Ratings:
        """Return the items that every rater rated."""
        return self.rated_by(len(self.raters))

    def _rows(self, keep: np.ndarray) -> Ratings:
        if keep.all():
            return self
        items = tuple(item for item, kept in zip(self.items, keep, strict=True) if kept)
        kept = self.only(keep[self.row])
        return replace(kept, row=(np.cumsum(keep) - 1)[kept.row], items=items)


def prepare(
    data: Any,
    item: str = "item",
    participant: str = "participant",
    rating: str = "rating",
    scale: Sequence[Any] | None = None,
    *,
    system: str | None = "system",
) -> Ratings:
    """Return ``data`` as :class:`Ratings`.

    Where a rater rated a text more than once, the first rating counts and a warning says so; the others are for
    :func:`ordbridge.reliability.stability`.

    Parameters
    ----------
    data
        A long table (anything :func:`ordbridge.reading.tables.to_arrow` takes: one row per rating), an items × raters
        matrix
        (array or nested lists, gaps as ``None`` or NaN), or :class:`Ratings`, which are returned as they are.
    item, participant, rating
        Columns of the long table.
    scale
        ``(lowest, highest)`` of a numeric scale, or all its categories in order. Ratings outside of it are refused;
        categories that nobody used count where a coefficient depends on how many there are.
    system
        Column of the system. Where the table has it, the rated text is item × system.

    Examples
    --------
    >>> ratings = prepare([[1, 2], [3, None]])
    >>> ratings.codes.tolist(), ratings.categories
    ([[0, 1], [2, -1]], (1, 2, 3))
    """
    if isinstance(data, Ratings):
        return data
    ratings = read_ratings(data, item, participant, rating, scale, system=system)
    first = ratings.first_of_each()
    if repeats := len(ratings.code) - len(first.code):
        _refuse_forgotten_criterion(data, ratings)
        warnings.warn(found("texts-rated-twice", n=repeats, text=ratings.text).text, StatisticalWarning, stacklevel=2)
    return first


def read_for(source: Any, level: str | None, scale: Sequence[Any] | None, options: Mapping[str, Any]) -> RatingTable:
    """Read ratings; words need an order only where the level of measurement does."""
    if level is not None and level not in LEVELS:
        raise InputError(f"{arg('level', level)} is not a level of measurement; use one of {', '.join(LEVELS)}")
    given = {name: value for name, value in options.items() if value is not None}
    if "levels" not in given and not isinstance(source, RatingTable):
        words = scale is not None and any(isinstance(point, str) for point in scale)
        if scale is not None:
            given |= {"levels": [str(point) for point in scale]} if words else {"scale": (scale[0], scale[-1])}
        if level in (None, "nominal") and not words:
            given["levels"] = "unordered"
    return read(source, **given)


def read_ratings(
    data: Any,
    item: str,
    participant: str,
    rating: str,
    scale: Sequence[Any] | None,
    *,
    system: str | None = "system",
) -> Ratings:
    """Do what :func:`prepare` does, but keep repeated ratings, in the order of the rows."""
    if isinstance(data, Ratings):
        return data
    text = "item"
    items: tuple[Any, ...]
    if isinstance(data, (np.ndarray, list, tuple)):
        matrix = _matrix(data)
        items = tuple(range(1, matrix.shape[0] + 1))
        raters = tuple(range(1, matrix.shape[1] + 1))
        rows, columns = (index.ravel() for index in np.indices(matrix.shape))
        labels = pa.chunked_array([_arrow(matrix.ravel())])
    else:
        table = tables.to_arrow(data, only=[name for name in (item, participant, rating, system) if name is not None])
        items, rows = _labels(tables.column(table, item, role="item"), item)
        if _has_systems(table, system, item):
            systems, system_of_row = _labels(table[system], str(system))
            texts, rows = np.unique(rows * len(systems) + system_of_row, return_inverse=True)
            if len(texts) > len(items):
                text = f"text ({item} × {system})"
                pairs = [divmod(both, len(systems)) for both in texts.tolist()]
                items = tuple((items[of_item], systems[of_system]) for of_item, of_system in pairs)
        raters, columns = _labels(tables.column(table, participant, role="participant"), participant)
        labels = tables.column(table, rating, role="rating")
    categories, scores, ordered, codes = _categories(labels, scale, items, raters, rows, columns)
    given = codes != GAP
    if not given.any():
        raise InputError("there are no ratings: every cell is empty")
    read = Ratings(rows[given], columns[given], codes[given], categories, scores, ordered, items, raters, text)
    return read.of_raters([r for r, number in zip(raters, read.per_rater, strict=True) if number])


def _has_systems(table: pa.Table, system: str | None, item: str) -> bool:
    return system is not None and system != item and system in table.column_names and table[system].null_count == 0


def _refuse_forgotten_criterion(data: Any, ratings: Ratings) -> None:
    """Refuse repeats that are ratings on several criteria, which are not repeats."""
    if isinstance(data, (np.ndarray, list, tuple)):
        return
    table, _ = tables.usable(data)
    # as text, because Arrow cannot compare values of every kind
    if "criterion" in table.column_names and len(set(map(str, table["criterion"].to_pylist()))) > 1:
        cell = ratings.row * len(ratings.raters) + ratings.column
        again = int(np.argmax(np.bincount(cell)[cell] > 1))
        raise InputError(
            f"rater {ratings.raters[ratings.column[again]]!r} has several ratings of {ratings.text} "
            f"{ratings.items[ratings.row[again]]!r}, and there is a column 'criterion': give "
            f"{arg('criterion', 'criterion')}, or keep the rows of one criterion"
        )


def require(ratings: Ratings, what: str, level: str = "nominal", *, varied: bool = True, raters: int = 2) -> None:
    """Refuse ratings on which ``what`` is not defined, with one sentence that says why."""
    if level not in LEVELS:
        raise InputError(f"{arg('level', level)} is not a level of measurement; use one of {', '.join(LEVELS)}")
    if len(ratings.raters) < raters:
        raise InputError(f"{what} needs at least two raters; there is one ({ratings.raters[0]!r})")
    if len(ratings.items) < 2:
        raise InputError(f"{what} needs at least two items; there is {len(ratings.items)}")
    used = np.unique(ratings.code)
    if varied and len(used) == 1:
        raise InputError(
            f"all {len(ratings.code)} ratings are {ratings.categories[used[0]]!r}: "
            f"without any variation {what} is not defined"
        )
    if level == "ordinal" and not ratings.ordered:
        raise InputError(
            f"{what} at the ordinal level needs categories with an order, but the ratings are words "
            f"({ratings.categories[0]!r}, …). Give {arg('scale')} with all categories from lowest to highest, or "
            f"choose {arg('level', 'nominal')}"
        )
    if level in ("interval", "ratio") and ratings.scores is None:
        raise InputError(
            f"{what} at the {level} level needs numbers, but the ratings are words ({ratings.categories[0]!r}, …): "
            f"choose {arg('level', 'nominal')} or 'ordinal'"
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
        raise InputError("a matrix of ratings needs one row per item and one column per rater, all rows of one length")
    return matrix


def _arrow(cells: np.ndarray) -> pa.Array:
    listed = cells.tolist()
    try:
        return pa.array(listed, from_pandas=True)
    except UnicodeEncodeError:
        raise InputError("the matrix holds text that is not valid Unicode; correct it") from None
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        kinds = sorted({type(value).__name__ for value in listed if value is not None})
        raise InputError(
            f"the matrix mixes words and numbers, or holds neither (kinds: {', '.join(kinds)}); use one kind of rating"
        ) from None


def _labels(column: pa.ChunkedArray, name: str) -> tuple[tuple[Any, ...], np.ndarray]:
    """Return the distinct labels (sorted, so that nothing depends on the order of rows) and each row's position."""
    if column.null_count:
        row = column.is_null().to_pylist().index(True) + 1
        raise InputError(f"column {name!r} is empty in row {row}; fill it in or drop the row")
    try:
        encoded = tables.decode_dictionary(column).combine_chunks().dictionary_encode()
        labels = encoded.dictionary.to_pylist()
        numbered = all(isinstance(label, str) and label.isascii() and label.isdigit() for label in labels)
        keys = [(int(label), label) for label in labels] if numbered else labels  # read as text: 2 before 10
        order = sorted(range(len(labels)), key=lambda position: keys[position])
    except (pa.ArrowException, TypeError):
        raise InputError(f"column {name!r} has the type {column.type}; make it text or numbers") from None
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
        labels = tables.decode_dictionary(labels)
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
            f"is outside the scale {', '.join(f'{p:g}' if isinstance(p, float) else str(p) for p in scale or ())}"
        )
    scores = np.array(categories, dtype=float) if numeric else None
    return tuple(categories), scores, numeric or ordered or scale is not None, codes


def _whole_scale(used: list[Any], scale: Sequence[Any], numeric: bool) -> list[Any]:
    """Return all categories of the scale: those listed, or what lies between two numeric ends."""
    scale = list(scale)
    if len(scale) < 2 or any(scale[i] in scale[:i] for i in range(1, len(scale))):
        raise InputError("scale needs its lowest and highest value, or all its categories, each once")
    if not numeric:
        return [str(category) for category in scale]
    if any(isinstance(value, str) for value in scale):
        raise InputError(f"the ratings are numbers, but the scale has words ({', '.join(map(str, scale))})")
    for value in scale:
        number("scale", value)
    if list(scale) != sorted(scale):
        raise InputError(f"the scale {', '.join(map(str, scale))} must go from lowest to highest")
    if len(scale) > 2:
        return list(scale)
    low, high = scale
    if all(isinstance(value, int) for value in used) and low == int(low) and high == int(high):
        if high - low >= MOST_POINTS:
            raise InputError(
                f"a scale from {low:g} to {high:g} has more than {MOST_POINTS:,} points; "
                "list those that raters could choose"
            )
        return list(range(int(low), int(high) + 1))
    return sorted({low, high, *(value for value in used if low <= value <= high)})
