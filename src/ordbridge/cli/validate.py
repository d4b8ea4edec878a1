"""``ordbridge validate``: the same model through ordbridge and through plain R, side by side."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ordbridge.cli import models, show

__all__ = ["add"]


def add(subparsers: Any) -> None:
    """Add the command."""
    parser = subparsers.add_parser("validate", help="compare ordbridge with plain R")
    parser.add_argument("file", nargs="?", help="ratings, CSV; without a file the built-in datasets are used")
    parser.add_argument("--model", choices=models.MODELS)
    parser.add_argument("--formula")
    models.add_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Compare and show; the exit code is 1 if anything differs."""
    import pyarrow as pa

    from ordbridge.errors import InputError
    from ordbridge.validate import TOLERANCE, Case, builtin, compare

    if args.file:
        if not (args.model and args.formula):
            raise InputError("a file needs --model and --formula")
        path = Path(args.file)
        if path.suffix.lower() != ".csv":
            raise InputError(f"cannot compare on {path}: plain R reads only .csv here")
        cases = [Case(path.name, path, args.model, args.formula, models.options(args))]
    else:
        cases = list(builtin())
    rows = [compare(case) for case in cases]
    show.table(pa.Table.from_pylist(rows), title="ordbridge compared with plain R: largest relative differences")
    differing = [row["case"] for row in rows if not row["same"]]
    show.line(f"differs: {', '.join(differing)}" if differing else f"no difference beyond {TOLERANCE:g}")
    return 1 if differing else 0
