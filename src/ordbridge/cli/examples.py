"""``ordbridge examples``: write files to try things with."""

from __future__ import annotations

import argparse

from ordbridge.cli import show


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("folder", metavar="DIR", help="folder for the files; made where it is missing")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write three studies, and one study in the nine kinds of file of the tutorial."""
    from ordbridge.datasets import STUDIES, path, write

    files = write(args.folder)
    told = {path(name).name: text for name, text in STUDIES.items()}
    for file in files:
        show.line(f"{file}{'  ' + told[file.name] if file.name in told else ''}")
    if not any(file.suffix == ".xlsx" for file in files):
        show.line("two_criteria.xlsx was left out, because it needs openpyxl: pip install openpyxl")
    show.line(f"Next: ordbridge compare {files[0]}")
    return 0
