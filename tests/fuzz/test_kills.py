"""A few of the kills of ``kills.py``."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import kills
import pytest

pytestmark = [
    pytest.mark.needs_r,
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked for in /proc"),
    pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals"),
]


@pytest.mark.parametrize(
    ("name", "number", "group", "after"),
    [
        ("fit", signal.SIGTERM, False, 12.0),
        ("fit", signal.SIGINT, True, 3.0),
        ("compare, bootstrap", signal.SIGINT, True, 15.0),
        ("power", signal.SIGTERM, False, 12.0),
    ],
)
def test_a_command_that_is_ended_at_work(
    name: str, number: signal.Signals, group: bool, after: float, tmp_path: Path
) -> None:
    kills.prepare(tmp_path)
    command = next(one for one in kills.commands(tmp_path) if one.name == name)
    ended = kills.killed(command, tmp_path, after, number, group)
    assert kills.wrong(ended, number, command, tmp_path) == [], ended.said


def test_workers_start_deaf_to_ctrl_c() -> None:
    """Python shows a traceback if it hears of Ctrl-C while it starts."""
    code = """
        import os, re
        from pathlib import Path
        from joblib import Parallel, delayed
        from ordbridge.support.child_processes import deaf_workers

        pool = Parallel(n_jobs=2, return_as="generator")
        with deaf_workers():
            made = pool(delayed(int)() for _ in range(4))
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        workers = [one for one in children if b"popen_loky" in Path(f"/proc/{one}/cmdline").read_bytes()]
        blocked = [re.search(r"SigBlk:\\s*(\\w+)", Path(f"/proc/{one}/status").read_text())[1] for one in workers]
        print(len(workers) >= 2, all(int(mask, 16) & 2 for mask in blocked), list(made))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120)
    assert done.stdout == "True True [0, 0, 0, 0]\n", done.stderr
