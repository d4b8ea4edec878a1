"""How many rows and columns a workbook will have, counted in its XML before a library makes cells of them.

A cell far away, or a row that is "repeated", is a few bytes in the file and gigabytes in memory.
"""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Any
from xml.parsers import expat

from ordbridge.errors import InputError
from ordbridge.reading.size_limits import limits, refuse, refuse_large_table

__all__ = ["refuse_large_workbook"]

CHUNK = 2**16
LAST_ROW, LAST_COLUMN = 2**20, 2**14  # of any spreadsheet program
_PLACE = re.compile(r"([A-Z]{1,4})([0-9]{1,10})")


def refuse_large_workbook(path: Path, name: str, kind: str) -> None:
    """Refuse a workbook that unpacks to too much, or to too many cells, or has formulas without saved results."""
    with zipfile.ZipFile(path) as archive:
        _refuse_large_archive(archive, name)
        for part in archive.namelist():
            if kind == "ods" and part == "content.xml":
                _parse(archive, part, _Repeated(name))
            elif kind == "xlsx" and part.startswith("xl/worksheets/") and part.endswith(".xml"):
                _parse(archive, part, _Placed(name))


def _refuse_large_archive(archive: zipfile.ZipFile, name: str) -> None:
    allowed = limits()
    unpacked = sum(part.file_size for part in archive.infolist())
    packed = sum(part.compress_size for part in archive.infolist())
    if unpacked > allowed.size:
        refuse(f"{name} unpacks to {unpacked / 1e6:,.0f} MB, more than {allowed.size / 1e6:,.0f} MB")
    if unpacked > max(allowed.small, packed * allowed.ratio):
        refuse(f"{name} unpacks to more than {allowed.ratio} times its size")


def _parse(archive: zipfile.ZipFile, part: str, count: _Count) -> None:
    parser = expat.ParserCreate(namespace_separator=" ")  # prefixes are anybody's choice
    parser.StartElementHandler = count.start
    parser.EndElementHandler = count.end
    parser.CharacterDataHandler = count.text
    parser.StartDoctypeDeclHandler = count.doctype  # which could declare entities that grow
    with archive.open(part) as source:
        while chunk := source.read(CHUNK):
            parser.Parse(chunk)
        parser.Parse(b"", True)


class _Count:
    def __init__(self, name: str) -> None:
        self.name = name
        self.rows = self.columns = 0

    def text(self, text: str) -> None:
        """Most elements have none that matters."""

    def doctype(self, *_: Any) -> None:
        raise InputError(f"{self.name} declares XML entities, which no spreadsheet program does; save it again")

    def reach(self, rows: int, columns: int) -> None:
        """Take note of a cell that is filled."""
        self.rows, self.columns = max(self.rows, rows), max(self.columns, columns)
        refuse_large_table(self.name, self.rows, self.columns)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        raise NotImplementedError

    def end(self, tag: str) -> None:
        raise NotImplementedError


class _Placed(_Count):
    """Of .xlsx: rows and cells say where they stand, or follow each other."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.row = self.column = 0
        self.filled = self.formula = self.saved = self.worded = self.in_value = False

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = _local(tag)
        if tag == "row":
            self.row = _whole(attributes.get("r"), self.row + 1)
            self.column = 0
        elif tag == "c":
            self.column += 1
            if found := _PLACE.fullmatch(attributes.get("r", "")):
                self.column, self.row = _number(found[1]), int(found[2])
            self.filled = self.formula = self.saved = False
            self.worded = attributes.get("t") == "str"  # the result of a formula may be no text
        elif tag == "f":
            self.filled = self.formula = True
        elif tag in ("v", "is"):
            self.filled = self.in_value = True
            self.saved = self.worded
        if self.row > LAST_ROW or self.column > LAST_COLUMN:
            raise InputError(f"{self.name} has a cell in row {self.row:,}, column {self.column:,}; it is damaged")

    def text(self, text: str) -> None:
        self.saved = self.saved or self.in_value

    def end(self, tag: str) -> None:
        if _local(tag) in ("v", "is"):
            self.in_value = False
        if _local(tag) != "c" or not self.filled:
            return
        self.reach(self.row, self.column)
        if self.formula and not self.saved:
            raise InputError(
                f"cell {_letters(self.column)}{self.row} of {self.name} has a formula without a saved result; open "
                "the file in a spreadsheet program and save it"
            )


class _Repeated(_Count):
    """Of .ods: rows and cells follow each other and say how often they are repeated; empty ones at the end are not."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.row = self.column = self.last = 0
        self.repeat = self.cell_repeat = 1
        self.blanks = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = _local(tag)
        attributes = {_local(name): value for name, value in attributes.items()}
        if tag == "table":
            self.row = self.rows = self.columns = 0
        elif tag == "table-row":
            self.repeat = _whole(attributes.get("number-rows-repeated"), 1)
            self.column = self.last = 0
        elif tag in ("table-cell", "covered-table-cell"):
            self.cell_repeat = _whole(attributes.get("number-columns-repeated"), 1)
            self.column += self.cell_repeat
            if "value-type" in attributes:
                self.last = self.column
        elif tag == "p":
            self.last = self.column
        elif tag == "s":
            self.blanks += _whole(attributes.get("c"), 1)
            if self.blanks > limits().line:
                refuse(f"{self.name} has more than {limits().line:,} blanks in its cells")

    def end(self, tag: str) -> None:
        if _local(tag) == "table-row":
            self.row += self.repeat
            if self.last:
                self.reach(self.row, self.last)


def _local(name: str) -> str:
    return name.rpartition(" ")[2]


def _whole(text: str | None, otherwise: int) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else otherwise


def _number(letters: str) -> int:
    """Return the number of a column: 1 of A, 28 of AB."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number


def _letters(number: int) -> str:
    letters = ""
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return letters
