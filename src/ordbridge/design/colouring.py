"""Equitable edge colourings of bipartite graphs: the mathematics behind counterbalancing."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def equitable_colouring(left: npt.ArrayLike, right: npt.ArrayLike, colours: int) -> np.ndarray:
    """Colour edges so that at every vertex all colours occur equally often, give or take one.

    Every bipartite multigraph has such a colouring for every number of colours ``k`` (de Werra 1971). The proof is the
    algorithm: split each vertex into vertices of degree ``k`` (the last one takes what is left over), then colour the
    edges of the split graph so that no two of one colour meet, which ``k`` colours suffice for (König 1916). A split
    vertex of full degree sees each colour once, the last one sees each at most once.

    Parameters
    ----------
    left, right
        For each edge the number of its vertex on either side, counted from 0.
    colours
        How many colours there are.

    Returns
    -------
    numpy.ndarray
        The colour of each edge, ``0 … colours - 1``.

    References
    ----------
    de Werra, D. (1971). Equitable colorations of graphs. *RIRO* 5(R3), 3–8.
    König, D. (1916). Über Graphen und ihre Anwendung auf Determinantentheorie und Mengenlehre. *Mathematische
    Annalen* 77, 453–465.

    Examples
    --------
    >>> equitable_colouring([0, 0, 1, 1], [0, 1, 0, 1], colours=2)
    array([0, 1, 1, 0])
    """
    sides = (_split(np.asarray(left).tolist(), colours), _split(np.asarray(right).tolist(), colours))
    # edge_at[side][vertex][colour] is the edge of that colour at that vertex, or -1.
    edge_at = [[[-1] * colours for _ in range(max(side, default=-1) + 1)] for side in sides]
    colour = [-1] * len(sides[0])
    for edge, (u, v) in enumerate(zip(*sides, strict=True)):
        at_u, at_v = edge_at[0][u], edge_at[1][v]
        both_free = next((c for c in range(colours) if at_u[c] < 0 and at_v[c] < 0), None)
        if both_free is None:
            both_free = at_u.index(-1)
            _swap_along_path(v, both_free, at_v.index(-1), sides, edge_at, colour)
        colour[edge] = both_free
        at_u[both_free] = at_v[both_free] = edge
    return np.array(colour, dtype=np.int64)


def _split(vertices: list[int], size: int) -> list[int]:
    """Renumber vertices so that each new one has at most ``size`` edges: an old one's 1st to ``size``-th, and so on."""
    seen: dict[int, int] = {}
    numbers: dict[tuple[int, int], int] = {}
    split = []
    for vertex in vertices:
        nth = seen.get(vertex, 0)
        seen[vertex] = nth + 1
        split.append(numbers.setdefault((vertex, nth // size), len(numbers)))
    return split


def _swap_along_path(
    start: int, taken: int, free: int, sides: tuple[list[int], list[int]], edge_at: list, colour: list[int]
) -> None:
    """Free the colour ``taken`` at right vertex ``start`` by swapping it with ``free`` along their alternating path.

    The path leaves the right side by ``taken`` and comes back by ``free``, so it never enters a left vertex where
    ``taken`` is free: the other end of the edge to be coloured keeps its free colour.
    """
    path, side, vertex, follow = [], 1, start, taken
    while (edge := edge_at[side][vertex][follow]) >= 0:
        path.append(edge)
        side = 1 - side
        vertex, follow = sides[side][edge], taken + free - follow
    for edge in path:
        for side in (0, 1):
            edge_at[side][sides[side][edge]][colour[edge]] = -1
    for edge in path:
        colour[edge] = taken + free - colour[edge]
        for side in (0, 1):
            edge_at[side][sides[side][edge]][colour[edge]] = edge
