"""Any table a user holds, as one Arrow table."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ordbridge.errors import InputError
from ordbridge.reading.cell_types import MISSING, typed
from ordbridge.reading.opening import arrow_file, kind_of, open_sheet, without_views
from ordbridge.reading.sheet import Sheet
from ordbridge.reading.source import contents
from ordbridge.reading.text_files import decoded, refuse_large_text, separator_of
from ordbridge.support.escaping import as_in_file, for_spreadsheet
from ordbridge.support.formatting import enumerated
from ordbridge.support.writing import whole_file

__all__ = ["column", "decode_dictionary", "read", "to_arrow", "usable", "write"]

DIGITS = 76  # of Arrow's longest decimal
WHOLE = re.compile(r"[+-]?\d+")
MISSING_CODES = sorted({*MISSING, *(code.upper() for code in MISSING), "NaN", "Null"})


def to_arrow(data: Any, only: Collection[str] | None = None) -> pa.Table:
    """Return ``data`` as a :class:`pyarrow.Table`, without changing what the caller holds.

    Parameters
    ----------
    data
        A pandas or polars DataFrame, a :class:`pyarrow.Table`, anything with ``__arrow_c_stream__``, a mapping of
        column names to sequences, a list of dictionaries, or the path of a file (see :func:`read`). Named levels of
        pandas' index are columns, too.
    only
        The columns that are needed, if not all: others may hold what no table can, and are then left out.

    Returns
    -------
    pyarrow.Table

    Examples
    --------
    >>> to_arrow({"item": ["a", "b"], "rating": [1, 5]}).column_names
    ['item', 'rating']
    """
    table, unusable = usable(data)
    for name, reason in unusable.items():
        if only is None or name in only:
            raise InputError(reason)
    return table


def usable(data: Any) -> tuple[pa.Table, dict[str, str]]:
    """Return the columns of ``data`` that a table can hold, and for each of the others the sentence that says why not.

    Examples
    --------
    >>> table, unusable = usable({"rating": [1, 5], "note": [1j, "a"]})
    >>> table.column_names, unusable
    (['rating'], {'note': "column 'note' holds values of the kinds complex, str; make them all numbers or all text"})
    """
    if isinstance(data, (str, os.PathLike)):
        return read(data), {}
    data = _plain(data)
    names = getattr(data, "columns", data if isinstance(data, dict) else None)
    if names is not None and not isinstance(data, pa.Table):
        _refuse_duplicates([str(name) for name in names])
        _refuse_unwritable([str(name) for name in names])
    unusable: dict[str, str] = {}
    if isinstance(data, pa.Table):
        table = data
    elif hasattr(data, "iloc"):  # pandas: by its own converter, which keeps categories and leaves the index behind
        renamed = data.rename(columns=str)
        table, unusable = _by_columns(renamed, lambda: pa.Table.from_pandas(renamed, preserve_index=False))
        table = table.replace_schema_metadata(None)
    elif hasattr(data, "__arrow_c_stream__") or isinstance(data, dict):
        table, unusable = _by_columns(data, lambda: pa.table(data))
    else:
        raise InputError(
            f"data is a {type(data).__name__}; give a pandas or polars DataFrame, a pyarrow Table, a list of "
            "dictionaries, or the path of a file"
        )
    _refuse_duplicates([*table.column_names, *unusable])
    return without_views(table), unusable


def _plain(data: Any) -> Any:
    """Return a table for what is nearly one: a list of dictionaries, a Series or a frame with a named index."""
    if isinstance(data, (list, tuple)) and data and all(isinstance(row, Mapping) for row in data):
        names = dict.fromkeys(name for row in data for name in row)
        return {str(name): [row.get(name) for row in data] for name in names}
    if hasattr(data, "collect_schema") and hasattr(data, "collect"):
        raise InputError("data is lazy; give data.collect()")
    if not hasattr(data, "iloc"):
        return data
    levels = [name for name in data.index.names if name is not None]
    if not hasattr(data, "columns"):
        if not levels:
            raise InputError("data is one column; give a table with who rated what, for example data.reset_index()")
        return data.rename("rating" if data.name is None else data.name).reset_index()
    if getattr(data.columns, "nlevels", 1) > 1:
        raise InputError(
            "the columns of data have several levels; give one row per rating, for example "
            "data.stack(list(range(data.columns.nlevels))).rename('rating').reset_index()"
        )
    clash = not levels or len(levels) < data.index.nlevels or set(levels) & set(data.columns)
    return data if clash else data.reset_index()


def _by_columns(data: Any, whole: Callable[[], pa.Table]) -> tuple[pa.Table, dict[str, str]]:
    """Convert a frame at once; where Arrow cannot, column by column, with whole numbers of any size."""
    try:
        return whole(), {}
    except (pa.ArrowException, OverflowError, TypeError, ValueError, AttributeError):
        pass
    columns: dict[str, pa.Array] = {}
    unusable: dict[str, str] = {}
    for name in getattr(data, "columns", data):
        try:
            values = _array(str(name), data[name])
        except InputError as error:
            unusable[str(name)] = str(error)
        else:
            columns[str(name)] = values
    _refuse_ragged(columns)
    return pa.table(columns), unusable


def _array(name: str, values: Any) -> pa.Array:
    if getattr(getattr(values, "dtype", None), "kind", "") == "f":
        values = np.asarray(values, dtype=float)  # Arrow has no longer ones
    try:
        return pa.array(values, from_pandas=True)
    except UnicodeEncodeError:
        raise InputError(f"column {name!r} holds text that is not valid Unicode; correct it") from None
    except (pa.ArrowException, OverflowError, TypeError, ValueError, AttributeError):
        pass
    try:
        listed = list(values)
    except TypeError:
        raise InputError(f"column {name!r} is a {type(values).__name__}; give one value per row") from None
    present = [value for value in listed if not _is_missing(value)]
    if present and all(isinstance(value, (int, np.integer)) for value in present):
        return _whole_numbers([None if _is_missing(value) else str(int(value)) for value in listed])
    kinds = sorted({type(value).__name__ for value in present})
    raise InputError(f"column {name!r} holds values of the kinds {', '.join(kinds)}; make them all numbers or all text")


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, (float, np.floating)) and bool(np.isnan(value)))


def _refuse_ragged(columns: Mapping[str, pa.Array]) -> None:
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        shortest, longest = min(lengths, key=lengths.__getitem__), max(lengths, key=lengths.__getitem__)
        raise InputError(
            f"column {shortest!r} has {lengths[shortest]} values and column {longest!r} {lengths[longest]}; "
            "give all columns one value per row"
        )


def decode_dictionary(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of categories as the values behind them.

    Examples
    --------
    >>> decode_dictionary(pa.chunked_array([pa.array(["b", "a", "b"]).dictionary_encode()])).to_pylist()
    ['b', 'a', 'b']
    """
    if not pa.types.is_dictionary(column.type):
        return column
    kind = column.type.value_type
    if pa.types.is_string_view(kind):  # which Arrow cannot cast to yet
        kind = pa.large_string()
        column = column.cast(pa.dictionary(column.type.index_type, kind, column.type.ordered))
    chunks = [chunk.dictionary.take(chunk.indices) for chunk in column.chunks]
    return pa.chunked_array(chunks, kind)


