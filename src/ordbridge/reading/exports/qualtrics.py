"""Qualtrics' export: three header rows (names, questions, import ids as JSON), then a row per response."""

from __future__ import annotations

import re
from collections import Counter

from ordbridge.reading.exports.survey import person_column, question_columns
from ordbridge.reading.parts import Hints
from ordbridge.reading.sheet import Sheet
from ordbridge.reading.vocabulary import plain
from ordbridge.results.finding import found as noticed

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
_LOOP = re.compile(r"(\d+)_(Q.*)")
PREVIEWS = {"surveypreview", "1", "spam", "surveytest", "2", "8"}


def recognise(sheet: Sheet) -> bool:
    """Tell whether the columns are Qualtrics', with or without the rows of questions and import ids below."""
    names = {plain(name) for name in sheet.header}
    if "responseid" not in names or not {"startdate", "enddate"} & names:
        return False
    return _import_row(sheet) is not None or {"startdate", "enddate", "finished"} <= names


def _import_row(sheet: Sheet) -> int | None:
    for place in range(min(2, len(sheet))):
        cells = [cells[place] for cells in sheet.columns.values()]
        if sum("ImportId" in (cell or "") for cell in cells) * 2 > len(cells):
            return place
    return None


def _has_questions(sheet: Sheet) -> bool:
    """Tell whether the first row below the names says in words what they are: Response ID below ResponseId."""
    own = {name: cells for name, cells in sheet.columns.items() if plain(name) in META and len(sheet)}
    same = sum(plain(cells[0] or "") == plain(name) for name, cells in own.items())
    return same * 2 > len(own) > 0


def _with_loops(titles: dict[str, str]) -> dict[str, str]:
    """Add to questions that were asked in a loop, and so are the same, which round it was: 3_Q5_1 is of round 3."""
    rounds = {name: _LOOP.fullmatch(name) for name in titles}
    counts = Counter(titles.values())
    return {
        name: f"Item {found[1]} - {title}" if (found := rounds[name]) and counts[title] > 1 else title
        for name, title in titles.items()
    }


def prepare(sheet: Sheet) -> tuple[Sheet, Hints]:
    """Take the questions off the header, leave out previews, and say who answered."""
    last = _import_row(sheet)
    questions_first = last == 1 or (last is None and _has_questions(sheet))
    skip = last + 1 if last is not None else int(questions_first)
    titles = {}
    for name, cells in sheet.columns.items():
        text = re.sub(r"<[^>]+>|\s+", " ", cells[0] or "").strip() if questions_first else name
        if text and plain(name) not in META and not TIMING.fullmatch(name):
            titles[name] = text
    titles = _with_loops(titles)
    answers = sheet.only([place >= skip for place in range(len(sheet))])
    rows = {0: "one header row", 1: "2 header rows", 2: "3 header rows: names, questions and import ids"}[skip]
    notes = [noticed("export-header", header=rows)]
    status = next((name for name in answers.header if plain(name) == "status"), None)
    if status is not None:
        shown = [plain(cell or "") not in PREVIEWS for cell in answers.columns[status]]
        if not all(shown):
            notes.append(noticed("previews-left-out", n=shown.count(False)))
            answers = answers.only(shown)
    finished = next((name for name in answers.header if plain(name) == "finished"), None)
    if finished is not None:
        unfinished = sum(plain(cell or "") in ("false", "0") for cell in answers.columns[finished])
        if unfinished:
            notes.append(noticed("unfinished", n=unfinished))
    answers = answers.with_columns({n: c for n, c in answers.columns.items() if plain(n) not in PRIVATE})
    questions = [name for name in titles if name in answers.columns]
    person = person_column(answers)
    columns, others = question_columns(answers, [name for name in questions if name != person])
    notes += others
    hints = Hints({"participant": person} if person else {}, tuple(columns), respondents=True, titles=titles)
    return answers.noting(*notes), hints
