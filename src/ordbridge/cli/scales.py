"""``ordbridge scales``: rating scales compared."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ordbridge.cli import outputs
from ordbridge.cli.defaults import defaults_of

__all__ = ["add", "run"]


def add(subparsers: Any) -> None:
    """Add the command to the parser."""
    from ordbridge.reliability.scales import compare

    parser = subparsers.add_parser(
        "scales",
        help="compare rating scales",
        description="Reliability, interchangeability, sensitivity, effect of factors, stability and validity of scales "
        "on which the same systems were rated, as Belz & Kow (2011) compare them.",
    )
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="CSV or Parquet file of a scale, one row per rating; two or more"
    )
    parser.add_argument("--system", help="column of the system (default: %(default)s)")
    parser.add_argument("--item", help="column of the item (default: %(default)s)")
    parser.add_argument("--rater", help="column of the rater (default: %(default)s)")
    parser.add_argument("--rating", help="column of the rating (default: %(default)s)")
    parser.add_argument("--criterion", help="column of the criterion; each is compared separately")
    parser.add_argument("--text-type", help="column of the type of text")
    parser.add_argument(
        "--again",
        nargs="+",
        default=[],
        metavar="FILE",
        help="second run of the same raters with the first scale, the second scale and so on: stability",
    )
    parser.add_argument(
        "--outside", metavar="FILE", help="table of another measure, columns system and value: validity"
    )
    parser.add_argument(
        "--posthoc",
        choices=["tukey", "holm", "bonferroni"],
        help="test of pairs of systems (default: %(default)s)",
    )
    outputs.add_options(parser, plot="agreement and systems on each scale")
    parser.set_defaults(**defaults_of(compare, "system", "item", "rater", "rating", "posthoc"), run=run)


def run(args: argparse.Namespace) -> int:
    """Compare the scales and show the tables of the paper."""
    from ordbridge.cli import show
    from ordbridge.errors import InputError
    from ordbridge.reliability.scales import compare

    names = _names(args.files)
    if len(names) < 2:
        raise InputError("name the files of at least two scales; one scale cannot be compared")
    if len(args.again) > len(names):
        raise InputError(f"--again has {len(args.again)} files for {len(names)} scales")
    comparison = compare(
        dict(zip(names, args.files, strict=True)),
        None,
        args.system,
        args.item,
        args.rater,
        args.rating,
        criterion=args.criterion,
        text_type=args.text_type,
        again=dict(zip(names, args.again, strict=False)),
        outside=args.outside,
        posthoc=args.posthoc,
    )
    for caption, table in comparison.as_in_paper().items():
        show.table(table, title=caption)
    show.line("* p < .05, ** p < .01")
    for line in (comparison.answer, *comparison.sentences):
        show.line(line)
    for note in comparison.notes:
        show.line(f"Note: {note}")
    for path in outputs.keep(comparison, args):
        show.line(f"wrote {path}")
    return 0


def _names(files: list[str]) -> list[str]:
    """Return the files' names without endings, or the paths where those are equal, or the paths with numbers."""
    for names in ([Path(file).stem for file in files], files):
        if len(set(names)) == len(names):
            return names
    return [f"{file} ({number})" for number, file in enumerate(files, 1)]
