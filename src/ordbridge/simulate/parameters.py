"""Checks of the numbers that make a truth, each with a sentence of its own."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ordbridge.errors import InputError
from ordbridge.support.arguments import number, numbers
from ordbridge.support.naming import arg


def deviations(name: str, values: Any, systems: int) -> tuple[float, ...]:
    """Return the standard deviations of intercept and slopes."""
    deviations = numbers(name, values)
    if len(deviations) not in {2, systems} or len(deviations) < 2:
        each = f", or the intercept's and {systems - 1} slopes'" if systems > 2 else ""
        raise InputError(f"{name} has {len(deviations)} numbers; give two, the intercept's and the slope's{each}")
    for deviation in deviations:
        if deviation < 0:
            raise InputError(f"{name} has {deviation:g}; a standard deviation is 0 or more")
    return deviations


def correlation(name: str, value: Any, systems: int) -> float | tuple[tuple[float, ...], ...]:
    """Return a correlation, or a correlation matrix as nested tuples."""
    outside = "a correlation lies between -1 and 1, both excluded"
    if not isinstance(value, (Sequence, np.ndarray)) or isinstance(value, str):
        single = number(name, value)
        if not -1 < single < 1:
            raise InputError(f"{arg(name, single)}; {outside}")
        return single
    rows = tuple(numbers(name, row) for row in value)
    matrix = np.array(rows) if {len(row) for row in rows} == {systems} else np.empty((0, 0))
    if matrix.shape != (systems, systems) or (matrix != matrix.T).any() or (np.diag(matrix) != 1).any():
        raise InputError(
            f"{name} must be one number or a symmetric {systems} × {systems} matrix (intercept, then slopes) with 1 on "
            "the diagonal"
        )
    off = matrix[~np.eye(systems, dtype=bool)]
    if off.size and not (np.abs(off) < 1).all():
        raise InputError(f"{name} has {off[np.abs(off).argmax()]:g}; {outside}")
    if np.linalg.eigvalsh(matrix).min() < 1e-12:
        raise InputError(f"{name} is not a correlation matrix: it is not positive definite, so no such effects exist")
    return rows


def ascending(values: Any) -> tuple[float, ...]:
    """Return thresholds that ascend."""
    thresholds = numbers("thresholds", values)
    if not thresholds:
        raise InputError("thresholds is empty; a scale of k categories has k - 1 of them")
    for low, high in pairwise(thresholds):
        if not low < high:
            raise InputError(f"thresholds must ascend, but {low:g} is followed by {high:g}")
    return thresholds


def spreads(values: Any, systems: int) -> tuple[float, ...]:
    """Return how wide residuals are beside the first system's; nothing where all are alike."""
    found = () if isinstance(values, (Sequence, np.ndarray)) and not len(values) else numbers("residual_spread", values)
    if found and len(found) != systems - 1:
        raise InputError(
            f"residual_spread has {len(found)} numbers; give {systems - 1}, one for every system after the first"
        )
    for spread in found:
        if spread <= 0:
            raise InputError(f"residual_spread has {spread:g}; it is a factor above 0, and 1 for equal spread")
    return found if any(spread != 1 for spread in found) else ()
