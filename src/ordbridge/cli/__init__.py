"""The command line: one module per command, and the only place that prints."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec

from ordbridge import __version__
from ordbridge.cli import talk, wording
from ordbridge.errors import BridgeError, ClusterError, FitError, InputError

__all__ = ["main"]

COMMANDS = (
    "app",
    "read",
    "check",
    "compare",
    "fit",
    "doctor",
    "validate",
    "design",
    "simulate",
    "power",
    "plan",
    "stop",
    "reliability",
    "judges",
    "interval",
    "scales",
    "settings",
    "reproduce",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return 0 if all went well, 2 on bad input, 1 on other failures, 130 on Ctrl-C, 143 if ended."""
    try:
        with talk.ended_politely():
            args = _read(arguments)
            return _run(args)
    except KeyboardInterrupt as error:  # before there was a command
        talk.tell("ordbridge: stopped")
        return error.code if isinstance(error, talk.Ended) else 130


def _read(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="ordbridge",
        description="Human evaluations: which system is better, can the raters be trusted, how many do you need?",
    )
    parser.add_argument("--version", action="version", version=f"ordbridge {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in COMMANDS:
        if find_spec(f"ordbridge.cli.{command}"):
            import_module(f"ordbridge.cli.{command}").add(subparsers)
    args = parser.parse_args(arguments)
    args.parser = wording.chosen_parser(parser, args)
    return args


def _run(args: argparse.Namespace) -> int:
    try:
        return int(args.run(args))
    except InputError as error:
        return _complain(args, error, 2)
    except (BridgeError, ClusterError, FitError) as error:
        return _complain(args, error, 1)
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        return _complain(args, error.strerror or error, 1)
    except talk.Ended as error:
        return _complain(args, "stopped", error.code)
    except KeyboardInterrupt:
        return _complain(args, "stopped", 130)


def _complain(args: argparse.Namespace, error: object, code: int) -> int:
    talk.tell(f"ordbridge {args.command}: {wording.as_typed(str(error), args)}")
    return code
