"""Options of commands that read any file of ratings, and what is said about the file."""

from __future__ import annotations

import argparse
from collections.abc import Set
from typing import TYPE_CHECKING, Any

from ordbridge.cli.defaults import choices_of

if TYPE_CHECKING:
    from ordbridge.results.finding import Finding

__all__ = ["add_files", "add_options", "checked", "files", "number_or_word", "options"]

OPTIONS = ("participant", "item", "system", "rating", "criterion", "levels", "scale", "columns", "format", "sheet",
           "join", "ignore", "where", "systems")  # fmt: skip


def add_files(parser: argparse.ArgumentParser) -> None:
    """Add the file of ratings, or several that are read together."""
    parser.add_argument(
        "file",
        nargs="+",
        metavar="FILE",
        help="ratings: CSV, Excel, JSON, Parquet, or the export of a survey or annotation tool; several files with the "
        "same columns are read together",
    )


def files(args: argparse.Namespace) -> str | list[str]:
    """Return the file, or the files."""
    return args.file[0] if len(args.file) == 1 else list(args.file)


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


    parser.add_argument("--ignore", nargs="+", metavar="COLUMN", help="columns to leave out")
    parser.add_argument("--where", metavar="CONDITION", help='use only rows with, for example, "split == test"')
    parser.add_argument(
        "--weights",
        nargs="+",
        metavar="SEVERITY=N",
        dest="span_weights",
        help="error spans (MQM): penalty of each severity; default: minor=1 major=5",
    )
    parser.add_argument("--systems", nargs=2, metavar=("A", "B"), help="names of a and b, with one verdict per line")
    parser.add_argument(
        "--lower-is-better",
        nargs="*",
        metavar="CRITERION",
        help="a low rating is the better one: of all criteria, or of these",
    )
    parser.add_argument("--higher-is-better", action="store_true", help="a high rating is the better one, always")


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
    given = {name: value for name in OPTIONS if (value := getattr(args, name)) is not None}
    if args.span_weights is not None:
        given["weights"] = dict(map(_weight, args.span_weights))
    if args.higher_is_better:
        given["lower_is_better"] = False
    elif args.lower_is_better is not None:
        given["lower_is_better"] = args.lower_is_better or True
    return given


def _weight(text: str) -> tuple[str, float]:
    """Return the severity and the penalty in ``minor=1``."""
    from ordbridge.errors import InputError

    name, _, number = text.partition("=")
    try:
        return name, float(number)
    except ValueError:
        raise InputError(f"--weights {text} is not a severity and its penalty; write for example minor=1 major=5") from None


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
