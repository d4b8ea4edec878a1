"""Temporary folders that are removed even if their process was killed: by the next one that looks.

Each has a lock beside it, which the system lets go of when the process ends, however it ends. A folder whose lock can
be taken no longer has an owner. The semaphores of worker processes, whose names are random, are listed in the folder of
the process that made them, and go with it.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

NAME = re.compile(r"ordbridge-[0-9a-f]{16}")
SEMAPHORES, SEMAPHORE = Path("/dev/shm"), re.compile(r"sem\.loky-\d+-\w+")  # where Linux shows them as files
LIST = "semaphores"
_locks: dict[Path, FileLock] = {}
_private: dict[int, Path] = {}  # by process, because a forked child has a copy of this


def temporary_folder() -> Path:
    """Make a folder for this process; :func:`remove` it when it is no longer needed."""
    sweep()
    folder = Path(tempfile.gettempdir()) / f"ordbridge-{secrets.token_hex(8)}"
    lock = FileLock(f"{folder}.lock", mode=0o600, timeout=0)
    lock.acquire()  # first, so that nobody takes it for a folder without an owner
    _locks[folder] = lock
    folder.mkdir(mode=0o700)
    return folder


def private_folder() -> Path:
    """Return the folder of this process, which is there until the process ends."""
    process = os.getpid()
    if process not in _private:
        _private.clear()
        _private[process] = temporary_folder()
        atexit.register(_remove_of, process)
    return _private[process]


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield a folder that is removed afterwards, if need be by another process."""
    folder = temporary_folder()
    try:
        yield folder
    finally:
        remove(folder)


def claim_semaphores() -> None:
    """List the semaphores that this process has now, so that others can remove them should it be killed."""
    with contextlib.suppress(OSError):
        mine = sorted(file.name for file in SEMAPHORES.glob(f"sem.loky-{os.getpid()}-*"))
        if mine:
            (private_folder() / LIST).write_text("\n".join(mine), encoding="utf-8")


def remove(folder: Path) -> None:
    """Remove a folder of this process, and its lock."""
    shutil.rmtree(folder, ignore_errors=True)
    lock = _locks.pop(folder, None)
    with contextlib.suppress(OSError):
        Path(f"{folder}.lock").unlink()
    if lock is not None:
        lock.release()


def sweep() -> None:
    """Remove what killed processes of this user have left behind."""
    with contextlib.suppress(OSError):
        for folder in Path(tempfile.gettempdir()).glob("ordbridge-*"):
            if NAME.fullmatch(folder.name.removesuffix(".lock")):
                _remove_if_ownerless(folder.with_name(folder.name.removesuffix(".lock")))


def _remove_if_ownerless(folder: Path) -> None:
    with contextlib.suppress(OSError):
        file = Path(f"{folder}.lock")
        if folder in _locks or (file if file.exists() else folder).lstat().st_uid != os.getuid():
            return
        lock = FileLock(file, mode=0o600, timeout=0)
        with contextlib.suppress(Timeout):
            lock.acquire()
            _remove_semaphores(folder / LIST)
            shutil.rmtree(folder, ignore_errors=True)
            file.unlink()
            lock.release()


def _remove_semaphores(listed: Path) -> None:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        for name in listed.read_text(encoding="utf-8").split("\n"):
            with contextlib.suppress(OSError):
                if SEMAPHORE.fullmatch(name):
                    (SEMAPHORES / name).unlink()


def _remove_of(process: int) -> None:
    if process == os.getpid() and process in _private:
        remove(_private.pop(process))
