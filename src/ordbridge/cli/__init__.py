"""The command line: one module per command, and the only place that prints."""

from __future__ import annotations

import argparse
import atexit
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec

from ordbridge import __version__
from ordbridge.cli import talk, wording
from ordbridge.cli.signals import GracefulShutdown, Stopped
from ordbridge.errors import BridgeError, ClusterError, FitError, InputError

__all__ = ["main", "program"]

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
    with GracefulShutdown() as shutdown:
        return _main(arguments, shutdown)


def program() -> None:
    """Be the program ``ordbridge``, which a signal can end at any moment."""
    shutdown, code = GracefulShutdown(), 1  # the code of a traceback
    atexit.register(lambda: shutdown.leave(code))  # called last, because it is registered first
    shutdown.__enter__()
    try:
        code = _main(None, shutdown)
        shutdown.only_note()
    except SystemExit as end:  # of argparse
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except Stopped:  # between two lines here
        pass
    sys.exit(code)


def _main(arguments: Sequence[str] | None, shutdown: GracefulShutdown) -> int:
    try:
        args = _read(arguments)
        if "until_stopped" in args:  # it has processes to end and files to delete
            shutdown.patience = 60.0
        code = _run(args)
        if "until_stopped" in args:  # that is how it ends
            shutdown.code = None
    except BaseException:
        if shutdown.code is None:
            raise
        code = 0
    if shutdown.code is None or shutdown.code == code:
        return code
    talk.tell("ordbridge: stopped")  # before there was a command, or a library kept the signal to itself
    return shutdown.code


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
        code = int(args.run(args))
        sys.stdout.flush()
        return code
    except InputError as error:
        return _complain(args, error, 2)
    except (BridgeError, ClusterError, FitError) as error:
        return _complain(args, error, 1)
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        return _complain(args, error.strerror or error, 1)
    except KeyboardInterrupt as error:
        return _complain(args, "stopped", error.code if isinstance(error, Stopped) else 130)


def _complain(args: argparse.Namespace, error: object, code: int) -> int:
    talk.tell(f"ordbridge {args.command}: {wording.as_typed(str(error), args)}")
    return code
