"""What checking gives: what is wrong with ratings, row by row, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

__all__ = ["SEVERITIES", "Checks", "Flaw", "checks_of", "counted", "some_rows"]

SEVERITIES = ("error", "warning", "note")
SHOWN = 3  # row numbers; the others are counted


@dataclass(frozen=True)
class Flaw:
    """One kind of problem: how bad it is, a stable short name, a sentence, the rows, and what to do."""

    severity: str
    problem: str
    what: str
    rows: Sequence[int]
    remedy: str


@dataclass(frozen=True, eq=False)
class Checks:
    """What is wrong with a table of ratings.

    Attributes
    ----------
    table
        One row per problem, the worst first: ``severity`` ("error", "warning" or "note"), ``problem`` (a short name
        that stays), ``what`` (a sentence), ``rows`` (their numbers, as text), ``count`` (how many rows), ``remedy``.
    """

    table: pa.Table

    @property
    def errors(self) -> bool:
        """Whether something makes an analysis wrong."""
        return "error" in self.table["severity"].to_pylist()

    def __len__(self) -> int:
        """Return how many problems there are."""
        return int(self.table.num_rows)

    def __str__(self) -> str:
        """Return a line for each problem."""
        return "\n".join(self.sentences) or "nothing found"

    @property
    def sentences(self) -> tuple[str, ...]:
        """Each problem in one line."""
        return tuple(_sentence(row) for row in self.table.to_pylist())

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Hand the table to whatever reads Arrow."""
        return self.table.__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> Any:
        """Return the table as a pandas DataFrame."""
        return self.table.to_pandas()


_SCHEMA = pa.schema(
    [(name, pa.string()) for name in ("severity", "problem", "what", "rows")]
    + [("count", pa.int64()), ("remedy", pa.string())]
)


def checks_of(flaws: Iterable[Flaw]) -> Checks:
    """Return what was found, the worst first."""
    found = sorted(flaws, key=lambda flaw: SEVERITIES.index(flaw.severity))
    rows = [
        {
            "severity": flaw.severity,
            "problem": flaw.problem,
            "what": flaw.what,
            "rows": some_rows(flaw.rows),
            "count": len(flaw.rows),
            "remedy": flaw.remedy,
        }
        for flaw in found
    ]
    return Checks(pa.Table.from_pylist(rows, schema=_SCHEMA))


def some_rows(rows: Sequence[int]) -> str:
    """Return the first row numbers as text.

    Examples
    --------
    >>> some_rows([3, 17, 20, 21, 22]), some_rows([3, 4, 5, 6])
    ('3, 17, 20 and 2 more', '3, 4, 5, 6')
    """
    numbers = [int(row) for row in rows]
    if len(numbers) <= SHOWN + 1:
        return ", ".join(map(str, numbers))
    return f"{', '.join(map(str, numbers[:SHOWN]))} and {len(numbers) - SHOWN} more"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "rating"), counted(3, "rating")
    ('1 rating', '3 ratings')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _sentence(row: dict[str, Any]) -> str:
    where = f" (row{'s' if row['count'] > 1 else ''} {row['rows']})" if row["count"] else ""
    return f"{row['severity']}: {row['what']}{where}. {row['remedy']}"
