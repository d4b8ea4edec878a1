"""The command line: one module a command, and the only place that prints."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec

from ordbridge import __version__
from ordbridge.cli import talk
from ordbridge.errors import BridgeError, FitError, InputError

__all__ = ["main"]

COMMANDS = (
    "fit",
    "doctor",
    "validate",
    "design",
    "simulate",
    "power",
    "plan",
    "reliability",
    "interval",
    "scales",
    "settings",
    "reproduce",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return 0 if all went well, 2 on bad input, 1 on other failures, 130 on Ctrl-C."""
    parser = argparse.ArgumentParser(
        prog="ordbridge", description="Which system is better, can the raters be trusted, how many do you need?"
    )
    parser.add_argument("--version", action="version", version=f"ordbridge {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in COMMANDS:
        if find_spec(f"ordbridge.cli.{command}"):
            import_module(f"ordbridge.cli.{command}").add(subparsers)
    args = parser.parse_args(arguments)
    try:
        with talk.compiling(args):
            return int(args.run(args))
    except InputError as error:
        return _complain(args.command, error, 2)
    except (BridgeError, FitError) as error:
        return _complain(args.command, error, 1)
    except KeyboardInterrupt:
        return _complain(args.command, "stopped", 130)


def _complain(command: str, error: object, code: int) -> int:
    print(f"ordbridge {command}: {error}", file=sys.stderr)
    return code
