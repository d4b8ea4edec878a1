"""Plain R in a process of its own, for what must not go through rpy2: looking at the installation, and the baseline."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from ordbridge.bridge import remedies
from ordbridge.errors import BridgeError


def find(program: str = "Rscript") -> str:
    """Return the path of ``R`` or ``Rscript``, or say how to install it."""
    path = shutil.which(program)
    if path is None:
        raise BridgeError(f"there is no {program} on this machine; install it: {remedies.for_packages()}")
    return path


def run(*arguments: str | Path) -> str:
    """Run ``Rscript --vanilla`` and return what it prints; what it complains of becomes a BridgeError."""
    done = subprocess.run([find(), "--vanilla", *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise BridgeError(f"Rscript failed: {done.stderr.strip() or 'without a message'}")
    return done.stdout
