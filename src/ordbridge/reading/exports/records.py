"""What exports in JSON share: records as a sheet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ordbridge.errors import InputError
from ordbridge.reading.sheet import Sheet
from ordbridge.reading.size_limits import refuse_large_table
from ordbridge.reading.workbook import cell_text

__all__ = ["only_one", "sheet_of_rows"]


def sheet_of_rows(rows: Sequence[Mapping[str, Any]], name: str) -> Sheet:
    """Return records as a sheet, the first row being 1."""
    if not rows:
        raise InputError(f"{name} has no annotations")
    names = dict.fromkeys(key for row in rows for key in row)
    refuse_large_table(name, len(rows), len(names))
    columns = {key: [_text(row.get(key)) for row in rows] for key in names}
    return Sheet(columns, np.arange(1, len(rows) + 1), name)


def _text(value: Any) -> str | None:
    return None if isinstance(value, (list, dict)) else cell_text(value)


def only_one(value: Any) -> Any:
    """Return the element of a list of one, and nothing of a longer one: several answers are not one rating.

    Examples
    --------
    >>> only_one(["4"]), only_one("4"), only_one([1, 2])
    ('4', '4', None)
    """
    if isinstance(value, list):
        return value[0] if len(value) == 1 else None
    return value
