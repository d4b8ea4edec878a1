"""``ordbridge settings``: settings for a power study from the ratings of past studies."""

from __future__ import annotations

import argparse
from typing import Any

from ordbridge.cli import show

__all__ = ["add"]


def add(subparsers: Any) -> None:
    """Add the command."""
    parser = subparsers.add_parser("settings", help="variances, thresholds and effects of past studies, for planning")
    parser.add_argument("files", nargs="+", metavar="FILE", help="CSV or Parquet, one row a rating")
    parser.add_argument("--out", metavar="FILE", help="write a study file for `ordbridge power`, .toml")
    parser.add_argument("--engine", choices=("ordinal", "fast"), default="ordinal", help="ordinal: R (default)")
    parser.add_argument("--link", default="probit", help="default: probit, as in the paper")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="longest time for one fit")
    for column in ("system", "item", "participant", "rating"):
        parser.add_argument(f"--{column}", default=column, metavar="COLUMN", help=f"default: {column}")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Fit, summarise, show and write."""
    from ordbridge.errors import InputError
    from ordbridge.papers.howcroft2021 import settings_from

    if args.out and not args.out.endswith(".toml"):
        raise InputError(f"cannot write {args.out}: name a file that ends in .toml")
    columns = {name: getattr(args, name) for name in ("system", "item", "participant", "rating")}
    settings = settings_from(args.files, engine=args.engine, link=args.link, timeout=args.timeout, **columns)
    show.table(settings.fits, title="Models fitted")
    show.table(settings.thresholds, title="Thresholds")
    show.table(settings.effects, title="Effects (latent, from the first system)")
    if settings.deviations.num_rows:
        show.table(settings.deviations, title="Standard deviations")
    for name, truth in settings.items():
        deviations = "; ".join(
            f"{group} {sd[0]:.2f}, {sd[1]:.2f}"
            for group, sd in (("participants", truth.participant_sd), ("items", truth.item_sd))
        )
        show.line(f"{name}: standard deviations (intercept, slope) of {deviations}")
    for note in settings.notes:
        show.line(f"note: {note}")
    if args.out:
        settings.to_toml(args.out)
        show.line(f"wrote {args.out}; plan with: ordbridge power {args.out}")
    return 0
