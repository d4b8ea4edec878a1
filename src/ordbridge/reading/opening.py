"""Any file as a sheet: what kind it is, by its ending and its first bytes."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ordbridge.errors import InputError
from ordbridge.reading.nested import nested_rows, titled
from ordbridge.reading.sheet import Sheet, numbered_names, sheet_of
from ordbridge.reading.size_limits import limits, refuse, refuse_large_table
from ordbridge.reading.source import contents, json_of, regular_file
from ordbridge.reading.text_files import decoded, grid_of_text
from ordbridge.reading.workbook import cell_text, grids_of_workbook
from ordbridge.results.finding import found as noticed
from ordbridge.support.naming import arg

__all__ = [
    "KINDS",
    "arrow_file",
    "json_value",
    "kind_of",
    "open_sheet",
    "sheet_of_arrow",
    "sheet_of_records",
    "sheets_of",
    "without_views",
]

KINDS = {
    "text": (".csv", ".tsv", ".txt", ".tab", ".dat"),
    "parquet": (".parquet", ".pq"),
    "feather": (".feather", ".arrow", ".ipc"),
    "json": (".json",),
    "jsonl": (".jsonl", ".ndjson"),
    "xlsx": (".xlsx", ".xlsm"),
    "ods": (".ods",),
}
"""Kinds of files and their usual endings."""

OLD = {".xls": "an old Excel file", ".sav": "an SPSS file", ".dta": "a Stata file", ".rds": "a file of R",
       ".rdata": "a file of R", ".sas7bdat": "a SAS file", ".numbers": "a Numbers file", ".doc": "a Word file",
       ".docx": "a Word file", ".pdf": "a PDF"}  # fmt: skip
MANY_SHEETS = "sheet"
DEEP = 40  # levels of nesting in JSON that are still data


def kind_of(path: str | os.PathLike[str]) -> str:
    """Return which of the kinds a file is, or say why it cannot be read."""
    file = regular_file(path)
    try:
        with open(file, "rb") as stream:
            head = stream.read(8)
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from None
    if not head:
        raise InputError(f"{file} is empty")
    if head == b"version " and file.read_bytes()[:60].startswith(b"version https://git-lfs."):
        raise InputError(f"{file} only points to a file that Git LFS keeps; get it with git lfs pull")
    suffix = file.suffix.lower()
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"ARROW1", b"FEA1")):
        return "feather"
    if head.startswith(b"PK"):
        return _archive(file)
    if suffix in OLD or head.startswith(b"\xd0\xcf\x11\xe0"):
        raise InputError(f"{file} is {OLD.get(suffix, 'an old Excel file')}; save it as .xlsx or .csv")
    for kind in ("parquet", "feather", "xlsx", "ods"):
        if suffix in KINDS[kind]:
            raise InputError(f"cannot read {file}: it ends in {suffix} but is not such a file, or it is damaged")
    for kind in ("json", "jsonl"):
        if suffix in KINDS[kind]:
            return kind
    return "text"


def _archive(file: Path) -> str:
    try:
        with zipfile.ZipFile(file) as archive:
            names = set(archive.namelist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        raise InputError(f"cannot read {file}: it is damaged") from None
    if "xl/workbook.xml" in names or any(name.startswith("xl/") for name in names):
        return "xlsx"
    if "content.xml" in names:
        return "ods"
    raise InputError(f"{file} is a zip archive; unpack it and give the file with the ratings")


def open_sheet(path: str | os.PathLike[str], sheet: str | None = None) -> Sheet:
    """Read a table of any kind; what is text stays text.

    Parameters
    ----------
    path
        The file. A name that ends in ``.gz`` is unpacked.
    sheet
        Of a workbook: which sheet. Without it a workbook's sheets are read together if they have the same columns
        (a column ``sheet`` then says which), otherwise the one with most rows.
    """
    kind, name = kind_of(path), Path(path).name
    if kind in ("xlsx", "ods"):
        return _of_workbook(Path(path), name, kind, sheet)
    if sheet is not None:
        raise InputError(f"{arg('sheet', sheet)} is for workbooks, and {name} is not one; leave it out")
    if kind in ("parquet", "feather"):
        return sheet_of_arrow(arrow_file(path, kind), name)
    if kind in ("json", "jsonl"):
        return sheet_of_records(json_value(path), name)
    text, encoding = decoded(contents(path, table=True), name)
    if _is_json(text):
        return sheet_of_records(json_value(path), name)
    if text.lstrip()[:15].lower().startswith(("<!doctype", "<html", "<?xml")):
        raise InputError(f"{name} is a web page or XML, not a table; save it as .csv or .xlsx")
    suffix = ".tsv" if Path(path).suffix.lower() in (".tsv", ".tab") else Path(path).suffix.lower()
    return sheet_of(grid_of_text(text, name, encoding, suffix))


def sheets_of(path: str | os.PathLike[str]) -> list[str]:
    """Return the names of a workbook's sheets; of other files none."""
    kind = kind_of(path)
    return list(grids_of_workbook(Path(path), Path(path).name, kind)) if kind in ("xlsx", "ods") else []


