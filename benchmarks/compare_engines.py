"""The nine raw files of the tutorial through R and through the native engine: how far the answers are apart.

    python benchmarks/compare_engines.py

Each file is one command, ``ordbridge compare FILE --json``, with R (the default) and with ``--engine fast``. Printed
are the largest differences of expected ratings and rating differences (in points, with the ends of their intervals), of
corrected p-values, and whether both say the same about every pair; then the seconds of processor time.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "comparison"))

import raw_files

from ordbridge.cli import main

POINTS = ("estimate", "difference", "conf_low", "conf_high")


def answer(path: Path, options: list[str], engine: str) -> tuple[dict[str, Any], float]:
    """Return what a command prints as JSON, and its seconds of processor time."""
    out, start = io.StringIO(), time.process_time()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = main(["compare", str(path), *options, "--json", "--quiet", "--engine", engine])
    assert code == 0, path
    return json.loads(out.getvalue()), time.process_time() - start


def apart(one: dict[str, Any], other: dict[str, Any]) -> tuple[float, float, bool]:
    """Return the largest difference in points, that of corrected p-values, and whether all decisions agree."""
    points, p_values, same = 0.0, 0.0, True
    for part in ("ranking", "pairs"):
        for a, b in zip(one[part], other[part], strict=True):
            assert [a[k] for k in ("criterion", "system", "a", "b") if k in a] == [
                b[k] for k in ("criterion", "system", "a", "b") if k in b
            ]
            points = max(points, *(abs(a[name] - b[name]) for name in POINTS if name in a))
            if "adjusted" in a:
                p_values = max(p_values, abs(a["p_adjusted"] - b["p_adjusted"]))
                same &= (a["p_adjusted"] < 0.05) == (b["p_adjusted"] < 0.05)
    return points, p_values, same


def run() -> None:
    """Print a row per file."""
    print("| file | points | p-values | same decisions | R, s | native, s |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for kind, (path, options) in raw_files.write_all(Path(folder)).items():
            (native, quick), (by_r, slow) = answer(path, options, "fast"), answer(path, options, "r")
            points, p_values, same = apart(native, by_r)
            print(f"| {kind} | {points:.1e} | {p_values:.1e} | {same} | {slow:.1f} | {quick:.1f} |", flush=True)


if __name__ == "__main__":
    run()
