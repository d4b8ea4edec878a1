"""``ordbridge interval``: an interval for one score and a prior value, or for a few scores."""

from __future__ import annotations

import argparse
from typing import Any

from ordbridge.cli.defaults import defaults_of

__all__ = ["add", "run"]


def add(subparsers: Any) -> None:
    """Add the command to the parser."""
    from ordbridge.reliability.intervals import arf_interval

    parser = subparsers.add_parser(
        "interval",
        help="interval for one, two or a few scores",
        description="Student's interval for two or more scores of the same thing; for one score, the interval of "
        "Abbott, Rosenblatt and Furnival, which needs a prior value.",
    )
    parser.add_argument("scores", nargs="+", type=float, help="scores that different raters gave")
    parser.add_argument("--prior", type=float, help="value known before a single score")
    parser.add_argument(
        "--conf-level",
        "--level",
        type=float,
        metavar="LEVEL",
        help="confidence level (default: %(default)s)",
    )
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
    parser.set_defaults(**defaults_of(arf_interval, "conf_level", "distribution"), run=run)


def run(args: argparse.Namespace) -> int:
    """Show the interval."""
    if args.prior is None:
        return _student(args)
    return _single(args)


def _single(args: argparse.Namespace) -> int:
    from ordbridge.cli import show
    from ordbridge.errors import InputError
    from ordbridge.reliability.intervals import arf_interval

    if len(args.scores) > 1:
        raise InputError("--prior is for a single score; with several scores leave it out")
    if args.threshold is not None or args.margin is not None:
        raise InputError("--threshold and --margin need at least two scores; a single score has no spread of its own")
    if args.unbounded and args.scale:
        raise InputError("give either --scale or --unbounded")
    scale = None if args.unbounded else tuple(args.scale or defaults_of(arf_interval)["scale"])
    interval = arf_interval(args.scores[0], args.prior, args.conf_level, args.distribution, scale)
    show.line(f"{interval.conf_level:.0%} interval: {interval.conf_low:.2f} to {interval.conf_high:.2f}")
    show.line(
        f"centre {interval.centre:.2f}, margin {interval.margin:.2f}, k = {interval.k:.4f} "
        f"({interval.distribution} distribution), {_clamped(interval.scale)}"
    )
    return 0


def _student(args: argparse.Namespace) -> int:
    from ordbridge.cli import show
    from ordbridge.errors import InputError
    from ordbridge.reliability.few_raters import margins, raters_needed, verdict_rates
    from ordbridge.reliability.intervals import t_interval

    if len(args.scores) == 1:
        raise InputError("one score has no spread: give --prior with the value known before it, or a second score")
    if args.unbounded:
        raise InputError("--unbounded is for a single score; several scores are not clamped unless --scale is given")
    scale = tuple(args.scale) if args.scale else None
    interval = t_interval(args.scores, args.conf_level, scale, args.threshold)
    show.line(f"{interval.conf_level:.0%} interval: {interval.conf_low:.2f} to {interval.conf_high:.2f}")
    relative = "" if interval.relative_margin is None else f" ({interval.relative_margin:.2%} of the mean)"
    show.line(
        f"mean {interval.mean:.2f}, standard deviation {interval.sd:.4f}, margin {interval.margin:.2f}{relative}, "
        f"t = {interval.t:.4f} (df = {interval.df}), {_clamped(interval.scale)}"
    )
    if interval.agreement:
        show.line("agreement of the two scores: {:.1%} of the first, {:.1%} of the second".format(*interval.agreement))
    if interval.verdict:
        show.line(f"verdict at {interval.threshold:g}: {interval.verdict}")
    show.table(margins(args.scores, args.conf_level), title="Margin with more raters")
    if args.margin is not None:
        needed = raters_needed(args.scores, args.margin, args.conf_level)
        show.line(f"a margin of {args.margin:g} needs {needed} raters, if others differ as much as these")
        show.line(_assured(args))
    if args.threshold is not None:
        rates = verdict_rates(interval.sd, args.threshold, sorted({interval.n, 2, 3, 5}), scale=scale,
                              conf_level=args.conf_level)  # fmt: skip
        show.table(
            rates, title=f"Verdicts of a series of evaluations, simulated (standard deviation {interval.sd:.2f})"
        )
    return 0


def _assured(args: argparse.Namespace) -> str:
    """Say how many raters reach the margin with the assurance wanted, or why that cannot be said."""
    from ordbridge.errors import InputError
    from ordbridge.reliability.few_raters import raters_needed

    try:
        needed = raters_needed(args.scores, args.margin, args.conf_level, assurance=args.assurance)
    except InputError as reason:
        return f"with a probability of {args.assurance:.0%}: {reason}"
    return f"to reach it with a probability of {args.assurance:.0%}: {needed} raters"


def _clamped(scale: tuple[float, float] | None) -> str:
    return "not clamped to a scale" if scale is None else f"clamped to the scale {scale[0]:g} to {scale[1]:g}"
