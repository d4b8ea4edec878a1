"""What arguments are called in messages: ``raters=0`` in Python, ``--raters 0`` for a command, a label on the page.

A sentence asks :func:`arg` for the name where it is made. Nothing is ever looked for in a finished sentence, so names
of systems, columns and files stay what they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

Naming = Callable[..., str]
"""Called with the name of an argument and perhaps a value, it returns what this surface calls them."""


def in_python(name: str, *value: Any) -> str:
    """Return an argument, or an argument and its value, as a call has them.

    Examples
    --------
    >>> in_python("system"), in_python("raters", 0), in_python("rating", ["a", "b"])
    ('system=', 'raters=0', "rating=['a', 'b']")
    """
    return f"{name}={''.join(repr(_plain(one)) for one in value)}"


_naming: list[Naming] = [in_python]


def arg(name: str, *value: Any) -> str:
    """Return an argument, or an argument and its value, in the words of who reads the message.

    Examples
    --------
    >>> f"{arg('raters', 0)} must be an integer ≥ 1"
    'raters=0 must be an integer ≥ 1'
    >>> with names_as(lambda name, *value: " ".join([f"--{name}", *map(str, value)])):
    ...     f"{arg('raters', 0)} must be an integer ≥ 1"
    '--raters 0 must be an integer ≥ 1'
    """
    return _naming[-1](name, *value)


@contextmanager
def names_as(naming: Naming) -> Iterator[None]:
    """Let messages name arguments in this way, in every thread of the process."""
    _naming.append(naming)
    try:
        yield
    finally:
        _naming.remove(naming)


def words_of(value: Any) -> list[str]:
    """Return a value as the words that are typed for it.

    Examples
    --------
    >>> words_of(3), words_of(["very good", "bad"]), words_of({"minor": 1})
    (['3'], ['very good', 'bad'], ['minor=1'])
    """
    if isinstance(value, Mapping):
        return [f"{name}={number}" for name, number in value.items()]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [str(_plain(one)) for one in value]
    return [str(_plain(value))]


def _plain(value: Any) -> Any:
    """Return a number of NumPy as one of Python, and 5.0 as 5."""
    value = value.item() if hasattr(value, "item") and getattr(value, "shape", None) == () else value
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else value
