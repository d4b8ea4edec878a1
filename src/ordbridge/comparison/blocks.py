"""Ratings in parts that must not be mixed: blocks that were asked for, and systems that share no items."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ordbridge.errors import InputError
from ordbridge.results.finding import Finding, found
from ordbridge.support.formatting import listed
from ordbridge.support.linked import linked

ROLES = ("participant", "item", "system", "rating", "criterion")
MOST_NAMED = 3  # systems in the name of a part


def linked_systems(item: np.ndarray, system: np.ndarray) -> list[list[int]]:
    """Return groups of systems that are linked by common items, by more than a single one.

    Within a group, differences between items cancel. Across groups they do not: one group may have had the easier
    items. If no two systems are linked, items are a sample for each system, and all systems are one group.

    Examples
    --------
    >>> linked_systems(np.array([0, 0, 1, 1, 2, 2, 3, 3]), np.array([0, 1, 0, 1, 2, 3, 2, 3]))
    [[0, 1], [2, 3]]
    >>> linked_systems(np.array([0, 1, 2, 3]), np.array([0, 0, 1, 1]))
    [[0, 1]]
    """
    seen = np.zeros((int(item.max()) + 1, int(system.max()) + 1), dtype=bool)
    seen[item, system] = True
    shared = seen[seen.sum(axis=1) > 1]
    everyone = list(range(seen.shape[1]))
    if not len(shared):
        return [everyone]
    groups = _components(_common(shared) > 1)
    if len(groups) == 1:
        return [everyone]
    group = np.empty(len(everyone), dtype=int)
    for number, members in enumerate(groups):
        group[members] = number
    links = np.array([len(np.unique(group[row])) > 1 for row in shared])
    # those that hold together whichever single item is left out
    parts = {tuple(everyone)}
    only = seen.sum(axis=0) == 1  # systems with one item, which is all that can link them
    for left_out in np.flatnonzero(links):
        common = _common(np.delete(shared, left_out, axis=0)) > 0
        common[np.ix_(shared[left_out] & only, shared[left_out])] = True
        rest = _components(common)
        parts = {piece for part in parts for one in rest if (piece := tuple(k for k in part if k in one))}
        if len(parts) == len(groups):
            break
    if not links.any():
        parts = {tuple(one) for one in groups}
    return [list(part) for part in sorted(parts)] if len(parts) < len(everyone) else [everyone]


def _common(seen: np.ndarray) -> np.ndarray:
    counts = seen.astype(int)
    return counts.T @ counts


def _components(common: np.ndarray) -> list[list[int]]:
    one, other = np.nonzero(common)
    part = linked(one, other, len(common))
    return [np.flatnonzero(part == k).tolist() for k in range(part.max() + 1)]


def by_column(table: pa.Table, column: str) -> list[tuple[str, pa.Table]]:
    """Return the parts of a table by the values of a column, under these values."""
    if column not in table.column_names:
        raise InputError(f"there is no column {column!r}; there are {', '.join(table.column_names)}")
    values = table[column].cast(pa.string())
    return [(value, table.filter(pc.equal(values, value))) for value in sorted(set(values.drop_null().to_pylist()))]


def apart(table: pa.Table) -> tuple[list[tuple[str, pa.Table]], list[Finding]]:
    """Return the parts of a table whose systems can be compared, under a name each, and what to say about them."""
    if "item" not in table.column_names or "system" not in table.column_names:
        return [("", table)], []
    known = table.filter(pc.and_(pc.is_valid(table["item"]), pc.is_valid(table["system"])))
    if not known.num_rows:
        return [("", table)], []
    names, system = _codes(known, "system")
    groups = linked_systems(_codes(known, "item")[1], system)
    if len(groups) == 1:
        return [("", table)], []
    members = [[names[k] for k in group] for group in groups]
    parts = [table.filter(pc.is_in(table["system"].cast(pa.string()), pa.array(one))) for one in members]
    said = [found("separate-systems", groups="; ".join(listed(one) for one in members))]
    labels = _labels(table, parts) or [_named(one) for one in members]
    return [(label, part) for label, part, one in zip(labels, parts, members, strict=True) if len(one) > 1], said


def _codes(table: pa.Table, column: str) -> tuple[list[str], np.ndarray]:
    values, codes = np.unique(np.array(table[column].to_pylist(), dtype=object).astype(str), return_inverse=True)
    return [str(value) for value in values], codes


def _labels(table: pa.Table, parts: Sequence[pa.Table]) -> list[str] | None:
    """Return the values of a column that names the parts: a dataset, a language."""
    for column in table.column_names:
        kind = table.schema.field(column).type
        text = kind.value_type if pa.types.is_dictionary(kind) else kind
        if column in ROLES or not (pa.types.is_string(text) or pa.types.is_large_string(text)):
            continue
        values = [set(part[column].unique().to_pylist()) for part in parts]
        if all(len(one) == 1 and None not in one for one in values) and len(set.union(*values)) == len(parts):
            return [next(iter(one)) for one in values]
    return None


def _named(systems: Sequence[str]) -> str:
    more = len(systems) - MOST_NAMED
    return listed([*systems[:MOST_NAMED], f"{more} more"] if more > 1 else list(systems))
