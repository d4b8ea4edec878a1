"""Files that are written whole or not at all, and folders that keep what was renamed into them."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from ordbridge.errors import InputError
from ordbridge.support.arguments import file_to_write

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the system says when there is no room for more."""


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a file beside ``path`` to write to; it takes the place of ``path`` in the end, or nothing of it is left.

    Examples
    --------
    >>> with whole_file("no/such/folder/table.csv") as partial:
    ...     partial.write_text("a,b")
    Traceback (most recent call last):
    ...
    ordbridge.errors.InputError: cannot write no/such/folder/table.csv: there is no folder no/such/folder
    """
    path = file_to_write(path)
    path = path.resolve() if path.is_symlink() else path
    if path.exists() and not path.is_file() and not path.is_dir():  # a pipe or a terminal: nothing to replace
        yield path
        return
    partial = path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        yield partial
        sync_file(partial)
        os.replace(partial, path)
        sync_folder(path.parent)
    except BaseException as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        if isinstance(error, OSError):
            _explain(error, path)
        raise


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write text to a file, which appears whole or not at all."""
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8")
    return file_to_write(path)


def sync_file(file: Path) -> None:
    """Wait until a file's content is on the disk."""
    with open(file, "rb") as written:
        os.fsync(written.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until what was renamed into a folder is there even after a power cut; not every file system can say so."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _explain(error: OSError, path: Path) -> NoReturn:
    why = os.strerror(error.errno) if error.errno else str(error)
    if error.errno in FULL:
        raise OSError(error.errno, f"cannot write {path}: {why}; free some space and give the same command again")
    raise InputError(f"cannot write {path}: {why}") from None
