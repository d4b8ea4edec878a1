"""Everything about the reliability of one table of ratings."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ordbridge import tables
from ordbridge.errors import InputError, StatisticalWarning
from ordbridge.reliability import agreement, correlation, icc, interpretation
from ordbridge.reliability.alpha import krippendorff_alpha
from ordbridge.reliability.cautions import cautions
from ordbridge.reliability.raters import MANY_CATEGORIES, describe_pairs, describe_raters, use_of_categories
from ordbridge.reliability.ratings import Ratings, prepare, require
from ordbridge.reliability.reading import ALL_RATERS, ALL_RATINGS, TO_FILL_IN, joint_reading, located
from ordbridge.reliability.records import Coefficient

__all__ = ["Reliability", "analyse", "coefficients_for"]


_TEXT, _FLOAT, _COUNT = pa.string(), pa.float64(), pa.int64()
_SCHEMAS = {
    "coefficients": {
        **{name: _TEXT for name in ("criterion", "group", "coefficient")},
        **{name: _FLOAT for name in ("estimate", "conf_low", "conf_high")},
        **{name: _COUNT for name in ("n_items", "n_raters", "n_pairs", "n_missing")},
        **{name: _FLOAT for name in ("statistic", "df", "p_value")},
        **{name: _TEXT for name in ("definition", "note")},
    },
    "interpretations": {
        **{name: _TEXT for name in ("criterion", "group", "coefficient")},
        "estimate": _FLOAT,
        **{name: _TEXT for name in interpretation.SCALES},
    },
    "pairs": {
        **{name: _TEXT for name in ("criterion", "rater_a", "rater_b", "group_a", "group_b")},
        "n_common": _COUNT,
        "kappa": _FLOAT,
        "gamma": _FLOAT,
        "note": _TEXT,
    },
    "raters": {
        **{name: _TEXT for name in ("criterion", "rater", "group")},
        "n_items": _COUNT,
        **{name: _FLOAT for name in ("mean", "mean_kappa", "mean_gamma")},
        "flagged": pa.bool_(),
        "reason": _TEXT,
    },
    "categories": {
        **{name: _TEXT for name in ("criterion", "rater", "category")},
        "count": _COUNT,
        "share": _FLOAT,
    },
    "readings": {name: _TEXT for name in ("criterion", "group", "reading")},
    "warnings": {name: _TEXT for name in ("criterion", "group", "kind", "message")},
    "checklist": {name: _TEXT for name in ("what", "answer")},
}


@dataclass(frozen=True)
class Reliability:
    """Tables about the reliability of ratings; see :func:`analyse`.

    Attributes
    ----------
    coefficients
        Every coefficient per criterion and group of raters, with its interval, counts and exact definition.
    interpretations
        The same values in the words of Krippendorff, Landis & Koch (agreement) and Rosenthal (correlation).
    pairs
        Cohen's κ and Goodman & Kruskal's γ of every two raters, side by side, with their common items.
    raters
        Each rater's mean κ and γ with the others, and whether the rater stands apart on this criterion.
    categories
        How often each rater used each category.
    readings, warnings
        What agreement and correlation say together; what makes these coefficients mislead.
    checklist
        What a paper has to report; ``answer`` is null where only people can answer.
    ratings, level
        The ratings of each criterion, and their level of measurement.
    """

    coefficients: pa.Table
    interpretations: pa.Table
    pairs: pa.Table
    raters: pa.Table
    categories: pa.Table
    readings: pa.Table
    warnings: pa.Table
    checklist: pa.Table
    ratings: Mapping[str, Ratings]
    level: str


def analyse(
    table: Any,
    item: str = "item",
    rater: str = "participant",
    rating: str = "rating",
    criterion: str | None = None,
    group: str | None = None,
    level: str = "ordinal",
    *,
    scale: Sequence[Any] | None = None,
    draws: int = 1000,
    seed: int = 1,
    confidence: float = 0.95,
) -> Reliability:
    """Compute agreement and correlation of raters, and say how to read them together.

    Parameters
    ----------
    table
        Long table: one row a rating.
    item, rater, rating
        Its columns.
    criterion
        Column that names the criterion rated; each criterion is analysed for itself.
    group
        Column with a property of raters (native, expert); each group is analysed beside all raters together.
    level
        ``"nominal"``, ``"ordinal"``, ``"interval"`` or ``"ratio"``; decides which coefficients make sense.
    scale
        See :func:`ordbridge.reliability.prepare`.
    draws, seed, confidence
        Resamples of items for the intervals, their seed, the intervals' level.

    Returns
    -------
    Reliability

    Warns
    -----
    StatisticalWarning
        For everything in the ratings that makes coefficients mislead; also in ``.warnings``.

    References
    ----------
    Amidei, J., Piwek, P., & Willis, A. (2019). Agreement is overrated: a plea for correlation to assess human
    evaluation reliability. INLG 2019, 344-354.

    Examples
    --------
    >>> ratings = {"item": [*range(40)] * 2, "participant": ["a"] * 40 + ["b"] * 40,
    ...            "rating": [i % 4 + 1 for i in range(40)] + [i % 4 + 2 - 2 * (i % 7 == 0) for i in range(40)]}
    >>> result = analyse(ratings, draws=0)
    >>> result.readings["reading"][0].as_py()[:34]
    'Low agreement but high correlation'
    """
    arrow = tables.to_arrow(table)
    groups = _groups(arrow, rater, group)
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in _SCHEMAS}
    options = {"draws": draws, "seed": seed, "confidence": confidence}
    by_criterion = {}
    for name, part in _criteria(arrow, criterion):
        ratings = prepare(part, item, rater, rating, scale)
        require(ratings, "the analysis", level, varied=False)
        by_criterion[name] = ratings
        labels = {"criterion": name}
        pairs = describe_pairs(ratings, level)
        rows["pairs"] += [labels | row | _groups_of_pair(row, groups) for row in pairs]
        rows["raters"] += [
            labels | row | {"group": groups.get(row["rater"])} for row in describe_raters(ratings, pairs)
        ]
        rows["categories"] += [labels | row for row in use_of_categories(ratings)]
        for group_name, members in _with_all(ratings, groups):
            _analyse_group(rows, labels | {"group": group_name}, members, level, options)
    if not any(
        row["estimate"] is not None and row["coefficient"] != "percent agreement" for row in rows["coefficients"]
    ):
        raise InputError(next(row["note"] for row in rows["coefficients"] if row["note"]))
    rows["checklist"] = _checklist(rows["coefficients"], by_criterion, level, options)
    for row in rows["warnings"]:
        warnings.warn(located(row, row["message"]), StatisticalWarning, stacklevel=2)
    finished = {name: pa.Table.from_pylist(rows[name], schema=pa.schema(schema)) for name, schema in _SCHEMAS.items()}
    return Reliability(**finished, ratings=by_criterion, level=level)


def coefficients_for(level: str) -> list[tuple[str, str, Callable[..., Coefficient], dict[str, Any]]]:
    """Return the coefficients that make sense at a level: name, what kind of thing it measures, function, options."""
    weights = "ordinal" if level == "ordinal" else "quadratic"
    nominal: list[tuple[str, str, Callable[..., Coefficient], dict[str, Any]]] = [
        ("percent agreement", "uncorrected", agreement.percent_agreement, {}),
        ("Cohen's κ", "agreement", agreement.cohen_kappa, {}),
        ("Fleiss' κ", "agreement", agreement.fleiss_kappa, {}),
        ("Davies & Fleiss' κ", "agreement", agreement.davies_fleiss_kappa, {}),
        ("Gwet's AC1", "agreement", agreement.gwet_ac, {}),
        (f"Krippendorff's α, {level}", "agreement", krippendorff_alpha, {"level": level}),
    ]
    ordinal: list[tuple[str, str, Callable[..., Coefficient], dict[str, Any]]] = [
        ("Cohen's κ, linear weights", "agreement", agreement.cohen_kappa, {"weights": "linear"}),
        ("Cohen's κ, quadratic weights", "agreement", agreement.cohen_kappa, {"weights": "quadratic"}),
        (f"Gwet's AC2, {weights} weights", "agreement", agreement.gwet_ac, {"weights": weights}),
        ("Goodman & Kruskal's γ", "correlation", correlation.goodman_kruskal_gamma, {}),
        ("Kendall's τ-b", "correlation", correlation.kendall_tau, {}),
        ("Spearman's ρ", "correlation", correlation.spearman, {}),
        ("Kendall's W", "concordance", correlation.kendall_w, {}),
        (
            "Cronbach's α",
            "consistency",
            icc.cronbach_alpha,
            {},
        ),  # takes distances at face value, but the paper asks for it
    ]
    interval: list[tuple[str, str, Callable[..., Coefficient], dict[str, Any]]] = [
        ("Pearson's r", "correlation", correlation.pearson, {}),
        *((f"ICC({form})", "consistency", icc.icc, {"form": form}) for form in icc.ICC_FORMS),
    ]
    return nominal + (ordinal if level != "nominal" else []) + (interval if level in ("interval", "ratio") else [])


def _analyse_group(
    rows: dict[str, list[dict[str, Any]]],
    labels: dict[str, str],
    ratings: Ratings,
    level: str,
    options: dict[str, Any],
) -> None:
    """Add the coefficients, their interpretation, the joint reading and the warnings of one group of raters."""
    if len(ratings.raters) < 2:
        message = f"the group has one rater ({ratings.raters[0]!r}): neither agreement nor correlation is defined"
        rows["warnings"].append(labels | {"kind": "one rater", "message": message})
        return
    found = cautions(ratings)
    rows["warnings"] += [labels | {"kind": kind, "message": message} for kind, message in found]
    values: dict[str, Coefficient] = {}
    for name, kind, function, variant in coefficients_for(level):
        try:
            value = function(ratings, **variant, **options)
        except InputError as reason:
            rows["coefficients"].append(labels | {"coefficient": name, "estimate": None, "note": str(reason)})
            continue
        values[name] = value
        rows["coefficients"].append(labels | _coefficient_row(value))
        rows["interpretations"].append(labels | _interpretation_row(value, kind))
    kappa, gamma = values.get("Davies & Fleiss' κ"), values.get("Goodman & Kruskal's γ")
    if kappa is not None:
        looks_sorted = any(kind == "sorted within items" for kind, _ in found)
        rows["readings"].append(labels | {"reading": joint_reading(kappa, gamma, looks_sorted)})


def _coefficient_row(value: Coefficient) -> dict[str, Any]:
    shared = ("n_items", "n_raters", "n_pairs", "n_missing", "statistic", "df", "p_value", "definition", "note")
    row = {name: getattr(value, name) for name in shared}
    return row | {
        "coefficient": value.name,
        "estimate": value.value,
        "conf_low": value.low,
        "conf_high": value.high,
    }


def _interpretation_row(value: Coefficient, kind: str) -> dict[str, Any]:
    row: dict[str, Any] = {"coefficient": value.name, "estimate": value.value}
    if kind == "agreement":
        row["krippendorff"] = interpretation.krippendorff(value.value)
        row["landis_koch"] = interpretation.landis_koch(value.value)
    elif kind == "correlation":
        row["rosenthal"] = interpretation.rosenthal(value.value)
    return row


def _criteria(table: pa.Table, criterion: str | None) -> Iterator[tuple[str, pa.Table]]:
    import pyarrow.compute as pc

    if criterion is None:
        yield ALL_RATINGS, table
        return
    column = tables.column(table, criterion, role="criterion")
    if column.null_count:
        raise InputError(f"column {criterion!r} is empty in some rows; fill it in or drop them")
    for value in sorted(pc.unique(column).to_pylist()):
        yield str(value), table.filter(pc.equal(column, value))


def _groups(table: pa.Table, rater: str, group: str | None) -> dict[str, str]:
    """Return each rater's group, refusing a rater who is in two."""
    if group is None:
        return {}
    members = tables.column(table, rater, role="rater").to_pylist()
    found: dict[str, str] = {}
    for member, name in zip(members, tables.column(table, group, role="group of raters").to_pylist(), strict=True):
        if name is None:
            raise InputError(f"column {group!r} is empty for rater {member!r}; name the group or drop the rater")
        if found.setdefault(str(member), str(name)) != str(name):
            raise InputError(
                f"rater {member!r} is in two groups ({found[str(member)]!r} and {str(name)!r}); "
                f"column {group!r} must be a property of the rater"
            )
    return found


