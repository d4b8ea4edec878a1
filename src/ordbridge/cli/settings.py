"""``ordbridge settings``: settings for a power study from the ratings of past studies."""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

from ordbridge.cli import models, outputs, reading
from ordbridge.cli.defaults import defaults_of

COLUMNS = ("system", "item", "participant", "rating")


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    usual = defaults_of("papers.past_studies:settings_from", "engine", "link", *COLUMNS)
    parser.add_argument("files", nargs="+", metavar="FILE", help="ratings, one study per file, as for compare")
    parser.add_argument("--out", metavar="FILE", help="write a study file for `ordbridge power`, .toml")
    models.add_engine(parser, usual["engine"])
    parser.add_argument("--link", help="default: %(default)s, as in the paper")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="longest time for one fit")
    for column in COLUMNS:
        parser.add_argument(f"--{column}", metavar="COLUMN", help="default: recognised")
    reading.add_options(parser, without=(*COLUMNS, "lower_is_better", "higher_is_better"))
    parser.add_argument("--details", action="store_true", help="print all estimates")
    outputs.add_json(parser)
    parser.set_defaults(**usual, run=run, reads=("files",))


def run(args: argparse.Namespace) -> int:
    """Fit, summarise, show and write."""
    from ordbridge.errors import InputError, StatisticalWarning
    from ordbridge.papers.howcroft2021 import settings_from

    if args.out and not args.out.endswith(".toml"):
        raise InputError(f"cannot write {args.out}: name a file that ends in .toml")
    columns = {name: getattr(args, name) for name in COLUMNS}
    how = reading.options(args)
    studies = {}
    for file in args.files:
        table = reading.long_table(file, columns, how)
        studies[Path(file).stem if Path(file).stem not in studies else file] = table
    if not all(set(columns.values()) <= set(table.column_names) for table in studies.values()):
        columns = {name: name for name in COLUMNS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticalWarning)  # shown below
        settings = settings_from(studies, engine=args.engine, link=args.link, timeout=args.timeout, **columns)
    if args.out:
        settings.to_toml(args.out)
    outputs.finish(settings, args, *([Path(args.out)] if args.out else []))
    return 0
