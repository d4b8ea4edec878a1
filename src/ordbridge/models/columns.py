"""One column of data in the three kinds that a model knows: numbers, factors and truth values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ordbridge.errors import InputError

EXACT_INTEGERS = 2.0**53  # beyond it a float no longer holds every whole number


@dataclass(frozen=True, eq=False)
class Column:
    """A column: ``kind`` is ``"numeric"``, ``"logical"`` or ``"factor"``.

    ``values`` are floats with NaN for missing (numeric), or integers with −1 for missing (logical: 0, 1; factor:
    position in ``levels``). Whole numbers that a float cannot hold, such as long identifiers, are also kept as they
    are in ``whole``: they serve as labels, never as numbers.
    """

    kind: str
    values: np.ndarray
    levels: tuple[str, ...] = ()
    ordered: bool = False
    whole: np.ndarray | None = None

    @property
    def missing(self) -> np.ndarray:
        """Whether each value is missing."""
        return np.isnan(self.values) if self.kind == "numeric" else self.values < 0

    def take(self, rows: np.ndarray) -> Column:
        """Return the column on some rows."""
        return replace(self, values=self.values[rows], whole=None if self.whole is None else self.whole[rows])


def encode(name: str, array: pa.ChunkedArray) -> Column:
    """Turn an Arrow column into a model's column; text becomes a factor with its values sorted by code point.

    Examples
    --------
    >>> encode("system", pa.chunked_array([["b", "a", None]]))
    Column(kind='factor', values=array([ 1,  0, -1]), levels=('a', 'b'), ordered=False, whole=None)
    """
    kind = array.type
    if isinstance(kind, pa.DictionaryType):
        return _encode_categorical(name, array.unify_dictionaries())
    if pa.types.is_boolean(kind):
        return Column("logical", _integers(pc.cast(array, pa.int8())))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        numbers = pc.fill_null(pc.cast(array, pa.float64(), safe=False), np.nan).to_numpy().astype(float)
        infinite = np.flatnonzero(np.isinf(numbers))
        if infinite.size:
            raise InputError(
                f"column {name!r} has an infinite value in row {infinite[0] + 1}; correct it or make it missing"
            )
        return Column("numeric", numbers, whole=_whole(array, numbers))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return _factor_of_text(array)
    if pa.types.is_null(kind):
        return Column("numeric", np.full(len(array), np.nan))
    raise InputError(f"column {name!r} has the type {kind}; make it numbers, text, truth values or a categorical")


def encode_response(name: str, array: pa.ChunkedArray) -> Column:
    """Turn the response of an ordinal model into an ordered factor.

    Ordered categoricals keep their order; the sorted values of integers become the levels.

    Examples
    --------
    >>> encode_response("rating", pa.chunked_array([[5, 1, 3, None]])).levels
    ('1', '3', '5')
    """
    kind = array.type
    if isinstance(kind, pa.DictionaryType):
        column = encode(name, array)
        if not kind.ordered:
            _refuse_unordered(name, column.levels)
        column = _used_levels(column)
    elif pa.types.is_boolean(kind):
        raise InputError(f"the response {name!r} holds truth values; make it integers, such as 0 and 1")
    else:
        column = encode(name, array)
        if column.kind == "factor":
            _refuse_unordered(name, column.levels)
        column = _integer_levels(name, column)
    if column.missing.all():
        raise InputError(f"the response {name!r} is missing in every row")
    if len(column.levels) < 2:
        raise InputError(f"the response {name!r} has only one category, {column.levels[0]!r}; two or more are needed")
    return column


def _refuse_unordered(name: str, levels: tuple[str, ...]) -> None:
    shown = ", ".join(repr(level) for level in levels[:8]) + (", …" if len(levels) > 8 else "")
    raise InputError(
        f"the response {name!r} is text without an order; put its values in order, lowest first: "
        f"data[{name!r}] = pd.Categorical(data[{name!r}], categories=[{shown}], ordered=True)"
    )


def _integer_levels(name: str, column: Column) -> Column:
    present = column.values[~column.missing]
    fractional = present[(present != np.floor(present)) | (np.abs(present) >= EXACT_INTEGERS)]
    if fractional.size:
        raise InputError(
            f"the response {name!r} holds {fractional[0]:g}, which is not a whole number; an ordinal model needs "
            "categories: round it, or fit lmer"
        )
    values, codes = np.unique(present, return_inverse=True)
    all_codes = np.full(column.values.size, -1)
    all_codes[~column.missing] = codes
    return Column("factor", all_codes, tuple(str(int(value)) for value in values), ordered=True)


def _used_levels(column: Column) -> Column:
    """Leave out categories that nobody used, as R's model frame does."""
    used = np.unique(column.values[~column.missing])
    position = np.full(len(column.levels) + 1, -1)
    position[used] = np.arange(used.size)
    return Column("factor", position[column.values], tuple(column.levels[i] for i in used), ordered=True)


