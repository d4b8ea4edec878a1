"""``ordbridge stop``: after a batch of participants, stop the study or go on, and record the look."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from ordbridge.cli import models, reading, show, talk

__all__ = ["add"]


def add(subparsers: Any) -> None:
    """Add the command."""
    parser = subparsers.add_parser("stop", help="say after a batch of ratings whether the planned study stops")
    parser.add_argument("file", help="all ratings so far, as for compare")
    parser.add_argument("--plan", required=True, metavar="FILE", help="what ordbridge plan --looks N --json wrote")
    reading.add_options(parser)
    models.add_engine(parser, "r")
    parser.add_argument("--json", action="store_true", help="print the decision as JSON")
    parser.set_defaults(engine="r", run=run)


def run(args: argparse.Namespace) -> int:
    """Decide, record the look, and show."""
    from ordbridge.data import read
    from ordbridge.planning import Ledger, decide, ledger_beside, read_protocol

    protocol = read_protocol(args.plan)
    ledger = Ledger(protocol, ledger_beside(args.plan))
    with talk.plainly():
        found = decide(read(args.file, **reading.options(args)).table, protocol, engine=args.engine, ledger=ledger)
    if args.json:
        show.data(asdict(found))
        return 0
    show.line(found.sentence)
    show.line(f"{found.participants} participants, {found.ratings} ratings so far.")
    for note in found.notes:
        show.line(f"note: {note}")
    return 0
