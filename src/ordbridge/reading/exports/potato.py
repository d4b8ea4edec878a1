"""Potato's output: the folder of annotators, their ``user_state.json``, version 1's JSON lines, and its CSV and TSV.

A schema's answer is stored under the name of the chosen option; a scale's points are the names "1", "2", … (version
2) or "scale_1", "scale_2", … (version 1), and a table of ratings (multirate) has one name per rated thing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ordbridge.errors import InputError
from ordbridge.reading.opening import json_value
from ordbridge.reading.parts import Hints
from ordbridge.reading.sheet import Sheet
from ordbridge.reading.size_limits import refuse_large_table
from ordbridge.reading.values import looks_like_ratings
from ordbridge.reading.vocabulary import is_aside, numbered_role
from ordbridge.reading.workbook import cell_text
from ordbridge.results.finding import found as noticed

__all__ = ["is_folder", "is_json", "of_folder", "of_json", "prepare", "recognise"]

STATE, LINES = "user_state.json", "annotated_instances.jsonl"
VALUES = ("user_id", "instance_id_to_label_to_value")
HOLDERS = {"slider", "text_box", "textbox", "number", "value", "input", "", "scale_", "likert", "range", "vas"}
"""Names of options that hold a value instead of being one."""
_POINT = re.compile(r"(?:scale_)?(\d+)")
_TIME = re.compile(r"(?:(\d{1,9})d )?(?:(\d{1,9})h )?(?:(\d{1,9})m )?(\d{1,9})s")
OWN = ("user_id", "user", "instance_id", "id")
OFF = ("", "false", "none", "null")
Record = tuple[str | None, str | None, dict[str, Any], dict[str, dict[str, Any]]]  # who, what, beside, answers


def is_folder(path: Path) -> bool:
    """Tell whether a folder has the output of annotators."""
    return path.is_dir() and any(next(path.rglob(name), None) for name in (STATE, LINES))


def of_folder(path: Path) -> tuple[Sheet, Hints]:
    """Read the output of all annotators in a folder."""
    files = sorted(path.rglob(STATE)) or sorted(path.rglob(LINES))
    records = [record for file in files for record in _records(json_value(file), file)]
    return _sheet(records, path.name)


def is_json(value: Any) -> bool:
    """Tell whether a value is a user's state, or lines of version 1 or 2."""
    if isinstance(value, dict):
        return set(VALUES) <= value.keys() or _is_line(value)
    return isinstance(value, list) and bool(value) and all(isinstance(line, dict) and _is_line(line) for line in value)


def _is_line(line: Mapping[str, Any]) -> bool:
    labels = line.get("label_annotations")
    people = isinstance(labels, dict) and all(numbered_role(str(name)) == "participant" for name in labels)
    one = "label_annotations" in line and ("id" in line or "instance_id" in line) and not (people and labels)
    return one or {"instance_id", "user_id", "labels"} <= line.keys()


def of_json(value: Any, path: Path) -> tuple[Sheet, Hints]:
    """Read one JSON file."""
    return _sheet(list(_records(value, path)), path.name)


def _records(value: Any, path: Path) -> Iterable[Record]:
    if isinstance(value, dict) and VALUES[1] in value:
        times = value.get("instance_id_to_behavioral_data") or {}
        if not isinstance(value[VALUES[1]], dict) or not isinstance(times, dict):
            raise _unknown(path.name)
        for instance, labels in value[VALUES[1]].items():
            beside = {"seconds": _seconds(times.get(instance))}
            yield cell_text(value.get("user_id")), str(instance), beside, _by_schema(labels, path.name)
        return
    for line in value if isinstance(value, list) else [value]:
        if not isinstance(line, dict):
            raise _unknown(path.name)
        who = line.get("user_id", line.get("user")) or path.parent.name
        what = line.get("instance_id", line.get("id"))
        beside = {key: cell for key, cell in line.items() if key not in OWN and not isinstance(cell, (dict, list))}
        beside["seconds"] = _seconds(line.get("behavioral_data"))
        yield (
            cell_text(who),
            cell_text(what),
            beside,
            _by_schema(line.get("label_annotations", line.get("labels")) or {}, path.name),
        )


def _unknown(name: str) -> InputError:
    return InputError(f"{name} has answers in a form that Potato does not write; give the files as Potato left them")


def _by_schema(labels: Any, name: str) -> dict[str, dict[str, Any]]:
    """Return schema → option → value, from a mapping or from the pairs that version 2 writes."""
    if isinstance(labels, Mapping):
        return {
            str(schema): {str(option): cell for option, cell in options.items()}
            if isinstance(options, Mapping)
            else {"": options}
            for schema, options in labels.items()
        }
    found: dict[str, dict[str, Any]] = {}
    if not isinstance(labels, list):
        raise _unknown(name)
    for pair in labels:
        if not (isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], Mapping)):
            raise _unknown(name)
        label, value = pair
        found.setdefault(str(label.get("schema", "")), {})[str(label.get("name", ""))] = value
    return found


