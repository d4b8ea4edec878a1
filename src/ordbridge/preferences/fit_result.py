"""What ``ob.prefer`` returns: strengths, thresholds, variances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from scipy import stats

from ordbridge.models.fit import Fit
from ordbridge.preferences.table import PairTable, used_categories
from ordbridge.render.layout import ShownTable
from ordbridge.results.finding import Finding, worst_first
from ordbridge.results.result import Result
from ordbridge.support.formatting import listed

__all__ = ["PreferenceFit", "made", "model_name"]

NAMES = {2: "Bradley–Terry model", 3: "Rao–Kupper model"}


@dataclass(frozen=True, eq=False, repr=False)
class PreferenceFit(Result):
    """A fitted model of comparisons.

    Attributes
    ----------
    systems
        system, estimate (log odds against the reference), std_error, statistic, p_value; the reference is 0.
    terms
        term, estimate, std_error: thresholds (half the width of the tie, …) and the position effect.
    variances
        grouping, std_dev: of the preferences of raters and items; with slopes one row per system.
    loglik
        The log likelihood.
    fit
        The :class:`ordbridge.Fit` behind it; ``None`` with tied variances.
    """

    kind: ClassVar[str] = "preference fit"
    systems: pa.Table
    terms: pa.Table
    variances: pa.Table
    loglik: float
    n: int
    converged: bool
    settings: dict[str, Any]
    findings: tuple[Finding, ...] = ()
    covariance: np.ndarray | None = None
    fit: Fit | None = None

    def __repr__(self) -> str:
        """Say in one line what was fitted."""
        return f"<{self.settings['model']} of {self.systems.num_rows} systems, {self.n} comparisons>"

    @property
    def title(self) -> str:  # type: ignore[override]
        """What the report is called."""
        return f"{self.settings['model']} of {self.systems.num_rows} systems"

    @property
    def answer(self) -> str:  # type: ignore[override]
        """Which system is preferred most."""
        best, other, *_ = sorted(self.systems.to_pylist(), key=lambda row: -row["estimate"])
        ahead = best["estimate"] - other["estimate"]
        return f"{best['system']} is preferred most: log odds {ahead:.2f} above {other['system']}."

    @property
    def counted(self) -> str:  # type: ignore[override]
        """What it rests on."""
        s = self.settings
        who = "R, ordinal" if s["engine"] == "r" else "native engine"
        n = f"{self.n:,} comparisons" + (f" and {s['ratings']:,} ratings" if "ratings" in s else "")
        return f"{n}; {s['model']}, {s['link']} link ({who}); log likelihood {self.loglik:.3f}."

    @property
    def coef(self) -> dict[str, float]:
        """Log odds of all systems against the reference."""
        return dict(zip(self.systems["system"].to_pylist(), self.systems["estimate"].to_pylist(), strict=True))

    @property
    def tables(self) -> dict[str, pa.Table]:
        """All tables by name."""
        return {"systems": self.systems, "terms": self.terms, "variances": self.variances}

    def main(self) -> Sequence[ShownTable]:
        """Return the systems, the other terms, and the variances."""
        return [ShownTable(table) for table in self.tables.values() if table.num_rows]

    def methods(self) -> str:
        """Return the paragraph for the methods section."""
        random = self.variances["grouping"].to_pylist()
        said = f", with random preferences of each {listed(list(dict.fromkeys(random)))}" if random else ""
        both = "Comparisons and ratings" if "ratings" in self.settings else "Comparisons"
        return f"{both} were analysed with a {self.settings['model']} ({self.settings['link']} link{said})."

    def references(self) -> list[str]:
        """Return the references that the paragraph needs."""
        return [] if self.fit is None else self.fit.references()


def model_name(table: PairTable, link: str) -> str:
    """Return what the model is called in the literature."""
    count = used_categories(table.y, table.categories)[1]
    if link == "probit":
        return "Thurstone–Mosteller model" if count == 2 else "graded Thurstone model"
    return NAMES.get(count, "graded Bradley–Terry model")


def made(
    table: PairTable,
    reference: str | None,
    strengths: np.ndarray,
    V: np.ndarray,
    terms: list[dict[str, Any]],
    variances: list[dict[str, Any]],
    loglik: float,
    converged: bool,
    said: tuple[Finding, ...],
    settings: dict[str, Any],
    fit: Fit | None,
    df: int | None = None,
) -> PreferenceFit:
    """Return the result, with strengths against the reference; ``V`` is their covariance, ``df`` those of its tests."""
    zero = 0 if reference is None else table.systems.index(reference)
    order = [zero, *(k for k in range(len(table.systems)) if k != zero)]
    rows = []
    for k in order:
        estimate = float(strengths[k] - strengths[zero])
        variance = float(V[k, k] + V[zero, zero] - 2 * V[k, zero])
        error = None if k == zero else float(np.sqrt(max(variance, 0.0)))
        z = estimate / error if error else None
        p = None if z is None else float(2 * (stats.norm.sf(abs(z)) if df is None else stats.t.sf(abs(z), df)))
        rows.append(
            {"system": table.systems[k], "estimate": estimate, "std_error": error, "statistic": z, "p_value": p}
        )
    name = model_name(table, settings["link"]) + (", with ratings" if "ratings" in settings else "")
    text, number = pa.string(), pa.float64()
    fields = [("estimate", number), ("std_error", number), ("statistic", number), ("p_value", number)]
    return PreferenceFit(
        pa.Table.from_pylist(rows, pa.schema([("system", text), *fields])),
        pa.Table.from_pylist(terms, pa.schema([("term", text), *fields[:2]])),
        pa.Table.from_pylist(variances, pa.schema([("grouping", text), ("std_dev", number)])),
        float(loglik),
        table.n,
        converged,
        {"model": name, "reference": table.systems[zero], **settings},
        worst_first((*table.findings, *said)),
        V,
        fit,
    )
