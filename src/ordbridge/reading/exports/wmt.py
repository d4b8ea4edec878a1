"""Scores of WMT's evaluation campaigns as Appraise exports them: direct assessment and ESA, without a header.

Columns: annotator, system, segment, type of the segment (TGT, or a control such as BAD), source and target language,
score; then, in document-level campaigns, document and whether the score is the document's; in ESA the marked errors;
start and end in seconds. Seen in ``humeval/wave3.csv`` of https://github.com/wmt-conference/wmt24-news-systems.
"""

from __future__ import annotations

import re

import numpy as np

from ordbridge.reading.parts import Hints
from ordbridge.reading.sheet import Sheet
from ordbridge.reading.values import as_numbers
from ordbridge.results.finding import found as noticed

__all__ = ["prepare", "recognise"]

NAMES = ("annotator", "system", "segment", "type", "source language", "target language", "score")
DOCUMENT = ("document", "whole document")
TYPES = {"TGT", "BAD", "REF", "CHK", "SRC"}
LANGUAGE = re.compile(r"[a-z]{2,3}([-_][A-Za-z]+)?")

HEADERS = ("header-row", "no-header", "two-header-rows", "header-repeated")


def recognise(sheet: Sheet) -> bool:
    """Tell whether what was taken for the header is a row of scores."""
    first = sheet.header
    if not 7 <= len(first) <= 12:
        return False
    return first[3] in TYPES and all(LANGUAGE.fullmatch(name) for name in first[4:6]) and first[6].isdigit()


def prepare(sheet: Sheet) -> tuple[Sheet, Hints]:
    """Give the columns names; leave out controls, tutorials and scores of whole documents."""
    raw = sheet.columns
    cells = [[name, *values] for name, values in raw.items()]
    rows = np.concatenate([[sheet.rows[0] - 1 if len(sheet) else 1], sheet.rows])
    names = list(NAMES)
    if len(cells) >= 9:
        names += DOCUMENT
    if len(cells) in (10, 12):
        names.append("errors")
    names += ["start", "end"][: len(cells) - len(names)]
    columns = dict(zip(names, cells, strict=True))
    notes = []
    keep = np.array([kind == "TGT" for kind in columns["type"]])
    if not keep.all():
        notes.append(noticed("controls-left-out", n=int((~keep).sum()), what="controls (type other than TGT)"))
    tutorial = np.array(["tutorial" in str(system) for system in columns["system"]])
    whole = np.array([str(cell).casefold() == "true" for cell in columns.get("whole document", ["False"] * len(keep))])
    for what, other in (("tutorials", tutorial), ("whole documents", whole)):
        if (other & keep).any():
            notes.append(noticed("controls-left-out", n=int((other & keep).sum()), what=what))
            keep &= ~other
    if {"start", "end"} <= columns.keys():
        start, end = (as_numbers(columns[name])[0] for name in ("start", "end"))
        columns["seconds"] = [f"{value:.3f}" if np.isfinite(value) else None for value in end - start]
    pairs = [f"{a}-{b}" for a, b in zip(columns["source language"], columns["target language"], strict=True)]
    columns["item"] = list(columns["segment"])
    if len(set(pairs)) > 1:
        columns["item"] = [f"{pair} {segment}" for pair, segment in zip(pairs, columns["segment"], strict=True)]
        notes.append(noticed("language-pairs"))
    found = Sheet(columns, rows, sheet.name, tuple(note for note in sheet.notes if note.code not in HEADERS)).only(keep)
    hints = Hints({"participant": "annotator", "item": "item", "system": "system"}, ("score",))
    return found.noting(*notes), hints
