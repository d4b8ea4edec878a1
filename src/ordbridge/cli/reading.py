"""Options of commands that read any file of ratings, and what is said about the file."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Collection, Mapping, Set
from typing import TYPE_CHECKING, Any

from ordbridge.cli.defaults import choices_of

if TYPE_CHECKING:
    import pyarrow as pa

    from ordbridge.results.finding import Finding

__all__ = ["add_files", "add_options", "checked", "files", "long_table", "number_or_word", "options"]

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


def add_options(parser: argparse.ArgumentParser, without: Collection[str] = ()) -> None:
    """Add what says which column is what, ``without`` those options that mean something else to the command."""
    criterion = "column of the criterion, if it is not recognised correctly"
    described: dict[str, dict[str, Any]] = {
        role: {"metavar": "COLUMN", "help": f"column of the {role}, or two: doc,seg; row, file or none instead of one"}
        for role in ("participant", "item", "system")
    }
    described |= {
        "criterion": {"metavar": "COLUMN", "help": criterion},
        "rating": {"nargs": "+", "metavar": "COLUMN", "help": "column of the rating, or several columns"},
        "levels": {"nargs": "+", "metavar": "LABEL", "help": "labels of the scale, from low to high"},
        "scale": {"nargs": 2, "type": float, "metavar": ("LOWEST", "HIGHEST"), "help": "ends of the scale"},
        "columns": {
            "metavar": "WHAT",
            "help": 'what several columns of ratings differ in: system, … or "{system}_{criterion}"',
        },
        "format": {
            "choices": choices_of("reading.exports.formats:FORMATS"),
            "help": "format of the file, if it is not recognised correctly",
        },
        "sheet": {"metavar": "NAME", "help": "sheet of a workbook"},
        "join": {
            "nargs": "+",
            "metavar": "FILE",
            "help": "files with one row per participant or per item, whose columns are added",
        },
        "ignore": {"nargs": "+", "metavar": "COLUMN", "help": "columns to leave out"},
        "where": {"metavar": "CONDITION", "help": 'use only rows with, for example, "split == test"'},
        "weights": {
            "nargs": "+",
            "metavar": "SEVERITY=N",
            "dest": "span_weights",
            "help": "error spans (MQM): penalty of each severity; default: minor=1 major=5",
        },
        "systems": {"nargs": 2, "metavar": ("A", "B"), "help": "names of a and b, with one verdict per line"},
        "lower_is_better": {
            "nargs": "*",
            "metavar": "NAME",
            "help": "a low rating is the better one: of all criteria, or of these; of these scorers of logs",
        },
        "higher_is_better": {
            "nargs": "*",
            "metavar": "NAME",
            "help": "a high rating is the better one, always; of these scorers of logs",
        },
    }
    for name, how in described.items():
        if name not in without:
            parser.add_argument(f"--{name.replace('_', '-')}", **how)
    parser.set_defaults(of_reading=tuple(name for name in OPTIONS if name in described and name not in without))


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
    given = {name: value for name in args.of_reading if (value := getattr(args, name)) is not None}
    if (weights := getattr(args, "span_weights", None)) is not None:
        given["levels"] = dict(map(_weight, weights))
    if (pair := given.pop("systems", None)) is not None:
        given["system"] = pair
    if getattr(args, "higher_is_better", None) is not None:
        given["lower_is_better"] = False
    elif (lower := getattr(args, "lower_is_better", None)) is not None:
        given["lower_is_better"] = lower or True
    return given


def long_table(file: str, columns: Mapping[str, str | None], options: Mapping[str, Any]) -> pa.Table:
    """Return a file that has these columns as it is, and any other as :func:`ordbridge.read` reads it.

    ``columns`` has the column of each role; ``options`` are those of reading. What is read also has the names of the
    file's columns, so that a formula may use them.
    """
    from ordbridge.errors import InputError
    from ordbridge.reading import read
    from ordbridge.reading.tables import to_arrow

    wanted = [name for name in columns.values() if name is not None]
    raw = None
    if not options and file.casefold().endswith((".csv", ".parquet", ".feather", ".arrow")):
        with contextlib.suppress(InputError):
            raw = to_arrow(file)
    if raw is not None and set(wanted) <= set(raw.column_names):
        return raw
    given: dict[str, Any] = {
        role: name for role, name in columns.items() if name and name != role and role != "text_type"
    }
    ratings = read(file, **given, **{name: value for name, value in options.items() if name not in given})
    table = ratings.table
    for role in ratings.recognised:
        if (name := ratings.column(role)) and name not in table.column_names and role in table.column_names:
            table = table.append_column(name, table[role])
    return table


def _weight(text: str) -> tuple[str, float]:
    """Return the severity and the penalty in ``minor=1``."""
    from ordbridge.errors import InputError

    name, _, number = text.partition("=")
    try:
        return name, float(number)
    except ValueError:
        raise InputError(
            f"--weights {text} is not a severity and its penalty; write for example minor=1 major=5"
        ) from None


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
