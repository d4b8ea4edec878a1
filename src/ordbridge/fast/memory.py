"""What a mixed model needs of memory, said before it is taken.

The large matrices are those between the effects of the second grouping factor (``src/core/crossed.hpp``); for linear
models, whose second derivatives are exact (``src/core/moments.hpp``), also those between the effects of both, the
moments of pairs of effects, and a column per free entry of the Cholesky factors and predictor.
"""

from __future__ import annotations

import os

import numpy as np

from ordbridge.errors import InputError
from ordbridge.fast.factors import Layout
from ordbridge.fast.structure import Structure

__all__ = ["bytes_needed", "check_memory"]

SHARE = 0.5  # of the machine's memory that one fit may take
SQUARES, BESIDE, COLUMNS = 6, 5, 4  # how many matrices of each kind there are at a time


def bytes_needed(structure: Structure, layout: Layout, predictors: int | None = None) -> float:
    """Return about how many bytes a fit takes beside its rows; ``predictors`` is their number in a linear model.

    With three and more factors what is left to a dense matrix depends on how sparse the data are, and is not counted.
    """
    sizes = [z.shape[1] for z in structure.Z]
    effects = [size * (np.diff(levels)) for size, levels in zip(sizes, structure.component, strict=True)]
    numbers = 0.0
    if len(sizes) == 2:
        first, second = (float(own.max()) for own in effects)
        numbers += SQUARES * second**2
        if predictors is not None:
            numbers += min(BESIDE * first * second, 2.0 * sizes[0] ** 2 * second**2)
    if predictors is not None:
        entries = float(layout.factor.size)
        numbers += float(sum(size**2 for size in sizes)) ** 2 + COLUMNS * entries**2
        numbers += COLUMNS * entries * (predictors + 1.0) * float(sum(own.sum() for own in effects))
    return 8.0 * numbers


def check_memory(structure: Structure, layout: Layout, predictors: int | None = None) -> None:
    """Refuse a model that would take more than half of the machine's memory."""
    needed, there = bytes_needed(structure, layout, predictors), _of_the_machine()
    if needed > SHARE * there:
        raise InputError(
            f"this model needs about {needed / 1e9:.3g} GB of memory, more than half of the {there / 1e9:.3g} GB that "
            "this machine has: use random effects with fewer columns or grouping factors with fewer levels"
        )


def _of_the_machine() -> float:
    return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
