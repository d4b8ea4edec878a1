"""Faithful ordinal and linear mixed models for human evaluations, and what to do with them.

Nothing is loaded before it is used: R starts at the first fit.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from ordbridge.deprecated import renamed
from ordbridge.errors import (
    BridgeError,
    ClusterError,
    ConvergenceWarning,
    FitError,
    FitTimeout,
    FormulaError,
    InputError,
    StatisticalWarning,
)

__version__ = "0.2.0"

_LAZY = {
    "clm": "ordbridge.models.api",
    "clmm": "ordbridge.models.api",
    "lm": "ordbridge.models.api",
    "lmer": "ordbridge.models.api",
    "Fit": "ordbridge.models.fit",
    "anova": "ordbridge.models.fit",
    "compare": "ordbridge.comparison",
    "compare_links": "ordbridge.models.inference.link_comparison",
    "check": "ordbridge.data",
    "load": "ordbridge.models.keeping",
    "read": "ordbridge.data",
    "random_effects": "ordbridge.models.inference.random_structure",
}
_MODULES = (
    "bayes",
    "comparison",
    "data",
    "design",
    "figures",
    "judges",
    "papers",
    "planning",
    "power",
    "reliability",
    "report",
    "simulate",
    "validate",
)
_OLD = {
    "datasets": "ordbridge.data",
    "pages": "ordbridge.report",
    "paper": "ordbridge.report",
    "plots": "ordbridge.figures",
}

__all__ = [
    "BridgeError",
    "ClusterError",
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
    if name in _OLD:
        return renamed(f"ordbridge.{name}", _OLD[name])
    raise AttributeError(f"module 'ordbridge' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


if "IPython" in sys.modules:
    import_module("ordbridge.notebooks").show_arrow_tables()
