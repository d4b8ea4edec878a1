"""Rating scales for the same texts: which of them is more reliable, stable, sensitive, valid.

The measures are those of Belz & Kow (2011), who compared seven named categories with a slider from 0 to 100. Tables
take one row per rating, with columns for system, item, rater and rating.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge import tables
from ordbridge.checks import choice, share
from ordbridge.deprecated import warn_renamed
from ordbridge.errors import InputError
from ordbridge.planning.hypotheses import holm
from ordbridge.reliability.correlation import kendall_w, test_retest
from ordbridge.reliability.interpretation import stars
from ordbridge.reliability.old_options import takes_old_options
from ordbridge.reliability.reading import ALL_RATINGS
from ordbridge.reliability.records import Coefficient
from ordbridge.reliability.scale_power import power

__all__ = ["POSTHOC", "ScaleComparison", "SystemCorrelation", "compare", "power", "stability", "validity"]

POSTHOC = {
    "tukey": "Tukey's HSD (Tukey–Kramer for unequal numbers)",
    "holm": "t tests with pooled variance, Holm's correction",
    "bonferroni": "t tests with pooled variance, Bonferroni's correction",
}
FEW_SYSTEMS = 9  # up to here Spearman's p-value is counted over all orders

_TEXT, _FLOAT, _COUNT = pa.string(), pa.float64(), pa.int64()
_CORRELATION = {"estimate": _FLOAT, "stars": _TEXT, "p_value": _FLOAT}
_SCHEMAS: dict[str, dict[str, pa.DataType]] = {
    "means": {"scale": _TEXT, "system": _TEXT, "mean": _FLOAT, "n_ratings": _COUNT},
    "reliability": {
        "scale": _TEXT,
        "kendall_w": _FLOAT,
        "stars": _TEXT,
        **{name: _FLOAT for name in ("conf_low", "conf_high", "statistic", "df", "p_value")},
        "over": _TEXT,
        "n_ranked": _COUNT,
        "n_raters": _COUNT,
        "note": _TEXT,
    },
    "interchangeability": {"scales": _TEXT, "coefficient": _TEXT, **_CORRELATION, "n_systems": _COUNT, "note": _TEXT},
    "sensitivity": {
        "scale": _TEXT,
        "significant": _COUNT,
        "of": _COUNT,
        "alpha": _FLOAT,
        "posthoc": _TEXT,
        "F": _FLOAT,
        "p_value": _FLOAT,
        "note": _TEXT,
    },
    "factors": {
        "scale": _TEXT,
        "factor": _TEXT,
        "F": _FLOAT,
        "stars": _TEXT,
        "df1": _COUNT,
        "df2": _COUNT,
        "p_value": _FLOAT,
        "F_adjusted": _FLOAT,
        "df2_adjusted": _COUNT,
        "p_adjusted": _FLOAT,
        "balanced": pa.bool_(),
    },
    "differences": {
        **{name: _TEXT for name in ("scale", "system_a", "system_b")},
        "difference": _FLOAT,
        "p_value": _FLOAT,
        "stars": _TEXT,
    },
    "stability": {"scale": _TEXT, **_CORRELATION, "conf_low": _FLOAT, "conf_high": _FLOAT, "n_ratings": _COUNT},
    "validity": {"scale": _TEXT, **_CORRELATION, "n_systems": _COUNT},
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
                table = pa.Table.from_pylist(rows)
                alone = set(table["criterion"].to_pylist()) == {ALL_RATINGS}
                laid_out[caption] = table.drop_columns("criterion") if alone else table
        return laid_out


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


@dataclass(frozen=True)
class SystemCorrelation:
    """Pearson's r between the systems' mean ratings and an outside measure, with its p-value and stars."""

    estimate: float
    p_value: float
    stars: str
    n_systems: int

    def __getattr__(self, name: str) -> Any:
        """Find the old name of the estimate, for one release."""
        if name != "value":
            raise AttributeError(f"a SystemCorrelation has no attribute {name!r}")
        warn_renamed("SystemCorrelation.value", "SystemCorrelation.estimate")
        return self.estimate


@dataclass(frozen=True)
class _OnScale:
    """The columns of one table: labels as arrays of strings, ratings as numbers."""

    system: np.ndarray
    item: np.ndarray
    rater: np.ndarray
    text_type: np.ndarray | None
    criterion: np.ndarray | None
    rating: np.ndarray

    def by(self, factor: np.ndarray) -> dict[str, np.ndarray]:
        return {str(level): self.rating[factor == level] for level in np.unique(factor)}

    def means(self) -> dict[str, float]:
        return {level: float(ratings.mean()) for level, ratings in self.by(self.system).items()}

    def on(self, criterion: str) -> _OnScale:
        """Return the ratings on one criterion."""
        if self.criterion is None:
            return self
        keep = self.criterion == criterion
        sides = {f.name: getattr(self, f.name) for f in fields(self)}
        kept: dict[str, Any] = {name: None if side is None else side[keep] for name, side in sides.items()}
        return _OnScale(**kept)


@takes_old_options
def compare(
    a: Any,
    b: Any = None,
    system: str = "system",
    item: str = "item",
    rater: str = "participant",
    rating: str = "rating",
    *,
    criterion: str | None = None,
    text_type: str | None = None,
    again: Mapping[str, Any] | None = None,
    outside: Mapping[Any, float] | Any = None,
    posthoc: str = "tukey",
    alpha: float = 0.05,
    names: tuple[str, str] = ("a", "b"),
    conf_level: float | None = 0.95,
) -> ScaleComparison:
    """Compare scales on which the same systems were rated, with the measures of Belz & Kow.

    Reliability is Kendall's W over the texts (system and item) that all raters rated; where fewer than half of the
    texts were rated by all, as in a Latin square, over each rater's means of the systems. Sensitivity counts
    differences between systems only after a significant analysis of variance. What cannot be computed is said, and the
    rest goes on.

    Parameters
    ----------
    a, b
        Long tables of two scales; or ``a`` is a mapping from the name of an experiment to its table, for two or more.
    system, item, rater, rating, text_type
        Their columns; the text type is optional.
    criterion
        Column of the criterion; each is compared for itself.
    again
        Mapping from the name of a scale to a second run of the same raters: stability.
    outside
        Another measure of the systems: a mapping, or a table with the columns ``system`` and ``value``: validity.
    posthoc
        Test of pairs of systems: ``"tukey"``, ``"holm"`` or ``"bonferroni"``.
    alpha
        Level of significance.
    names
        What two scales are called.
    conf_level
        Level of the intervals of W and of stability; ``None`` for none.

    Returns
    -------
    ScaleComparison

    References
    ----------
    Belz, A., & Kow, E. (2011). Discrete vs. continuous rating scales for language evaluation in NLP. ACL 2011, 230-235.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> cells = [(s, i, r) for s in range(4) for i in range(10) for r in range(5)]
    >>> quality = np.array([s + rng.normal() for s, i, r in cells])
    >>> columns = dict(zip(("system", "item", "participant"), map(list, zip(*cells))))
    >>> seven, slider = {**columns, "rating": (quality + 2).round()}, {**columns, "rating": 20 + 10 * quality}
    >>> comparison = compare(seven, slider, names=("VDS-7", "VAS"))
    >>> [row["significant"] for row in comparison.sensitivity.to_pylist()]
    [6, 6]
    """
    choice("posthoc", posthoc, POSTHOC)
    share("alpha", alpha)
    columns = {"system": system, "item": item, "rater": rater, "rating": rating, "text_type": text_type}
    columns["criterion"] = criterion
    scales = {name: _columns(table, columns, f"scale {name!r}") for name, table in _experiments(a, b, names).items()}
    runs = {name: _columns(table, columns, f"the second run of {name!r}") for name, table in (again or {}).items()}
    if unknown := runs.keys() - scales.keys():
        raise InputError(f"there is no scale {min(unknown)!r} to be used again; there are: {', '.join(scales)}")
    measure = None if outside is None else _outside(outside, system, "value")
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in _SCHEMAS}
    notes: list[str] = []
    for name, criterion_rows, said in _by_criterion(scales, runs, measure, posthoc, alpha, conf_level):
        for table, found in criterion_rows.items():
            rows[table] += [{"criterion": name} | row for row in found]
        notes += [note if name == ALL_RATINGS else f"{name}: {note}" for note in said]
    return ScaleComparison(
        **{
            name: pa.Table.from_pylist(rows[name], schema=pa.schema({"criterion": _TEXT, **schema}))
            for name, schema in _SCHEMAS.items()
        },
        notes=tuple(notes),
    )


def _experiments(a: Any, b: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return the tables by name."""
    if b is None:
        if not isinstance(a, Mapping) or len(a) < 2:
            raise InputError("give two tables, or a mapping from the names of two or more experiments to their tables")
        return dict(a)
    if len(names) != 2 or names[0] == names[1]:
        raise InputError("names must be two different names for the two scales")
    return dict(zip(names, (a, b), strict=True))


