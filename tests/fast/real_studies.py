"""The published tables and real files on which the engines' answers were written down; the files are not ours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

MAXIMAL = "rating ~ system + (system | participant) + (system | item)"
CROSSED = "rating ~ system + (1 | participant) + (1 | item)"
CELL = "y ~ model + (model | participant) + (model | item)"


@dataclass(frozen=True)
class RealStudy:
    """A model of some rows of a file under the folder of shared tables."""

    file: str
    model: str
    formula: str
    options: dict[str, Any] = field(default_factory=dict)
    where: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What it is filed under."""
        return " ".join([self.file, self.model, self.formula, *(v for values in self.where.values() for v in values)])

    def rows(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the rows it is about."""
        for column, values in self.where.items():
            table = table[table[column].isin(values)]
        return table


def real_studies() -> Iterator[RealStudy]:
    """Yield all of them."""
    for cell in range(1, 7):
        file = f"reference/cells/cell{cell}.csv"
        yield RealStudy(file, "clmm", CELL, {"link": "probit"})
        yield RealStudy(file, "lmer", CELL, {"REML": False})
    for systems in (("B", "BR"), ("B", "BC")):
        for model in ("clmm", "lmer"):
            yield RealStudy("data/pplm.csv", model, CROSSED, where={"system": systems})
    yield RealStudy("data/pplm.csv", "clmm", CROSSED)
    yield RealStudy("data/pplm.csv", "lmer", CROSSED)
    yield RealStudy("data/pplm.csv", "clmm", MAXIMAL, where={"system": ("B", "BR")})
    yield RealStudy("data/qgstec_reeval3.csv", "clmm", CROSSED, where={"criterion": ("Relevance",)})
    yield RealStudy("data/qgstec_reeval3.csv", "lmer", MAXIMAL, where={"criterion": ("Relevance",)})
