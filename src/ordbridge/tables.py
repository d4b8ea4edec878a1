"""Any table a user holds, as one Arrow table."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa

from ordbridge.errors import InputError

__all__ = ["column", "read", "to_arrow", "write"]


def to_arrow(data: Any) -> pa.Table:
    """Return ``data`` as a :class:`pyarrow.Table`, without changing what the caller holds.

    Parameters
    ----------
    data
        A pandas or polars DataFrame, a :class:`pyarrow.Table`, anything with ``__arrow_c_stream__``, a mapping of
        column names to sequences, or the path of a CSV or Parquet file.

    Returns
    -------
    pyarrow.Table

    Examples
    --------
    >>> to_arrow({"item": ["a", "b"], "rating": [1, 5]}).column_names
    ['item', 'rating']
    """
    if isinstance(data, (str, os.PathLike)):
        return read(data)
    names = getattr(data, "columns", None)
    if names is not None and not isinstance(data, pa.Table):
        _refuse_duplicates([str(name) for name in names])
    if isinstance(data, pa.Table):
        table = data
    elif hasattr(data, "iloc"):  # pandas: by its own converter, which keeps categories and leaves the index behind
        renamed = data.rename(columns=str)
        table = pa.Table.from_pandas(renamed, preserve_index=False).replace_schema_metadata(None)
    elif hasattr(data, "__arrow_c_stream__") or isinstance(data, dict):
        table = pa.table(data)
    else:
        raise InputError(
            f"data is a {type(data).__name__}; give a pandas or polars DataFrame, a pyarrow Table, "
            "or the path of a CSV or Parquet file"
        )
    _refuse_duplicates(table.column_names)
    return table


def read(path: str | os.PathLike[str]) -> pa.Table:
    """Read a CSV (``.csv``, ``.tsv``) or Parquet file into an Arrow table.

    Examples
    --------
    >>> read("ratings.xlsx")
    Traceback (most recent call last):
    ...
    ordbridge.errors.InputError: cannot read ratings.xlsx: save it as .csv, .tsv or .parquet
    """
    from pyarrow import csv, parquet

    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in {".csv", ".tsv", ".txt", ".parquet", ".pq"}:
        raise InputError(f"cannot read {path}: save it as .csv, .tsv or .parquet")
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    try:
        if suffix in {".parquet", ".pq"}:
            table = parquet.read_table(path)
        else:
            separator = "\t" if suffix in {".tsv", ".txt"} else ","
            table = csv.read_csv(
                path,
                parse_options=csv.ParseOptions(delimiter=separator, newlines_in_values=True),
                convert_options=csv.ConvertOptions(strings_can_be_null=True, null_values=["", "NA", "NaN", "null"]),
            )
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"cannot read {path}: {error}") from None
    _refuse_duplicates(table.column_names)
    return table


def write(table: pa.Table, path: str | os.PathLike[str]) -> Path:
    """Write an Arrow table to CSV or Parquet, by the file's ending; the file appears whole or not at all."""
    from pyarrow import csv, parquet

    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in {".csv", ".parquet"}:
        raise InputError(f"cannot write {path}: name a file that ends in .csv or .parquet")
    if not path.parent.is_dir():
        raise InputError(f"cannot write {path}: there is no folder {path.parent}")
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    if suffix == ".csv":
        csv.write_csv(table, partial)
    else:
        parquet.write_table(table, partial)
    os.replace(partial, path)
    return path


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
        raise InputError(f"there is no column {name!r} for the {role}; the table has: {', '.join(table.column_names)}")
    return table[name]


def _refuse_duplicates(names: list[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(f"the table has more than one column named {twice[0]!r}; rename one of them")
