"""Ratings on one scale, read from a long table; and another measure of the same systems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.reading import tables
from ordbridge.support.naming import arg


@dataclass(frozen=True)
class OnScale:
    """The columns of one table: labels as arrays of strings, ratings as numbers."""

    system: np.ndarray
    item: np.ndarray
    participant: np.ndarray
    text_type: np.ndarray | None
    criterion: np.ndarray | None
    rating: np.ndarray

    def by(self, factor: np.ndarray) -> dict[str, np.ndarray]:
        """Return the ratings at each level of a factor."""
        return {str(level): self.rating[factor == level] for level in np.unique(factor)}

    def means(self) -> dict[str, float]:
        """Return the mean of each system."""
        return {level: float(ratings.mean()) for level, ratings in self.by(self.system).items()}

    def on(self, criterion: str) -> OnScale:
        """Return the ratings on one criterion."""
        if self.criterion is None:
            return self
        keep = self.criterion == criterion
        sides = {f.name: getattr(self, f.name) for f in fields(self)}
        kept: dict[str, Any] = {name: None if side is None else side[keep] for name, side in sides.items()}
        return OnScale(**kept)


def read_scale(data: Any, names: dict[str, str | None], where: str) -> OnScale:
    """Return the columns of a long table; ``names`` has the name of each, ``where`` says which table it is."""
    table = tables.to_arrow(data)
    if names["criterion"] is None and "criterion" in table.column_names:
        criteria = sorted({str(name) for name in table["criterion"].to_pylist()})
        if len(criteria) > 1:
            some = ", ".join([*criteria[:3], *(["…"] if len(criteria) > 3 else [])])
            raise InputError(
                f"{where} has {len(criteria)} criteria ({some}), which cannot be compared as one: give its column "
                f"({arg('criterion')}), or keep the rows of one criterion"
            )
    labels: dict[str, np.ndarray | None] = {}
    for role in ("system", "item", "participant", "text_type", "criterion"):
        name = names[role]
        if name is None:
            labels[role] = None
            continue
        column = tables.column(table, name, role=role.replace("_", " "))
        if column.null_count:
            raise InputError(f"column {name!r} of {where} has empty cells; fill them in or drop the rows")
        labels[role] = np.array([str(label) for label in column.to_pylist()])
    rating = numbers(tables.column(table, str(names["rating"]), role="rating"), str(names["rating"]), where)
    return OnScale(**labels, rating=rating)  # type: ignore[arg-type]


def read_outside(measure: Mapping[Any, float] | Any, system: str, value: str) -> dict[str, float]:
    """Return the outside measure of each system."""
    if isinstance(measure, Mapping) and not {system, value} <= set(measure):
        return {str(name): float(number) for name, number in measure.items()}
    other = tables.to_arrow(measure)
    names = [str(label) for label in tables.column(other, system, role="system").to_pylist()]
    values = numbers(tables.column(other, value, role="outside measure"), value, "the outside measure")
    if len(set(names)) < len(names):
        raise InputError("the outside measure has more than one value for a system; average them first")
    return dict(zip(names, values.tolist(), strict=True))


def numbers(column: pa.ChunkedArray, name: str, where: str) -> np.ndarray:
    """Return a column as numbers, and refuse one that has gaps or is not made of numbers."""
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise InputError(f"column {name!r} of {where} must be numbers, but it is {column.type}")
    values = np.asarray(column.cast(pa.float64()).to_numpy(), dtype=float)
    if not len(values) or not np.isfinite(values).all():
        raise InputError(f"column {name!r} of {where} has missing or infinite values; drop those rows first")
    return values


def as_texts(scale: OnScale) -> dict[str, Any]:
    """Return a long table in which a text is a system's output for an item."""
    text = np.array([f"{system} · {item}" for system, item in zip(scale.system, scale.item, strict=True)])
    return {"text": text.tolist(), "participant": scale.participant.tolist(), "rating": scale.rating.tolist()}
