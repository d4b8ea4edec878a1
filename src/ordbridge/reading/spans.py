"""Error spans of MQM and ESA: several rows per segment, which become one score by the weights of their severities."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ordbridge.errors import InputError
from ordbridge.reading.cell_types import is_missing
from ordbridge.reading.parts import Asked, Hints, listed, short_name
from ordbridge.reading.sheet import Sheet
from ordbridge.reading.vocabulary import name_words, plain, rank_of
from ordbridge.results.finding import found as noticed
from ordbridge.support.naming import arg

__all__ = ["has_spans", "scored", "with_marks"]

PUBLISHED = {"minor": 1.0, "major": 5.0}
"""Freitag et al. (2021), Experts, errors, and context, TACL 9: 1460–1474, Table 4, without their exceptions."""
NOTHING = {"noerror", "none", "neutral", "nomistake", "no", "notapplicable", ""}
SEVERITIES = {"minor", "major", "critical", "trivial", "severe", "neutral", *NOTHING}
SCORE = "penalty"


def _severity(sheet: Sheet) -> str | None:
    for name in sheet.header:
        if "severity" in name_words(short_name(name)) or plain(name) in ("schweregrad", "gravite", "gravedad"):
            labels = {plain(cell) for cell in sheet.columns[name] if cell is not None}
            if labels <= SEVERITIES and labels & {"minor", "major", "critical"}:
                return name
    return None


def has_spans(sheet: Sheet, asked: Asked) -> bool:
    """Tell whether rows are errors with a severity, and the user did not name another column of ratings."""
    severity = _severity(sheet)
    return severity is not None and (not asked.rating or severity in asked.rating)


def scored(sheet: Sheet, asked: Asked, weights: Mapping[str, float] | None) -> tuple[Sheet, Hints]:
    """Return one row per system, segment and rater, with the sum of the weights of its errors as ``penalty``.

    Parameters
    ----------
    sheet
        A row per error; a segment without one has a row with the severity No-error.
    asked
        Columns of roles that were named.
    weights
        Of each severity, without them minor 1 and major 5; also of a category (``"Non-translation"``), or of one in a
        category (``"minor/punctuation"``).

    References
    ----------
    Freitag, M. et al. (2021). Experts, errors, and context. TACL 9, 1460–1474.
    """
    severity = str(_severity(sheet))
    given = _penalties({cell for cell in sheet.columns[severity] if cell is not None}, weights, sheet.name)
    keys = {role: name for role in ("participant", "item", "system") if (name := _column(sheet, asked, role))}
    if {"item", "system"} - keys.keys():
        missing = " and ".join(arg(role) for role in ("item", "system") if role not in keys)
        raise InputError(f"{sheet.name} has error spans ({severity!r}); name the columns of the segment: {missing}")
    sums: dict[tuple[str | None, ...], float] = {}
    first: dict[tuple[str | None, ...], int] = {}
    rows = zip(*(sheet.columns[name] for name in keys.values()), strict=True)
    kinds = sheet.columns[category] if (category := _category(sheet)) else [None] * len(sheet)
    for place, (key, cell, kind) in enumerate(zip(rows, sheet.columns[severity], kinds, strict=True)):
        sums[key] = sums.get(key, 0.0) + _weight(given, plain(cell or ""), kind or "")
        first.setdefault(key, place)
    keep = [False] * len(sheet)
    for place in first.values():
        keep[place] = True
    own = {*keys.values()}
    kept = sheet.only(keep)
    constant = {name: kept.columns[name] for name in sheet.header if name in own}
    scores: list[str | None] = [f"{score:g}" for score in sums.values()]
    said = ", ".join(f"{name} {weight:g}" for name, weight in given.items())
    note = noticed("spans-scored", weights=said, n=len(sheet), segments=len(scores))
    return kept.with_columns({**constant, SCORE: scores}).noting(note), Hints(dict(keys), (SCORE,))


def with_marks(sheet: Sheet, hints: Hints, weights: Mapping[str, float] | None) -> tuple[Sheet, Hints]:
    """Return the penalty of the errors in each row as the rating, where that is what was rated.

    ESA asks for a score beside the errors, and the score is the rating unless ``weights`` are given. MQM asks for
    errors only: its scores are all the same.

    Examples
    --------
    >>> import numpy as np
    >>> marks = ['[{"severity": "minor"}, {"severity": "major"}]', "[]"]
    >>> sheet = Sheet({"score": ["0", "0"], "errors": marks}, np.array([1, 2]), "x.csv")
    >>> scored, hints = with_marks(sheet, Hints(ratings=("score",), marks="errors"), None)
    >>> scored.columns["penalty"], hints.ratings
    (['6', '0'], ('penalty',))
    """
    marks = str(hints.marks)
    errors = [_errors(cell) for cell in sheet.columns[marks]]
    scores = {cell for name in hints.ratings for cell in sheet.columns[name] if not is_missing(cell)}
    if not weights and (len(scores) > 1 or not any(errors)):
        note = (
            [noticed("marks-not-used", n=sum(map(len, errors)), weights={"minor": 1, "major": 5})]
            if any(errors)
            else []
        )
        return sheet.noting(*note), hints
    given = _penalties({str(one.get("severity") or "") for row in errors for one in row}, weights, sheet.name)
    sums = [sum(_weight(given, plain(str(one.get("severity") or "")), _kind(one)) for one in row) for row in errors]
    said = ", ".join(f"{name} {weight:g}" for name, weight in given.items())
    note = [noticed("spans-scored", weights=said, n=sum(map(len, errors)), segments=len(sums))]
    columns: dict[str, list[str | None]] = {**sheet.columns, SCORE: [f"{value:g}" for value in sums]}
    return sheet.with_columns(columns).noting(*note), replace(hints, ratings=(SCORE,))


def _errors(cell: str | None) -> list[dict[str, Any]]:
    """Return the errors that a cell lists as JSON."""
    try:
        found = json.loads(cell or "[]")
    except ValueError:
        return []
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _kind(error: Mapping[str, Any]) -> str:
    """Return the category of an error, whose parts stand in a list."""
    kind = error.get("error_type") or error.get("category") or ""
    return "/".join(map(str, kind)) if isinstance(kind, list) else str(kind)


def _penalties(severities: Iterable[str], weights: Mapping[str, float] | None, source: str) -> dict[str, float]:
    """Return the penalty of each severity, or say which one has none."""
    given = {plain(name): float(weight) for name, weight in (weights or PUBLISHED).items()}
    used = {plain(cell) for cell in severities} - NOTHING
    if unknown := sorted(used - given.keys()):
        raise InputError(
            f"there is no penalty for the severity {listed(unknown)} of {source}; give all, such as "
            f"{arg('levels', dict.fromkeys(sorted(used), 1))}"
        )
    return given


def _category(sheet: Sheet) -> str | None:
    return next(
        (name for name in sheet.header if {*name_words(short_name(name))} & {"category", "type", "kategorie"}), None
    )


def _weight(weights: Mapping[str, float], severity: str, kind: str) -> float:
    """Return the weight of a severity in a category, as in ``minor/punctuation``, of a category, or of the severity."""
    if severity in NOTHING:
        return 0.0
    parts = [plain(part) for part in re.split(r"[/:!]", kind)]
    own = [weights[name] for part in parts for name in (f"{severity}{part}", part) if name in weights]
    return own[-1] if own else weights[severity]


def _column(sheet: Sheet, asked: Asked, role: str) -> str | None:
    """Return the column of a role: of items the finest one that has a number or name."""
    if (given := getattr(asked, role)) is not None:
        return given if given in sheet.columns else None
    ranks = {name: rank for name in sheet.header if (rank := rank_of(role, short_name(name))) is not None}
    if role == "item":
        segments = [
            name for name in ranks if {*name_words(name)} & {"seg", "segment", "segid", "sentence", "globalsegid"}
        ]
        ids = [name for name in segments if {*name_words(name)} & {"id", "no", "number"}] or segments
        return max(ids, key=lambda name: len(set(sheet.columns[name]))) if ids else None
    return min(ranks, key=lambda name: ranks[name]) if ranks else None
