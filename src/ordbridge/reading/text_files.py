"""Bytes to text, and text to rows: which encoding, which separator."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter

from ordbridge.errors import InputError
from ordbridge.reading.sheet import CellGrid, Row
from ordbridge.reading.size_limits import limits, refuse, refuse_large_table
from ordbridge.results.finding import found as noticed
from ordbridge.support.escaping import as_in_file

__all__ = ["SEPARATORS", "decoded", "grid_of_text", "refuse_large_text", "rows_of", "separator_of"]

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
SAMPLE = 200  # lines that are looked at for the separator
LONGEST_CELL = 2**31 - 1
MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig", "UTF-8"),
    (b"\xff\xfe\x00\x00", "utf-32", "UTF-32"),
    (b"\x00\x00\xfe\xff", "utf-32", "UTF-32"),
    (b"\xff\xfe", "utf-16", "UTF-16"),
    (b"\xfe\xff", "utf-16", "UTF-16"),
)


def decoded(content: bytes, name: str) -> tuple[str, str]:
    r"""Return the text of a file and its encoding.

    Examples
    --------
    >>> decoded("système".encode("latin-1"), "x.csv"), decoded("système".encode("utf-16"), "x.csv")[1]
    (('système', 'Latin-1'), 'UTF-16')
    """
    for mark, codec, said in MARKS:
        if content.startswith(mark):
            return _decode(content, codec, name, said), said
    if b"\x00" in content:
        half = len(content) // 2 or 1
        for start, codec in ((1, "utf-16-le"), (0, "utf-16-be")):
            if content[start::2].count(0) > 0.4 * half:  # most letters of most texts have a zero for their other byte
                return _decode(content, codec, name, "UTF-16"), "UTF-16"
    try:
        return content.decode("utf-8"), "UTF-8"
    except UnicodeDecodeError:
        if b"\x00" in content:
            kinds = ".csv, .tsv, .xlsx, .ods, .json, .jsonl, .parquet or .feather"
            raise InputError(f"{name} is not a text file; give {kinds}") from None
    try:
        text = content.decode("cp1252")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    said = "Latin-1" if all(byte < 0x80 or byte > 0x9F for byte in content) else "Windows-1252"
    return text, said


def _decode(content: bytes, codec: str, name: str, said: str) -> str:
    try:
        return content.decode(codec)
    except UnicodeDecodeError as error:
        raise InputError(f"{name} begins as {said} but is damaged at byte {error.start}; save it again") from None


def grid_of_text(text: str, name: str, encoding: str, suffix: str = ".csv") -> CellGrid:
    """Return the rows of a table in text, and notes on how it was read."""
    first, _, rest = text.partition("\n")
    given = None
    if first.lower().startswith("sep=") and len(first.rstrip("\r")) == 5:  # as Excel writes it
        given, text = first[4], rest
    if "\x00" in text:
        raise InputError(f"{name} contains NUL characters, so it is damaged; save it again")
    separator = given or separator_of(text, suffix)
    refuse_large_text(text, name, separator)
    mixed = not given and _by_any_blanks(text)
    blanks = mixed or (not given and _by_blanks(text))
    rows = blanks or rows_of(text, separator, name)
    if given:
        rows.insert(0, [])  # so that rows keep their numbers
    notes = []
    if encoding != "UTF-8":
        notes.append(noticed("encoding", encoding=encoding))
    if mixed:
        notes.append(noticed("mixed-separators"))
    elif blanks:
        notes.append(noticed("separator", separator="blanks"))
    elif separator != "," and not (separator == "\t" and suffix == ".tsv"):
        notes.append(noticed("separator", separator=SEPARATORS.get(separator, repr(separator))))
    return CellGrid(rows, name, tuple(notes), ragged=False)


def refuse_large_text(text: str, name: str, separator: str) -> None:
    """Refuse a table with columns or cells beyond the limits."""
    allowed = limits()
    if (cells := text.count(separator) + text.count("\n")) > allowed.cells:
        refuse(f"{name} has about {cells:,} cells, more than {allowed.cells:,}")
    for line in text.split("\n"):
        if line.count(separator) >= allowed.columns:
            refuse_large_table(name, 1, re.sub('"[^"]*"', "", line).count(separator) + 1)


def separator_of(text: str, suffix: str = ".csv") -> str:
    r"""Return the separator under which the lines have the same number of cells, more than one.

    Examples
    --------
    >>> separator_of("a;b\n1,5;2\n3,5;4")
    ';'
    """
    sample = "".join(io.StringIO(text).readlines()[:SAMPLE]) if text.count("\n") > SAMPLE else text
    best, best_score = "\t" if suffix == ".tsv" else ",", 0.0
    usual = {".tsv": "\t", ".csv": ","}.get(suffix)
    for separator in SEPARATORS:
        try:
            widths = [len(row) for row in csv.reader(io.StringIO(sample, newline=""), delimiter=separator) if row]
        except csv.Error:
            continue
        if not widths:
            continue
        width, share = Counter(widths).most_common(1)[0]
        if width < 2:
            continue
        # A header that is as wide as the rows decides; then the share of rows of one width, then the number of columns.
        score = share / len(widths) + 0.5 * (widths[0] == width) + min(width, 40) / 100 + 0.1 * (separator == usual)
        if score > best_score:
            best, best_score = separator, score
    return best


def _by_any_blanks(text: str) -> list[Row]:
    """Return the rows of a table whose header has blanks where the rows also have tabs, each as wide, or nothing."""
    header, _, body = text.partition("\n")
    if "\t" not in body[:10_000] or any(separator in header for separator in SEPARATORS) or " " not in header.strip():
        return []
    rows: list[Row] = [[*line.split()] for line in text.splitlines()]
    return rows if {len(row) for row in rows if row} == {len(rows[0])} and len(rows[0]) > 1 else []


def _by_blanks(text: str) -> list[Row]:
    """Return the rows of a table of three columns or more that no other separator divides, or nothing."""
    lines = text.splitlines()
    if any(separator in text for separator in SEPARATORS):
        return []
    rows = [re.findall(r'"[^"]*"|\S+', line) for line in lines]
    widths = {len(row) for row in rows if row}
    if len(rows) < 3 or len(widths) != 1 or min(widths) < 3:
        return []
    return [[cell.strip('"') or None for cell in row] for row in rows]


def rows_of(text: str, separator: str, name: str) -> list[Row]:
    """Return the rows of separated text; empty cells are None."""
    csv.field_size_limit(LONGEST_CELL)

    def read(**options: object) -> list[Row]:
        source = csv.reader(io.StringIO(text, newline=""), delimiter=separator, **options)  # type: ignore[arg-type]
        return [[as_in_file(cell) if cell.strip() else None for cell in row] for row in source]

    try:
        return read(strict=True)
    except csv.Error as error:
        if separator == "\t" or "expected after" in str(error):
            return read(quoting=csv.QUOTE_NONE) if separator == "\t" else read()
        raise InputError(f"cannot read {name}: a quotation mark is opened and never closed") from None
