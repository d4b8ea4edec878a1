"""Exact tests where ratings leave nothing to estimate a variance from: one system always has the same rating.

A participant (or item) who saw both systems has a difference D of their mean ratings; if the systems are alike, D and
−D are equally probable, and the test compares |mean D| with what all flips of signs give (Fisher 1935). Where everyone
saw only one system, people are exchanged between the systems instead. The p-value is the larger of those over
participants and over items, so that the answer is about new ones of both. Fewer than six signs can never reach .05:
then that side is left out, and the answer is about these participants, or items.

The interval has all shifts δ that the test of D − δ does not reject.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, product
from math import comb

import numpy as np

REACHABLE = 0.05  # a group in which no p-value can be below this says nothing about others like it
ENUMERATED = 2**13  # rearrangements up to which all of them are used
DRAWN = 2**13 - 1  # otherwise
SAME = 1e-9  # mean differences closer than this are equal
HALVINGS = 40  # of the interval between a shift that is rejected and one that is not


@dataclass(frozen=True, eq=False)
class _Side:
    """The means of the levels of one group, and the rearrangements of them."""

    own: np.ndarray  # a difference per level, or a mean per level where each has one system
    second: np.ndarray | None  # which levels have the second system, where each has one
    weights: np.ndarray  # rearrangements × levels: what each mean counts in the difference, the observed one first

    def p_value(self, shift: float) -> float:
        values = self.own - shift if self.second is None else self.own - shift * self.second
        found = np.abs(self.weights @ values)
        return float((found >= found[0] - SAME).mean())


@dataclass(frozen=True, eq=False)
class ExactTest:
    """A difference of two systems with its exact test."""

    difference: float
    p_value: float
    over: tuple[str, ...]
    """Groups over which signs were flipped; none if single ratings were exchanged."""
    about: tuple[str, ...]
    """Groups with so few levels that the answer is about these."""
    _sides: tuple[_Side, ...]
    _widest: float

    @property
    def least(self) -> float:
        """The smallest p-value that ratings of so many participants and items can have."""
        return max(map(_least, self._sides))

    def limits(self, alpha: float) -> tuple[float, float]:
        """Return the interval of level 1 − α, never wider than the scale; none where all differences are the same."""
        low, high = (self._end(alpha, side) for side in (-1.0, 1.0))
        return (low, high) if high - low > SAME else (np.nan, np.nan)

    def _end(self, alpha: float, side: float) -> float:
        def kept(shift: float) -> bool:
            return max(one.p_value(shift) for one in self._sides) >= alpha

        inside, outside = self.difference, side * self._widest
        if kept(outside):
            return outside
        if not kept(inside):
            return inside
        for _ in range(HALVINGS):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if kept(middle) else (inside, middle)
        return inside


def exact_test(rating: np.ndarray, second: np.ndarray, groups: Mapping[str, np.ndarray], widest: float) -> ExactTest:
    """Compare two systems by rearranging what their participants and items have in place of a variance.

    Parameters
    ----------
    rating, second
        Ratings as numbers, and which of them are of the second system; the difference is the second's minus the
        first's.
    groups
        For participants and items, where there are such, their codes from 0 on.
    widest
        The largest difference that the scale has.

    References
    ----------
    Fisher, R. A. (1935). The design of experiments. Oliver & Boyd, section 21.
    Ernst, M. D. (2004). Permutation methods: a basis for exact inference. Statistical Science 19, 676–685.

    Examples
    --------
    >>> rater = np.repeat(np.arange(8), 2)
    >>> found = exact_test(np.tile([3.0, 4.0], 8), np.tile([False, True], 8), {"participant": rater}, 4.0)
    >>> found.difference, found.p_value
    (1.0, 0.0078125)
    """
    difference = float(rating[second].mean() - rating[~second].mean())
    sides = {name: _side(rating, second, codes) for name, codes in groups.items()}
    known = {name: side for name, side in sides.items() if side is not None}
    able = {name: side for name, side in known.items() if _least(side) <= REACHABLE}
    about = tuple(name for name in groups if name not in able)
    if not able and known:
        name = max(known, key=lambda name: len(known[name].own))
        able = {name: known[name]}
        about = tuple(other for other in about if other != name)
    if not able:
        able = {"": _exchanged(rating, second)}
    p = max(side.p_value(0.0) for side in able.values())
    return ExactTest(difference, p, tuple(name for name in able if name), about, tuple(able.values()), widest)


def _side(rating: np.ndarray, second: np.ndarray, codes: np.ndarray) -> _Side | None:
    """Return the means of the levels of a group, None where it has one level, or as many as there are ratings."""
    counts = np.zeros((codes.max() + 1, 2))
    sums = np.zeros_like(counts)
    np.add.at(counts, (codes, second.astype(int)), 1)
    np.add.at(sums, (codes, second.astype(int)), rating)
    both = (counts > 0).all(axis=1)
    if both.sum() >= 2:
        means = sums[both] / counts[both]
        signs = _signs(int(both.sum()))
        return _Side(means[:, 1] - means[:, 0], None, signs / both.sum())
    if both.any() or counts.sum(axis=1).max() < 2 or (counts > 0).sum(axis=0).min() < 1 or len(counts) < 3:
        return None
    return _exchanged(sums.sum(axis=1) / counts.sum(axis=1), counts[:, 1] > 0)


def _exchanged(values: np.ndarray, second: np.ndarray) -> _Side:
    """Return values of which those of the second system are exchanged with the others."""
    n, k = len(values), int(second.sum())
    if comb(n, k) <= ENUMERATED:
        chosen = np.zeros((comb(n, k), n), dtype=bool)
        for row, places in enumerate(combinations(range(n), k)):
            chosen[row, list(places)] = True
        chosen = np.vstack([second, chosen[(chosen != second).any(axis=1)]])
    else:
        random = np.random.default_rng(0)
        chosen = np.vstack([second, [random.permutation(second) for _ in range(DRAWN)]])
    return _Side(values, second, np.where(chosen, 1.0 / k, -1.0 / (n - k)))


def _signs(n: int) -> np.ndarray:
    if 2**n <= ENUMERATED:
        return np.array(list(product((1.0, -1.0), repeat=n)))
    random = np.random.default_rng(0)
    return np.vstack([np.ones(n), random.choice((1.0, -1.0), size=(DRAWN, n))])


def _least(side: _Side) -> float:
    """Return the smallest p-value that rearrangements can have: two of them are as far out as the farthest."""
    return 2.0 / len(side.weights)
