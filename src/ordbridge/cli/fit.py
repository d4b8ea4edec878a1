"""``ordbridge fit``: one model on one file of ratings."""

from __future__ import annotations

import argparse
import json
from typing import Any

from ordbridge.cli import models, paper, show

__all__ = ["add"]


def add(subparsers: Any) -> None:
    """Add the command."""
    parser = subparsers.add_parser("fit", help="fit clm, clmm, lm or lmer to a file of ratings")
    parser.add_argument("file", help="CSV or Parquet")
    parser.add_argument("--model", choices=models.MODELS, required=True)
    parser.add_argument("--formula", required=True, help='such as "rating ~ system + (system | item)"')
    models.add_options(parser)
    parser.add_argument("--engine", choices=("ordinal", "fast"), default="ordinal", help="ordinal: R (default)")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="stop the fit after so many seconds")
    parser.add_argument("--conf-level", type=float, default=0.95, help="of the intervals (default: 0.95)")
    parser.add_argument("--contrasts", metavar="FACTOR", help="also all pairwise differences (Holm)")
    parser.add_argument("--out", metavar="FILE", help="write the table of coefficients to .parquet or .csv")
    paper.add_options(parser)
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Fit and show."""
    import warnings

    from ordbridge.models import api
    from ordbridge.tables import write

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the summary shows them all
        fit = getattr(api, args.model)(
            args.formula, args.file, **models.options(args), engine=args.engine, timeout=args.timeout
        )
    tidy = fit.tidy(args.conf_level)
    contrasts = fit.contrasts(args.contrasts, conf_level=args.conf_level) if args.contrasts else None
    if args.out:
        write(tidy, args.out)
    written = paper.keep(fit, args)
    if args.json:
        tables = {"glance": fit.glance(), "tidy": tidy, "varcorr": fit.varcorr(), "conditions": fit.conditions}
        if contrasts is not None:
            tables["contrasts"] = contrasts
        show.line(json.dumps({name: table.to_pylist() for name, table in tables.items()}, indent=2, allow_nan=False))
        return 0
    show.line(fit.summary())
    show.table(tidy, title=f"{args.conf_level:.0%} intervals")
    if contrasts is not None:
        show.table(contrasts, title=f"Pairwise differences of {args.contrasts} (Holm)")
    for path in [*([args.out] if args.out else []), *written]:
        show.line(f"written: {path}")
    return 0
