"""``ordbridge reliability``: agreement and correlation of raters."""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ordbridge.cli import outputs, reading, show
from ordbridge.cli.defaults import defaults_of

__all__ = ["add", "run"]

MOST_ROWS = 12
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
    from ordbridge.reliability.analysis import analyse

    parser = subparsers.add_parser(
        "reliability",
        help="agreement and correlation of raters, read together",
        description="Coefficients of agreement and correlation with intervals, pairs of raters, raters who stand "
        "apart, and what makes these coefficients mislead.",
    )
    parser.add_argument("ratings", help="CSV or Parquet file with one row per rating")
    parser.add_argument("--item", help="column of the item (default: %(default)s)")
    parser.add_argument("--rater", help="column of the rater (default: %(default)s)")
    parser.add_argument("--rating", help="column of the rating (default: %(default)s)")
    parser.add_argument("--criterion", help="column of the criterion; each is analysed separately")
    parser.add_argument("--group", help="column with a property of raters, such as native; groups are compared")
    parser.add_argument(
        "--level",
        choices=["nominal", "ordinal", "interval", "ratio"],
        help="level of measurement (default: %(default)s)",
    )
    parser.add_argument(
        "--scale",
        nargs="+",
        type=reading.number_or_word,
        metavar="POINT",
        help="lowest and highest point of the scale, or all its categories from lowest to highest",
    )
    parser.add_argument(
        "--system",
        help="column of the system, if there is one: a text is item × system (default: %(default)s)",
    )
    parser.add_argument(
        "--raters",
        choices=["random", "fixed"],
        help="intervals about raters like these, or about these only (default: random, of two raters fixed)",
    )
    parser.add_argument("--gold", metavar="FILE", help="table of right ratings, columns item and gold: accuracy")
    parser.add_argument("--conf-level", type=float, help="level of the intervals (default: %(default)s)")
    parser.add_argument("--draws", "--seed", type=int, help=argparse.SUPPRESS)  # of 0.1.0; intervals need neither
    outputs.add_options(parser, plot="each rater's severity and consistency")
    parser.set_defaults(**defaults_of(analyse, "item", "rater", "rating", "level", "system", "conf_level"), run=run)


def run(args: argparse.Namespace) -> int:
    """Analyse the ratings, show the result, and write the report if wanted."""
    from ordbridge.errors import StatisticalWarning
    from ordbridge.reliability.analysis import analyse

    reading.warn(
        args, args.ratings, participant=args.rater, item=args.item, rating=args.rating, criterion=args.criterion
    )
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
            system=args.system,
            scale=args.scale,
            raters=args.raters,
            gold=args.gold,
            conf_level=args.conf_level,
        )
    _show(result)
    for path in outputs.keep(result, args):
        show.line(f"wrote {path}")
    return 0


def _show(result: Any) -> None:
    from ordbridge.reliability.reading import located
    from ordbridge.report.html import without_empty_columns
    from ordbridge.report.reliability import tables_to_read

    for label, table in tables_to_read(result):
        has = pc.is_valid(table["estimate"])
        show.table(
            without_empty_columns(table.filter(has).select(_SHOWN)),
            title=f"Coefficients: {label}" if label else "Coefficients",
        )
        _show_undefined(table.filter(pc.invert(has)))
    _show_pairs(result)
    _show_raters(result)
    _show_within(result)
    _show_generalizability(result)
    for row in result.readings.to_pylist():
        show.line(located(row, row["reading"]))
    answers = {row["what"]: row["answer"] for row in result.checklist.to_pylist()}
    show.line(f"{result.counted}. Intervals: {answers['Intervals']}.")
    for row in result.warnings.to_pylist():
        show.line(f"Warning: {located(row, row['message'])}")
    show.line("What papers forget to report (all of it is in the report, --html):")
    for what, answer in answers.items():
        if answer is None:
            show.line(f"- {what} ____")


def _show_undefined(table: Any) -> None:
    """Show the coefficients without a value in one line for each reason."""
    by_reason: dict[str, list[str]] = {}
    for row in table.to_pylist():
        name, note = row["coefficient"], row["note"]
        reason = note.removeprefix(name).removeprefix(" has no value here:").strip().partition(";")[0]
        by_reason.setdefault(reason, []).append(name)
    for reason, names in by_reason.items():
        show.line(f"No value of {', '.join(names)}: {reason}.")


def _show_pairs(result: Any) -> None:
    """Show pairs of raters; of very many those with enough common items to tell something."""
    from ordbridge.reliability.pairs import LEAST_COMMON

    table = result.pairs
    if table.num_rows > MOST_ROWS:
        table = table.filter(pc.greater_equal(table["n_common"], LEAST_COMMON))
        if not table.num_rows:
            show.line(
                f"None of {result.pairs.num_rows} pairs of raters has {LEAST_COMMON} common items; all pairs are in "
                "the result's table."
            )
            return
    _show_ends(table, "gamma" if result.level != "nominal" else "kappa", "Pairs of raters")


def _show_ends(table: Any, order: str, title: str) -> None:
    """Show a table, or its lowest and highest rows where there are more than fit on a screen."""
    from ordbridge.report.html import without_empty_columns

    n = table.num_rows
    if n > MOST_ROWS:
        ordered = table.filter(pc.is_valid(table[order])).sort_by(order)
        half = MOST_ROWS // 2
        table = pa.concat_tables([ordered.slice(0, half), ordered.slice(max(half, ordered.num_rows - half))])
        title = f"{title}: the lowest and highest of {n}; all are in the result's table"
    show.table(without_empty_columns(table), title=title)


def _show_within(result: Any) -> None:
    """Show stability and accuracy of all raters together, and of each where they fit on the screen."""
    from ordbridge.report.html import without_empty_columns

    for name in ("stability", "accuracy"):
        table = getattr(result, name)
        if table.num_rows > MOST_ROWS:
            table = table.filter(pc.equal(table["rater"], "all raters"))
        if table.num_rows:
            show.table(without_empty_columns(table), title=name.capitalize())


def _show_generalizability(result: Any) -> None:
    """Show where the variance of the ratings comes from, and what more raters would buy."""
    from ordbridge.errors import InputError
    from ordbridge.reliability.variance_components import generalizability, quick_draws

    if result.level == "nominal":
        return
    for criterion, ratings in result.ratings.items():
        if ratings.scores is None:
            continue
        try:
            found = generalizability(ratings, draws=quick_draws(ratings))
        except (InputError, RuntimeError) as reason:
            show.line(f"Components of variance ({criterion}): {reason}")
            continue
        parts = [f"{row['component']} {row['share']:.0%}" for row in found.components.to_pylist()]
        show.line(f"Variance of the ratings ({criterion}): {', '.join(parts)}{'; ' + found.note if found.note else ''}")
        asked = "" if found.draws else " For its interval call ordbridge.reliability.generalizability."
        show.line(found.sentence + asked)


def _show_raters(result: Any) -> None:
    """Show those who stand apart and, where everybody fits on the screen, everybody."""
    table = result.raters.drop_columns(["mean_kappa", "mean_gamma"])
    flagged = table.filter(table["flagged"])
    if table.num_rows <= MOST_ROWS:
        _show_ends(table, "consistency", "Raters")
    elif flagged.num_rows:
        _show_ends(flagged, "consistency", f"Raters who stand apart ({flagged.num_rows} of {table.num_rows})")
    else:
        low, high = (pc.min_max(table["consistency"])[end].as_py() for end in ("min", "max"))
        show.line(f"None of {table.num_rows} raters stands apart; consistency goes from {low:.2f} to {high:.2f}.")
