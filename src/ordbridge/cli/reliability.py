"""``ordbridge reliability``: agreement and correlation of raters."""

from __future__ import annotations

import argparse
import warnings

from ordbridge.cli import outputs, reading
from ordbridge.cli.defaults import defaults_of


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.description = (
        "Coefficients of agreement and correlation with intervals, outlying raters, what more raters would "
        "give, and what makes these coefficients mislead."
    )
    reading.add_files(parser)
    reading.add_options(parser)
    parser.add_argument("--group", help="column with a property of raters, such as native; groups are compared")
    parser.add_argument(
        "--level",
        choices=["nominal", "ordinal", "interval", "ratio"],
        help="level of measurement (default: %(default)s)",
    )
    parser.add_argument(
        "--raters",
        choices=["random", "fixed"],
        help="intervals about raters like these, or about these only (default: random, of two raters fixed)",
    )
    parser.add_argument("--gold", metavar="FILE", help="table of right ratings, columns item and gold: accuracy")
    parser.add_argument("--conf-level", type=float, help="level of the intervals (default: %(default)s)")
    parser.add_argument(
        "--all-coefficients", action="store_true", help="also print every coefficient with its interval"
    )
    parser.add_argument("--force", action="store_true", help="go on despite errors in the ratings")
    outputs.add_options(parser, plot="each rater's leniency and consistency")
    parser.set_defaults(
        **defaults_of("reliability.analysis:analyse", "level", "conf_level"), run=run, reads=("file", "gold", "join")
    )


def run(args: argparse.Namespace) -> int:
    """Analyse the ratings, show the result, and write the report if wanted."""
    from ordbridge.reliability.analysis import analyse
    from ordbridge.reliability.ratings import read_for

    outputs.require_writable(args)
    study = read_for(reading.files(args), args.level, None, reading.options(args))
    asked = {name: getattr(args, name) for name in ("group", "level", "raters", "gold", "conf_level", "force")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the result shows them all
        result = analyse(study, **asked)
    outputs.finish(result, args)
    return 0
