"""Scores of WMT's evaluation campaigns as Appraise exports them: direct assessment and ESA, without a header.

Columns: annotator, system, segment, type of the segment (TGT, or a control such as BAD), source and target language,
score; then, in document-level campaigns, document and whether the score is the document's (true or false); in ESA and
MQM the marked errors; start and end in seconds. Seen in ``humeval/wave3.csv`` of https://github.com/wmt-conference/wmt24-news-systems,
where segments are numbered once for all, in the calibration of wmt22-news-systems, where they are numbered within
documents, and in https://github.com/wmt-conference/ErrorSpanAnnotation, where they are numbered within tasks.

Direct assessment of earlier campaigns has a header: ``humaneval/DA`` of wmt22-news-systems.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

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

HEADERS = ("header-row", "no-header", "two-header-rows", "header-repeated", "names-twice")
_NUMBERED = re.compile(r" \(\d+\)$")  # as cells of the first row are, which was taken for the header


DIRECT = {"WorkerId", "sys_id", "type", "sid", "score"}  # columns of ad-…-good-stnd.csv, direct assessment by a crowd


def recognise(sheet: Sheet) -> bool:
    """Tell whether what was taken for the header is a row of scores, or names those of direct assessment."""
    if {*sheet.header} >= DIRECT:
        return "SYSTEM" in sheet.columns["type"]
    first = [_NUMBERED.sub("", name) for name in sheet.header]  # a score may be the segment's number again
    if not 7 <= len(first) <= 12:
        return False
    return first[3] in TYPES and all(LANGUAGE.fullmatch(name) for name in first[4:6]) and first[6].isdigit()


def prepare(sheet: Sheet) -> tuple[Sheet, Hints]:
    """Give the columns names; leave out controls, tutorials and scores of whole documents."""
    if {*sheet.header} >= DIRECT:
        return _direct(sheet)
    raw = sheet.columns
    cells = [[_NUMBERED.sub("", name), *values] for name, values in raw.items()]
    rows = np.concatenate([[sheet.rows[0] - 1 if len(sheet) else 1], sheet.rows])
    names = list(NAMES)
    if len(cells) >= 9 and all(str(cell).casefold() in ("true", "false") for cell in cells[8]):
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
    found = Sheet(columns, rows, sheet.name, tuple(note for note in sheet.notes if note.code not in HEADERS)).only(keep)
    columns = dict(found.columns)
    columns["item"], split = _items(columns)
    if split is not None:
        notes.append(noticed("segments-of-tasks", n=split))
    if "document" in columns:
        columns["document"] = [_document(cell) for cell in columns["document"]]
    pairs = [f"{a}-{b}" for a, b in zip(columns["source language"], columns["target language"], strict=True)]
    if len(set(pairs)) > 1:
        for name in {"item", "document"} & columns.keys():
            columns[name] = [f"{pair} {own}" for pair, own in zip(pairs, columns[name], strict=True)]
        notes.append(noticed("language-pairs"))
    marks = "errors" if "errors" in columns else None
    hints = Hints({"participant": "annotator", "item": "item", "system": "system"}, ("score",), marks=marks)
    return found.with_columns(columns).noting(*notes), hints


def _direct(sheet: Sheet) -> tuple[Sheet, Hints]:
    """Keep the scores of systems: those of worse references and of repeated texts stand under a system's name, too."""
    keep = np.array([kind == "SYSTEM" for kind in sheet.columns["type"]])
    hints = Hints({"participant": "WorkerId", "item": "sid", "system": "sys_id"}, ("score",))
    if keep.all():
        return sheet, hints
    what = "controls (type other than SYSTEM)"
    return sheet.only(keep).noting(noticed("controls-left-out", n=int((~keep).sum()), what=what)), hints


def _items(columns: Mapping[str, Sequence[str | None]]) -> tuple[list[str | None], int | None]:
    """Return the name of each segment; where they are numbered within tasks, also how many could not be placed.

    A segment's number is its name where each number belongs to one document. Where numbers start again in every
    document, the document belongs to it. Where they are numbered within a task, the place within the document does:
    known where a document was rated as a whole, otherwise the segment has a name of its own.
    """
    segments = list(columns["segment"])
    if "document" not in columns:
        return segments, None
    documents = [_document(cell) for cell in columns["document"]]
    languages = list(zip(columns["source language"], columns["target language"], strict=True))
    owners = {(pair, number, doc) for pair, number, doc in zip(languages, segments, documents, strict=True)}
    if len(owners) == len({(pair, number) for pair, number, _ in owners}):
        return segments, None
    numbers = as_numbers(segments)[0]
    lowest: dict[object, float] = {}
    for key, number in zip(zip(languages, documents, strict=True), numbers, strict=True):
        lowest[key] = min(number, lowest.get(key, number))
    if max(lowest.values()) <= 1:
        return [f"{doc} {segment}" for doc, segment in zip(documents, segments, strict=True)], None
    return _placed(columns, documents, numbers)


def _placed(
    columns: Mapping[str, Sequence[str | None]], documents: Sequence[str], numbers: np.ndarray
) -> tuple[list[str | None], int]:
    """Return documents and places within them: runs of numbers in a task, the longest of which are whole documents."""
    runs: dict[tuple[str | None, ...], list[int]] = {}
    keys = zip(columns["annotator"], columns["document"], columns["system"], strict=True)
    for place, key in enumerate(keys):
        runs.setdefault(key, []).append(place)
    pieces: list[list[int]] = []
    for places in runs.values():
        first = None
        for place in sorted(places, key=lambda place: numbers[place]):
            if first is None or numbers[place] not in (numbers[first], numbers[first] + 1):
                pieces.append([])
            pieces[-1].append(place)
            first = place
    length: Counter[str] = Counter()
    for piece in pieces:
        length[documents[piece[0]]] = max(length[documents[piece[0]]], len({numbers[place] for place in piece}))
    items: list[str | None] = [None] * len(documents)
    unplaced = 0
    for piece in pieces:
        doc, start = documents[piece[0]], numbers[piece[0]]
        whole = len({numbers[place] for place in piece}) == length[doc]
        unplaced += 0 if whole else len(piece)
        for place in piece:
            own = "" if whole else f" ({columns['annotator'][place]} {columns['system'][place]})"
            items[place] = f"{doc} {numbers[place] - start + 1:g}{own}"
    return items, unplaced


def _document(cell: str | None) -> str:
    """Return the name of a document without its system, as in ``news.17#ONLINE-A``; ``#3-13`` are its lines.

    Examples
    --------
    >>> _document("news.17#ONLINE-A"), _document("shop_29#3-13"), _document("talk_4#incomplete")
    ('news.17', 'shop_29#3-13', 'talk_4')
    """
    name, *rest = (cell or "").split("#")
    return "#".join([name, *(part for part in rest if re.fullmatch(r"\d+-\d+", part))])
