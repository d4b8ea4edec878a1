"""The compiled core: nothing else is loaded for it, and it gives the same bits everywhere."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def test_importing_the_engine_does_not_import_scipy() -> None:
    code = "import sys, ordbridge.fast; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.slow
def test_the_same_bits_in_another_process_with_other_threads() -> None:
    """A fit runs in one thread and depends on nothing but its data."""
    code = """
import ordbridge as ob, numpy as np, warnings
warnings.simplefilter("ignore")
i = np.arange(400)
data = {"g": i // 10, "h": i % 100, "x": i % 2, "y": 1 + (i * 7919 % 101 + 20 * (i % 2)) % 5}
for model in (ob.clmm, ob.lmer):
    fit = model("y ~ x + (x | g) + (x | h)", data, engine="fast")
    print(float(fit.estimates.loglik).hex(), float(fit.p_value("x")).hex())
"""
    said = [
        subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, env=os.environ | {"OMP_NUM_THREADS": threads}
        ).stdout
        for threads in ("1", "2")
    ]
    assert said[0] == said[1] and said[0].count(b"0x") == 4
