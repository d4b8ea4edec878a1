"""Batch results of Mechanical Turk: a row per assignment, with ``WorkerId``, ``Input.*`` and ``Answer.*``."""

from __future__ import annotations

import json
import re
from typing import Any

from ordbridge.reading.exports.survey import is_asked, question_columns
from ordbridge.reading.parts import Hints
from ordbridge.reading.sheet import Sheet
from ordbridge.reading.source import json_of
from ordbridge.results.finding import found as noticed

__all__ = ["prepare", "recognise"]

TASK_ANSWERS = "Answer.taskAnswers"
KEPT = ("HITId", "AssignmentId", "WorkerId", "AssignmentStatus", "AcceptTime", "SubmitTime", "WorkTimeInSeconds")
_OPTION = re.compile(r"(Answer\..+?)[-_. ]?(\d+)\.on|(Answer\..+)\.([^.]+)")


def recognise(sheet: Sheet) -> bool:
    """Tell whether the columns are those of a batch."""
    answers = any(name.startswith("Answer.") for name in sheet.header)
    return answers and ("WorkerId" in sheet.columns or "HITId" in sheet.columns)


def prepare(sheet: Sheet) -> tuple[Sheet, Hints]:
    """Leave out rejected work, and take answers out of JSON and of one column per option."""
    notes = []
    if "AssignmentStatus" in sheet.columns:
        kept = [(cell or "").strip().casefold() != "rejected" for cell in sheet.columns["AssignmentStatus"]]
        if not all(kept):
            notes.append(noticed("rejected-left-out", n=kept.count(False)))
            sheet = sheet.only(kept)
    columns = dict(sheet.columns)
    if TASK_ANSWERS in columns:
        columns |= _task_answers(columns.pop(TASK_ANSWERS))
    columns = _without_options(columns)
    columns = {name: cells for name, cells in columns.items() if name in KEPT or name.startswith(("Input.", "Answer."))}
    sheet = sheet.with_columns(columns)
    answers = {name: name.removeprefix("Answer.") for name in columns if name.startswith("Answer.")}
    asked = [name for name, question in answers.items() if is_asked(question, columns[name])]
    ratings, others = question_columns(sheet, asked)
    hints = Hints({"participant": "WorkerId"}, tuple(ratings), fallback={"item": "HITId"})
    return sheet.noting(*notes, *others), hints


def _task_answers(cells: list[str | None]) -> dict[str, list[str | None]]:
    """Return a column for each field of a form made of Crowd HTML elements."""
    found: dict[str, list[str | None]] = {}
    for place, cell in enumerate(cells):
        try:
            value = json_of(cell, "a cell") if cell else []
        except ValueError:
            value = []
        for form in value if isinstance(value, list) else [value]:
            for name, answer in _fields(form):
                found.setdefault(f"Answer.{name}", [None] * len(cells))[place] = _answer(answer)
    return found


def _fields(form: Any) -> list[tuple[str, Any]]:
    """Return the fields of a form; one that holds several answers is not a field itself."""
    fields: list[tuple[str, Any]] = []
    for name, answer in form.items() if isinstance(form, dict) else ():
        several = isinstance(answer, dict) and not {"label", "labels"} & answer.keys()
        plain = several and not any(isinstance(one, (bool, list)) for one in answer.values())
        fields += answer.items() if plain else [(name, answer)]
    return fields


def _answer(value: Any) -> str | None:
    """Return the chosen option of ``{"1": false, "2": true}``, the label of a classifier, or the value."""
    if isinstance(value, dict):
        if value and all(isinstance(on, bool) for on in value.values()):
            chosen = [option for option, on in value.items() if on]
            return _point(chosen[0], list(value)) if len(chosen) == 1 else None
        inner = value.get("label", value.get("labels"))
        return inner if isinstance(inner, str) else json.dumps(value)
    if isinstance(value, (list, tuple)):
        return json.dumps(value)
    return None if value is None or value == "" else str(value)


def _point(chosen: str, options: list[str]) -> str:
    """Return the number of an option such as fluency3, if that is all in which the options differ."""
    parts = [re.fullmatch(r"(.*?)(\d+)", option) for option in options]
    same = all(parts) and len({part[1] for part in parts if part}) == 1
    return re.sub(r"^.*?(?=\d+$)", "", chosen) if same else chosen


def _without_options(columns: dict[str, list[str | None]]) -> dict[str, list[str | None]]:
    """Put the columns ``Answer.fluency.1`` to ``Answer.fluency.5``, true or false, into one ``Answer.fluency``."""
    groups: dict[str, dict[str, str]] = {}
    for name, cells in columns.items():
        match = _OPTION.fullmatch(name)
        if match and {(cell or "").casefold() for cell in cells} <= {"true", "false", "", "on"}:
            question, option = (part for part in match.groups() if part is not None)
            groups.setdefault(question, {})[option] = name
    found = dict(columns)
    for question, options in groups.items():
        if len(options) < 2:
            continue
        rows = range(len(columns[next(iter(options.values()))]))
        chosen = [
            [o for o, name in options.items() if (columns[name][place] or "").casefold() in ("true", "on")]
            for place in rows
        ]
        if max(map(len, chosen)) > 1:
            continue  # several may be ticked: not a rating
        for name in options.values():
            del found[name]
        found[question] = [_point(one[0], list(options)) if one else None for one in chosen]
    return found
