"""Tables and lines on the terminal."""

from __future__ import annotations

import json
import sys
from typing import Any

import pyarrow as pa

from ordbridge.render.json import plain
from ordbridge.support.escaping import visible
from ordbridge.support.formatting import as_text

FILE_WIDTH = 200  # where the output is a file or a pipe, nothing is squeezed to the width of a terminal


def line(text: str = "") -> None:
    """Print a line of text."""
    print(visible(text))


def formatted(text: str) -> None:
    """Print a result, whose names are inert already."""
    print(text)


def data(value: Any) -> None:
    """Print a value as JSON, in ASCII where the output takes nothing else: names must come back as they are."""
    unicode = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().startswith("utf")
    line(json.dumps(plain(value), indent=2, allow_nan=False, ensure_ascii=not unicode))


def table(table: pa.Table, title: str | None = None) -> None:
    """Print an Arrow table, numbers with three significant digits."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    grid = Table(title=title and visible(title), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for field in table.schema:
        number = pa.types.is_floating(field.type) or pa.types.is_integer(field.type)
        grid.add_column(visible(field.name), justify="right" if number else "left", no_wrap=number)
    for row in table.to_pylist():
        grid.add_row(*(visible(as_text(value, _digits, missing="")) for value in row.values()))
    width = None if sys.stdout.isatty() else FILE_WIDTH
    Console(file=sys.stdout, width=width, highlight=False, markup=False, emoji=False).print(grid)


def _digits(number: float) -> str:
    return f"{number:,.0f}" if 1000 <= abs(number) < 1e15 else f"{number:.3g}"
