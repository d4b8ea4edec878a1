"""doccano's JSON lines: ``{"id", "text", "label": ["4"], "Comments": []}``, one file per annotator.

Also with ``label`` called ``category`` or ``labels``. Who labelled is the name of the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ordbridge.errors import InputError
from ordbridge.reading.exports.records import only_one, sheet_of_rows
from ordbridge.reading.parts import FILE, Hints
from ordbridge.reading.sheet import Sheet

__all__ = ["is_json", "of_json"]

LABELS = ("label", "labels", "category", "categories", "cats")


def is_json(value: Any) -> bool:
    """Tell whether a value is a list of texts with lists of labels, as doccano writes it."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(one, Mapping)
            and {"id", "text"} <= one.keys()
            and "Comments" in one
            and any(isinstance(one.get(name), list) for name in LABELS)
            for one in value
        )
    )


def of_json(value: list[Mapping[str, Any]], name: str) -> tuple[Sheet, Hints]:
    """Return a row per text, with its label as the rating."""
    column = next(key for key in LABELS if isinstance(value[0].get(key), list))
    if any(isinstance(cell, list) for one in value for cell in one.get(column) or ()):
        raise InputError(f"{name} has spans of text with labels; these are not ratings")
    annotator = name.split(".")[0]
    rows = [
        {FILE: annotator, **{key: cell for key, cell in one.items() if key not in (*LABELS, "Comments")},
         "label": only_one(one.get(column) or [None])}
        for one in value
    ]  # fmt: skip
    return sheet_of_rows(rows, name), Hints({"participant": FILE, "item": "id"}, ("label",))