def _whole_numbers(texts: list[str | None]) -> pa.Array:
    """Return whole numbers of any size exactly: as decimals while Arrow has room for them, as text beyond."""
    if max((len(text) for text in texts if text is not None), default=0) <= DIGITS:
        return pa.array([None if text is None else Decimal(text) for text in texts], pa.decimal256(DIGITS, 0))
    return pa.array(texts, pa.string())


def read(path: str | os.PathLike[str]) -> pa.Table:
    """Read a table from a file of any kind into an Arrow table, its columns as they are called there.

    CSV with any of the usual separators and encodings, Parquet, Feather, Excel and OpenDocument workbooks, and JSON
    with one object per row. Empty cells and ``NA, N/A, NULL, NaN, -`` are missing.

    Examples
    --------
    >>> read("ratings.csv")
    Traceback (most recent call last):
    ...
    ordbridge.errors.InputError: there is no file ratings.csv
    """
    kind = kind_of(path)
    if kind in ("parquet", "feather"):
        table = arrow_file(path, kind)
    elif kind == "text":
        table = _read_text(Path(path))
    else:
        table = _typed(open_sheet(path))
    _refuse_duplicates(table.column_names)
    return table


def _read_text(path: Path) -> pa.Table:
    text, _ = decoded(contents(path, table=True), path.name)
    separator = separator_of(text, path.suffix.lower())
    regular = not text.lower().startswith("sep=") and text.lstrip()[:1] not in ("[", "{")  # which may be JSON
    if regular:
        refuse_large_text(text, path.name, separator)
        try:
            table = _read_csv(text.encode("utf-8"), separator)
        except (pa.ArrowInvalid, pa.ArrowKeyError):
            regular = False  # rows of different lengths, or an open quotation mark: the sheet says where
    table = _with_texts(table, as_in_file) if regular else _typed(open_sheet(path))
    return _with_decimal_commas(table) if separator != "," else table