def arrow_file(path: str | os.PathLike[str], kind: str) -> pa.Table:
    """Read a Parquet or Feather file."""
    from pyarrow import feather, parquet

    name = Path(path).name
    try:
        if kind == "parquet":
            with parquet.ParquetFile(path) as file:
                said = file.metadata
                _refuse_large_arrow(name, said.num_rows, len(file.schema_arrow), _unpacked_size(said))
                table = file.read()
        else:
            table = feather.read_table(path)
        refuse_large_table(name, table.num_rows, table.num_columns)
        table.validate(full=True)  # before anything else is asked of it: damaged lengths would end the process
        _refuse_large_arrow(name, table.num_rows, table.num_columns, table.nbytes)
    except (pa.ArrowException, OSError, MemoryError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: it is damaged ({' '.join(str(error).split())})") from None
    return without_views(table.replace_schema_metadata(None))


def without_views(table: pa.Table) -> pa.Table:
    """Return text held as views, as polars holds it, and runs of values as plain ones: Arrow cannot take rows of them.

    Examples
    --------
    >>> without_views(pa.table({"item": pa.array(["a"], pa.string_view())})).schema.types
    [DataType(large_string)]
    """
    for position, field in enumerate(table.schema):
        values = table.column(position)
        if pa.types.is_string_view(field.type):
            table = table.set_column(position, field.name, values.cast(pa.large_string()))
        elif pa.types.is_run_end_encoded(field.type):
            table = table.set_column(position, field.name, pc.run_end_decode(values))
    return table


def _unpacked_size(metadata: Any) -> int:
    return sum(max(metadata.row_group(place).total_byte_size, 0) for place in range(metadata.num_row_groups))


def _refuse_large_arrow(name: str, rows: int, columns: int, size: int) -> None:
    refuse_large_table(name, rows, columns)
    if size > limits().size:
        refuse(f"{name} unpacks to {size / 1e6:,.0f} MB, more than {limits().size / 1e6:,.0f} MB")


def sheet_of_arrow(table: pa.Table, name: str) -> Sheet:
    """Return an Arrow table as text; the first row is 1."""
    columns: dict[str, list[str | None]] = {}
    orders: dict[str, tuple[str, ...]] = {}
    names, twice = numbered_names(table.column_names)
    table = table.rename_columns([str(title) for title in names]) if twice else table
    notes = (noticed("names-twice", names=", ".join(twice)),) if twice else ()
    for field in table.schema:
        values = table[field.name]
        try:
            if pa.types.is_dictionary(field.type) and field.type.ordered and len(values):
                levels = values.unify_dictionaries().chunk(0).dictionary.to_pylist()
                orders[field.name] = tuple(str(cell_text(level)) for level in levels)
            columns[field.name] = [_cell(value) for value in values.to_pylist()]
        except (pa.ArrowException, ValueError, OverflowError):  # such as a year beyond 9999, an unknown time zone
            raise InputError(f"column {field.name!r} of {name} cannot be read as text; leave it out") from None
    return Sheet(columns, np.arange(1, table.num_rows + 1), name, notes, orders)


def json_value(path: str | os.PathLike[str]) -> Any:
    """Return what a JSON file holds; of JSON lines, the list of their values."""
    name = Path(path).name
    text, _ = decoded(contents(path), name)
    try:
        return json_of(text, name)
    except json.JSONDecodeError as whole:
        values = []
        for number, line in enumerate(text.split("\n"), 1):
            if not line.strip():
                continue
            if len(line) > limits().line:
                refuse(f"line {number} of {name} has {len(line):,} characters, more than {limits().line:,}")
            try:
                values.append(json_of(line, f"line {number} of {name}"))
            except json.JSONDecodeError:
                if not values:
                    raise InputError(f"{name} is not JSON: {whole.msg} in line {whole.lineno}") from None
                raise InputError(f"line {number} of {name} is not JSON; every line must hold one object") from None
        return values


def _is_json(text: str) -> bool:
    """Tell whether a file with another ending holds JSON, or a line of it, and not a column called [x]."""
    if text.lstrip()[:1] not in ("[", "{"):
        return False
    for part in (text.lstrip().partition("\n")[0], text):
        try:
            return isinstance(json.loads(part), (dict, list))
        except (ValueError, RecursionError):
            continue
    return False


def sheet_of_records(value: Any, name: str, explode: bool = True) -> Sheet:
    """Return JSON as a sheet: a list of objects, an object of columns, or one of objects.

    Objects inside objects become columns ``outer.inner``, and lists of objects one row per object, unless
    ``explode`` is false; ``{"anna": {"item1": 4}}`` becomes the columns ``key 1``, ``key 2`` and ``value``.

    Examples
    --------
    >>> sheet_of_records([{"item": 1, "by": {"name": "anna"}}], "x.json").columns
    {'item': ['1'], 'by.name': ['anna']}
    """
    value = _unpacked(value)
    if isinstance(value, Mapping):
        if value and all(isinstance(cells, list) for cells in value.values()):
            if len({len(cells) for cells in value.values()}) > 1:
                raise InputError(f"the lists in {name} have different lengths; give one object per rating")
            value = [dict(zip(value, row, strict=True)) for row in zip(*value.values(), strict=True)]
        elif value and all(isinstance(cells, Mapping) for cells in value.values()):
            return _of_nested(value, name)
    if not isinstance(value, Sequence) or isinstance(value, str) or not all(isinstance(row, Mapping) for row in value):
        raise InputError(f"{name} does not hold a list of objects; give one object per rating")
    if not value:
        raise InputError(f"{name} is empty")
    return _of_rows(nested_rows(value) if explode else value, name)


def _of_rows(records: Sequence[Mapping[str, Any]], name: str) -> Sheet:
    flat = [_flat(record) for record in records]
    names = dict.fromkeys(key for record in flat for key in record)
    refuse_large_table(name, len(flat), len(names))
    columns = {key: [record.get(key) for record in flat] for key in names}
    return Sheet(titled(columns), np.arange(1, len(flat) + 1), name)


def _unpacked(value: Any) -> Any:
    """Return the records of ``{"data": [...]}`` and of what pandas writes: split, table, and a column's cells by row.

    Examples
    --------
    >>> _unpacked({"columns": ["item", "rating"], "index": [0], "data": [["a", 4]]})
    [{'item': 'a', 'rating': 4}]
    >>> _unpacked({"item": {"0": "a"}, "rating": {"0": 4}})
    [{'item': 'a', 'rating': 4}]
    """
    if not isinstance(value, Mapping) or not value:
        return value
    names, rows = value.get("columns"), value.get("data")
    if isinstance(names, list) and isinstance(rows, list) and all(isinstance(row, list) for row in rows):
        return [dict(zip(map(str, names), row, strict=False)) for row in rows]
    records = [cell for cell in value.values() if isinstance(cell, list) and cell and isinstance(cell[0], Mapping)]
    if len(records) == 1:
        return records[0]
    if len(value) == 1 and isinstance(only := next(iter(value.values())), list):
        return only
    inner = [cells.keys() if isinstance(cells, Mapping) else {""} for cells in value.values()]
    numbered = inner[0] and all(key.isdigit() for key in inner[0]) and not all(str(key).isdigit() for key in value)
    if numbered and all(keys == inner[0] for keys in inner):
        return [{name: cells[row] for name, cells in value.items()} for row in inner[0]]
    return value


def _of_nested(value: Mapping[str, Mapping[str, Any]], name: str) -> Sheet:
    """Return an object of objects: records by key, or two keys and a value."""
    if any(isinstance(cell, (Mapping, list)) for inner in value.values() for cell in inner.values()):
        return _of_rows(nested_rows(value), name)
    fields = [set(inner) for inner in value.values()]
    if all(field == fields[0] for field in fields) and _is_record(fields[0]):
        return sheet_of_records([{"key": key, **inner} for key, inner in value.items()], name)
    rows = [(key, inner, _cell(cell)) for key, cells in value.items() for inner, cell in cells.items()]
    columns = {title: [row[place] for row in rows] for place, title in enumerate(("key 1", "key 2", "value"))}
    return Sheet(columns, np.arange(1, len(rows) + 1), name)


def _is_record(names: set[str]) -> bool:
    return bool(names & {"rating", "score", "participant", "rater", "annotator", "item", "system", "label"})


def _flat(record: Mapping[str, Any], before: str = "", depth: int = 0) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for key, value in record.items():
        if isinstance(value, Mapping) and value and depth < DEEP:
            found |= _flat(value, f"{before}{key}.", depth + 1)
        else:
            found[f"{before}{key}"] = _cell(value)
    return found


def _cell(value: Any) -> str | None:
    if isinstance(value, (list, tuple, dict)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return cell_text(value)


def _of_workbook(path: Path, name: str, kind: str, sheet: str | None) -> Sheet:
    grids = grids_of_workbook(path, name, kind)
    if sheet is not None:
        if sheet not in grids:
            raise InputError(f"{name} has no sheet {sheet!r}; it has: {', '.join(grids)}")
        return sheet_of(grids[sheet])
    tables = {title: grid for title, grid in grids.items() if len(grid.rows) > 2 and max(map(len, grid.rows)) > 1}
    first, *others = tables or grids
    if not others:
        return sheet_of(grids[first])
    grids = tables
    sheets = {title: sheet_of(grid) for title, grid in grids.items()}
    if all(one.header == sheets[first].header for one in sheets.values()) and MANY_SHEETS not in sheets[first].columns:
        return _together(sheets, name)
    longest = max(sheets, key=lambda title: len(sheets[title]))
    other = next(title for title in sheets if title != longest)
    return sheets[longest].noting(noticed("one-sheet", sheets=", ".join(grids), sheet=longest, other=other))


def _together(sheets: dict[str, Sheet], name: str) -> Sheet:
    header = next(iter(sheets.values())).header
    columns: dict[str, list[str | None]] = {MANY_SHEETS: [t for t, one in sheets.items() for _ in range(len(one))]}
    columns |= {title: [cell for one in sheets.values() for cell in one.columns[title]] for title in header}
    rows = np.concatenate([one.rows for one in sheets.values()])
    said = noticed("sheets-together", sheets=", ".join(sheets), column=MANY_SHEETS)
    return Sheet(columns, rows, name, (said,), parts=MANY_SHEETS)
