"""A result as text: the answer, the table behind it, who rated what, cautions; details for those who ask."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ordbridge.render.cells import ShownColumn, columns_of
from ordbridge.render.layout import Block, Bullets, OpenQuestion, ShownPicture, ShownTable, Verbatim
from ordbridge.support.escaping import visible

if TYPE_CHECKING:
    from ordbridge.results.result import Result

WIDTH = 80
MOST_ROWS = 25
WIDEST = 48  # characters of a cell; longer ones are cut


def text(result: Result, details: bool = False, width: int = WIDTH) -> str:
    """Return a result as lines for a terminal, the same as ``print(result)`` shows.

    Parameters
    ----------
    result
        Any result.
    details
        Whether to add everything that reports have, but pictures.
    width
        Of the terminal, in characters.
    """
    lines = [line for sentence in result.answer.splitlines() for line in _wrapped(sentence, width)]
    for grid in result.main():
        lines += ["", *table_lines(grid, width)]
    below = _wrapped(result.counted, width, "  ")
    room = None if details or result.most_lines is None else result.most_lines - len(lines) - len(below) - 1
    below += finding_lines(result, width, room)
    lines += ["", *below] if below else []
    for section in result.sections() if details else ():
        inside = [line for block in section.blocks for line in _block(block, width)]
        if inside:
            lines += ["", section.title, "-" * min(len(section.title), width), *inside]
    return visible("\n".join(lines))


def finding_lines(result: Result, width: int = WIDTH, most: int | None = None) -> list[str]:
    """Return a line or more for each finding; those that may change the answer begin with an exclamation mark.

    Where there is room for ``most`` lines only, the least severe are counted instead.
    """
    marks = {"error": "! ", "warning": "! ", "note": "  "}
    lines: list[str] = []
    for shown, finding in enumerate(result.findings):
        its = _wrapped(finding.text, width, f"  {marks[finding.severity]}", "    ")
        last = shown == len(result.findings) - 1
        if most is not None and len(lines) + len(its) > most - (not last):
            rest = result.findings[shown:]
            mark = "! " if any(one.severity != "note" for one in rest) else "  "
            what = "caution or note" if len(rest) == 1 else "cautions and notes"
            return [*lines, f"  {mark}{len(rest)} more {what}: --details"]
        lines += its
    return lines


def table_lines(grid: ShownTable, width: int = WIDTH) -> list[str]:
    """Return a table in columns; one that is too wide loses columns on the right, and says so."""
    columns = columns_of(grid)
    n = len(columns[0].texts) if columns else 0
    shown = min(n, MOST_ROWS)
    fitting, used = list[list[str]](), 2
    for column in columns:
        cells = _cells(column, shown, grid)
        size = max(map(_size, cells), default=0)
        if fitting and used + size > width:
            break
        fitting.append([_set(text, size, column.numeric) for text in cells])
        used += size + 2
    lines = _wrapped(grid.caption, width, "  ")
    lines += [("  " + "  ".join(row)).rstrip() for row in zip(*fitting, strict=True)]
    hidden = [column.title for column in columns[len(fitting) :]]
    if hidden:
        lines += _wrapped(f"more columns: {', '.join(hidden)}", width, "  ")
    return lines + ([f"  and {n - shown:,} more rows"] if n > shown else [])


def _cells(column: ShownColumn, shown: int, grid: ShownTable) -> list[str]:
    texts = [column.title]
    for row, value in enumerate(column.texts[:shown]):
        mark = grid.raised.get((row, column.name), "")
        texts.append(f"{value} {mark}".rstrip() if mark else value)
    return [text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…" for text in map(_one_line, texts)]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _size(text: str) -> int:
    """Return how many cells of a terminal a text takes: two for wide letters, none for combining marks."""
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )


def _set(text: str, size: int, right: bool) -> str:
    gap = " " * (size - _size(text))
    return gap + text if right else text + gap


def _wrapped(text: str, width: int, first: str = "", rest: str | None = None) -> list[str]:
    if not text:
        return []
    rest = first if rest is None else rest
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)


def _block(block: Block, width: int) -> Iterator[str]:
    if isinstance(block, ShownTable):
        yield from table_lines(block, width)
    elif isinstance(block, Bullets):
        for sentence in block.sentences:
            yield from _wrapped(sentence, width, "- ", "  ")
    elif isinstance(block, Verbatim):
        yield from block.text.splitlines()
    elif isinstance(block, OpenQuestion):
        yield from _wrapped(f"{block.text} ____", width, "- ", "  ")
    elif not isinstance(block, ShownPicture):
        yield from _wrapped(block, width)
