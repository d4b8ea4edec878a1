"""The command line: one module per command, and the only place that prints."""

from __future__ import annotations

import argparse
import atexit
import contextlib
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ordbridge import __version__
from ordbridge.cli import exits, talk, unforeseen, wording
from ordbridge.cli.signals import GracefulShutdown, Stopped
from ordbridge.errors import BridgeError, ClusterError, FitError, InputError
from ordbridge.files.limits import VARIABLE, size_in_bytes
from ordbridge.leftovers import sweep
from ordbridge.writing import FULL

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
    """Run one command and return its exit code (:mod:`ordbridge.cli.exits`)."""
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
    talk.speak_ascii_where_needed()
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
    _add_size(subparsers)
    args = parser.parse_args(arguments)
    args.parser = wording.chosen_parser(parser, args)
    return args


def _add_size(subparsers: Any) -> None:
    """Add to every command the option that raises the limits of files."""
    for parser in subparsers.choices.values():
        inner = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
        if inner:
            _add_size(inner[0])
        else:
            parser.add_argument(
                "--max-size",
                dest=VARIABLE,  # so that messages name the option
                metavar="SIZE",
                help="read files of up to SIZE when unpacked, with rows and columns in proportion; default: 256MB",
            )


def _run(args: argparse.Namespace) -> int:
    try:
        if size := vars(args).pop(VARIABLE, None):
            size_in_bytes(size)
            os.environ[VARIABLE] = size  # workers and jobs inherit it
        sweep()
        code = int(args.run(args))
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except InputError as error:
        return _complain(args, error, exits.BAD_INPUT)
    except (BridgeError, ClusterError, FitError) as error:
        return _complain(args, error, exits.FAILED)
    except BrokenPipeError:  # whoever read our output has seen enough
        _drop_output()
        return exits.FAILED
    except OSError as error:
        _drop_output()
        return _complain(args, _of_system(error), exits.FAILED)
    except MemoryError:
        why = "there is not enough memory for this; close other programs, or analyse a part of the ratings"
        return _complain(args, why, exits.FAILED)
    except KeyboardInterrupt as error:
        return _complain(args, "stopped", error.code if isinstance(error, Stopped) else exits.INTERRUPTED)
    except Exception as error:
        return _complain(args, unforeseen.sentence(error), exits.UNFORESEEN)


def _of_system(error: OSError) -> str:
    if error.errno in FULL and error.strerror == os.strerror(error.errno):
        return "the disk is full; free some space and give the same command again"
    return str(error.strerror or error)


def _drop_output() -> None:
    """Let what could not be written go, or Python tries again at its end and says so."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(args: argparse.Namespace, error: object, code: int) -> int:
    talk.tell(f"ordbridge {args.command}: {wording.as_typed(str(error), args)}")
    return code
