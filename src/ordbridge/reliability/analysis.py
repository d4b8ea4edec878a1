"""Everything about the reliability of one table of ratings."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ordbridge import tables
from ordbridge.doors import picture, write_report
from ordbridge.errors import InputError, StatisticalWarning
from ordbridge.notebooks import fragment
from ordbridge.reliability import agreement, correlation, interpretation, intraclass, pair_agreement
from ordbridge.reliability.alpha import krippendorff_alpha
from ordbridge.reliability.cautions import cautions
from ordbridge.reliability.jackknife import describe_raters_as
from ordbridge.reliability.old_options import takes_old_options
from ordbridge.reliability.raters import MANY_CATEGORIES, describe_pairs, describe_raters, use_of_categories
from ordbridge.reliability.ratings import Ratings, prepare, require
from ordbridge.reliability.reading import ALL_RATERS, ALL_RATINGS, TO_FILL_IN, joint_reading, located
from ordbridge.reliability.records import Coefficient
from ordbridge.reliability.within import WITHIN_RATERS, accuracy, stability

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

    from matplotlib.figure import Figure

__all__ = ["Reliability", "analyse", "coefficients_for"]


_TEXT, _FLOAT, _COUNT = pa.string(), pa.float64(), pa.int64()
_SCHEMAS = {
    "coefficients": {
        **{name: _TEXT for name in ("criterion", "group", "coefficient")},
        **{name: _FLOAT for name in ("estimate", "conf_low", "conf_high")},
        **{name: _COUNT for name in ("n_items", "n_raters", "n_pairs", "n_missing")},
        **{name: _FLOAT for name in ("statistic", "df", "p_value")},
        **{name: _TEXT for name in ("raters", "definition", "note")},
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
        **{
            name: _FLOAT
            for name in ("mean", "severity", "consistency", "mean_kappa", "mean_gamma", "severity_p", "consistency_p")
        },
        "flagged": pa.bool_(),
        "reason": _TEXT,
    },
    "categories": {
        **{name: _TEXT for name in ("criterion", "rater", "category")},
        "count": _COUNT,
        "share": _FLOAT,
    },
    "stability": {"criterion": _TEXT, **WITHIN_RATERS},
    "accuracy": {"criterion": _TEXT, **WITHIN_RATERS},
    "readings": {
        name: _TEXT
        for name in (
            *("criterion", "group", "reading"),
            *("agreement", "correlation", "verdict", "finding", "advice", "numbers", "raters", "caution"),
        )
    },
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
        The highest words of Krippendorff, Landis & Koch (agreement) and Rosenthal (correlation) that hold with a
        probability of 95 %.
    pairs
        Cohen's κ and Goodman & Kruskal's γ of every two raters with common items, side by side.
    raters
        Each rater's severity and consistency, mean κ and γ with the others, and whether the rater stands apart on this
        criterion, at a false discovery rate of 5 %.
    categories
        How often each rater used each category.
    readings, warnings
        What agreement and correlation say together (``reading``, and its parts: the codes ``"high"``, ``"low"``,
        ``"open"``, ``"negative"`` and the words); what makes these coefficients mislead.
    checklist
        What a paper has to report; ``answer`` is null where only people can answer.
    stability, accuracy
        How far raters repeat themselves, where they rated texts again, and how often they are right, where a gold
        standard is given; else without rows.
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
    stability: pa.Table
    accuracy: pa.Table
    ratings: Mapping[str, Ratings]
    level: str

    def _repr_html_(self) -> str:
        """Show the answer, warnings and coefficients in a notebook."""
        shown = ["criterion", "group", "coefficient", "estimate", "conf_low", "conf_high", "n_items", "n_raters"]
        told = [located(row, row["message"]) for row in self.warnings.to_pylist()]
        return fragment(self.answer, told, [("", self.coefficients.select(shown))], [f"{self.counted}."])

    def plot(self, criterion: str | None = None) -> Figure:
        """Draw each rater's severity and consistency; see :func:`ordbridge.figures.severity_and_consistency`."""
        figure: Figure = picture("severity_and_consistency", self.raters, criterion)
        return figure

    def report(self, path: str | PathLike[str], repeat: str = "") -> Path:
        """Write the report, one HTML file; see :func:`ordbridge.report.write_report`."""
        return write_report(self, path, repeat)

    @property
    def answer(self) -> str:
        """The joint reading of agreement and correlation; of several, how many say what.

        Examples
        --------
        >>> from ordbridge.reliability import analyse
        >>> ratings = {"item": [*range(40)] * 2, "participant": ["a"] * 40 + ["b"] * 40,
        ...            "rating": [i % 4 + 1 for i in range(40)] * 2}
        >>> analyse(ratings).answer[:35]
        'High agreement and high correlation'
        """
        rows = self.readings.to_pylist()
        if not rows:
            return "There are too few ratings of the same items to say how far the raters agree."
        if len(rows) == 1:
            return located(rows[0], rows[0]["reading"])
        verdicts = Counter(row["verdict"] for row in rows)
        words = "; ".join(
            f"{verdict[0].lower()}{verdict[1:]} in {number}" for verdict, number in verdicts.most_common()
        )
        fixed = sum(row["raters"] == "fixed" for row in rows)
        about = f" {'All' if fixed == len(rows) else fixed} are about these raters only." if fixed else ""
        return f"Of {len(rows)} readings (criteria and groups of raters): {words}.{about}"

    @property
    def counted(self) -> str:
        """How many ratings there are, and of what."""
        rated = sum(len(r.code) for r in self.ratings.values())
        items, raters = (
            len({str(name) for r in self.ratings.values() for name in getattr(r, side)}) for side in ("items", "raters")
        )
        criteria = f" on {len(self.ratings)} criteria" if len(self.ratings) > 1 else ""
        texts = next(iter(self.ratings.values())).texts
        return f"{raters} raters gave {rated} ratings of {items} {texts}{criteria}"


