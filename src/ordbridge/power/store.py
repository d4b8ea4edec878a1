"""Where results live: a folder with a manifest and Parquet parts, each of which appears whole or not at all.

Layout::

    manifest.json     what was asked: grid, truths, seed, models, engine; and the versions of everything that ran
    fits/*.parquet    the rows; a part has its checksum in its name and the identity of its run in its metadata
    set-aside/        parts that were damaged or belong to another run, moved here and never read
    lock              held by the one process that writes
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.parquet as pq

from ordbridge.errors import InputError

__all__ = ["FITS", "Store", "identity_of", "read_fits", "read_manifest"]

FORMAT = 1
FITS = pa.schema(
    [
        ("cell", pa.string()),
        ("replicate", pa.int32()),
        ("model", pa.string()),
        ("engine", pa.string()),
        ("term", pa.string()),
        ("estimate", pa.float64()),
        ("std_error", pa.float64()),
        ("statistic", pa.float64()),
        ("df", pa.float64()),
        ("p_value", pa.float64()),
        ("loglik", pa.float64()),
        ("converged", pa.bool_()),
        ("singular", pa.bool_()),
        ("status", pa.string()),
        ("message", pa.string()),
        ("seconds", pa.float64()),
    ]
)
"""The columns of the fits table."""

EVERY_SECONDS = 2.0  # how much finished work a kill can cost at most, apart from the batches under way
BUFFERED_ROWS = 20_000
SMALL_ROWS, SMALL_PARTS = 20_000, 50  # so many parts below so many rows are merged into one
IDENTITY = b"ordbridge_run"


def identity_of(manifest: Mapping[str, Any]) -> str:
    """Return what a run is recognised by: cells, seed, models and engine, in whatever order they were written."""
    parts = {name: manifest[name] for name in ("cells", "seed", "models", "engine")}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


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
        self.path = Path(path)
        self.identity = identity_of(manifest)
        self._rows: list[pa.Table] = []
        self._flushed = float("-inf")
        _make_folder(self.path)
        self._lock = _lock(self.path)
        try:
            self.manifest = self._adopt(dict(manifest))
            (self.path / "fits").mkdir(exist_ok=True)
            for leftover in [*self.path.glob(".*.tmp"), *(self.path / "fits").glob(".*.tmp")]:
                leftover.unlink()
            self._small = [
                part for part in sound_parts(self.path, self.identity) if pq.read_metadata(part).num_rows < SMALL_ROWS
            ]
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
            _write_json(self.path / "manifest.json", changed)

    def close(self) -> None:
        """Let others write."""
        os.close(self._lock)

    def _adopt(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """Go on with the run that is there, if it is the same one, or start a new one."""
        if not (self.path / "manifest.json").exists():
            foreign = [p.name for p in self.path.iterdir() if p.name != "lock" and not p.name.endswith(".tmp")]
            if set(foreign) - {"fits"}:
                raise InputError(f"{self.path} holds {foreign[0]!r} but no power run; name an empty or a new folder")
            _write_json(self.path / "manifest.json", manifest)
            return manifest
        there = read_manifest(self.path)
        if identity_of(there) != self.identity:
            raise InputError(
                f"{self.path} holds another run: {'; '.join(_differences(there, manifest))}; "
                "name another folder, or ask for the same run"
            )
        kept = {name: there[name] for name in ("cells", "grid", "models", "created", "environments")}
        merged = {**manifest, **kept, "sims": max(there["sims"], manifest["sims"])}
        if merged != there:
            _write_json(self.path / "manifest.json", merged)
        return merged

    def _write_part(self, tables: Iterable[pa.Table]) -> Path:
        partial = self.path / "fits" / f".{time.time_ns():020d}.tmp"
        schema = FITS.with_metadata({IDENTITY: self.identity.encode()})
        try:
            with pq.ParquetWriter(partial, schema, compression="zstd") as writer:
                for table in tables:
                    writer.write_table(table.replace_schema_metadata(schema.metadata).combine_chunks())
            _sync(partial)
            final = partial.with_name(f"{partial.stem[1:]}-{_checksum(partial)}.parquet")
            os.replace(partial, final)
        except OSError as error:
            partial.unlink(missing_ok=True)
            _explain_full_disk(error, self.path)
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


def read_manifest(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what a folder's run was asked to do."""
    file = Path(path) / "manifest.json"
    if not file.is_file():
        raise InputError(f"there is no power run in {path}: it has no manifest.json")
    try:
        manifest: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if manifest["format"] != FORMAT:
            raise InputError(f"{file} has format {manifest['format']}; this ordbridge reads format {FORMAT}")
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{file} is damaged ({error}); its parts are whole: put the manifest back, or run anew"
        ) from None
    return manifest


def read_fits(path: Path, identity: str, columns: Sequence[str]) -> pa.Table:
    """Read columns of all rows, each (cell, replicate, model, engine) once, in no particular order."""
    wanted = list(dict.fromkeys(("cell", "replicate", "model", "engine", *columns)))
    for _ in range(5):
        try:
            parts = sound_parts(path, identity)
            tables = [pq.read_table(part, columns=wanted, use_threads=False) for part in parts]
            break
        except FileNotFoundError:  # the run is still going and has just merged its parts: look again
            continue
    else:
        raise InputError(f"the parts of {path} change faster than they can be read; wait until the run has ended")
    schema = pa.schema([FITS.field(name) for name in wanted])
    return _once(pa.concat_tables([schema.empty_table(), *(t.replace_schema_metadata(None) for t in tables)]))


