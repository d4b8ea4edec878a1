"""Vectors in, flat lists out: the few kinds of values that cross between Python and R.

Everything is built on ``rpy2.rinterface``: it needs no converter (which rpy2 keeps per thread) and copies an array in
one step. All functions here must be called with R's lock held.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import rpy2.rinterface as ri


def to_r(value: Any) -> Any:
    """Turn a Python value into an R object: None, bool, int, float, str, arrays, and (nested) lists and mappings."""
    match value:
        case None:
            return ri.NULL
        case bool():
            return ri.BoolSexpVector([value])
        case int():
            return ri.IntSexpVector([value])
        case float():
            return ri.FloatSexpVector([value])
        case str():
            return ri.StrSexpVector([value])
        case np.ndarray():
            return _array(value)
        case Mapping():
            items = ri.ListSexpVector([to_r(item) for item in value.values()])
            items.names = ri.StrSexpVector(list(value))
            return items
        case Sequence() if value and all(isinstance(item, str) for item in value):
            return ri.StrSexpVector(list(value))
        case Sequence():
            return ri.ListSexpVector([to_r(item) for item in value])
    raise TypeError(f"cannot send a {type(value).__name__} to R")


def _array(array: np.ndarray) -> Any:
    if array.size == 0:
        return ri.IntSexpVector([]) if array.dtype.kind == "i" else ri.FloatSexpVector([])
    if array.dtype.kind == "i":
        return ri.IntSexpVector.from_memoryview(np.ascontiguousarray(array, dtype=np.int32).data)
    return ri.FloatSexpVector.from_memoryview(np.ascontiguousarray(array, dtype=np.float64).data)


def from_r(value: Any) -> Any:
    """Turn an R object into Python: vectors of numbers into arrays, of text into lists, named lists into dicts."""
    if isinstance(value, ri.FloatSexpVector):
        return np.array(value.memoryview())
    if isinstance(value, ri.BoolSexpVector):
        return np.array([item is not ri.NA_Logical and bool(item) for item in value])
    if isinstance(value, ri.IntSexpVector):
        return np.array(value.memoryview()).astype(np.int64)
    if isinstance(value, ri.StrSexpVector):
        return list(value)
    if isinstance(value, ri.ListSexpVector):
        if isinstance(value.names, ri.StrSexpVector):
            return {name: from_r(item) for name, item in zip(value.names, value, strict=True)}
        return [from_r(item) for item in value]
    if value is ri.NULL or isinstance(value, type(ri.NULL)):
        return None
    raise TypeError(f"cannot read a {type(value).__name__} from R")
