"""Prodigy's ``db-out``: JSON lines with hashes, ``accept`` (chosen options), ``answer`` and ``_annotator_id``.

Described at https://prodi.gy/docs/api-interfaces; the package is not on PyPI.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ordbridge.errors import InputError
from ordbridge.reading.exports.records import only_one, sheet_of_rows
from ordbridge.reading.parts import Hints
from ordbridge.reading.sheet import Sheet
from ordbridge.results.finding import found as noticed

__all__ = ["is_json", "of_json"]

OWN = ("_input_hash", "_task_hash", "_annotator_id", "_session_id", "_timestamp", "_view_id", "accept", "answer",
       "options", "meta", "config", "tokens", "spans", "style")  # fmt: skip


def is_json(value: Any) -> bool:
    """Tell whether a value is a list of Prodigy's tasks."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, Mapping) and {"_input_hash", "answer"} <= one.keys() for one in value)
    )


def of_json(value: list[Mapping[str, Any]], name: str) -> tuple[Sheet, Hints]:
    """Return a row per accepted task, with the option that was chosen as the rating."""
    if not any("accept" in one for one in value):
        raise InputError(
            f"{name} has no chosen options, only accept and reject; ratings need Prodigy's choice interface"
        )
    kept = [one for one in value if one["answer"] == "accept"]
    rows = []
    for one in kept:
        meta = one.get("meta")
        about = {key: cell for key, cell in one.items() if key not in OWN}
        about |= {key: cell for key, cell in (meta.items() if isinstance(meta, Mapping) else ()) if key not in about}
        who = one.get("_annotator_id") or one.get("_session_id")
        rows.append({"annotator": who, "task": one["_input_hash"], **about, "choice": only_one(one.get("accept"))})
    left = len(value) - len(kept)
    notes = [noticed("skipped-left-out", n=left)] if left else []
    return sheet_of_rows(rows, name).noting(*notes), Hints(
        {"participant": "annotator"}, ("choice",), fallback={"item": "task"}
    )
