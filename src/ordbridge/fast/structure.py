"""Who rates what: the rows of the data sorted by the levels of their grouping factors, for the compiled core.

Levels are joined by the rows in which they meet. What is not connected, however indirectly, never meets in a likelihood
either, so that every connected component can be handled on its own (``src/core/crossed.hpp``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ordbridge import _core

__all__ = ["Structure"]


@dataclass(frozen=True, eq=False)
class Structure:
    """Rows sorted by component and levels, and the levels numbered so that each component's are consecutive.

    Factors are in the order of elimination, the one with most random effects first; ``factors`` has the caller's
    position of each.
    """

    factors: tuple[int, ...]
    order: np.ndarray  # caller's row of each sorted row
    group: list[np.ndarray]  # per factor the level of each sorted row
    Z: list[np.ndarray]  # per factor the random-effect columns of the sorted rows
    level: list[np.ndarray]  # per factor the caller's level of each sorted level
    component: list[np.ndarray]  # per factor where each component's levels begin, and their number

    @classmethod
    def build(cls, groups: list[np.ndarray], Z: list[np.ndarray]) -> Structure:
        """Sort the rows; ``groups`` holds each row's level (from 0, all used), ``Z`` each row's columns, per factor.

        Examples
        --------
        >>> one = np.ones((4, 1))
        >>> s = Structure.build([np.array([0, 0, 1, 1]), np.array([0, 0, 1, 2])], [one, one])
        >>> s.factors, s.components
        ((1, 0), 2)
        """
        sizes = [(int(g.max()) + 1) * z.shape[1] for g, z in zip(groups, Z, strict=True)]
        factors = tuple(sorted(range(len(groups)), key=lambda f: -sizes[f]))
        own = [np.ascontiguousarray(groups[f], dtype=np.int64) for f in factors]
        of_row = _core.components(own)
        level, component, position = [], [], []
        for group in own:
            of_level = np.empty(int(group.max()) + 1, dtype=np.int64)
            of_level[group] = of_row
            sorted_levels = np.argsort(of_level, kind="stable")
            level.append(sorted_levels)
            component.append(np.searchsorted(of_level[sorted_levels], np.arange(of_row.max() + 2)))
            new = np.empty_like(sorted_levels)
            new[sorted_levels] = np.arange(sorted_levels.size)
            position.append(new[group])
        order = np.lexsort(position[::-1])
        columns = [np.ascontiguousarray(Z[f][order], dtype=float) for f in factors]
        return cls(factors, order, [new[order] for new in position], columns, level, component)

    @property
    def components(self) -> int:
        """Number of connected components."""
        return self.component[0].size - 1

    @cached_property
    def scales(self) -> list[np.ndarray]:
        """Largest absolute value of each random-effect column, per factor; parameters are of the order of one by it."""
        found = []
        for z in self.Z:
            largest = np.abs(z).max(axis=0, initial=0.0)
            found.append(np.where(largest > 0, largest, 1.0))
        return found

    @cached_property
    def core(self) -> _core.Design:
        """The same for the compiled core, with scaled columns."""
        scaled = [z / scale for z, scale in zip(self.Z, self.scales, strict=True)]
        return _core.Design(self.group, scaled, self.component)

    def of_levels(self, found: list[tuple[np.ndarray, np.ndarray]]) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return modes and their standard deviations, per factor levels × columns, in the caller's order and units."""
        modes, sds = [np.empty(0)] * len(found), [np.empty(0)] * len(found)
        for factor, level, scale, (mode, sd) in zip(self.factors, self.level, self.scales, found, strict=True):
            modes[factor], sds[factor] = np.empty_like(mode), np.empty_like(sd)
            modes[factor][level] = mode / scale
            sds[factor][level] = sd / scale
        return modes, sds
