"""The fast engine compared with R on the same datasets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ordbridge.support.columns import columns

LISTED = 0.01  # relative difference of p from which a case is shown


@dataclass(frozen=True)
class Audit:
    """How far the fast engine agrees with R.

    Attributes
    ----------
    summary
        One row per model: how many datasets were ``compared`` (both engines gave a p-value), the ``largest`` and the
        ``median`` relative difference of p, how many ``decisions_differ`` at alpha, how many cases are
        ``over_1_percent``, and how many fits ``failed_fast_only`` and ``failed_r_only``.
    cases
        Every case over 1% with both p-values and both log likelihoods, largest difference first; ``message_r`` is what
        R said of its fit, such as that it failed to converge.
    """

    summary: pa.Table
    cases: pa.Table

    @property
    def compared(self) -> int:
        """How many fits were compared."""
        return sum(self.summary["compared"].to_pylist())

    @property
    def largest(self) -> float:
        """The largest relative difference of p."""
        return max((value for value in self.summary["largest"].to_pylist() if value is not None), default=0.0)

    @property
    def differ(self) -> int:
        """How many decisions differ."""
        return sum(self.summary["decisions_differ"].to_pylist())

    def __str__(self) -> str:
        """Say it in a sentence."""
        if not self.compared:
            return "no dataset was fitted by both engines"
        higher = sum(row["loglik"] > row["loglik_r"] for row in self.cases.to_pylist())
        better = f" (the fast engine's likelihood is higher in {higher})" if self.cases.num_rows else ""
        return (
            f"{self.compared} fits compared with R: largest relative difference of p {self.largest:.2g}, "
            f"{self.cases.num_rows} over 1%{better}, {self.differ} decisions differ"
        )


def audit(fits: pa.Table, models: list[str], alpha: float) -> Audit:
    """Compare the rows of both engines."""
    keys, columns = ["cell", "replicate", "model"], ["p_value", "loglik", "message"]
    ours = fits.filter(pc.equal(fits["engine"], "fast")).select([*keys, *columns])
    theirs = fits.filter(pc.equal(fits["engine"], "r")).select([*keys, *columns])
    theirs = theirs.rename_columns([*keys, *(f"{name}_r" for name in columns)])
    both = ours.join(theirs, keys=keys, join_type="inner")
    p, p_r = (both[name].to_numpy() for name in ("p_value", "p_value_r"))
    with np.errstate(divide="ignore", invalid="ignore"):
        difference = np.where(p == p_r, 0.0, np.abs(p - p_r) / p_r)
    both = both.append_column("relative_difference", pa.array(difference, from_pandas=True))
    both = both.sort_by([("relative_difference", "descending"), ("cell", "ascending"), ("replicate", "ascending")])
    listed = both.filter(pc.greater(both["relative_difference"], LISTED))
    names = [*keys, "p_value", "p_value_r", "relative_difference", "loglik", "loglik_r", "message_r"]
    summary = [_summary(both.filter(pc.equal(both["model"], model)), model, alpha) for model in models]
    return Audit(pa.Table.from_pylist(summary, schema=SUMMARY), listed.select(names))


SUMMARY = pa.schema(
    columns(
        "model: text; compared: count; largest median: number; "
        "decisions_differ over_1_percent failed_fast_only failed_r_only: count"
    )
)


def _summary(rows: pa.Table, model: str, alpha: float) -> dict[str, object]:
    p, p_r = (rows[name].to_numpy() for name in ("p_value", "p_value_r"))
    compared = ~np.isnan(p) & ~np.isnan(p_r)
    difference = rows["relative_difference"].to_numpy()[compared]
    return {
        "model": model,
        "compared": int(compared.sum()),
        "largest": float(difference.max()) if difference.size else None,
        "median": float(np.median(difference)) if difference.size else None,
        # A failed fit decides "not significant", so a failure of one engine alone can differ too.
        "decisions_differ": int(((p < alpha) != (p_r < alpha)).sum()),
        "over_1_percent": int((difference > LISTED).sum()),
        "failed_fast_only": int((np.isnan(p) & ~np.isnan(p_r)).sum()),
        "failed_r_only": int((~np.isnan(p) & np.isnan(p_r)).sum()),
    }
