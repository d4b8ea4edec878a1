"""The table of fits: its columns, and one row of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from ordbridge.support.columns import columns

FITS = pa.schema(
    columns("cell: text")
    | {"replicate": pa.int32()}
    | columns(
        "model engine term: text; estimate std_error statistic df p_value loglik: number; converged singular: truth; "
        "status message: text; seconds: number"
    )
)
"""The columns of the fits table."""

KEYS = ("cell", "replicate", "model", "engine")
"""What a fit is recognised by."""

FAILED = ("error", "timeout", "crashed")
"""What a fit without a p-value is called."""

STATUSES = ("ok", "warning", *FAILED)


class FitRow(NamedTuple):
    """One row of the fits table: what was fitted, and the result; a number that is not there is None or NaN."""

    cell: str
    replicate: int
    model: str
    engine: str
    term: str
    estimate: float | None = None
    std_error: float | None = None
    statistic: float | None = None
    df: float | None = None
    p_value: float | None = None
    loglik: float | None = None
    converged: bool | None = None
    singular: bool | None = None
    status: str = "ok"
    message: str | None = None
    seconds: float | None = None


def table_of(rows: Sequence[FitRow]) -> pa.Table:
    """Return rows as a table; a number that is not there is null."""
    if not rows:
        return FITS.empty_table()
    columns = zip(*rows, strict=True)
    arrays = [pa.array(values, field.type, from_pandas=True) for values, field in zip(columns, FITS, strict=True)]
    return pa.Table.from_arrays(arrays, schema=FITS)
