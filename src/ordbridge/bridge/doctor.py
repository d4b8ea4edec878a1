"""What is installed, whether it fits together, and the exact command where it does not."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import sys

import pyarrow as pa

from ordbridge.bridge import remedies, rscript
from ordbridge.bridge.session import r_folder
from ordbridge.errors import BridgeError

__all__ = ["examine"]

START = "from ordbridge.bridge import session; session.require('ordinal', 'lmerTest')"


def examine() -> tuple[pa.Table, bool]:
    """Look at Python, rpy2, R and its packages; nothing is started in this process.

    Returns
    -------
    pyarrow.Table
        component, found, status (``ok`` or what is wrong) and fix.
    bool
        Whether fits can run.
    """
    rows = [_row("Python", platform.python_version(), sys.version_info >= (3, 11), "Python 3.11 or later")]
    rows += [_rpy2_row(name) for name in ("rpy2", "rpy2-rinterface")]
    found = _probe()
    rows.append(_row("R home", found.get("R home", ""), "R home" in found, remedies.for_packages()))
    rows.append(_row("R", found.get("R", ""), _version(found.get("R", "")) >= (4, 2), remedies.for_packages()))
    rows += [
        _row(name, found.get(name, ""), bool(found.get(name)), remedies.for_packages()) for name in remedies.PACKAGES
    ]
    rows.append(
        {"component": "BLAS", "found": found.get("BLAS", ""), "status": "ok" if found else "unknown", "fix": ""}
    )
    rows.append(_start_row())
    can_fit = all(row["status"] == "ok" for row in rows if row["component"] not in ("BLAS", "emmeans", "pbkrtest"))
    return pa.Table.from_pylist(rows), can_fit


def _row(component: str, found: str, ok: bool, fix: str) -> dict[str, str]:
    status = "ok" if ok else ("does not fit" if found else "missing")
    return {"component": component, "found": found, "status": status, "fix": "" if ok else fix}


def _rpy2_row(name: str) -> dict[str, str]:
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        version = ""
    return _row(name, version, bool(version), remedies.RPY2)


def _probe() -> dict[str, str]:
    try:
        lines = rscript.run(r_folder() / "probe.R", *remedies.PACKAGES).splitlines()
    except BridgeError:
        return {}
    pairs = (line.split("\t") for line in lines if "\t" in line)
    return {name: value.strip() for name, value in pairs}


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit()) or (0,)


def _start_row() -> dict[str, str]:
    """Start R through rpy2 in a process of its own, which is the only proof that the two fit together."""
    environment = os.environ | {"PYTHONWARNINGS": "ignore"}
    # -P: what lies in the folder where doctor is called is not to be imported
    command = [sys.executable, "-P", "-c", START]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode == 0:
        return _row("R through rpy2", "starts", True, "")
    last = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}"
    said = last.removeprefix("ordbridge.errors.BridgeError: ")
    return {"component": "R through rpy2", "found": "does not start", "status": "does not start", "fix": said}
