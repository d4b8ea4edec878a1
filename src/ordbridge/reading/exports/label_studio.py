"""Label Studio's exports: JSON (tasks with annotations), JSON_MIN, CSV and TSV.

The raw JSON is described at https://labelstud.io/guide/task_format; CSV and JSON_MIN hold a rating as
``[{"rating": 4}]`` and a choice as its text, as ``label_studio_sdk.converter`` writes them.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ordbridge.errors import InputError
from ordbridge.reading.exports.survey import question_columns
from ordbridge.reading.parts import Hints
from ordbridge.reading.sheet import Sheet
from ordbridge.reading.size_limits import refuse_large_table
from ordbridge.reading.source import json_of
from ordbridge.reading.values import looks_like_ratings
from ordbridge.reading.vocabulary import is_aside
from ordbridge.reading.workbook import cell_text
from ordbridge.results.finding import found as noticed

__all__ = ["is_json", "is_short_json", "of_json", "prepare", "recognise"]

CONTROLS = ("rating", "number", "choices", "selected", "text", "taxonomy", "datetime")
WINNER = "winner"  # added to the name of a pairwise control: left or right is the better one
KEYS = ("annotator", "annotation_id", "lead_time")
OWN = ("annotator", "annotation_id", "created_at", "updated_at", "lead_time")


def is_json(value: Any) -> bool:
    """Tell whether a value is Label Studio's list of tasks."""
    if isinstance(value, dict):
        value = [value]
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(task, dict) and "data" in task and ("annotations" in task or "completions" in task)
            for task in value
        )
    )


def is_short_json(value: Any) -> bool:
    """Tell whether a value is the list of annotations that Label Studio calls JSON_MIN."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, dict) and set(KEYS) <= one.keys() for one in value)
    )


def of_json(value: Any, name: str) -> tuple[Sheet, Hints]:
    """Return a row per annotation, a column per control."""
    records: list[tuple[dict[str, Any], ...]] = []
    controls: dict[str, None] = {}
    pairwise: dict[str, None] = {}
    skipped = 0
    for task in value if isinstance(value, list) else [value]:
        for annotation in _objects(task.get("annotations", task.get("completions")), name, "annotations"):
            if annotation.get("was_cancelled") or annotation.get("skipped"):
                skipped += 1
                continue
            answers: dict[str, str | None] = {}
            for result in _objects(annotation.get("result"), name, "result"):
                control = result.get("from_name")
                answer = _answer(_object(result.get("value"), name, "value"))
                if result.get("type") == "pairwise" and isinstance(control, str):
                    control = f"{control} ({WINNER})"
                    pairwise[control] = None
                if not isinstance(control or "", str):
                    raise InputError(
                        f"'from_name' of a task in {name} is not a name; export it again from Label Studio"
                    )
                if control is not None and answer is not None and control not in answers:
                    answers[control] = answer
            controls |= dict.fromkeys(answers)
            data = _flat(_object(task["data"], name, "data"))
            records.append(
                (
                    {
                        "annotator": _person(annotation.get("completed_by")),
                        "lead_time": cell_text(annotation.get("lead_time")),
                    },
                    {"task": cell_text(task.get("id"))},
                    data,
                    answers,
                )
            )
    if not records:
        raise InputError(f"{name} has no annotations")
    columns: dict[str, list[str | None]] = {}
    keys = [dict.fromkeys(key for record in records for key in record[part]) for part in (0, 1, 2, 3)]
    refuse_large_table(name, len(records), sum(map(len, keys)))
    for part in (0, 1, 2, 3):
        for key in keys[part]:
            title = f"data.{key}" if part == 2 and (key in controls or key in (*OWN, "task")) else key
            columns[title] = [_text(record[part].get(key)) for record in records]
    sheet = Sheet(columns, np.arange(1, len(records) + 1), name)
    notes = [noticed("annotations-numbered")]
    if skipped:
        notes.append(noticed("skipped-left-out", n=skipped))
    questions = [control for control in controls if control not in pairwise]
    ratings, others = question_columns(sheet, questions) if questions or not pairwise else ([], [])
    return sheet.noting(*notes, *others), Hints({"participant": "annotator"}, tuple(ratings), fallback={"item": "task"})


def _objects(value: Any, name: str, what: str) -> list[dict[str, Any]]:
    """Return a list of objects, which may be missing or null."""
    if not isinstance(value or [], list) or not all(isinstance(one, dict) for one in value or []):
        raise InputError(f"{what!r} of a task in {name} is not a list of objects; export it again from Label Studio")
    return value or []


def _object(value: Any, name: str, what: str) -> dict[str, Any]:
    """Return an object, which may be missing or null."""
    if not isinstance(value or {}, dict):
        raise InputError(f"{what!r} of a task in {name} is not an object; export it again from Label Studio")
    return value or {}


def _flat(data: dict[str, Any], before: str = "") -> dict[str, Any]:
    """Return the data of a task, objects inside it as ``outer.inner``."""
    found: dict[str, Any] = {}
    for key, cell in data.items():
        found |= _flat(cell, f"{before}{key}.") if isinstance(cell, dict) and cell else {f"{before}{key}": cell}
    return found


def _answer(value: dict[str, Any]) -> str | None:
    for kind in CONTROLS:
        if kind in value:
            found = value[kind]
            while isinstance(found, list) and len(found) == 1:
                found = found[0]
            return None if isinstance(found, list) else cell_text(found)
    return None


def _person(who: Any) -> str | None:
    if isinstance(who, dict):
        who = who.get("email") or who.get("username") or who.get("id")
    return cell_text(who)


def _text(value: Any) -> str | None:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else cell_text(value)


def recognise(sheet: Sheet) -> bool:
    """Tell whether a table has the columns that every CSV export has."""
    return set(KEYS) <= set(sheet.header)


def prepare(sheet: Sheet) -> tuple[Sheet, Hints]:
    """Take ratings out of ``[{"rating": 4}]``."""
    columns = {name: [_unwrapped(cell) for cell in cells] for name, cells in sheet.columns.items()}
    wrapped = [name for name in columns if columns[name] != sheet.columns[name]]
    own = {*OWN, "id", "agreement", "history"}
    choices = [name for name in columns if name not in own and not is_aside(name) and name not in wrapped]
    ratings = tuple(name for name in wrapped if looks_like_ratings(columns[name]))
    if not ratings:  # choices, which stand there as plain text beside the data of the task
        words = [name for name in choices if looks_like_ratings(columns[name]) and not _all_numbers(columns[name])]
        ratings = tuple(words)
    hints = Hints({"participant": "annotator"}, ratings, fallback={"item": "id"})
    return sheet.with_columns(columns), hints


def _all_numbers(cells: list[str | None]) -> bool:
    return all(cell is None or cell.strip().lstrip("-").replace(".", "", 1).isdigit() for cell in cells)


def _unwrapped(cell: str | None) -> str | None:
    if cell is None or not cell.lstrip().startswith(("[{", "{")):
        return cell
    try:
        value = json_of(cell, "a cell")
    except ValueError:
        return cell
    first = value[0] if isinstance(value, list) and len(value) == 1 else value
    return _answer(first) if isinstance(first, dict) and any(kind in first for kind in CONTROLS) else cell
