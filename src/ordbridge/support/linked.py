"""What is linked with what: the parts into which raters, items or systems fall that share nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def linked(a: ArrayLike, b: ArrayLike, size: int) -> np.ndarray:
    """Return the number of the part that each of ``size`` things belongs to, where those in a and b are linked.

    Examples
    --------
    >>> linked([0, 1, 3], [1, 2, 4], 6).tolist()
    [0, 0, 0, 1, 1, 2]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    a, b = np.asarray(a), np.asarray(b)
    graph = coo_array((np.ones(len(a)), (a, b)), shape=(size, size))
    return np.asarray(connected_components(graph, directed=False)[1])
