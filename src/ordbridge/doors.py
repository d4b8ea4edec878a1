"""Doors from a result to its picture and its report, which stand further right than the result itself.

``fit.plot()`` belongs to the fit for those who use it, but the code that draws imports fits, and not the other way
round. So these two rooms are found by name, at their first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["picture", "write_report"]


def picture(name: str, *arguments: Any, **options: Any) -> Any:
    """Return the picture that a function of :mod:`ordbridge.figures` draws."""
    return getattr(import_module("ordbridge.figures"), name)(*arguments, **options)


def write_report(result: Any, path: Any, repeat: str = "") -> Path:
    """Write the report of a result, by :func:`ordbridge.report.write_report`."""
    written: Path = import_module("ordbridge.report").write_report(result, path, repeat)
    return written
