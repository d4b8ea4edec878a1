"""Toloka's assignments: TSV with columns INPUT:…, OUTPUT:…, GOLDEN:…, HINT:…, ASSIGNMENT:….

As in ``crowdsource/`` of https://github.com/YipingNUS/scratchplot-story-generation.
"""

from __future__ import annotations

from ordbridge.reading.cell_types import is_missing
from ordbridge.reading.exports.survey import question_columns
from ordbridge.reading.parts import Hints
from ordbridge.reading.sheet import Sheet
from ordbridge.results.finding import found as noticed

__all__ = ["prepare", "recognise"]

WORKER, STATUS = "ASSIGNMENT:worker_id", "ASSIGNMENT:status"


def recognise(sheet: Sheet) -> bool:
    """Tell whether a sheet has the columns of Toloka's assignments."""
    return WORKER in sheet.columns and any(name.startswith("OUTPUT:") for name in sheet.header)


def prepare(sheet: Sheet) -> tuple[Sheet, Hints]:
    """Leave out rejected assignments and control tasks, whose right answer is known; the outputs are the ratings."""
    golden = [name for name in sheet.header if name.startswith("GOLDEN:")]
    control = [any(not is_missing(sheet.columns[name][row]) for name in golden) for row in range(len(sheet))]
    rejected = [(cell or "").upper() == "REJECTED" for cell in sheet.columns.get(STATUS, [None] * len(sheet))]
    notes = []
    if any(control):
        notes.append(noticed("controls-left-out", n=sum(control), what="control tasks"))
    if any(rejected):
        notes.append(noticed("rejected-left-out", n=sum(rejected)))
    sheet = sheet.only([not (a or b) for a, b in zip(control, rejected, strict=True)])
    kept = {
        name: cells for name, cells in sheet.columns.items() if name == WORKER or name.startswith(("INPUT:", "OUTPUT:"))
    }
    sheet = sheet.with_columns(kept)
    ratings, others = question_columns(sheet, [name for name in kept if name.startswith("OUTPUT:")])
    return sheet.noting(*notes, *others), Hints({"participant": WORKER}, tuple(ratings))