def _encode_categorical(name: str, array: pa.ChunkedArray) -> Column:
    merged = array.combine_chunks()
    if isinstance(merged, pa.ChunkedArray):  # how Arrow returns an empty column
        merged = pa.concat_arrays(merged.chunks) if merged.num_chunks else pa.array([], merged.type)
    levels = merged.dictionary
    try:
        levels = pc.cast(levels, pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InputError(f"the categories of column {name!r} cannot be written as text") from None
    return Column("factor", _integers(merged.indices), tuple(levels.to_pylist()), ordered=array.type.ordered)


def _factor_of_text(array: pa.ChunkedArray) -> Column:
    array = pc.cast(array, pa.large_string())
    levels = sorted(value for value in pc.unique(array).to_pylist() if value is not None)
    codes = pc.index_in(array, value_set=pa.array(levels, array.type))
    return Column("factor", _integers(codes), tuple(levels))


def _whole(array: pa.ChunkedArray, numbers: np.ndarray) -> np.ndarray | None:
    """Return whole numbers as they are if some are too large for a float; a missing one is 0."""
    if pa.types.is_floating(array.type) or not (np.abs(numbers) >= EXACT_INTEGERS).any():
        return None
    values = array.to_pylist()
    if any(value is not None and value != int(value) for value in values):
        return None
    return np.array([0 if value is None else int(value) for value in values], dtype=object)


def _integers(array: pa.ChunkedArray) -> np.ndarray:
    return np.asarray(pc.fill_null(pc.cast(array, pa.int64()), -1).to_numpy(zero_copy_only=False), dtype=np.int64)


def labelled(column: Column, label: Callable[[float], str]) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return numbers as the codes of their labels, and the labels; what reads alike is one level, as in R.

    Examples
    --------
    >>> labelled(Column("numeric", np.array([0.4, 0.3, 0.1 + 0.2, np.nan])), number_text)
    (array([ 1,  0,  0, -1]), ('0.3', '0.4'))
    """
    known, codes = np.unique(column.values[~column.missing], return_inverse=True)
    labels = [label(value) for value in known.tolist()]
    levels = tuple(dict.fromkeys(labels))
    position = {level: i for i, level in enumerate(levels)}
    all_codes = np.full(column.values.size, -1)
    all_codes[~column.missing] = np.array([position[text] for text in labels], dtype=np.int64)[codes]
    return all_codes, levels


def number_text(value: float) -> str:
    """Write a number as R's ``as.character`` does: up to 15 digits, in the shorter of its two forms.

    Examples
    --------
    >>> number_text(2.0), number_text(0.1), number_text(100000.0), number_text(123456.0)
    ('2', '0.1', '1e+05', '123456')
    """
    for digits in range(1, 16):
        scientific = f"{value:.{digits - 1}e}"
        if float(scientific) == float(f"{value:.14e}"):
            break
    mantissa, exponent = scientific.split("e")
    power = int(exponent)
    fixed = f"{value:.{max(0, digits - 1 - power)}f}"
    return fixed if len(fixed) <= len(f"{mantissa}e{power:+03d}") else f"{mantissa}e{power:+03d}"
