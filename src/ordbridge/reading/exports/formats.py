"""The formats that are known by name, and how a file is recognised as one of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ordbridge.errors import InputError
from ordbridge.reading.exports import (
    argilla,
    doccano,
    google_forms,
    label_studio,
    mturk,
    pearmut,
    potato,
    prodigy,
    prolific,
    qualtrics,
    toloka,
    wmt,
)
from ordbridge.reading.opening import sheet_of_records
from ordbridge.reading.parts import Hints
from ordbridge.reading.sheet import Sheet
from ordbridge.results.finding import found as noticed
from ordbridge.support.naming import arg

__all__ = ["FORMATS", "export_of_json", "export_of_sheet"]

Prepared = tuple[Sheet, Hints]

_SHEETS: dict[str, tuple[str, Callable[[Sheet], bool], Callable[[Sheet], Prepared]]] = {
    "wmt": ("scores of WMT (Appraise)", wmt.recognise, wmt.prepare),
    "qualtrics": ("an export of Qualtrics", qualtrics.recognise, qualtrics.prepare),
    "mturk": ("batch results of Mechanical Turk", mturk.recognise, mturk.prepare),
    "toloka": ("assignments of Toloka", toloka.recognise, toloka.prepare),
    "label-studio": ("an export of Label Studio", label_studio.recognise, label_studio.prepare),
    "potato": ("an export of Potato", potato.recognise, potato.prepare),
    "prolific": ("an export of Prolific", prolific.recognise, prolific.prepare),
    "google-forms": ("answers to a Google Form", google_forms.recognise, google_forms.prepare),
}
_JSON: tuple[tuple[str, Callable[[Any], bool], Callable[[Any, str], Prepared]], ...] = (
    ("an output of pearmut", pearmut.is_json, pearmut.of_json),
    ("records of Argilla", argilla.is_json, argilla.of_json),
    ("an export of Prodigy", prodigy.is_json, prodigy.of_json),
    ("an export of doccano", doccano.is_json, doccano.of_json),
)
FORMATS = ("wmt", "qualtrics", "mturk", "toloka", "label-studio", "potato", "google-forms", "table")
"""Formats that can be named; "table" is none of the others."""


def export_of_sheet(sheet: Sheet, format: str | None) -> Prepared:
    """Return a sheet as the format that it has, or that was named, leaves it, and what the format says."""
    if format == "table":
        return sheet, Hints()
    if format is not None:
        title, recognise, prepare = _SHEETS[format]
        if not recognise(sheet):
            raise InputError(
                f"{sheet.name} is not {title}: it does not have the columns of one; leave out {arg('format')}"
            )
        return _noted(title, *prepare(sheet))
    for title, recognise, prepare in _SHEETS.values():
        if recognise(sheet):
            return _noted(title, *prepare(sheet))
    return sheet, Hints()


def export_of_json(value: Any, path: Path) -> Prepared | None:
    """Return what Label Studio or Potato wrote as JSON, or ``None`` if it is something else."""
    if label_studio.is_json(value):
        return _noted(_SHEETS["label-studio"][0], *label_studio.of_json(value, path.name))
    if label_studio.is_short_json(value):
        return _noted(
            _SHEETS["label-studio"][0], *label_studio.prepare(sheet_of_records(value, path.name, explode=False))
        )
    records = [value] if isinstance(value, dict) else value  # a single line
    for title, is_json, of_json in _JSON:
        if is_json(records):
            return _noted(title, *of_json(records, path.name))
    if potato.is_json(value):
        return _noted(_SHEETS["potato"][0], *potato.of_json(value, path))
    return None


def _noted(title: str, sheet: Sheet, hints: Hints) -> Prepared:
    return sheet.noting(noticed("recognised-as", title=title)), hints
