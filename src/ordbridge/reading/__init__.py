"""From any file to ratings that can be trusted: read it, check it, describe it; readers of published ratings.

What is public is loaded when it is used, so that :mod:`ordbridge.reading.tables` costs little.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ordbridge.reading.api import columns_of, read
    from ordbridge.reading.check_result import Checks
    from ordbridge.reading.checking import check
    from ordbridge.reading.description import describe
    from ordbridge.reading.published import read_alttest, read_flickr8k, read_huse, read_nem, read_pplm, read_qgstec
    from ordbridge.reading.rating_table import RatingTable

__all__ = [
    "Checks",
    "RatingTable",
    "check",
    "columns_of",
    "describe",
    "read",
    "read_alttest",
    "read_flickr8k",
    "read_huse",
    "read_nem",
    "read_pplm",
    "read_qgstec",
]
_HOME = {"Checks": "check_result", "RatingTable": "rating_table", "check": "checking", "columns_of": "api",
         "describe": "description", "read": "api"}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME.get(name, 'published')}"), name)
