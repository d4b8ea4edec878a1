"""What reading gives: one row per rating, and what was taken for what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge.data.checks import Flaw, counted
from ordbridge.notebooks import fragment

__all__ = ["ROLES", "RatingTable"]

ROLES = ("participant", "item", "system", "criterion", "rating")


@dataclass(frozen=True, eq=False)
class RatingTable:
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
    notes
        Sentences about encoding, separator, missing ratings, and how to change a guess.
    levels
        The labels of the scale from low to high where ratings are words, else ``None``.
    rows
        Where each rating stands in the file: its row as a spreadsheet counts, the header being row 1; for a table in
        memory the first row is 1.
    source
        The name of the file, or "the table".
    flaws
        What was wrong in the file and can no longer be seen in the table; :func:`ordbridge.check` says it.
    """

    table: pa.Table
    recognised: Mapping[str, str]
    notes: tuple[str, ...]
    levels: tuple[str, ...] | None
    rows: np.ndarray = field(repr=False)
    source: str = "the table"
    flaws: tuple[Flaw, ...] = field(default=(), repr=False)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Hand the long table to whatever reads Arrow."""
        return self.table.__arrow_c_stream__(requested_schema)

    def __str__(self) -> str:
        """Return the lines to show before any result."""
        return "\n".join(self.said)

    def _repr_html_(self) -> str:
        """Show what was taken for what, and the ratings, in a notebook."""
        return fragment(sentences=self.said, tables=[("", self.table)])

    @property
    def said(self) -> tuple[str, ...]:
        """What was taken for what, and the notes: the lines to show before any result."""
        taken = "; ".join(f"{role}: {source}" for role, source in self.recognised.items())
        change = "to change this give " + ", ".join(f"{role}=" for role in ROLES)
        return (f"read {counted(self.table.num_rows, 'rating')} from {self.source}", f"{taken} ({change})", *self.notes)

    def to_pandas(self) -> Any:
        """Return the long table as a pandas DataFrame."""
        return self.table.to_pandas()
