"""Faithful ordinal and linear mixed models for human evaluations, and what to do with them.

Nothing is loaded before it is used: R starts at the first fit.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

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

__version__ = "0.3.0"

_LAZY = {
    "clm": "ordbridge.models.api",
    "clmm": "ordbridge.models.api",
    "lm": "ordbridge.models.api",
    "lmer": "ordbridge.models.api",
    "Fit": "ordbridge.models.fit",
    "anova": "ordbridge.models.anova",
    "compare": "ordbridge.comparison",
    "compare_links": "ordbridge.models.inference.link_comparison",
    "check": "ordbridge.reading",
    "load": "ordbridge.models.save_load",
    "plan": "ordbridge.planning",
    "prefer": "ordbridge.preferences",
    "read": "ordbridge.reading",
    "random_effects": "ordbridge.models.inference.random_structure",
    "validate": "ordbridge.models.validation",
}
_MODULES = {
    "bayes": "ordbridge.bayes",
    "comparison": "ordbridge.comparison",
    "datasets": "ordbridge.datasets",
    "design": "ordbridge.design",
    "figures": "ordbridge.render.figures",
    "judges": "ordbridge.judges",
    "logs": "ordbridge.logs",
    "papers": "ordbridge.papers",
    "planning": "ordbridge.planning",
    "preferences": "ordbridge.preferences",
    "power": "ordbridge.power",
    "reading": "ordbridge.reading",
    "reliability": "ordbridge.reliability",
    "results": "ordbridge.results",
    "scales": "ordbridge.scales",
    "simulate": "ordbridge.simulate",
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
        return import_module(_MODULES[name])
    raise AttributeError(f"module 'ordbridge' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


if "IPython" in sys.modules or hasattr(sys, "ps1") or sys.flags.interactive:
    import_module("ordbridge.render.notebook").show_arrow_tables()
