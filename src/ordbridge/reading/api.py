"""From what people have to the long table."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.reading import tables
from ordbridge.reading.direction import directed
from ordbridge.reading.evidence import evidence
from ordbridge.reading.exports import FORMATS, export_of_json, export_of_sheet
from ordbridge.reading.exports.potato import is_folder, of_folder
from ordbridge.reading.join import join_people
from ordbridge.reading.large_files import large_file
from ordbridge.reading.layout import recognise
from ordbridge.reading.long_format import to_long
from ordbridge.reading.nested import refuse_lists
from ordbridge.reading.opening import arrow_file, json_value, kind_of, open_sheet, sheet_of_arrow, sheet_of_records
from ordbridge.reading.parts import FILE, IDS, Asked, Hints
from ordbridge.reading.plausible import refuse_impossible
from ordbridge.reading.preferences import PreferencesFound, preferences_in, refuse_preferences
from ordbridge.reading.rating_table import RatingTable
from ordbridge.reading.selecting import ignoring, with_composites, with_rows
from ordbridge.reading.several_files import together
from ordbridge.reading.sheet import Sheet
from ordbridge.reading.spans import has_spans, scored, with_marks
from ordbridge.reading.systems_in_rows import with_dummies, without_lists
from ordbridge.reading.vocabulary import plain, rank_of
from ordbridge.results.finding import found as noticed
from ordbridge.support.arguments import choice, numbers

__all__ = ["columns_of", "read"]

Paths = str | os.PathLike[str]


def read(
    source: Any,
    *,
    participant: str | None = None,
    item: str | None = None,
    system: str | Sequence[str] | None = None,
    rating: str | Sequence[str] | None = None,
    criterion: str | None = None,
    levels: Sequence[str] | Mapping[str, float] | None = None,
    scale: Sequence[float] | None = None,
    columns: str | None = None,
    format: str | None = None,
    sheet: str | None = None,
    join: Paths | Sequence[Paths] | None = None,
    ignore: str | Sequence[str] | None = None,
    where: str | None = None,
    lower_is_better: bool | str | Sequence[str] | None = None,
) -> RatingTable:
    """Read ratings from whatever they are in, as one row per rating.

    What was taken for what is in ``recognised`` and ``notes`` of the result, and nothing is guessed silently: where the
    names and contents of columns leave a question open, the error says what to type.

    Parameters
    ----------
    source
        A file: CSV and the like with any separator and encoding, Excel and OpenDocument workbooks, Parquet, Feather,
        JSON, JSON lines, or what Mechanical Turk, Label Studio, Potato (also a folder), Qualtrics, Google Forms and
        WMT's Appraise export; or a table in memory. It may have one row per rating, or one column per rater, system,
        item or criterion, or several of these. A list of files with the same columns is read together: where no
        column names the rater or the system, the names of the files do.
    participant, item, system, criterion
        Columns, where they are not recognised or not rightly; ``"doc,seg"`` puts two together. ``"row"`` lets each row
        be another participant or item, ``"file"`` each file; ``"none"`` says that they have no names. Where a file has
        one verdict per line and does not name the systems a and b, ``system`` is a list of both names.
    rating
        The column of ratings, or several columns.
    levels
        All labels of the scale from low to high, where ratings are words whose order is not known; ``"unordered"``
        where they have none. Of error spans (MQM) the penalty of each severity: ``{"minor": 1, "major": 5}``.
    scale
        The lowest and the highest rating that the scale has, for :func:`check`; without it, what lies far from all
        others is outside.
    columns
        What several columns of ratings differ in: ``"participant"``, ``"item"``, ``"system"`` or ``"criterion"``; or a
        pattern of their names such as ``"{system}_{criterion}"``.
    format
        One of mturk, label-studio, potato, qualtrics, google-forms, wmt, or table, instead of recognising it.
    sheet
        Of a workbook: the sheet to read.
    join
        Files with one row per participant (such as Prolific's demographics) or per item (such as which system made
        it), whose columns are added.
    ignore
        Columns to leave out.
    where
        A condition that rows have to fulfil, such as ``"split == test"``.
    lower_is_better
        Whether a low rating is the better one, or the criteria for which it is. By default errors, penalties, ranks,
        times and costs are recognised by name, and that is said.

    Returns
    -------
    RatingTable

    Raises
    ------
    PreferencesFound
        The file holds comparisons of systems, ranks or best–worst choices and not ratings; ``preferences`` has them.

    Examples
    --------
    >>> ratings = read({"worker": ["anna", "ben"], "text": ["t1", "t1"], "model": [1, 2], "score": ["4", "N/A"]})
    >>> ratings.table.to_pylist()
    [{'participant': 'anna', 'item': 't1', 'system': '1', 'rating': 4}]
    >>> ratings.answer, [note.code for note in ratings.notes]
    ('Read 1 rating from the table.', ['ratings-left-out', 'systems-are-numbers'])
    """
    if format is not None:
        choice("format", format, FORMATS)
    weights = levels if isinstance(levels, Mapping) else None
    levels = None if isinstance(levels, Mapping) else levels
    systems = None if system is None or isinstance(system, str) else list(system)
    system = system if isinstance(system, str) else None
    found = (rating,) if isinstance(rating, str) else tuple(rating or ())
    asked = Asked(participant, item, system, criterion, found, columns)
    if isinstance(source, RatingTable):
        if asked != Asked() or levels or scale or format or sheet or join or ignore or where or weights:
            raise InputError("these ratings are read already; give the options when they are read from the file")
        return source
    bare = not (levels or format or sheet or join or ignore or where or weights)
    if bare and isinstance(source, (str, os.PathLike)) and Path(source).is_file():
        large = large_file(Path(source), asked, systems)
        if large is not None:
            return _finished(*large, asked, lower_is_better, scale)
    others = _others(join)

    def refuse_comparisons(cells: Sheet) -> None:
        """Raise what says that these are comparisons, with the rows, columns and names that were asked for."""
        left = {plain(name) for name in ([ignore] if isinstance(ignore, str) else ignore or ())}
        cells = cells.with_columns({name: own for name, own in cells.columns.items() if plain(name) not in left})
        roles = [getattr(asked, role) for role in IDS]
        if where or others or FILE in roles or any("," in role for role in roles if role):
            if preferences_in(cells, asked, systems) is None:
                return
            cells, _ = _with_items(cells, others, asked, Hints())
            cells = with_rows(cells, where) if where else cells
        unused = {
            "levels": None if isinstance(levels, str) else levels,
            "weights": weights,
            "columns": columns,
            "scale": scale,
        }
        refuse_preferences(*with_composites(cells, _with_file(asked, cells)), systems, lower_is_better, unused)

    original, cells, hints = _opened(source, format, sheet, refuse_comparisons)
    cells, people = _with_items(cells, others, asked, hints)
    if len(cells) == 0:
        raise InputError(f"{cells.name} has no rows")
    chosen = _chosen(cells, asked, where, ignore)
    if not asked.rating:
        refuse_lists(chosen.columns, chosen.name)
    chosen, asked = with_composites(chosen, _with_file(asked, chosen))
    if has_spans(chosen, asked):
        chosen, hints = scored(chosen, asked, weights)
        asked = replace(asked, rating=())
    elif hints.marks and not asked.rating:
        chosen, hints = with_marks(chosen, hints, weights)
    elif weights:
        raise InputError(f"penalties are for error spans, and {cells.name} has no column of severities; leave them out")
    chosen = chosen if format or hints.ratings else with_dummies(without_lists(chosen), asked)
    same = chosen.columns is cells.columns or (len(chosen) == len(cells) and not weights)
    ratings = to_long(recognise(chosen, asked, hints), levels, original if same else None)
    for one in people:
        ratings = join_people(ratings, one)
    return _finished(ratings, chosen, asked, lower_is_better, scale)


def _finished(
    ratings: RatingTable,
    cells: Sheet,
    asked: Asked,
    lower_is_better: bool | str | Sequence[str] | None,
    scale: Sequence[float] | None,
) -> RatingTable:
    """Refuse what cannot be, and add direction, evidence and the ends of the scale."""
    refuse_impossible(ratings, asked)
    ratings = directed(ratings, lower_is_better)
    ratings = replace(ratings, evidence=evidence(cells, ratings))
    return ratings if scale is None else replace(ratings, ends=_ends(scale))


def _chosen(cells: Sheet, asked: Asked, where: str | None, ignore: str | Sequence[str] | None) -> Sheet:
    if where is not None:
        cells = with_rows(cells, where)
    return cells if not ignore else ignoring(cells, [ignore] if isinstance(ignore, str) else ignore)


def _with_file(asked: Asked, cells: Sheet) -> Asked:
    """Let the name of the file be a role where that was asked for."""
    roles = [role for role in IDS if getattr(asked, role) == FILE]
    if not roles or FILE in cells.columns:
        return asked
    cells.columns[FILE] = [Path(cells.name).name.split(".")[0]] * len(cells)
    return asked


def _ends(scale: Sequence[float]) -> tuple[float, float]:
    if len(numbers("scale", scale)) < 2:
        raise InputError("scale needs the lowest and the highest rating")
    return float(min(scale)), float(max(scale))


def columns_of(
    source: Paths,
    *,
    format: str | None = None,
    sheet: str | None = None,
    join: Paths | Sequence[Paths] | None = None,
) -> list[str]:
    r"""Return the columns of a file that roles can be given to, whether or not :func:`read` recognises them.

    Parameters
    ----------
    source, format, sheet, join
        As for :func:`read`.

    Examples
    --------
    >>> from tempfile import NamedTemporaryFile
    >>> with NamedTemporaryFile("w", suffix=".csv") as file:
    ...     print("who;text;points", "anna;t1;4", sep="\n", file=file, flush=True)
    ...     columns_of(file.name)
    ['who', 'text', 'points']
    """
    _, cells, hints = _opened(source, format, sheet, lambda cells: None)
    cells, _ = _with_items(cells, _others(join), Asked(), hints)
    return list(cells.header)


def _others(join: Paths | Sequence[Paths] | None) -> list[Sheet]:
    """Return the sheets of files to be joined."""
    return [open_sheet(path) for path in ([join] if isinstance(join, (str, os.PathLike)) else join or ())]


def _opened(
    source: Any, format: str | None, sheet: str | None, look: Callable[[Sheet], None]
) -> tuple[pa.Table | None, Sheet, Hints]:
    """Return the table if its types are known, its cells as text, and what its format says.

    ``look`` sees the cells before a format takes one of their columns for a rating.
    """
    several = (
        isinstance(source, (list, tuple)) and source and all(isinstance(one, (str, os.PathLike)) for one in source)
    )
    sources = list(source) if several else [source]
    loaded = [_loaded(one, format, sheet) for one in sources]

    def as_one(sheets: list[Sheet]) -> Sheet:
        return sheets[0] if len(sheets) == 1 else together([Path(one) for one in sources], sheets)

    if not any(isinstance(one, (str, os.PathLike)) and Path(one).is_dir() for one in sources):
        raw = [cells for _, cells, _ in loaded]
        alike = len({frozenset(cells.header) for cells in raw}) == 1
        try:
            for cells in [as_one(raw)] if alike else raw:
                look(cells)
        except PreferencesFound:
            as_one(raw)  # one of several files is not the answer
            raise
    parts = [(cells, hints) if hints else export_of_sheet(cells, format) for _, cells, hints in loaded]
    table, cells, hints = loaded[0][0], as_one([cells for cells, _ in parts]), parts[0][1]
    return (None, cells, hints) if table is None or len(parts) > 1 else _typed(table, (cells, hints))


def _loaded(source: Any, format: str | None, sheet: str | None) -> tuple[pa.Table | None, Sheet, Hints | None]:
    """Return a table if its types are known, the cells as text, and what a format said that is known before them."""
    if not isinstance(source, (str, os.PathLike)):
        table = tables.to_arrow(source)
        return table, sheet_of_arrow(table, "the table"), None
    path = Path(source)
    if path.is_dir():
        if not is_folder(path):
            raise InputError(f"{path} is a folder without logs of evaluations or the output of Potato; give a file")
        return None, *of_folder(path)
    kind = kind_of(path)
    if kind in ("json", "jsonl") and sheet is None:
        value = json_value(path)
        if format != "table" and (known := export_of_json(value, path)) is not None:
            return None, *known
        return None, sheet_of_records(value, path.name), None
    if kind in ("parquet", "feather"):
        table = arrow_file(path, kind)
        return table, sheet_of_arrow(table, path.name), None
    return None, open_sheet(path, sheet), None


def _typed(table: pa.Table, export: tuple[Sheet, Hints]) -> tuple[pa.Table | None, Sheet, Hints]:
    """Pass the table on if the format left its columns and rows alone."""
    cells, hints = export
    same = cells.header == table.column_names and len(cells) == table.num_rows
    return (table if same else None), cells, hints


def _with_items(cells: Sheet, files: list[Sheet], asked: Asked, hints: Hints) -> tuple[Sheet, list[Sheet]]:
    """Add the columns of files whose rows are items; return the files that are left, whose rows are people."""
    people = []
    for one in files:
        pair = _shared(cells, one)
        person = asked.participant or hints.ids.get("participant")
        if pair is None or pair[0] == person or rank_of("participant", pair[0]) is not None:
            people.append(one)
            continue
        mine, theirs = pair
        place = {cell.strip(): at for at, cell in enumerate(one.columns[theirs]) if cell is not None}
        at = [None if cell is None else place.get(cell.strip()) for cell in cells.columns[mine]]
        added = {
            name if name not in cells.columns else f"{name} ({one.name})": [
                None if a is None else column[a] for a in at
            ]
            for name, column in one.columns.items()
            if name != theirs
        }
        cells = cells.with_columns(cells.columns | added)
        cells = cells.noting(noticed("columns-added", n=len(added), source=one.name, key=mine))
    return cells, people


def _shared(cells: Sheet, other: Sheet) -> tuple[str, str] | None:
    """Return the columns of two sheets that share most names, the other's being different in every row."""
    best, pair = 0.0, None
    for theirs, column in other.columns.items():
        names = {cell.strip() for cell in column if cell is not None}
        if len(names) < len(other):
            continue
        for mine, values in cells.columns.items():
            wanted = {cell.strip() for cell in values if cell is not None}
            share = len(names & wanted) / max(len(wanted), 1)
            if share > best and len(wanted) > 1:
                best, pair = share, (mine, theirs)
    return pair if best > 0.5 else None
