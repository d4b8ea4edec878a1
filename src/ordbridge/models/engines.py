"""The engines by name: each a module with ``fit`` and ``matrices`` (see :mod:`ordbridge.models.problem`)."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from ordbridge.support.arguments import choice

MODULES = {"r": "ordbridge.models.r_engine", "fast": "ordbridge.fast"}
ENGINES = tuple(MODULES)


def engine_name(engine: str) -> str:
    """Return ``"r"`` for R or ``"fast"`` for the native engine."""
    return choice("engine", engine, ENGINES)


def engine_module(engine: str) -> ModuleType:
    """Return the module that fits; it is loaded at its first use."""
    return import_module(MODULES[engine_name(engine)])
