"""A dataset in one row, as in Table 1 of Howcroft & Rieser (2021)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.reading import tables
from ordbridge.support.arguments import choice

__all__ = ["describe", "numbered"]


def describe(
    table: Any,
    *,
    by: Sequence[str] | None = None,
    typical: str = "auto",
    system: str = "system",
    item: str = "item",
    text: str = "text_id",
    participant: str = "participant",
    rating: str = "rating",
) -> pa.Table:
    """Describe a dataset by a row as in Table 1 of Howcroft & Rieser.

    Parameters
    ----------
    table
        One row per rating.
    by
        Columns whose combinations get a row each; by default ``dataset`` and ``criterion``, where they exist.
    typical
        How the number of ratings per text and per participant is summarised: ``"mode"``, ``"median"``, or ``"auto"``:
        the mode if more than half have exactly that number, else the median.
    system, item, text, participant, rating
        Columns. Without a column for texts a text is a system and an item; a column of people that is missing or empty
        leaves their number open.

    Returns
    -------
    pyarrow.Table
        ``scale`` is the number of categories used; a column next to each typical number says what it is.

    References
    ----------
    Howcroft & Rieser (2021), Table 1.

    Examples
    --------
    >>> ratings = {"system": ["a", "a", "b"], "item": [1, 1, 1], "participant": ["p", "q", "p"], "rating": [1, 5, 4]}
    >>> row = describe(ratings).to_pylist()[0]
    >>> row["systems"], row["texts"], row["ratings"], row["ratings_per_participant"]
    (2, 2, 3, 1.5)
    """
    choice("typical", typical, ("auto", "mode", "median"))
    arrow = tables.to_arrow(table)
    arrow = arrow.filter(tables.column(arrow, rating, role="rating").is_valid())
    if not arrow.num_rows:
        raise InputError("the table has no ratings")
    if by is None:
        by = [name for name in ("dataset", "criterion") if name in arrow.column_names]
    labels = list(zip(*(tables.column(arrow, name, role="groups").to_pylist() for name in by), strict=True))
    codes, groups = numbered(labels or [()] * arrow.num_rows)
    columns = {"system": system, "item": item, "text": text, "participant": participant, "rating": rating}
    rows = []
    for code, group in enumerate(groups):
        part = arrow.filter(pa.array(codes == code))
        rows.append(dict(zip(by, group, strict=True)) | _description(part, columns, typical))
    return pa.Table.from_pylist(rows)


def _description(table: pa.Table, columns: dict[str, str], typical: str) -> dict[str, Any]:
    systems = tables.column(table, columns["system"], role="system").to_pylist()
    items = tables.column(table, columns["item"], role="item").to_pylist()
    ratings = tables.column(table, columns["rating"], role="rating")
    has_texts = columns["text"] in table.column_names
    texts = table[columns["text"]].to_pylist() if has_texts else list(zip(systems, items, strict=True))
    people = table[columns["participant"]].to_pylist() if columns["participant"] in table.column_names else [None]
    known = None not in people
    per_text, text_statistic = _typical(texts, typical)
    per_person, person_statistic = _typical(people, typical) if known else (None, None)
    return {
        "scale": len(ratings.unique()),
        "systems": len({*systems} - {None}),
        "items": len({*items}),
        "texts": len({*texts}),
        "participants": len({*people}) if known else None,
        "ratings": len(ratings),
        "ratings_per_text": per_text,
        "per_text_is": text_statistic,
        "ratings_per_participant": per_person,
        "per_participant_is": person_statistic,
    }


def _typical(labels: Sequence[Hashable], statistic: str) -> tuple[float, str]:
    """Return how many ratings one of the labels has: the mode or the median, and which of the two."""
    counts = np.bincount(numbered(labels)[0])
    values, frequency = np.unique(counts, return_counts=True)
    if statistic == "mode" or (statistic == "auto" and 2 * frequency.max() > len(counts)):
        return float(values[frequency.argmax()]), "mode"
    return float(np.median(counts)), "median"


def numbered(labels: Sequence[Hashable]) -> tuple[np.ndarray, list[Any]]:
    """Return the number of each label, from 0 on in the order of first appearance, and the labels in that order."""
    order: dict[Hashable, int] = {}
    numbers = np.array([order.setdefault(label, len(order)) for label in labels], dtype=np.int64)
    return numbers, list(order)
