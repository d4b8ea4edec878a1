"""What comparisons of systems have in common, whether people rated texts or chose between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from ordbridge.results.result import Result
from ordbridge.support.formatting import columns_taken


class SystemsCompared(Result):
    """A ranking and differences of pairs, for one criterion or several."""

    ranking: pa.Table
    pairs: pa.Table
    recognised: Mapping[str, str]

    @property
    def systems(self) -> list[str]:
        """The systems, the best of the first criterion first."""
        return list(dict.fromkeys(self.ranking["system"].to_pylist()))

    @property
    def criteria(self) -> tuple[str | None, ...]:
        """The criteria that were analysed; a single ``None`` if there is no such column."""
        return tuple(dict.fromkeys(self.ranking["criterion"].to_pylist()))

    @property
    def alpha(self) -> float:
        """The level below which a corrected p-value counts as a difference."""
        return round(1.0 - float(self.settings["conf_level"]), 12)

    @property
    def columns(self) -> str:  # type: ignore[override]
        """What was taken for what."""
        return columns_taken(self.recognised)

    def rows(self, table: str, criterion: str | None) -> list[dict[str, Any]]:
        """Return the rows of one of the tables that are about one criterion."""
        return [row for row in getattr(self, table).to_pylist() if row["criterion"] == criterion]


def without_criterion(table: pa.Table) -> pa.Table:
    """Return a table without the column of the criterion where there is none."""
    if "criterion" not in table.column_names:
        return table
    return table.drop_columns(["criterion"]) if set(table["criterion"].to_pylist()) == {None} else table