def _with_all(ratings: Ratings, groups: dict[str, str]) -> Iterator[tuple[str, Ratings]]:
    yield ALL_RATERS, ratings
    for name in sorted(set(groups.values())):
        members = [rater for rater in ratings.raters if groups[str(rater)] == name]
        if members:
            yield name, ratings.of_raters(members)


def _groups_of_pair(pair: dict[str, Any], groups: dict[str, str]) -> dict[str, str | None]:
    return {"group_a": groups.get(pair["rater_a"]), "group_b": groups.get(pair["rater_b"])}


def _checklist(
    coefficients: list[dict[str, Any]],
    by_criterion: dict[str, Ratings],
    level: str,
    options: dict[str, Any],
) -> list[dict[str, Any]]:
    """Return what a paper has to report, answered from the data where they can answer."""
    answers = []
    for name, ratings in by_criterion.items():
        cells = ratings.codes.size
        share = ratings.n_missing / cells
        answers.append(
            (
                f"Items, raters and missing cells ({name})",
                f"{len(ratings.items)} items × {len(ratings.raters)} raters; {cells - ratings.n_missing} ratings, "
                f"{ratings.n_missing} of {cells} cells empty ({share:.1%}); categories "
                + (", ".join(map(str, ratings.categories)) if len(ratings.categories) <= MANY_CATEGORIES else "many"),
            )
        )
    answers.append(("Level of measurement", level))
    resampled = "{confidence:.0%} percentile intervals from {draws} resamples of items (seed {seed})".format(**options)
    answers.append(("Intervals", resampled if options["draws"] else "none"))
    answers.append(("Scales of interpretation", "; ".join(interpretation.SCALES.values())))
    variants = {row["coefficient"]: row["definition"] for row in coefficients if row.get("definition")}
    answers += [(f"Coefficient: {name}", definition) for name, definition in variants.items()]
    rows: list[dict[str, Any]] = [{"what": what, "answer": answer} for what, answer in answers]
    return rows + [{"what": question, "answer": None} for question in TO_FILL_IN]
