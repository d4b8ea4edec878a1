"""Answers to a Google Form: a row per person, a column per question; of a grid, one per row, "Question [Row]"."""

from __future__ import annotations

from ordbridge.reading.exports.survey import person_column, question_columns
from ordbridge.reading.parts import Hints
from ordbridge.reading.sheet import Sheet
from ordbridge.reading.vocabulary import plain, rank_of

__all__ = ["prepare", "recognise"]

TIMESTAMPS = {"timestamp", "zeitstempel", "horodateur", "marcatemporal", "marcadetiempo"}


def recognise(sheet: Sheet) -> bool:
    """Tell whether the first column is the form's time stamp, and questions follow, not the columns of a long table."""
    first, *others = sheet.header or [""]
    if plain(first) not in TIMESTAMPS:
        return False
    if any(name.rstrip().endswith("]") for name in others):
        return True
    named = any(rank_of(role, name) in (0, 1) for role in ("item", "system", "rating") for name in others)
    return not named and any(name.rstrip().endswith("?") or " " in name.strip() for name in others)


def prepare(sheet: Sheet) -> tuple[Sheet, Hints]:
    """Say who answered, and which questions are ratings."""
    person = person_column(sheet)
    grids = [name for name in sheet.header if name.rstrip().endswith("]")]
    columns, notes = question_columns(sheet, grids or [name for name in sheet.header[1:] if name != person])
    hints = Hints({"participant": person} if person else {}, tuple(columns), respondents=True)
    return sheet.noting(*notes), hints
