"""The engines by name: each a module with ``fit`` and ``matrices`` (see :mod:`ordbridge.models.problem`)."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from ordbridge.checks import choice

__all__ = ["ENGINES", "engine_module", "engine_name"]

MODULES = {"r": "ordbridge.models.r_engine", "fast": "ordbridge.fast"}
ENGINES = tuple(MODULES)
OTHER_NAMES = {"ordinal": "r"}  # what version 0.1 called R, in calls, study files and stores


def engine_name(engine: str) -> str:
    """Return ``"r"`` for R or ``"fast"`` for the native engine; ``"ordinal"`` is another word for R.

    Examples
    --------
    >>> engine_name("ordinal")
    'r'
    """
    return choice("engine", OTHER_NAMES.get(engine, engine) if isinstance(engine, str) else engine, ENGINES)


def engine_module(engine: str) -> ModuleType:
    """Return the module that fits; it is loaded at its first use."""
    return import_module(MODULES[engine_name(engine)])