@takes_old_options
def analyse(
    table: Any,
    item: str = "item",
    rater: str = "participant",
    rating: str = "rating",
    criterion: str | None = None,
    group: str | None = None,
    level: str = "ordinal",
    *,
    system: str | None = "system",
    scale: Sequence[Any] | None = None,
    raters: str | None = None,
    gold: Mapping[Any, Any] | Any = None,
    conf_level: float | None = 0.95,
) -> Reliability:
    """Compute agreement and correlation of raters, and say how to read them together.

    Parameters
    ----------
    table
        Long table: one row per rating.
    item, rater, rating
        Its columns.
    criterion
        Column that names the criterion rated; each criterion is analysed separately.
    group
        Column with a property of raters (native, expert); each group is analysed beside all raters together.
    level
        ``"nominal"``, ``"ordinal"``, ``"interval"`` or ``"ratio"``; decides which coefficients make sense.
    scale
        See :func:`ordbridge.reliability.prepare`.
    system
        Column of the system. Where the table has it, what is rated is a text: item × system.
    raters
        ``"random"`` (default): intervals are about raters like these; ``"fixed"``: about these raters only, and the
        answer says so. Two raters cannot tell how raters differ, so that their intervals are about these two.
    gold
        The right ratings, if they are known; see :func:`ordbridge.reliability.accuracy`.
    conf_level
        Level of the intervals; ``None`` for none, and then no word for any coefficient.

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
    ...            "rating": [i % 4 + 1 for i in range(40)] + [i % 4 + 3 - 3 * (i % 9 == 0) for i in range(40)]}
    >>> result = analyse(ratings)
    >>> result.readings["reading"][0].as_py()[:34]
    'Low agreement but high correlation'
    """
    needed = (item, rater, rating, system, criterion, group)
    arrow = tables.to_arrow(table, only=[name for name in needed if name is not None])
    groups = _groups(arrow, rater, group)
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in _SCHEMAS}
    options = {"raters": raters, "conf_level": conf_level}
    by_criterion, pairs = {}, []
    for name, part in _criteria(arrow, criterion):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", StatisticalWarning)
            ratings = prepare(part, item, rater, rating, scale, system=system)
        require(ratings, "the analysis", level, varied=False)
        by_criterion[name] = ratings
        labels = {"criterion": name}
        repeats = [str(w.message) for w in said if issubclass(w.category, StatisticalWarning)]
        rows["warnings"] += [labels | {"kind": "repeats", "message": message} for message in repeats]
        columns: dict[str, Any] = {"item": item, "rater": rater, "rating": rating, "level": level, "scale": scale}
        if repeats:
            found = stability(part, **columns, system=system, conf_level=conf_level)
            rows["stability"] += [labels | row for row in found.to_pylist()]
        if gold is not None:
            rows["accuracy"] += [labels | row for row in accuracy(ratings, gold, level=level).to_pylist()]
        pairs.append(_pairs(describe_pairs(ratings, level), name, groups))
        rows["raters"] += [
            labels | row | {"group": groups.get(row["rater"])} for row in describe_raters(ratings, level)
        ]
        rows["categories"] += [labels | row for row in use_of_categories(ratings)]
        for group_name, members in _with_all(ratings, groups):
            _analyse_group(rows, labels | {"group": group_name}, members, level, options)
    if not any(
        row["estimate"] is not None and row["coefficient"] != "percent agreement" for row in rows["coefficients"]
    ):
        raise InputError(next(row["note"] for row in rows["coefficients"] if row["note"]))
    rows["checklist"] = _checklist(rows["coefficients"], by_criterion, level, raters, conf_level)
    for row in rows["warnings"]:
        warnings.warn(located(row, row["message"]), StatisticalWarning, stacklevel=3)
    finished = {name: pa.Table.from_pylist(rows[name], schema=pa.schema(schema)) for name, schema in _SCHEMAS.items()}
    finished["pairs"] = pa.concat_tables(pairs)
    return Reliability(**finished, ratings=by_criterion, level=level)


