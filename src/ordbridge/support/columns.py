"""The columns of a table in one line: names, and what kind of values they hold."""

from __future__ import annotations

import pyarrow as pa

KINDS = {"text": pa.string(), "number": pa.float64(), "count": pa.int64(), "truth": pa.bool_()}


def columns(written: str) -> dict[str, pa.DataType]:
    """Return the type of each column.

    Examples
    --------
    >>> list(columns("scale system: text; mean: number"))
    ['scale', 'system', 'mean']
    """
    parts = (part.partition(":") for part in written.split(";"))
    return {name: KINDS[kind.strip()] for names, _, kind in parts for name in names.split()}
