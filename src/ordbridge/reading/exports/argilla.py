"""Argilla's records as ``dataset.records.to_json`` and ``to_list`` write them, nested or flattened.

Nested: ``{"id", "fields": {…}, "metadata": {…}, "responses": {question: [{"value", "user_id"}]}}``; flattened:
``question.responses`` and ``question.responses.users``, lists of one length.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ordbridge.reading.exports.records import only_one, sheet_of_rows
from ordbridge.reading.exports.survey import question_columns
from ordbridge.reading.parts import Hints
from ordbridge.reading.sheet import Sheet

__all__ = ["is_json", "of_json"]


def is_json(value: Any) -> bool:
    """Tell whether a value is a list of records with responses."""
    if not isinstance(value, list) or not value or not all(isinstance(one, Mapping) for one in value):
        return False
    nested = all({"fields", "responses"} <= one.keys() for one in value)
    return nested or any(str(key).endswith(".responses.users") for one in value for key in one)


def of_json(value: list[Mapping[str, Any]], name: str) -> tuple[Sheet, Hints]:
    """Return a row per record and user, a column per question."""
    rows: list[dict[str, Any]] = []
    questions: dict[str, None] = {}
    for place, record in enumerate(value, 1):
        shared = {"record": record.get("id") or record.get("_server_id") or place, **_about(record)}
        by_user: dict[str, dict[str, Any]] = {}
        for question, answers in _answers(record).items():
            questions[question] = None
            for user, answer in answers:
                by_user.setdefault(str(user), {})[question] = only_one(answer)
        rows += [{"annotator": user, **shared, **answers} for user, answers in by_user.items()]
    sheet = sheet_of_rows(rows, name)
    columns, notes = question_columns(sheet, list(questions))
    return sheet.noting(*notes), Hints({"participant": "annotator"}, tuple(columns), fallback={"item": "record"})


def _about(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields and metadata of a record."""
    found: dict[str, Any] = {}
    for part in ("metadata", "fields"):
        inner = record.get(part)
        found |= dict(inner) if isinstance(inner, Mapping) else {}
    own = ("id", "_server_id", "status", "fields", "metadata", "responses", "suggestions", "vectors")
    flat = {key: cell for key, cell in record.items() if key not in own and not isinstance(cell, (list, dict))}
    return {key: cell for key, cell in (flat | found).items() if ".suggestion" not in key}


def _answers(record: Mapping[str, Any]) -> dict[str, list[tuple[Any, Any]]]:
    """Return, for each question, the users and their answers."""
    found: dict[str, list[tuple[Any, Any]]] = {}
    responses = record.get("responses")
    if isinstance(responses, Mapping):
        for question, answers in responses.items():
            given = [one for one in answers or () if isinstance(one, Mapping)]
            found[question] = [(one.get("user_id"), one.get("value")) for one in given]
    for key, users in record.items():
        if str(key).endswith(".responses.users") and isinstance(users, list):
            question = str(key).removesuffix(".responses.users")
            found[question] = list(zip(users, record.get(f"{question}.responses") or [], strict=False))
    return found
