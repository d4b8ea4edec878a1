"""Which entries of the Cholesky factors of random effects are free parameters, and how they are folded."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ordbridge.fast.structure import Structure

__all__ = ["Layout"]

NEARLY_ZERO = 0.05  # a standard deviation, relative to the largest value of its column of Z


@dataclass(frozen=True, eq=False)
class Layout:
    """The free entries of the Cholesky factors.

    ``factor``, ``row`` and ``column`` locate each entry, factors in the structure's order; ``blocks`` holds, per factor
    of the structure, the sizes of its terms: ``(2,)`` for (x | g), ``(1, 1)`` for (1 | g) + (0 + x | g).
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
        own = tuple(blocks[f] for f in structure.factors)
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
        """Which entries are the first of a term of several effects: the standard deviation of its intercept."""
        corners = {(f, start) for f in range(len(self.blocks)) for start, size in self.terms_of(f) if size > 1}
        return self.diagonal & np.array([(f, a) in corners for f, a in zip(self.factor, self.row, strict=True)])

    @cached_property
    def has_correlations(self) -> bool:
        """Whether there is any entry off the diagonals."""
        return not self.diagonal.all()

    @cached_property
    def entry_scales(self) -> np.ndarray:
        """The scale of each entry: that of its row's column of Z."""
        return np.array([self.structure.scales[f][a] for f, a in zip(self.factor, self.row, strict=True)])

    @cached_property
    def mean_square(self) -> float:
        """Mean squared length of the scaled random-effect rows, summed over factors."""
        parts = zip(self.structure.Z, self.structure.scales, strict=True)
        return float(sum(np.mean(np.sum((z / scale) ** 2, axis=1)) for z, scale in parts))

    def fold(self, entries: np.ndarray) -> np.ndarray:
        """Flip columns so that no diagonal is negative: L and L times a diagonal of signs are the same covariance."""
        negative = self.diagonal & (entries < 0)
        if not negative.any():
            return entries
        folded = entries.copy()
        for k in np.flatnonzero(negative):
            folded[(self.factor == self.factor[k]) & (self.column == self.column[k])] *= -1.0
        return folded

    def turned(self, entries: np.ndarray) -> list[np.ndarray]:
        """Return other factors of nearly the same covariances, where the first standard deviation of a term is small.

        If it were zero, the first column of the term's factor could be any part of the rest of the covariance: for two
        effects the factors lie on a half-circle. Returned are its ends, where that column takes the largest principal
        axis, with either sign, and nothing of it is left for the others.
        """
        found = []
        for corner in np.flatnonzero(self.first & (np.abs(entries) < NEARLY_ZERO)):
            f, first = self.factor[corner], self.row[corner]
            size = next(size for start, size in self.terms_of(f) if start == first)
            if size == 1:
                continue
            own = (self.factor == f) & (self.row >= first) & (self.row < first + size)
            row, column = self.row[own] - first, self.column[own] - first
            L = np.zeros((size, size))
            L[row, column] = entries[own]
            values, vectors = np.linalg.eigh(L[1:] @ L[1:].T)
            others = vectors * np.sqrt(np.append(np.maximum(values[:-1], 0.0), 0.0))
            turned = np.zeros_like(L)
            turned[0, 0] = L[0, 0]
            turned[1:, 1:] = np.linalg.qr(others.T)[1].T
            for sign in (1.0, -1.0):
                turned[1:, 0] = sign * np.sqrt(max(values[-1], 0.0)) * vectors[:, -1]
                other = entries.copy()
                other[own] = turned[row, column]
                found.append(other)
        return found

    def terms_of(self, factor: int) -> list[tuple[int, int]]:
        """Return where each term of a factor begins, and its size."""
        sizes = self.blocks[factor]
        return [(sum(sizes[:k]), size) for k, size in enumerate(sizes)]

    def matrices(self, entries: np.ndarray) -> list[np.ndarray]:
        """Return the Cholesky factors, in the caller's order of grouping factors."""
        found = [np.zeros((sum(sizes), sum(sizes))) for sizes in self.blocks]
        for value, f, a, b in zip(entries, self.factor, self.row, self.column, strict=True):
            found[f][a, b] = value
        return [found[self.structure.factors.index(f)] for f in range(len(found))]
