"""Checks of arguments: each returns the value as it will be used, or says in one sentence what is wrong with it."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

import numpy as np

from ordbridge.errors import InputError
from ordbridge.support.naming import arg

T = TypeVar("T")


def choice(name: str, value: Any, allowed: Iterable[T]) -> T:
    """Return ``value`` if it is one of those allowed, or name them.

    Examples
    --------
    >>> choice("link", "probit", ("logit", "probit"))
    'probit'
    """
    allowed = tuple(allowed)
    if value not in allowed:
        raise InputError(f"{arg(name, value)} is not known; choose one of {', '.join(map(repr, allowed))}")
    return allowed[allowed.index(value)]


def whole(name: str, value: Any, least: int) -> int:
    """Return a whole number that is not below ``least``.

    Examples
    --------
    >>> whole("items", 0, least=1)
    Traceback (most recent call last):
    ...
    ordbridge.errors.InputError: items=0 must be an integer ≥ 1
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"{arg(name, value)} must be an integer ≥ {least}")
    return int(value)


def proportion(name: str, value: Any, ends: bool = False) -> float:
    """Return a number between 0 and 1; both are excluded, unless ``ends`` are allowed.

    Examples
    --------
    >>> proportion("alpha", 5)
    Traceback (most recent call last):
    ...
    ordbridge.errors.InputError: alpha=5 must lie between 0 and 1
    """
    inside = _is_number(value) and (0 < value < 1 or (ends and 0 <= value <= 1))
    if not inside:
        raise InputError(f"{arg(name, value)} must lie between 0 and 1")
    return float(value)


def number(name: str, value: Any) -> float:
    """Return one finite number."""
    if not _is_number(value):
        raise InputError(f"{name} has {value!r}, which is not a number")
    try:
        found = float(value)
    except OverflowError:  # a whole number beyond every float
        found = math.inf
    if not math.isfinite(found):
        raise InputError(f"{name} has {value!r}; it must be finite")
    return found


def numbers(name: str, values: Any) -> tuple[float, ...]:
    """Return one or several finite numbers as a tuple."""
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, (Sequence, np.ndarray)):
        values = (values,)
    return tuple(number(name, value) for value in values)


def fits_hint(value: Any, hint: Any) -> bool:
    """Tell whether a value read from a file is of the type that a field is annotated with; a whole number is a float.

    Examples
    --------
    >>> fits_hint(("a", "b"), tuple[str, ...]), fits_hint(1, float), fits_hint(True, int), fits_hint(None, str | None)
    (True, True, False, True)
    """
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(fits_hint(value, one) for one in inner)
    if origin is tuple and isinstance(value, tuple):
        expected = [inner[0]] * len(value) if inner[1:] == (Ellipsis,) else inner
        return len(value) == len(expected) and all(map(fits_hint, value, expected))
    if hint in (int, float):
        return _is_number(value) and isinstance(value, (int, hint)) and math.isfinite(value)
    return hint is Any or isinstance(value, origin or hint)


def seconds(name: str, value: Any) -> float | None:
    """Return a time limit: a number of seconds above 0, or None for no limit."""
    if value is not None and not (_is_number(value) and value > 0):
        raise InputError(f"{arg(name, value)} is not a number of seconds above 0")
    return None if value is None else float(value)


def file_to_write(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file whose folder is there.

    Examples
    --------
    >>> file_to_write("no/such/folder/truth.toml")
    Traceback (most recent call last):
    ...
    ordbridge.errors.InputError: cannot write no/such/folder/truth.toml: there is no folder no/such/folder
    """
    try:
        path = Path(path).expanduser()
    except (RuntimeError, TypeError) as error:
        raise InputError(f"cannot write {path!r}: {error}") from None
    if not path.parent.is_dir():
        raise InputError(f"cannot write {path}: there is no folder {path.parent}")
    return path


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def number_of_workers(jobs: int) -> int:
    """Return how many processes ``jobs`` means: −1 is one per core that this process may use, −2 one less.

    Examples
    --------
    >>> number_of_workers(3)
    3
    """
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs == 0:
        raise InputError(f"{arg('jobs', jobs)} is not a number of processes; give 1 or more, or -1 for all cores")
    if jobs > 0:
        return jobs
    import joblib

    return max(1, joblib.cpu_count() + 1 + jobs)
