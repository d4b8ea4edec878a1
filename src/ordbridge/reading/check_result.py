"""What checking gives: what is wrong with ratings, row by row, and what to do about it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from ordbridge.reading.rating_table import RatingTable
from ordbridge.results.finding import SEVERITIES, Finding, findings_table
from ordbridge.results.result import Result
from ordbridge.support.formatting import listed

__all__ = ["Checks"]


@dataclass(frozen=True, eq=False, repr=False)
class Checks(Result):
    """What is wrong with a table of ratings.

    Attributes
    ----------
    findings
        The problems, the worst first.
    ratings
        What was checked.
    """

    kind: ClassVar[str] = "checks"
    title = "What is wrong with these ratings?"
    findings: tuple[Finding, ...]
    ratings: RatingTable

    @property
    def table(self) -> pa.Table:
        """One row per problem: severity, code, subject, what, rows (the first ones), count (of rows), remedy."""
        return findings_table(self.findings)

    @property
    def errors(self) -> bool:
        """Whether something makes an analysis wrong."""
        return any(finding.severity == "error" for finding in self.findings)

    def __len__(self) -> int:
        """Return how many problems there are."""
        return len(self.findings)

    @property
    def answer(self) -> str:  # type: ignore[override]
        """How many problems there are."""
        if not self.findings:
            return "No problems found."
        n = Counter(finding.severity for finding in self.findings)
        said = [f"{n[one]} {one}{'' if n[one] == 1 else 's'}" for one in SEVERITIES if n[one]]
        return f"{listed(said)} in {self.ratings.source}."

    @property
    def counted(self) -> str:  # type: ignore[override]
        """What was read, and what was taken for what."""
        return f"{self.ratings.answer} {self.ratings.counted}"

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The problems."""
        return {"checks": self.table}