def _by_criterion(
    scales: dict[str, _OnScale],
    runs: dict[str, _OnScale],
    outside: dict[str, float] | None,
    posthoc: str,
    alpha: float,
    conf_level: float | None,
) -> Iterator[tuple[str, dict[str, list[dict[str, Any]]], list[str]]]:
    """Yield each criterion with its rows of all tables and its notes."""
    everything = [set(np.unique(scale.criterion)) for scale in scales.values() if scale.criterion is not None]
    for criterion in sorted(set.intersection(*everything)) if everything else [ALL_RATINGS]:
        here = {name: scale.on(criterion) for name, scale in scales.items()}
        means = {name: scale.means() for name, scale in here.items()}
        factors = [row for name, scale in here.items() for row in _factors(name, scale)]
        differences = [row for name, scale in here.items() for row in _differences(name, scale, posthoc)]
        reliability = [_reliability(name, scale, conf_level) for name, scale in here.items()]
        interchangeability = _interchangeability(means)
        notes = [f"scale {row['scale']!r}: {row['note']}" for row in reliability if row["note"]]
        notes += list(dict.fromkeys(f"{row['scales']}: {row['note']}" for row in interchangeability if row["note"]))
        notes += [
            f"scale {row['scale']!r} is not balanced: the F of {row['factor']} that is adjusted for the other factors "
            f"is {row['F_adjusted']:.2f}, without adjustment {row['F']:.2f}"
            for row in factors
            if not row["balanced"] and row["F_adjusted"] is not None
        ]
        sensitivity = [_sensitivity(name, factors, differences, alpha, posthoc) for name in here]
        notes += [f"scale {row['scale']!r}: {row['note']}" for row in sensitivity if row["note"]]
        yield (
            criterion,
            {
                "means": [
                    {"scale": name, "system": level, "mean": float(r.mean()), "n_ratings": len(r)}
                    for name, scale in here.items()
                    for level, r in scale.by(scale.system).items()
                ],
                "reliability": reliability,
                "interchangeability": interchangeability,
                "sensitivity": sensitivity,
                "factors": factors,
                "differences": differences,
                "stability": [
                    _stability(name, here[name], run.on(criterion), conf_level) for name, run in runs.items()
                ],
                "validity": [] if outside is None else [_validity(name, m, outside) for name, m in means.items()],
            },
            notes,
        )


