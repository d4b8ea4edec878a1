"""Comparisons of two systems, as an arena collects them: recognised, and refused in a sentence."""

from __future__ import annotations

from ordbridge.errors import InputError
from ordbridge.reading.parts import Hints
from ordbridge.reading.sheet import Sheet
from ordbridge.reading.values import looks_like_ratings
from ordbridge.reading.vocabulary import plain, says_rating

__all__ = ["prepare", "recognise"]

THINGS = ("model", "system", "response", "answer", "conversation")
PAIRS = tuple((f"{thing}{a}", f"{thing}{b}") for thing in THINGS for a, b in ("ab", "12"))
VERDICTS = {"winner", "preference", "preferred", "better", "choice", "vote", "verdict", "outcome", "winnermodela"}


def _verdict(sheet: Sheet) -> str | None:
    names = {plain(name): name for name in sheet.header}
    if {"chosen", "rejected"} <= names.keys():
        return names["chosen"]
    if not any(a in names and b in names for a, b in PAIRS):
        return None
    if any(says_rating(name) and looks_like_ratings(sheet.columns[name]) for name in sheet.header):
        return None  # both were rated, too
    found = [names[name] for name in names if name in VERDICTS]
    return found[0] if found else None


def recognise(sheet: Sheet) -> bool:
    """Tell whether a sheet has two systems and a winner in each row."""
    return _verdict(sheet) is not None


def prepare(sheet: Sheet) -> tuple[Sheet, Hints]:
    """Say that comparisons are not ratings."""
    raise InputError(
        f"{sheet.name} compares two systems in each row and says which one wins ({_verdict(sheet)!r}); these are "
        "not ratings, and ordbridge analyses ratings only: fit a Bradley–Terry model, as in R's BradleyTerry2"
    )
