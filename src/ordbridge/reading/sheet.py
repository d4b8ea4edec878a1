"""A sheet: named columns of cells as text, and where its rows stand in the file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ordbridge.errors import InputError
from ordbridge.reading.size_limits import refuse_large_table
from ordbridge.results.finding import Finding
from ordbridge.results.finding import found as noticed

__all__ = ["CellGrid", "Sheet", "sheet_of"]

Row = list[str | None]
ROW_NAMES = "row names"
BLOCK = "table"
LEFT_OPEN = ("approve", "reject")  # columns of Mechanical Turk that rows leave out
NUMBER = re.compile(r"\s*[+-]?(\d+([.,]\d+)?|[.,]\d+)(e[+-]?\d+)?\s*%?\s*", re.IGNORECASE)


@dataclass(frozen=True)
class CellGrid:
    """Rows of cells as they stand in a file; a cell is text, or ``None`` where it is empty."""

    rows: list[Row]
    name: str
    notes: tuple[Finding, ...] = ()
    ragged: bool = True
    """Whether rows may end before the header does, as those of workbooks do; in text they may not."""


@dataclass(frozen=True, eq=False)
class Sheet:
    """Columns of text cells under their names, and the number of each row in the file, the first row being 1."""

    columns: dict[str, list[str | None]]
    rows: np.ndarray
    name: str
    notes: tuple[Finding, ...] = ()
    orders: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Levels of columns that know their order, such as an ordered categorical."""
    parts: str | None = None
    """The column that says from which sheet of a workbook a row comes."""

    @property
    def header(self) -> list[str]:
        """The names of the columns."""
        return list(self.columns)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def only(self, keep: Sequence[bool] | np.ndarray) -> Sheet:
        """Return some of the rows."""
        places = np.flatnonzero(np.asarray(keep, dtype=bool))
        columns = {name: [cells[place] for place in places] for name, cells in self.columns.items()}
        return replace(self, columns=columns, rows=self.rows[places])

    def with_columns(self, columns: dict[str, list[str | None]]) -> Sheet:
        """Return the sheet with other columns of the same rows."""
        return replace(self, columns=columns)

    def noting(self, *notes: Finding) -> Sheet:
        """Return the sheet with more notes."""
        return replace(self, notes=(*self.notes, *notes))


def sheet_of(grid: CellGrid) -> Sheet:
    """Find the header of a grid and return its columns.

    Lines above the header that fill one cell are a title. Two header rows, the upper one with gaps as merged cells
    leave them, become ``upper [lower]``. A first row of numbers is data, and columns are numbered.

    Examples
    --------
    >>> sheet_of(CellGrid([["item", "fluency", None], [None, "R1", "R2"], ["a", "4", "5"]], "x.csv")).header
    ['item', 'fluency [R1]', 'fluency [R2]']
    """
    numbered = [(n, row) for n, row in enumerate(grid.rows, 1) if any(cell is not None for cell in row)]
    if not numbered:
        raise InputError(f"{grid.name} is empty")
    notes = list(grid.notes)
    width = max(_filled(row) for _, row in numbered)
    refuse_large_table(grid.name, len(numbered), width)
    title = 0
    while title < len(numbered) - 1 and _is_title(numbered[title][1], numbered[title + 1][1], width):
        title += 1
    (header_row, first), rest = numbered[title], numbered[title + 1 :]
    if title:
        notes.append(noticed("header-row", row=header_row))
    second = rest[0][1] if rest else []
    unnamed = not grid.ragged and _filled(first) < len(first) == width  # a separator at the end of the header
    header = _padded(first, len(first) if unnamed else _filled(first))
    if all(cell is None or NUMBER.fullmatch(cell) for cell in header):
        notes.append(noticed("no-header"))
        header, rest = [f"column {n}" for n in range(1, width + 1)], numbered[title:]
    elif _is_second_header(first, second, [row for _, row in rest[1:4]]):
        header = _merged(first, second)
        rest = rest[1:]
        notes.append(noticed("two-header-rows", example=next(n for n in header if n and "[" in n)))
    elif len(first) == len(header) < width and all(_filled(row) == len(header) + 1 for _, row in rest):
        header = [ROW_NAMES, *header]  # as R's write.table leaves it
        notes.append(noticed("row-names"))
    rest, blocks = _without_headers(first, rest, numbered[title - 1][1] if title else [], notes)
    _refuse_overflow(grid.name, header, rest, header_row)
    if not grid.ragged:
        _refuse_short(grid.name, header, rest, header_row)
    sheet = _columns(grid, header, rest, notes)
    if not blocks or BLOCK in sheet.columns:
        return sheet
    return replace(sheet, columns={BLOCK: blocks, **sheet.columns}, parts=BLOCK)


