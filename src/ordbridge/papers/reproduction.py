"""What a reproduction of a paper consists of."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from ordbridge.deprecated import renamed
from ordbridge.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["HOLDS", "NOT_AT_HAND", "Claim", "Part", "Reproduction", "as_printed", "claims_table"]

HOLDS, CORRECTED, FAILS, UNDECIDED = "holds", "corrected", "does not hold", "undecided"
NOT_AT_HAND = "not available"
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
    claims, left_open
        What the paper says, one row per claim: its number, ours, a verdict and the reason. The same for questions
        that the paper leaves open.
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
    left_open: pa.Table = field(default_factory=lambda: claims_table([]))

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The tables by name, the claims among them."""
        found = {part.name: part.content for part in self.parts if isinstance(part.content, pa.Table)}
        verdicts = {"claims": self.claims, "left_open": self.left_open}
        return {name: table for name, table in verdicts.items() if table.num_rows} | found

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
        open_ = f" {self.left_open.num_rows} questions that it leaves open are judged apart."
        return f"Of {self.claims.num_rows} claims of the paper: {words}." + (open_ if self.left_open.num_rows else "")

    def plot(self) -> Figure:
        """Return the figure that the report begins with."""
        if not self.figures:
            raise InputError("there is nothing to draw: this reproduction has no picture")
        return next(iter(self.figures.values()))

    def write(self, folder: str | os.PathLike[str], repeat: str = "") -> list[Path]:
        """Do what :func:`ordbridge.report.write_folder` does, which is the new name."""
        written: list[Path] = renamed("Reproduction.write", "ordbridge.report.write_folder")(self, folder, repeat)
        return written


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
