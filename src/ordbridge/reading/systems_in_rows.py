"""Systems that no column names: one column of 0 and 1 for each of them, or lists inside cells."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ordbridge.reading.parts import Asked, short_name
from ordbridge.reading.sheet import Sheet
from ordbridge.reading.values import looks_like_ratings
from ordbridge.reading.vocabulary import is_criterion, label_role, name_words, rank_of, says_rating
from ordbridge.reading.workbook import cell_text
from ordbridge.results.finding import found as noticed

__all__ = ["with_dummies", "without_lists"]

ON, OFF = {"1", "1.0", "true", "True", "TRUE", "yes", "x"}, {"0", "0.0", "false", "False", "FALSE", "no", None}
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
FEWEST_ROWS = 10
MOST_COLUMNS = 40  # of 0 and 1 side by side


def with_dummies(sheet: Sheet, asked: Asked) -> Sheet:
    """Put neighbouring columns of 0 and 1, of which every row has exactly one, into one column ``system``.

    Only where nothing else names the system, and where the names do not say that they are criteria.

    Examples
    --------
    >>> columns = {"gpt4": [*"1010101010"], "llama": [*"0101010101"], "fluency": [*"5432154321"]}
    >>> with_dummies(Sheet(columns, np.arange(1, 11), "x.csv"), Asked()).columns["system"][:2]
    ['gpt4', 'llama']
    """
    named = any(rank_of("system", short_name(name)) in (0, 1) for name in sheet.header)
    if asked.system is not None or named or len(sheet) < FEWEST_ROWS:
        return sheet
    run: list[str] = []
    for name in [*sheet.header, ""]:
        if name and not is_criterion(short_name(name)) and _is_binary(sheet.columns[name]):
            run.append(name)
            continue
        run = run if len(run) <= MOST_COLUMNS else []
        parts = [run[start:end] for start in range(len(run)) for end in range(start + 2, len(run) + 1)]
        fitting = [part for part in parts if _role(part) in (None, "system") and _exclusive(sheet, part)]
        if fitting:
            return _joined(sheet, max(fitting, key=lambda part: (_role(part) == "system", len(part))))
        run = []
    return sheet


def _role(names: list[str]) -> str | None:
    return label_role([short_name(one) for one in names])


def _is_binary(cells: Sequence[str | None]) -> bool:
    labels = set(cells)
    return labels <= ON | OFF and bool(labels & ON) and bool(labels & OFF)


def _exclusive(sheet: Sheet, names: list[str]) -> bool:
    on = np.array([[cell in ON for cell in sheet.columns[name]] for name in names])
    return len(names) > 1 and bool((on.sum(axis=0) == 1).all()) and bool((on.sum(axis=1) > 1).all())


def _joined(sheet: Sheet, names: list[str]) -> Sheet:
    rows = zip(*(sheet.columns[name] for name in names), strict=True)
    cells: list[str | None] = [next(name for name, cell in zip(names, row, strict=True) if cell in ON) for row in rows]
    columns = {name: column for name, column in sheet.columns.items() if name not in names}
    title = "system" if "system" not in columns else "system of the row"
    return sheet.with_columns({**columns, title: cells}).noting(noticed("dummies", columns=", ".join(names)))


def without_lists(sheet: Sheet) -> Sheet:
    """Make one row per element where several columns hold lists of one length, one of them of systems.

    Examples
    --------
    >>> columns = {"item": ["a"], "systems": ["['x', 'y']"], "scores": ["[4, 2]"]}
    >>> without_lists(Sheet(columns, np.array([2]), "x.csv")).columns
    {'item': ['a', 'a'], 'systems': ['x', 'y'], 'scores': ['4', '2']}
    """
    lists = {name: parsed for name, cells in sheet.columns.items() if (parsed := _lists(cells)) is not None}
    if not any(rank_of("system", short_name(name)) is not None for name in lists):
        return _with_people(sheet, lists)
    if len(lists) < 2:
        return sheet
    lengths = [[len(cell) for cell in cells] for cells in lists.values()]
    if any(one != lengths[0] for one in lengths) or max(lengths[0]) < 2:
        return sheet
    at = np.repeat(np.arange(len(sheet)), lengths[0])
    columns: dict[str, list[str | None]] = {}
    for name, cells in sheet.columns.items():
        if name in lists:
            columns[name] = [cell_text(one) for cell in lists[name] for one in cell]
        else:
            columns[name] = [cells[place] for place in at]
    note = noticed("lists-taken-apart", columns=", ".join(lists))
    return replace(sheet, columns=columns, rows=sheet.rows[at]).noting(note)


def _with_people(sheet: Sheet, lists: dict[str, list[list[Any]]]) -> Sheet:
    """Make one row per rating where columns hold lists of ratings, one of each rater, and perhaps lists of raters.

    Examples
    --------
    >>> columns = {"item": ["a"], "scores": ["[4, 2]"]}
    >>> _with_people(Sheet(columns, np.array([2]), "x.csv"), {"scores": [[4, 2]]}).columns
    {'item': ['a', 'a'], 'scores': ['4', '2'], 'annotator': ['scores 1', 'scores 2']}
    """
    people = [name for name in lists if rank_of("participant", short_name(name)) is not None]
    rated = [name for name in lists if name not in people and _are_ratings(name, lists[name])]
    groups: dict[tuple[int, ...], list[str]] = {}
    for name, cells in lists.items():
        groups.setdefault(tuple(map(len, cells)), []).append(name)
    fitting = [(lengths, names) for lengths, names in groups.items() if {*names} & {*rated} and max(lengths) > 1]
    if not fitting:
        return sheet
    lengths, together = max(fitting, key=lambda pair: (bool({*pair[1]} & {*people}), len({*pair[1]} & {*rated})))
    rated = [name for name in rated if name in together]
    at = np.repeat(np.arange(len(sheet)), lengths)
    columns: dict[str, list[str | None]] = {
        name: [cell_text(one) for cell in lists[name] for one in cell]
        if name in together
        else [cells[place] for place in at]
        for name, cells in sheet.columns.items()
    }
    named = any(rank_of("participant", short_name(name)) in (0, 1) for name in sheet.header)
    if not named:
        columns["annotator"] = [f"{short_name(rated[0])} {number + 1}" for n in lengths for number in range(n)]
    note = noticed("lists-taken-apart", columns=", ".join(together))
    return replace(sheet, columns=columns, rows=sheet.rows[at]).noting(note)


def _are_ratings(name: str, cells: list[list[Any]]) -> bool:
    """Tell whether a column whose name says so holds lists of points of a scale."""
    words = {*name_words(short_name(name))}
    called = says_rating(short_name(name)) or bool(words & {"scores", "ratings", "votes", "judgments", "judgements"})
    flat = [one for cell in cells for one in cell]
    numbers = all(_NUMBER.fullmatch(str(one)) for one in flat)
    return called and bool(flat) and numbers and looks_like_ratings([cell_text(one) for one in flat])


def _lists(cells: Sequence[str | None]) -> list[list[Any]] | None:
    found = []
    for cell in cells:
        text = (cell or "").strip()
        if not (text.startswith("[") and text.endswith("]")):
            return None
        try:
            value = json.loads(text)
        except RecursionError:
            return None
        except ValueError:
            try:
                value = ast.literal_eval(text)
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                return None
        if not isinstance(value, list) or any(isinstance(one, (list, dict)) for one in value):
            return None
        found.append(value)
    return found
