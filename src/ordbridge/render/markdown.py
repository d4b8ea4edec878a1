"""A result in Markdown: the answer, the table behind it, cautions, and the methods paragraph with references."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ordbridge.render.cells import columns_of
from ordbridge.render.layout import ShownTable
from ordbridge.support.escaping import for_markdown

if TYPE_CHECKING:
    from ordbridge.results.result import Result


def text(result: Result) -> str:
    """Return a result in Markdown."""
    parts = ["  \n".join(f"**{for_markdown(line)}**" for line in result.answer.splitlines())]
    parts += [table(grid) for grid in result.paper_tables()]
    parts += [for_markdown(said)] if (said := f"{result.counted} {result.columns}".strip()) else []
    parts += ["\n".join(f"- {for_markdown(_said(one))}" for one in result.shown)] if result.shown else []
    parts += [for_markdown(result.methods())] if result.methods() else []
    cited = result.references()
    return "\n\n".join([*parts, *(["\n".join(f"- {for_markdown(one)}" for one in cited)] if cited else [])])


def _said(finding: object) -> str:
    severity, words = finding.severity, finding.text  # type: ignore[attr-defined]
    return words if severity == "note" else f"{severity.capitalize()}: {words}"


def table(grid: ShownTable) -> str:
    r"""Return a table in Markdown.

    Examples
    --------
    >>> import pyarrow as pa
    >>> print(table(ShownTable(pa.table({"term": ["a|b"], "estimate": [0.51234]}))))
    | term | estimate |
    |:-----|---------:|
    | a\|b | 0.512 |
    """
    columns = columns_of(grid)
    if not columns:
        return ""
    heads = [for_markdown(column.title, in_table=True) for column in columns]
    marks = [
        f"{'-' * (len(head) + 1)}:" if column.numeric else f":{'-' * (len(head) + 1)}"
        for column, head in zip(columns, heads, strict=True)
    ]
    lines = [f"| {' | '.join(heads)} |", f"|{'|'.join(marks)}|"]
    for row in range(len(columns[0].texts)):
        cells = []
        for column in columns:
            cell = for_markdown(column.texts[row], in_table=True)
            cell = f"**{cell}**" if (row, column.name) in grid.bold else cell
            mark = grid.raised.get((row, column.name), "")
            cells.append(f"{cell}<sup>{mark}</sup>" if mark else cell)
        lines.append(f"| {' | '.join(cells)} |")
    caption = [f"**{for_markdown(grid.caption)}**", ""] if grid.caption else []
    return "\n".join([*caption, *lines])
