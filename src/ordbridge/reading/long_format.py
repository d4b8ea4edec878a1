"""A sheet whose layout is known, as one row per rating."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.reading.cell_types import is_missing, typed
from ordbridge.reading.labels import normal, order_of_labels
from ordbridge.reading.parts import ROW, SheetLayout
from ordbridge.reading.rating_table import ROLES, RatingTable
from ordbridge.reading.sheet import Sheet
from ordbridge.reading.values import Parsed, parse_ratings
from ordbridge.reading.vocabulary import is_summary, is_test_of_attention, plain
from ordbridge.results.finding import Finding, found
from ordbridge.support.naming import arg

__all__ = ["systems_as_numbers", "to_long"]

NAMES = ("participant", "item", "system", "criterion")
SHOWN = 4
GRADES = {"note", "noten", "schulnote", "schulnoten", "grade"}
MANY_MISSING = 0.1  # share of missing ratings that deserves a warning


def to_long(layout: SheetLayout, levels: Sequence[str] | None, original: pa.Table | None = None) -> RatingTable:
    """Return the ratings of a sheet, one per row; ``original`` has the types of columns that are only passed on."""
    sheet, notes = _tidied(layout.sheet, layout)
    if len(sheet) < len(layout.sheet):
        original = None  # rows were left out
    n, k = len(sheet), len(layout.ratings)
    row = np.repeat(np.arange(n), k)  # all ratings of a row stand together
    names = {role: cells for role in NAMES if (cells := _names(sheet, layout, role, row)) is not None}
    cells = [sheet.columns[one.column][place] for place in range(n) for one in layout.ratings]
    parsed = _parsed(sheet, layout, cells, names.get("criterion"), levels)
    keep = np.isfinite(parsed.values)
    if not keep.any():
        raise InputError(f"{sheet.name} has no ratings: every cell of {layout.recognised['rating']} is empty")
    flaws = [*_not_ratings(sheet, cells, parsed, row), *_nameless(names, keep, sheet.rows[row])]
    if k == 1:  # in a table with a column per rater or system, gaps are texts that somebody did not rate
        flaws += _missing(parsed, keep, sheet.rows[row])
    columns: dict[str, pa.Array] = {
        role: pa.array([cells[place] for place in np.flatnonzero(keep)], pa.string()) for role, cells in names.items()
    }
    columns["rating"] = _rating_array(parsed, keep)
    columns = {role: columns[role] for role in ROLES if role in columns}
    columns |= _others(sheet, layout, original, row[keep], set(columns))
    said = [
        *sheet.notes,
        *notes,
        *parsed.notes,
        *layout.notes,
        *_about_missing(parsed, keep, k),
        *_about_levels(parsed),
    ]
    said += [*systems_as_numbers(columns), *_about_grades(layout, parsed)]
    rows = sheet.rows[row[keep]]
    return RatingTable(
        pa.table(columns), dict(layout.recognised), tuple(said), parsed.levels, rows, sheet.name, tuple(flaws),
        taken_from=layout.columns,
    )  # fmt: skip


def _tidied(sheet: Sheet, layout: SheetLayout) -> tuple[Sheet, list[Finding]]:
    """Leave out rows of means below the table, and fill in names that merged cells give once."""
    notes = []
    ids = [sheet.columns[column] for column in layout.ids.values() if column != ROW]
    summary = [any(cells[place] and _is_word(cells[place]) for cells in ids) for place in range(len(sheet))]
    if any(summary) and not all(summary):
        rows = ", ".join(map(str, sheet.rows[np.flatnonzero(summary)][:SHOWN]))
        notes.append(found("summary-rows-left-out", n=sum(summary), where=rows))
        sheet = sheet.only([not one for one in summary])
        ids = [sheet.columns[column] for column in layout.ids.values() if column != ROW]
    tests = {label for cells in ids for label in set(cells) if label and is_test_of_attention(label)}
    tested = [any(cells[place] in tests for cells in ids) for place in range(len(sheet))]
    if tests and not all(tested):
        notes.append(found("attention-tests-left-out", n=sum(tested), example=min(tests)))
        sheet = sheet.only([not one for one in tested])
    filled = dict(sheet.columns)
    for role, column in layout.ids.items():
        if column == ROW or not len(sheet):
            continue
        cells = sheet.columns[column]
        gaps = sum(is_missing(cell) for cell in cells)
        if not is_missing(cells[0]) and gaps >= 0.5 * len(cells) and len({c for c in cells if not is_missing(c)}) > 1:
            filled[column] = _filled_down(cells)
            notes.append(found("merged-cells", column=column, role=role))
    return sheet.with_columns(filled), notes


def _is_word(cell: str | None) -> bool:
    return cell is not None and is_summary(cell) and len(cell.strip()) > 1 and not cell.strip().isdigit()


def _filled_down(cells: list[str | None]) -> list[str | None]:
    filled: list[str | None] = []
    for cell in cells:
        filled.append(filled[-1] if is_missing(cell) and filled else cell)
    return filled


def _names(sheet: Sheet, layout: SheetLayout, role: str, row: np.ndarray) -> list[str | None] | None:
    """Return the name of a participant, item, system or criterion for each rating, or ``None`` without any."""
    k = len(layout.ratings)
    if any(role in one.labels or role in one.sources for one in layout.ratings):
        of_column = []
        for one in layout.ratings:
            if role in one.sources:
                of_column.append(sheet.columns[one.sources[role]])
            else:
                of_column.append([one.labels.get(role)] * len(sheet))
        return [_name(of_column[place % k][at]) for place, at in enumerate(row)]
    column = layout.ids.get(role)
    if column is None:
        return None
    if column == ROW and column not in sheet.columns:
        return [f"row {sheet.rows[at]}" for at in row]
    cells = [_name(cell) for cell in sheet.columns[column]]
    return [cells[at] for at in row]


def _name(cell: str | None) -> str | None:
    return None if is_missing(cell) else cell


def _parsed(
    sheet: Sheet,
    layout: SheetLayout,
    cells: list[str | None],
    criteria: list[str | None] | None,
    levels: Sequence[str] | None,
) -> Parsed:
    """Read all ratings; where criteria have scales of their own, these must agree."""
    column = ", ".join(dict.fromkeys(one.column for one in layout.ratings))
    if levels is None:
        known = {sheet.orders[one.column] for one in layout.ratings if one.column in sheet.orders}
        if len(known) == 1 and not all(re.fullmatch(r"[+-]?\d+(\.\d+)?", level) for level in (*known,)[0]):
            levels = known.pop()
    groups = list(dict.fromkeys(criteria)) if criteria is not None else []
    if levels is not None or len(groups) < 2 or criteria is None:
        return parse_ratings(cells, levels, column)
    parts = {}
    for group in groups:
        own = [c for c, of in zip(cells, criteria, strict=True) if of == group]
        try:
            parts[group] = parse_ratings(own, None, str(group))
        except InputError:
            parse_ratings(cells, None, column)  # which names all labels
            raise
    scales = {part.levels for part in parts.values()}
    if scales == {None} or len(scales) == 1:
        return parse_ratings(cells, scales.pop(), column)
    labels = {normal(label): label for scale in scales if scale for label in scale}
    order = order_of_labels(labels.values()) if None not in scales else None
    if order is None:
        shown = "; ".join(f"{group}: {_scale(part)}" for group, part in parts.items())
        raise InputError(
            f"the criteria of {sheet.name} have different scales ({shown}); read them one at a time, naming the column "
            f"of one with {arg('rating')}"
        )
    return parse_ratings(cells, order, column)


def _scale(part: Parsed) -> str:
    if part.levels:
        return " < ".join(part.levels)
    finite = part.values[np.isfinite(part.values)]
    return f"{finite.min():g} to {finite.max():g}" if finite.size else "empty"


def _rating_array(parsed: Parsed, keep: np.ndarray) -> pa.Array:
    values = parsed.values[keep]
    if parsed.levels is not None:
        return pa.DictionaryArray.from_arrays(
            pa.array(values.astype(np.int32)), pa.array(parsed.levels, pa.string()), ordered=parsed.ordered
        )
    if (values == np.floor(values)).all() and np.abs(values).max() < 2**53:
        return pa.array(values.astype(np.int64))
    return pa.array(values)


def _others(
    sheet: Sheet, layout: SheetLayout, original: pa.Table | None, row: np.ndarray, roles: set[str]
) -> dict[str, pa.Array]:
    used = {*layout.ids.values(), *layout.left_out, *(one.column for one in layout.ratings)}
    used |= {column for one in layout.ratings for column in one.sources.values()}
    others = {}
    for name, cells in sheet.columns.items():
        if name in used:
            continue
        known = original is not None and name in original.column_names
        values = original[name].combine_chunks() if known else typed(cells)  # type: ignore[index]
        try:
            taken = values.take(pa.array(row))
        except pa.ArrowNotImplementedError:  # such as lists of views
            taken = typed(cells).take(pa.array(row))
        others[f"{name} (file)" if name in roles else name] = taken
    return others


def _not_ratings(sheet: Sheet, cells: list[str | None], parsed: Parsed, row: np.ndarray) -> list[Finding]:
    if not parsed.bad:
        return []
    wrong = list(dict.fromkeys(str(cells[place]).strip() for place in parsed.bad))
    what = "one of the labels" if parsed.levels else "a number"
    shown = ", ".join(map(repr, wrong[:SHOWN]))
    rows = sheet.rows[row[list(parsed.bad)]].tolist()
    return [found("not-a-rating", n=len(parsed.bad), what=what, shown=shown, rows=rows)]


def _nameless(names: dict[str, list[str | None]], keep: np.ndarray, rows: np.ndarray) -> list[Finding]:
    said = []
    for role, cells in names.items():
        empty = np.array([cell is None for cell in cells]) & keep
        if empty.any():
            said.append(found(f"no-{role}", n=int(empty.sum()), rows=rows[empty].tolist()))
    return said


def _missing(parsed: Parsed, keep: np.ndarray, rows: np.ndarray) -> list[Finding]:
    empty = ~keep
    empty[list(parsed.bad)] = False
    if not empty.any():
        return []
    severity = "warning" if empty.mean() > MANY_MISSING else "note"
    share = float(empty.mean())
    return [found("missing-ratings", severity=severity, n=int(empty.sum()), share=share, rows=rows[empty].tolist())]


def _about_missing(parsed: Parsed, keep: np.ndarray, k: int) -> list[Finding]:
    gaps = int((~keep).sum()) - len(parsed.bad)
    if not gaps:
        return []
    codes = [f"{code!r}: {count}" for code, count in parsed.missing.items() if code]
    empty = parsed.missing.get("", 0)
    codes += [f"empty: {empty}"] if empty else []
    return [found("ratings-left-out", n=gaps, of=len(keep), codes=", ".join(codes))]


def _about_levels(parsed: Parsed) -> list[Finding]:
    if parsed.levels is None or not parsed.ordered:
        return []
    return [found("words-in-order", levels=" < ".join(parsed.levels))]


def _about_grades(layout: SheetLayout, parsed: Parsed) -> list[Finding]:
    """Say how to turn grades round, of which 1 is the best in German schools."""
    values = parsed.values[np.isfinite(parsed.values)]
    called = any(plain(one.column) in GRADES for one in layout.ratings)
    if not called or parsed.levels is not None or values.min() < 1 or values.max() > 6:
        return []
    points = [f"{point:g}" for point in np.unique(values)[::-1]]
    return [found("grades", points=points)]


def systems_as_numbers(columns: dict[str, pa.Array]) -> list[Finding]:
    """Say that systems are numbers, where they are."""
    if "system" not in columns:
        return []
    labels = [label for label in columns["system"].unique().to_pylist() if label is not None]
    if not labels or not all(re.fullmatch(r"\s*[+-]?\d+([.,]\d+)?\s*", label) for label in labels):
        return []
    return [found("systems-are-numbers", shown=", ".join(sorted(labels)[:6]))]
