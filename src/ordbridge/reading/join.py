"""Demographics and the like, one row per person, joined to their ratings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.reading.cell_types import typed
from ordbridge.reading.rating_table import RatingTable
from ordbridge.reading.sheet import Sheet
from ordbridge.reading.values import looks_like_ratings
from ordbridge.reading.vocabulary import is_aside, plain, rank_of, says_rating
from ordbridge.results.finding import Finding
from ordbridge.results.finding import found as noticed
from ordbridge.support.naming import arg

__all__ = ["is_prolific", "join_people"]

REFUSED = {"returned", "timedout", "rejected"}


def is_prolific(sheet: Sheet) -> bool:
    """Tell whether a sheet is Prolific's export of a study: people and their demographics, no ratings."""
    names = {plain(name): name for name in sheet.header}
    submission = {"submissionid", "sessionid"} & names.keys()
    times = {"timetaken", "startedat"} & names.keys()
    theirs = {"participantid", "status"} <= names.keys() and bool(submission) and bool(times)
    return theirs and not _has_ratings(sheet, names["participantid"])


def _has_ratings(sheet: Sheet, person: str) -> bool:
    """Tell whether ratings were already joined: people stand in several rows, or columns are called ratings."""
    people = [cell for cell in sheet.columns[person] if cell is not None]
    rated = (name for name in sheet.header if "[" in name or (says_rating(name) and not is_aside(name)))
    return len(set(people)) < len(people) or any(looks_like_ratings(sheet.columns[name]) for name in rated)


def join_people(ratings: RatingTable, people: Sheet) -> RatingTable:
    """Add the columns of ``people`` to their ratings, by the column of ``people`` that names them."""
    key = _key(people, set(ratings.table["participant"].to_pylist()))
    place: dict[str, int] = {}
    for at, cell in enumerate(people.columns[key]):
        if cell is not None and place.setdefault(cell.strip(), at) != at:
            raise InputError(f"{people.name} has two rows for {cell.strip()!r}; keep one row per person")
    names = ratings.table["participant"].to_pylist()
    found = pa.array([None if name is None else place.get(name.strip()) for name in names], pa.int64())
    table = ratings.table
    added = []
    for name, cells in people.columns.items():
        if name == key:
            continue
        title = name if name not in table.column_names else f"{name} ({people.name})"
        table = table.append_column(title, typed(cells).take(found))
        added.append(title)
    everybody = {name for name in names if name is not None}
    matched = {name for name in everybody if name.strip() in place}
    note = noticed("joined", n=len(added), source=people.name, key=key, matched=len(matched), of=len(everybody))
    return replace(
        ratings, table=table, notes=(*ratings.notes, note), flaws=(*ratings.flaws, *_refused(ratings, people, key))
    )


def _key(people: Sheet, names: set[Any]) -> str:
    """Return the column whose cells are the names of participants."""
    wanted = {name.strip() for name in names if name is not None}
    if not wanted:
        raise InputError(f"the ratings name no participants to find in {people.name}; leave that file out")
    shared = {
        column: len({cell.strip() for cell in cells if cell is not None} & wanted)
        for column, cells in people.columns.items()
    }
    if not shared:
        raise InputError(f"{people.name} has no columns")
    best = max(shared, key=lambda column: (shared[column], -(rank_of("participant", column) or 9)))
    if not shared[best]:
        raise InputError(
            f"no column of {people.name} has the names of the participants, such as {sorted(wanted)[0]!r}; name the "
            f"column with the same names by {arg('participant')}"
        )
    return best


def _refused(ratings: RatingTable, people: Sheet, key: str) -> list[Finding]:
    """Return a warning about ratings of people whose work Prolific lists as returned, timed out or rejected."""
    status = next((name for name in people.header if plain(name) == "status"), None)
    if status is None:
        return []
    refused = {
        str(who).strip()
        for who, what in zip(people.columns[key], people.columns[status], strict=True)
        if who is not None and plain(what or "") in REFUSED
    }
    rows = [
        int(row)
        for row, name in zip(ratings.rows, ratings.table["participant"].to_pylist(), strict=True)
        if name is not None and name.strip() in refused
    ]
    if not rows:
        return []
    return [noticed("refused-submissions", n=len(rows), rows=rows)]
