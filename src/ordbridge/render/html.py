"""One self-contained HTML page: the answer, a picture, the table behind it; checks, methods; the rest is folded.

Everything is inside the file: no script, no font, no picture from elsewhere. All text is escaped. One small script
makes tables sortable and copyable, by mouse or keyboard, and saves pictures; without it, and on paper, they are plain.
"""

from __future__ import annotations

import os
import re
import warnings
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from importlib import resources
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.render import latex
from ordbridge.render.cells import ShownColumn, columns_of
from ordbridge.render.layout import Block, Bullets, OpenQuestion, ShownPicture, ShownTable, Verbatim
from ordbridge.support.escaping import for_html
from ordbridge.support.writing import write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ordbridge.results.result import Result

SHORT, LONG = 24, 40  # letters of text in a column that is not wrapped, and of one that needs much room
MANY_COLUMNS = 8  # more are shown on demand
LONGEST = 90  # letters of a headline; what stands in brackets at the end of a longer one gets a line of its own
ASIDE = re.compile(r"(.*\S) (\([^()]*\))\.?")
NUMBERS = re.compile(r"[-−+<>]? ?[\d.,]+ ?%?|–")
UNIT = re.compile(r"(\d) (points|items|ratings)")
TOGETHER = (
    (re.compile(r"(\d) %"), "\\1%"),
    (re.compile(r"(?<!\w)([^\W\d_]) ([=<>≤≥]) (?=[−-]?[\d.])"), "\\1\u00a0\\2\u00a0"),
)
"""What no line break may separate: a letter and what it equals; a number and its per cent are one word."""


class Page:
    """A page: the answer as its headline, what shows it, and below what is folded until somebody asks for it.

    Every method adds something and returns the page.

    Examples
    --------
    >>> page = Page("Ratings").answer("A is rated higher").table(pa.table({"rater": ["a"], "kappa": [0.5]}))
    >>> "<h1>A is rated higher</h1>" in page.sentence("κ < γ").html() and "κ &lt; γ" in page.html()
    True
    """

    def __init__(self, title: str, kind: str = "report") -> None:
        self.title, self.kind = title, kind
        self._headline = self._aside = ""
        self._parts: list[str] = []
        self._folded: list[str] = []
        self._n_pictures = 0
        self._n_tables = 0

    def answer(self, headline: str, more: Iterable[str] = ()) -> Page:
        """Set the headline, which stands above everything; ``more`` stands below it."""
        cut = ASIDE.fullmatch(headline) if len(headline) > LONGEST else None
        headline, self._aside = (cut[1], f"{cut[2]}.") if cut else (headline, "")
        self._headline = UNIT.sub("\\1\u00a0\\2", headline)
        more = [one for one in more if one]
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

    def counted(self, text: str) -> Page:
        """Add small print below a table: what it rests on."""
        return self._add(f'<p class="counted">{_prose(text)}</p>') if text else self

    def warning(self, text: str) -> Page:
        """Add a paragraph that stands out."""
        return self._add(f'<p class="warning">{_prose(text)}</p>')

    def sentences(self, texts: Iterable[str]) -> Page:
        """Add a list with one sentence per entry; nothing if there is none."""
        texts = list(texts)
        return self._add("<ul>" + "".join(f"<li>{_prose(text)}</li>" for text in texts) + "</ul>") if texts else self

    def table(self, grid: ShownTable | pa.Table, caption: str = "", names: Mapping[str, str] | None = None) -> Page:
        """Add a table; columns without any value are left out, ``names`` renames columns for reading.

        Estimates have as many digits as their intervals allow.
        """
        grid = grid if isinstance(grid, ShownTable) else ShownTable(grid, caption, names or {})
        columns = columns_of(grid)
        if not columns:
            return self
        classes = [_class_of(column, place) for place, column in enumerate(columns)]
        head = "".join(
            f'<th scope="col"{kind}>{for_html(column.title)}</th>'
            for column, kind in zip(columns, classes, strict=True)
        )
        body = "".join(
            ('<tr class="chosen">' if row in grid.marked else "<tr>")
            + "".join(
                f"<td{kind}{_raw(column.values[row])}>{_cell(grid, column, row)}</td>"
                for column, kind in zip(columns, classes, strict=True)
            )
            + "</tr>"
            for row in range(len(columns[0].texts))
        )
        self._n_tables += 1
        number = f"<strong>Table {self._n_tables}.</strong>"
        title = f"<caption>{number} {for_html(grid.caption)}</caption>" if grid.caption else ""
        label = for_html(f"Table {self._n_tables}{f': {grid.caption}' if grid.caption else ''}")
        many = ' class="many"' if len(columns) > MANY_COLUMNS else ""
        # A region that can be focused can be scrolled by keyboard.
        return self._add(
            f'<div class="scroll" tabindex="0" role="region" aria-label="{label}"><table{many}>{title}'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        )

    def picture(self, figure: Figure, caption: str, name: str = "figure") -> Page:
        """Add a matplotlib figure as inline SVG; the caption is also its text for those who cannot see it.

        It can be saved under ``name``: as PDF, which is in the page, and by its script as SVG and PNG.

        A figure in the style of ``ob.figures`` is drawn once more for phones, with its panels below each
        other; any other one can be scrolled there.
        """
        from ordbridge.render.figures.style import narrowed  # with which all pictures come

        self._n_pictures += 1
        svg = _inline_svg(figure, prefix=f"picture{self._n_pictures}-", label=caption)
        with narrowed(figure) as small:
            phone = "" if small is None else _inline_svg(small, prefix=f"phone{self._n_pictures}-", label=caption)
        if phone:
            drawn = f'<div class="screen">{svg}</div><div class="phone">{phone}</div>'
        else:
            width = round(96 * figure.get_figwidth())
            region = f'class="scroll" tabindex="0" role="group" aria-label="Figure {self._n_pictures}"'
            drawn = f'<div {region} style="--width: {width}px">{svg}</div>'
        number = f"<strong>Figure {self._n_pictures}.</strong> "
        pdf = f'<a download="{for_html(name)}.pdf" href="data:application/pdf;base64,{_pdf(figure)}">PDF</a>'
        return self._add(
            f'<figure data-name="{for_html(name)}">{drawn}<figcaption>{number}{for_html(caption)}</figcaption>'
            f'<p class="save">Save as {pdf}</p></figure>'
        )

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
        aside = f'<p class="aside">{_prose(self._aside)}</p>\n' if self._aside else ""
        more = ["<h2>More</h2>", *self._folded] if self._folded else []
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<meta name="color-scheme" content="light dark">'
            f"<title>{for_html(self.title)}</title><style>{_file('page.css')}</style></head>\n"
            f"<body><main>{kicker}<h1>{_prose(self._headline or self.title)}</h1>\n{aside}"
            + "\n".join([*self._parts, *more])
            + f"\n</main><footer>ordbridge {for_html(__version__)}</footer>"
            + (f"<script>{_file('page.js')}</script>" if self._n_tables or self._n_pictures else "")
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