@takes_old_options
def stability(
    run1: Any,
    run2: Any,
    system: str = "system",
    item: str = "item",
    rater: str = "participant",
    rating: str = "rating",
    *,
    conf_level: float | None = 0.95,
) -> Coefficient:
    """Pearson's r between the single ratings that the same raters gave the same texts in two runs.

    Texts are pairs of system and item; ratings given only once are left out.

    Examples
    --------
    >>> run1 = {"system": ["x", "y", "x", "y"], "item": [1, 1, 2, 2], "participant": ["p"] * 4,
    ...         "rating": [1, 3, 2, 5]}
    >>> run2 = {**run1, "rating": [2, 3, 2, 4]}
    >>> round(stability(run1, run2).estimate, 3)
    0.968
    """
    columns = {"system": system, "item": item, "rater": rater, "rating": rating, "text_type": None, "criterion": None}
    first, second = (_as_texts(_columns(run, columns, name)) for name, run in (("run 1", run1), ("run 2", run2)))
    return test_retest(first, second, "text", "rater", "rating", conf_level=conf_level)


def validity(
    ratings: Any,
    outside_measure: Mapping[Any, float] | Any,
    system: str = "system",
    rating: str = "rating",
    *,
    value: str = "value",
) -> SystemCorrelation:
    """Pearson's r between the systems' mean ratings and an outside measure of the same systems.

    Parameters
    ----------
    ratings
        Long table with a column for the system and one for the rating.
    outside_measure
        Mapping from system to number, or a table with the columns ``system`` and ``value``.
    system, rating, value
        Names of the columns.

    Examples
    --------
    >>> ratings = {"system": ["x", "x", "y", "y", "z"], "rating": [1, 2, 3, 4, 5]}
    >>> result = validity(ratings, {"x": 0.2, "y": 0.5, "z": 0.7})
    >>> round(result.estimate, 3), result.n_systems, result.stars
    (0.999, 3, '*')
    """
    table = tables.to_arrow(ratings)
    levels = np.array([str(label) for label in tables.column(table, system, role="system").to_pylist()])
    scores = _numbers(tables.column(table, rating, role="rating"), rating, "the table")
    means = {str(level): float(scores[levels == level].mean()) for level in np.unique(levels)}
    row = _validity("the ratings", means, _outside(outside_measure, system, value))
    return SystemCorrelation(row["estimate"], row["p_value"], row["stars"], row["n_systems"])


