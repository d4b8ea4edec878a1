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

START = "from ordbridge.bridge import session; session.require('ordinal', 'lmerTest')"


def examine() -> tuple[pa.Table, bool]:
    """Look at Python, rpy2, R and its packages; nothing is started in this process."""
    rinterface, found = _installed("rpy2-rinterface"), _probe()
    r = found.get("R", "")
    misfit = remedies.for_versions(rinterface, r) if rinterface and r else ""
    install_r = remedies.for_packages()
    rows = [
        _row("Python", platform.python_version(), sys.version_info >= (3, 11), "Python 3.11 or later"),
        _row("rpy2", _installed("rpy2"), bool(_installed("rpy2")), remedies.RPY2),
        _row("rpy2-rinterface", rinterface, bool(rinterface) and not misfit, misfit or remedies.RPY2),
        _row("R home", found.get("R home", ""), "R home" in found, install_r),
        _row("R", r, remedies.version(r) >= remedies.OLDEST_R, install_r),
        *(_row(name, found.get(name, ""), bool(found.get(name)), install_r) for name in remedies.PACKAGES),
        {"component": "BLAS", "found": found.get("BLAS", ""), "status": "ok" if found else "unknown", "fix": ""},
        _start_row(rinterface, r, misfit),
    ]
    can_fit = all(row["status"] == "ok" for row in rows if row["component"] not in ("BLAS", "emmeans", "pbkrtest"))
    return pa.Table.from_pylist(rows), can_fit


def _row(component: str, found: str, ok: bool, fix: str) -> dict[str, str]:
    status = "ok" if ok else ("does not fit" if found else "missing")
    return {"component": component, "found": found, "status": status, "fix": "" if ok else fix}


def _installed(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _probe() -> dict[str, str]:
    try:
        lines = rscript.run(r_folder() / "probe.R", *remedies.PACKAGES).splitlines()
    except BridgeError:
        return {}
    pairs = (line.split("\t") for line in lines if "\t" in line)
    return {name: value.strip() for name, value in pairs}


def _start_row(rinterface: str, r: str, misfit: str) -> dict[str, str]:
    """Start R through rpy2 in a process of its own, which is the only proof that the two fit together."""
    environment = os.environ | {"PYTHONWARNINGS": "ignore"}
    # -P: what lies in the folder where doctor is called is not to be imported
    command = [sys.executable, "-P", "-c", START]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode == 0:
        return _row("R through rpy2", "starts", True, "")
    last = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}"
    said = last.removeprefix("ordbridge.errors.BridgeError: ")
    if not r:
        fix = said
    elif misfit:
        fix = misfit
    elif "install" in said:
        fix = said
    else:
        fix = f"{said.removesuffix('; see what is wrong with: ordbridge doctor')}; {remedies.for_start(rinterface, r)}"
    return {"component": "R through rpy2", "found": "does not start", "status": "does not start", "fix": fix}
