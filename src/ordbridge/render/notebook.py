"""What results look like in a notebook: tables, sentences, and how far a long computation is."""

from __future__ import annotations

import builtins
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from ordbridge.render.cells import columns_of
from ordbridge.render.layout import ShownTable
from ordbridge.support.escaping import for_html
from ordbridge.support.formatting import html_table
from ordbridge.support.progress import Progress

if TYPE_CHECKING:
    import pyarrow as pa

    from ordbridge.results.result import Result

MOST_ROWS = 30
MOST_COLUMNS = 20
SECONDS = 0.25  # between two states of a bar
BAR = '<div style="font: 13px system-ui, sans-serif">{bar}<span>{text}</span></div>'


def fragment(result: Result) -> str:
    """Return any result as a piece of HTML: the answer, the table behind it, who rated what, and every caution."""
    parts = [f"<p><b>{for_html(line)}</b></p>" for line in result.answer.splitlines()]
    for grid in result.main():
        parts += [f"<p>{for_html(grid.caption)}</p>"] if grid.caption else []
        parts.append(_grid(grid))
    parts += [f"<p>{for_html(result.counted)}</p>"] if result.counted else []
    for finding in result.shown:
        style = "" if finding.severity == "note" else ' style="border-left: 4px solid #c77700; padding-left: 8px"'
        parts.append(f"<p{style}>{for_html(finding.text)}</p>")
    return "".join(parts)


def _grid(grid: ShownTable) -> str:
    columns = columns_of(grid)
    if not columns:
        return ""
    head = "".join(f"<th>{for_html(column.title)}</th>" for column in columns)
    n = len(columns[0].texts)
    body = []
    for row in range(min(n, MOST_ROWS)):
        cells = []
        for column in columns:
            text = for_html(column.texts[row])
            text = f"<b>{text}</b>" if (row, column.name) in grid.bold else text
            mark = grid.raised.get((row, column.name), "")
            cells.append(f"<td>{text}{f'<sup>{for_html(mark)}</sup>' if mark else ''}</td>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    rest = f"<p>and {n - MOST_ROWS:,} more rows</p>" if n > MOST_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>{rest}"


def arrow_table(table: pa.Table) -> str:
    """Return a table as HTML: the first rows of a long one, without columns that have no value.

    Examples
    --------
    >>> import pyarrow as pa
    >>> arrow_table(pa.table({"system": ["A"], "note": [None]}))
    '<table><thead><tr><th>system</th></tr></thead><tbody><tr><td>A</td></tr></tbody></table>'
    """
    rows = table.slice(0, MOST_ROWS).to_pylist()
    if not rows:
        return f"<p>no rows; columns: {for_html(', '.join(table.column_names))}</p>"
    names = [name for name in table.column_names if any(row[name] not in (None, "", []) for row in rows)]
    shown: list[Mapping[str, Any]] = [{name: row[name] for name in names} for row in rows]
    rest = table.num_rows - len(rows)
    return html_table(shown) + (f"<p>and {rest:,} more rows</p>" if rest else "")


def show_arrow_tables() -> None:
    """Let notebooks, IPython and Python's prompt show Arrow tables as rows; elsewhere pyarrow has the say."""
    shell = _shell()
    if shell is not None:
        formatters = shell.display_formatter.formatters
        formatters["text/html"].for_type_by_name("pyarrow.lib", "Table", arrow_table)
        formatters["text/plain"].for_type_by_name("pyarrow.lib", "Table", _arrow_text)
    else:
        sys.displayhook = _rows_at_the_prompt(sys.displayhook)


def _arrow_text(table: pa.Table, printer: Any, cycle: bool) -> None:
    printer.text(_rows(table))


def _rows(table: pa.Table) -> str:
    import pandas as pd

    with pd.option_context("display.max_columns", MOST_COLUMNS):  # in a narrow terminal below each other
        return repr(table.to_pandas())


def _rows_at_the_prompt(show: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what shows a value as before, but an Arrow table as its rows."""

    def shown(value: Any) -> None:
        known = sys.modules.get("pyarrow")
        if known is None or not isinstance(value, known.Table):
            show(value)
            return
        builtins._ = value  # type: ignore[attr-defined]  # as Python's own prompt does
        sys.stdout.write(f"{_rows(value)}\n")

    return shown


@contextmanager
def bar_in_notebook(given: Callable[[Any], Any] | None) -> Iterator[Callable[[Any], None] | None]:
    """Yield what is told of the progress: what was given, else a bar in a notebook, else nothing.

    What runs inside, such as the simulations of a plan, has no bar of its own. In the end the bar goes away.
    """
    shell = _shell()
    if given is not None or shell is None or not hasattr(shell, "kernel") or _telling.get():
        yield given
        return
    shown, before = _Bar(), _telling.set(True)
    try:
        yield shown
    finally:
        _telling.reset(before)
        shown.clear()


_telling: ContextVar[bool] = ContextVar("_telling", default=False)


class _Bar:
    """A bar below the cell that is running, drawn a few times a second."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._drawn = 0.0

    def __call__(self, report: Progress | str) -> None:
        if time.monotonic() - self._drawn > SECONDS:
            self._draw(bar(report))
            self._drawn = time.monotonic()

    def clear(self) -> None:
        """Take the bar away."""
        if self._handle is not None:
            self._draw("")

    def _draw(self, html: str) -> None:
        from IPython.display import HTML, display

        if self._handle is None:
            self._handle = display(HTML(html), display_id=True)
        else:
            self._handle.update(HTML(html))


def bar(report: Progress | str) -> str:
    """Return one state of a progress bar.

    Examples
    --------
    >>> bar(Progress(done=1, total=4, rate=1.0, seconds_left=3.0, failures=0)).count('value="1" max="4"')
    1
    """
    if isinstance(report, Progress):
        filled = f'<progress value="{report.done}" max="{report.total}" aria-label="progress"></progress> '
        return BAR.format(bar=filled, text=for_html(str(report)))
    return BAR.format(bar="", text=for_html(str(report)))


def _shell() -> Any:
    """Return IPython's shell, if this is one; IPython is not loaded for the question."""
    module = sys.modules.get("IPython")
    return None if module is None else module.get_ipython()
