"""Prolific's export of a study: people and demographics. It has no ratings; it is joined to a file that has."""

from __future__ import annotations

from ordbridge.errors import InputError
from ordbridge.reading.join import is_prolific
from ordbridge.reading.parts import Hints
from ordbridge.reading.sheet import Sheet
from ordbridge.support.naming import arg

__all__ = ["prepare", "recognise"]

recognise = is_prolific


def prepare(sheet: Sheet) -> tuple[Sheet, Hints]:
    """Say what to do with it."""
    raise InputError(
        f"{sheet.name} is Prolific's list of participants and has no ratings; read the file with the ratings, and add "
        f"this one with {arg('join', sheet.name)}"
    )
