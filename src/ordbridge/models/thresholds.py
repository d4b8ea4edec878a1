"""How cut-points depend on a threshold's parameters: flexible, symmetric (2) or equidistant, as ordinal has them.

The cut-points are ``jacobian @ alpha``; the names are those of ordinal::clm (Christensen 2019, section 2.3).
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

import numpy as np

from ordbridge.errors import InputError

__all__ = ["jacobian", "names", "start"]

THRESHOLDS = ("flexible", "symmetric", "symmetric2", "equidistant")


@lru_cache
def jacobian(cuts: int, threshold: str) -> np.ndarray:
    """Return the matrix that turns the parameters of a threshold into ``cuts`` cut-points; it is shared and read-only.

    Examples
    --------
    >>> jacobian(3, "equidistant").tolist()
    [[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]
    >>> jacobian(4, "symmetric").tolist()
    [[1.0, 0.0, -1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 1.0]]
    >>> jacobian(3, "symmetric2").tolist(), jacobian(1, "symmetric2").shape  # of two categories the cut-point is zero
    ([[-1.0], [0.0], [1.0]], (1, 0))
    """
    if threshold not in THRESHOLDS:
        raise InputError(f"threshold {threshold!r} is not known here; use one of {', '.join(THRESHOLDS)}")
    found = _jacobian(cuts, threshold)
    found.flags.writeable = False
    return found


def _jacobian(cuts: int, threshold: str) -> np.ndarray:
    if threshold == "flexible":
        return np.eye(cuts)
    if threshold == "symmetric2":
        above = np.eye(cuts // 2)
        return np.vstack([-above[::-1], np.zeros((cuts % 2, cuts // 2)), above])
    if cuts < 2:
        raise InputError(f"{threshold} thresholds are only meaningful for responses with 3 or more categories")
    if threshold == "equidistant":
        return np.column_stack([np.ones(cuts), np.arange(cuts, dtype=float)])
    spacings = (cuts - 1) // 2  # steps outwards from the centre, the same on both sides
    above = np.eye(spacings)
    below = -above[::-1]
    if cuts % 2:
        centre = np.ones((cuts, 1))
        return np.column_stack([centre, np.vstack([below, np.zeros((1, spacings)), above])])
    half = cuts // 2
    centres = np.repeat(np.eye(2), half, axis=0)
    inner = np.zeros((1, spacings))
    return np.column_stack([centres, np.vstack([below, inner, inner, above])])


def names(levels: tuple[str, ...], threshold: str) -> tuple[str, ...]:
    """Return ordinal's names of a threshold's parameters.

    Examples
    --------
    >>> names(("1", "2", "3"), "flexible"), names(("a", "b", "c", "d"), "symmetric")
    (('1|2', '2|3'), ('central', 'spacing.1'))
    """
    if threshold == "flexible":
        return tuple(f"{low}|{high}" for low, high in pairwise(levels))
    if threshold == "equidistant":
        return ("threshold.1", "spacing")
    cuts = len(levels) - 1
    if threshold == "symmetric2":
        return tuple(f"spacing.{k + 1}" for k in range(cuts // 2))
    central = ("central",) if cuts % 2 else ("central.1", "central.2")
    return central + tuple(f"spacing.{k + 1}" for k in range((cuts - 1) // 2))


@lru_cache
def start(cuts: int, threshold: str) -> np.ndarray:
    """Return ordinal's first guess: cut-points that make all categories equally likely under a logistic; read-only."""
    share = np.arange(1, cuts + 1) / (cuts + 1)
    points = np.log(share / (1 - share))
    guess, *_ = np.linalg.lstsq(jacobian(cuts, threshold), points, rcond=None)
    guess.flags.writeable = False
    return guess
