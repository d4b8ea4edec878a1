"""How every command ends: the result on the terminal or as JSON, and the files that were asked for."""

from __future__ import annotations

import argparse
import os
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

NARROW, WIDE = 60, 120  # of a terminal that is used; lines longer than that are hard to read
ON_REQUEST = ("pairs", "all_coefficients", "explain")  # options that add what a result has on request
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
    """Print a result, as wide as the terminal is, in colours where it has them."""
    from ordbridge.render import terminal

    on_terminal = sys.stdout.isatty()
    columns = max(NARROW, shutil.get_terminal_size().columns) if on_terminal else show.FILE_WIDTH
    show.formatted(
        terminal.text(
            result,
            details=getattr(args, "details", False),
            width=min(columns, WIDE) if on_terminal else terminal.WIDTH,
            tables=columns,
            asked=[name for name in ON_REQUEST if getattr(args, name, False)],
            more=_more(result, args),
            notes="notes_on_request" not in args or args.explain,
            colour=on_terminal and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb",
        )
    )


def _more(result: Result, args: argparse.Namespace) -> str:
    """Return options of this command that show more and were not given."""
    notes = sum(finding.severity == "note" for finding in result.shown)
    offered = result.on_request() if any(name in args for name in ON_REQUEST) else {}
    shown = {
        "pairs": "--pairs" if "pairs" in offered else "",
        "all_coefficients": "--all-coefficients" if "all_coefficients" in offered else "",
        "explain": f"--explain ({notes} note{'' if notes == 1 else 's'})" if notes else "--explain",
        "details": "--details",
        "html": "--html report.html",
    }
    shown.pop("details" if "notes_on_request" in args else "explain")
    return "  ".join(option for name, option in shown.items() if option and name in args and not getattr(args, name))


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
