r"""A result in LaTeX: the answer, the table behind it, cautions, and the methods paragraph with references.

Tables need ``\usepackage{booktabs}``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ordbridge.render.cells import columns_of
from ordbridge.render.layout import ShownTable
from ordbridge.render.markdown import _said
from ordbridge.support.escaping import for_latex

if TYPE_CHECKING:
    from ordbridge.results.result import Result

LONG = 40  # characters in a cell that LaTeX may break
NUMBER = re.compile(r"-?\d+(\.\d+)?(e[-+]?\d+)?", re.ASCII)


def text(result: Result, caption: str = "", label: str = "") -> str:
    """Return a result in LaTeX; ``caption`` and ``label`` are those of its first table."""
    parts = ["% \\usepackage{booktabs}", for_latex(" ".join(result.answer.splitlines()))]
    for place, grid in enumerate(result.paper_tables()):
        named = f"{label or f'tab:{result.kind}'}{f'-{place + 1}' if place else ''}"
        parts.append(table(grid, caption if caption and not place else grid.caption, named))
    parts += [for_latex(result.counted)] if result.counted else []
    if result.findings:
        items = [rf"\item {for_latex(_said(one))}" for one in result.findings]
        parts.append("\n".join([r"\begin{itemize}", *items, r"\end{itemize}"]))
    parts += [for_latex(one) for one in (result.methods(), *result.references()) if one]
    return "\n\n".join(parts)


def table(grid: ShownTable, caption: str = "", label: str = "") -> str:
    r"""Return a table in LaTeX (package booktabs).

    Examples
    --------
    >>> import pyarrow as pa
    >>> print(table(ShownTable(pa.table({"term": ["a_b"], "estimate": [-0.51234]}))))
    \begin{tabular}{lr}
    \toprule
    term & estimate \\
    \midrule
    a\_b & $-0.512$ \\
    \bottomrule
    \end{tabular}
    """
    columns = columns_of(grid)
    if not columns:
        return ""
    kinds = "".join("r" if column.numeric else _text_column(column.texts) for column in columns)
    body = []
    for row in range(len(columns[0].texts)):
        cells = []
        for column in columns:
            cell = _cell(column.texts[row])
            cell = rf"\textbf{{{cell}}}" if (row, column.name) in grid.bold else cell
            mark = grid.raised.get((row, column.name), "")
            cells.append(rf"{cell}\textsuperscript{{{mark}}}" if mark else cell)
        body.append(" & ".join(cells) + r" \\")
    head = " & ".join(for_latex(column.title) for column in columns) + r" \\"
    lines = [rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"]
    if caption or label:
        titles = [rf"\caption{{{for_latex(caption)}}}"] if caption else []
        titles += [rf"\label{{{label}}}"] if label else []
        lines = [r"\begin{table}", r"\centering", *lines, *titles, r"\end{table}"]
    return "\n".join(lines)


def _text_column(texts: list[str]) -> str:
    """Return the kind of a LaTeX column: one that breaks lines where a cell is long."""
    return r"p{0.25\linewidth}" if max(map(len, texts), default=0) > LONG else "l"


def _cell(text: str) -> str:
    if not NUMBER.fullmatch(text):
        return for_latex(text)
    return f"${text}$" if text.startswith("-") else text
