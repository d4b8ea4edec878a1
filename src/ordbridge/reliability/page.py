"""The report on reliability as one HTML page."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from ordbridge.reliability import plots
from ordbridge.reliability.analyse import Reliability
from ordbridge.reliability.reading import ALL_RATINGS, located, where
from ordbridge.report import Page

__all__ = ["answer", "build", "counted", "report", "tables_to_read"]

MOST_PANELS = 24
MOST_PAIRS = 300

_NAMES = {
    "conf_low": "low",
    "conf_high": "high",
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
    "p_value": "p",
}


def report(result: Reliability, path: str | os.PathLike[str], repeat: str = "") -> Path:
    """Write all that :func:`ordbridge.reliability.analyse` found to one self-contained HTML file.

    Parameters
    ----------
    result
        What was found.
    path
        The file, ``.html``.
    repeat
        The command that made the result.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from ordbridge.reliability import analyse
    >>> ratings = {"item": [*range(30)] * 2, "participant": ["a"] * 30 + ["b"] * 30,
    ...            "rating": [i % 3 for i in range(30)] + [i % 4 for i in range(30)]}
    >>> with TemporaryDirectory() as folder:
    ...     report(analyse(ratings, draws=0), f"{folder}/report.html").stat().st_size > 10_000
    True
    """
    from ordbridge.pages import write_report

    return write_report(result, path, repeat)


def build(result: Reliability) -> Page:
    """Return question, answer, tables and pictures as a page; :mod:`ordbridge.pages` adds the rest."""
    page = Page("Reliability of the ratings")
    for row in result.warnings.to_pylist():
        page.warning(located(row, row["message"]))
    page.heading("Question").sentence(f"Can these raters be trusted? {counted(result)}.")
    page.heading("Answer").sentence(answer(result))
    if result.readings.num_rows > 1:
        page.sentences(located(row, row["reading"]) for row in result.readings.to_pylist())
    page.heading("Coefficients")
    intervals = next(row["answer"] for row in result.checklist.to_pylist() if row["what"] == "Intervals")
    page.sentence(f"Intervals: {intervals}. Interpretations are conventions; the scales are given below.")
    for label, table in tables_to_read(result):
        page.table(table, caption=label, names=_NAMES)
    for criterion, ratings in result.ratings.items():
        _pictures(page, result, criterion, ratings)
    _raters(page, result)
    _what_papers_forget(page, result)
    return page


def answer(result: Reliability) -> str:
    """Return the joint reading of agreement and correlation; of several, how many say what.

    Examples
    --------
    >>> from ordbridge.reliability import analyse
    >>> ratings = {"item": [*range(40)] * 2, "participant": ["a"] * 40 + ["b"] * 40,
    ...            "rating": [i % 4 + 1 for i in range(40)] * 2}
    >>> answer(analyse(ratings, draws=0))[:35]
    'High agreement and high correlation'
    """
    rows = result.readings.to_pylist()
    if not rows:
        return "There are too few ratings of the same items to say how far the raters agree."
    if len(rows) == 1:
        return located(rows[0], rows[0]["reading"])
    verdicts = Counter(row["reading"].partition(":")[0].partition(" (")[0] for row in rows)
    words = "; ".join(f"{verdict[0].lower()}{verdict[1:]} in {number}" for verdict, number in verdicts.most_common())
    return f"Of {len(rows)} readings (criteria and groups of raters): {words}."


def counted(result: Reliability) -> str:
    """Say how many ratings there are, and of what."""
    rated = sum(r.codes.size - r.n_missing for r in result.ratings.values())
    items, raters = (
        len({str(name) for r in result.ratings.values() for name in getattr(r, side)}) for side in ("items", "raters")
    )
    criteria = f" on {len(result.ratings)} criteria" if len(result.ratings) > 1 else ""
    return f"{raters} raters gave {rated} ratings of {items} items{criteria}"


def tables_to_read(result: Reliability) -> Iterator[tuple[str, pa.Table]]:
    """Yield, for each criterion and group, its name and the coefficients beside their interpretations."""
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
    page.heading("Pictures" if criterion == ALL_RATINGS else f"Pictures: {criterion}")
    apart = sorted(
        (row for row in result.raters.to_pylist() if row["criterion"] == criterion),
        key=lambda row: (row["mean_gamma"] is None, row["mean_gamma"]),
    )
    if ratings.ordered:
        chosen, which = ratings, "of each rater"
        if len(ratings.raters) > MOST_PANELS:
            few = {row["rater"] for row in apart[:MOST_PANELS]}
            chosen = ratings.of_raters([rater for rater in ratings.raters if str(rater) in few])
            which = f"of the {MOST_PANELS} raters with the lowest correlation with the others"
        page.picture(plots.ratings_by_item(chosen), f"Ratings {which}, item by item")
    page.picture(plots.categories_used(ratings), "Categories used by each rater")
    page.picture(plots.pairs_heatmap(result.pairs, criterion), "Pairs of raters; empty cells have no value")


def _raters(page: Page, result: Reliability) -> None:
    page.heading("Diagnostics: single raters")
    flagged = [row for row in result.raters.to_pylist() if row["flagged"]]
    page.sentence(f"{len(flagged)} raters stand apart." if flagged else "No rater stands apart.")
    page.sentences(located(row | {"group": None}, f"{row['rater']}: {row['reason']}") for row in flagged)
    page.table(_without_placeholder(result.raters), names=_NAMES)
    page.heading("Pairs of raters", 3)
    if len(result.pairs) > MOST_PAIRS:
        page.sentence(
            f"The {len(result.pairs)} pairs are in the table `pairs` of the result; they are too many to read."
        )
    else:
        page.table(_without_placeholder(result.pairs), names=_NAMES)


def _what_papers_forget(page: Page, result: Reliability) -> None:
    rows = result.checklist.to_pylist()
    answered = pa.Table.from_pylist([row for row in rows if row["answer"] is not None], schema=result.checklist.schema)
    page.heading("What papers forget to report")
    page.table(answered, names={"what": "what", "answer": "here"})
    page.heading("To fill in: what the data cannot tell", 3)
    for row in rows:
        if row["answer"] is None:
            page.to_fill_in(row["what"])


def _without_placeholder(table: pa.Table) -> pa.Table:
    """Drop the column of criteria when there are none."""
    return table.drop_columns("criterion") if set(table["criterion"].to_pylist()) == {ALL_RATINGS} else table