def _outside(measure: Mapping[Any, float] | Any, system: str, value: str) -> dict[str, float]:
    """Return the outside measure of each system."""
    if isinstance(measure, Mapping) and not {system, value} <= set(measure):
        return {str(name): float(number) for name, number in measure.items()}
    other = tables.to_arrow(measure)
    names = [str(label) for label in tables.column(other, system, role="system").to_pylist()]
    numbers = _numbers(tables.column(other, value, role="outside measure"), value, "the outside measure")
    if len(set(names)) < len(names):
        raise InputError("the outside measure has more than one value for a system; average them first")
    return dict(zip(names, numbers.tolist(), strict=True))


def _validity(name: str, means: dict[str, float], outside: dict[str, float]) -> dict[str, Any]:
    r, p = _correlate(means, outside, "pearson", f"{name} and the outside measure")
    common = len(set(means) & set(outside))
    return {"scale": name, "estimate": r, "stars": stars(p), "p_value": p, "n_systems": common}


def _stability(name: str, first: _OnScale, second: _OnScale, conf_level: float | None) -> dict[str, Any]:
    r = test_retest(_as_texts(first), _as_texts(second), "text", "rater", "rating", conf_level=conf_level)
    ends = {"conf_low": r.conf_low, "conf_high": r.conf_high}
    p = 1.0 if r.p_value is None else r.p_value
    return {"scale": name, "estimate": r.estimate, "stars": stars(p), "p_value": p, **ends, "n_ratings": r.n_pairs}


