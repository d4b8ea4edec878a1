"""What a comparison of scales holds, and its tables as Belz & Kow lay them out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pyarrow as pa

from ordbridge import __version__
from ordbridge.reliability.interpretation import stars
from ordbridge.reliability.reading import ALL_RATINGS
from ordbridge.render import figures
from ordbridge.render.layout import Figures, Section, ShownPicture, ShownTable
from ordbridge.results import Finding, Result, citations
from ordbridge.support.columns import columns
from ordbridge.support.formatting import interval_text, listed, r_text

NAMES = {"told_apart": "pairs told apart", "agreement": "Kendall's W", "agreement_low": "from", "agreement_high": "to"}

TEXT, _FLOAT = pa.string(), pa.float64()
SCHEMAS: dict[str, dict[str, pa.DataType]] = {
    "means": columns("scale system: text; mean: number; n_ratings: count"),
    "reliability": columns(
        "scale: text; kendall_w: number; stars: text; conf_low conf_high statistic df p_value: number; "
        "over: text; n_ranked n_raters: count"
    ),
    "interchangeability": columns(
        "scales coefficient: text; estimate: number; stars: text; p_value: number; n_systems: count"
    ),
    "sensitivity": columns("scale: text; significant of: count; alpha: number; posthoc: text; F p_value: number"),
    "factors": columns(
        "scale factor: text; F: number; stars: text; df1 df2: count; p_value F_partial: number; "
        "df2_partial: count; p_partial: number; balanced: truth"
    ),
    "differences": columns("scale system_a system_b: text; difference p_adjusted: number; stars: text"),
    "stability": columns(
        "scale: text; estimate: number; stars: text; p_value conf_low conf_high: number; n_ratings: count"
    ),
    "validity": columns("scale: text; estimate: number; stars: text; p_value: number; n_systems: count"),
}


@dataclass(frozen=True, repr=False)
class ScaleComparison(Result):
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
        F of one-way analyses of variance with system, rater and text type, as in the paper, and F beyond the
        other factors (partial): high is wanted for the system only. They differ where the design is not balanced.
    differences
        Every pair of systems on each scale: difference of means and p-value of the post-hoc test.
    stability
        Pearson's r of the single ratings in two runs, for the scales that were used again.
    validity
        Pearson's r of the systems' means with an outside measure, where there is one.
    conf_level
        Level of the intervals.
    """

    kind: ClassVar[str] = "scales"
    means: pa.Table
    reliability: pa.Table
    interchangeability: pa.Table
    sensitivity: pa.Table
    factors: pa.Table
    differences: pa.Table
    stability: pa.Table
    validity: pa.Table
    findings: tuple[Finding, ...] = ()
    conf_level: float | None = 0.95
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def scales(self) -> list[str]:
        """The names of the scales."""
        return list(dict.fromkeys(self.means["scale"].to_pylist()))

    @property
    def criteria(self) -> list[str]:
        """The criteria; one that stands for all ratings where there are none."""
        return list(dict.fromkeys(self.means["criterion"].to_pylist()))

    @property
    def title(self) -> str:  # type: ignore[override]
        """The question."""
        return f"Which rating scale: {listed(self.scales)}?"

    @property
    def answer(self) -> str:  # type: ignore[override]
        """On which scale raters agree more, by how much, and how sure that is; a line per criterion."""
        rows = self.reliability.to_pylist()
        lines = []
        for criterion in self.criteria:
            said = _agreement([row for row in rows if row["criterion"] == criterion], self.conf_level)
            lines.append(said if criterion == ALL_RATINGS else f"{criterion}: {said[0].lower()}{said[1:]}")
        return "\n".join(lines)

    @property
    def counted(self) -> str:  # type: ignore[override]
        """How many systems and ratings there are."""
        rows = self.means.to_pylist()
        each = [f"{sum(row['n_ratings'] for row in rows if row['scale'] == name):,} ratings on {name}"
                for name in self.scales]  # fmt: skip
        criteria = f", {len(self.criteria)} criteria" if len(self.criteria) > 1 else ""
        return f"{len({row['system'] for row in rows})} systems{criteria}; {listed(each)}."

    @property
    def tables(self) -> dict[str, pa.Table]:
        """All tables by name."""
        return {name: getattr(self, name) for name in SCHEMAS}

    def main(self) -> Sequence[ShownTable]:
        """Return the scales side by side."""
        return [ShownTable(self.side_by_side().drop_columns(["F_system", "F_rater"]), names=NAMES)]

    def picture(self) -> ShownPicture:
        """Return the picture of agreement and systems on each scale."""
        return ShownPicture("scales", "How far raters agree on each scale, and where the systems stand on it")

    def sections(self) -> Sequence[Section]:
        """Return the picture, the tables of Belz & Kow, and all numbers."""
        read = "Kendall's W is 1 where all raters rank everything alike. Counts of pairs vary much between experiments."
        paper = [ShownTable(table, caption) for caption, table in self.as_in_paper().items()]
        numbers = ("means", "differences", "reliability", "interchangeability", "sensitivity", "factors")
        rest = [ShownTable(_without_placeholder(getattr(self, name)), name.capitalize()) for name in numbers]
        return [
            Section("How to read it", (read,)),
            Section("The tables of Belz & Kow", (*paper, "* p < .05, ** p < .01"), folded=True),
            Section("All numbers", tuple(rest), folded=True),
        ]

    def figures(self) -> Figures:
        """Return the picture of agreement and systems on each scale."""
        return Figures({"scales": lambda: figures.scales(self)})

    def methods(self) -> str:
        """Return how the scales were compared."""
        level = "" if self.conf_level is None else f" with {100 * self.conf_level:g}% jackknife intervals"
        between = "" if self.conf_level is None else (
            " The interval of a difference combines those of both scales, taken as independent (Zou 2007)."
        )  # fmt: skip
        tests = listed(list(dict.fromkeys(self.sensitivity["posthoc"].to_pylist())))
        return (
            f"{self.counted} With ordbridge {__version__} the scales were compared by the measures of Belz & Kow "
            f"(2011). Agreement of the raters is Kendall's W{level}.{between} Pairs of systems were tested by {tests}, "
            "after a significant one-way analysis of variance."
        )

    def references(self) -> list[str]:
        """Return the references of the measures."""
        return [
            f"ordbridge {__version__}.",
            citations.WORKS["belz"],
            *citations.of_coefficients(["Kendall's W"]),
            citations.WORKS["zou"],
        ]

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
            "over": f"{row['n_ranked']} {row['over']}, {row['n_raters']} raters" if row["n_ranked"] else "–",
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
    return [] if all(row["balanced"] for row in rows) else _f_as_in_paper(rows, "F_partial", "p_partial")


