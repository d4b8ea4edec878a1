"""What a comparison of scales holds, and its tables as Belz & Kow lay them out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ordbridge.doors import picture, write_report
from ordbridge.notebooks import fragment
from ordbridge.reliability.interpretation import stars
from ordbridge.reliability.reading import ALL_RATINGS
from ordbridge.reliability.scales import wording

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

    from matplotlib.figure import Figure

__all__ = ["SCHEMAS", "TEXT", "ScaleComparison"]

TEXT, _FLOAT, _COUNT = pa.string(), pa.float64(), pa.int64()
_CORRELATION = {"estimate": _FLOAT, "stars": TEXT, "p_value": _FLOAT}
SCHEMAS: dict[str, dict[str, pa.DataType]] = {
    "means": {"scale": TEXT, "system": TEXT, "mean": _FLOAT, "n_ratings": _COUNT},
    "reliability": {
        "scale": TEXT,
        "kendall_w": _FLOAT,
        "stars": TEXT,
        **{name: _FLOAT for name in ("conf_low", "conf_high", "statistic", "df", "p_value")},
        "over": TEXT,
        "n_ranked": _COUNT,
        "n_raters": _COUNT,
        "note": TEXT,
    },
    "interchangeability": {"scales": TEXT, "coefficient": TEXT, **_CORRELATION, "n_systems": _COUNT, "note": TEXT},
    "sensitivity": {
        "scale": TEXT,
        "significant": _COUNT,
        "of": _COUNT,
        "alpha": _FLOAT,
        "posthoc": TEXT,
        "F": _FLOAT,
        "p_value": _FLOAT,
        "note": TEXT,
    },
    "factors": {
        "scale": TEXT,
        "factor": TEXT,
        "F": _FLOAT,
        "stars": TEXT,
        "df1": _COUNT,
        "df2": _COUNT,
        "p_value": _FLOAT,
        "F_adjusted": _FLOAT,
        "df2_adjusted": _COUNT,
        "p_adjusted": _FLOAT,
        "balanced": pa.bool_(),
    },
    "differences": {
        **{name: TEXT for name in ("scale", "system_a", "system_b")},
        "difference": _FLOAT,
        "p_value": _FLOAT,
        "stars": TEXT,
    },
    "stability": {"scale": TEXT, **_CORRELATION, "conf_low": _FLOAT, "conf_high": _FLOAT, "n_ratings": _COUNT},
    "validity": {"scale": TEXT, **_CORRELATION, "n_systems": _COUNT, "note": TEXT},
}


@dataclass(frozen=True)
class ScaleComparison:
    """Scales side by side; see :func:`compare`. Every table has the criterion as its first column.

    Attributes
    ----------
    means
        One row per scale and system: its mean.
    reliability
        Kendall's W over raters of each scale, with its test; ``over`` says what was ranked.
    interchangeability
        Pearson's r and Spearman's ρ between the systems' means, for all pairs of scales.
    sensitivity
        Significant differences between systems, of all k(k − 1)/2, after the analysis of variance.
    factors
        F of one-way analyses of variance with system, rater and text type, as in the paper, and F adjusted for the
        other factors: high is wanted for the system only. They differ where the design is not balanced.
    differences
        Every pair of systems on each scale: difference of means and p-value of the post-hoc test.
    stability
        Pearson's r of the single ratings in two runs, for the scales that were used again.
    validity
        Pearson's r of the systems' means with an outside measure, where there is one.
    notes
        What was left out, and why.
    conf_level
        Level of the intervals.
    """

    means: pa.Table
    reliability: pa.Table
    interchangeability: pa.Table
    sensitivity: pa.Table
    factors: pa.Table
    differences: pa.Table
    stability: pa.Table
    validity: pa.Table
    notes: tuple[str, ...] = ()
    conf_level: float | None = 0.95

    @property
    def scales(self) -> list[str]:
        """The names of the scales."""
        return list(dict.fromkeys(self.means["scale"].to_pylist()))

    @property
    def criteria(self) -> list[str]:
        """The criteria; one that stands for all ratings where there are none."""
        return list(dict.fromkeys(self.means["criterion"].to_pylist()))

    @property
    def answer(self) -> str:
        """On which scale raters agree more, by how much, and how sure that is."""
        return wording.headline(self)

    @property
    def sentences(self) -> list[str]:
        """What else sets the scales apart."""
        return wording.sentences(self)

    def _repr_html_(self) -> str:
        """Show the answer and the scales side by side in a notebook."""
        return fragment(self.answer, self.notes, [("", self.side_by_side())], self.sentences)

    def plot(self) -> Figure:
        """Draw agreement and systems on each scale; see :func:`ordbridge.figures.scales`."""
        figure: Figure = picture("scales", self)
        return figure

    def report(self, path: str | PathLike[str], repeat: str = "") -> Path:
        """Write the report, one HTML file; see :func:`ordbridge.report.write_report`."""
        return write_report(self, path, repeat)

    def side_by_side(self) -> pa.Table:
        """Return one row per criterion and scale, with what is known about it.

        Columns: ``criterion`` (where there are several), ``scale, agreement, agreement_low, agreement_high`` (Kendall's
        W), ``told_apart`` (pairs of systems), ``F_system, F_rater``, ``stability`` and ``validity`` (Pearson's r).
        """

        def of(table: str, value: str, **where: str) -> dict[tuple[str, str], Any]:
            rows = getattr(self, table).to_pylist()
            return {(row["criterion"], row["scale"]): row[value] for row in rows
                    if all(row[name] == wanted for name, wanted in where.items())}  # fmt: skip

        counts, out_of = of("sensitivity", "significant"), of("sensitivity", "of")
        columns: dict[str, dict[tuple[str, str], Any]] = {
            "agreement": of("reliability", "kendall_w"),
            "agreement_low": of("reliability", "conf_low"),
            "agreement_high": of("reliability", "conf_high"),
            "told_apart": {key: f"{counts[key]} of {out_of[key]}" for key in counts},
            "F_system": of("factors", "F", factor="system"),
            "F_rater": of("factors", "F", factor="rater"),
            "stability": of("stability", "estimate"),
            "validity": of("validity", "estimate"),
        }
        keys = [(criterion, scale) for criterion in self.criteria for scale in self.scales]
        table = pa.table({"criterion": [key[0] for key in keys], "scale": [key[1] for key in keys]} | {
            name: pa.array([values.get(key) for key in keys], TEXT if name == "told_apart" else _FLOAT)
            for name, values in columns.items()
        })  # fmt: skip
        return _without_placeholder(table)

    def without_placeholder(self, name: str) -> pa.Table:
        """Return one of the tables without the criterion where there is none."""
        return _without_placeholder(getattr(self, name))

    def as_in_paper(self) -> dict[str, pa.Table]:
        """Return the tables of the paper, by caption: one row per criterion and scale, stars beside the numbers."""
        captions: dict[str, tuple[str, Callable[[list[dict[str, Any]]], list[dict[str, Any]]]]] = {
            "Reliability (Kendall's W)": ("reliability", _w_as_in_paper),
            "Interchangeability (correlation of the systems' means)": ("interchangeability", _r_as_in_paper),
            "Stability (Pearson's r of single ratings in two runs)": ("stability", _starred),
            "Sensitivity (significant differences between systems)": ("sensitivity", _counts_as_in_paper),
            "Effect of factors (F of one-way analyses of variance)": ("factors", _f_as_in_paper),
            "Effect of factors, adjusted for each other (F)": ("factors", _f_adjusted),
            "Validity (Pearson's r with the outside measure)": ("validity", _starred),
        }
        laid_out = {}
        for caption, (name, lay_out) in captions.items():
            rows = lay_out(getattr(self, name).to_pylist())
            if rows:
                laid_out[caption] = _without_placeholder(pa.Table.from_pylist(rows))
        return laid_out


def _without_placeholder(table: pa.Table) -> pa.Table:
    alone = set(table["criterion"].to_pylist()) <= {ALL_RATINGS}
    return table.drop_columns("criterion") if alone else table


def _w_as_in_paper(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "criterion": row["criterion"],
            "scale": row["scale"],
            "W": "–" if row["kendall_w"] is None else f"{row['kendall_w']:.3f}{row['stars']}",
            "over": f"{row['n_ranked']} {row['over']}, {row['n_raters']} raters" if row["n_ranked"] else row["note"],
        }
        for row in rows
    ]


def _r_as_in_paper(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        line = found.setdefault(
            (row["criterion"], row["scales"]), {"criterion": row["criterion"], "scales": row["scales"]}
        )
        line[row["coefficient"]] = "–" if row["estimate"] is None else f"{row['estimate']:.3f}{row['stars']}"
    return list(found.values())


def _starred(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"criterion": row["criterion"], "scale": row["scale"], "r": f"{row['estimate']:.3f}{row['stars']}"}
        for row in rows
        if row["estimate"] is not None
    ]


def _counts_as_in_paper(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "criterion": row["criterion"],
            "scale": row["scale"],
            "significant": f"{row['significant']}/{row['of']}",
            "test": row["posthoc"],
        }
        for row in rows
    ]


def _f_as_in_paper(rows: list[dict[str, Any]], name: str = "F", p: str = "p_value") -> list[dict[str, Any]]:
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        key = row["criterion"], row["scale"]
        line = found.setdefault(key, {"criterion": row["criterion"], "scale": row["scale"]})
        line[row["factor"]] = "–" if row[name] is None else f"{row[name]:.2f}{stars(row[p])}"
    return list(found.values())


def _f_adjusted(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the adjusted F where some design is not balanced; elsewhere they would say the same once more."""
    return [] if all(row["balanced"] for row in rows) else _f_as_in_paper(rows, "F_adjusted", "p_adjusted")
