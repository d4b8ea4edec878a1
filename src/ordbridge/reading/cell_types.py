"""Cells as numbers, truth values or text, and what stands for a missing value."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa

__all__ = ["MISSING", "is_missing", "typed"]

MISSING = frozenset(["", ".", "na", "n/a", "n.a.", "nan", "null", "-", "–", "—", "--", "#n/a", "<na>"])
"""What stands for no answer, in small letters."""

_WHOLE = re.compile(r"[+-]?(0|[1-9]\d{0,17})")
_POINT = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_COMMA = re.compile(r"[+-]?(\d+(,\d+)?|,\d+)")
_TRUTH = {"true": True, "false": False}


def is_missing(cell: str | None) -> bool:
    """Tell whether a cell is empty or holds a code for a missing value.

    Examples
    --------
    >>> is_missing("N/A"), is_missing(" "), is_missing("0")
    (True, True, False)
    """
    return cell is None or cell.strip().casefold() in MISSING


def typed(cells: Sequence[str | None]) -> pa.Array:
    """Return a column with the narrowest type that holds all cells; names such as 007 stay text.

    Examples
    --------
    >>> [str(typed(cells).type) for cells in (["1", "NA"], ["1,5", "2"], ["007", "1"], ["true", "false"])]
    ['int64', 'double', 'string', 'bool']
    """
    values = [None if is_missing(cell) else str(cell).strip() for cell in cells]
    present = [value for value in values if value is not None]
    if present and all(_WHOLE.fullmatch(value) for value in present):
        return pa.array([None if value is None else int(value) for value in values], pa.int64())
    if present and not any(re.fullmatch(r"[+-]?0\d+", value) for value in present):
        for pattern in (_POINT, _COMMA):
            if all(pattern.fullmatch(value) for value in present) and all(len(value) < 18 for value in present):
                numbers = [None if value is None else float(value.replace(",", ".")) for value in values]
                return pa.array(numbers, pa.float64())
    if present and all(value.casefold() in _TRUTH for value in present):
        return pa.array([None if value is None else _TRUTH[value.casefold()] for value in values], pa.bool_())
    return pa.array([None if is_missing(cell) else cell for cell in cells], pa.string())
