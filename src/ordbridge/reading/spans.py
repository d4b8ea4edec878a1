"""Error spans of MQM and ESA: several rows per segment, which become one score by the weights of their severities."""

from __future__ import annotations

from collections.abc import Mapping

from ordbridge.errors import InputError
from ordbridge.reading.parts import Asked, Hints, listed, short_name
from ordbridge.reading.sheet import Sheet
from ordbridge.reading.vocabulary import name_words, plain, rank_of
from ordbridge.results.finding import found as noticed

__all__ = ["has_spans", "scored"]

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
        Of each severity; without them minor 1 and major 5.

    References
    ----------
    Freitag, M. et al. (2021). Experts, errors, and context. TACL 9, 1460–1474.
    """
    severity = str(_severity(sheet))
    given = {plain(name): float(weight) for name, weight in (weights or PUBLISHED).items()}
    used = {plain(cell) for cell in sheet.columns[severity] if cell is not None} - NOTHING
    if unknown := sorted(used - given.keys()):
        raise InputError(
            f"weights= has none for the severity {listed(unknown)} of {sheet.name}; give all, such as "
            f"weights={dict.fromkeys(sorted(used), 1)!r}"
        )
    keys = {role: name for role in ("participant", "item", "system") if (name := _column(sheet, asked, role))}
    if {"item", "system"} - keys.keys():
        missing = " and ".join(f"{role}=" for role in ("item", "system") if role not in keys)
        raise InputError(f"{sheet.name} has error spans ({severity!r}); name the columns of the segment: {missing}")
    sums: dict[tuple[str | None, ...], float] = {}
    first: dict[tuple[str | None, ...], int] = {}
    rows = zip(*(sheet.columns[name] for name in keys.values()), strict=True)
    for place, (key, cell) in enumerate(zip(rows, sheet.columns[severity], strict=True)):
        weight = 0.0 if cell is None or plain(cell) in NOTHING else given[plain(cell)]
        sums[key] = sums.get(key, 0.0) + weight
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


def _column(sheet: Sheet, asked: Asked, role: str) -> str | None:
    """Return the column of a role: of items the finest one that has a number or name."""
    if (given := getattr(asked, role)) is not None:
        return given if given in sheet.columns else None
    ranks = {name: rank for name in sheet.header if (rank := rank_of(role, short_name(name))) is not None}
    if role == "item":
        segments = [name for name in ranks if {*name_words(name)} & {"seg", "segment", "segid", "sentence", "globalsegid"}]
        ids = [name for name in segments if {*name_words(name)} & {"id", "no", "number"}] or segments
        return max(ids, key=lambda name: len(set(sheet.columns[name]))) if ids else None
    return min(ranks, key=lambda name: ranks[name]) if ranks else None
