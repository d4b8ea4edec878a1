"""Designs that cannot be: a reading under which most people rated the same text again and again is wrong."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ordbridge.errors import InputError
from ordbridge.reading.parts import Asked, listed
from ordbridge.reading.rating_table import ROLES, RatingTable
from ordbridge.reading.vocabulary import name_words, rank_of
from ordbridge.support.naming import arg

__all__ = ["codes_of", "refuse_impossible"]

MOST_REPEATS = 0.5  # share of ratings of a text by somebody who rated it before, beyond which the reading is wrong
SOME_REPEATS = 0.05
FEWEST = 20  # ratings, before anything is concluded
MANY_TEXTS = 100  # so many texts, each rated by the numbers 1, 2, 3 in turn, are a crowd's work
STUDIES = {"exp", "experiment", "study", "batch", "group", "list", "site", "wave", "hit", "form", "survey",
           "questionnaire", "studie", "gruppe", "liste", "estudio", "grupo", "part", "task", "lab"}  # fmt: skip
PLACES = "annotator"  # the column of places in lists, which JSON with lists of ratings gets
PERSONS = {"expert", "experts"}  # so few that lists keep their order
_PLACE = re.compile(r"(|.*\D )(\d+)")
_ID = re.compile(r"(.*[^a-z])?(id|hash|code)$", re.IGNORECASE)


def codes_of(column: pa.ChunkedArray | pa.Array) -> np.ndarray:
    """Return the number of each label, −1 for none."""
    values = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()
    codes: np.ndarray = np.asarray(pc.fill_null(values.indices, -1).to_numpy(zero_copy_only=False), dtype=np.int64)
    return codes


def _together(parts: Sequence[np.ndarray]) -> np.ndarray:
    key = parts[0] + 1
    for part in parts[1:]:
        key = key * (int(part.max()) + 2) + part + 1
        if key.max() > 2**40:
            key = np.unique(key, return_inverse=True)[1]
    return key


def _repeats(parts: Sequence[np.ndarray]) -> float:
    key = _together(parts)
    return 1.0 - len(pc.unique(pa.array(key))) / len(key)


def refuse_impossible(ratings: RatingTable, asked: Asked) -> None:
    """Refuse a reading under which most ratings repeat a rater and a text, or raters are numbers within a text."""
    table = ratings.table
    if not {"participant", "item"} <= set(table.column_names) or table.num_rows < FEWEST:
        return
    roles = [role for role in ROLES[:-1] if role in table.column_names]
    parts = [codes_of(table[role]) for role in roles]
    if min(part.min() for part in parts) < 0:
        keep = np.all([part >= 0 for part in parts], axis=0)
        parts = [part[keep] for part in parts]
        table = table.filter(pa.array(keep))
        if table.num_rows < FEWEST:
            return
    share = _repeats(parts)
    apart = _apart(table, parts, np.asarray(ratings.rows)) if share > SOME_REPEATS else []
    names = {role: ratings.column(role) for role in roles}
    if share > SOME_REPEATS and names["participant"] and _are_numbers(table["participant"]):
        studies = [name for name in apart if {*name_words(name)} & STUDIES]
        if studies:
            both = f"{studies[0]},{names['participant']}"
            raise InputError(
                f"the numbers in {names['participant']!r} of {ratings.source} start again in every {studies[0]!r}, so "
                f"one number is several people; give {arg('participant', both)}"
            )
    sure = all(rank_of(role, names[role] or "") == 0 for role in ("participant", "item", "system") if role in roles)
    known = (sure and apart) or _are_copies(table, share) or _has_texts(table, parts)
    if share > MOST_REPEATS and not known:
        said = "; ".join(f"{role}: {source}" for role, source in ratings.recognised.items() if role != "rating")
        ways = [arg(role, name) for name in apart[:3] for role in ("criterion", "item", "system")
                if role not in roles or role == "item"][:4]  # fmt: skip
        hint = f"; what was rated may also differ in {listed(apart)}: give {' or '.join(ways)}" if ways else (
            f"; give {arg('participant')}, {arg('item')} and {arg('system')} with the right columns, or "
            f"{arg('participant', 'none')} if nobody knows who rated"
        )  # fmt: skip
        raise InputError(
            f"{share:.0%} of the ratings in {ratings.source} would be by somebody who had already rated the same text, "
            f"which cannot be ({said}){hint}"
        )
    if asked.participant is None and names["participant"]:
        _refuse_places(table, ratings, names["participant"])


def _are_numbers(column: pa.ChunkedArray) -> bool:
    labels = pc.unique(column).to_pylist()
    return all(label is not None and str(label).strip().isdigit() and len(str(label)) < 4 for label in labels)


def _are_copies(table: pa.Table, share: float) -> bool:
    """Tell whether rows repeat others in every column, which is said elsewhere."""
    plain = [name for name in table.column_names if not pa.types.is_nested(table[name].type)]
    return _repeats([codes_of(table[name]) for name in plain]) >= 0.9 * share


def _has_texts(table: pa.Table, parts: Sequence[np.ndarray]) -> bool:
    """Tell whether another column names the texts: a system may have made several of one item."""
    named = [name for name in table.column_names if name not in ROLES and rank_of("item", name) in (0, 1)]
    plain = [name for name in named if not pa.types.is_nested(table[name].type)]
    return any(_repeats([*parts, codes_of(table[name])]) < 0.01 for name in plain)


def _apart(table: pa.Table, parts: Sequence[np.ndarray], rows: np.ndarray) -> list[str]:
    """Return the columns that tell repeated ratings apart and have names that come again in other rows."""
    found = []
    in_file = len(np.unique(rows))
    for name in table.column_names:
        if name in ROLES or not _may_name(table[name]):
            continue
        code = codes_of(table[name])
        few = 1 < code.max() + 1 <= in_file // 2
        if few and _repeats([*parts, code]) < 0.01:
            found.append(str(name))
    return found


def _may_name(column: pa.ChunkedArray) -> bool:
    """Tell whether a column holds words or whole numbers."""
    kind = column.type
    if pa.types.is_floating(kind):
        values = column.drop_null()
        return len(values) > 0 and bool(pc.all(pc.equal(pc.floor(values), values)).as_py())
    return bool(pa.types.is_string(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind))


def _refuse_places(table: pa.Table, ratings: RatingTable, column: str) -> None:
    """Ask whether raters 1, 2, 3 are people or the first, second and third rating of each text."""
    if _ID.fullmatch(column):
        return
    people = pc.unique(table["participant"]).to_pylist()
    counted = {name: match for name in people if (match := _PLACE.fullmatch(str(name)))}
    if not 2 <= len(people) <= 30 or len(counted) < len(people) or len({m[1] for m in counted.values()}) > 1:
        return
    invented = next(iter(counted.values()))[1]
    if (invented and column != PLACES) or {*name_words(invented)} & PERSONS:
        return  # wid_0 may be somebody
    number_of = {name: int(match[2]) for name, match in counted.items()}
    numbers = sorted(number_of.values())
    if numbers not in (list(range(len(people))), list(range(1, len(people) + 1))):
        return
    texts = _together([codes_of(table[role]) for role in ("item", "system") if role in table.column_names])
    text = np.unique(texts, return_inverse=True)[1]
    if text.max() + 1 < MANY_TEXTS:
        return
    if invented:
        raise InputError(
            f"the ratings of a text stand in a list ({invented.strip()}) in {ratings.source}, without the names of "
            f"raters: are the first ones of all lists by one person? If so give {arg('participant', column)}, "
            f"otherwise {arg('participant', 'none')}"
        )
    number = np.asarray([number_of[name] for name in table["participant"].to_pylist()])
    rows = np.asarray(ratings.rows)[: len(number)]
    order = np.lexsort((number, rows)) if len(rows) == len(number) else np.arange(len(number))
    turned = (np.diff(number[order]) == 1) | (number[order][1:] == numbers[0]) | (np.diff(number[order]) == 0)
    if turned.mean() > 0.99 and len(people) > 1 and np.ptp(np.bincount(number - numbers[0])) <= 0.02 * len(number):
        neighbours = text[order][1:] == text[order][:-1]
        if neighbours.mean() > 0.3:
            raise InputError(
                f"{column!r} of {ratings.source} counts {numbers[0]} to {numbers[-1]} within each text: are these the "
                f"same {len(people)} people throughout? If so give {arg('participant', column)}, otherwise "
                f"{arg('participant', 'none')}"
            )
