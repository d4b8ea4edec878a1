"""Options of several commands: a report, and methods paragraph and table for a paper."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import Any

from ordbridge.errors import InputError

__all__ = ["add_options", "command", "keep"]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--html``, ``--latex`` and ``--markdown``."""
    parser.add_argument("--html", metavar="FILE", help="write a report with tables, pictures and methods paragraph")
    parser.add_argument("--latex", metavar="FILE", help="write the table and the methods paragraph in LaTeX")
    parser.add_argument("--markdown", metavar="FILE", help="write the table and the methods paragraph in Markdown")


def command() -> str:
    """Return the command that is running, as it can be typed again."""
    return shlex.join(["ordbridge", *sys.argv[1:]])


def keep(result: Any, args: argparse.Namespace) -> list[Path]:
    """Write what was asked for and return the files."""
    from ordbridge import paper
    from ordbridge.pages import write_report

    written = []
    if args.html:
        written.append(write_report(result, args.html, command()))
    for name, text in (("latex", paper.latex), ("markdown", paper.markdown)):
        if target := getattr(args, name):
            path = Path(target)
            if not path.parent.is_dir():
                raise InputError(f"cannot write {path}: there is no folder {path.parent}")
            path.write_text(text(result) + "\n", encoding="utf-8")
            written.append(path)
    return written
