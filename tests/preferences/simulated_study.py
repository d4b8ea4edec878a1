"""Crossed comparisons with ties, simulated."""

from __future__ import annotations

import numpy as np

from ordbridge.preferences import PairTable


def study(
    seed: int = 0, raters: int = 6, items: int = 10, strength: tuple[float, ...] = (0.0, 0.4, 1.0), sd: float = 0.4
) -> PairTable:
    """Return crossed comparisons with ties."""
    rng = np.random.default_rng(seed)
    S = len(strength)
    both = np.array([(a, b) for a in range(S) for b in range(S) if a != b])
    r, i = (x.ravel() for x in np.meshgrid(np.arange(raters), np.arange(items), indexing="ij"))
    r, i = np.repeat(r, 2), np.repeat(i, 2)
    a, b = both[rng.integers(len(both), size=len(r))].T
    u, v = rng.normal(0, sd, (raters, S)), rng.normal(0, sd, (items, S))
    beta = np.array(strength)
    eta = beta[a] - beta[b] + u[r, a] - u[r, b] + v[i, a] - v[i, b] + rng.logistic(size=len(a))
    names = [tuple(letter + str(k) for k in range(n)) for letter, n in (("s", S), ("r", raters), ("i", items))]
    return PairTable(names[0], a, b, np.searchsorted([-0.4, 0.4], eta), 3, r, i, names[1], names[2])
