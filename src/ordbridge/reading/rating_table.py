"""What reading gives: one row per rating, and what was taken for what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa

from ordbridge.render.layout import ShownTable
from ordbridge.results.finding import Finding, worst_first
from ordbridge.results.result import Result

__all__ = ["ROLES", "RatingTable"]

ROLES = ("participant", "item", "system", "criterion", "rating")
FIRST = 5  # rows that are shown


@dataclass(frozen=True, eq=False, repr=False)
class RatingTable(Result):
    """Ratings in the long form, and how they were read.

    Every function of the package that takes a table takes it.

    Attributes
    ----------
    table
        One row per rating: ``participant, item, system, criterion, rating``, those of them that there are, then the
        other columns of the file. Participants, items, systems and criteria are text. Ratings are numbers, or an
        ordered dictionary where they are words.
    recognised
        What each role was taken from, in words: ``{"participant": "column 'WorkerId'", …}``.
    taken_from
        The columns that each role was taken from, if it was any: ``{"participant": ("WorkerId",), …}``.
    notes
        How it was read: encoding, separator, missing ratings, what was concluded from content.
    levels
        The labels of the scale from low to high where ratings are words, else ``None``.
    rows
        Where each rating stands in the file: its row as a spreadsheet counts, the header being row 1; for a table in
        memory the first row is 1.
    source
        The name of the file, or "the table".
    ends
        The lowest and the highest rating that the scale has, if they were given.
    lower_is_better
        The criteria of which a low rating is the better one, such as errors; ``""`` where there is no criterion.
    evidence
        What names and contents of columns say about each role; ``ordbridge read --explain`` shows it.
    flaws
        What was wrong in the file and can no longer be seen in the table; :func:`ordbridge.check` says it.
    """

    table: pa.Table
    recognised: Mapping[str, str]
    notes: tuple[Finding, ...]
    levels: tuple[str, ...] | None
    rows: np.ndarray = field(repr=False)
    source: str = "the table"
    flaws: tuple[Finding, ...] = field(default=(), repr=False)
    ends: tuple[float, float] | None = None
    lower_is_better: tuple[str, ...] = ()
    evidence: tuple[Finding, ...] = field(default=(), repr=False)
    taken_from: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)

    kind: ClassVar[str] = "ratings"

    def column(self, role: str) -> str | None:
        """Return the name of the column that a role was taken from, or ``None`` where it was none or several."""
        names = self.taken_from.get(role, ())
        return names[0] if len(names) == 1 else None

    def __repr__(self) -> str:
        """Say in one line what was read."""
        return f"<{self.answer.removesuffix('.')}>"

    @property
    def answer(self) -> str:  # type: ignore[override]
        """How many ratings were read, and from what."""
        n = self.table.num_rows
        return f"Read {n:,} rating{'' if n == 1 else 's'} from {self.source}."

    @property
    def counted(self) -> str:  # type: ignore[override]
        """What was taken for what."""
        return f"Columns: {'; '.join(f'{role}: {source}' for role, source in self.recognised.items())}."

    @property
    def findings(self) -> tuple[Finding, ...]:  # type: ignore[override]
        """How the file was read, and what was wrong in it."""
        return worst_first((*self.flaws, *self.notes))

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The ratings."""
        return {"ratings": self.table}

    def main(self) -> Sequence[ShownTable]:
        """Return the first ratings."""
        return [ShownTable(self.table.select(list(self.recognised)).slice(0, FIRST), "The first ratings")]
