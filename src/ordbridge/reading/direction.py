"""Whether a high rating is good: errors, penalties, ranks, times and costs are better when they are low."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.reading.parts import listed
from ordbridge.reading.rating_table import RatingTable
from ordbridge.reading.vocabulary import may_be_lower, says_lower
from ordbridge.results.finding import Finding
from ordbridge.results.finding import found as noticed
from ordbridge.support.naming import arg

__all__ = ["directed"]


def directed(ratings: RatingTable, asked: bool | str | Sequence[str] | None) -> RatingTable:
    """Return the ratings with the criteria of which less is better: those that were given, or that are called so."""
    parts = dict(_criteria(ratings))
    if isinstance(asked, bool):
        lower = tuple(parts) if asked else ()
    elif asked is not None:
        named = [asked] if isinstance(asked, str) else list(asked)
        if unknown := [name for name in named if name not in parts]:
            criteria = listed([name for name in parts if name])
            known = f"the criteria {criteria}" if criteria else "no criteria"
            raise InputError(f"{arg('lower_is_better', unknown)}: {ratings.source} has {known}")
        lower = tuple(named)
    else:
        lower = tuple(name for name, (column, values) in parts.items() if says_lower(column) and _counts_up(values))
    notes: list[Finding] = [noticed("lower-is-better", name, column=parts[name][0]) for name in lower]
    if asked is None:
        notes += [
            noticed("higher-taken-for-better", name, column=column, which=name or True)
            for name, (column, _) in parts.items()
            if name not in lower and may_be_lower(column)
        ]
    return replace(ratings, lower_is_better=lower, notes=(*ratings.notes, *notes))


def _criteria(ratings: RatingTable) -> Iterator[tuple[str, tuple[str, np.ndarray]]]:
    """Yield each criterion, ``""`` where there is none, with its name in words and its ratings."""
    table = ratings.table
    column = table["rating"].combine_chunks()
    if pa.types.is_dictionary(column.type):
        values = column.indices.to_numpy(zero_copy_only=False).astype(float)
    else:
        values = column.to_numpy(zero_copy_only=False).astype(float)
    if "criterion" not in table.column_names:
        yield "", (ratings.column("rating") or "", values)
        return
    encoded = table["criterion"].combine_chunks().dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    for place, name in enumerate(encoded.dictionary.to_pylist()):
        yield str(name), (str(name), values[codes == place])


def _counts_up(values: np.ndarray) -> bool:
    """Tell whether more is more: penalties below 0 are already turned round."""
    return not (values.size and values.max() <= 0 and values.min() < 0)
