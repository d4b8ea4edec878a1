"""``ordbridge scales``: two rating scales compared."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

__all__ = ["add", "run"]


def add(subparsers: Any) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "scales",
        help="compare two rating scales",
        description="Reliability, interchangeability, sensitivity and effect of factors of two scales on which the "
        "same systems were rated, as Belz & Kow (2011) compare them.",
    )
    parser.add_argument("first", help="CSV or Parquet file of the first scale, one row a rating")
    parser.add_argument("second", help="the same for the second scale")
    parser.add_argument("--system", default="system", help="column of the system (default: %(default)s)")
    parser.add_argument("--item", default="item", help="column of the item (default: %(default)s)")
    parser.add_argument("--rater", default="rater", help="column of the rater (default: %(default)s)")
    parser.add_argument("--rating", default="rating", help="column of the rating (default: %(default)s)")
    parser.add_argument("--text-type", help="column of the type of text")
    parser.add_argument(
        "--posthoc",
        default="tukey",
        choices=["tukey", "holm", "bonferroni"],
        help="test of pairs of systems (default: %(default)s)",
    )
    parser.add_argument("--html", metavar="FILE", help="write the comparison to this HTML file")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Compare the scales and show the tables of the paper."""
    from ordbridge.cli import show
    from ordbridge.reliability.scales import compare

    names = _names(args.first, args.second)
    comparison = compare(
        args.first,
        args.second,
        args.system,
        args.item,
        args.rater,
        args.rating,
        text_type=args.text_type,
        posthoc=args.posthoc,
        names=names,
    )
    for caption, table in comparison.as_in_paper().items():
        show.table(table, title=caption)
    for row in comparison.sensitivity.to_pylist():
        if row["note"]:
            show.line(f"{row['scale']}: {row['note']}")
    show.line("* p < .05, ** p < .01")
    if args.html:
        show.line(f"Report: {_report(comparison, names, args.html)}")
    return 0


def _names(first: str, second: str) -> tuple[str, str]:
    """Return the files' names without endings, or with their folders where those are equal."""
    stems = Path(first).stem, Path(second).stem
    return stems if stems[0] != stems[1] else (first, f"{second} (second)" if first == second else second)


def _report(comparison: Any, names: tuple[str, str], path: str) -> Path:
    from ordbridge.report import Page

    page = Page(f"Two rating scales: {names[0]} and {names[1]}")
    for caption, table in comparison.as_in_paper().items():
        page.table(table, caption=caption)
    page.sentence("* p < .05, ** p < .01")
    page.heading("Means of the systems").table(comparison.means)
    page.heading("Differences between systems").table(comparison.differences)
    page.heading("The numbers behind these tables")
    for name in ("reliability", "interchangeability", "sensitivity", "factors"):
        page.table(getattr(comparison, name), caption=name)
    return page.write(path)
