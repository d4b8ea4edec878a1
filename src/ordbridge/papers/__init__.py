"""The papers behind ordbridge: their settings, and what they claim. Each is loaded when it is first named."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

__all__ = sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name[-4:].isdigit())


def __getattr__(name: str) -> ModuleType:
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"there is no paper {name!r} in {__name__}; there are: {', '.join(__all__)}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
