"""Where results live: a folder with a manifest and Parquet parts, each of which appears whole or not at all.

Layout::

    manifest.json     what was asked: grid, truths, seed, models, engine; the nulls that critical values are taken from;
                      and the versions of everything that ran
    fits/*.parquet    the rows; a part has its checksum in its name and the identity of its run in its metadata
    set-aside/        parts that were damaged, impossible or of another run, moved here by a writer and never read
    lock              held by the one process that writes; its number is in lock-holder
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock, Timeout

from ordbridge.errors import InputError
from ordbridge.power.fit_table import FITS
from ordbridge.power.manifest import FILE, differences, explain_failed_write, identity_of, read_manifest, write_manifest
from ordbridge.power.parts import IDENTITY, checksum, set_aside, sound_parts
from ordbridge.support.naming import arg
from ordbridge.support.writing import sync_file, sync_folder

EVERY_SECONDS = 2.0  # how much finished work a kill can cost at most, apart from the batches under way
BUFFERED_ROWS = 20_000
SMALL_ROWS, SMALL_PARTS = 20_000, 50  # so many parts below so many rows are merged into one
LOCK, HOLDER = "lock", "lock-holder"  # apart, because who asks for a lock empties its file
OWN = {"fits", LOCK, HOLDER}


def folder_of(store: str | os.PathLike[str]) -> Path:
    """Return the folder that a store is named by, with ``~`` for the home folder as in a shell."""
    try:
        os.fspath(store).encode()
        return Path(store).expanduser()
    except (AttributeError, RuntimeError, TypeError, ValueError):
        raise InputError(f"{arg('store', store)} is not the name of a folder") from None


class Store:
    """The writing side of a run's folder; one process at a time.

    Parameters
    ----------
    path
        The folder; made if it is not there. An existing run in it must be the same run, see :func:`identity_of`.
    manifest
        What was asked, as plain lists, numbers and text.
    """

    def __init__(self, path: str | os.PathLike[str], manifest: Mapping[str, Any]) -> None:
        self.path = folder_of(path)
        self.identity = identity_of(manifest)
        self._rows: list[pa.Table] = []
        self._flushed = float("-inf")
        _make_folder(self.path)
        self._lock = _lock(self.path)
        try:
            there, self.manifest = self._adopt(dict(manifest))
            _make_folder(self.path / "fits")
            for leftover in [*self.path.glob(".*.tmp"), *(self.path / "fits").glob(".*.tmp")]:
                if leftover.is_file() or leftover.is_symlink():
                    leftover.unlink()
            self._small = [
                part
                # all columns: a fit counts as done only if its whole row can be read
                for part, _ in sound_parts(self.path, self.manifest, columns=FITS.names, distrust=set_aside)
                if pq.read_metadata(part).num_rows < SMALL_ROWS
            ]
            if self.manifest != there:
                write_manifest(self.path, self.manifest)
        except BaseException:
            self.close()
            raise

    def add(self, rows: pa.Table) -> None:
        """Take rows; :meth:`keep_up` writes them two seconds later at most."""
        self._rows.append(rows)
        if sum(table.num_rows for table in self._rows) >= BUFFERED_ROWS:
            self.flush()
        self.keep_up()

    def keep_up(self) -> None:
        """Write what is waiting if the last part is two seconds old; to be called now and then."""
        if time.monotonic() - self._flushed >= EVERY_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write what is waiting as one part."""
        if not self._rows:
            return
        part = self._write_part([pa.concat_tables(self._rows)])
        self._rows.clear()
        self._flushed = time.monotonic()
        self._small.append(part)
        if len(self._small) >= SMALL_PARTS:
            self._merge()

    def update(self, **values: Any) -> None:
        """Change the manifest where that does not make it another run."""
        changed = {**self.manifest, **values}
        if changed != self.manifest:
            self.manifest = changed
            write_manifest(self.path, changed)

    def close(self) -> None:
        """Let others write."""
        self._lock.release()

    def _adopt(self, manifest: dict[str, Any]) -> tuple[dict[str, Any] | None, dict[str, Any]]:
        """Return the manifest that is there, if any, and the one to go on with; another run is refused."""
        manifest["identity"] = self.identity
        if not os.path.lexists(self.path / FILE):
            foreign = [p.name for p in self.path.iterdir() if p.name not in OWN and not p.name.endswith(".tmp")]
            if foreign:
                raise InputError(f"{self.path} holds {foreign[0]!r} but no power run; name an empty or a new folder")
            return None, manifest
        there = read_manifest(self.path)
        if identity_of(there) != self.identity:
            raise InputError(
                f"{self.path} holds another run: {'; '.join(differences(there, manifest))}; "
                "name another folder, or ask for the same run"
            )
        kept = {name: there[name] for name in ("cells", "grid", "models", "created", "environments")}
        merged = {**manifest, **kept, "datasets": max(there["datasets"], manifest["datasets"])}
        if calibration := max(there.get("calibration", 0), manifest.get("calibration", 0)):
            nulls = {**there.get("null_cells", {}), **manifest.get("null_cells", {})}
            merged |= {"calibration": calibration, "null_cells": nulls}
        return there, merged

    def _write_part(self, tables: Iterable[pa.Table]) -> Path:
        partial = self.path / "fits" / f".{time.time_ns():020d}.tmp"
        schema = FITS.with_metadata({IDENTITY: self.identity.encode()})
        try:
            with pq.ParquetWriter(partial, schema, compression="zstd", write_page_checksum=True) as writer:
                for table in tables:
                    writer.write_table(table.replace_schema_metadata(schema.metadata).combine_chunks())
            sync_file(partial)
            final = partial.with_name(f"{partial.stem[1:]}-{checksum(partial)}.parquet")
            os.replace(partial, final)
            sync_folder(final.parent)
        except OSError as error:
            partial.unlink(missing_ok=True)
            explain_failed_write(error, self.path)
        return final

    def _merge(self) -> None:
        """Make one part of many small ones; if it is cut short, rows are there twice, which reading puts right."""
        old = self._small
        merged = self._write_part(_by_rows(old, SMALL_ROWS))
        for part in old:
            part.unlink()
        pa.default_memory_pool().release_unused()  # Arrow would keep what merging needed, and grow with every merge
        self._small = [merged] if pq.read_metadata(merged).num_rows < SMALL_ROWS else []


