"""What every analysis returns: an answer, findings, tables; and from these all that people read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.render import bibtex, html, json, latex, markdown, notebook, terminal
from ordbridge.render.layout import Block, Bullets, Figures, Section, ShownPicture, ShownTable
from ordbridge.results.finding import Finding, together

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

    from matplotlib.figure import Figure

NOTHING: dict[str, Any] = {"title": "", "answer": "", "counted": "", "columns": "", "findings": (), "settings": {}}


class Result:
    """A finished analysis. Printing it, or writing a report, computes nothing new.

    Attributes
    ----------
    kind
        ``"comparison"``, ``"fit"``, ``"plan"`` and so on.
    most_lines
        Of the terminal, None for as many as there are; cautions that do not fit are counted.
    title
        What the report is called.
    answer
        The answer in words, a line for each part of it.
    counted
        What it rests on: how many ratings, of what, by whom.
    columns
        Which column of the file was taken for what.
    findings
        What a reader should know, the worst first.
    tables
        All numbers, by name.
    settings
        What was asked.
    """

    kind: ClassVar[str] = "result"
    told: ClassVar[frozenset[str]] = frozenset()
    """Codes of findings that stand in the table of the terminal already."""
    most_lines: ClassVar[int | None] = None
    title: str
    answer: str
    counted: str
    columns: str
    findings: tuple[Finding, ...]
    settings: Mapping[str, Any]

    def __getattr__(self, name: str) -> Any:
        """Return nothing for what a kind of result does not have; defaults here would be defaults of its fields."""
        if name in NOTHING and not hasattr(type(self), name):
            return NOTHING[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def shown(self) -> tuple[Finding, ...]:
        """The findings as people read them: what is true of several criteria is said once."""
        return together(self.findings)

    @property
    def tables(self) -> dict[str, pa.Table]:
        """All tables by name."""
        return {}

    def main(self) -> Sequence[ShownTable]:
        """Return the table that stands below the answer."""
        return ()

    def brief(self) -> Sequence[ShownTable]:
        """Return the table that stands below the answer in a terminal."""
        return self.main()

    def on_request(self) -> Mapping[str, Sequence[Block]]:
        """Return what a terminal adds for those who ask, by the option of the command."""
        methods, cited = self.methods(), tuple(self.references())
        return {"explain": [*([methods] if methods else []), *([Bullets(cited)] if cited else [])]}

    def sections(self) -> Sequence[Section]:
        """Return what follows the answer and the cautions in a report."""
        return ()

    def paper_tables(self) -> Sequence[ShownTable]:
        """Return the tables of a paper."""
        return self.main()

    def figures(self) -> Figures:
        """Return the pictures by name; each is drawn when it is asked for."""
        return Figures()

    def methods(self) -> str:
        """Return the paragraph for the methods section."""
        return ""

    def references(self) -> list[str]:
        """Return the references that the paragraph needs."""
        return []

    def on_page(self) -> Sequence[ShownTable]:
        """Return the tables below the answer on a page, which has more room than a terminal."""
        return self.main()

    def picture(self) -> ShownPicture | None:
        """Return the picture that answers the question, which stands below the answer."""
        return None

    def results(self) -> str:
        """Return what was found, in words for the results section."""
        return " ".join(self.answer.splitlines())

    def bibtex(self) -> str:
        """Return the references in BibTeX."""
        return bibtex.entries(self.references())

    def plot(self) -> Figure:
        """Draw the picture that shows the answer."""
        pictures = self.figures()
        if not pictures:
            raise InputError(f"there is no picture of this {self.kind}")
        return pictures[next(iter(pictures))]

    def page(self, repeat: str = "") -> html.Page:
        """Return the report as a page; ``repeat`` is the command that made the result."""
        return html.page(self, repeat)

    def report(self, path: str | PathLike[str], repeat: str = "") -> Path:
        """Write one self-contained HTML file with the answer, cautions, tables, pictures and methods.

        Parameters
        ----------
        path
            The file, ``.html``.
        repeat
            The command that made the result.
        """
        return html.write(self, path, repeat)

    def latex(self, caption: str = "", label: str = "") -> str:
        """Return the answer, tables, cautions and methods paragraph in LaTeX, which names its packages."""
        return latex.text(self, caption, label)

    def markdown(self) -> str:
        """Return the answer, tables, cautions and methods paragraph in Markdown."""
        return markdown.text(self)

    def to_pandas(self, table: str | None = None) -> Any:
        """Return one of the tables as a pandas DataFrame.

        Parameters
        ----------
        table
            Its name in :attr:`tables`; default: the first, which has the answer.
        """
        return self._named(table).to_pandas()

    def summary(self) -> str:
        """Return what the terminal shows."""
        return str(self)

    def to_latex(self, caption: str = "", label: str = "") -> str:
        """Return what :meth:`latex` returns, under the name that pandas has."""
        return self.latex(caption, label)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Hand the first table to whatever reads Arrow: polars, DuckDB, pandas."""
        return self._named(None).__arrow_c_stream__(requested_schema)

    def _named(self, table: str | None) -> pa.Table:
        if not self.tables:
            raise InputError(f"this {self.kind} has no tables")
        if table is not None and table not in self.tables:
            raise InputError(f"there is no table {table!r}; there are {', '.join(self.tables)}")
        return self.tables[next(iter(self.tables)) if table is None else table]

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` writes."""
        return json.as_data(self)

    def __repr__(self) -> str:
        """Say in one line what was found."""
        return f"<{self.kind}: {' '.join(self.answer.splitlines())}>"

    def __str__(self) -> str:
        """Return what the terminal shows."""
        return terminal.text(self)

    def _repr_html_(self) -> str:
        """Show the result in a notebook."""
        return notebook.fragment(self)
