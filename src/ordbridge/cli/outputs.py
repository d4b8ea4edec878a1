"""How every command ends: the result on the terminal or as JSON, and the files that were asked for."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ordbridge.cli import show, talk
from ordbridge.errors import InputError
from ordbridge.support.arguments import file_to_write
from ordbridge.support.writing import whole_file, write_text

if TYPE_CHECKING:
    from ordbridge.results import Result

NARROW, FILE_WIDTH = 60, 200  # nothing is squeezed where the output is a file or a pipe
FORMATS = ("html", "latex", "markdown", "plot")


def add_options(parser: argparse.ArgumentParser, plot: str) -> None:
    """Add ``--details``, ``--plot``, which draws what is said here, and a file of each format."""
    parser.add_argument("--details", action="store_true", help="print everything that the report has")
    parser.add_argument("--plot", metavar="FILE", help=f"draw {plot}: .png, .svg or .pdf")
    parser.add_argument("--html", metavar="FILE", help="write a report with tables, pictures and methods paragraph")
    parser.add_argument("--latex", metavar="FILE", help="write the table and the methods paragraph in LaTeX")
    parser.add_argument("--markdown", metavar="FILE", help="write the table and the methods paragraph in Markdown")
    add_json(parser)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json FILE|-``."""
    parser.add_argument("--json", metavar="FILE", help="write answer, findings and tables as JSON; - prints them")


def require_writable(args: argparse.Namespace) -> None:
    """Complain about files that cannot be written before anything is computed."""
    for name in (*FORMATS, "json"):
        target = getattr(args, name, None)
        if target and not (name == "json" and target == "-"):
            file_to_write(target)


def command() -> str:
    """Return the command that is running, as it can be typed again."""
    return shlex.join(["ordbridge", *sys.argv[1:]])


def draw(figure: Any, target: str) -> Path:
    """Write a picture; the ending of the file's name says of which kind."""
    path = Path(target)
    kind = path.suffix.lower().removeprefix(".")
    if kind not in figure.canvas.get_supported_filetypes():
        raise InputError(f"cannot draw {path}: name a file that ends in .png, .svg or .pdf")
    with whole_file(path) as partial:
        figure.savefig(partial, format=kind)
    return path


def finish(result: Result, args: argparse.Namespace, *written: Path) -> None:
    """Write what was asked for, and show the result; ``written`` are files that the command itself wrote."""
    files = [*written, *keep(result, args)]
    if args.json == "-":
        show.data(result.to_dict())
        say = talk.tell
    else:
        print_result(result, args)
        say = show.line
    for path in files:
        say(f"wrote {path}")


def print_result(result: Result, args: argparse.Namespace) -> None:
    """Print a result, as wide as the terminal is."""
    from ordbridge.render import terminal

    width = max(NARROW, shutil.get_terminal_size().columns) if sys.stdout.isatty() else FILE_WIDTH
    text = terminal.text(result, details=getattr(args, "details", False), width=min(width, FILE_WIDTH))
    show.line(text)


def keep(result: Result, args: argparse.Namespace) -> list[Path]:
    """Write what was asked for and return the files."""
    written = []
    if getattr(args, "plot", None):
        written.append(draw(result.plot(), args.plot))
    if getattr(args, "html", None):
        written.append(result.report(args.html, command()))
    for name in ("latex", "markdown"):
        if target := getattr(args, name, None):
            written.append(write_text(target, getattr(result, name)() + "\n"))
    if args.json and args.json != "-":
        from ordbridge.render import json

        written.append(write_text(args.json, json.text(result) + "\n"))
    return written
