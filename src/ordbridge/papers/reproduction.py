"""What a reproduction of a paper consists of."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa

from ordbridge import __version__
from ordbridge.errors import InputError
from ordbridge.reading import tables
from ordbridge.render.layout import Bullets, Figures, Section, ShownPicture, ShownTable
from ordbridge.results import Finding, Result, citations
from ordbridge.support.writing import whole_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HOLDS, CORRECTED, FAILS, UNDECIDED = "holds", "corrected", "does not hold", "undecided"
NOT_AT_HAND = "not available"
_COUNTED = {HOLDS: "hold", CORRECTED: "come out corrected", FAILS: "do not hold", UNDECIDED: "stay undecided"}
COLOURS = {HOLDS: "good", CORRECTED: "edge", FAILS: "bad", UNDECIDED: "none", NOT_AT_HAND: "none"}
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


@dataclass(frozen=True, repr=False)
class Reproduction(Result):
    """What came out: the paper's claims with a verdict each, tables and figures.

    Attributes
    ----------
    title, reference
        What was reproduced, and the paper.
    sentences
        What came out in a few sentences.
    claims, left_open
        What the paper says, one row per claim: its number, ours, a verdict and the reason. The same for questions
        that the paper leaves open.
    parts
        Tables and figures in the order of the report.
    findings
        What must not be overlooked.
    versions
        Of R and the packages that fitted, by name (``"R"``, ``"ordinal"``, ``"lmerTest"``); empty where R was not used.

    Examples
    --------
    >>> part = Part("counts", "Counts", pa.table({"n": [1]}))
    >>> Reproduction("A title", "A paper", (), claims_table([]), (part,)).tables["counts"].num_rows
    1
    """

    kind: ClassVar[str] = "reproduction"
    title: str = field()
    reference: str
    sentences: tuple[str, ...]
    claims: pa.Table
    parts: tuple[Part, ...]
    findings: tuple[Finding, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    left_open: pa.Table = field(default_factory=lambda: claims_table([]))

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The tables by name, the claims among them."""
        found = {part.name: part.content for part in self.parts if isinstance(part.content, pa.Table)}
        verdicts = {"claims": self.claims, "left_open": self.left_open}
        return {name: table for name, table in verdicts.items() if table.num_rows} | found

    @property
    def answer(self) -> str:  # type: ignore[override]
        """How many claims have which verdict."""
        counts = Counter(self.claims["verdict"].to_pylist())
        if not counts:
            return "No claim of the paper was judged; the tables have what was computed."
        words = ", ".join(f"{number} {_COUNTED.get(verdict, verdict)}" for verdict, number in counts.most_common())
        open_ = f"\n{self.left_open.num_rows} questions that it leaves open are judged apart."
        return f"Of {self.claims.num_rows} claims of the paper: {words}." + (open_ if self.left_open.num_rows else "")

    @property
    def counted(self) -> str:  # type: ignore[override]
        """Which paper it is."""
        return self.reference

    def main(self) -> Sequence[ShownTable]:
        """Return the claims, and what the paper leaves open."""
        shown = ((self.claims, "What the paper says, and what we find"), (self.left_open, "What the paper leaves open"))
        first = ["verdict", "claim", "paper", "ours", "where", "reason"]
        return [
            ShownTable(table.select(first), caption, verdict_column="verdict", verdicts=COLOURS)
            for table, caption in shown
            if table.num_rows
        ]

    def paper_tables(self) -> Sequence[ShownTable]:
        """Return the claims, or the first table."""
        return self.main()[:1] or [ShownTable(table) for table in list(self.tables.values())[:1]]

    def sections(self) -> Sequence[Section]:
        """Return the first picture with what came out, what could not be judged, and folded all parts."""
        first = next((part for part in self.parts if part.name in self.figures()), None)
        picture = [] if first is None else [ShownPicture(first.name, first.caption)]
        open_ = [row for row in self.claims.to_pylist() if row["verdict"] in (UNDECIDED, NOT_AT_HAND)]
        judged = f"{len(open_)} of {self.claims.num_rows} claims could not be judged."
        why = tuple(f"{row['claim']}: {row['reason'] or row['verdict']}" for row in open_)
        sections = [Section("What came out", (*picture, Bullets(self.sentences))),
                    Section("Not judged", (judged, Bullets(why)) if open_ else (judged,))]  # fmt: skip
        for part in self.parts:
            shown = (
                ShownTable(part.content)
                if isinstance(part.content, pa.Table)
                else ShownPicture(part.name, part.caption)
            )
            blocks = (*part.text, *([] if part is first else [shown]))
            if blocks:
                sections.append(Section(part.caption, blocks, folded=True))
        return sections

    def figures(self) -> Figures:
        """Return the figures by name."""
        drawn = {part.name: part.content for part in self.parts if not isinstance(part.content, pa.Table)}
        return Figures({name: partial(drawn.__getitem__, name) for name in drawn})

    def methods(self) -> str:
        """Return the methods paragraph."""
        by = citations.software(self.versions, "r") if self.versions else f"ordbridge {__version__}"
        return f"We computed again, with {by}, what is claimed in {self.reference.rstrip('.')}."

    def references(self) -> list[str]:
        """Return the paper, and the software."""
        return [self.reference, f"ordbridge {__version__}.", *citations.of_software(self.versions)]

    def write(self, folder: str | os.PathLike[str], repeat: str = "") -> list[Path]:
        """Write tables as Parquet and CSV, figures as PNG, and ``report.html``; return the files.

        Parameters
        ----------
        folder
            Where to; it is made if it is not there.
        repeat
            The command that made the result, for the report.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> counts = Part("counts", "Counts", pa.table({"n": [1]}))
        >>> with TemporaryDirectory() as folder:
        ...     written = Reproduction("A title", "A paper", (), claims_table([]), (counts,)).write(folder)
        >>> [path.name for path in written]
        ['counts.parquet', 'counts.csv', 'report.html']
        """
        folder = Path(folder)
        if folder.exists() and not folder.is_dir():
            raise InputError(f"cannot write to {folder}: it is a file; name a folder")
        folder.mkdir(parents=True, exist_ok=True)
        written = []
        for name, table in self.tables.items():
            written += [tables.write(table, folder / f"{name}{ending}") for ending in (".parquet", ".csv")]
        for name, picture in self.figures().items():
            with whole_file(folder / f"{name}.png") as file:
                picture.savefig(file, dpi=150)
            written.append(folder / f"{name}.png")
        return [*written, self.report(folder / "report.html", repeat)]


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
