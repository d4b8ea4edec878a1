"""How large a file may be: checked while it is read, so that a small file cannot ask for all memory."""

from __future__ import annotations

import dataclasses
import os
import re
from typing import NoReturn

from ordbridge.errors import InputError
from ordbridge.support.naming import arg

__all__ = ["VARIABLE", "Limits", "limits", "refuse", "refuse_large_table", "size_in_bytes"]

VARIABLE = "ORDBRIDGE_MAX_SIZE"
"""The environment variable that raises the limits; ``--max-size`` sets it. Workers and jobs inherit it."""

UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}


@dataclasses.dataclass(frozen=True)
class Limits:
    """What a file may ask for; real files of ratings stay far below.

    Attributes
    ----------
    size
        Bytes after unpacking.
    rows, columns, cells
        Of a table, with those that a workbook only says are repeated.
    line
        Characters of one line of a table in text, or of one line of JSON lines.
    ratio
        How many times as large as the file its content may become; not counted below ``small`` bytes.
    nesting
        Levels of JSON.
    """

    size: int = 256 * 10**6
    rows: int = 5_000_000
    columns: int = 4_000
    cells: int = 50_000_000
    line: int = 4_000_000
    ratio: int = 200
    small: int = 16 * 10**6
    nesting: int = 100

    def raised(self, size: int) -> Limits:
        """Return limits for files of so many bytes: rows, columns, cells, lines and ratio grow in proportion.

        Examples
        --------
        >>> Limits().raised(1024 * 10**6).columns
        16000
        """
        factor = max(1.0, size / self.size)
        grown = {name: int(getattr(self, name) * factor) for name in ("rows", "columns", "cells", "line", "ratio")}
        return dataclasses.replace(self, size=size, **grown)


def limits() -> Limits:
    """Return the limits that hold now: the defaults, or those that ``ORDBRIDGE_MAX_SIZE`` asks for."""
    given = os.environ.get(VARIABLE)
    return Limits() if not given else Limits().raised(size_in_bytes(given))


def size_in_bytes(text: str) -> int:
    """Return a size such as 4GB or 500 MB in bytes.

    Examples
    --------
    >>> size_in_bytes("1.5 GB")
    1500000000
    """
    found = re.fullmatch(r"\s*([0-9]{1,12}(?:\.[0-9]{1,6})?)\s*([kmgt]?b)?\s*", text, re.IGNORECASE)
    size = int(float(found[1]) * UNITS[(found[2] or "").lower()]) if found else 0
    if size < 1:
        raise InputError(f"{arg(VARIABLE, text)} is not a size; write for example 4GB or 500MB")
    return size


def refuse(what: str) -> NoReturn:
    """Refuse a file that is beyond a limit; ``what`` says which one."""
    more = f"{-(-limits().size * 4 // 10**9)}GB"
    raise InputError(f"{what}; if the file is what you expect, raise the limits with {arg(VARIABLE, more)}")


def refuse_large_table(name: str, rows: int, columns: int) -> None:
    """Refuse a table with too many rows, columns or cells, before anything is made of them.

    Examples
    --------
    >>> refuse_large_table("x.csv", 10, 5000)
    Traceback (most recent call last):
    ...
    ordbridge.errors.InputError: x.csv has 5,000 columns, more than 4,000; if the file is what you expect, raise the
    limits with ORDBRIDGE_MAX_SIZE='2GB'
    """
    allowed = limits()
    for found, most, what in (
        (columns, allowed.columns, "columns"),
        (rows, allowed.rows, "rows"),
        (rows * columns, allowed.cells, "cells"),
    ):
        if found > most:
            refuse(f"{name} has {found:,} {what}, more than {most:,}")
