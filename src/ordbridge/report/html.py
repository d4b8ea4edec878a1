"""One self-contained HTML page: the answer, a picture, the table behind it; checks, methods; the rest is folded.

Everything is inside the file: no script, no font, no picture from elsewhere. All text is escaped. One small script
makes tables sortable and copyable, by mouse or keyboard; without it, and on paper, they are plain tables.
"""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache, partial
from importlib import resources
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.escaping import for_html
from ordbridge.figures.style import narrowed
from ordbridge.formats import as_text
from ordbridge.writing import write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Page", "cell", "digits_by_intervals", "without_empty_columns"]

SHORT, LONG = 24, 40  # letters of text in a column that is not wrapped, and of one that needs much room
MANY_COLUMNS = 8  # from here on print is smaller
LONG_HEADLINE = 120  # characters, from which on only the first sentence is one
SENTENCE = re.compile(r"(?<=[.!?]) (?=[A-Z0-9])")
UNIT = re.compile(r"(\d) (points|items|ratings)")
TOGETHER = (
    (re.compile(r"(\d) ?%"), "\\1\u00a0%"),
    (re.compile(r"(?<!\w)([^\W\d_]) ([=<>≤≥]) (?=[−-]?[\d.])"), "\\1\u00a0\\2\u00a0"),
)
"""What no line break may separate: a number and its per cent, a letter and what it equals."""
NAMES = {"conf_low": "from", "conf_high": "to", "p_value": "p", "n_failed": "failed", "n_ok": "fitted"}
OF_INTERVALS = ("estimate", "difference", "std_error", "power", "mean", "severity", "favours", "conf_low", "conf_high")


