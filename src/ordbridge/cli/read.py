"""``ordbridge read``: any file of ratings as one row per rating."""

from __future__ import annotations

import argparse
from typing import Any

from ordbridge.cli import reading, show, wording

__all__ = ["add"]

FIRST = 5


def add(subparsers: Any) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "read",
        help="turn any file of ratings into one row per rating",
        description="Reads spreadsheets, tables with a column per rater, system or criterion, and the exports of "
        "survey and annotation tools; says what was taken for what, and writes one row per rating.",
    )
    parser.add_argument("file", help="the file, or Potato's folder")
    reading.add_options(parser)
    parser.add_argument("--out", metavar="FILE", help="write the ratings to .csv or .parquet")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Read, say what was read, and write it."""
    from ordbridge.data import read
    from ordbridge.data.labels import order_of_labels
    from ordbridge.tables import write

    ratings = read(args.file, **reading.options(args))
    for line in ratings.said:
        show.line(wording.as_typed(line, args))
    for flaw in ratings.flaws:
        show.line(f"{flaw.severity}: {wording.as_typed(flaw.what, args)}")
    show.table(
        ratings.table.select(list(ratings.recognised)).slice(0, FIRST),
        title=f"The first of {ratings.table.num_rows} ratings",
    )
    if args.out:
        show.line(f"wrote {write(ratings.table, args.out)}")
        if ratings.levels and not args.out.endswith(".parquet") and order_of_labels(ratings.levels) != ratings.levels:
            show.line(
                "a CSV file does not keep the order of labels: give --levels again when it is read, or write .parquet"
            )
    else:
        show.line("to keep them: --out ratings.csv")
    return 0
