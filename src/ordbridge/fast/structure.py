"""Who rates what: the rows of the data as a graph of the levels of one or two crossed grouping factors.

Levels are joined by the rows in which they meet. What is not connected, however indirectly, never meets in a likelihood
either, so that every connected component can be handled on its own (:mod:`ordbridge.fast.blocks`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

__all__ = ["Graph", "Structure"]

DENSE = 0.25  # share of all possible pairs from which a component's matrices are kept whole


class Graph(NamedTuple):
    """The levels of both factors, numbered so that each component's are consecutive; plain arrays for the kernels."""

    component1: np.ndarray  # component c has the levels component1[c] … component1[c + 1] - 1 of factor 1
    component2: np.ndarray
    pairs_of: np.ndarray  # level g of factor 1 occurs in the pairs pairs_of[g] … pairs_of[g + 1] - 1
    partner: np.ndarray  # the level h of each pair
    rows_of: np.ndarray  # pair p has the (sorted) rows rows_of[p] … rows_of[p + 1] - 1
    offset: np.ndarray  # where each component's S begins
    full: np.ndarray  # where each dense component's matrix of all pairs begins
    dense: np.ndarray  # whether so many of a component's pairs are in the data that full matrices are faster


@dataclass(frozen=True, eq=False)
class Structure:
    """Rows sorted by component, level of factor 1 and level of factor 2, and the graph of the sorted levels.

    ``z1`` and ``z2`` are the random-effect columns of the sorted rows; with one grouping factor ``z2`` has no columns
    and every level is a component of its own. ``swapped`` says that the caller's second factor became factor 1.
    """

    graph: Graph
    z1: np.ndarray
    z2: np.ndarray
    order: np.ndarray  # caller's row of each sorted row
    level1: np.ndarray  # caller's level of each sorted level
    level2: np.ndarray
    swapped: bool

    @classmethod
    def build(cls, groups: list[np.ndarray], Z: list[np.ndarray]) -> Structure:
        """Sort the rows; ``groups`` holds each row's level (from 0, all used), ``Z`` each row's columns, per factor.

        Examples
        --------
        >>> one = np.ones((4, 1))
        >>> s = Structure.build([np.array([0, 0, 1, 1]), np.array([0, 0, 1, 2])], [one, one])
        >>> s.swapped, s.components
        (True, 2)
        """
        n = groups[0].size
        counts = [int(g.max()) + 1 for g in groups]
        sizes = [count * z.shape[1] for count, z in zip(counts, Z, strict=True)]
        swapped = len(groups) == 2 and sizes[1] > sizes[0]
        first, second = (1, 0) if swapped else (0, 1)
        g1, J1, z1 = groups[first], counts[first], Z[first]
        if len(groups) == 1:
            g2, J2, z2 = np.zeros(n, dtype=np.int64), 0, np.empty((n, 0))
            label1, label2 = np.arange(J1), np.empty(0, dtype=np.int64)
        else:
            g2, J2, z2 = groups[second], counts[second], Z[second]
            label1, label2 = _components(g1, g2, J1, J2)
        level1, level2 = np.argsort(label1, kind="stable"), np.argsort(label2, kind="stable")
        new1 = _positions(level1)[g1]
        new2 = _positions(level2)[g2] if J2 else g2
        order = np.lexsort((new2, new1))
        new1, new2 = new1[order], new2[order]
        graph = _graph(new1, new2, label1[level1], label2[level2], z1.shape[1], z2.shape[1])
        z1, z2 = (np.ascontiguousarray(z[order], dtype=float) for z in (z1, z2))
        return cls(graph, z1, z2, order, level1, level2, swapped)

    @property
    def components(self) -> int:
        """Number of connected components."""
        return self.graph.component1.size - 1

    @property
    def levels(self) -> tuple[int, int]:
        """Number of levels of factor 1 and factor 2."""
        return self.level1.size, self.level2.size

    def unsort(self, blocks1: np.ndarray, blocks2: np.ndarray) -> list[np.ndarray]:
        """Return per-level arrays in the caller's order of levels and factors."""
        out = []
        for level, blocks in ((self.level1, blocks1), (self.level2, blocks2)):
            original = np.empty_like(blocks)
            original[level] = blocks
            out.append(original)
        out = out[:1] if not self.level2.size else out
        return out[::-1] if self.swapped else out


def _components(g1: np.ndarray, g2: np.ndarray, J1: int, J2: int) -> tuple[np.ndarray, np.ndarray]:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    edges = coo_array((np.ones(g1.size), (g1, J1 + g2)), shape=(J1 + J2, J1 + J2))
    _, label = connected_components(edges, directed=False)
    return label[:J1], label[J1:]


def _positions(level: np.ndarray) -> np.ndarray:
    position = np.empty_like(level)
    position[level] = np.arange(level.size)
    return position


def _graph(g1: np.ndarray, g2: np.ndarray, label1: np.ndarray, label2: np.ndarray, q1: int, q2: int) -> Graph:
    """Describe sorted rows: where pairs begin, which pairs belong to a level, which levels to a component."""
    components = np.arange(label1.max() + 2)
    new_pair = np.flatnonzero(np.r_[True, (np.diff(g1) != 0) | (np.diff(g2) != 0)])
    component2 = np.searchsorted(label2, components)
    size = np.diff(component2) * q2
    component1 = np.searchsorted(label1, components)
    pairs_of = np.searchsorted(g1[new_pair], np.arange(label1.size + 1))
    possible = np.diff(component1) * np.diff(component2)
    dense = np.diff(pairs_of[component1]) > DENSE * possible
    return Graph(
        component1=component1,
        component2=component2,
        pairs_of=pairs_of,
        partner=g2[new_pair].astype(np.int64),
        rows_of=np.r_[new_pair, g1.size],
        offset=np.r_[0, np.cumsum(size * size)],
        full=np.r_[0, np.cumsum(np.where(dense, possible * q1 * q2, 0))],
        dense=dense,
    )
