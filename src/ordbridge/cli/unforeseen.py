"""The last resort: what nobody foresaw becomes one sentence and a report, which has no data in it."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import traceback
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

PACKAGES = ("ordbridge", "numpy", "pandas", "pyarrow", "scipy", "rpy2", "rpy2-rinterface", "joblib", "distributed")


def sentence(error: BaseException) -> str:
    """Return the sentence for an error that no command expects, and write the report."""
    kind = type(error).__name__
    try:
        path = report(error)
    except OSError:
        return f"something unforeseen happened ({kind}), and no report could be written; please tell the authors"
    return f"something unforeseen happened ({kind}). Please send the authors this report; it holds no data: {path}"


def report(error: BaseException) -> Path:
    """Write where the error happened and with which versions; neither values nor messages, which may hold data."""
    handle, name = tempfile.mkstemp(prefix="ordbridge-bug-", suffix=".txt")
    with open(handle, "w", encoding="utf-8") as file:
        file.write("\n".join(_lines(error)) + "\n")
    return Path(name)


def _lines(error: BaseException) -> Iterator[str]:
    options = [word.partition("=")[0] for word in sys.argv[1:] if word.startswith("--")]
    command = next((word for word in sys.argv[1:] if word.isalpha() and word.isascii() and len(word) < 20), "")
    yield f"ordbridge {command} {' '.join(options)}".rstrip()
    for package in PACKAGES:
        try:
            yield f"{package} {metadata.version(package)}"
        except metadata.PackageNotFoundError:
            continue
    yield f"Python {platform.python_version()} on {platform.platform()}"
    seen: set[int] = set()
    here: BaseException | None = error
    while here is not None and id(here) not in seen:
        seen.add(id(here))
        yield f"{type(here).__module__}.{type(here).__qualname__} raised by"
        for frame in traceback.extract_tb(here.__traceback__):
            yield f"  {_short(frame.filename)}:{frame.lineno} in {frame.name}: {frame.line}"
        here = here.__cause__ or here.__context__


def _short(file: str) -> str:
    """Return a file's path from its package on, without the folders of the user."""
    parts = Path(file).parts
    for mark in ("site-packages", "src"):
        if mark in parts:
            return os.path.join(*parts[len(parts) - parts[::-1].index(mark) :])
    return Path(file).name
