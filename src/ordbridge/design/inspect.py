"""The design of a study that was run, and how balanced a design is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ordbridge.design.generate import order_of_appearance
from ordbridge.errors import InputError
from ordbridge.reading.tables import column, to_arrow
from ordbridge.support.linked import linked


def from_ratings(table: Any, participant: str = "participant", item: str = "item", system: str = "system") -> pa.Table:
    """Read the design of a study that was really run off its ratings, in the order of the rows.

    Parameters
    ----------
    table
        Ratings in any form that :func:`ordbridge.reading.tables.to_arrow` takes, one row per rating.
    participant, item, system
        The names of the columns in ``table``. An ``order`` column, if there is one, is kept.

    Examples
    --------
    >>> ratings = {"worker": ["x", "x"], "text": [7, 8], "system": ["gpt", "human"], "rating": [5, 3]}
    >>> from_ratings(ratings, participant="worker", item="text").column_names
    ['participant', 'item', 'system', 'order']
    """
    ratings = to_arrow(table)
    columns = {
        role: column(ratings, name, role)
        for role, name in (("participant", participant), ("item", item), ("system", system))
    }
    if not ratings.num_rows:
        raise InputError("the table has no rows, so there is no design to read off it")
    for role, values in columns.items():
        if values.null_count:
            raise InputError(
                f"the {role} is missing in {values.null_count} of {ratings.num_rows} rows; fill it in or drop them"
            )
    if "order" in ratings.column_names:
        columns["order"] = ratings["order"]
    else:
        columns["order"] = pa.array(order_of_appearance(encode(columns["participant"])[0]))
    return pa.table(columns)


def check(design: Any) -> pa.Table:
    """Say in numbers and in words how balanced a design is.

    Parameters
    ----------
    design
        A table with the columns ``participant, item, system``, in any form that
        :func:`ordbridge.reading.tables.to_arrow` takes.

    Returns
    -------
    pyarrow.Table
        One row a property: ``property``, its ``lowest`` and ``highest`` value over the design, ``balanced``, and
        ``words``, a sentence that says what is unbalanced and where.

    Examples
    --------
    >>> from ordbridge.design import counterbalanced
    >>> balance = check(counterbalanced(items=30, ratings_per_text=2, texts_per_participant=20))
    >>> balance.select(["property", "lowest", "highest"]).slice(0, 2).to_pylist()
    [{'property': 'ratings per text', 'lowest': 2, 'highest': 2},
     {'property': 'texts per participant', 'lowest': 20, 'highest': 20}]
    """
    table = from_ratings(design)
    codes, names = zip(*(encode(table[role]) for role in ("participant", "item", "system")), strict=True)
    return pa.Table.from_pylist([*_count_properties(codes, names), _components(codes)])


def _count_properties(codes: tuple[np.ndarray, ...], names: tuple[list, ...]) -> Iterable[dict[str, Any]]:
    """Yield the properties that are counts in one of the margins of participant × item × system."""
    (participant, item, system), (participants, items, systems) = codes, names
    per_text = _cross_table(item, system, len(items), len(systems))
    per_participant = _cross_table(participant, system, len(participants), len(systems))
    yield _property(
        "ratings per text",
        per_text.ravel(),
        lambda n: f"text ({items[n // len(systems)]}, {systems[n % len(systems)]})",
        "ratings for every text: {}",
    )
    yield _property(
        "texts per participant",
        per_participant.sum(axis=1),
        lambda n: f"participant {participants[n]}",
        "texts for every participant: {}",
    )
    yield _property(
        "systems per participant",
        (per_participant > 0).sum(axis=1),
        lambda n: f"participant {participants[n]}",
        f"systems for every participant: {{}} of {len(systems)}",
    )
    for whom, counts, labels in (("participant", per_participant, participants), ("item", per_text, items)):
        yield _spread(whom, np.ptp(counts, axis=1), labels)
    yield _repetition(participant, item, system, len(items), len(systems))


def _repetition(
    participant: np.ndarray, item: np.ndarray, system: np.ndarray, items: int, systems: int
) -> dict[str, Any]:
    """Return how often one participant meets one item, and whether it was under one system or several."""
    text = item * systems + system
    item_seen = np.unique(participant * items + item, return_counts=True)[1]
    text_seen = np.unique(participant * items * systems + text, return_counts=True)[1]
    again, same = int((item_seen > 1).sum()), int((text_seen > 1).sum())
    words = "nobody sees an item twice"
    if again:
        words = f"in {again} of {len(item_seen)} cases a participant sees an item more than once, "
        words += f"in {same} of them under the same system" if same else "always under another system"
    return {
        "property": "times a participant sees an item",
        "lowest": int(item_seen.min()),
        "highest": int(item_seen.max()),
        "balanced": not again,
        "words": words,
    }


def _property(name: str, counts: np.ndarray, label: Callable[[int], str], even: str) -> dict[str, Any]:
    low, high = int(counts.min()), int(counts.max())
    if low == high:
        words = even.format(low)
    else:
        usual = int(np.bincount(counts).argmax())
        odd = np.flatnonzero(counts != usual)
        words = (
            f"uneven: {low} to {high}, mostly {usual}; {len(odd)} of {len(counts)} differ, "
            f"first {label(int(odd[0]))} with {counts[odd[0]]}"
        )
    return {"property": name, "lowest": low, "highest": high, "balanced": low == high, "words": words}


def _spread(whom: str, spread: np.ndarray, labels: list) -> dict[str, Any]:
    """Return how unequally often the systems occur within one ``whom``: most frequent minus rarest."""
    # One more or less is as even as it can be when the number of systems does not divide the number of ratings.
    uneven = np.flatnonzero(spread > 1)
    if len(uneven):
        worst = int(spread.argmax())
        words = (
            f"uneven for {len(uneven)} of {len(spread)} {whom}s: for {whom} {labels[worst]} "
            f"one system occurs {spread[worst]} ratings more often than another"
        )
    elif spread.max():
        words = f"every {whom} has all systems equally often, give or take one"
    else:
        words = f"every {whom} has all systems equally often"
    return {
        "property": f"system imbalance within {whom}",
        "lowest": int(spread.min()),
        "highest": int(spread.max()),
        "balanced": not len(uneven),
        "words": words,
    }


def _components(codes: tuple[np.ndarray, ...]) -> dict[str, Any]:
    participant, item, _ = codes
    first_item = participant.max() + 1
    parts = int(linked(participant, first_item + item, first_item + item.max() + 1).max()) + 1
    words = (
        "all participants are linked through items they share"
        if parts == 1
        else f"the study falls into {parts} parts that share neither participants nor items, "
        "so a strict participant cannot be told from a hard item across parts"
    )
    return {
        "property": "connected components",
        "lowest": parts,
        "highest": parts,
        "balanced": parts == 1,
        "words": words,
    }


def encode(values: pa.ChunkedArray) -> tuple[np.ndarray, list]:
    """Give the values of a column numbers as R's ``factor`` does: by the order of a categorical, else sorted."""
    encoded = values.unify_dictionaries().combine_chunks().dictionary_encode()
    codes, labels = encoded.indices.to_numpy(), encoded.dictionary
    # A categorical keeps its order, but may list levels that no row has.
    used = np.unique(codes) if pa.types.is_dictionary(values.type) else pc.sort_indices(labels).to_numpy()
    rank = np.empty(len(labels), dtype=np.int64)
    rank[used] = np.arange(len(used))
    return rank[codes], labels.take(pa.array(used)).to_pylist()


def _cross_table(rows: np.ndarray, columns: np.ndarray, n_rows: int, n_columns: int) -> np.ndarray:
    return np.bincount(rows * n_columns + columns, minlength=n_rows * n_columns).reshape(n_rows, n_columns)