def difference_of(a: dict[str, Any], b: dict[str, Any]) -> tuple[float, float, float] | None:
    """Return how far agreement on one scale is above that on another, and its interval, from their own intervals.

    It takes the ratings on both scales as independent; where the same people rated the same texts on both, the interval
    is too wide rather than too narrow. Agreement of different numbers of raters, or over different things, cannot be
    compared: W is larger for few raters.

    References
    ----------
    Zou, G. Y. (2007). Toward using confidence intervals to compare correlations. Psychological Methods 12, 399–413.

    Examples
    --------
    >>> row = {"over": "texts", "n_raters": 6}
    >>> a, b = {"kendall_w": 0.62, "conf_low": 0.55, "conf_high": 0.70}, {"kendall_w": 0.5, "conf_low": 0.4}
    >>> [round(number, 3) for number in difference_of(row | a, row | b | {"conf_high": 0.58})]
    [0.12, 0.014, 0.248]
    """
    if any(row[end] is None for row in (a, b) for end in ("kendall_w", "conf_low", "conf_high")):
        return None
    if (a["over"], a["n_raters"]) != (b["over"], b["n_raters"]):
        return None
    apart = a["kendall_w"] - b["kendall_w"]
    down = math.hypot(a["kendall_w"] - a["conf_low"], b["conf_high"] - b["kendall_w"])
    up = math.hypot(a["conf_high"] - a["kendall_w"], b["kendall_w"] - b["conf_low"])
    return apart, apart - down, apart + up


def _agreement(rows: Sequence[dict[str, Any]], conf_level: float | None) -> str:
    known = sorted((row for row in rows if row["kendall_w"] is not None), key=lambda row: -row["kendall_w"])
    if not known:
        return f"These ratings do not tell how far raters agree on {listed([row['scale'] for row in rows])}."
    top, last = known[0], known[-1]
    if len(known) == 2 and conf_level and (difference := difference_of(top, last)) is not None:
        ends = interval_text({"conf_low": difference[1], "conf_high": difference[2]}, conf_level)
        much = f"Kendall's W {r_text(top['kendall_w'])} against {r_text(last['kendall_w'])}"
        much = f"{much}, difference {r_text(difference[0])} ({ends})"
        if difference[1] > 0:
            return f"Raters agree more on {top['scale']} than on {last['scale']}: {much}."
        return f"No clear difference in agreement between {top['scale']} and {last['scale']}: {much}."
    each = [f"{r_text(row['kendall_w'])} on {row['scale']}{_interval(row, conf_level)}" for row in known]
    return f"Raters' agreement (Kendall's W): {listed(each)}."


def _interval(row: dict[str, Any], conf_level: float | None) -> str:
    if row["conf_low"] is None or row["conf_high"] is None or conf_level is None:
        return ""
    return f" ({interval_text(row, conf_level)})"
