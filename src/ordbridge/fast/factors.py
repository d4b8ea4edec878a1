"""Which entries of the Cholesky factors of random effects are free parameters, and how they are folded."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ordbridge.fast.structure import Structure

__all__ = ["Layout"]


@dataclass(frozen=True, eq=False)
class Layout:
    """The free entries of L1 and L2.

    ``factor``, ``row`` and ``column`` locate each entry (factor 0 is the structure's factor 1); ``blocks`` holds, per
    factor of the structure, the sizes of its terms: ``(2,)`` for (x | g), ``(1, 1)`` for (1 | g) + (0 + x | g).
    """

    structure: Structure
    blocks: tuple[tuple[int, ...], ...]
    factor: np.ndarray
    row: np.ndarray
    column: np.ndarray

    @classmethod
    def build(cls, structure: Structure, blocks: list[tuple[int, ...]]) -> Layout:
        """List the entries term by term: diagonal first, then below it column by column, as ordinal does.

        ``blocks`` comes in the caller's order of factors.
        """
        own = tuple(blocks[::-1] if structure.swapped else blocks)
        entries = []
        for factor, sizes in enumerate(own):
            start = 0
            for size in sizes:
                inside = range(start, start + size)
                entries += [(factor, a, a) for a in inside]
                entries += [(factor, a, b) for b in inside for a in inside if a > b]
                start += size
        factor, row, column = np.array(entries, dtype=np.int64).T
        return cls(structure, own, *(np.ascontiguousarray(part) for part in (factor, row, column)))

    @cached_property
    def diagonal(self) -> np.ndarray:
        """Which entries lie on a diagonal."""
        return self.row == self.column

    @cached_property
    def first(self) -> np.ndarray:
        """Which entries are the first of a term: the standard deviation of its intercept, if it has one."""
        corners = {(f, sum(sizes[:k])) for f, sizes in enumerate(self.blocks) for k in range(len(sizes))}
        return self.diagonal & np.array([(f, a) in corners for f, a in zip(self.factor, self.row, strict=True)])

    @cached_property
    def has_correlations(self) -> bool:
        """Whether there is any entry off the diagonals."""
        return not self.diagonal.all()

    @cached_property
    def scales(self) -> tuple[np.ndarray, np.ndarray]:
        """Largest absolute value of each random-effect column, per factor of the structure."""
        found = []
        for z in (self.structure.z1, self.structure.z2):
            largest = np.abs(z).max(axis=0, initial=0.0)
            found.append(np.where(largest > 0, largest, 1.0))
        return found[0], found[1]

    @cached_property
    def entry_scales(self) -> np.ndarray:
        """The scale of each entry: that of its row's column of Z."""
        return np.array([self.scales[f][a] for f, a in zip(self.factor, self.row, strict=True)])

    @cached_property
    def mean_square(self) -> float:
        """Mean squared length of the scaled random-effect rows, summed over factors."""
        parts = zip((self.structure.z1, self.structure.z2), self.scales, strict=True)
        return float(sum(np.mean(np.sum((z / scale) ** 2, axis=1)) for z, scale in parts))

    def fold(self, entries: np.ndarray) -> np.ndarray:
        """Flip columns so that no diagonal is negative: L and L times a diagonal of signs are the same covariance."""
        folded = entries.copy()
        for k in np.flatnonzero(self.diagonal & (entries < 0)):
            folded[(self.factor == self.factor[k]) & (self.column == self.column[k])] *= -1.0
        return folded

    def matrices(self, entries: np.ndarray) -> list[np.ndarray]:
        """Return the Cholesky factors, in the caller's order of grouping factors."""
        found = [np.zeros((sum(sizes), sum(sizes))) for sizes in self.blocks]
        for value, f, a, b in zip(entries, self.factor, self.row, self.column, strict=True):
            found[f][a, b] = value
        return found[::-1] if self.structure.swapped else found
