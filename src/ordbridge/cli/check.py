"""``ordbridge check``: what is wrong with a file of ratings, before any model."""

from __future__ import annotations

import argparse
from typing import Any

from ordbridge.cli import reading, show, wording

__all__ = ["add"]


def add(subparsers: Any) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "check",
        help="say what is wrong with ratings, before any model",
        description="Duplicates, codes outside the scale, names written in two ways, raters who did not read, parts "
        "without a link and more, with the rows of the file and what to do. The exit code is 1 if there are errors.",
    )
    parser.add_argument("file", help="the file, or Potato's folder")
    reading.add_options(parser)
    parser.add_argument("--scale", nargs=2, type=float, metavar=("LOWEST", "HIGHEST"), help="ends of the scale")
    parser.add_argument("--out", metavar="FILE", help="write the table to .csv or .parquet")
    parser.add_argument("--json", action="store_true", help="print recognised, notes and checks as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Check, show, and return 1 if there are errors."""
    from ordbridge.data import check, read
    from ordbridge.tables import write

    ratings = read(args.file, **reading.options(args))
    found = check(ratings, scale=args.scale)
    if args.out:
        write(found.table, args.out)
    if args.json:
        said = {"recognised": dict(ratings.recognised), "notes": list(ratings.notes), "checks": found.table.to_pylist()}
        show.data(said)
        return int(found.errors)
    for line in ratings.said:
        show.line(wording.as_typed(line, args))
    if not len(found):
        show.line("nothing found that is wrong with them")
        return 0
    show.line()
    for sentence in found.sentences:
        show.line(wording.as_typed(sentence, args))
    if args.out:
        show.line(f"wrote {args.out}")
    return int(found.errors)
