from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from stub import same

from ordbridge.errors import InputError
from ordbridge.power import load

SIMS = 120
PROGRAM = [sys.executable, str(Path(__file__).with_name("kill_me.py"))]


def _start(folder: Path) -> subprocess.Popen:
    return subprocess.Popen([*PROGRAM, str(folder), str(SIMS)], stdout=subprocess.PIPE, text=True)


def _children(pid: int) -> list[int]:
    try:
        return [int(c) for c in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


@pytest.mark.slow
@pytest.mark.timeout(900)  # twenty-one programs have to start, which a busy machine is slow at
def test_killed_twenty_times_and_resumed(grid, run_stub, tmp_path):
    """kill -9 of the whole program at any moment, from its first steps to the middle of its work."""
    moments = random.Random(1)
    stored, workers = [], set()
    for number in range(20):
        before = set((tmp_path / "run").rglob("*.parquet"))
        with _start(tmp_path / "run") as program:
            assert program.stdout.readline() == "running\n"
            while number % 2 and program.poll() is None and set((tmp_path / "run").rglob("*.parquet")) <= before:
                time.sleep(0.01)  # every second time wait for its first result
            time.sleep(moments.uniform(0.0, 0.7))
            workers.update(_children(program.pid))
            program.send_signal(signal.SIGKILL)
        if (tmp_path / "run" / "manifest.json").exists():
            stored.append(load(tmp_path / "run").fits.num_rows)
    assert stored == sorted(stored), "a kill has lost what was stored"
    assert len(set(stored)) > 5 and stored[-1] < 2 * 4 * SIMS, "the kills did not hit the work; change the moments"
    time.sleep(1.5)
    assert not [pid for pid in workers if _is_running(pid)], "workers have outlived their run"
    with _start(tmp_path / "run") as program:
        assert program.stdout.read() == "running\ndone\n"
    assert same(load(tmp_path / "run"), run_stub(grid, datasets=SIMS, jobs=2))
    assert not list((tmp_path / "run").rglob("*.tmp"))


@pytest.mark.slow
def test_a_run_in_another_process_holds_the_store(grid, run_stub, tmp_path):
    with _start(tmp_path / "run") as program:
        try:
            while not (tmp_path / "run" / "manifest.json").exists():
                time.sleep(0.05)
            with pytest.raises(InputError, match=f"another run \\(process {program.pid}\\) is writing"):
                run_stub(grid, store=tmp_path / "run")
        finally:
            program.kill()


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