def _by_rows(parts: Iterable[Path], rows: int) -> Iterator[pa.Table]:
    """Read parts and return them in tables of about so many rows: a file of many tiny row groups reads slowly."""
    waiting: list[pa.Table] = []
    for part in parts:
        waiting.append(pq.read_table(part, use_threads=False))
        if sum(table.num_rows for table in waiting) >= rows:
            yield pa.concat_tables(waiting)
            waiting.clear()
    if waiting:
        yield pa.concat_tables(waiting)


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise InputError(f"{arg('store', str(path))} is a file; name a folder") from None
    except OSError as error:
        raise InputError(f"the folder {path} cannot be made: {error.strerror}") from None


def _lock(path: Path) -> FileLock:
    """Hold the folder's lock; the system lets go of it when the process ends, however it ends."""
    lock, holder = FileLock(path / LOCK, timeout=0), path / HOLDER
    for file in (path / LOCK, holder):  # a link would be followed, and what it points to emptied
        if file.is_symlink() or (file.exists() and not file.is_file()):
            raise InputError(f"{file} is not a file of a power run; remove it, or name another folder")
    try:
        lock.acquire()
    except Timeout:
        number = holder.read_text(encoding="utf-8")[:20] if holder.is_file() else "unknown"
        raise InputError(
            f"another run (process {number}) is writing to {path}; wait for it, or name another folder"
        ) from None
    except OSError as error:
        raise InputError(f"{path} cannot be written to: {error.strerror}") from None
    try:
        _write_holder(holder)
    except OSError as error:
        lock.release()
        explain_failed_write(error, path)
    return lock


def _write_holder(holder: Path) -> None:
    handle = os.open(holder, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o666)
    with open(handle, "w", encoding="utf-8") as text:
        text.write(str(os.getpid()))