class Page:
    """A page: the answer as its headline, what shows it, and below what is folded until somebody asks for it.

    Every method adds something and returns the page.

    Examples
    --------
    >>> page = Page("Ratings").answer("A is rated higher").table(pa.table({"rater": ["a"], "kappa": [0.5]}))
    >>> "<h1>A is rated higher</h1>" in page.sentence("κ < γ").html() and "κ &lt; γ" in page.html()
    True
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self._headline = ""
        self._parts: list[str] = []
        self._folded: list[str] = []
        self._n_pictures = 0
        self._n_tables = 0

    def answer(self, headline: str, more: Iterable[str] = ()) -> Page:
        """Set the headline: one sentence, which stands above everything; what follows it and ``more`` stand below."""
        first, *rest = SENTENCE.split(headline, maxsplit=1) if len(headline) > LONG_HEADLINE else [headline]
        self._headline = UNIT.sub("\\1\u00a0\\2", first)
        more = [one for one in (*rest, *more) if one]
        return self.sentence(more[0]) if len(more) == 1 else self.sentences(more)

    @contextmanager
    def folded(self, summary: str) -> Iterator[Page]:
        """Fold what is added inside under a line that opens it, at the end of the page; nothing if nothing is added."""
        before, self._parts = self._parts, []
        try:
            yield self
        finally:
            inside, self._parts = self._parts, before
            if inside:
                body = "\n".join(inside)
                self._folded.append(f"<details><summary>{for_html(summary)}</summary>\n{body}\n</details>")

    def heading(self, text: str, level: int = 2) -> Page:
        """Add a heading of level 2 or 3."""
        return self._add(f"<h{level}>{for_html(text)}</h{level}>")

    def sentence(self, text: str) -> Page:
        """Add a paragraph; nothing if there is no text."""
        return self._add(f"<p>{_prose(text)}</p>") if text else self

    def warning(self, text: str) -> Page:
        """Add a paragraph that stands out."""
        return self._add(f'<p class="warning">{_prose(text)}</p>')

    def sentences(self, texts: Iterable[str]) -> Page:
        """Add a list with one sentence per entry; nothing if there is none."""
        texts = list(texts)
        return self._add("<ul>" + "".join(f"<li>{_prose(text)}</li>" for text in texts) + "</ul>") if texts else self

    def table(self, table: pa.Table, caption: str = "", names: Mapping[str, str] | None = None) -> Page:
        """Add a table; columns without any value are left out, ``names`` renames columns for reading.

        Estimates have as many digits as their intervals allow.
        """
        table = without_empty_columns(table)
        if not table.num_columns:
            return self
        classes = {name: _class_of(table[name]) for name in table.column_names}
        shown = NAMES | dict(names or {})
        titles = {name: for_html(shown.get(name, _readable(name)).strip()) for name in classes}
        head = "".join(f'<th scope="col"{classes[name]}>{titles[name]}</th>' for name in classes)
        written = _digits_alike(table) | digits_by_intervals(table)
        body = "".join(
            "<tr>"
            + "".join(
                f"<td{classes[name]}{_raw(row[name])}>{for_html(written.get(name, cell)(row[name], name))}</td>"
                for name in classes
            )
            + "</tr>"
            for row in table.to_pylist()
        )
        title = f"<caption>{for_html(caption)}</caption>" if caption else ""
        self._n_tables += 1
        label = for_html(f"Table {self._n_tables}{f': {caption}' if caption else ''}")
        many = ' class="many"' if table.num_columns > MANY_COLUMNS else ""
        # A region that can be focused can be scrolled by keyboard.
        return self._add(
            f'<div class="scroll" tabindex="0" role="region" aria-label="{label}"><table{many}>{title}'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        )

    def picture(self, figure: Figure, caption: str) -> Page:
        """Add a matplotlib figure as inline SVG; the caption is also its text for those who cannot see it.

        A figure in the style of :mod:`ordbridge.figures` is drawn once more for phones, with its panels below each
        other; any other one can be scrolled there.
        """
        self._n_pictures += 1
        svg = _inline_svg(figure, prefix=f"picture{self._n_pictures}-", label=caption)
        with narrowed(figure) as small:
            phone = "" if small is None else _inline_svg(small, prefix=f"phone{self._n_pictures}-", label=caption)
        if phone:
            drawn = f'<div class="screen">{svg}</div><div class="phone">{phone}</div>'
        else:
            width = round(96 * figure.get_figwidth())
            region = f'class="scroll" tabindex="0" role="group" aria-label="Picture {self._n_pictures}"'
            drawn = f'<div {region} style="--width: {width}px">{svg}</div>'
        return self._add(f"<figure>{drawn}<figcaption>{for_html(caption)}</figcaption></figure>")

    def verbatim(self, text: str) -> Page:
        """Add text to be copied as it is: a command, LaTeX, a formula."""
        return self._add(f'<pre tabindex="0">{for_html(text)}</pre>')

    def to_fill_in(self, question: str) -> Page:
        """Add a question with empty lines for an answer by hand."""
        return self._add(f'<p>{for_html(question)}</p><span class="line"></span><span class="line"></span>')

    def html(self) -> str:
        """Return the whole page."""
        from ordbridge import __version__

        kicker = f'<p class="kicker">{for_html(self.title)}</p>' if self._headline else ""
        more = ["<h2>More</h2>", *self._folded] if self._folded else []
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<meta name="color-scheme" content="light dark">'
            f"<title>{for_html(self.title)}</title><style>{_file('page.css')}</style></head>\n"
            f"<body><main>{kicker}<h1>{_prose(self._headline or self.title)}</h1>\n"
            + "\n".join([*self._parts, *more])
            + f"\n</main><footer>ordbridge {for_html(__version__)}</footer>"
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


def _digits_alike(table: pa.Table) -> dict[str, Callable[[Any, str], str]]:
    """Return how columns of short numbers are written, such as effects of 0, 0.3 and 0.62: alike, and in full."""
    found: dict[str, Callable[[Any, str], str]] = {}
    for field in table.schema:
        if pa.types.is_floating(field.type) and field.name not in ("p_value", "adjusted"):
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


def _prose(text: str) -> str:
    """Return a sentence for a page, escaped, with numbers and their units on one line."""
    for pattern, kept in TOGETHER:
        text = pattern.sub(kept, text)
    return for_html(text)


@lru_cache
def _file(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8")


def _raw(value: Any) -> str:
    """Return a number in full for sorting; what is shown is rounded."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and value == value
    return f' data-v="{value!r}"' if number else ""


def _class_of(column: pa.ChunkedArray) -> str:
    """Return how a column is set: numbers to the right, short text in one line, long text with room."""
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return ' class="n"'
    if not pa.types.is_string(column.type) and not pa.types.is_list(column.type):
        return ""
    longest = max((len(as_text(value)) for value in column.to_pylist() if value), default=0)
    return ' class="w"' if longest > LONG else ' class="m"' if longest > SHORT else ' class="t"'


def _inline_svg(figure: Figure, prefix: str, label: str) -> str:
    """Return the figure as an SVG element whose identifiers clash with no other picture of the page."""
    import matplotlib

    text = StringIO()
    # The same figure gives the same file. Text stays text: it can be read aloud and searched, and the browser has the
    # letters that matplotlib's font lacks.
    with matplotlib.rc_context({"svg.hashsalt": prefix, "svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        figure.savefig(text, format="svg", transparent=True)
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{prefix}', svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\g<1>{prefix}", svg)
    return svg.replace("<svg", f'<svg role="img" aria-label="{for_html(label)}"', 1).strip()
