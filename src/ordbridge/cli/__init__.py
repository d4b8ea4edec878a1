"""The command line: one module per command, and the only place that prints."""

from __future__ import annotations

import argparse
import atexit
import contextlib
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from ordbridge import __version__
from ordbridge.cli import exits, helping, talk
from ordbridge.cli.parser import Parser, named_as_typed
from ordbridge.cli.signals import GracefulShutdown, Stopped
from ordbridge.errors import BridgeError, ClusterError, FitError, InputError
from ordbridge.support.naming import names_as

__all__ = ["main", "parser_of", "program"]

VARIABLE = "ORDBRIDGE_MAX_SIZE"
"""As :mod:`ordbridge.reading.size_limits` reads it."""

COMMANDS = {
    "examples": "write small studies in many kinds of file, to try everything with",
    "app": "open a page in the browser: drop a file, compare, check raters, plan",
    "read": "turn any file of ratings into one row per rating",
    "check": "say what is wrong with ratings, before any model",
    "compare": "say which system is rated higher, from any file of ratings",
    "fit": "fit clm, clmm, lm or lmer to a file of ratings",
    "doctor": "check Python, rpy2, R and its packages",
    "validate": "compare ordbridge with plain R",
    "design": "who rates what: write an assignment sheet and check its balance",
    "simulate": "draw ratings from a truth and a design",
    "power": "simulate studies and count how often the difference is found",
    "plan": "find the smallest or cheapest study that reaches a power",
    "stop": "after a batch of ratings, say whether the planned study stops",
    "reliability": "agreement and correlation of raters, read together",
    "judges": "can a model replace some raters?",
    "interval": "interval for one, two or a few scores",
    "scales": "compare rating scales",
    "settings": "variances, thresholds and effects of past studies, for planning",
    "reproduce": "recompute what a paper claims, and say which claims hold",
    "completion": "print what completes commands and options in bash, zsh or fish",
}
"""Each is a module here, which is loaded when its command is given."""


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
        if not (sys.argv[1:] if arguments is None else arguments):
            print(helping.SHORT)
            return exits.OK
        args = _read(arguments)
        if "until_stopped" in args:  # it has processes to end and files to delete
            shutdown.patience = 60.0
        with names_as(named_as_typed(args)):
            code = _run(args, shutdown)
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


def parser_of(*commands: str) -> Parser:
    """Return the parser of the program, which lists all commands and has the options of these."""
    parser = Parser(
        prog="ordbridge",
        description="Human evaluations: which system is better, can the raters be trusted, how many do you need?",
    )
    parser.add_argument("--version", action="version", version=f"ordbridge {__version__}")
    parser.examples = helping.EXAMPLES[""]
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, told in COMMANDS.items():
        command = subparsers.add_parser(name, help=told)
        if name in commands:
            import_module(f"ordbridge.cli.{name}").add(command)
            _add_size(command)
            helping.arrange(command, name)
    return parser


def _read(arguments: Sequence[str] | None) -> argparse.Namespace:
    words = sys.argv[1:] if arguments is None else arguments
    parser = parser_of(next((word for word in words if not word.startswith("-")), ""))
    args = parser.parse_args(arguments)
    args.parser = parser.chosen(args)
    return args


def _add_size(parser: Parser) -> None:
    """Add the option that raises the limits of files, to a command or to its own commands."""
    for leaf in parser.leaves():
        leaf.add_argument(
            "--max-size",
            dest=VARIABLE,  # so that messages name the option
            metavar="SIZE",
            help="read files of up to SIZE when unpacked, with rows and columns in proportion; default: 256MB",
        )


def _run(args: argparse.Namespace, shutdown: GracefulShutdown) -> int:
    try:
        if size := vars(args).pop(VARIABLE, None):
            from ordbridge.reading.size_limits import size_in_bytes

            size_in_bytes(size)
            os.environ[VARIABLE] = size  # workers and jobs inherit it
        for name in vars(args).pop("reads", ()):  # before anything else is loaded
            _need(getattr(args, name, None))
        from ordbridge.support.temp_cleanup import sweep

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
        if shutdown.code is not None:  # a signal left this behind
            raise
        from ordbridge.cli import unforeseen

        return _complain(args, unforeseen.sentence(error), exits.UNFORESEEN)


def _need(files: str | Sequence[str] | None) -> None:
    """Refuse files that are not there; what else is wrong with a file is said by whoever reads it."""
    for path in [files] if isinstance(files, str) else files or ():
        try:
            os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            raise InputError(f"there is no file {path}") from None
        except (OSError, ValueError):
            continue


def _of_system(error: OSError) -> str:
    from ordbridge.support.writing import FULL

    if error.errno in FULL and error.strerror == os.strerror(error.errno):
        return "the disk is full; free some space and give the same command again"
    return str(error.strerror or error)


def _drop_output() -> None:
    """Let what could not be written go, or Python tries again at its end and says so."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(args: argparse.Namespace, error: object, code: int) -> int:
    talk.tell(f"ordbridge {args.command}: {error}")
    return code
