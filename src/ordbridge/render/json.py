"""A result as JSON: the answer, its findings with their codes, all tables, and the settings."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ordbridge.results.result import Result


def as_data(result: Result) -> dict[str, Any]:
    """Return a result as plain dictionaries and lists, without NaN or infinity."""
    return plain(
        {
            "kind": result.kind,
            "answer": result.answer,
            "counted": result.counted,
            "columns": result.columns,
            "findings": [
                {"code": one.code, "severity": one.severity, "subject": one.subject or None,
                 "values": dict(one.values), "text": one.text}
                for one in result.findings
            ],
            "tables": {name: table.to_pylist() for name, table in result.tables.items()},
            "settings": dict(result.settings),
        }
    )  # fmt: skip


def text(result: Result, ascii_only: bool = False) -> str:
    """Return a result as JSON."""
    return json.dumps(as_data(result), indent=2, allow_nan=False, ensure_ascii=ascii_only)


def plain(value: Any) -> Any:
    """Return a value without what JSON does not have: NaN, infinity, tuples, numbers of numpy.

    Examples
    --------
    >>> plain({"p": float("nan"), "rows": (1, 2)})
    {'p': None, 'rows': [1, 2]}
    """
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(one) for one in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
