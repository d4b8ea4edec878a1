"""References in full, for methods paragraphs and reports."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ordbridge import __version__

_REFERENCES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
WORKS, JUDGES, SOFTWARE, COEFFICIENTS, COMPARISONS, PREFERENCES = _REFERENCES.values()


def software(versions: Mapping[str, str], engine: str) -> str:
    """Say which software fitted, with its versions.

    Examples
    --------
    >>> software({"R": "4.2.2", "ordinal": "2022.11.16"}, "r").partition(",")[0]
    'ordinal 2022.11.16 in R 4.2.2'
    """
    if engine == "fast":
        return f"the native engine of ordbridge {__version__}"
    if not versions:  # a run without any fit yet
        return f"R through ordbridge {__version__}"
    packages = " and ".join(f"{name} {number}" for name, number in versions.items() if name != "R")
    return f"{packages} in R {versions['R']}, through ordbridge {__version__}"


def of_software(versions: Mapping[str, str]) -> list[str]:
    """Return the references of R and its packages, with the versions that were used.

    Examples
    --------
    >>> of_software({"R": "4.2.2"})[0][-41:]
    'version 4.2.2. https://www.R-project.org/'
    """
    return [text.format(version=versions[name]) for name, text in SOFTWARE.items() if name in versions]


def of_coefficients(names: Iterable[str]) -> list[str]:
    """Return the references of coefficients of agreement and correlation, each once, by their names in tables.

    Examples
    --------
    >>> [text[:20] for text in of_coefficients(["Cohen's κ", "Cohen's κ, linear weights"])]
    ['Cohen, J. (1960). A ', 'Cohen, J. (1968). We']
    """
    longest = [max((start for start in COEFFICIENTS if name.startswith(start)), key=len, default="") for name in names]
    return [COEFFICIENTS[start] for start in dict.fromkeys(longest) if start]


def of_judges(result: Any) -> list[str]:
    """Return the references of the parts that an analysis of a judge has."""
    return [reference for part, reference in JUDGES.items() if getattr(result, part) is not None]
