r"""A result in LaTeX: the answer, the table behind it, cautions, methods and results for the paper, references.

It compiles in a plain article of one column or two. A table that is too wide for a column of two spans both
(``table*``); one that is still too wide is set smaller.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ordbridge.render.cells import ShownColumn, columns_of
from ordbridge.render.layout import ShownTable
from ordbridge.render.markdown import _said
from ordbridge.support.escaping import for_latex

if TYPE_CHECKING:
    from ordbridge.results.result import Result

PACKAGES = "% \\usepackage[T1]{fontenc}\n% \\usepackage{booktabs,graphicx,textcomp}"
LONG = 32  # characters in a cell that LaTeX may break
COLUMN = 40  # characters of a row that fit into one column of two
MOST_ROWS = 45
UNBROKEN = 16  # letters in one word, from which on LaTeX may break it anywhere
NUMBER = re.compile(r"-?\d+(\.\d+)?(e[-+]?\d+)?", re.ASCII)
NUMBERS = re.compile(r"[<>≈]? ?[-−+]?\.?\d[\d.,]*( ?%)?|–")


def text(result: Result, caption: str = "", label: str = "") -> str:
    """Return a result in LaTeX; ``caption`` and ``label`` are those of its first table."""
    parts = [PACKAGES, _paragraph(" ".join(result.answer.splitlines()))]
    for place, grid in enumerate(result.paper_tables()):
        named = f"{label or f'tab:{result.kind}'}{f'-{place + 1}' if place else ''}"
        parts.append(table(grid, caption if caption and not place else grid.caption or result.title, named))
    parts += [_paragraph(result.counted)] if result.counted else []
    if result.shown:
        items = [rf"\item {_breakable(_said(one))}" for one in result.shown]
        parts.append("\n".join([r"\begin{itemize}\sloppy", *items, r"\end{itemize}"]))
    for heading, words in (("Methods", result.methods()), ("Results", result.results())):
        if words and (heading == "Methods" or words != " ".join(result.answer.splitlines())):
            parts.append(_paragraph(words, rf"\paragraph{{{heading}.}} "))
    cited = [rf"\item {_breakable(one)}" for one in result.references()]
    if cited:
        parts.append("\n".join([r"\paragraph{References.}", r"\begin{itemize}\sloppy", *cited, r"\end{itemize}"]))
    return "\n\n".join(one for one in parts if one)


def table(grid: ShownTable, caption: str = "", label: str = "") -> str:
    r"""Return a table in LaTeX (packages booktabs and graphicx).

    Examples
    --------
    >>> import pyarrow as pa
    >>> print(table(ShownTable(pa.table({"term": ["a_b"], "estimate": [-0.51234]}))))
    \begin{tabular}{@{}lr@{}}
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
    long = sum(_is_long(column) for column in columns)
    kinds = "".join(_kind(column, long) for column in columns)
    body = []
    n = len(columns[0].texts)
    for row in range(min(n, MOST_ROWS)):
        cells = []
        for column in columns:
            cell = _cell(column.texts[row])
            cell = rf"\textbf{{{cell}}}" if (row, column.name) in grid.bold or row in grid.marked else cell
            mark = grid.raised.get((row, column.name), "")
            cells.append(rf"{cell}\textsuperscript{{{mark}}}" if mark else cell)
        body.append(" & ".join(cells) + r" \\")
    if n > MOST_ROWS:  # a float has no second page
        body.append(rf"\multicolumn{{{len(columns)}}}{{@{{}}l@{{}}}}{{and {n - MOST_ROWS:,} more rows}} \\")
    head = " & ".join(for_latex(column.title) for column in columns) + r" \\"
    begin, end = rf"\begin{{tabular}}{{@{{}}{kinds}@{{}}}}", r"\end{tabular}"
    lines = [begin, r"\toprule", head, r"\midrule", *body, r"\bottomrule", end]
    width = sum(_width(column) + 2 for column in columns)
    if width > COLUMN or caption or label:  # set smaller only where it is wider than its place
        fits = r"\ifdim\width>\linewidth\linewidth\else\width\fi"
        lines = [rf"\resizebox{{{fits}}}{{!}}{{%", *lines[:-1], end + "}"]
    if caption or label:
        floating = "table*" if width > COLUMN or long else "table"
        titles = [rf"\caption{{{_breakable(caption)}}}"] if caption else []
        titles += [rf"\label{{{label}}}"] if label else []
        small = [r"\small"]
        lines = [rf"\begin{{{floating}}}[tb]", r"\centering", *small, *titles, *lines, rf"\end{{{floating}}}"]
    return "\n".join(lines)


def _is_long(column: ShownColumn) -> bool:
    return not column.numeric and max(map(len, column.texts), default=0) > LONG


def _kind(column: ShownColumn, long: int) -> str:
    """Return the kind of a LaTeX column: numbers to the right, and one that breaks lines where a cell is long."""
    if _is_long(column):
        return rf"p{{{min(0.38, 0.7 / long):.2f}\linewidth}}"
    right = column.numeric or all(NUMBERS.fullmatch(text) for text in column.texts)
    return "r" if right else "l"


def _width(column: ShownColumn) -> int:
    return min(LONG, max(len(column.title), *map(len, column.texts), 1))


def _cell(text: str) -> str:
    if not NUMBER.fullmatch(text):
        return _breakable(text)
    return f"${text}$" if text.startswith("-") else text


def _paragraph(words: str, before: str = "") -> str:
    """Return a paragraph without overfull lines: spaces may stretch, and long words break."""
    return "\n".join([r"\begin{sloppypar}", f"{before}{_breakable(words)}", r"\end{sloppypar}"])


def _breakable(words: str) -> str:
    r"""Return text for LaTeX in which a long word may be broken between its parts.

    Examples
    --------
    >>> print(_breakable("see CRAN.R-project.org"))
    see CRAN.\allowbreak{}R-\allowbreak{}project.\allowbreak{}org
    """
    out = []
    for word in words.split(" "):
        pieces = re.findall(r"[^\W_]{1,12}[\W_]?|[\W_]", word) if len(word) > UNBROKEN else [word]
        out.append(r"\allowbreak{}".join(map(for_latex, pieces)))
    return " ".join(out)
