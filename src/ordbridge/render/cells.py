"""Cells of tables for people, the same on every surface: digits, p-values, names of columns."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from ordbridge.render.layout import ShownTable
from ordbridge.support.formatting import as_text, p_text

NAMES = {"conf_low": "from", "conf_high": "to", "p_value": "p", "p_adjusted": "p (corrected)", "n_failed": "failed",
         "n_ok": "fitted"}  # fmt: skip
OF_INTERVALS = ("estimate", "difference", "std_error", "power", "mean", "severity", "favours", "conf_low", "conf_high")
P_VALUES = ("p_value", "p_adjusted", "latent_p_value", "naive_p_value", "p_clustered", "leniency_p", "consistency_p")


@dataclass(frozen=True)
class ShownColumn:
    """A column as it is shown."""

    name: str
    title: str
    texts: list[str]
    values: list[Any]
    numeric: bool


def columns_of(grid: ShownTable) -> list[ShownColumn]:
    """Return the columns of a table for people: without empty ones, digits alike, readable titles.

    Examples
    --------
    >>> table = pa.table({"estimate": [0.51234], "conf_low": [0.1], "conf_high": [0.9], "note": [None]})
    >>> [(column.title, column.texts) for column in columns_of(ShownTable(table))]
    [('estimate', ['0.51']), ('from', ['0.10']), ('to', ['0.90'])]
    """
    table = without_empty_columns(grid.table)
    written = _digits_alike(table) | digits_by_intervals(table)
    shown = NAMES | dict(grid.names)
    found = []
    for entry in table.schema:
        values = table[entry.name].to_pylist()
        write = written.get(entry.name, cell)
        numeric = pa.types.is_integer(entry.type) or pa.types.is_floating(entry.type)
        texts = [write(value, entry.name) for value in values]
        found.append(
            ShownColumn(entry.name, shown.get(entry.name, _readable(entry.name)).strip(), texts, values, numeric)
        )
    return found


def digits_by_intervals(table: pa.Table) -> dict[str, Callable[[Any, str], str]]:
    """Return how the columns that belong to intervals are written: two digits of the usual half width of an interval.

    Examples
    --------
    >>> table = pa.table({"estimate": [0.51234], "conf_low": [0.1], "conf_high": [0.9]})
    >>> digits_by_intervals(table)["estimate"](0.51234, "estimate")
    '0.51'
    """
    written: dict[str, Callable[[Any, str], str]] = {}
    kinds = {field.name: field.type for field in table.schema}
    for low in (name for name in kinds if name.endswith("_low") and f"{name[:-4]}_high" in kinds):
        stem = low[:-4]
        places = _places(table[low].to_pylist(), table[f"{stem}_high"].to_pylist())
        of_it = OF_INTERVALS if stem == "conf" else (stem, f"{stem}_only", low, f"{stem}_high")
        if places is not None:
            write = partial(_with_places, places=places)
            written |= {name: write for name in of_it if name in kinds and pa.types.is_floating(kinds[name])}
    return written


def _places(lows: list[float | None], highs: list[float | None]) -> int | None:
    ends = [(low, high) for low, high in zip(lows, highs, strict=True) if low is not None and high is not None]
    widths = sorted((high - low) / 2 for low, high in ends if high > low)
    if not widths or not math.isfinite(widths[len(widths) // 2]):
        return None
    return min(4, max(0, 1 - math.floor(math.log10(widths[len(widths) // 2]))))


def cell(value: Any, column: str = "") -> str:
    """Return a value as it stands in a table for people: three decimals, no bare NaN, p as papers print it.

    Examples
    --------
    >>> cell(0.98765), cell(12), cell(None), cell(True), cell(0.0, "p_value"), cell(0.0421, "p_value")
    ('0.988', '12', '–', 'yes', '< .001', '.042')
    """
    if column in P_VALUES and isinstance(value, float) and 0 <= value <= 1:
        return p_text(value).removeprefix("p ").removeprefix("= ")
    return as_text(value)


def without_empty_columns(table: pa.Table) -> pa.Table:
    """Return the table without the columns that have no value in any row.

    Examples
    --------
    >>> without_empty_columns(pa.table({"rater": ["a"], "group": [None], "note": [""], "why": [[]]})).column_names
    ['rater']
    """
    return table.select(
        [name for name in table.column_names if any(value not in (None, "", []) for value in table[name].to_pylist())]
    )


def _digits_alike(table: pa.Table) -> dict[str, Callable[[Any, str], str]]:
    """Return how columns of short numbers are written, such as effects of 0, 0.3 and 0.62: alike, and in full."""
    found: dict[str, Callable[[Any, str], str]] = {}
    for field in table.schema:
        if pa.types.is_floating(field.type) and field.name not in P_VALUES:
            values = [value for value in table[field.name].to_pylist() if value is not None and math.isfinite(value)]
            places = next((k for k in range(3) if all(round(value, k) == value for value in values)), None)
            if places is not None:
                found[field.name] = partial(_with_places, places=places)
    return found


def _with_places(value: Any, _: str, places: int) -> str:
    return f"{value:.{places}f}" if isinstance(value, float) and math.isfinite(value) else as_text(value)


def _readable(column: str) -> str:
    """Return the name of a column for people."""
    for ending, word in (("_low", " from"), ("_high", " to")):
        if column.endswith(ending):
            return f"{column.removesuffix(ending)}{word}".replace("_", " ")
    return column.replace("_", " ")