def _typed(sheet: Sheet) -> pa.Table:
    return pa.table({name: typed(cells) for name, cells in sheet.columns.items()})


def _with_decimal_commas(table: pa.Table) -> pa.Table:
    """Turn text such as 3,5 into numbers."""
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type) and pc.any(pc.match_substring(table[field.name], ",")).as_py():
            numbers = typed(table[field.name].to_pylist())
            if pa.types.is_floating(numbers.type):
                table = table.set_column(place, field.name, numbers)
    return table


def _read_csv(content: bytes, separator: str) -> pa.Table:
    """Read a CSV file; whole numbers too long for 64 bits, which Arrow would round, are read again as they are."""
    from pyarrow import csv

    def read(**options: Any) -> pa.Table:
        return csv.read_csv(
            pa.BufferReader(content),
            parse_options=csv.ParseOptions(delimiter=separator, newlines_in_values=True),
            convert_options=csv.ConvertOptions(strings_can_be_null=True, null_values=MISSING_CODES, **options),
        )

    table = read()
    _refuse_duplicates(table.column_names)
    long = [field.name for field in table.schema if pa.types.is_floating(field.type) and _is_long(table[field.name])]
    if long:
        texts = read(include_columns=long, column_types=dict.fromkeys(long, pa.string()))
        for name in long:
            values = [None if text is None else text.strip() for text in texts[name].to_pylist()]
            if all(value is None or WHOLE.fullmatch(value) for value in values):
                table = table.set_column(table.column_names.index(name), name, _whole_numbers(values))
    return table


def _is_long(numbers: pa.ChunkedArray) -> bool:
    largest = pc.max(pc.abs(numbers)).as_py()
    return largest is not None and largest >= 2.0**53


def write(table: pa.Table, path: str | os.PathLike[str]) -> Path:
    """Write an Arrow table to CSV or Parquet, by the file's ending; the file appears whole or not at all.

    In CSV, text that a spreadsheet would take for a formula has an apostrophe before it, which :func:`read` takes away.
    """
    from pyarrow import csv, parquet

    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in {".csv", ".parquet"}:
        raise InputError(f"cannot write {path}: name a file that ends in .csv or .parquet")
    with whole_file(path) as partial:
        if suffix == ".csv":
            csv.write_csv(_guarded(table), partial)
        else:
            parquet.write_table(table, partial)
    return path


def _guarded(table: pa.Table) -> pa.Table:
    return _with_texts(table, for_spreadsheet)


def _with_texts(table: pa.Table, change: Callable[[str], str]) -> pa.Table:
    """Return the table with all names of columns and all text changed; what stays as it is, is not copied."""
    for place, field in enumerate(table.schema):
        texts = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if pa.types.is_string(texts) or pa.types.is_large_string(texts):
            values = table[field.name].cast(texts)
            different = {text: new for text in pc.unique(values).to_pylist() if text and (new := change(text)) != text}
            if different:
                values = pa.array([different.get(text, text) for text in values.to_pylist()], texts)
                table = table.set_column(place, field.name, values)
    return table.rename_columns([change(name) for name in table.column_names])


def column(table: pa.Table, name: str, role: str) -> pa.ChunkedArray:
    """Return one column, or say in which role it was wanted and which columns there are.

    Examples
    --------
    >>> column(pa.table({"item": [1]}), "rater", role="rater")
    Traceback (most recent call last):
    ...
    ordbridge.errors.InputError: there is no column 'rater' for the rater; the table has: item
    """
    if name not in table.column_names:
        raise InputError(f"there is no column {name!r} for the {role}; the table has: {enumerated(table.column_names)}")
    return table[name]


def _refuse_unwritable(names: list[str]) -> None:
    """Refuse what cannot cross to Arrow: with a NUL, polars would end the process."""
    for name in names:
        if "\0" in name:
            raise InputError(f"the name of the column {name!r} has a NUL character; rename it")
        if any("\ud800" <= character <= "\udfff" for character in name):
            raise InputError(f"the name of the column {name!r} is not valid Unicode; rename it")


def _refuse_duplicates(names: list[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(f"the table has more than one column named {twice[0]!r}; rename one of them")
