"""Outputs of pearmut (DA, ESA, MQM, sliders): a line per document and rater, what was given under each system's name.

As its server writes them to ``data/annotations/*.jsonl``, and as its dashboard downloads them, an object of campaigns:
``user_id``, ``item_i``, ``annotation`` (a list of objects of systems, one per segment), ``item`` with ``item_id``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ordbridge.reading.exports.records import sheet_of_rows
from ordbridge.reading.parts import Hints
from ordbridge.reading.sheet import Sheet

__all__ = ["is_json", "of_json"]

RESET = "__RESET__"  # instead of an annotation: what the rater gave before does not count
ASIDE = ("welcome_", "random_", "goodbye_")  # items that are not part of the study

Entry = Mapping[str, Any]


def is_json(value: Any) -> bool:
    """Tell whether a value is a list of pearmut's annotations, or a download of campaigns."""
    return bool(_campaigns(value))


def _campaigns(value: Any) -> dict[str, list[Entry]]:
    """Return the annotations of each campaign; of a file of the server there is one without a name."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], Mapping) and value[0]:
        inner = dict(value[0])
        if all(_are_entries(one) for one in inner.values()):
            return inner
    return {"": value} if _are_entries(value) else {}


def _are_entries(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, Mapping) and {"user_id", "annotation"} <= one.keys() for one in value)
        and any("item_i" in one for one in value)
    )


def of_json(value: list[Entry], name: str) -> tuple[Sheet, Hints]:
    """Return a row per text that was rated: the rater, the segment, the system, and the errors that were marked."""
    rows: list[dict[str, Any]] = []
    campaigns = _campaigns(value)
    for campaign, entries in campaigns.items():
        about = {"campaign": campaign} if len(campaigns) > 1 else {}
        for one in _final(entries):
            rows += [about | row for row in _rows(one)]
    sliders = dict.fromkeys(key for row in rows for key in row if key.startswith("slider "))
    rated = [*sliders] if sliders and all(row.get("score") is None for row in rows) else ["score", *sliders]
    marks = "error spans" if any(row["error spans"] != "[]" for row in rows) else None
    hints = Hints({"participant": "annotator", "item": "item", "system": "system"}, tuple(rated), marks=marks,
                  titles={slider: slider.removeprefix("slider ") for slider in sliders})  # fmt: skip
    return sheet_of_rows(rows, name), hints


def _final(entries: list[Entry]) -> list[Entry]:
    """Return what counts: the last annotation of a rater and document, after the rater's last reset."""
    last: dict[tuple[str, str], Entry] = {}
    for one in entries:
        if one["annotation"] == RESET:
            last = {key: entry for key, entry in last.items() if key[0] != str(one["user_id"])}
        elif not str(one.get("item_i")).startswith(ASIDE):
            last[str(one["user_id"]), str(one.get("item_i"))] = one
    return list(last.values())


def _rows(one: Entry) -> list[dict[str, Any]]:
    """Return a row per segment and system of a document."""
    rows: list[dict[str, Any]] = []
    made, item = one["annotation"], one.get("item")
    segments = made if isinstance(made, list) else [made]
    sources: list[Any] = item if isinstance(item, list) else [item]
    for place, given in enumerate(segments):
        known = place < len(sources) and isinstance(sources[place], Mapping)
        source: Mapping[str, Any] = sources[place] if known else {}
        number = f"{one['item_i']}" if len(segments) == 1 else f"{one['item_i']}.{place}"
        for system, found in given.items() if isinstance(given, Mapping) else ():
            if not isinstance(found, Mapping):
                continue
            sliders = found.get("sliders")
            row = {"annotator": one["user_id"], "item": source.get("item_id", number), "system": system,
                   "score": found.get("score"), "error spans": json.dumps(found.get("error_spans") or []),
                   "document": one["item_i"]}  # fmt: skip
            row |= {f"slider {name}": cell for name, cell in sliders.items()} if isinstance(sliders, Mapping) else {}
            rows.append(row)
    return rows
