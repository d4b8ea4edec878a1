"""What a reproduction of a paper consists of, and how it is written to a folder."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from ordbridge import tables
from ordbridge.errors import InputError
from ordbridge.report import Page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["HOLDS", "NOT_AT_HAND", "Claim", "Part", "Reproduction", "as_printed", "claims_table", "figure"]

HOLDS, CORRECTED, FAILS, UNDECIDED = "holds", "corrected", "does not hold", "undecided"
NOT_AT_HAND = "not at hand"
_COUNTED = {HOLDS: "hold", CORRECTED: "come out corrected", FAILS: "do not hold", UNDECIDED: "stay undecided"}
_SCHEMA = pa.schema([(name, pa.string()) for name in ("claim", "where", "paper", "ours", "verdict", "reason")])


@dataclass(frozen=True)
class Claim:
    """Something that a paper says: what, the number as it is printed there, and where."""

    what: str
    paper: str
    where: str

    def judged(self, ours: str, verdict: str, reason: str = "") -> dict[str, str]:
        """Return a row of the table of claims."""
        return {
            "claim": self.what,
            "where": self.where,
            "paper": self.paper,
            "ours": ours,
            "verdict": verdict,
            "reason": reason,
        }


@dataclass(frozen=True)
class Part:
    """One table or figure: the name of its files, its caption, and sentences that go before it."""

    name: str
    caption: str
    content: pa.Table | Figure
    text: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reproduction:
    """What came out: sentences, the paper's claims with a verdict each, tables and figures.

    Attributes
    ----------
    title, reference
        What was reproduced, and the paper.
    summary, warnings
        What came out in a few sentences; what must not be overlooked.
    claims
        One row a claim: the paper's number, ours, a verdict and the reason.
    parts
        Tables and figures in the order of the report.
    versions
        Of R and the packages that fitted, by name (``"R"``, ``"ordinal"``, ``"lmerTest"``); empty where R was not used.

    Examples
    --------
    >>> part = Part("counts", "Counts", pa.table({"n": [1]}))
    >>> Reproduction("A title", "A paper", (), claims_table([]), (part,)).tables["counts"].num_rows
    1
    """

    title: str
    reference: str
    summary: tuple[str, ...]
    claims: pa.Table
    parts: tuple[Part, ...]
    warnings: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The tables by name, the claims among them."""
        found = {part.name: part.content for part in self.parts if isinstance(part.content, pa.Table)}
        return ({"claims": self.claims} if self.claims.num_rows else {}) | found

    @property
    def figures(self) -> dict[str, Figure]:
        """The figures by name."""
        return {part.name: part.content for part in self.parts if not isinstance(part.content, pa.Table)}

    @property
    def answer(self) -> str:
        """What came out, in a sentence: how many claims have which verdict."""
        counts = Counter(self.claims["verdict"].to_pylist())
        if not counts:
            return "No claim of the paper was judged; the tables below say what was computed."
        words = ", ".join(f"{number} {_COUNTED.get(verdict, verdict)}" for verdict, number in counts.most_common())
        return f"Of {self.claims.num_rows} claims of the paper: {words}."

    def page(self) -> Page:
        """Return question, answer, claims, tables and figures as a page; :mod:`ordbridge.pages` adds the rest."""
        page = Page(self.title)
        for warning in self.warnings:
            page.warning(warning)
        page.heading("Question").sentence("Does what this paper says come out again?").sentence(self.reference)
        page.heading("Answer").sentence(self.answer)
        if self.summary:
            page.sentences(self.summary)
        if self.claims.num_rows:
            page.heading("What the paper says, and what we find").table(self.claims)
        for part in self.parts:
            page.heading(part.caption)
            for sentence in part.text:
                page.sentence(sentence)
            if isinstance(part.content, pa.Table):
                page.table(part.content)
            else:
                page.picture(part.content, part.caption)
        open_ = [row for row in self.claims.to_pylist() if row["verdict"] in (UNDECIDED, NOT_AT_HAND)]
        page.heading("Diagnostics and failures")
        page.sentence(f"{len(open_)} of {self.claims.num_rows} claims could not be judged.")
        page.sentences(f"{row['claim']}: {row['reason'] or row['verdict']}" for row in open_)
        return page

    def write(self, folder: str | os.PathLike[str], repeat: str = "") -> list[Path]:
        """Write tables as Parquet and CSV, figures as PNG, and ``report.html``; return the files.

        Parameters
        ----------
        folder
            Where to; it is made if it is not there.
        repeat
            The command that made the result, for the report.
        """
        from ordbridge.pages import write_report

        folder = Path(folder)
        if folder.exists() and not folder.is_dir():
            raise InputError(f"cannot write to {folder}: it is a file; name a folder")
        folder.mkdir(parents=True, exist_ok=True)
        written = []
        for name, table in self.tables.items():
            written += [tables.write(table, folder / f"{name}{ending}") for ending in (".parquet", ".csv")]
        for name, picture in self.figures.items():
            picture.savefig(folder / f"{name}.png", dpi=150)
            written.append(folder / f"{name}.png")
        return [*written, write_report(self, folder / "report.html", repeat)]


def claims_table(rows: Sequence[dict[str, str]]) -> pa.Table:
    """Return rows of :meth:`Claim.judged` as a table."""
    return pa.Table.from_pylist(list(rows), schema=_SCHEMA)


def as_printed(value: float, printed: str) -> str:
    """Return ``value`` with as many decimals as the paper prints.

    Examples
    --------
    >>> as_printed(1.7985, "1.8"), as_printed(48.389, "48.39")
    ('1.8', '48.39')
    """
    number = printed.rstrip("%").strip()
    return f"{value:.{len(number.partition('.')[2])}f}"


def figure(width: float, height: float) -> Figure:
    """Return an empty figure that belongs to no window."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")
