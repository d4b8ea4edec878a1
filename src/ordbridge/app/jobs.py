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
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

from ordbridge.errors import InputError
from ordbridge.power.backends import environment
from ordbridge.support import temp_cleanup

LONGEST_FOLDER = 70  # of temporary files; a socket's path has at most 104 characters, of which Python takes 32
MOST_RUNNING = 4  # jobs at a time, of all studies together
GIGABYTES = 4.0  # of memory that a job may use
END = 5.0  # seconds that a process may take to end when it has said everything
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
    """One computation: what it was asked, how far it is, and what came out.

    ``ended`` is called once, when its process is gone and its descriptors are closed.
    """

    def __init__(
        self,
        kind: str,
        study: TabStudy,
        options: dict[str, Any],
        name: str,
        memory: float,
        ended: Callable[[], object],
    ) -> None:
        from ordbridge.app.work import carry_out

        self.kind, self.folder = kind, study.folder / name
        self.folder.mkdir(mode=0o700)
        self.state: dict[str, Any] = {"state": "running", "text": "starting"}
        self._memory, self._ended = memory, ended
        self._lock = threading.Lock()
        own, other = _context().Pipe(duplex=False)
        words = (other, kind, str(study.folder), study.uploads, options, name, memory)
        self._process = _context().Process(target=carry_out, args=words)
        try:
            # the process from which all others are copied is not to import a socket.py of the folder where it starts
            with _starting, environment(PYTHONSAFEPATH="1"):
                self._process.start()
        except BaseException:
            own.close()
            raise
        finally:
            other.close()
        self._listener = threading.Thread(target=self._listen, args=(own,), daemon=True)
        self._listener.start()

    def _listen(self, connection: Any) -> None:
        with connection, suppress(EOFError, OSError):
            while self._take(connection.recv()):
                pass
        self._process.join(END)
        self._take({"error": self._end_without_a_word(self._process.exitcode)})  # unless it said something else
        with self._lock:
            self._kill()  # its workers too, if there are any left
        self._process.join(END)
        with suppress(ValueError):  # a process that even SIGKILL does not end yet
            self._process.close()
        self._ended()

    def _take(self, said: dict[str, Any]) -> bool:
        """Note what the process says; return whether it is going to say more."""
        over = "done" if "result" in said else "failed" if "error" in said else ""
        with self._lock:
            if self.state["state"] == "running":
                self.state = {"state": over or "running", **said}
        return not over

    def _end_without_a_word(self, code: int | None) -> str:
        if code is not None and code < 0:
            return (
                f"the computation was ended by {signal.Signals(-code).name}, perhaps for lack of memory; "
                f"it may use {self._memory:g} GB"
            )
        return "the computation ended unexpectedly; start it again"

    def snapshot(self) -> dict[str, Any]:
        """Return the state as it is now."""
        with self._lock:
            return dict(self.state)

    def cancel(self) -> None:
        """End the process, whatever it does."""
        with self._lock:
            if self.state["state"] == "running":
                self.state = {"state": "cancelled"}
                self._kill()
        self._listener.join(END)

    def _kill(self) -> None:
        """Kill the process with its workers; nothing of it is worth waiting for."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except (AttributeError, OSError):  # it has no group of its own yet, or cannot have one
            self._process.kill()


class TabStudy:
    """One tab's files and jobs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: list[str] = []
        self.second: str | None = None
        self.plan: str | None = None
        self.jobs: dict[str, Job] = {}

    @property
    def uploads(self) -> tuple[tuple[str, ...], str | None, str | None]:
        """The names of what was dropped: ratings, a second file, a plan."""
        return tuple(self.files), self.second, self.plan


class Jobs:
    """All studies of a server, in one private folder that goes away with it; a job may use ``memory``, in GB."""

    def __init__(self, memory: float = GIGABYTES) -> None:
        self.folder = temp_cleanup.temporary_folder()
        self._memory, self._places = memory, threading.BoundedSemaphore(MOST_RUNNING)
        self._studies: dict[str, TabStudy] = {}
        self._lock = threading.Lock()
        command = [sys.executable, "-IS", "-c", CLEANER, str(self.folder)]
        # in a session of its own: Ctrl-C and a closed terminal are for the program, not for who cleans up after it
        if _can_copy():
            _context()
            with _starting, environment(PYTHONSAFEPATH="1"):
                forkserver.ensure_running()  # it loads while the page is being looked at
        self._cleaner = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)

    def new(self) -> str:
        """Open an empty study and return its name, which nobody can guess."""
        name = secrets.token_urlsafe(16)
        folder = self.folder / name
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
        if not self._places.acquire(blocking=False):
            raise InputError(f"{MOST_RUNNING} computations are running already; wait for one or cancel it")
        job = secrets.token_hex(8)
        try:
            study.jobs[job] = Job(kind, study, options, job, self._memory, self._places.release)
        except BaseException:
            self._places.release()
            raise
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
        temp_cleanup.remove(self.folder)
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
