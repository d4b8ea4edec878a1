"""Everything about the reliability of one table of ratings."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ordbridge.errors import FitError, InputError, StatisticalWarning
from ordbridge.reading import RatingTable, check, tables
from ordbridge.reliability import agreement, correlation, interpretation, intraclass, pair_agreement
from ordbridge.reliability.alpha import krippendorff_alpha
from ordbridge.reliability.cautions import MISLEADING, cautions
from ordbridge.reliability.jackknife import describe_raters_as
from ordbridge.reliability.raters import describe_pairs, describe_raters, outlying
from ordbridge.reliability.ratings import MANY_CATEGORIES, Ratings, read_for, read_ratings, require
from ordbridge.reliability.reading import ALL_RATERS, ALL_RATINGS, TO_FILL_IN, joint_reading, where
from ordbridge.reliability.records import Coefficient
from ordbridge.reliability.result import RELIABLE, Reliability, agreement_line, averages_line
from ordbridge.reliability.variance_components import ITEM, TEXT, Generalizability, generalizability, quick_draws
from ordbridge.reliability.within import WITHIN_RATERS, accuracy, stability
from ordbridge.results import Finding, found, has, worst_first
from ordbridge.support.columns import columns
from ordbridge.support.naming import arg

MOST_RATERS = 50  # of each text, that are looked at for reliable averages
ABOUT_SYSTEMS = {"one-system", "items-within-systems", "item-under-one-system", "participants-within-systems",
                 "separation", "few-raters", "few-items", "repeated-ratings", "slider", "several-criteria",
                 "different-scales", "no-variation", "no-system-column"}  # fmt: skip
"""What is wrong with ratings for a comparison of systems, or is said here in another way."""

_SCHEMAS = {
    "coefficients": columns(
        "criterion group coefficient: text; estimate conf_low conf_high: number; "
        "n_items n_raters n_pairs n_missing: count; statistic df p_value: number; raters definition note: text"
    ),
    "interpretations": columns(
        f"criterion group coefficient: text; estimate: number; {' '.join(interpretation.SCALES)}: text"
    ),
    "pairs": columns(
        "criterion participant_a participant_b group_a group_b: text; n_common: count; kappa gamma: number; note: text"
    ),
    "raters": columns(
        "criterion participant group: text; n_items: count; "
        "mean leniency leniency_low leniency_high consistency consistency_low consistency_high "
        "mean_kappa mean_gamma leniency_p consistency_p: number; flagged: truth; reason: text"
    ),
    "categories": columns("criterion participant category: text; count: count; share: number"),
    "stability": columns("criterion: text") | WITHIN_RATERS,
    "accuracy": columns("criterion: text") | WITHIN_RATERS,
    "overview": columns("criterion group what measure: text; estimate conf_low conf_high: number"),
    "checklist": columns("what answer: text"),
}


def analyse(
    source: Any,
    *,
    participant: str | None = None,
    item: str | None = None,
    system: str | None = None,
    rating: str | None = None,
    criterion: str | None = None,
    group: str | None = None,
    level: str = "ordinal",
    scale: Sequence[Any] | None = None,
    raters: str | None = None,
    gold: Mapping[Any, Any] | Any = None,
    conf_level: float | None = 0.95,
    force: bool = False,
) -> Reliability:
    """Compute agreement and correlation of raters, read them together, and say what more raters would give.

    ``ordbridge.reliability(...)`` is the same.

    Parameters
    ----------
    source
        A file or table, as :func:`ordbridge.read` takes it, or what it returned.
    participant, item, system, rating, criterion
        Columns, where they are not recognised. Each criterion is analysed separately; where there are systems, what is
        rated is a text: item × system.
    group
        Column with a property of raters (native, expert); each group is analysed beside all raters together.
    level
        ``"nominal"``, ``"ordinal"``, ``"interval"`` or ``"ratio"``; decides which coefficients make sense.
    scale
        ``(lowest, highest)`` of a numeric scale, or all its categories in order.
    raters
        ``"random"`` (default): intervals are about raters like these; ``"fixed"``: about these raters only, and the
        answer says so. Two raters cannot tell how raters differ, so that their intervals are about these two.
    gold
        The right ratings, if they are known; see :func:`ordbridge.reliability.accuracy`.
    conf_level
        Level of the intervals; ``None`` for none, and then no word for any coefficient.
    force
        Whether to go on although ratings are outside the scale, or of several criteria in one column.

    Returns
    -------
    Reliability

    Warns
    -----
    StatisticalWarning
        For everything in the ratings that makes coefficients mislead; also in ``.findings``.

    References
    ----------
    Amidei, J., Piwek, P., & Willis, A. (2019). Agreement is overrated: a plea for correlation to assess human
    evaluation reliability. INLG 2019, 344-354.

    Examples
    --------
    >>> quality = [(7 * i) % 11 // 3 + 1 for i in range(40)]
    >>> ratings = {"item": [*range(40)] * 2, "participant": ["a"] * 40 + ["b"] * 40,
    ...            "rating": quality + [q + 2 - 3 * (i % 9 == 0) for i, q in enumerate(quality)]}
    >>> result = analyse(ratings)
    >>> print(result.answer)
    These 2 raters agree only slightly: Krippendorff's alpha .22 (95% CI .00 to .47, ordinal).
    Averages over both raters are reliable (.84); single ratings are not (.72).
    >>> [finding.code for finding in result.findings]
    ['disagree-ranking-unclear', 'more-raters']
    """
    roles = {"participant": participant, "item": item, "system": system, "rating": rating, "criterion": criterion}
    study = read_for(source, level, scale, roles)
    checked = _usable(study, force)
    scale = study.ends if scale is None else scale
    groups = _groups(study.table, group)
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in _SCHEMAS}
    options = {"raters": raters, "conf_level": conf_level}
    by_criterion, pairs, split = {}, [], {}
    seen: list[Finding] = []
    answer: list[str] = []
    criteria = dict(_criteria(study.table))
    for name, part in criteria.items():
        labels = {"criterion": name}
        subject = where(labels) if len(criteria) > 1 else ""
        every = read_ratings(part, "item", "participant", "rating", scale)
        ratings = by_criterion[name] = every.first_of_each()
        require(ratings, "the analysis", level, varied=False)
        if repeats := len(every.code) - len(ratings.code):
            seen.append(found("texts-rated-twice", subject, n=repeats, text=ratings.text))
            again = stability(every, level=level, conf_level=conf_level)
            rows["stability"] += [labels | row for row in again.to_pylist()]
        if gold is not None:
            rows["accuracy"] += [labels | row for row in accuracy(ratings, gold, level=level).to_pylist()]
        pairs.append(_pairs(describe_pairs(ratings, level), name, groups))
        described = describe_raters(ratings, level)
        seen += outlying(described, subject)
        rows["raters"] += [labels | row | {"group": groups.get(row["participant"])} for row in described]
        rows["categories"] += [labels | row for row in ratings.use_of_categories()]
        for group_name, members in _with_all(ratings, groups):
            own = labels | {"group": group_name}
            about = where({"criterion": subject or ALL_RATINGS, "group": group_name})
            noticed, alpha = _analyse_group(rows, own, about, members, level, options)
            seen += noticed
            if group_name == ALL_RATERS:
                answer += [] if alpha is None else [agreement_line(alpha, level, subject)]
                components, more = _components(ratings, level, conf_level, subject)
                seen += more
                if components is not None:
                    split[name] = components
                    line, more = _averages(rows, own, subject, ratings, components)
                    is_sorted = has(noticed, "sorted-within-items")  # then nobody knows who rated what
                    answer += [] if is_sorted else [line]
                    seen += [] if is_sorted else more
    if not any(
        row["estimate"] is not None and row["coefficient"] != "percent agreement" for row in rows["coefficients"]
    ):
        raise InputError(next(row["note"] for row in rows["coefficients"] if row["note"]))
    rows["checklist"] = _checklist(rows["coefficients"], by_criterion, level, raters, conf_level)
    findings = worst_first([*seen, *_wrong(study, checked, seen)])
    for finding in findings:
        if finding.code in MISLEADING:
            warnings.warn(finding.text, StatisticalWarning, stacklevel=2)
    finished = {name: pa.Table.from_pylist(rows[name], schema=pa.schema(schema)) for name, schema in _SCHEMAS.items()}
    finished["pairs"] = pa.concat_tables(pairs)
    return Reliability(
        answer="\n".join(answer) or "Too few ratings of the same items to say how far raters agree.",
        **finished,
        generalizability=split,
        ratings=by_criterion,
        level=level,
        findings=findings,
        settings={"source": study.source, "columns": dict(study.recognised), "group": group, "level": level,
                  "scale": None if scale is None else list(scale), **options},
    )  # fmt: skip


def _usable(study: RatingTable, force: bool) -> Sequence[Finding]:
    """Return what is wrong with the ratings, unless it makes every coefficient wrong."""
    if "participant" not in study.table.column_names:
        raise InputError(
            f"nothing in {study.source} says who gave a rating, and agreement is between raters; name the column with "
            f"{arg('participant')}"
        )
    findings = check(study).findings
    for one in findings:
        if not force and one.severity == "error" and one.code in ("outside-scale", "criteria-in-one-column"):
            raise InputError(f"{one.text.rstrip('.')}. To ignore this, add {arg('force', True)}")
    return findings


def _wrong(study: RatingTable, checked: Sequence[Finding], seen: Sequence[Finding]) -> list[Finding]:
    """Return how the ratings were read and what is wrong with them, as far as it concerns raters."""
    known = {"rater-constant": "constant-rater", "rater-reversed": "reversed-rater"}
    hushed = ABOUT_SYSTEMS | {other for code, other in known.items() if has(seen, code)}
    wrong = [one for one in checked if one.severity != "note"]
    return [one for one in (*wrong, *study.notes) if one.code not in hushed]


_Listed = tuple[str, str, Callable[..., Coefficient], dict[str, Any]]


def coefficients_for(level: str, slider: bool = False) -> list[_Listed]:
    """Return the coefficients that make sense at a level: name, what kind of thing it measures, function, options.

    On a slider with its many values nobody gives the same rating twice: there it has no unweighted ones. The first is
    Krippendorff's α at that level, from which agreement is read.
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
    return leading + ([] if slider else nominal) + ordinal + (interval if level in ("interval", "ratio") else [])


def _analyse_group(
    rows: dict[str, list[dict[str, Any]]],
    labels: dict[str, str],
    subject: str,
    ratings: Ratings,
    level: str,
    options: dict[str, Any],
) -> tuple[list[Finding], Coefficient | None]:
    """Add the coefficients of one group of raters and their interpretation; return the findings, and α."""
    if len(ratings.raters) < 2:
        return [found("one-rater-group", subject, participant=str(ratings.raters[0]))], None
    noticed = cautions(ratings, subject)
    values: dict[str, Coefficient] = {}
    listed = coefficients_for(level, slider=len(ratings.categories) > MANY_CATEGORIES)
    for name, kind, function, variant in listed:
        try:
            value = function(ratings, **variant, **options)
        except InputError as reason:
            rows["coefficients"].append(labels | {"coefficient": name, "estimate": None, "note": str(reason)})
            continue
        values[name] = value
        rows["coefficients"].append(labels | _coefficient_row(value))
        rows["interpretations"].append(labels | _interpretation_row(value, kind))
    lost = [name for name, *_ in listed if name not in values]
    noticed += [found("undefined-coefficients", subject, coefficients=lost)] if lost and values else []
    alpha = values.get(f"Krippendorff's α, {level}")
    together = values.get("Pearson's r") if level in ("interval", "ratio") else values.get("Goodman & Kruskal's γ")
    for what, one in (("agreement", alpha), ("correlation", together)):
        if one is not None:
            rows["overview"].append(
                labels | _ends(what, f"{what} ({one.name})", one.estimate, one.conf_low, one.conf_high)
            )
    if alpha is not None and not has(noticed, "sorted-within-items"):
        noticed.append(joint_reading(alpha, together, subject))
    return noticed, alpha


def _ends(what: str, measure: str, estimate: float, low: float | None, high: float | None) -> dict[str, Any]:
    return {"what": what, "measure": measure, "estimate": estimate, "conf_low": low, "conf_high": high}


def _components(
    ratings: Ratings, level: str, conf_level: float | None, subject: str
) -> tuple[Generalizability | None, list[Finding]]:
    """Return where the variance of numeric ratings comes from."""
    if level == "nominal" or ratings.scores is None:
        return None, []
    try:
        split = generalizability(
            ratings, draws=quick_draws(ratings) if conf_level else 0, conf_level=conf_level or 0.95
        )
    except (InputError, FitError, RuntimeError) as reason:
        return None, [found("no-components", subject, text=str(reason))]
    return split, [found(one.code, subject, **one.values) for one in split.findings]


def _averages(
    rows: dict[str, list[dict[str, Any]]],
    labels: dict[str, str],
    subject: str,
    ratings: Ratings,
    split: Generalizability,
) -> tuple[str, list[Finding]]:
    """Add the reliability of single ratings and averages; return what to say of them, and what more raters give."""
    what = ITEM if ratings.text == "item" else TEXT
    k = len(ratings.raters) if ratings.crossed else split.per_text
    over = f"{k:.1f}".removesuffix(".0") + f" ratings of each {what}"
    if ratings.crossed:
        over = "both raters" if k == 2 else f"all {k} raters"
    told = (
        ("single rating", "reliability of a single rating", 1),
        ("average", f"reliability of averages over {over}", k),
    )
    for kind, measure, n in told:
        ends = split.interval(what, "relative", n) or (None, None)
        rows["overview"].append(labels | _ends(kind, measure, split.of(what, "relative", n), *ends))
    single, average = (split.of(what, "relative", n) for n in (1, k))
    enough = (n for n in range(math.ceil(k) + 1, MOST_RATERS) if split.of(what, "relative", n) >= RELIABLE)
    n = math.ceil(1.5 * k) if average >= RELIABLE else next(enough, MOST_RATERS)
    more = found("more-raters", subject, n=n, text=what, estimate=split.of(what, "relative", n))
    return averages_line(single, average, over, subject), [more] if n > k and average < 1 else []


def _coefficient_row(value: Coefficient) -> dict[str, Any]:
    fields = set(_SCHEMAS["coefficients"]) - {"criterion", "group", "coefficient"}
    return {"coefficient": value.name} | {name: getattr(value, name) for name in fields}


def _interpretation_row(value: Coefficient, kind: str) -> dict[str, Any]:
    scales = {"agreement": ("krippendorff", "landis_koch"), "correlation": ("rosenthal",)}.get(kind, ())
    words = {scale: interpretation.benchmark(value, scale) for scale in scales}
    return {"coefficient": value.name, "estimate": value.estimate, **words}


def _criteria(table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    if "criterion" not in table.column_names:
        yield ALL_RATINGS, table
        return
    column = table["criterion"]
    if column.null_count:
        raise InputError("the criterion is empty in some rows; fill it in or drop them")
    for value in sorted(pc.unique(column).to_pylist()):
        yield value, table.filter(pc.equal(column, value))


def _groups(table: pa.Table, group: str | None) -> dict[str, str]:
    """Return each rater's group, refusing a rater who is in two."""
    if group is None:
        return {}
    members = tables.column(table, "participant", role="participant").to_pylist()
    known: dict[str, str] = {}
    for member, name in zip(members, tables.column(table, group, role="group of raters").to_pylist(), strict=True):
        if name is None:
            raise InputError(f"column {group!r} is empty for rater {member!r}; name the group or drop the rater")
        if known.setdefault(str(member), str(name)) != str(name):
            raise InputError(
                f"rater {member!r} is in two groups ({known[str(member)]!r} and {str(name)!r}); "
                f"column {group!r} must be a property of the rater"
            )
    return known


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
        columns[f"group_{side}"] = [groups.get(name) for name in table[f"participant_{side}"].to_pylist()]
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
    answers.append(("Words", "the highest that holds with a probability of 95% (Gwet's benchmarking)"))
    variants = {row["coefficient"]: row["definition"] for row in coefficients if row.get("definition")}
    answers += [(f"Coefficient: {name}", definition) for name, definition in variants.items()]
    rows: list[dict[str, Any]] = [{"what": what, "answer": answer} for what, answer in answers]
    return rows + [{"what": question, "answer": None} for question in TO_FILL_IN]
