"""Jobs in processes of their own: none freezes another, and one that is cancelled is gone at once.

What a job reads and writes lies in one private folder. It is deleted when the program ends; if it is killed, by a
process that waits for just that.
"""

from __future__ import annotations

import multiprocessing
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

from ordbridge import leftovers
from ordbridge.errors import InputError
from ordbridge.power.backends import environment

__all__ = ["Jobs"]

LONGEST_FOLDER = 70  # of temporary files; a socket's path has at most 104 characters, of which Python takes 32
MOST_RUNNING = 4  # jobs of one study at a time
_starting = threading.Lock()  # the environment is that of the whole process
CLEANER = """
import pathlib, shutil, sys, time
sys.stdin.read()  # until the program has ended, however it ended
folder = pathlib.Path(sys.argv[1])
for _ in range(100):
    shutil.rmtree(folder, ignore_errors=True)
    if not folder.exists():
        break
    time.sleep(0.1)  # a job that is about to end has just written something
folder.with_name(folder.name + ".lock").unlink(missing_ok=True)
"""


class Job:
    """One computation: what it was asked, how far it is, and what came out."""

    def __init__(self, kind: str, study: TabStudy, options: dict[str, Any], name: str) -> None:
        from ordbridge.app.work import carry_out

        self.kind, self.folder = kind, study.folder / name
        self.folder.mkdir(mode=0o700)
        self.state: dict[str, Any] = {"state": "running", "text": "starting"}
        self._lock = threading.Lock()
        own, other = _context().Pipe(duplex=False)
        words = (other, kind, str(study.folder), study.file, study.second, options, name)
        self._process = _context().Process(target=carry_out, args=words)
        # the process from which all others are copied is not to import a socket.py of the folder where it starts
        with _starting, environment(PYTHONSAFEPATH="1"):
            self._process.start()
        other.close()
        threading.Thread(target=self._listen, args=(own,), daemon=True).start()

    def _listen(self, connection: Any) -> None:
        ended: dict[str, Any] = {"state": "failed", "error": "the computation ended unexpectedly; start it again"}
        try:
            while True:
                said = connection.recv()
                if "result" in said:
                    ended = {"state": "done", **said}
                    break
                if "error" in said:
                    ended = {"state": "failed", **said}
                    break
                with self._lock:
                    if self.state["state"] == "running":
                        self.state = {"state": "running", **said}
        except (EOFError, OSError):
            pass
        connection.close()
        with self._lock:
            if self.state["state"] == "running":
                self.state = ended
        self._process.join(5)

    def snapshot(self) -> dict[str, Any]:
        """Return the state as it is now."""
        with self._lock:
            return dict(self.state)

    def cancel(self) -> None:
        """End the process, whatever it does."""
        with self._lock:
            if self.state["state"] == "running":
                self.state = {"state": "cancelled"}
        if self._process.is_alive():
            try:
                os.killpg(self._process.pid, signal.SIGKILL)  # with its workers; nothing of it is worth waiting for
            except (AttributeError, OSError):  # it has no group of its own yet, or cannot have one
                self._process.kill()
            self._process.join(5)


class TabStudy:
    """One tab's files and jobs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file: str | None = None
        self.second: str | None = None
        self.jobs: dict[str, Job] = {}


class Jobs:
    """All studies of a server, in one private folder that goes away with it."""

    def __init__(self) -> None:
        self._folder = leftovers.temporary_folder()
        self._studies: dict[str, TabStudy] = {}
        self._lock = threading.Lock()
        command = [sys.executable, "-IS", "-c", CLEANER, str(self._folder)]
        # in a session of its own: Ctrl-C and a closed terminal are for the program, not for who cleans up after it
        if _can_copy():
            _context()
            with _starting, environment(PYTHONSAFEPATH="1"):
                forkserver.ensure_running()  # it loads while the page is being looked at
        self._cleaner = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)

    def new(self) -> str:
        """Open an empty study and return its name, which nobody can guess."""
        name = secrets.token_urlsafe(16)
        folder = self._folder / name
        folder.mkdir(mode=0o700)
        with self._lock:
            self._studies[name] = TabStudy(folder)
        return name

    def study(self, name: str) -> TabStudy:
        """Return a study, or say that it is gone."""
        with self._lock:
            if name not in self._studies:
                raise InputError("this study is no longer open; drop the file again")
            return self._studies[name]

    def start(self, name: str, kind: str, options: dict[str, Any]) -> str:
        """Start a job of a study and return its name."""
        from ordbridge.app.work import KINDS

        study = self.study(name)
        if kind not in KINDS:
            raise InputError(f"there is nothing called {kind!r} to do")
        if sum(job.snapshot()["state"] == "running" for job in study.jobs.values()) >= MOST_RUNNING:
            raise InputError(f"{MOST_RUNNING} computations are running already; wait for one or cancel it")
        job = secrets.token_hex(8)
        study.jobs[job] = Job(kind, study, options, job)
        with self._lock:
            gone = name not in self._studies
        if gone:  # the tab was closed just now
            study.jobs[job].cancel()
            shutil.rmtree(study.folder, ignore_errors=True)
        return job

    def job(self, name: str, job: str) -> Job:
        """Return a job of a study."""
        found = self.study(name).jobs.get(job)
        if found is None:
            raise InputError("there is no such computation; start it again")
        return found

    def forget(self, name: str) -> None:
        """End a study's jobs and delete all it has."""
        with self._lock:
            study = self._studies.pop(name, None)
        if study is not None:
            for job in list(study.jobs.values()):
                job.cancel()
            shutil.rmtree(study.folder, ignore_errors=True)

    def close(self) -> None:
        """Forget everything."""
        for name in list(self._studies):
            self.forget(name)
        leftovers.remove(self._folder)
        if self._cleaner.stdin is not None:
            self._cleaner.stdin.close()
        self._cleaner.wait(10)


def _can_copy() -> bool:
    """Tell whether there can be a server of processes: its socket is a file, whose path may not be long."""
    return sys.platform != "win32" and len(tempfile.gettempdir()) <= LONGEST_FOLDER


def _context() -> Any:
    """Return how processes start: as copies of a small server with everything loaded, where that is possible."""
    if not _can_copy():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["ordbridge.app.work"])
    return context