_Listed = tuple[str, str, Callable[..., Coefficient], dict[str, Any]]


def coefficients_for(level: str) -> list[_Listed]:
    """Return the coefficients that make sense at a level: name, what kind of thing it measures, function, options.

    The first is Krippendorff's α at that level, from which agreement is read.
    """
    nominal: list[_Listed] = [
        ("percent agreement", "uncorrected", agreement.percent_agreement, {}),
        ("Cohen's κ", "agreement", pair_agreement.cohen_kappa, {}),
        ("Fleiss' κ", "agreement", agreement.fleiss_kappa, {}),
        ("Conger's κ", "agreement", agreement.conger_kappa, {}),
        ("Gwet's AC1", "agreement", agreement.gwet_ac, {}),
    ]
    weights = "ordinal" if level == "ordinal" else "quadratic"
    ordinal: list[_Listed] = [
        ("Conger's κ, linear weights", "agreement", agreement.conger_kappa, {"weights": "linear"}),
        ("Conger's κ, quadratic weights", "agreement", agreement.conger_kappa, {"weights": "quadratic"}),
        (f"Gwet's AC2, {weights} weights", "agreement", agreement.gwet_ac, {"weights": weights}),
        ("Goodman & Kruskal's γ", "correlation", correlation.goodman_kruskal_gamma, {}),
        ("Kendall's τ-b", "correlation", correlation.kendall_tau, {}),
        ("Spearman's ρ", "correlation", correlation.spearman, {}),
        ("Kendall's W", "concordance", correlation.kendall_w, {}),
        ("Cronbach's α", "consistency", intraclass.cronbach_alpha, {}),  # takes distances at face value
    ]
    interval: list[_Listed] = [
        ("Pearson's r", "correlation", correlation.pearson, {}),
        *((f"ICC({form})", "consistency", intraclass.icc, {"form": form}) for form in intraclass.ICC_FORMS),
    ]
    leading: list[_Listed] = [(f"Krippendorff's α, {level}", "agreement", krippendorff_alpha, {"level": level})]
    if level == "nominal":
        return leading + nominal
    return leading + nominal + ordinal + (interval if level in ("interval", "ratio") else [])


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
    alpha = values.get(f"Krippendorff's α, {level}")
    together = values.get("Pearson's r") if level in ("interval", "ratio") else values.get("Goodman & Kruskal's γ")
    if alpha is not None:
        looks_sorted = any(kind == "sorted within items" for kind, _ in found)
        read = joint_reading(alpha, together, looks_sorted)
        rows["readings"].append(labels | asdict(read) | {"reading": read.sentence})