def page(result: Result, repeat: str = "") -> Page:
    """Return any result as a page: answer, size, cautions, then details, methods, and how to repeat it.

    Parameters
    ----------
    result
        Any result.
    repeat
        The command that made it.
    """
    made, figures = Page(result.title, result.kind), result.figures()
    headline, *more = result.answer.splitlines()
    made.answer(headline, more)
    if (first := result.picture()) is not None:
        _add_blocks(made, [first], figures)
    for grid in result.on_page():
        made.table(grid)
    made.counted(f"{result.counted} {result.columns}".strip())
    for finding in result.shown:
        if finding.severity != "note":
            made.warning(finding.text)
    made.sentences(finding.text for finding in result.shown if finding.severity == "note")
    for section in sorted(result.sections(), key=lambda one: one.folded):  # numbers of figures follow the page
        if section.folded:
            with made.folded(section.title):
                _add_blocks(made, section.blocks, figures)
        else:
            made.heading(section.title)
            _add_blocks(made, section.blocks, figures)
    _for_the_paper(made, result)
    if repeat:
        made.heading("How to repeat it").verbatim(repeat)
    return made


def _for_the_paper(made: Page, result: Result) -> None:
    said, paragraph = result.results(), result.methods()
    if said or paragraph:
        made.heading("For the paper")
    for title, text in (("Methods", paragraph), ("Results", said)):
        if text:
            made.heading(title, 3).sentence(text)
    with made.folded("References"):
        made.sentences(result.references())
    with made.folded("References in BibTeX"):
        if entries := result.bibtex():
            made.verbatim(entries)
    with made.folded("Tables in LaTeX"):
        if grids := [latex.table(grid, grid.caption, f"tab:{result.kind}") for grid in result.paper_tables()]:
            made.verbatim("\n\n".join([latex.PACKAGES, *grids]))


def write(result: Result, path: str | os.PathLike[str], repeat: str = "") -> Path:
    """Write any result to one self-contained HTML file.

    Parameters
    ----------
    result
        Any result.
    path
        The file, ``.html``.
    repeat
        The command that made it.
    """
    return page(result, repeat).write(path)


def _add_blocks(made: Page, blocks: Iterable[Block], figures: Mapping[str, Any]) -> None:
    for block in blocks:
        if isinstance(block, ShownTable):
            made.table(block)
        elif isinstance(block, ShownPicture):
            made.picture(figures[block.name], block.caption, f"{made.kind}-{block.name}")
        elif isinstance(block, Bullets):
            made.sentences(block.sentences)
        elif isinstance(block, Verbatim):
            made.verbatim(block.text)
        elif isinstance(block, OpenQuestion):
            made.to_fill_in(block.text)
        else:
            made.sentence(block)


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


def _cell(grid: ShownTable, column: ShownColumn, row: int) -> str:
    text = column.texts[row]
    text = for_html(f"−{text[1:]}" if text.startswith("-") and column.numeric else text)
    if kind := grid.verdicts.get(column.texts[row]) if column.name == grid.verdict_column else None:
        text = f'<span class="verdict {kind}">{text}</span>'
    text = f"<b>{text}</b>" if (row, column.name) in grid.bold else text
    mark = grid.raised.get((row, column.name), "")
    return f"{text}<sup>{for_html(mark)}</sup>" if mark else text


def _class_of(column: ShownColumn, place: int) -> str:
    """Return how a column is set: numbers to the right, short text in one line, long text with room; more on demand."""
    kinds = ["more"] if place >= MANY_COLUMNS else []
    if column.numeric or all(NUMBERS.fullmatch(text) for text in column.texts):
        kinds.append("n")
    elif any(isinstance(value, (str, list)) for value in column.values):
        longest = max(map(len, column.texts), default=0)
        kinds.append("w" if longest > LONG else "m" if longest > SHORT else "t")
    return f' class="{" ".join(kinds)}"' if kinds else ""


def _pdf(figure: Figure) -> str:
    """Return a figure as PDF in base64; the same figure gives the same text."""
    import matplotlib

    file = BytesIO()
    with matplotlib.rc_context({"pdf.fonttype": 42}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        figure.savefig(file, format="pdf", metadata={"CreationDate": None, "Producer": None, "Creator": "ordbridge"})
    return b64encode(file.getvalue()).decode()


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
