"""``ordbridge read``: any file of ratings as one row per rating."""

from __future__ import annotations

import argparse
from dataclasses import replace

from ordbridge.cli import outputs, reading, talk

__all__ = ["add"]


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.description = (
        "Reads spreadsheets, tables with a column per rater, system or criterion, and the exports of survey "
        "and annotation tools; says what was taken for what, and writes one row per rating."
    )
    reading.add_files(parser)
    reading.add_options(parser)
    parser.add_argument("--explain", action="store_true", help="say for every column why it was taken as it was")
    parser.add_argument("--out", metavar="FILE", help="write the ratings to .csv or .parquet")
    outputs.add_json(parser)
    parser.set_defaults(run=run, reads=("file", "join"))


def run(args: argparse.Namespace) -> int:
    """Read, say what was read, and write it."""
    from ordbridge.reading import read
    from ordbridge.reading.labels import order_of_labels
    from ordbridge.reading.tables import write

    ratings = read(reading.files(args), **reading.options(args))
    if args.explain:
        ratings = replace(ratings, notes=(*ratings.notes, *ratings.evidence))
    outputs.finish(ratings, args, *([write(ratings.table, args.out)] if args.out else []))
    words = ratings.levels and order_of_labels(ratings.levels) != ratings.levels
    if words and args.out and not args.out.endswith(".parquet"):
        talk.tell("A CSV file does not keep the order of labels: give --levels when it is read, or write .parquet.")
    elif not args.out:
        talk.tell("To keep them: --out ratings.csv")
    return 0
