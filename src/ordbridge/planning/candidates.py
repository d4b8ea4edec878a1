"""The designs of a plan, or the effects of one design: what each would be, and what it would cost."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge.design import from_ratings
from ordbridge.errors import InputError
from ordbridge.planning.evidence import Candidate
from ordbridge.planning.money import Costs
from ordbridge.planning.options import Designs
from ordbridge.power.grid import Grid
from ordbridge.reading.tables import to_arrow
from ordbridge.simulate import Truth
from ordbridge.support.naming import arg

STEP = 0.04  # of the items from one design to the next: a finer grid is below the error of any simulated power
MOST_ITEMS = 500
RATINGS = (2, 3, 5, 10)
EFFECTS = tuple(round(0.02 * step, 2) for step in range(2, 101))


def candidates_of(kind: str, truth: Truth, designs: Designs, costs: Costs) -> list[list[Candidate]]:
    """Return a row of designs a number of ratings, by items; or one row of effects."""
    largest, texts = max(map(abs, truth.effects)), designs.texts_per_participant
    if designs.table is not None:
        table = from_ratings(to_arrow(designs.table))
        sizes = [(len(set(table["item"].to_pylist())), 0, table)]
        rows = [sizes]
    else:
        items, ratings = _axes(designs.vary, texts)
        rows = [[(m, r, None) for m in items] for r in ratings]
    candidates: list[list[Candidate]] = []
    for row in rows:
        candidates.append([])
        for m, r, table in row:
            scales = [level / largest for level in EFFECTS] if kind == "effect" else [1.0]
            for scale in scales:
                effects = tuple(round(scale * e, 10) for e in truth.effects)
                candidates[-1].append(_candidate(truth.shift(effect=effects), m, r, table, texts, costs))
    return candidates


def _candidate(
    truth: Truth, items: int, ratings_per_text: int, table: pa.Table | None, texts: int, costs: Costs
) -> Candidate:
    if table is not None:
        grid = Grid(truth=truth, design=table)
        count, participants = table.num_rows, len(set(table["participant"].to_pylist()))
        ratings_a_text = count / (items * truth.systems)
    else:
        grid = Grid(
            truth=truth,
            design={"kind": "counterbalanced", "texts_per_participant": texts},
            items=items,
            ratings_per_text=ratings_per_text,
        )
        if texts > items:
            raise InputError(
                f"{texts} texts per participant are more than {items} items, and nobody may see an item twice. "
                f"Give at least {texts} items, or at most {items} texts per participant"
            )
        count = items * truth.systems * ratings_per_text
        participants, ratings_a_text = math.ceil(count / texts), ratings_per_text
    price = costs.of(count, participants)
    effect = max(map(abs, truth.effects))
    return Candidate(items, ratings_a_text, participants, count, price, effect, grid)


def usual_items(least: int = 10) -> list[int]:
    """Return the numbers of items that are tried unless one says otherwise: one step apart, in round numbers.

    Examples
    --------
    >>> usual_items(25)[:6], usual_items()[-3:]
    ([25, 26, 27, 28, 29, 30], [460, 480, 500])
    """
    items = [least]
    while items[-1] < MOST_ITEMS:
        step = next(s for s in (20, 10, 5, 4, 2, 1) if s <= max(1.0, STEP * items[-1] * 1.1))
        items.append((items[-1] // step + 1) * step)
    return items


def is_one_design(designs: Designs) -> bool:
    """Tell whether there is only one design to think about."""
    if designs.table is not None and designs.vary:
        raise InputError("a fixed design has its own numbers; leave out either the table or items and ratings per text")
    return designs.table is not None or all(len(axis) == 1 for axis in _axes(designs.vary))


def _axes(vary: dict[str, Any], texts: int = 1) -> tuple[list[int], list[int]]:
    """Return the numbers of items and of ratings per text, ascending."""
    axes = []
    for name, default in (("items", usual_items(max(10, texts))), ("ratings_per_text", RATINGS)):
        value = vary.get(name, default)
        values = [value] if isinstance(value, (int, np.integer)) else list(value)
        if not values or any(isinstance(v, bool) or not isinstance(v, (int, np.integer)) or v < 1 for v in values):
            raise InputError(f"{arg(name, value)} must be integers ≥ 1")
        axes.append(sorted({int(v) for v in values}))
    return axes[0], axes[1]