def _without_headers(
    header: Row, rest: list[tuple[int, Row]], title: Row, notes: list[Finding]
) -> tuple[list[tuple[int, Row]], list[str | None]]:
    """Leave out the header where it is repeated; where a title stands above each, return the title of every row."""
    again = [place for place, (_, row) in enumerate(rest) if _filled(row) > 1 and _same(row, header)]
    if not again:
        return rest, []
    numbers = ", ".join(str(rest[place][0]) for place in again[:4])
    above = [rest[place - 1][1] if place else [] for place in again]
    if not all(_filled(row) == 1 for row in [title, *above]):
        notes.append(noticed("header-repeated", where=numbers))
        return [row for place, row in enumerate(rest) if place not in again], []
    blocks: list[str | None] = []
    kept, block = [], title[0]
    for place, row in enumerate(rest):
        if place + 1 in again:
            block = row[1][0]
        elif place not in again:
            kept.append(row)
            blocks.append(block)
    names = ", ".join(dict.fromkeys(str(name).strip() for name in blocks))
    notes.append(noticed("tables-below", names=names, column=BLOCK))
    return kept, blocks


def _same(row: Row, header: Row) -> bool:
    width = max(_filled(row), _filled(header))
    return _padded(row, width) == _padded(header, width)


def _columns(grid: CellGrid, header: list[str | None], rest: list[tuple[int, Row]], notes: list[Finding]) -> Sheet:
    names = [None if cell is None else cell.strip().lstrip("\ufeff") for cell in header]
    cells = [_padded(row, len(names)) for _, row in rest]
    columns: dict[str, list[str | None]] = {}
    names, twice = numbered_names(names)
    notes += [noticed("names-twice", names=", ".join(twice))] if twice else []
    for place, name in enumerate(names):
        values = [row[place] for row in cells]
        if name is None or name == "":
            if all(value is None for value in values):
                continue  # an empty column, as spreadsheets leave them
            name = f"column {place + 1}"
        columns[name] = values
    return Sheet(columns, np.array([n for n, _ in rest], dtype=np.int64), grid.name, tuple(notes))


def _is_second_header(upper: Row, lower: Row, below: list[Row]) -> bool:
    """Tell whether two rows are one header: the upper one has gaps, which the lower one fills with words."""
    width = max(_filled(upper), _filled(lower))
    upper, lower = _padded(upper, width), _padded(lower, width)
    first = next(place for place, cell in enumerate(upper) if cell is not None)  # names of rows may stand before it
    gaps = [place for place in range(first, width) if upper[place] is None and lower[place] is not None]
    if not gaps or not below:
        return False
    words = {lower[place] for place in range(gaps[0] - 1, width)}
    values = {row[place] for row in below for place in gaps if place < len(row)} - {None}
    named = all(cell is not None for cell in lower[gaps[0] - 1 :])
    return named and bool(values) and not words & values and not any(NUMBER.fullmatch(str(word)) for word in words)


def _merged(upper: Row, lower: Row) -> list[str | None]:
    """Put two header rows together; what spans several columns is carried to the right."""
    names: list[str | None] = []
    spanning: str | None = None
    width = max(_filled(upper), _filled(lower))
    for top, bottom in zip(_padded(upper, width), _padded(lower, width), strict=True):
        spanning = top if top is not None else spanning
        if bottom is None:
            names.append(top)
        elif spanning is None:
            names.append(bottom)
        else:
            names.append(f"{spanning.strip()} [{bottom.strip()}]")
    return names


def numbered_names(names: Sequence[str | None]) -> tuple[list[str | None], list[str]]:
    """Return names with numbers where they come again, and those that do.

    Examples
    --------
    >>> numbered_names(["a", "b", "a"])
    (['a', 'b', 'a (2)'], ['a'])
    """
    seen: Counter[str] = Counter()
    numbered: list[str | None] = []
    for name in names:
        if not name:
            numbered.append(name)
            continue
        seen[name] += 1
        title = name
        while seen[name] > 1 and (title := f"{name} ({seen[name]})") in names:
            seen[name] += 1
        numbered.append(title)
    return numbered, [name for name, count in seen.items() if count > 1]


def _refuse_short(name: str, header: list[str | None], rest: list[tuple[int, Row]], header_row: int) -> None:
    """Refuse rows with fewer cells than the header: what is missing may stand anywhere."""
    width = _filled(header)
    while width and str(header[width - 1]).strip().casefold() in LEFT_OPEN:
        width -= 1
    for number, row in rest:
        if 1 < len(row) < width:
            raise InputError(
                f"row {number} of {name} has {len(row)} cells, but the header in row {header_row} has {_filled(header)}"
                ": a cell is missing, or another separator is used there; correct the row"
            )


def _refuse_overflow(name: str, header: list[str | None], rest: list[tuple[int, Row]], header_row: int) -> None:
    width = len(header)
    for number, row in rest:
        if _filled(row) > width:
            raise InputError(
                f"row {number} of {name} has {_filled(row)} cells, but the header in row {header_row} has {width}; "
                "put texts that contain the separator into quotation marks"
            )


def _is_title(row: Row, below: Row, width: int) -> bool:
    """Tell whether a line above the header is a title, or a comment that is not as wide as what follows."""
    comment = (row[0] or "").lstrip().startswith("#") and _filled(row) != _filled(below)
    pair = _filled(row) == 2 and width > 3 and None not in (row[0], below[0])  # "Date:" and a date
    return _filled(row) == 1 < width or pair or comment


def _filled(row: Row) -> int:
    """Return up to where a row has cells."""
    return max((place for place, cell in enumerate(row, 1) if cell is not None), default=0)


def _padded(row: Row, width: int) -> Row:
    return [*row[:width], *[None] * (width - len(row))]
