"""Which model compares the systems: the formula that the design asks for, and what was decided on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ordbridge.comparison.scale import Scale
from ordbridge.comparison.student import ENOUGH_LEVELS
from ordbridge.errors import FitError, InputError
from ordbridge.formula import names, parse, quote
from ordbridge.models.few_levels import SIZES
from ordbridge.models.inference.random_structure import RandomEffects, random_effects
from ordbridge.results.finding import Finding
from ordbridge.results.finding import found as noticed

FEW = max(limit for limit, _ in SIZES)
"""With fewer participants, or items, tests that rest on large samples do not hold."""
ENOUGH = 3  # levels that a random effect needs in ordinal::clmm
SLOPES = 3  # systems; with more of them one variance stands for all differences between them


@dataclass(frozen=True)
class ChosenModel:
    """A model for the ratings of one criterion."""

    model: str
    formulas: tuple[str, ...]
    """The one to fit, and simpler ones in case it cannot be."""
    few: tuple[str, ...] = ()
    """Groups with fewer than ten levels that differ in how the systems are rated, or with so few for each system."""
    balanced: bool = False
    """Whether systems stand alike: one variance of all differences, and all of them for everyone of those few."""
    notes: tuple[Finding, ...] = ()


def choose(table: pa.Table, scale: Scale, beside: Sequence[str] = ()) -> ChosenModel:
    """Choose random effects, by :func:`ordbridge.random_effects`, or a model without them.

    Slopes of a group with thirty levels or more stay if the data support them; with fewer they stay if the design
    identifies them, because then a test of a variance finds little and a comparison without it rejects too often.
    Two participants, or items, are too few for a variance: they become fixed effects.
    """
    mixed, plain = ("clmm", "clm") if scale.ordinal else ("lmer", "lm")
    random: list[str] = []
    fixed: list[str] = []
    notes: list[Finding] = []
    for group in ("participant", "item"):
        if group not in table.column_names:
            notes.append(noticed("no-column-for", role=group))
            continue
        levels, most = _sizes(table[group])
        if levels == 1:
            notes.append(noticed("one-level-only", role=group))
        elif most == 1:
            continue  # every rating has another: nothing to be told apart
        elif levels >= ENOUGH:
            random.append(group)
        elif _estimable(table, [*fixed, group]):
            fixed.append(group)
            notes.append(noticed("two-levels-only", n=levels, role=group))
        else:
            systems = "each was seen under one system only" if group == "item" else "each rated one system only"
            raise InputError(
                f"there are {levels} {group}s, and {systems}, so systems and {group}s cannot be told apart"
            )
    response = f"rating ~ {' + '.join(['system', *map(quote, beside), *fixed])}"
    if not random:
        return ChosenModel(plain, (response,), notes=tuple(notes))
    parts, few, said = _random_part(table, random, mixed)
    notes += said
    formulas = dict.fromkeys(f"{response} + {' + '.join(part)}" for part in parts)
    bars = parts[0]
    alike = not any("system |" in bar for bar in bars) and all(_has_all(table, group) for group in few)
    return ChosenModel(mixed, tuple(formulas), few, alike, tuple(notes))


def _random_part(
    table: pa.Table, groups: Sequence[str], model: str
) -> tuple[list[list[str]], tuple[str, ...], list[Finding]]:
    """Return the random effects and simpler ones, the groups with few levels behind a test, and what to say."""
    simple = [f"(1 | {group})" for group in groups]
    try:
        found = random_effects(table, groups=groups, model=model, slopes_up_to=SLOPES)
    except (InputError, FitError, np.linalg.LinAlgError) as failure:
        return [simple], (), [noticed("slopes-not-chosen", reason=str(failure))]
    identified = {
        row["group"] for row in found.identified.to_pylist() if row["effect"] == "system" and row["identified"]
    }
    supported = _with_slopes(found)
    few = {group for group in groups if _sizes(table[group])[0] < FEW}
    between = tuple(group for group in groups if _fewest_between(table, group) < FEW)
    kept = {group for group in groups if group in supported or (group in identified and not _many(table, group))}
    parts = [[bar for group in groups for bar in _bars(group, group in chosen, found)] for chosen in (kept, supported)]
    notes = [noticed("slopes-not-needed", role=group) for group in groups if group in identified - kept]
    tested = tuple(group for group in groups if group in between or (group in few and group in identified))
    return [*parts, simple], tested, notes


def _many(table: pa.Table, group: str) -> bool:
    """Tell whether a group has so many levels that the data can say whether it needs slopes."""
    return _sizes(table[group])[0] >= ENOUGH_LEVELS


def _bars(group: str, slopes: bool, found: RandomEffects) -> list[str]:
    """Return the bars of one group: its intercept, or its slopes or interaction as they are in the maximal model."""
    if not slopes:
        return [f"(1 | {group})"]
    return [str(bar) for bar in parse(found.maximal).random if names(bar.group)[0] == group]


def _with_slopes(found: RandomEffects) -> set[str]:
    """Return the groups that have a slope of the system, or an interaction with it, in the supported model."""
    return {names(bar.group)[0] for bar in parse(found.supported).random if "system" in str(bar)}


def _sizes(column: pa.ChunkedArray) -> tuple[int, int]:
    """Return how many levels there are, and how many ratings the one with most of them has."""
    counts = pc.value_counts(column.drop_null()).field("counts")
    return len(counts), max(counts.to_pylist(), default=0)


def _has_all(table: pa.Table, group: str) -> bool:
    """Tell whether every level of a group has every system."""
    pairs = table.select([group, "system"]).group_by([group, "system"]).aggregate([]).num_rows
    return bool(pairs == _sizes(table[group])[0] * _sizes(table["system"])[0])


def _fewest_between(table: pa.Table, group: str) -> float:
    """Return how many levels of a group the system with fewest of them has, if every level has one system only."""
    pairs = table.select([group, "system"]).group_by([group, "system"]).aggregate([])
    levels, systems = (pc.value_counts(pairs[name]).field("counts").to_pylist() for name in (group, "system"))
    return float("inf") if max(levels) > 1 else min(systems)


def _estimable(table: pa.Table, fixed: Sequence[str]) -> bool:
    """Tell whether the systems can be compared beside these fixed effects."""
    columns = [np.ones(table.num_rows)]
    for name in fixed:
        columns += _dummies(table[name])
    systems = _dummies(table["system"])
    rank = np.linalg.matrix_rank
    return bool(rank(np.column_stack([*columns, *systems])) == rank(np.column_stack(columns)) + len(systems))


def _dummies(column: pa.ChunkedArray) -> list[np.ndarray]:
    _, codes = np.unique(np.array(column.to_pylist(), dtype=object).astype(str), return_inverse=True)
    return [(codes == k).astype(float) for k in range(1, codes.max() + 1)]