def _columns(data: Any, names: dict[str, str | None], where: str) -> _OnScale:
    table = tables.to_arrow(data)
    labels: dict[str, np.ndarray | None] = {}
    for role in ("system", "item", "rater", "text_type", "criterion"):
        name = names[role]
        if name is None:
            labels[role] = None
            continue
        if (
            role == "rater"
            and name == "participant"
            and name not in table.column_names
            and "rater" in table.column_names
        ):
            warn_renamed("the column 'rater'", "'participant' by default; say rater='rater'")
            name = "rater"
        column = tables.column(table, name, role=role.replace("_", " "))
        if column.null_count:
            raise InputError(f"column {name!r} of {where} has empty cells; fill them in or drop the rows")
        labels[role] = np.array([str(label) for label in column.to_pylist()])
    rating = _numbers(tables.column(table, str(names["rating"]), role="rating"), str(names["rating"]), where)
    return _OnScale(**labels, rating=rating)  # type: ignore[arg-type]


def _numbers(column: pa.ChunkedArray, name: str, where: str) -> np.ndarray:
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise InputError(f"column {name!r} of {where} must be numbers, but it is {column.type}")
    values = np.asarray(column.cast(pa.float64()).to_numpy(), dtype=float)
    if not len(values) or not np.isfinite(values).all():
        raise InputError(f"column {name!r} of {where} has missing or infinite values; drop those rows first")
    return values


def _as_texts(scale: _OnScale) -> dict[str, Any]:
    text = np.array([f"{system} · {item}" for system, item in zip(scale.system, scale.item, strict=True)])
    return {"text": text.tolist(), "rater": scale.rater.tolist(), "rating": scale.rating.tolist()}


def _reliability(name: str, scale: _OnScale, conf_level: float | None) -> dict[str, Any]:
    """Return Kendall's W over the texts that all raters rated or, where most texts were not, over systems."""
    raters, levels = np.unique(scale.rater), np.unique(scale.system)
    texts = _as_texts(scale)
    seen = Counter(texts["text"])
    note = ""
    if 2 * sum(count >= len(raters) for count in seen.values()) >= len(seen):
        over, what, columns = "texts", texts, ("text", "rater", "rating")
    else:
        cells = [[scale.rating[(scale.system == s) & (scale.rater == r)] for r in raters] for s in levels]
        lacking = [str(s) for s, row in zip(levels, cells, strict=True) if not all(len(cell) for cell in row)]
        if lacking:
            note = f"not all raters rated {', '.join(lacking)}: W is over the other systems"
        means = [(str(s), str(r), float(c.mean())) for s, row in zip(levels, cells, strict=True)
                 for r, c in zip(raters, row, strict=True) if len(c)]  # fmt: skip
        over, columns = "systems", ("name", "rater", "rating")
        what = {key: list(side) for key, side in zip(columns, zip(*means, strict=True), strict=True)}
    try:
        w = kendall_w(what, *columns, conf_level=conf_level)
    except InputError as reason:
        return {"scale": name, "over": over, "stars": "", "note": "; ".join(filter(None, [note, str(reason)]))}
    return {
        "scale": name,
        "kendall_w": w.estimate,
        "stars": stars(w.p_value if w.p_value is not None else 1.0),
        "over": over,
        "n_ranked": w.n_items,
        "n_raters": w.n_raters,
        "note": note,
        **{field: getattr(w, field) for field in ("conf_low", "conf_high", "statistic", "df", "p_value")},
    }


def _interchangeability(means: dict[str, dict[str, float]]) -> list[dict[str, Any]]:
    """Return both correlations of the systems' means for every pair of scales."""
    rows = []
    for (name_a, a), (name_b, b) in combinations(means.items(), 2):
        only = sorted(set(a) ^ set(b))
        note = f"{', '.join(only)} are not on both scales and are left out" if only else ""
        for method, label in (("pearson", "Pearson's r"), ("spearman", "Spearman's ρ")):
            row: dict[str, Any] = {"scales": f"{name_a} and {name_b}", "coefficient": label, "note": note, "stars": ""}
            row["n_systems"] = len(set(a) & set(b))
            try:
                value, p = _correlate(a, b, method, f"scales {name_a!r} and {name_b!r}")
            except InputError as reason:
                if len(means) == 2:
                    raise
                row["note"] = "; ".join(filter(None, [note, str(reason)]))
            else:
                row |= {"estimate": value, "p_value": p, "stars": stars(p)}
            rows.append(row)
    return rows


