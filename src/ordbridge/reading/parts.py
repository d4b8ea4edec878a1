"""What a sheet is made of: columns that name people, items, systems and criteria, and columns of ratings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ordbridge.reading.sheet import Sheet
from ordbridge.results.finding import Finding
from ordbridge.support.naming import arg

__all__ = [
    "FILE",
    "IDS",
    "NONE",
    "ROW",
    "Asked",
    "Hints",
    "RatingColumn",
    "SheetLayout",
    "listed",
    "options_of",
    "short_name",
]

IDS = ("participant", "item", "system", "criterion")
ROW, NONE, FILE = "row", "none", "file"
"""Instead of a column: the number of the row, nothing, and the name of the file."""
PREFIXES = re.compile(r"^(Answer|Input|data|meta|metadata)\.|^(INPUT|OUTPUT|ASSIGNMENT):", re.IGNORECASE)


@dataclass(frozen=True)
class Asked:
    """What the user said: a column for a role, the columns of ratings, and what these differ in."""

    participant: str | None = None
    item: str | None = None
    system: str | None = None
    criterion: str | None = None
    rating: tuple[str, ...] = ()
    columns: str | None = None


@dataclass(frozen=True)
class Hints:
    """What the format of a file says: columns of roles, columns that hold ratings, whether each row is one person."""

    ids: dict[str, str] = field(default_factory=dict)
    ratings: tuple[str, ...] = ()
    respondents: bool = False
    fallback: dict[str, str] = field(default_factory=dict)
    """Columns of roles where no other column has a name that says so."""
    titles: dict[str, str] = field(default_factory=dict)
    """Better names of columns, such as the question that was asked."""
    marks: str | None = None
    """A column of marked errors, as JSON with a severity each, beside the ratings."""


@dataclass(frozen=True)
class RatingColumn:
    """A column of ratings, and the labels of roles that hold for all of it, or the columns that have them."""

    column: str
    labels: dict[str, str] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SheetLayout:
    """A sheet, its columns of roles, its columns of ratings, and how to say it."""

    sheet: Sheet
    ids: dict[str, str]
    ratings: tuple[RatingColumn, ...]
    recognised: dict[str, str]
    notes: tuple[Finding, ...]
    left_out: tuple[str, ...] = ()

    @property
    def columns(self) -> dict[str, tuple[str, ...]]:
        """The columns that each role was taken from."""
        found: dict[str, tuple[str, ...]] = {
            role: (name,) for role, name in self.ids.items() if name in self.sheet.columns
        }
        for role in IDS:
            if names := tuple(dict.fromkeys(one.sources[role] for one in self.ratings if role in one.sources)):
                found[role] = names
        return found | {"rating": tuple(one.column for one in self.ratings)}


def short_name(column: str) -> str:
    """Return a column's name without what an export puts before it.

    Examples
    --------
    >>> short_name("Answer.fluency")
    'fluency'
    """
    return PREFIXES.sub("", column.strip())


def listed(names: Sequence[str], most: int = 8) -> str:
    """Return names as text, the first ones only and not too long.

    Examples
    --------
    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    shown = [name if len(name) <= 40 else name[:37] + "…" for name in names[:most]]
    return ", ".join(shown) + (f" and {len(names) - most} more" if len(names) > most else "")


def options_of(role: str, names: Sequence[str]) -> str:
    """Return what can be typed to choose one of several columns.

    Examples
    --------
    >>> options_of("item", ["doc", "seg"])
    "item='doc' or item='seg'"
    """
    return " or ".join(arg(role, name) for name in names[:6])
