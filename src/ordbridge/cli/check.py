"""``ordbridge check``: what is wrong with a file of ratings, before any model."""

from __future__ import annotations

import argparse

from ordbridge.cli import outputs, reading


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.description = (
        "Duplicates, codes outside the scale, names written in two ways, raters who did not read, parts "
        "without a link and more, with the rows of the file and what to do. The exit code is 1 if there are "
        "errors."
    )
    reading.add_files(parser)
    reading.add_options(parser)
    parser.add_argument("--out", metavar="FILE", help="write the table to .csv or .parquet")
    outputs.add_json(parser)
    parser.set_defaults(run=run, reads=("file", "join"))


def run(args: argparse.Namespace) -> int:
    """Check, show, and return 1 if there are errors."""
    from ordbridge.reading import check, read
    from ordbridge.reading.tables import write

    found = check(read(reading.files(args), **reading.options(args)))
    outputs.finish(found, args, *([write(found.table, args.out)] if args.out else []))
    return int(found.errors)