def _seconds(behaviour: Any) -> str | None:
    """Return how long an annotation took, where that was recorded."""
    if not isinstance(behaviour, Mapping):
        return None
    if isinstance(total := behaviour.get("total_time_ms"), (int, float)) and abs(total) < 1e15:
        return f"{total / 1000:g}"
    spent = _TIME.search(str(behaviour.get("time_string", "")))
    if not spent:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in spent.groups())
    return str(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def _sheet(records: list[Record], name: str, table: Sheet | None = None) -> tuple[Sheet, Hints]:
    """Return a row per annotator and instance, a column per schema, or per option where each has a value."""
    if not any(answers for *_, answers in records):
        raise InputError(f"{name} has no annotations")
    columns: dict[str, list[str | None]] = {
        "user_id": [who for who, *_ in records],
        "instance_id": [what for _, what, *_ in records],
    }
    for key in dict.fromkeys(key for _, _, beside, _ in records for key in beside):
        columns[key] = [cell_text(beside.get(key)) for _, _, beside, _ in records]
    schemas = {schema for *_, found in records for schema in found}
    refuse_large_table(name, len(records), len(columns) + len(schemas))
    answers = [{schema: _given(options) for schema, options in found.items()} for *_, found in records]
    ratings = _answers_into(columns, answers)
    columns = {title: cells for title, cells in columns.items() if any(cells)}
    if table is not None:
        sheet = Sheet(columns, table.rows, name, table.notes)
    else:
        sheet = Sheet(columns, np.arange(1, len(records) + 1), name, (noticed("annotations-numbered"),))
    return sheet, Hints({"participant": "user_id"}, tuple(ratings), fallback={"item": "instance_id"})


def _answers_into(columns: dict[str, list[str | None]], answers: list[dict[str, dict[str, Any]]]) -> list[str]:
    ratings = []
    for schema in dict.fromkeys(schema for row in answers for schema in row):
        given = [row.get(schema, {}) for row in answers]
        if max(map(len, given)) > 1:  # one value per option: a table of ratings, or ticked boxes
            options = dict.fromkeys(option for row in given for option in row)
            parts = {f"{schema} [{option}]": [cell_text(row.get(option)) for row in given] for option in options}
            if all(
                str(cell).casefold() in ("true", "1", "on", *OFF) or cell == name
                for name, cells in parts.items()
                for cell in cells
            ):
                continue
        else:
            parts = {schema: [_answer(row) for row in given]}
        columns |= parts
        ratings += [name for name, cells in parts.items() if not is_aside(name) and looks_like_ratings(cells)]
    return ratings


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that are switched on or hold something."""
    return {
        name: value
        for name, value in options.items()
        if value is not False and str(value).strip().casefold() not in OFF
    }


def _answer(options: Mapping[str, Any]) -> str | None:
    """Return the answer to a schema: the chosen option, or the value that the only option holds."""
    if not options:
        return None
    ((name, value),) = options.items()
    if name.casefold() in HOLDERS:
        return cell_text(value)
    point = _POINT.fullmatch(name)
    return point[1] if point else name


def recognise(sheet: Sheet) -> bool:
    """Tell whether a table is Potato's: columns of its own and one per schema and option."""
    names = set(sheet.header)
    if not {"user_id", "user"} & names or "instance_id" not in names:
        return False
    return any(":::" in name for name in names) or any(_is_option(name, cells) for name, cells in sheet.columns.items())


def _is_option(name: str, cells: list[str | None]) -> bool:
    """Tell whether a column is that of one option: its cells are empty or say that it was chosen."""
    _, found, option = name.partition(".")
    return bool(found) and {str(cell).casefold() for cell in cells if cell} <= {option.casefold(), "true", "1"}


def prepare(sheet: Sheet) -> tuple[Sheet, Hints]:
    """Put the columns of options together."""
    person = "user_id" if "user_id" in sheet.columns else "user"
    mark = ":::" if any(":::" in name for name in sheet.header) else "."
    records: list[Record] = []
    for place in range(len(sheet)):
        answers: dict[str, dict[str, Any]] = {}
        beside = {}
        for name, cells in sheet.columns.items():
            schema, found, option = name.partition(mark)
            if name in (person, "instance_id"):
                continue
            if found and not option.startswith("_"):
                answers.setdefault(schema, {})[option] = cells[place]
            elif not found:
                beside[name] = cells[place]
        whole = {schema: beside.pop(schema) for schema in list(beside) if schema in answers}  # the resolved answer
        answers |= {schema: {"": cell} for schema, cell in whole.items() if cell}
        records.append((sheet.columns[person][place], sheet.columns["instance_id"][place], beside, answers))
    return _sheet(records, sheet.name, sheet)