def _coefficient_row(value: Coefficient) -> dict[str, Any]:
    fields = set(_SCHEMAS["coefficients"]) - {"criterion", "group", "coefficient"}
    return {"coefficient": value.name} | {name: getattr(value, name) for name in fields}


def _interpretation_row(value: Coefficient, kind: str) -> dict[str, Any]:
    scales = {"agreement": ("krippendorff", "landis_koch"), "correlation": ("rosenthal",)}.get(kind, ())
    words = {scale: interpretation.benchmark(value, scale) for scale in scales}
    return {"coefficient": value.name, "estimate": value.estimate, **words}


def _criteria(table: pa.Table, criterion: str | None) -> Iterator[tuple[str, pa.Table]]:
    import pyarrow.compute as pc

    if criterion is None:
        yield ALL_RATINGS, table
        return
    column = tables.column(table, criterion, role="criterion")
    if column.null_count:
        raise InputError(f"column {criterion!r} is empty in some rows; fill it in or drop them")
    try:
        criteria = sorted(pc.unique(column).to_pylist())
    except (pa.ArrowException, TypeError):
        raise InputError(f"column {criterion!r} has the type {column.type}; make it text or numbers") from None
    for value in criteria:
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


def _pairs(table: pa.Table, criterion: str, groups: dict[str, str]) -> pa.Table:
    """Add criterion and groups to the table of pairs."""
    columns = {"criterion": [criterion] * table.num_rows} | {name: table[name] for name in table.column_names}
    for side in ("a", "b"):
        columns[f"group_{side}"] = [groups.get(name) for name in table[f"rater_{side}"].to_pylist()]
    schema = pa.schema(_SCHEMAS["pairs"])
    return pa.table({name: columns[name] for name in schema.names}, schema=schema)


def _checklist(
    coefficients: list[dict[str, Any]],
    by_criterion: dict[str, Ratings],
    level: str,
    raters: str | None,
    conf_level: float | None,
) -> list[dict[str, Any]]:
    """Return what a paper has to report, answered from the data where they can answer."""
    answers = []
    for name, ratings in by_criterion.items():
        cells = len(ratings.items) * len(ratings.raters)
        share = ratings.n_missing / cells
        answers.append(
            (
                f"Items, raters and missing cells ({name})",
                f"{len(ratings.items)} {ratings.texts} × {len(ratings.raters)} raters; {len(ratings.code)} ratings, "
                f"{ratings.n_missing} of {cells} cells empty ({share:.1%}); categories "
                + (", ".join(map(str, ratings.categories)) if len(ratings.categories) <= MANY_CATEGORIES else "many"),
            )
        )
    answers.append(("Level of measurement", level))
    first = next(iter(by_criterion.values()))
    about = f"{conf_level:.0%} jackknife intervals, {describe_raters_as(first, raters)}" if conf_level else "none"
    answers.append(("Intervals", about))
    answers.append(("Scales of interpretation", "; ".join(interpretation.SCALES.values())))
    answers.append(("Words", "the highest that holds with a probability of 95 % (Gwet's benchmarking)"))
    variants = {row["coefficient"]: row["definition"] for row in coefficients if row.get("definition")}
    answers += [(f"Coefficient: {name}", definition) for name, definition in variants.items()]
    rows: list[dict[str, Any]] = [{"what": what, "answer": answer} for what, answer in answers]
    return rows + [{"what": question, "answer": None} for question in TO_FILL_IN]
