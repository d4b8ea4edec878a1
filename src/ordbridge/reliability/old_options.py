"""Options of 0.1.0 that coefficients still take, for one release."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from ordbridge.deprecated import renamed_arguments

__all__ = ["takes_old_options"]

Function = TypeVar("Function", bound=Callable[..., Any])


def takes_old_options(function: Function) -> Function:
    """Take ``confidence`` for ``conf_level``, and ``draws`` and ``seed``, which intervals no longer need."""

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        for name in ("draws", "seed"):
            if name in options:
                warnings.warn(
                    f"{function.__name__} no longer needs {name}, because intervals are not resampled (no interval: "
                    "conf_level=None); the old name will be removed in the next release",
                    DeprecationWarning,
                    stacklevel=2,
                )
                if options.pop(name) == 0 and name == "draws":
                    options["conf_level"] = None
        return function(*args, **options)

    return renamed_arguments(confidence="conf_level")(call)  # type: ignore[return-value]