def _correlate(a: Mapping[str, float], b: Mapping[str, float], method: str, what: str) -> tuple[float, float]:
    """Return a correlation of the systems' means and its p-value: exact for Spearman's ρ of few systems."""
    from scipy import stats

    common = sorted(set(a) & set(b))
    if len(common) < 3:
        raise InputError(f"{what} have {len(common)} systems in common; a correlation of means needs at least 3")
    x, y = (np.array([side[name] for name in common]) for side in (a, b))
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        raise InputError(f"the systems' means do not differ, so there is no correlation between {what}")
    if method == "pearson":
        result = stats.pearsonr(x, y)
        return float(result.statistic), float(result.pvalue)
    result = stats.spearmanr(x, y)
    if len(common) > FEW_SYSTEMS:
        return float(result.statistic), float(result.pvalue)
    return float(result.statistic), _exact_p(stats.rankdata(x), stats.rankdata(y))


def _exact_p(x: np.ndarray, y: np.ndarray) -> float:
    """Return the share of all orders of y that correlate with x as strongly, in either direction.

    Examples
    --------
    >>> round(_exact_p(np.arange(4.0), np.arange(4.0)), 4)
    0.0833
    """
    x, y = x - x.mean(), y - y.mean()
    orders = np.array(list(permutations(range(len(y)))))
    products = np.abs(y[orders] @ x)
    return float((products >= abs(x @ y) - 1e-9).mean())


def _factors(name: str, scale: _OnScale) -> list[dict[str, Any]]:
    """Return the F of a one-way analysis of variance for each factor, and F adjusted for the other factors."""
    from scipy.stats import f, f_oneway

    sides = {"system": scale.system, "rater": scale.rater, "text type": scale.text_type}
    factors = {factor: labels for factor, labels in sides.items() if labels is not None}
    rows = []
    for factor, labels in factors.items():
        groups = list(scale.by(labels).values())
        df2 = len(scale.rating) - len(groups)
        if len(groups) < 2 or df2 < 1:
            raise InputError(f"scale {name!r}: the {factor} needs at least two levels and more ratings than levels")
        if all(np.ptp(group) == 0 for group in groups):
            raise InputError(f"scale {name!r}: all ratings within each {factor} are equal, so there is no F")
        value, p = f_oneway(*groups)
        others = [side for other, side in factors.items() if other != factor]
        adjusted, df1, df_rest = _adjusted_f(scale.rating, labels, others)
        rows.append(
            {
                "scale": name,
                "factor": factor,
                "F": float(value),
                "stars": stars(p),
                "df1": len(groups) - 1,
                "df2": df2,
                "p_value": float(p),
                "F_adjusted": adjusted,
                "df2_adjusted": df_rest,
                "p_adjusted": None if adjusted is None else float(f.sf(adjusted, df1, df_rest)),
                "balanced": all(_balanced(labels, other) for other in others),
            }
        )
    return rows


def _adjusted_f(rating: np.ndarray, labels: np.ndarray, others: list[np.ndarray]) -> tuple[float | None, int, int]:
    """Return F of a factor beyond the others (type II), with both degrees of freedom.

    It compares the sums of squares that remain with and without the factor in an additive model, as R's
    ``anova(lm(y ~ others), lm(y ~ others + factor))`` does.
    """
    without, rank_without = _remaining(rating, others)
    whole, rank_whole = _remaining(rating, [*others, labels])
    df1, df2 = rank_whole - rank_without, len(rating) - rank_whole
    if df1 < 1 or df2 < 1 or whole <= 1e-12:
        return None, df1, df2
    return float((without - whole) / df1 / (whole / df2)), df1, df2


