"""Faithful ordinal and linear mixed models for human evaluations, and what to do with them.

Nothing is loaded before it is used: R starts at the first fit.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ordbridge.errors import (
    BridgeError,
    ConvergenceWarning,
    FitError,
    FitTimeout,
    FormulaError,
    InputError,
    StatisticalWarning,
)

__version__ = "0.1.0"

_LAZY = {
    "clm": "ordbridge.models.api",
    "clmm": "ordbridge.models.api",
    "lm": "ordbridge.models.api",
    "lmer": "ordbridge.models.api",
    "Fit": "ordbridge.models.fit",
    "anova": "ordbridge.models.fit",
}
_MODULES = (
    "datasets",
    "design",
    "pages",
    "paper",
    "papers",
    "plots",
    "power",
    "reliability",
    "report",
    "simulate",
    "validate",
)

__all__ = [
    "BridgeError",
    "ConvergenceWarning",
    "FitError",
    "FitTimeout",
    "FormulaError",
    "InputError",
    "StatisticalWarning",
    *_LAZY,
    *_MODULES,
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    if name in _MODULES:
        return import_module(f"ordbridge.{name}")
    raise AttributeError(f"module 'ordbridge' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
