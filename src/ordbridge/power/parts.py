"""The parts of a run's folder: Parquet files with rows of fits, each read only if it can be what it says.

A part has its checksum in its name and the identity of its run in its metadata. Whoever can write to the folder can
make both right, so what is in a part is looked at, too: only fits that the run has been asked for, with results that a
fit can have. Reading changes nothing in the folder; the writing side moves what it does not believe to ``set-aside/``.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import stat
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ordbridge.errors import InputError
from ordbridge.power.fit_table import FAILED, FITS, KEYS, STATUSES
from ordbridge.power.manifest import asked_meanwhile, identity_of

IDENTITY = b"ordbridge_run"
LOOKED_AT = (*KEYS, "term", "std_error", "p_value", "status", "message")
OTHER_RUN = "it belongs to another run"


def read_fits(path: Path, manifest: Mapping[str, Any], columns: Sequence[str]) -> pa.Table:
    """Read columns of all fits, each once, in no particular order."""
    wanted = list(dict.fromkeys((*KEYS, *columns)))
    for _ in range(5):
        try:
            tables = [table for _, table in sound_parts(path, manifest, columns=wanted)]
            break
        except FileNotFoundError:  # the run is still going and has just merged its parts: look again
            continue
    else:
        raise InputError(f"the parts of {path} change faster than they can be read; wait until the run has ended")
    schema = pa.schema([FITS.field(name) for name in _with_keys(wanted)])
    rows = pa.concat_tables([schema.empty_table(), *tables])
    if _contradicts_itself(rows):
        raise InputError(
            f"the parts of {path} contradict each other: the same fit is in two of them, with different results"
        )
    return _once(rows).select(wanted)


def sound_parts(
    path: Path,
    manifest: Mapping[str, Any],
    *,
    columns: Sequence[str] = (),
    distrust: Callable[[Path, Path], str] | None = None,
) -> Iterator[tuple[Path, pa.Table]]:
    """Yield the parts of this run, oldest first, with their rows; warn of what is damaged, foreign or impossible."""
    manifest = {**manifest, **asked_meanwhile(path, manifest)}
    identity = identity_of(manifest)
    refused: list[tuple[Path, str]] = []
    any_sound = False
    for part in sorted((path / "fits").glob("*")):
        if part.name.endswith(".tmp"):
            continue
        table, reason = _read(part, identity, manifest, _with_keys(columns))
        if table is None:
            refused.append((part, reason))
        else:
            any_sound = True
            yield part, table
    if refused and not any_sound and all(reason == OTHER_RUN for _, reason in refused):
        raise InputError(
            f"all parts in {path / 'fits'} belong to another run; restore the manifest.json of that run, "
            "or name another folder"
        )
    for part, reason in refused:
        done = distrust(path, part) if distrust is not None else ""
        warnings.warn(f"{part} is not read: {reason}{done}; its fits are run again on resuming", stacklevel=2)


def set_aside(path: Path, part: Path) -> str:
    """Move a part to where it is never read, and say so; in a folder that may only be read it stays."""
    with contextlib.suppress(OSError):
        (path / "set-aside").mkdir(exist_ok=True)
        shutil.move(part, path / "set-aside" / part.name)
        return f" and was moved to {path / 'set-aside'}"
    return ""


def checksum(file: Path) -> str:
    """Return the beginning of a file's SHA-256."""
    with open(file, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()[:16]


def _read(
    part: Path, identity: str, manifest: Mapping[str, Any], columns: Sequence[str]
) -> tuple[pa.Table | None, str]:
    """Return the rows of a part, or none and why it cannot be trusted."""
    if reason := _fault_of_file(part, identity):
        return None, reason
    try:
        number = pq.read_metadata(part).num_rows
        if number > 100 * _most_rows(manifest):  # also if merging was cut short again and again
            return None, f"it has {number} rows, more than the run can have"
        wanted = list(dict.fromkeys((*LOOKED_AT, *columns)))
        table = pq.read_table(part, columns=wanted, use_threads=False, page_checksum_verification=True)
        table.validate(full=True)
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        return None, f"it cannot be read ({str(error).splitlines()[0][:100]})"
    table = table.replace_schema_metadata(None)
    if reason := _fault_of_rows(table, manifest):
        return None, reason
    return table.select(columns), ""


def _fault_of_file(part: Path, identity: str) -> str:
    """Return what is wrong with a part before its rows are looked at, or nothing."""
    if not stat.S_ISREG(part.stat().st_mode if part.exists() else part.lstat().st_mode):
        return "it is not a file"
    if part.suffix != ".parquet" or part.stem.rpartition("-")[2] != checksum(part):
        return "it is damaged, its content does not fit its name"
    try:
        schema = pq.read_schema(part)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        return "it is not a Parquet file"
    if (schema.metadata or {}).get(IDENTITY) != identity.encode():
        return OTHER_RUN
    return "" if schema.equals(FITS) else "it has other columns"


def _most_rows(manifest: Mapping[str, Any]) -> int:
    cells = len(manifest["cells"]) + len(manifest.get("null_cells", ()))
    return 2 * cells * len(manifest["models"]) * _most_datasets(manifest)


def _most_datasets(manifest: Mapping[str, Any]) -> int:
    return max(int(manifest["datasets"]), int(manifest.get("calibration", 0)))


def _fault_of_rows(table: pa.Table, manifest: Mapping[str, Any]) -> str:
    """Return what is wrong with the rows of a part, or nothing: no fit of this run can have left such a row."""
    for name in (*KEYS, "term", "status"):
        if table[name].null_count:
            return f"a row has no {name}"
    known = {
        "cell": {**manifest["cells"], **manifest.get("null_cells", {})},
        "model": manifest["models"],
        "engine": (manifest["engine"], "r", "ordinal"),
        "status": STATUSES,
    }
    for name, values in known.items():
        strange = pc.unique(table[name]).filter(
            pc.invert(pc.is_in(pc.unique(table[name]), pa.array(list(values), pa.string())))
        )
        if len(strange):
            return f"it has the {name} {strange[0].as_py()[:60]!r}, which the run does not have"
    replicate = table["replicate"].to_numpy()
    most = _most_datasets(manifest)
    if replicate.size and not 0 <= replicate.min() <= replicate.max() < most:
        return f"it has a replicate outside 0 to {most - 1}"
    terms = pa.array([options["term"] for options in manifest["models"].values()], pa.string())
    model = pc.index_in(table["model"], pa.array(list(manifest["models"]), pa.string()))
    if not pc.all(pc.equal(table["term"], terms.take(model.combine_chunks())), min_count=0).as_py():
        return "it has the term of another model"
    p_value, std_error = (table[name].to_numpy() for name in ("p_value", "std_error"))
    if ((p_value < 0) | (p_value > 1) | (std_error < 0)).any():
        return "it has a p-value outside 0 to 1 or a negative standard error"
    failed = pc.is_in(table["status"], pa.array(FAILED)).to_numpy()
    if (failed != np.isnan(p_value)).any():
        return "it has a failed fit with a p-value, or a fit without one that has not failed"
    return "it has a fit twice, with different results" if _contradicts_itself(table) else ""


def _with_keys(columns: Sequence[str]) -> list[str]:
    """Add what tells rows apart, and which of two is kept."""
    return list(dict.fromkeys((*columns, *KEYS, "status", "p_value")))


def _codes(table: pa.Table) -> np.ndarray:
    """Return a number for each row, the same for the same fit."""
    keys = [table[name].combine_chunks() for name in KEYS]
    codes = [k.dictionary_encode().indices.to_numpy() if pa.types.is_string(k.type) else k.to_numpy() for k in keys]
    return np.ravel_multi_index(codes, [int(code.max()) + 1 for code in codes])


def _once(table: pa.Table) -> pa.Table:
    """Keep one of the rows with the same key: the first that did not crash, because a crashed fit is tried again."""
    if not table.num_rows:
        return table
    codes = _codes(table)
    crashed = pc.equal(table["status"], "crashed").to_numpy()
    order = np.lexsort((np.arange(codes.size), crashed))
    first = order[np.unique(codes[order], return_index=True)[1]]
    return table if first.size == table.num_rows else table.take(pa.array(np.sort(first)))


def _contradicts_itself(table: pa.Table) -> bool:
    """Tell whether the same fit is there with different p-values; R's lmer repeats itself to about 1e-8."""
    table = table.filter(pc.is_valid(table["p_value"]))
    if not table.num_rows:
        return False
    codes, p_value = _codes(table), table["p_value"].to_numpy()
    order = np.argsort(codes, kind="stable")
    return bool(((np.diff(codes[order]) == 0) & (np.abs(np.diff(p_value[order])) > 1e-6)).any())
