"""Tables and lines on the terminal."""

from __future__ import annotations

import sys

import pyarrow as pa

from ordbridge.escaping import visible
from ordbridge.formats import as_text

__all__ = ["line", "table"]

FILE_WIDTH = 200  # where the output is a file or a pipe, nothing is squeezed to the width of a terminal


def line(text: str = "") -> None:
    """Print a line of text."""
    print(visible(text))


def table(table: pa.Table, title: str | None = None) -> None:
    """Print an Arrow table, numbers with four significant digits."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    grid = Table(title=title and visible(title), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for field in table.schema:
        number = pa.types.is_floating(field.type) or pa.types.is_integer(field.type)
        grid.add_column(visible(field.name), justify="right" if number else "left", no_wrap=number)
    for row in table.to_pylist():
        grid.add_row(*(visible(as_text(value, "{:.4g}".format, missing="")) for value in row.values()))
    width = None if sys.stdout.isatty() else FILE_WIDTH
    Console(file=sys.stdout, width=width, highlight=False, markup=False, emoji=False).print(grid)
