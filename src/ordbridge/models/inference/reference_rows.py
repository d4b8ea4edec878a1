"""The reference grid of emmeans: the rows for which a fitted model is asked, to be averaged."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ordbridge.formula import Call, Name, Summand, expand, names
from ordbridge.models.columns import Column
from ordbridge.models.problem import Problem

if TYPE_CHECKING:
    from ordbridge.models.fit import Fit


@dataclass(frozen=True, eq=False)
class ReferenceGrid:
    """Levels of a factor, within those of others, as rows of a model to be averaged."""

    columns: dict[str, Column]
    cells: tuple[tuple[tuple[str, ...], str, np.ndarray], ...]  # levels of by, level, its rows

    def pairs(self) -> list[tuple[int, int]]:
        """Return all pairs of cells with the same levels of ``by``."""
        return [
            (i, j) for i, j in itertools.combinations(range(len(self.cells)), 2) if self.cells[i][0] == self.cells[j][0]
        ]


def reference_grid(fit: Fit, wanted: Sequence[str]) -> ReferenceGrid:
    """Return the reference grid: all combinations of levels, numeric columns at their means, wanted ones at each value.

    The last wanted column is the factor, those before it are ``by``.
    """
    values: dict[str, Column] = {}
    for name in _columns(fit.problem):
        column = fit.problem.columns[name].take(fit.estimates.rows)
        if column.kind == "numeric" and name not in wanted and not _is_factor(fit.problem, name):
            values[name] = replace(column, values=np.array([column.values.mean()]), whole=None)
        else:
            values[name] = replace(column, values=np.unique(column.values), whole=None)
    index = np.array(list(itertools.product(*(range(len(column.values)) for column in values.values()))))
    columns = {name: column.take(index[:, k]) for k, (name, column) in enumerate(values.items())}
    place = {name: k for k, name in enumerate(values)}
    cells = []
    for levels in itertools.product(*(range(len(values[name].values)) for name in wanted)):
        own = np.all([index[:, place[name]] == k for name, k in zip(wanted, levels, strict=True)], axis=0)
        words = [level_word(values[name], values[name].values[k]) for name, k in zip(wanted, levels, strict=True)]
        cells.append((tuple(words[:-1]), words[-1], np.flatnonzero(own)))
    return ReferenceGrid(columns, tuple(cells))


def _columns(problem: Problem) -> list[str]:
    """Return the columns that a prediction needs, and those of random slopes."""
    slopes = (name for bar in problem.formula.random for s in bar.summands for name in names(s.term))
    return list(dict.fromkeys((*problem.predictors, *slopes)))


def _is_factor(problem: Problem, name: str) -> bool:
    variables = (v for part in parts_of(problem) for v in expand(part).variables)
    return any(
        isinstance(v, Call) and v.function in ("factor", "ordered") and v.arguments == (Name(name),) for v in variables
    )


def parts_of(problem: Problem) -> tuple[tuple[Summand, ...], ...]:
    """Return the parts of a model that are not random: location, nominal and scale effects."""
    return problem.formula.fixed, problem.nominal, problem.scale


def level_word(column: Column, value: Any) -> str:
    """Return the level that a value of a column stands for."""
    if column.kind == "factor":
        return column.levels[value]
    return ("FALSE", "TRUE")[int(value)] if column.kind == "logical" else f"{value:g}"