def _remaining(rating: np.ndarray, factors: list[np.ndarray]) -> tuple[float, int]:
    """Return the residual sum of squares of an additive model, and its rank."""
    centred = rating - rating.mean()
    if all(_balanced(one, other) for one, other in combinations(factors, 2)):  # then each takes its share on its own
        levels = [np.unique(labels, return_inverse=True)[1] for labels in factors]
        between = sum((np.bincount(at, centred) ** 2 / np.bincount(at)).sum() for at in levels)
        return float((centred**2).sum() - between), 1 + sum(int(at.max()) for at in levels)
    dummies = [(labels[:, None] == np.unique(labels)[None, 1:]).astype(float) for labels in factors]
    design = np.hstack([np.ones((len(rating), 1)), *dummies])
    fitted, _, rank, _ = np.linalg.lstsq(design.T @ design, design.T @ centred, rcond=1e-10)
    return float(((centred - design @ fitted) ** 2).sum()), int(rank)


def _balanced(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether every level of one factor meets every level of the other equally often."""
    table = np.zeros((len(np.unique(a)), len(np.unique(b))))
    np.add.at(table, (np.unique(a, return_inverse=True)[1], np.unique(b, return_inverse=True)[1]), 1)
    return bool((table == table[0, 0]).all())


def _differences(name: str, scale: _OnScale, posthoc: str) -> list[dict[str, Any]]:
    """Return every pair of systems with the difference of their means and the post-hoc test's p-value."""
    groups = scale.by(scale.system)
    systems = list(groups)
    pairs = list(combinations(range(len(systems)), 2))
    p_values = (
        _tukey(list(groups.values()), pairs) if posthoc == "tukey" else _t_tests(list(groups.values()), pairs, posthoc)
    )
    return [
        {
            "scale": name,
            "system_a": systems[i],
            "system_b": systems[j],
            "difference": float(groups[systems[i]].mean() - groups[systems[j]].mean()),
            "p_value": float(p),
            "stars": stars(p),
        }
        for (i, j), p in zip(pairs, p_values, strict=True)
    ]


def _tukey(groups: list[np.ndarray], pairs: list[tuple[int, int]]) -> list[float]:
    from scipy.stats import tukey_hsd

    table = tukey_hsd(*groups).pvalue
    return [float(table[i, j]) for i, j in pairs]


def _t_tests(groups: list[np.ndarray], pairs: list[tuple[int, int]], correction: str) -> Sequence[float]:
    """Return corrected p-values of pairwise t tests whose variance is pooled over all systems."""
    from scipy.stats import t

    df = sum(len(group) - 1 for group in groups)
    variance = sum(((group - group.mean()) ** 2).sum() for group in groups) / df
    raw = []
    for i, j in pairs:
        error = np.sqrt(variance * (1 / len(groups[i]) + 1 / len(groups[j])))
        raw.append(2 * t.sf(abs(groups[i].mean() - groups[j].mean()) / error, df))
    return holm(raw) if correction == "holm" else [min(1.0, float(p) * len(raw)) for p in raw]


def _sensitivity(
    name: str, factors: list[dict[str, Any]], differences: list[dict[str, Any]], alpha: float, posthoc: str
) -> dict[str, Any]:
    anova = next(row for row in factors if row["scale"] == name and row["factor"] == "system")
    own = [row for row in differences if row["scale"] == name]
    protected = anova["p_value"] < alpha
    return {
        "scale": name,
        "significant": sum(row["p_value"] < alpha for row in own) if protected else 0,
        "of": len(own),
        "alpha": alpha,
        "posthoc": POSTHOC[posthoc],
        "F": anova["F"],
        "p_value": anova["p_value"],
        "note": "" if protected else "the analysis of variance is not significant, so no difference is counted",
    }
