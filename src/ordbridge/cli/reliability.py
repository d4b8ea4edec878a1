"""``ordbridge reliability``: agreement and correlation of raters."""

from __future__ import annotations

import argparse
import warnings
from typing import Any

from ordbridge.cli import paper, show

__all__ = ["add", "run"]

_SHOWN = (
    "coefficient",
    "estimate",
    "conf_low",
    "conf_high",
    "krippendorff",
    "landis_koch",
    "rosenthal",
    "n_items",
    "note",
)


def add(subparsers: Any) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "reliability",
        help="agreement and correlation of raters, read together",
        description="Coefficients of agreement and correlation with intervals, pairs of raters, raters who stand "
        "apart, and what makes these coefficients mislead.",
    )
    parser.add_argument("ratings", help="CSV or Parquet file with one row a rating")
    parser.add_argument("--item", default="item", help="column of the item (default: %(default)s)")
    parser.add_argument("--rater", default="participant", help="column of the rater (default: %(default)s)")
    parser.add_argument("--rating", default="rating", help="column of the rating (default: %(default)s)")
    parser.add_argument("--criterion", help="column of the criterion; each is analysed for itself")
    parser.add_argument("--group", help="column with a property of raters, such as native; groups are compared")
    parser.add_argument(
        "--level",
        default="ordinal",
        choices=["nominal", "ordinal", "interval", "ratio"],
        help="level of measurement (default: %(default)s)",
    )
    parser.add_argument(
        "--scale",
        nargs="+",
        type=_number_or_word,
        metavar="POINT",
        help="lowest and highest point of the scale, or all its categories from lowest to highest",
    )
    parser.add_argument("--draws", type=int, default=1000, help="resamples for the intervals (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the resamples (default: %(default)s)")
    paper.add_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Analyse the ratings, show the result, and write the report if wanted."""
    from ordbridge.errors import StatisticalWarning
    from ordbridge.reliability.analyse import analyse

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticalWarning)  # they are shown below, with the result
        result = analyse(
            args.ratings,
            args.item,
            args.rater,
            args.rating,
            args.criterion,
            args.group,
            args.level,
            scale=args.scale,
            draws=args.draws,
            seed=args.seed,
        )
    _show(result)
    for path in paper.keep(result, args):
        show.line(f"wrote {path}")
    return 0


def _show(result: Any) -> None:
    from ordbridge.reliability.page import tables_to_read
    from ordbridge.reliability.reading import located
    from ordbridge.report import without_empty_columns

    for label, table in tables_to_read(result):
        show.table(
            without_empty_columns(table.select(_SHOWN)), title=f"Coefficients: {label}" if label else "Coefficients"
        )
    show.table(without_empty_columns(result.pairs), title="Pairs of raters")
    show.table(without_empty_columns(result.raters), title="Raters")
    for row in result.readings.to_pylist():
        show.line(located(row, row["reading"]))
    for row in result.warnings.to_pylist():
        show.line(f"Warning: {located(row, row['message'])}")
    show.line("What papers forget to report:")
    for row in result.checklist.to_pylist():
        show.line(f"- {row['what']} {'____' if row['answer'] is None else '– ' + row['answer']}")


def _number_or_word(text: str) -> float | int | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
