"""``ordbridge stop``: after a batch of participants, stop the study or go on, and record the look."""

from __future__ import annotations

import argparse

from ordbridge.cli import models, outputs, reading, talk


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    reading.add_files(parser)
    parser.add_argument("--plan", required=True, metavar="FILE", help="what ordbridge plan --looks N --json wrote")
    reading.add_options(parser)
    models.add_engine(parser, "r")
    outputs.add_json(parser)
    parser.set_defaults(engine="r", run=run, reads=("file", "plan", "join"))


def run(args: argparse.Namespace) -> int:
    """Decide, record the look, and show."""
    from ordbridge.planning import Ledger, decide, ledger_beside, read_protocol
    from ordbridge.reading import read

    protocol = read_protocol(args.plan)
    ledger = Ledger(protocol, ledger_beside(args.plan))
    with talk.plainly():
        found = decide(
            read(reading.files(args), **reading.options(args)).table, protocol, engine=args.engine, ledger=ledger
        )
    outputs.finish(found, args)
    return 0
