"""A result as text: the answer, the table behind it, who rated what, cautions; details for those who ask."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ordbridge.render.cells import ShownColumn, columns_of
from ordbridge.render.layout import Block, Bullets, OpenQuestion, ShownPicture, ShownTable, Verbatim
from ordbridge.support.escaping import visible

if TYPE_CHECKING:
    from ordbridge.results.finding import Finding
    from ordbridge.results.result import Result

WIDTH = 80
MOST_ROWS = 25
LEAST, WIDEST = 20, 60  # characters of a text in a cell: where there is too little room, and elsewhere
BOLD, YELLOW = "1", "33"
TOGETHER, NO_BREAK = re.compile(r"\d% CI\b|\bp [<=] (?=\.)"), "\ufdd0"  # no line ends within these


def text(
    result: Result,
    details: bool = False,
    width: int = WIDTH,
    tables: int | None = None,
    asked: Sequence[str] = (),
    more: str = "",
    notes: bool = True,
    colour: bool = False,
) -> str:
    """Return a result as lines for a terminal, the same as ``print(result)`` shows.

    Parameters
    ----------
    result
        Any result.
    details
        Whether to add everything that reports have, but pictures.
    width
        Of the terminal, in characters.
    tables
        How wide tables may be; default: as wide as the terminal.
    asked
        What to add of :meth:`~ordbridge.results.Result.on_request`.
    more
        Options that show more, for the last line.
    notes
        Whether to show findings that are good to know only.
    colour
        Whether the answer is bold and cautions are yellow.
    """
    lines = [(line, BOLD) for sentence in result.answer.splitlines() for line in _wrapped(sentence, width)]
    for grid in result.brief():
        lines += _plain(["", *table_lines(grid, tables or width)])
    extra = result.on_request() if asked else {}
    for block in (block for name in asked for block in extra.get(name, ())):
        lines += _plain(["", *_block(block, tables or width if isinstance(block, ShownTable) else width)])
    shown = [one for one in result.shown if one.code not in result.told]
    shown = [one for one in shown if notes or details or one.severity != "note"]
    below = _plain(_wrapped(result.counted, width, "  "))
    columns = _wrapped(result.columns, width, "  ")
    options = _wrapped(f"More: {more}" if more else "", width, "  ")
    room = None
    if result.most_lines is not None and not (details or asked):
        room = result.most_lines - len(lines) - len(below) - len(columns) - len(options) - 1
        columns = _first(columns, len(columns) + min(room - (1 if shown else 0), 0), width)
        room = max(room, 1)
    below += [*_findings(shown, width, room), *_plain([*columns, *options])]
    lines += [("", ""), *below] if below else []
    for section in result.sections() if details else ():
        inside = [line for block in section.blocks for line in _block(block, tables or width)]
        if inside:
            lines += [("", ""), (section.title, BOLD), *_plain(["-" * min(len(section.title), width), *inside])]
    return "\n".join(
        f"\x1b[{style}m{visible(line)}\x1b[0m" if style and colour else visible(line) for line, style in lines
    )


def _first(lines: list[str], most: int, width: int) -> list[str]:
    """Return as many lines as there is room for, two at least; the last one says that there are more."""
    most = max(most, 2)
    return lines if len(lines) <= most else [*lines[: most - 1], _cut(f"{lines[most - 1]} ……", width - 1)]


def _plain(lines: Iterable[str]) -> list[tuple[str, str]]:
    return [(line, "") for line in lines]


def _findings(findings: Sequence[Finding], width: int, most: int | None) -> list[tuple[str, str]]:
    """Return a line or more for each finding; those that may change the answer begin with an exclamation mark.

    Where there is room for ``most`` lines only, the least severe are counted instead.
    """
    lines: list[tuple[str, str]] = []
    for shown, finding in enumerate(findings):
        note = finding.severity == "note"
        its = _wrapped(finding.text, width, "    " if note else "  ! ", "    ")
        if most is not None and len(lines) + len(its) > most - (shown < len(findings) - 1):
            rest = findings[shown:]
            mark = "! " if any(one.severity != "note" for one in rest) else "  "
            what = "caution or note" if len(rest) == 1 else "cautions and notes"
            return [*lines, (f"  {mark}{len(rest)} more {what}: --details", YELLOW if mark == "! " else "")]
        lines += [(line, "" if note else YELLOW) for line in its]
    return lines


def table_lines(grid: ShownTable, width: int = WIDTH) -> list[str]:
    """Return a table in columns; where it is too wide, long texts are cut, then columns on the right are left out."""
    columns = columns_of(grid)
    n = len(columns[0].texts) if columns else 0
    shown = min(n, MOST_ROWS)
    cells = [_cells(column, shown, grid) for column in columns]
    sizes = [max(map(_size, texts), default=0) for texts in cells]
    for place in sorted((k for k, column in enumerate(columns) if not column.numeric), key=lambda k: -sizes[k]):
        over = 2 + sum(sizes) + 2 * (len(sizes) - 1) - width
        sizes[place] -= max(0, min(over, sizes[place] - LEAST))
    fitting, used = list[list[str]](), 2
    for column, texts, size in zip(columns, cells, sizes, strict=True):
        if fitting and used + size > width:
            break
        fitting.append([_set(_cut(text, size), size, column.numeric) for text in texts])
        used += size + 2
    lines = _wrapped(grid.caption, min(width, WIDTH), "  ")
    rows = list(zip(*fitting, strict=True))
    rows = rows[1:] if not any(column.title for column in columns) else rows
    lines += [("  " + "  ".join(row)).rstrip() for row in rows]
    hidden = [column.title for column in columns[len(fitting) :]]
    if hidden:
        lines += _wrapped(f"more columns: {', '.join(hidden)}", width, "  ")
    return lines + ([f"  and {n - shown:,} more rows"] if n > shown else [])


def _cut(text: str, size: int) -> str:
    """Return as much of a text as has room."""
    if _size(text) <= size:
        return text
    while _size(text) > size - 1:
        text = text[:-1]
    return f"{text.rstrip()}…"


def _cells(column: ShownColumn, shown: int, grid: ShownTable) -> list[str]:
    texts = [column.title]
    for row, value in enumerate(column.texts[:shown]):
        mark = grid.raised.get((row, column.name), "")
        texts.append(f"{value} {mark}".rstrip() if mark else value)
    return [_cut(_one_line(text), WIDEST) for text in texts]


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
    kept = TOGETHER.sub(lambda found: found[0].replace(" ", NO_BREAK), text)
    lines = textwrap.wrap(kept, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
    return [line.replace(NO_BREAK, " ") for line in lines]


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