def sound_parts(path: Path, identity: str) -> list[Path]:
    """Return the parts of this run, oldest first; name and set aside what is damaged or foreign."""
    sound = []
    for part in sorted((path / "fits").glob("*")):
        if part.name.endswith(".tmp"):
            continue
        if reason := _fault(part, identity):
            _set_aside(path, part, reason)
        else:
            sound.append(part)
    return sound


def _fault(part: Path, identity: str) -> str:
    """Return why a part cannot be trusted, or nothing if it can."""
    if part.suffix != ".parquet" or part.stem.rpartition("-")[2] != _checksum(part):
        return "it is damaged, its content does not fit its name"
    schema = pq.read_schema(part)
    if (schema.metadata or {}).get(IDENTITY) != identity.encode():
        return "it belongs to another run"
    return "" if schema.equals(FITS) else "it has other columns"


def _checksum(file: Path) -> str:
    with open(file, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()[:16]


def _set_aside(path: Path, part: Path, reason: str) -> None:
    moved = ""
    with contextlib.suppress(OSError):  # a folder that may only be read: left where it is, and not read
        (path / "set-aside").mkdir(exist_ok=True)
        shutil.move(part, path / "set-aside" / part.name)
        moved = f" and was moved to {path / 'set-aside'}"
    warnings.warn(f"{part} is not read: {reason}{moved}; its fits are run again on resuming", stacklevel=2)


def _once(table: pa.Table) -> pa.Table:
    """Keep the first of rows with the same key."""
    import numpy as np

    keys = [table[name].combine_chunks() for name in ("cell", "replicate", "model", "engine")]
    codes = [k.dictionary_encode().indices.to_numpy() if pa.types.is_string(k.type) else k.to_numpy() for k in keys]
    if not table.num_rows:
        return table
    combined = np.ravel_multi_index(codes, [int(code.max()) + 1 for code in codes])
    first = np.unique(combined, return_index=True)[1]
    return table if first.size == table.num_rows else table.take(pa.array(np.sort(first)))


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise InputError(f"store={str(path)!r} is a file; name a folder") from None
    except OSError as error:
        raise InputError(f"the folder {path} cannot be made: {error.strerror}") from None


def _lock(path: Path) -> int:
    """Hold the folder's lock; the system lets go of it when the process ends, however it ends."""
    import fcntl

    lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        holder = os.read(lock, 32).decode() or "unknown"
        os.close(lock)
        raise InputError(
            f"another run (process {holder}) is writing to {path}; wait for it, or name another folder"
        ) from None
    os.ftruncate(lock, 0)
    os.write(lock, str(os.getpid()).encode())
    return lock


def _write_json(file: Path, values: Mapping[str, Any]) -> None:
    try:
        handle, partial = tempfile.mkstemp(dir=file.parent, prefix=".manifest-", suffix=".tmp")
        with open(handle, "w", encoding="utf-8") as text:
            json.dump(values, text, indent=1, ensure_ascii=False)
            text.flush()
            os.fsync(text.fileno())
        os.replace(partial, file)
    except OSError as error:
        _explain_full_disk(error, file.parent)


def _sync(file: Path) -> None:
    with open(file, "rb") as written:
        os.fsync(written.fileno())


def _explain_full_disk(error: OSError, path: Path) -> NoReturn:
    if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        raise error
    raise OSError(
        error.errno,
        f"no space left for {path}: what was stored stays readable; free some space and give the same command again",
    ) from None


def _differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> Iterator[str]:
    """Say in words what makes two runs different."""
    for name in ("seed", "engine"):
        if there[name] != here[name]:
            yield f"{name} is {there[name]} there and {here[name]} here"
    for name in sorted({*there["models"], *here["models"]}):
        old, new = there["models"].get(name), here["models"].get(name)
        if old is None or new is None:
            yield f"the model {name} is only {'here' if old is None else 'there'}"
        elif old != new:
            yield from (f"{option} of {name} is {old.get(option)!r} there and {new.get(option)!r} here"
                        for option in sorted({*old, *new}) if old.get(option) != new.get(option))  # fmt: skip
    if there["cells"] != here["cells"]:
        yield from _grid_differences(there, here)


def _grid_differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> Iterator[str]:
    old, new = there["grid"]["axes"], here["grid"]["axes"]
    named = False
    for axis in dict.fromkeys([*old, *new]):
        if sorted(map(str, old.get(axis, ()))) != sorted(map(str, new.get(axis, ()))):
            named = True
            yield f"{axis} is {_list(old.get(axis))} there and {_list(new.get(axis))} here"
    if not named:
        cell = next(label for label in there["cells"] if there["cells"][label] != here["cells"].get(label))
        yield f"the truth or the design of cell '{cell}' is another"


def _list(values: list[Any] | None) -> str:
    return "no axis" if values is None else ", ".join(map(str, values))
