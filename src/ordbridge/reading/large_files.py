"""Large clean tables in text, read column by column through Arrow; everything else is left to the reader of cells.

What is what is decided on a sample of rows by the same code as for small files. The whole file is then taken only if
the sample was plain: named columns, numbers as ratings, nothing missing, nothing concluded from content.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from ordbridge.errors import InputError
from ordbridge.reading.cell_types import is_missing, typed
from ordbridge.reading.exports import export_of_sheet
from ordbridge.reading.layout import recognise
from ordbridge.reading.long_format import systems_as_numbers
from ordbridge.reading.parts import IDS, NONE, ROW, Asked, Hints, SheetLayout
from ordbridge.reading.preferences import preferences_in
from ordbridge.reading.rating_table import ROLES, RatingTable
from ordbridge.reading.sheet import Sheet
from ordbridge.reading.size_limits import limits
from ordbridge.reading.spans import has_spans
from ordbridge.reading.systems_in_rows import with_dummies
from ordbridge.reading.text_files import SEPARATORS, separator_of
from ordbridge.reading.values import as_numbers
from ordbridge.reading.vocabulary import is_summary, is_test_of_attention
from ordbridge.results.finding import found as noticed
from ordbridge.support.escaping import as_in_file

__all__ = ["large_file"]

LARGE = 3_000_000  # bytes
SAMPLE = 20_000  # rows on which columns are recognised
SURE = {"not-taken-as-ratings", "summary-columns-left-out", "no-system-column", "separator"}
"""Notes on a sample that hold for the whole file."""


def large_file(path: Path, asked: Asked, systems: Sequence[str] | None) -> tuple[RatingTable, Sheet] | None:
    """Return the ratings of a large file and the sample that was looked at, or ``None`` where it is not plain."""
    if path.suffix.lower() not in (".csv", ".tsv", ".txt") or not LARGE <= path.stat().st_size <= limits().size:
        return None
    table = _arrow(path)
    if table is None:
        return None
    sample = _sample(table, path)
    if preferences_in(sample, asked, systems) is not None:
        return None  # the reader of cells takes all rows
    cells, hints = export_of_sheet(sample, None)
    if cells is not sample or hints != Hints() or has_spans(sample, asked) or with_dummies(sample, asked) is not sample:
        return None
    try:
        layout = recognise(sample, asked, Hints())
    except InputError:
        return None  # said by the reader of cells, which has seen all rows
    if layout.sheet is not sample or {note.code for note in layout.notes} - SURE or ROW in layout.ids.values():
        return None
    if any(one.sources for one in layout.ratings):
        return None
    found = _long(table, layout)
    return None if found is None else (found, sample)


def _arrow(path: Path) -> pa.Table | None:
    """Return the columns of a file as dictionaries of text, or ``None`` where its form is not plain."""
    with path.open("rb") as stream:
        head = stream.read(200_000)
    try:
        start = head[: head.rfind(b"\n")].decode("utf-8")
    except UnicodeDecodeError:
        return None
    if not start or start[0] in "\ufeff[{<" or start.lower().startswith("sep=") or "\r\r" in start or "\x00" in start:
        return None
    separator = separator_of(start, path.suffix.lower())
    header, *rest = csv.reader(io.StringIO(start, newline=""), delimiter=separator)
    names = [name.strip() for name in header]
    plain = all(names) and len(set(names)) == len(names) and not np.isfinite(as_numbers(names)[0]).any()
    if not plain or len(names) < 3 or any(len(row) != len(names) for row in rest):
        return None
    kinds = pa.dictionary(pa.int32(), pa.string())
    try:
        table = arrow_csv.read_csv(
            path,
            read_options=arrow_csv.ReadOptions(column_names=names, skip_rows=1, use_threads=False),
            parse_options=arrow_csv.ParseOptions(
                delimiter=separator, newlines_in_values=True, ignore_empty_lines=False
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, kinds), strings_can_be_null=True, null_values=[""]
            ),
        )
    except (pa.ArrowException, OSError):
        return None
    if table.num_rows * table.num_columns > limits().cells or table.num_rows > limits().rows:
        return None
    table = table.unify_dictionaries().combine_chunks()
    return None if any(name in _labels(table, name) for name in names) else table.replace_schema_metadata(
        {"separator": separator}
    )  # fmt: skip


def _column(table: pa.Table, name: str) -> pa.DictionaryArray:
    column = table[name]
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _labels(table: pa.Table, name: str) -> list[str]:
    found: list[str] = _column(table, name).dictionary.to_pylist()
    return found


def _sample(table: pa.Table, path: Path) -> Sheet:
    n = table.num_rows
    places = (
        np.arange(n)
        if n <= SAMPLE
        else np.unique(np.r_[0 : SAMPLE // 2, np.linspace(0, n - 1, SAMPLE // 2, dtype=int)])
    )
    part = table.take(pa.array(places))
    columns = {name: [_cell(cell) for cell in part[name].to_pylist()] for name in table.column_names}
    separator = table.schema.metadata[b"separator"].decode()
    usual = separator == "," or (separator == "\t" and path.suffix.lower() == ".tsv")
    notes = () if usual else (noticed("separator", separator=SEPARATORS[separator]),)
    return Sheet(columns, places + 2, path.name, notes)


def _cell(cell: str | None) -> str | None:
    return as_in_file(cell) if cell is not None and cell.strip() else None


def _long(table: pa.Table, layout: SheetLayout) -> RatingTable | None:
    """Return all ratings, or ``None`` where a name or a rating is missing or not plain."""
    n, k = table.num_rows, len(layout.ratings)
    row = np.repeat(np.arange(n), k)
    columns: dict[str, Any] = {}
    for role in IDS:
        labels = [one.labels.get(role) for one in layout.ratings]
        if any(labels):
            columns[role] = pa.array(labels, pa.string()).take(pa.array(np.tile(np.arange(k), n)))
        elif (name := layout.ids.get(role)) is not None and name != NONE:
            names = [_cell(label) for label in _labels(table, name)]
            odd = any(is_missing(one) or is_summary(str(one)) or is_test_of_attention(str(one)) for one in names)
            if odd or table[name].null_count:
                return None
            own = pa.DictionaryArray.from_arrays(_column(table, name).indices, pa.array(names, pa.string()))
            columns[role] = own.cast(pa.string()) if k == 1 else own.take(pa.array(row)).cast(pa.string())
    values = [_numbers(table, one.column) for one in layout.ratings]
    if any(one is None for one in values):
        return None
    ratings = np.column_stack([one for one in values if one is not None]).ravel()
    whole = (ratings == np.floor(ratings)).all() and np.abs(ratings).max() < 2**53
    columns["rating"] = pa.array(ratings.astype(np.int64) if whole else ratings)
    columns = {role: columns[role] for role in ROLES if role in columns}
    used = {*layout.ids.values(), *layout.left_out, *(one.column for one in layout.ratings)}
    for name in table.column_names:
        if name not in used:
            own = typed([_cell(label) for label in _labels(table, name)]).take(_column(table, name).indices)
            columns[f"{name} (file)" if name in ROLES else name] = own if k == 1 else own.take(pa.array(row))
    notes = (*layout.sheet.notes, *layout.notes, *systems_as_numbers(columns))
    made = pa.table(columns)
    return RatingTable(
        made, dict(layout.recognised), notes, None, row + 2, layout.sheet.name, taken_from=layout.columns
    )


def _numbers(table: pa.Table, name: str) -> np.ndarray | None:
    column, labels = _column(table, name), _labels(table, name)
    numbers, commas = as_numbers(labels)
    if commas or column.null_count or not np.isfinite(numbers).all():
        return None
    found: np.ndarray = pc.take(pa.array(numbers), column.indices).to_numpy(zero_copy_only=False)
    return found
