"""``ordbridge design``: an assignment sheet for annotators, and how balanced it is."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from ordbridge.cli import show
from ordbridge.cli.defaults import choices_of, defaults_of
from ordbridge.errors import InputError


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command with one sub-command per kind of design."""
    from ordbridge import design

    kinds = parser.add_subparsers(dest="kind", metavar="KIND", required=True)

    counterbalanced = _kind(
        kinds, "counterbalanced", "nobody sees an item twice, everyone sees all systems equally often"
    )
    _numbers(counterbalanced, design.counterbalanced)
    latin = _kind(kinds, "latin-square", "repeated Latin squares: every rater sees each item, under one system")
    _numbers(latin, design.latin_square)
    crossed = _kind(kinds, "crossed", "everyone rates every item under every system")
    _numbers(crossed, design.crossed)
    howcroft2021 = _kind(kinds, "howcroft2021", "the tables of Howcroft & Rieser's published simulation")
    _numbers(howcroft2021, design.howcroft2021)
    from_ratings = _kind(kinds, "from-ratings", "the design of a study that was really run")
    from_ratings.add_argument("table", metavar="FILE", help="ratings, .csv or .parquet")
    for role, column in defaults_of("design.inspect:from_ratings").items():
        from_ratings.add_argument(f"--{role}", default=column, metavar="COLUMN", help="default: %(default)s")
    from_ratings.set_defaults(reads=("table",))
    _comparisons(kinds)


def _comparisons(kinds: Any) -> None:
    summary = "comparisons of two systems: pairs, items and both orders as even as possible; or which pairs to ask next"
    parser: argparse.ArgumentParser = kinds.add_parser("comparisons", help=summary, description=summary)
    parser.add_argument("table", nargs="?", metavar="FILE", help="comparisons so far: say which pairs to ask next")
    parser.add_argument("--next", type=int, metavar="N", help="with a file: how many comparisons to ask next")
    parser.add_argument("--by", choices=choices_of("preferences.sample_size:CHOOSE_BY"), help="default: %(default)s")
    parser.add_argument("--names", nargs="+", metavar="NAME", help="the systems")
    for name in ("items", "raters", "per-rater"):
        parser.add_argument(f"--{name}", type=int, metavar="N")
    parser.add_argument("--seed", type=int, metavar="N", help="default: %(default)s")
    parser.add_argument("--out", metavar="FILE", help="write the sheet to .csv or .parquet")
    usual = defaults_of("preferences.sample_size:next_pairs", "by")
    usual |= defaults_of("preferences.sample_size:comparison_sheet", "seed")
    parser.set_defaults(**usual, run=run_comparisons, reads=("table",))


def run_comparisons(args: argparse.Namespace) -> int:
    """Write who compares what, or say which pairs to ask next."""
    from ordbridge.preferences import comparison_sheet, next_pairs
    from ordbridge.reading.tables import write

    numbers = (args.items, args.raters, args.per_rater)
    if args.table is not None:
        if args.next is None or args.names or any(numbers):
            raise InputError("with a file of comparisons give --next N alone: how many to ask next")
        table = next_pairs(args.table, args.next, by=args.by)
        show.table(table, title=f"{args.next} comparisons to ask next, by {args.by}")
    else:
        if not args.names or not all(numbers):
            raise InputError("give --names, --items, --raters and --per-rater, or a file of comparisons and --next N")
        table = comparison_sheet(args.names, *numbers, seed=args.seed)
        show.line(f"{table.num_rows} comparisons: {args.raters} raters, {args.items} items, {len(args.names)} systems")
    if args.out:
        show.line(f"wrote {write(table, args.out)}")
    return 0


def _kind(kinds: Any, name: str, summary: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = kinds.add_parser(name, help=summary, description=summary)
    parser.add_argument("--out", metavar="FILE", help="write the assignment sheet to .csv or .parquet")
    add_sheets(parser)
    parser.set_defaults(run=run)
    return parser


def add_sheets(parser: argparse.ArgumentParser) -> None:
    """Add what writes sheets for annotators."""
    parser.add_argument(
        "--sheets",
        metavar="PATH",
        help="for annotators: a folder for a CSV each, or one file for Potato (.jsonl) or Label Studio (.json)",
    )
    parser.add_argument("--texts", metavar="FILE", help="what the sheets show: a table item, system, text")


def keep_sheets(table: pa.Table, args: argparse.Namespace) -> list[str]:
    """Write the sheets, if they were asked for, and say where."""
    from ordbridge.design import sheets

    if args.texts and not args.sheets:
        raise InputError("--texts belongs to --sheets, which says where the sheets go")
    if not args.sheets:
        return []
    written = sheets(table, args.sheets, texts=args.texts)
    return [str(written[0]) if len(written) == 1 else f"{len(written)} files in {args.sheets}"]


def _numbers(parser: argparse.ArgumentParser, build: Callable[..., pa.Table]) -> None:
    """Add an option per argument of a function that takes whole numbers."""
    for name, parameter in inspect.signature(build).parameters.items():
        option = f"--{name.replace('_', '-')}"
        if parameter.default is inspect.Parameter.empty:
            parser.add_argument(option, type=int, required=True, metavar="N")
        else:
            parser.add_argument(option, type=int, default=parameter.default, metavar="N", help="default: %(default)s")


def run(args: argparse.Namespace) -> int:
    """Build the design, say how balanced it is, and write it."""
    from ordbridge import design
    from ordbridge.reading.tables import write

    build: Callable[..., pa.Table] = getattr(design, args.kind.replace("-", "_"))
    options = {
        name: value
        for name, value in vars(args).items()
        if name not in {"command", "kind", "out", "parser", "run", "sheets", "texts"}
    }
    table = build(**options)
    show.table(design.check(table), title=_size(table))
    if note := (table.schema.metadata or {}).get(b"note"):
        show.line(note.decode())
    if args.out:
        show.line(f"wrote {write(sheet(table), args.out)}")
    for where in keep_sheets(table, args):
        show.line(f"wrote {where}")
    return 0


def sheet(table: pa.Table) -> pa.Table:
    """Return the design as annotators read it: participant by participant, in the order of rating."""
    rows = table.sort_by([("participant", "ascending"), ("order", "ascending")])
    return rows.select(["participant", "order", "item", "system"]).replace_schema_metadata(None)


def _size(table: pa.Table) -> str:
    counts = [f"{len(table[name].unique())} {name}s" for name in ("participant", "item", "system")]
    return f"{table.num_rows} ratings: {', '.join(counts)}"
