"""``ordbridge interval``: an interval for one score and a prior value, or for a few scores."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ordbridge.cli import outputs
from ordbridge.cli.defaults import defaults_of

if TYPE_CHECKING:
    from ordbridge.reliability import ArfInterval, FewScores


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.description = (
        "Student's interval for two or more scores of the same thing; for one score, the interval of Abbott, "
        "Rosenblatt and Furnival, which needs a prior value."
    )
    parser.add_argument("scores", nargs="+", type=float, help="scores that different raters gave")
    parser.add_argument("--prior", type=float, help="value known before a single score")
    parser.add_argument("--conf-level", type=float, metavar="LEVEL", help="confidence level (default: %(default)s)")
    parser.add_argument("--threshold", type=float, help="lowest score that passes")
    parser.add_argument(
        "--scale",
        nargs=2,
        type=float,
        metavar=("LOW", "HIGH"),
        help="ends of the scale; 0 100 for a single score unless --unbounded, none for several",
    )
    parser.add_argument("--unbounded", action="store_true", help="do not clamp the interval of a single score")
    parser.add_argument(
        "--distribution",
        choices=["normal", "unimodal"],
        help="what a single score comes from; unimodal means symmetric and unimodal (default: %(default)s)",
    )
    parser.add_argument("--margin", type=float, help="say how many raters this margin needs")
    parser.add_argument(
        "--assurance",
        type=float,
        default=0.8,
        help="probability with which the margin is to be reached (default: %(default)s)",
    )
    outputs.add_json(parser)
    parser.set_defaults(**defaults_of("reliability.intervals:arf_interval", "conf_level", "distribution"), run=run)


def run(args: argparse.Namespace) -> int:
    """Show the interval."""
    outputs.require_writable(args)
    outputs.finish(_few(args) if args.prior is None else _single(args), args)
    return 0


def _single(args: argparse.Namespace) -> ArfInterval:
    from ordbridge.errors import InputError
    from ordbridge.reliability.intervals import arf_interval

    if len(args.scores) > 1:
        raise InputError("--prior is for a single score; with several scores leave it out")
    if args.threshold is not None or args.margin is not None:
        raise InputError("--threshold and --margin need at least two scores; a single score has no spread of its own")
    if args.unbounded and args.scale:
        raise InputError("give either --scale or --unbounded")
    scale = None if args.unbounded else tuple(args.scale or defaults_of("reliability.intervals:arf_interval")["scale"])
    return arf_interval(args.scores[0], args.prior, args.conf_level, args.distribution, scale)


def _few(args: argparse.Namespace) -> FewScores:
    from ordbridge.errors import InputError
    from ordbridge.reliability.few_raters import few_scores

    if len(args.scores) == 1:
        raise InputError("one score has no spread: give --prior with the value known before it, or a second score")
    if args.unbounded:
        raise InputError("--unbounded is for a single score; several scores are not clamped unless --scale is given")
    scale = tuple(args.scale) if args.scale else None
    return few_scores(args.scores, args.conf_level, scale, args.threshold, margin=args.margin, assurance=args.assurance)
