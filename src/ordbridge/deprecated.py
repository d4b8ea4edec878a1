"""Old names: for one release they are found under their new ones, with a warning that says which."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any, TypeVar

__all__ = ["old_names", "renamed", "renamed_arguments", "warn_renamed"]

Function = TypeVar("Function", bound=Callable[..., Any])


def renamed(old: str, new: str) -> Any:
    """Return what is now called ``new``, a module or something in it, and warn the caller about ``old``."""
    warnings.warn(
        f"{old} is now {new}; the old name will be removed in the next release", DeprecationWarning, stacklevel=3
    )
    return resolve_name(new)


def old_names(module: str, new_names: dict[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module with old names.

    Examples
    --------
    >>> find = old_names("ordbridge", {"plots": "ordbridge.figures"})
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     find("plots").__name__, str(said[0].message)
    ('ordbridge.figures', 'ordbridge.plots is now ordbridge.figures; the old name will be removed in the next release')
    """

    def find(name: str) -> Any:
        if name not in new_names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return renamed(f"{module}.{name}", new_names[name])

    return find


def warn_renamed(old: str, new: str) -> None:
    """Warn whoever used ``old``, an attribute or a column, for ``new``."""
    text = f"{old} is now {new}; the old name will be removed in the next release"
    warnings.warn(text, DeprecationWarning, stacklevel=3)


def renamed_arguments(**new_names: str) -> Callable[[Function], Function]:
    """Return a decorator for a function whose keyword arguments have new names.

    Examples
    --------
    >>> @renamed_arguments(level="conf_level")
    ... def interval(conf_level=0.95): return conf_level
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     interval(level=0.9), str(said[0].message)
    (0.9, 'level is now conf_level; the old name will be removed in the next release')
    """

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def accept_both(*args: Any, **options: Any) -> Any:
            for old, new in new_names.items():
                if old in options:
                    text = f"{old} is now {new}; the old name will be removed in the next release"
                    warnings.warn(text, DeprecationWarning, stacklevel=2)
                    options[new] = options.pop(old)
            return function(*args, **options)

        return accept_both  # type: ignore[return-value]

    return decorate
