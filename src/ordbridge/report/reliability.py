"""The page of an analysis of reliability."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from ordbridge import figures
from ordbridge.errors import FitError, InputError
from ordbridge.reliability.analysis import Reliability
from ordbridge.reliability.reading import ALL_RATINGS, located, where
from ordbridge.reliability.variance_components import generalizability, quick_draws
from ordbridge.report.html import Page

__all__ = ["build", "tables_to_read"]

MOST_PANELS = 24
MOST_PAIRS = 300
MOST_BARS = 100

_NAMES = {
    "n_items": "items",
    "n_raters": "raters",
    "n_pairs": "pairs",
    "n_common": "common items",
    "landis_koch": "Landis & Koch",
    "krippendorff": "Krippendorff",
    "rosenthal": "Rosenthal",
    "kappa": "Cohen's κ",
    "gamma": "γ",
    "mean_kappa": "mean κ",
    "mean_gamma": "mean γ",
}


def build(result: Reliability) -> Page:
    """Return the answer, picture, tables and checks; :mod:`ordbridge.report.build` adds the rest."""
    page = Page("Can these raters be trusted?")
    headline, more = _headline(result)
    page.answer(headline, [*more, f"{result.counted}."])
    for row in result.warnings.to_pylist():
        page.warning(located(row, row["message"]))
    for criterion in result.ratings:
        page.picture(
            figures.severity_and_consistency(result.raters, criterion),
            f"Severity and consistency of each rater{_of(criterion)}; those who stand apart are orange",
        )
    page.heading("Coefficients")
    for label, table in tables_to_read(result):
        page.table(table.select([n for n in table.column_names if n not in BEHIND]), caption=label, names=_NAMES)
    intervals = next(row["answer"] for row in result.checklist.to_pylist() if row["what"] == "Intervals")
    page.sentence(
        f"Intervals: {intervals}. A word is the highest that holds with 95 %; the scales of words are conventions."
    )
    page.heading("Checks")
    _apart(page, result)
    for criterion, ratings in result.ratings.items():
        _pictures(page, result, criterion, ratings)
    _raters(page, result)
    _components(page, result)
    _within(page, result)
    _what_papers_forget(page, result)
    return page


def _headline(result: Reliability) -> tuple[str, list[str]]:
    """Return what the raters do, with agreement and correlation; of several criteria how many say what."""
    readings = result.readings.to_pylist()
    if len(readings) != 1:
        return result.answer, [located(row, row["reading"]) for row in readings]
    (row,) = readings
    if row["caution"]:
        return f"{row['caution']}.", [located(row, row["reading"])]
    own = [c for c in result.coefficients.to_pylist() if where(c) == where(row) and c["estimate"] is not None]
    numbers = []
    for word, name in (("agreement", f"{AGREEMENT}, {result.level}"), ("correlation", CORRELATIONS[result.level])):
        found = next((c for c in own if c["coefficient"] == name), None)
        if found is not None:
            low, high = (_two_digits(found[end]) for end in ("conf_low", "conf_high"))
            numbers.append(f"{word} {_two_digits(found['estimate'])}" + (f" ({low} to {high})" if low else ""))
    finding, advice = (text[:1].upper() + text[1:] for text in (row["finding"], row["advice"]))
    return (
        located(row, f"{finding}: {', '.join(numbers)}."),
        [f"{row['verdict']} ({row['numbers']}).", f"{advice}." if advice else ""],
    )


def _two_digits(value: float | None) -> str:
    return "" if value is None else f"{round(value, 2) + 0.0:.2f}".replace("-", "−")  # no −0.00


AGREEMENT = "Krippendorff's α"
CORRELATIONS = {
    "ordinal": "Goodman & Kruskal's γ",
    "interval": "Pearson's r",
    "ratio": "Pearson's r",
    "nominal": "none",
}

BEHIND = ("p_value", "note", "n_pairs")
"""Columns that the first table leaves out; the table of all coefficients has them."""


def _of(criterion: str) -> str:
    return "" if criterion == ALL_RATINGS else f" ({criterion})"


def tables_to_read(result: Reliability) -> Iterator[tuple[str, pa.Table]]:
    """Yield, for each criterion and group, its name and the coefficients next to their interpretations."""
    key = ("criterion", "group", "coefficient")
    words = {tuple(row[name] for name in key): row for row in result.interpretations.to_pylist()}
    parts: dict[str, list[dict[str, Any]]] = {}
    for row in result.coefficients.to_pylist():
        read = words.get(tuple(row[name] for name in key), {})
        parts.setdefault(where(row), []).append(row | {name: read.get(name) for name in _WORDS})
    for label, rows in parts.items():
        yield label, pa.Table.from_pylist(rows, schema=_READABLE)


_WORDS = ("krippendorff", "landis_koch", "rosenthal")
_READABLE = pa.schema(
    {
        "coefficient": pa.string(),
        **{name: pa.float64() for name in ("estimate", "conf_low", "conf_high")},
        **{name: pa.string() for name in _WORDS},
        **{name: pa.int64() for name in ("n_items", "n_raters", "n_pairs")},
        "p_value": pa.float64(),
        "note": pa.string(),
    }
)


def _pictures(page: Page, result: Reliability, criterion: str, ratings: Any) -> None:
    apart = sorted(
        (row for row in result.raters.to_pylist() if row["criterion"] == criterion),
        key=lambda row: (row["consistency"] is None, row["consistency"]),
    )
    with page.folded(f"Pictures of raters and pairs{_of(criterion)}"):
        if ratings.ordered:
            chosen, which = ratings, "of each rater"
            if len(ratings.raters) > MOST_PANELS:
                few = {row["rater"] for row in apart[:MOST_PANELS]}
                chosen = ratings.of_raters([rater for rater in ratings.raters if str(rater) in few])
                which = f"of the {MOST_PANELS} raters with the lowest consistency with the others"
            page.picture(figures.ratings_by_item(chosen), f"Ratings {which}, item by item")
        if len(ratings.raters) > MOST_BARS:
            page.sentence(f"Pictures of all {len(ratings.raters)} raters and their pairs are left out.")
            return
        page.picture(figures.categories_used(ratings), "Categories used by each rater")
        page.picture(figures.pairs_heatmap(result.pairs, criterion), "Pairs of raters; hatched: without a value")


def _apart(page: Page, result: Reliability) -> None:
    flagged = [row for row in result.raters.to_pylist() if row["flagged"]]
    page.sentence(
        (f"{len(flagged)} raters stand apart" if flagged else "No rater stands apart")
        + ", by severity or consistency, at a false discovery rate of 5 %."
    )
    page.sentences(located(row | {"group": None}, f"{row['rater']}: {row['reason']}") for row in flagged)


def _raters(page: Page, result: Reliability) -> None:
    with page.folded("Every rater"):
        if len(result.raters) > MOST_PAIRS:
            page.sentence(f"All {len(result.raters)} raters are in the table `raters` of the result.")
        else:
            page.table(_without_placeholder(result.raters), names=_NAMES)
    with page.folded("Every pair of raters"):
        if len(result.pairs) > MOST_PAIRS:
            page.sentence(
                f"The {len(result.pairs)} pairs are in the table `pairs` of the result; they are too many to read."
            )
        else:
            page.table(_without_placeholder(result.pairs), names=_NAMES)
    with page.folded("All coefficients, with their counts and notes"):
        page.table(_without_placeholder(result.coefficients.drop_columns(["definition"])), names=_NAMES)


def _components(page: Page, result: Reliability) -> None:
    """Add where the variance of the ratings comes from, and what more raters would buy."""
    if result.level == "nominal":
        return
    for criterion, ratings in result.ratings.items():
        try:
            found = generalizability(ratings, draws=quick_draws(ratings))
        except (InputError, FitError):
            continue
        with page.folded(f"What more raters would buy{_of(criterion)}"):
            page.sentence(found.sentence)
            page.picture(figures.d_study(found), "How reliability grows with raters (relative: order; absolute: level)")
            page.table(found.components, "Components of variance")
            if found.icc is not None and found.icc.num_rows:
                page.table(found.icc, "Intraclass correlations from these components (all ratings, gaps or not)")
            page.sentence(f"Note: {found.note}." if found.note else "")


def _within(page: Page, result: Reliability) -> None:
    """Add stability and accuracy, where there are repeated ratings or a gold standard."""
    for name in ("stability", "accuracy"):
        table = getattr(result, name)
        if table.num_rows:
            with page.folded(name.capitalize()):
                page.table(_without_placeholder(table.slice(0, MOST_PAIRS)), names=_NAMES)


def _what_papers_forget(page: Page, result: Reliability) -> None:
    rows = result.checklist.to_pylist()
    answered = pa.Table.from_pylist([row for row in rows if row["answer"] is not None], schema=result.checklist.schema)
    with page.folded("What papers forget to report"):
        page.table(answered, names={"what": "what", "answer": "here"})
        page.heading("To fill in: what the data cannot tell", 3)
        for row in rows:
            if row["answer"] is None:
                page.to_fill_in(row["what"])


def _without_placeholder(table: pa.Table) -> pa.Table:
    """Drop the column of criteria when there are none."""
    return table.drop_columns("criterion") if set(table["criterion"].to_pylist()) == {ALL_RATINGS} else table
