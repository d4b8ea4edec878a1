"""Ratings as arrays of codes: what the checks look at."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ordbridge.reading.rating_table import RatingTable
from ordbridge.reading.vocabulary import plain

__all__ = ["MOST_CATEGORIES", "Names", "RatedStudy", "study_of"]

MOST_CATEGORIES = 11  # of a scale of categories; with more different values it is a slider or a score
_SECONDS = re.compile(
    r"(seconds?|secs?|durationinseconds|worktimeinseconds|leadtime|timespent|timetaken|duration|rt|reactiontime|"
    r"responsetime|annotationtime|elapsed|time|zeit|dauer|duree|tiempo|seconds.*)(ms|msec|milliseconds|s|sec|seconds)?"
)


@dataclass(frozen=True)
class Names:
    """The names of a role and, for each rating, the position of its name, −1 where it has none."""

    labels: tuple[str, ...]
    code: np.ndarray

    @cached_property
    def counts(self) -> np.ndarray:
        """How many ratings each name has."""
        return np.bincount(self.code[self.code >= 0], minlength=len(self.labels))


@dataclass(frozen=True)
class RatedStudy:
    """Who rated what under which system on which criterion, and how; in the order of the file."""

    names: dict[str, Names]
    rating: np.ndarray
    levels: tuple[str, ...] | None
    rows: np.ndarray
    seconds: np.ndarray | None
    table: pa.Table
    scale: tuple[float, float] | None

    def rows_of(self, chosen: np.ndarray) -> list[int]:
        """Return the rows of the file of some ratings, each once."""
        return [int(row) for row in dict.fromkeys(self.rows[chosen].tolist())]

    def said(self, rating: float) -> str:
        """Return a rating as it stands in the file."""
        return repr(self.levels[int(rating)]) if self.levels else f"{rating:g}"

    @cached_property
    def criteria(self) -> list[tuple[str | None, np.ndarray]]:
        """Each criterion with its ratings; without criteria all ratings."""
        if "criterion" not in self.names:
            return [(None, np.ones(len(self.rating), dtype=bool))]
        names = self.names["criterion"]
        return [(label, names.code == place) for place, label in enumerate(names.labels)]

    @cached_property
    def text(self) -> np.ndarray | None:
        """For each rating the number of its text: item × system, as far as there are names."""
        parts = [self.names[role] for role in ("item", "system") if role in self.names]
        if not parts or "item" not in self.names:
            return None
        code = parts[0].code.copy()
        for part in parts[1:]:
            code = np.where((code < 0) | (part.code < 0), -1, code * len(part.labels) + part.code)
        return code

    def is_categorical(self, chosen: np.ndarray) -> bool:
        """Tell whether ratings are categories: words, or few different whole numbers."""
        if self.levels is not None:
            return True
        values = np.unique(self.rating[chosen])
        whole = (values == np.floor(values)).mean() if values.size else 0.0
        return bool(whole > 0.5 and len(values) <= MOST_CATEGORIES + 3)


def study_of(ratings: RatingTable) -> RatedStudy:
    """Return the ratings of a table as arrays."""
    table = ratings.table
    names = {
        role: _names(table[role])
        for role in ("participant", "item", "system", "criterion")
        if role in table.column_names
    }
    column = table["rating"]
    if pa.types.is_dictionary(column.type):
        values = column.combine_chunks().indices.to_numpy(zero_copy_only=False).astype(float)
    else:
        values = column.to_numpy().astype(float)
    return RatedStudy(names, values, ratings.levels, np.asarray(ratings.rows), _seconds(table), table, ratings.ends)


def _names(column: pa.ChunkedArray) -> Names:
    encoded = column.combine_chunks().dictionary_encode()
    code = np.asarray(pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False), dtype=np.int64)
    return Names(tuple(encoded.dictionary.to_pylist()), code)


def _seconds(table: pa.Table) -> np.ndarray | None:
    """Return how long each rating took, where a column says so."""
    for field in table.schema:
        name = plain(field.name)
        numeric = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        if numeric and (match := _SECONDS.fullmatch(name)) and field.name not in ("rating",):
            values = table[field.name].to_numpy().astype(float)
            if (match[2] or "").startswith(("ms", "milli")) or np.nanmedian(values) > 2000:
                values = values / 1000
            return values if np.nanmax(values) > 0 else None
    return None
