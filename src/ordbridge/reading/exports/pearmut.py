"""Outputs of pearmut (DA, ESA, MQM): a line per document and rater, scores and error spans under each system's name.

As in ``data/outputs/*.jsonl`` of https://github.com/zouharvi/pearmut: ``user_id``, ``item_i``, ``annotation`` (an
object of systems, or a list of them, one per segment), ``item`` with ``item_id``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ordbridge.reading.exports.records import sheet_of_rows
from ordbridge.reading.parts import Hints
from ordbridge.reading.sheet import Sheet

__all__ = ["is_json", "of_json"]


def is_json(value: Any) -> bool:
    """Tell whether a value is a list of pearmut's annotations."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, Mapping) and {"user_id", "item_i", "annotation"} <= one.keys() for one in value)
    )


def of_json(value: list[Mapping[str, Any]], name: str) -> tuple[Sheet, Hints]:
    """Return a row per score: the rater, the segment, the system, and the errors that were marked."""
    rows: list[dict[str, Any]] = []
    spans = False
    for one in value:
        made = one["annotation"]
        segments = made if isinstance(made, list) else [made]
        item = one.get("item")
        sources: list[Any] = item if isinstance(item, list) else [item]
        for place, scores in enumerate(segments):
            known = place < len(sources) and isinstance(sources[place], Mapping)
            source: Mapping[str, Any] = sources[place] if known else {}
            number = f"{one['item_i']}" if len(segments) == 1 else f"{one['item_i']}.{place}"
            for system, found in scores.items() if isinstance(scores, Mapping) else ():
                if not isinstance(found, Mapping):
                    continue
                errors = found.get("error_spans") or []
                spans = spans or bool(errors)
                rows.append(
                    {"annotator": one["user_id"], "item": source.get("item_id", number), "system": system,
                     "score": found.get("score"), "error spans": json.dumps(errors), "document": one["item_i"]}
                )  # fmt: skip
    marks = "error spans" if spans else None
    hints = Hints({"participant": "annotator", "item": "item", "system": "system"}, ("score",), marks=marks)
    return sheet_of_rows(rows, name), hints
