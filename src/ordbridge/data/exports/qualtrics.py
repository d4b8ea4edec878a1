"""Qualtrics' export: three header rows (names, questions, import ids as JSON), then a row per response."""

from __future__ import annotations

import re

from ordbridge.data.exports.survey import person_column, question_columns
from ordbridge.data.parts import Hints
from ordbridge.data.vocabulary import plain
from ordbridge.files import Sheet

__all__ = ["prepare", "recognise"]

PRIVATE = (
    "ipaddress",
    "recipientlastname",
    "recipientfirstname",
    "recipientemail",
    "locationlatitude",
    "locationlongitude",
)
META = (
    *PRIVATE, "startdate", "enddate", "status", "progress", "durationinseconds", "finished", "recordeddate",
    "responseid", "externalreference", "distributionchannel", "userlanguage",
)  # fmt: skip
TIMING = re.compile(
    r".*(First Click|Last Click|Page Submit|Click Count|_DO|Browser|Version|Resolution|Operating System).*"
)
PREVIEWS = {"surveypreview", "1", "spam", "surveytest", "2", "8"}


def recognise(sheet: Sheet) -> bool:
    """Tell whether the columns are Qualtrics' and the third row has import ids."""
    names = {plain(name) for name in sheet.header}
    return "responseid" in names and {"startdate", "enddate"} & names != set() and _import_row(sheet) is not None


def _import_row(sheet: Sheet) -> int | None:
    for place in range(min(2, len(sheet))):
        cells = [cells[place] for cells in sheet.columns.values()]
        if sum("ImportId" in (cell or "") for cell in cells) * 2 > len(cells):
            return place
    return None


def prepare(sheet: Sheet) -> tuple[Sheet, Hints]:
    """Take the questions off the header, leave out previews, and say who answered."""
    last = _import_row(sheet)
    skip = 0 if last is None else last + 1
    titles = {}
    for name, cells in sheet.columns.items():
        text = re.sub(r"<[^>]+>|\s+", " ", cells[0] or "").strip() if skip == 2 else ""
        if text and plain(name) not in META and not TIMING.fullmatch(name):
            titles[name] = text
    answers = sheet.only([place >= skip for place in range(len(sheet))])
    notes = [f"{skip + 1} header rows: names, questions and import ids; addresses and places of people were left out"]
    status = next((name for name in answers.header if plain(name) == "status"), None)
    if status is not None:
        shown = [plain(cell or "") not in PREVIEWS for cell in answers.columns[status]]
        if not all(shown):
            notes.append(f"{shown.count(False)} previews or spam were left out")
            answers = answers.only(shown)
    finished = next((name for name in answers.header if plain(name) == "finished"), None)
    if finished is not None:
        unfinished = sum(plain(cell or "") in ("false", "0") for cell in answers.columns[finished])
        if unfinished:
            notes.append(f"{unfinished} responses are unfinished; what they have was read")
    answers = answers.with_columns({n: c for n, c in answers.columns.items() if plain(n) not in PRIVATE})
    questions = [name for name in titles if name in answers.columns]
    person = person_column(answers)
    columns, others = question_columns(answers, [name for name in questions if name != person])
    notes += others
    hints = Hints({"participant": person} if person else {}, tuple(columns), respondents=True, titles=titles)
    return answers.noting(*notes), hints
