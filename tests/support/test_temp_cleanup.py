"""What a killed process leaves behind is gone when the next one has looked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ordbridge.support import temp_cleanup

OWNER = """
import sys, time
from ordbridge.support import temp_cleanup
folder = temp_cleanup.temporary_folder()
(folder / "file").write_text("x")
print(folder, flush=True)
if sys.argv[1:] == ["wait"]:
    time.sleep(600)
"""


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    return tmp_path


def test_the_folder_of_a_killed_process_is_removed_and_that_of_a_living_one_stays(temporary):
    with subprocess.Popen([sys.executable, "-c", OWNER, "wait"], stdout=subprocess.PIPE, text=True) as owner:
        folder = Path(owner.stdout.readline().strip())
        temp_cleanup.sweep()
        assert (folder / "file").exists() and folder.parent == temporary
        owner.kill()
    temp_cleanup.sweep()
    assert list(temporary.iterdir()) == []


def test_folders_of_other_programs_stay(temporary):
    names = ("ordbridge-notes", "ordbridge-0123456789abcdeg", "Rtmp123456")
    for name in names:
        (temporary / name).mkdir()
    temp_cleanup.sweep()
    assert sorted(path.name for path in temporary.iterdir()) == sorted(names)


def test_a_folder_is_removed_with_its_lock(temporary):
    folder = temp_cleanup.temporary_folder()
    assert folder.stat().st_mode & 0o777 == 0o700
    temp_cleanup.sweep()
    assert folder.exists(), "our own"
    temp_cleanup.remove(folder)
    assert list(temporary.iterdir()) == []


WITH_SEMAPHORES = """
import os, sys, time
from pathlib import Path
from ordbridge.support import temp_cleanup
temp_cleanup.SEMAPHORES = Path(sys.argv[1])
(temp_cleanup.SEMAPHORES / f"sem.loky-{os.getpid()}-ours").touch()
temp_cleanup.claim_semaphores()
print(os.getpid(), flush=True)
time.sleep(600)
"""


def test_only_semaphores_that_ordbridge_has_listed_are_removed_with_their_owner(
    temporary, tmp_path_factory, monkeypatch
):
    """Those of another program stay, though no process of their number lives here: it may live in another container."""
    shared = tmp_path_factory.mktemp("shm")
    monkeypatch.setattr(temp_cleanup, "SEMAPHORES", shared)
    command = [sys.executable, "-c", WITH_SEMAPHORES, str(shared)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        number = owner.stdout.readline().strip()
        (shared / f"sem.loky-{number}-others").touch()
        (shared / "sem.loky-999999999-others").touch()
        temp_cleanup.sweep()
        assert len(list(shared.iterdir())) == 3
        owner.kill()
    temp_cleanup.sweep()
    assert sorted(file.name for file in shared.iterdir()) == sorted(
        [f"sem.loky-{number}-others", "sem.loky-999999999-others"]
    )
    assert list(temporary.iterdir()) == []


@pytest.mark.slow
def test_what_a_killed_plan_leaves_is_swept_by_any_command(temporary):
    program = """
import os, signal
from ordbridge import planning
from ordbridge.planning import api
from ordbridge.simulate.presets import HOWCROFT2021

api.simulate = lambda question, folder, *_: (folder.joinpath("x").write_text("x"), os.kill(os.getpid(), signal.SIGKILL))
planning.plan(HOWCROFT2021.settings["low"], effect=0.5)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert list(temporary.iterdir()), "the kill came too late"
    (temporary / "empty.csv").touch()
    subprocess.run([sys.executable, "-m", "ordbridge", "read", temporary / "empty.csv"], capture_output=True)
    assert [path.name for path in temporary.iterdir()] == ["empty.csv"]


KILLED = """
from ordbridge.power import Grid, run
grid = Grid(preset="howcroft2021", variance="low", items=20, ratings_per_text=3, effect=[0.62])
tell = lambda progress: print(progress.done, flush=True)
run(grid, ["lm"], datasets=100000, seed=1, jobs=2, progress=tell)
"""


@pytest.mark.slow
@pytest.mark.needs_r
def test_a_group_that_is_killed_leaves_nothing_after_the_next_run(temporary):
    """kill -9 of the whole group with R in two workers: folders of R, the temporary store, locks, semaphores."""
    before = set(temp_cleanup.SEMAPHORES.glob("sem.loky-*")) if temp_cleanup.SEMAPHORES.is_dir() else set()
    command = [sys.executable, "-c", KILLED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as program:
        while program.stdout.readline().strip() in ("0", ""):
            assert program.poll() is None
        assert len(list(temporary.rglob("Rtmp*"))) == 2, "two workers, each with a folder of R"
        os.killpg(program.pid, signal.SIGKILL)
    time.sleep(1)
    assert list(temporary.iterdir()), "the kill came too late to leave anything"
    subprocess.run(
        [sys.executable, "-c", KILLED.replace("datasets=100000", "datasets=2")], check=True, capture_output=True
    )
    assert [path.name for path in temporary.iterdir()] == []
    assert set(temp_cleanup.SEMAPHORES.glob("sem.loky-*")) <= before | {
        path
        for path in temp_cleanup.SEMAPHORES.glob("sem.loky-*")
        if not path.name.startswith(f"sem.loky-{program.pid}-")
    }


KILLED_WHILE_R_STARTS = """
import os, signal, subprocess
from ordbridge.bridge import session

real = subprocess.run

def run(*arguments, **options):
    done = real(*arguments, **options)
    if "write.csv" in str(arguments):
        os.kill(os.getpid(), signal.SIGKILL)
    return done

subprocess.run = run
session.require("stats")
"""


@pytest.mark.needs_r
def test_who_is_killed_while_r_starts_leaves_nothing(temporary):
    """At that moment rpy2 has a file with the whole environment, and with all secrets that are in it."""
    done = subprocess.run([sys.executable, "-c", KILLED_WHILE_R_STARTS], capture_output=True)
    assert done.returncode == -signal.SIGKILL
    assert [path for path in temporary.rglob("*.csv") if "PATH" in path.read_text()], "the kill came too late"
    temp_cleanup.sweep()
    assert [path.name for path in temporary.iterdir()] == []
