"""Defaults of options: those of the function that a command calls, so that there is only one copy of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["defaults_of"]


def defaults_of(function: Callable[..., Any], *names: str) -> dict[str, Any]:
    """Return the defaults of these arguments; of all that have one, if none is named.

    Examples
    --------
    >>> def plan(target=0.8, alpha=0.05): ...
    >>> defaults_of(plan, "target")
    {'target': 0.8}
    """
    parameters = inspect.signature(function).parameters
    having = [name for name, parameter in parameters.items() if parameter.default is not inspect.Parameter.empty]
    return {name: parameters[name].default for name in names or having}
