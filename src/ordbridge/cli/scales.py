"""``ordbridge scales``: rating scales compared."""

from __future__ import annotations

import argparse
from pathlib import Path

from ordbridge.cli import outputs, reading
from ordbridge.cli.defaults import defaults_of

COLUMNS = ("system", "item", "participant", "rating", "criterion", "text_type")


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.description = (
        "Reliability, interchangeability, sensitivity, effect of factors, stability and validity of scales on"
        " which the same systems were rated, as Belz & Kow (2011) compare them."
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="file of a scale, as for compare; two or more")
    for role in ("system", "item", "participant", "rating"):
        parser.add_argument(f"--{role}", metavar="COLUMN", help=f"column of the {role} (default: recognised)")
    parser.add_argument("--names", nargs="+", metavar="NAME", help="names of the scales (default: those of the files)")
    parser.add_argument("--criterion", metavar="COLUMN", help="column of the criterion; each is compared separately")
    own = ("system", "item", "participant", "rating", "criterion", "lower_is_better", "higher_is_better")
    reading.add_options(parser, without=own)
    parser.add_argument("--text-type", metavar="COLUMN", help="column of the type of text")
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
    parser.set_defaults(
        **defaults_of("scales.api:compare", *COLUMNS, "posthoc"), run=run, reads=("files", "again", "outside")
    )


def run(args: argparse.Namespace) -> int:
    """Compare the scales and show the result."""
    from ordbridge.errors import InputError
    from ordbridge.scales import compare

    outputs.require_writable(args)
    names = args.names or _names(args.files)
    if len(names) != len(args.files) or len(set(names)) != len(names):
        raise InputError(f"--names needs {len(args.files)} different names, one for each file")
    if len(names) < 2:
        raise InputError("name the files of at least two scales; one scale cannot be compared")
    if len(args.again) > len(names):
        raise InputError(f"--again has {len(args.again)} files for {len(names)} scales")
    columns = {name: getattr(args, name) for name in COLUMNS}
    how = reading.options(args)
    tables = [reading.long_table(file, columns, how) for file in (*args.files, *args.again)]
    wanted = {name for name in columns.values() if name is not None}
    if not all(wanted <= set(table.column_names) for table in tables):
        columns |= {name: name for name, column in columns.items() if column is not None and name != "text_type"}
    result = compare(
        dict(zip(names, tables, strict=False)),
        again=dict(zip(names, tables[len(names) :], strict=False)),
        outside=args.outside,
        posthoc=args.posthoc,
        **columns,
    )
    outputs.finish(result, args)
    return 0


def _names(files: list[str]) -> list[str]:
    """Return the files' names without endings, or the paths where those are equal, or the paths with numbers."""
    for names in ([Path(file).stem for file in files], files):
        if len(set(names)) == len(names):
            return names
    return [f"{file} ({number})" for number, file in enumerate(files, 1)]
