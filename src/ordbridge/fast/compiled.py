"""How the inner loops are compiled: once, with the result kept for later processes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from numba import njit

__all__ = ["is_cached", "kernel", "part"]


@cache
def _sources() -> str:
    """Return a digest of all modules of the engine."""
    return sha256(b"".join(file.read_bytes() for file in sorted(Path(__file__).parent.glob("*.py")))).hexdigest()


def kernel(function: Callable[..., Any], **options: Any) -> Any:
    """Compile a function, anew whenever any module of the engine has changed.

    numba's cache looks at the function's own file only, and would go on with what it once compiled in from others; and
    it stumbles over an index that names classes which an update has moved.
    """
    compiled = njit(function, cache=True, nogil=True, error_model="numpy", **options)
    file = _cache_file(compiled)
    if file is not None:
        file._source_stamp = (file._source_stamp, _sources())
        file._load_index = partial(_known, file._load_index)
    return compiled


def _cache_file(compiled: Any) -> Any:
    return getattr(getattr(compiled, "_cache", None), "_cache_file", None)


def _known(load_index: Callable[[], dict]) -> dict:
    """Return what is in the cache of a kernel; nothing if an older version of the engine wrote it."""
    try:
        return load_index()
    except Exception:  # unpickling calls what it finds, so anything can be missing or have changed
        return {}


def part(function: Callable[..., Any]) -> Any:
    """Compile a function into its only caller, which takes half the time."""
    return kernel(function, inline="always")


def is_cached(function: Any) -> bool:
    """Tell whether an earlier process has left a kernel's compiled code behind, for this state of the engine."""
    file = _cache_file(function)
    return file is None or bool(file._load_index())
