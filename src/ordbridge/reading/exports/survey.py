"""What exports of surveys share: who answered, and which questions were answered on one scale."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from ordbridge.errors import InputError
from ordbridge.reading.cell_types import is_missing
from ordbridge.reading.labels import NON_ANSWERS, normal, order_of_labels, scales_with
from ordbridge.reading.properties import is_constant, refuse_unknown
from ordbridge.reading.sheet import Sheet
from ordbridge.reading.values import looks_like_ratings, parse_ratings
from ordbridge.reading.vocabulary import is_aside, plain, rank_of
from ordbridge.results.finding import Finding
from ordbridge.results.finding import found as noticed
from ordbridge.support.naming import arg

__all__ = ["is_asked", "person_column", "question_columns"]

PEOPLE = {"prolific", "worker", "workerid", "participant", "name", "email", "pid", "nom", "nombre", "teilnehmer",
          "participante", "rater", "annotator", "initials"}  # fmt: skip
YES_NO = {"yes", "no", "ja", "nein", "oui", "non", "sí", "si", "true", "false"}


def person_column(sheet: Sheet) -> str | None:
    """Return the column that names people, or ``None``; where its name is not sure, each must stand in one row."""
    named = {}
    for name in sheet.header:
        rank = rank_of("participant", name)
        if rank is None and PEOPLE & {plain(word) for word in re.split(r"[\s_:?()]+", name)}:
            rank = 2
        cells = sheet.columns[name]
        if rank is None or None in cells or len(set(cells)) < (2 if rank < 2 else len(cells)):
            continue
        if rank < 2 or not looks_like_ratings(cells):
            named[name] = rank
    return min(named, key=lambda name: named[name]) if named else None


def question_columns(sheet: Sheet, names: Sequence[str]) -> tuple[list[str], list[Finding]]:
    """Return the questions that were answered on the commonest scale, and a note on others that have a scale."""
    kinds = {
        name: _kind(sheet.columns[name])
        for name in names
        if is_asked(name, sheet.columns[name]) and looks_like_ratings(sheet.columns[name])
    }
    kinds = {name: kind for name, kind in kinds.items() if kind is not None}
    if all(is_constant(sheet.columns[name]) for name in kinds):
        refuse_unknown(sheet, names)
    if not kinds:
        raise InputError(f"no question of {sheet.name} was answered on a scale; name the columns with {arg('rating')}")
    scales = Counter(kinds.values())
    if len(scales) > 1:
        del scales["yes/no"]  # questions about people, or beside the ratings
    usual = scales.most_common(1)[0][0]
    chosen = [name for name, kind in kinds.items() if kind == usual]
    if usual == "words":
        chosen = _on_one_scale(sheet, chosen)
    others = [name for name in kinds if name not in chosen]
    return chosen, [noticed("not-taken-as-ratings", columns=", ".join(others))] if others else []


def is_asked(name: str, cells: Sequence[str | None]) -> bool:
    """Tell whether a column may be a question to rate: by its name, or because labels of a scale answer it."""
    labels = {normal(cell) for cell in cells if cell and not _is_no_answer(cell)}
    return not is_aside(name) or (len(labels) > 2 and order_of_labels(labels) is not None)


def _on_one_scale(sheet: Sheet, names: list[str]) -> list[str]:
    """Return the questions whose answers belong to the scale of most of them."""
    fits = {
        name: scales_with(cell for cell in sheet.columns[name] if cell and not _is_no_answer(cell)) for name in names
    }
    votes = Counter(number for found in fits.values() for number in found)
    if not votes or not all(fits.values()):
        return names
    usual = votes.most_common(1)[0][0]
    return [name for name in names if usual in fits[name]]


def _is_no_answer(cell: str) -> bool:
    return is_missing(cell) or normal(cell) in NON_ANSWERS


def _kind(cells: Sequence[str | None]) -> str | None:
    """Return a name of the scale on which a question was answered."""
    try:
        parsed = parse_ratings(cells, None, "")
    except InputError:
        present = {normal(cell) for cell in cells if cell}
        if present <= YES_NO:
            return "yes/no"
        return "words" if order_of_labels(present) or len(present) == 1 else None
    if parsed.levels is not None:
        return "yes/no" if {normal(level) for level in parsed.levels} <= YES_NO else "words"
    values = parsed.values[np.isfinite(parsed.values)]
    return None if not values.size else "to 11" if values.max() <= 11 else "to 100"
