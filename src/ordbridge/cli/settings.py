"""``ordbridge settings``: settings for a power study from the ratings of past studies."""

from __future__ import annotations

import argparse
import warnings
from typing import Any

from ordbridge.cli import models, show
from ordbridge.cli.defaults import defaults_of

__all__ = ["add"]

COLUMNS = ("system", "item", "participant", "rating")


def add(subparsers: Any) -> None:
    """Add the command."""
    from ordbridge.papers.past_studies import settings_from

    usual = defaults_of(settings_from, "engine", "link", *COLUMNS)
    parser = subparsers.add_parser("settings", help="variances, thresholds and effects of past studies, for planning")
    parser.add_argument("files", nargs="+", metavar="FILE", help="CSV or Parquet, one row per rating")
    parser.add_argument("--out", metavar="FILE", help="write a study file for `ordbridge power`, .toml")
    models.add_engine(parser, usual["engine"])
    parser.add_argument("--link", help="default: %(default)s, as in the paper")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="longest time for one fit")
    for column in COLUMNS:
        parser.add_argument(f"--{column}", metavar="COLUMN", help="default: %(default)s")
    parser.set_defaults(**usual, run=run)


def run(args: argparse.Namespace) -> int:
    """Fit, summarise, show and write."""
    from ordbridge.errors import InputError, StatisticalWarning
    from ordbridge.papers.howcroft2021 import settings_from

    if args.out and not args.out.endswith(".toml"):
        raise InputError(f"cannot write {args.out}: name a file that ends in .toml")
    columns = {name: getattr(args, name) for name in COLUMNS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticalWarning)  # shown below
        settings = settings_from(args.files, engine=args.engine, link=args.link, timeout=args.timeout, **columns)
    show.table(settings.fits, title="Models fitted")
    show.table(settings.thresholds, title="Thresholds")
    show.table(settings.effects, title="Effects (latent, from the first system)")
    if settings.deviations.num_rows:
        show.table(settings.deviations, title="Standard deviations, and correlations of slopes with the intercept")
    for name, truth in settings.items():
        groups = (
            ("participants", truth.participant_sd, truth.participant_corr),
            ("items", truth.item_sd, truth.item_corr),
        )
        deviations = "; ".join(f"{group} {sd[0]:.2f}, {sd[1]:.2f} ({corr:.2f})" for group, sd, corr in groups)
        show.line(f"{name}: standard deviations (intercept, slope, and their correlation) of {deviations}")
    for note in settings.notes:
        show.line(f"{'warning' if note in settings.left_out else 'note'}: {note}")
    if args.out:
        settings.to_toml(args.out)
        show.line(f"wrote {args.out}; plan with: ordbridge power {args.out}")
    return 0
