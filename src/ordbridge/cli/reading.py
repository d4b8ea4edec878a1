"""Options of commands that read any file of ratings, and what is said about the file."""

from __future__ import annotations

import argparse
from collections.abc import Set
from typing import TYPE_CHECKING, Any

from ordbridge.cli.defaults import choices_of

if TYPE_CHECKING:
    from ordbridge.results.finding import Finding

__all__ = ["add_options", "checked", "number_or_word", "options"]

OPTIONS = ("participant", "item", "system", "rating", "criterion", "levels", "scale", "columns", "format", "sheet",
           "join")  # fmt: skip


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what says which column is what."""
    for role in ("participant", "item", "system", "criterion"):
        parser.add_argument(
            f"--{role}", metavar="COLUMN", help=f"column of the {role}, if it is not recognised correctly"
        )
    parser.add_argument("--rating", nargs="+", metavar="COLUMN", help="column of the rating, or several columns")
    parser.add_argument("--levels", nargs="+", metavar="LABEL", help="labels of the scale, from low to high")
    parser.add_argument("--scale", nargs=2, type=float, metavar=("LOWEST", "HIGHEST"), help="ends of the scale")
    parser.add_argument(
        "--columns",
        metavar="WHAT",
        help='what several columns of ratings differ in: system, … or "{system}_{criterion}"',
    )
    parser.add_argument(
        "--format",
        choices=choices_of("reading.exports.formats:FORMATS"),
        help="format of the file, if it is not recognised correctly",
    )
    parser.add_argument("--sheet", metavar="NAME", help="sheet of a workbook")
    parser.add_argument(
        "--join",
        nargs="+",
        metavar="FILE",
        help="files with one row per participant or per item, whose columns are added",
    )


def number_or_word(text: str) -> float | int | str:
    """Return a point of a scale as it was typed: a number where it is one.

    Examples
    --------
    >>> [number_or_word(text) for text in ("1", "2.5", "good")]
    [1, 2.5, 'good']
    """
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def options(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options that were given."""
    return {name: value for name in OPTIONS if (value := getattr(args, name)) is not None}


def checked(
    file: Any,
    told: Set[str] = frozenset(),
    hushed: Set[str] = frozenset(),
    **roles: Any,
) -> tuple[Finding, ...]:
    """Return what is wrong with a file that a command analyses by itself; the analysis is not changed.

    Notes are left out, except those with the codes ``told``; so is what does not concern the analysis (``hushed``). A
    file whose columns are not recognised is left to the command.
    """
    from ordbridge.errors import InputError
    from ordbridge.reading import check, read

    try:
        found = check(read(file, **{role: column for role, column in roles.items() if column is not None}))
    except InputError:
        return ()
    return tuple(
        one for one in found.findings if (one.severity != "note" or one.code in told) and one.code not in hushed
    )
