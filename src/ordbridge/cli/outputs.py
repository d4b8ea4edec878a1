"""Options of several commands: a picture, a report, and methods paragraph and table for a paper."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import Any

from ordbridge.errors import InputError
from ordbridge.writing import whole_file, write_text

__all__ = ["add_options", "command", "draw", "keep"]


def add_options(parser: argparse.ArgumentParser, plot: str) -> None:
    """Add ``--plot``, which draws what is said here, ``--html``, ``--latex`` and ``--markdown``."""
    parser.add_argument("--plot", metavar="FILE", help=f"draw {plot}: .png, .svg or .pdf")
    parser.add_argument("--html", metavar="FILE", help="write a report with tables, pictures and methods paragraph")
    parser.add_argument("--latex", metavar="FILE", help="write the table and the methods paragraph in LaTeX")
    parser.add_argument("--markdown", metavar="FILE", help="write the table and the methods paragraph in Markdown")


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


def keep(result: Any, args: argparse.Namespace) -> list[Path]:
    """Write what was asked for and return the files."""
    from ordbridge import report

    written = []
    if args.plot:
        written.append(draw(result.plot(), args.plot))
    if args.html:
        written.append(report.write_report(result, args.html, command()))
    for name, text in (("latex", report.latex), ("markdown", report.markdown)):
        if target := getattr(args, name):
            written.append(write_text(target, text(result) + "\n"))
    return written
