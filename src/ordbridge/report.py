"""One self-contained HTML page from headings, sentences, tables and pictures.

Everything is inside the file: no script, no font, no picture from elsewhere. All text is escaped. One small script
makes tables sortable and copyable, by mouse or keyboard; without it, and on paper, they are plain tables.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from html import escape
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ordbridge.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Page", "cell", "without_empty_columns"]

_STYLE = """
:root { color: #1f2328; background: #fff; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.7rem; line-height: 1.2; } h2 { font-size: 1.25rem; margin-top: 2.2rem; } h3 { font-size: 1.05rem; }
p, li { max-width: 44rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .88rem; margin: .6rem 0 1.2rem; }
caption { text-align: left; font-weight: 600; padding-bottom: .3rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .7rem .25rem 0; border-bottom: 1px solid #d8dde2; }
th { border-bottom: 2px solid #1f2328; vertical-align: bottom; line-height: 1.25; } td.n, th.n { text-align: right; }
td.n { font-variant-numeric: tabular-nums; white-space: nowrap; } td.t { min-width: 4.5rem; } td.w { min-width: 15rem; }
summary { cursor: pointer; font-weight: 600; margin: .6rem 0; }
.warning { border-left: .3rem solid #c77700; background: #fff6e6; padding: .5rem .8rem; margin: .5rem 0; }
figure { margin: 1rem 0; } figure svg { max-width: 100%; height: auto; }
figcaption { font-size: .88rem; color: #57606a; }
.line { display: block; border-bottom: 1px solid #1f2328; height: 2rem; max-width: 44rem; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #f6f8fa; padding: .6rem .8rem; font-size: .88rem; }
th button, .copy { font: inherit; color: inherit; text-align: inherit; background: none; border: 0; padding: 0;
  cursor: pointer; }
th button::after { content: "\u00a0↕"; color: #9aa4ad; }
th[aria-sort=ascending] button::after { content: "\u00a0↑"; color: inherit; }
th[aria-sort=descending] button::after { content: "\u00a0↓"; color: inherit; }
.copy { font-size: .8rem; text-decoration: underline; }
button:focus-visible, summary:focus-visible, .scroll:focus-visible { outline: 2px solid #0550ae; }
footer { margin-top: 3rem; font-size: .8rem; color: #57606a; }
@media print { body { max-width: none; padding: 0; } .scroll { overflow: visible; } table { font-size: 8pt; }
  .copy { display: none; } th button::after { content: "" !important; }
  h2, h3, caption { break-after: avoid; } figure, tr, .warning { break-inside: avoid; } }
"""

# Buttons are made here and not in the page, so that a page without scripts has none that do nothing.
_SCRIPT = """
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  const value = (row, i) => row.cells[i].dataset.v ?? row.cells[i].textContent;
  const compare = (a, b) => {
    if (a === "–" || b === "–") return (a === "–") - (b === "–");
    const numbers = Number.isFinite(a - b);
    return numbers ? a - b : a.localeCompare(b, "en", {numeric: true});
  };
  heads.forEach((head, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    button.title = "sort";
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].sort((a, b) => {
        const order = compare(value(a, i), value(b, i));
        return down && value(a, i) !== "–" && value(b, i) !== "–" ? -order : order;
      });
      body.append(...rows);
    });
  });
  const copy = document.createElement("button");
  copy.type = "button";
  copy.className = "copy";
  copy.textContent = "copy table";
  copy.addEventListener("click", async () => {
    const lines = [heads.map(head => head.textContent)];
    for (const row of body.rows) lines.push([...row.cells].map(cell => cell.textContent));
    const text = lines.map(line => line.join("\\t")).join("\\n");
    try { await navigator.clipboard.writeText(text); }
    catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
      copy.focus();
    }
    copy.textContent = "copied";
    setTimeout(() => { copy.textContent = "copy table"; }, 1500);
  });
  table.parentElement.after(copy);
}
"""


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
        return self._add(f"<h{level}>{escape(text)}</h{level}>")

    def sentence(self, text: str) -> Page:
        """Add a paragraph; nothing if there is no text."""
        return self._add(f"<p>{escape(text)}</p>") if text else self

    def warning(self, text: str) -> Page:
        """Add a paragraph that stands out."""
        return self._add(f'<p class="warning">{escape(text)}</p>')

    def sentences(self, texts: Iterable[str]) -> Page:
        """Add a list with one sentence an entry; nothing if there is none."""
        texts = list(texts)
        return self._add("<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>") if texts else self

    def table(
        self, table: pa.Table, caption: str = "", names: Mapping[str, str] | None = None, closed: bool = False
    ) -> Page:
        """Add a table; columns without any value are left out, ``names`` renames columns for reading.

        A table that is ``closed`` shows its caption only, until it is opened.
        """
        table = without_empty_columns(table)
        classes = {name: _class_of(table[name]) for name in table.column_names}
        shown = names or {}
        head = "".join(f"<th{classes[name]}>{escape(shown.get(name, name.replace('_', ' ')))}</th>" for name in classes)
        body = "".join(
            "<tr>"
            + "".join(f"<td{classes[name]}{_raw(row[name])}>{escape(cell(row[name], name))}</td>" for name in classes)
            + "</tr>"
            for row in table.to_pylist()
        )
        title = f"<caption>{escape(caption)}</caption>" if caption and not closed else ""
        self._n_tables += 1
        # A region that can be focused can be scrolled by keyboard.
        region = (
            f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption or "table", quote=True)}">'
        )
        whole = f"{region}<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        return self._add(f"<details><summary>{escape(caption)}</summary>{whole}</details>" if closed else whole)

    def picture(self, figure: Figure, caption: str) -> Page:
        """Add a matplotlib figure as inline SVG; the caption is also its text for those who cannot see it."""
        self._n_pictures += 1
        svg = _inline_svg(figure, prefix=f"picture{self._n_pictures}-", label=caption)
        return self._add(f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>")

    def verbatim(self, text: str) -> Page:
        """Add text to be copied as it is: a command, LaTeX, a formula."""
        return self._add(f"<pre>{escape(text)}</pre>")

    def to_fill_in(self, question: str) -> Page:
        """Add a question with empty lines for an answer by hand."""
        return self._add(f'<p>{escape(question)}</p><span class="line"></span><span class="line"></span>')

    def html(self) -> str:
        """Return the whole page."""
        from ordbridge import __version__

        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{escape(self.title)}</title><style>{_STYLE}</style></head>\n"
            f"<body><h1>{escape(self.title)}</h1>\n"
            + "\n".join(self._parts)
            + f"\n<footer>ordbridge {escape(__version__)}</footer>"
            + (f"<script>{_SCRIPT}</script>" if self._n_tables else "")
            + "</body></html>\n"
        )

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the page; the file appears whole or not at all."""
        path = Path(path)
        if path.suffix.lower() not in {".html", ".htm"}:
            raise InputError(f"cannot write {path}: name a file that ends in .html")
        if not path.parent.is_dir():
            raise InputError(f"cannot write {path}: there is no folder {path.parent}")
        partial = path.with_name(f".{path.name}.{os.getpid()}.part")
        partial.write_text(self.html(), encoding="utf-8")
        os.replace(partial, path)
        return path

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
    if value is None or value != value:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, float):
        return str(value)
    if column == "p_value" and value < 0.001:
        return "< 0.001"
    if value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.3f}" if 5e-4 <= abs(value) < 1e6 else f"{value:.3g}"


def without_empty_columns(table: pa.Table) -> pa.Table:
    """Return the table without the columns that have no value in any row.

    Examples
    --------
    >>> without_empty_columns(pa.table({"rater": ["a"], "group": [None], "note": [""]})).column_names
    ['rater']
    """
    return table.select(
        [name for name in table.column_names if any(value not in (None, "") for value in table[name].to_pylist())]
    )


def _raw(value: Any) -> str:
    """Return a number in full for sorting; what is shown is rounded."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and value == value
    return f' data-v="{value!r}"' if number else ""


def _class_of(column: pa.ChunkedArray) -> str:
    """Return how a column is set: numbers to the right, text with room, long text with more."""
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return ' class="n"'
    if not pa.types.is_string(column.type):
        return ""
    return ' class="w"' if max((len(text) for text in column.to_pylist() if text), default=0) > 40 else ' class="t"'


def _inline_svg(figure: Figure, prefix: str, label: str) -> str:
    """Return the figure as an SVG element whose identifiers clash with no other picture of the page."""
    import matplotlib

    text = StringIO()
    with matplotlib.rc_context({"svg.hashsalt": prefix}):  # the same figure gives the same file
        figure.savefig(text, format="svg")
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{prefix}', svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\g<1>{prefix}", svg)
    return svg.replace("<svg", f'<svg role="img" aria-label="{escape(label, quote=True)}"', 1).strip()
