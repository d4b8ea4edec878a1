"""The command line: one module per command, and the only place that prints."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ordbridge import __version__
from ordbridge.cli import exits, talk, unforeseen, wording
from ordbridge.errors import BridgeError, ClusterError, FitError, InputError
from ordbridge.files.limits import VARIABLE, size_in_bytes
from ordbridge.leftovers import sweep
from ordbridge.writing import FULL

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
    """Run one command and return its exit code (:mod:`ordbridge.cli.exits`)."""
    talk.speak_ascii_where_needed()
    try:
        with talk.ended_politely():
            args = _read(arguments)
            return _run(args)
    except KeyboardInterrupt as error:  # before there was a command
        talk.tell("ordbridge: stopped")
        return error.code if isinstance(error, talk.Ended) else exits.INTERRUPTED


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
    except talk.Ended as error:
        return _complain(args, "stopped", error.code)
    except KeyboardInterrupt:
        return _complain(args, "stopped", exits.INTERRUPTED)
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
