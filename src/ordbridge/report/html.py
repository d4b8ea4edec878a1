"""One self-contained HTML page from headings, sentences, tables and pictures.

Everything is inside the file: no script, no font, no picture from elsewhere. All text is escaped. One small script
makes tables sortable and copyable, by mouse or keyboard; without it, and on paper, they are plain tables.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import resources
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.escaping import for_html
from ordbridge.formats import as_text
from ordbridge.writing import write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Page", "cell", "without_empty_columns"]


class Page:
    """A page that grows from top to bottom; every method adds something and returns the page.

    Examples
    --------
    >>> page = Page("Ratings").heading("Raters").sentence("κ < γ").table(pa.table({"rater": ["a"], "kappa": [0.5]}))
    >>> "κ &lt; γ" in page.html()
    True
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self._parts: list[str] = []
        self._n_pictures = 0
        self._n_tables = 0

    def heading(self, text: str, level: int = 2) -> Page:
        """Add a heading of level 2 or 3."""
        return self._add(f"<h{level}>{for_html(text)}</h{level}>")

    def sentence(self, text: str) -> Page:
        """Add a paragraph; nothing if there is no text."""
        return self._add(f"<p>{for_html(text)}</p>") if text else self

    def warning(self, text: str) -> Page:
        """Add a paragraph that stands out."""
        return self._add(f'<p class="warning">{for_html(text)}</p>')

    def sentences(self, texts: Iterable[str]) -> Page:
        """Add a list with one sentence per entry; nothing if there is none."""
        texts = list(texts)
        return self._add("<ul>" + "".join(f"<li>{for_html(text)}</li>" for text in texts) + "</ul>") if texts else self

    def table(
        self, table: pa.Table, caption: str = "", names: Mapping[str, str] | None = None, closed: bool = False
    ) -> Page:
        """Add a table; columns without any value are left out, ``names`` renames columns for reading.

        A table that is ``closed`` shows its caption only, until it is opened.
        """
        table = without_empty_columns(table)
        classes = {name: _class_of(table[name]) for name in table.column_names}
        shown = names or {}
        titles = {name: for_html(shown.get(name, name.replace("_", " "))) for name in classes}
        head = "".join(f'<th scope="col"{classes[name]}>{titles[name]}</th>' for name in classes)
        body = "".join(
            "<tr>"
            + "".join(f"<td{classes[name]}{_raw(row[name])}>{for_html(cell(row[name], name))}</td>" for name in classes)
            + "</tr>"
            for row in table.to_pylist()
        )
        title = f"<caption>{for_html(caption)}</caption>" if caption and not closed else ""
        self._n_tables += 1
        # A region that can be focused can be scrolled by keyboard.
        region = f'<div class="scroll" tabindex="0" role="region" aria-label="{for_html(caption or "table")}">'
        whole = f"{region}<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        return self._add(f"<details><summary>{for_html(caption)}</summary>{whole}</details>" if closed else whole)

    def picture(self, figure: Figure, caption: str) -> Page:
        """Add a matplotlib figure as inline SVG; the caption is also its text for those who cannot see it."""
        self._n_pictures += 1
        svg = _inline_svg(figure, prefix=f"picture{self._n_pictures}-", label=caption)
        return self._add(f"<figure>{svg}<figcaption>{for_html(caption)}</figcaption></figure>")

    def verbatim(self, text: str) -> Page:
        """Add text to be copied as it is: a command, LaTeX, a formula."""
        return self._add(f"<pre>{for_html(text)}</pre>")

    def to_fill_in(self, question: str) -> Page:
        """Add a question with empty lines for an answer by hand."""
        return self._add(f'<p>{for_html(question)}</p><span class="line"></span><span class="line"></span>')

    def html(self) -> str:
        """Return the whole page."""
        from ordbridge import __version__

        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{for_html(self.title)}</title><style>{_file('page.css')}</style></head>\n"
            f"<body><h1>{for_html(self.title)}</h1>\n"
            + "\n".join(self._parts)
            + f"\n<footer>ordbridge {for_html(__version__)}</footer>"
            + (f"<script>{_file('page.js')}</script>" if self._n_tables else "")
            + "</body></html>\n"
        )

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the page; the file appears whole or not at all."""
        path = Path(path)
        if path.suffix.lower() not in {".html", ".htm"}:
            raise InputError(f"cannot write {path}: name a file that ends in .html")
        return write_text(path, self.html())

    def _add(self, part: str) -> Page:
        self._parts.append(part)
        return self


def cell(value: Any, column: str = "") -> str:
    """Return a value as it stands in a table for people: three decimals, no bare NaN, no p-value of zero.

    Examples
    --------
    >>> cell(0.98765), cell(12), cell(None), cell(True), cell(0.0, "p_value")
    ('0.988', '12', '–', 'yes', '< 0.001')
    """
    if column in ("p_value", "adjusted") and value is not None and value < 0.001:
        return "< 0.001"
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


@lru_cache
def _file(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8")


def _raw(value: Any) -> str:
    """Return a number in full for sorting; what is shown is rounded."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and value == value
    return f' data-v="{value!r}"' if number else ""


def _class_of(column: pa.ChunkedArray) -> str:
    """Return how a column is set: numbers to the right, text with room, long text with more."""
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return ' class="n"'
    if not pa.types.is_string(column.type) and not pa.types.is_list(column.type):
        return ""
    longest = max((len(as_text(value)) for value in column.to_pylist() if value), default=0)
    return ' class="w"' if longest > 40 else ' class="t"'


def _inline_svg(figure: Figure, prefix: str, label: str) -> str:
    """Return the figure as an SVG element whose identifiers clash with no other picture of the page."""
    import matplotlib

    text = StringIO()
    # The same figure gives the same file. Text stays text: it can be read aloud and searched, and the browser has the
    # letters that matplotlib's font lacks.
    with matplotlib.rc_context({"svg.hashsalt": prefix, "svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        figure.savefig(text, format="svg")
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{prefix}', svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\g<1>{prefix}", svg)
    return svg.replace("<svg", f'<svg role="img" aria-label="{for_html(label)}"', 1).strip()
