"""Damaged, foreign and hostile stores: whatever is done to a folder, the table is right or there is one sentence.

    python tests/fuzz/stores.py --cases 2000 --seed 1

Every case starts from a sound store, changes one to three things, and then reads it and continues it. Reading must
leave the folder as it is, and show only rows that a fit has left. Continuing must end with the whole right table.
Either may be refused, in one sentence. A case is named by its number, so that ``--only 17`` repeats it. What is not
tried, because nobody can tell it: another number in a right place, with everything else made to fit.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ordbridge.errors import InputError
from ordbridge.power import Grid, load
from ordbridge.power.api import carry_out
from ordbridge.power.assignment import Assignment
from ordbridge.power.fit_table import FITS
from ordbridge.power.models import resolve
from ordbridge.power.parts import IDENTITY, checksum
from ordbridge.power.store import Store
from ordbridge.power.worker import Batch, fit_batch

SIMS = 4
SECONDS = 300  # after which a case hangs, even on a busy machine


class InProcess:
    """A backend that does everything at once, in this process."""

    jobs = 1

    def submit(self, work: Callable[[Any], Any], batch: Any) -> Future:
        future: Future = Future()
        try:
            future.set_result(work(batch))
        except Exception as error:
            future.set_exception(error)
        return future

    def answer(self, future: Future) -> Any:
        return future.result()

    def stopped(self) -> list[int]:
        return []

    def check(self) -> None: ...

    renew = restart = kill = close = check


def assignment(seed: int = 7) -> Assignment:
    grid = Grid(preset="howcroft2021", variance="low", items=20, ratings_per_text=2, effect=[0, 0.62])
    return Assignment(grid, resolve(["lm", "clm"], grid.cells, None, grid.preset), SIMS, seed, "fast")


def build(folder: Path, seed: int = 7) -> None:
    """Write a store in three parts."""
    asked = assignment(seed)
    store = Store(folder, asked.manifest())
    rows = []
    for cell in asked.cells:
        for replicate in range(SIMS):
            rows.append(fit_batch(Batch(cell, seed, asked.fits(cell, replicate))).rows)
    for part in (rows[:3], rows[3:5], rows[5:]):
        for one in part:
            store._rows.append(one)
        store.flush()
    store.update(environments=[{"python": "3", "ordbridge": "0"}])
    store.close()


class Fuzzer:
    """Sound stores, and what can be done to them."""

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="fuzz-"))
        build(self.home / "sound")
        build(self.home / "other", seed=8)
        self.endings: Counter[str] = Counter()
        self.truth = {key(row): row for row in load(self.home / "sound").fits.to_pylist()}

    def close(self) -> None:
        shutil.rmtree(self.home, ignore_errors=True)

    def check(self, number: int) -> str:
        """Run one case and return what was done; raise an AssertionError if it went wrong."""
        chance = random.Random(number)
        folder = self.home / f"case-{number}"
        shutil.copytree(self.home / "sound", folder)
        try:
            done = [self._damage(folder, chance) for _ in range(chance.choice((1, 1, 1, 2, 3)))]
            with time_limit(SECONDS), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._read(folder)
                self._go_on(folder)
            return "; ".join(done)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _read(self, folder: Path) -> None:
        before = state(folder)
        try:
            run = load(folder)
            rows = run.fits.to_pylist()
            for row in rows:
                assert same_row(row, self.truth.get(key(row), {})), f"a row that no fit has left: {row}"
            assert len({key(row) for row in rows}) == len(rows), "a fit is there twice"
            run.power()
            run.failures(warnings=True)
            run.compare("lm", "clm")
            run.bias()
            assert 0 <= run.missing <= 2**31 * 4
            str(run.cells)
            self.endings["read: only right rows"] += 1
        except InputError as error:
            assert_sentence(error)
            self.endings["read: a sentence"] += 1
        finally:
            assert state(folder) == before, "reading has changed the folder"

    def _go_on(self, folder: Path) -> None:
        try:
            run = carry_out(assignment(), folder, InProcess)
        except InputError as error:
            assert_sentence(error)
            self.endings["continued: a sentence"] += 1
            return
        found = {key(row): row for row in run.fits.to_pylist()}
        assert found.keys() == self.truth.keys(), f"{len(found)} fits instead of {len(self.truth)}"
        for one, row in found.items():
            assert same_row(row, self.truth[one]), f"another result after continuing: {row}"
        self.endings["continued: the whole right table"] += 1

    def _damage(self, folder: Path, chance: random.Random) -> str:
        what = chance.choice([self._manifest_bytes, self._manifest_values, self._part_bytes, self._part_rows,
                              self._part_rows, self._part_rows, self._part_columns, self._strange_files])  # fmt: skip
        with suppress(OSError, IndexError, ValueError, pa.ArrowException, RecursionError):  # nothing is left to damage
            return f"{what.__name__[1:]}: {what(folder, chance)}"
        return "nothing more to damage"

    def _manifest_bytes(self, folder: Path, chance: random.Random) -> str:
        file = manifest_of(folder)
        text = file.read_bytes()
        name, data = chance.choice([
            ("empty", b""), ("truncated", text[: chance.randrange(len(text))]), ("random", chance.randbytes(300)),
            ("flipped", flipped(text, chance)), ("deep list", b"[" * 100_000), ("latin-1", text + b"\xe9"),
            ("deep object", b'{"a":' * 50_000), ("null", b"null"), ("number", b"1e999"), ("list", b"[1]"),
            ("bom", b"\xef\xbb\xbf" + text), ("text", b'"format"'), ("twice", text + text),
            ("deep inside", text.replace(b'"grid": {', b'"grid": {"deep": ' + b"[" * 50_000 + b"]" * 50_000 + b",")),
        ])  # fmt: skip
        file.write_bytes(data)
        return name

    def _manifest_values(self, folder: Path, chance: random.Random) -> str:
        file = manifest_of(folder)
        manifest = json.loads(file.read_text())
        places = list(walk(manifest))
        for _ in range(chance.choice((1, 1, 2))):
            holder, place = chance.choice(places)
            action = chance.choice(("delete", "replace", "replace", "add"))
            with suppress(LookupError, TypeError):  # the place may have gone with the last change
                if action == "delete":
                    del holder[place]
                elif action == "replace":
                    holder[place] = chance.choice(HOSTILE)
                elif isinstance(holder, dict):
                    holder[chance.choice(("extra", "", "backend", "scheduler", "name"))] = chance.choice(HOSTILE)
        if chance.random() < 0.3 and isinstance(manifest, dict):
            manifest.pop("identity", None)  # as version 0.1 wrote it
        file.write_text(json.dumps(manifest))
        return f"{action} {place!r}"

    def _part_bytes(self, folder: Path, chance: random.Random) -> str:
        part = chance.choice(parts_of(folder))
        data = part.read_bytes()
        name, changed = chance.choice([
            ("empty", b""), ("truncated", data[: chance.randrange(len(data))]), ("flipped", flipped(data, chance)),
            ("random", chance.randbytes(500)), ("longer", data + b"\0"), ("magic", b"PAR1PAR1"),
        ])  # fmt: skip
        part.write_bytes(changed)
        if chance.random() < 0.6:  # whoever did it knows how parts are named
            part.rename(part.with_name(f"{part.stem.partition('-')[0]}-{checksum(part)}.parquet"))
            name += ", renamed"
        return name

    def _part_rows(self, folder: Path, chance: random.Random) -> str:
        part = chance.choice(parts_of(folder))
        table = pq.read_table(part)
        rows = table.to_pylist()
        row = chance.choice(rows)
        name, column, value = chance.choice(IMPOSSIBLE)
        extra = dict(row)
        if column == "*":
            rows += rows if value == "twice" else [dict(row) for _ in range(1000)]
        elif column == "contradiction":
            extra["p_value"] = 0.5 if (extra["p_value"] or 1) < 0.4 else 1e-9
            extra["status"] = "ok"
            rows.insert(0, extra)
        elif column == "bomb":
            rows = rows[:1]
        elif chance.random() < 0.5:
            row[column] = value
        else:
            rows.append(extra | {column: value})
        table = pa.Table.from_pylist(rows, FITS).replace_schema_metadata(table.schema.metadata)
        if column == "bomb":
            table = pa.concat_tables([table] * 200_000).combine_chunks()
        seal(part, table)
        return name

    def _part_columns(self, folder: Path, chance: random.Random) -> str:
        part = chance.choice(parts_of(folder))
        table = pq.read_table(part)
        column = chance.choice(table.column_names)
        action = chance.choice(("drop", "text", "double", "list", "rename", "extra", "metadata", "other run"))
        metadata = table.schema.metadata
        if action == "drop":
            table = table.drop_columns([column])
        elif action in ("text", "double", "list"):
            values = {"text": pa.array(["x"] * table.num_rows), "double": pa.array([0.5] * table.num_rows),
                      "list": pa.array([[1]] * table.num_rows)}[action]  # fmt: skip
            if values.type == table[column].type:
                return "nothing: another number in a right place cannot be told from a result"
            table = table.set_column(table.column_names.index(column), column, values)
        elif action == "rename":
            table = table.rename_columns([n + "x" if n == column else n for n in table.column_names])
        elif action == "extra":
            table = table.append_column("extra", table[column])
        elif action == "metadata":
            metadata = chance.choice([None, {IDENTITY: b""}, {IDENTITY: chance.randbytes(16)}, {b"x": b"y"}])
        else:
            other = chance.choice(sorted((self.home / "other" / "fits").iterdir()))
            shutil.copy(other, folder / "fits")
            return action
        seal(part, table.replace_schema_metadata(metadata))
        return f"{action} {column}"

    def _strange_files(self, folder: Path, chance: random.Random) -> str:
        fits = folder / "fits"
        part = chance.choice(parts_of(folder))
        elsewhere = self.home / "precious"
        elsewhere.write_text("precious")
        name = chance.choice(STRANGE)
        match name:
            case "fifo":
                os.mkfifo(fits / "1-x.parquet")
            case "folder":
                (fits / "a.parquet").mkdir()
            case "link":
                shutil.move(part, self.home / f"{folder.name}-moved")
                part.symlink_to(self.home / f"{folder.name}-moved")
            case "dangling":
                (fits / "0-x.parquet").symlink_to("/nowhere/at/all")
            case "device":
                (fits / "0-x.parquet").symlink_to("/dev/zero")
            case "odd name":
                part.rename(part.with_name("\udcff\n$(id).parquet"))
            case "lock folder":
                (folder / "lock").unlink(missing_ok=True)
                (folder / "lock").mkdir()
            case "lock link" | "holder link":
                link = folder / ("lock" if name == "lock link" else "lock-holder")
                link.unlink(missing_ok=True)
                link.symlink_to(elsewhere)
            case "holder":
                (folder / "lock-holder").write_bytes(chance.randbytes(100_000))
            case "fits file":
                shutil.rmtree(fits)
                fits.write_text("x")
            case "set-aside file":
                (folder / "set-aside").write_text("x")
                part.write_bytes(b"")
            case "tmp folder":
                (fits / ".0.tmp").mkdir()
            case "manifest folder" | "manifest fifo" | "no manifest":
                (folder / "manifest.json").unlink()
                if name == "manifest folder":
                    (folder / "manifest.json").mkdir()
                elif name == "manifest fifo":
                    os.mkfifo(folder / "manifest.json")
            case "no parts":
                shutil.rmtree(fits)
            case "notes":
                (folder / "notes.txt").write_text("mine")
        return name


STRANGE = (
    "fifo", "folder", "link", "dangling", "device", "odd name", "lock folder", "lock link", "holder link", "holder",
    "fits file", "set-aside file", "tmp folder", "manifest folder", "manifest fifo", "no manifest", "no parts", "notes",
)  # fmt: skip

HOSTILE: list[Any] = [
    None, -1, 0, 1, 10**30, 1e308, float("nan"), float("inf"), "", "x", "x" * 100_000, "../../etc/passwd", "a\0b",
    "\udcff", [], {}, [[]], [None], {"": None}, True, False, ["low"], {"kind": "crossed", "items": 10**9},
    "howcroft2021", "r", "fast", 2**63, -(2**63), 0.5,
]  # fmt: skip

IMPOSSIBLE: list[tuple[str, str, Any]] = [
    *((f"no {name}", name, None) for name in ("cell", "replicate", "model", "engine", "term", "status")),
    *((f"replicate {n}", "replicate", n) for n in (-1, SIMS, 2**31 - 1, -(2**31))),
    *(
        (f"strange {name}", name, value)
        for name in ("cell", "model", "engine", "term", "status")
        for value in ("", "x", "LM", "ok ", "\0", "=1+1")
    ),
    *((f"p {p}", "p_value", p) for p in (-0.1, 1.5, float("inf"), float("-inf"), None)),
    ("negative error", "std_error", -1.0),
    *((f"p of a fit called {s}", "status", s) for s in ("error", "timeout", "crashed")),
    ("all rows twice", "*", "twice"),
    ("one row a thousand times", "*", "thousand"),
    ("contradiction", "contradiction", None),
    ("bomb", "bomb", None),
]


def parts_of(folder: Path) -> list[Path]:
    """Return the parts that are files: to open what another damage has put there would wait for ever."""
    return sorted(part for part in (folder / "fits").glob("*.parquet") if part.is_file())


def manifest_of(folder: Path) -> Path:
    file = folder / "manifest.json"
    if not file.is_file():
        raise FileNotFoundError(file)
    return file


def key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("cell", "replicate", "model", "engine"))


def same_row(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return {n: v for n, v in a.items() if n != "seconds"} == {n: v for n, v in b.items() if n != "seconds"}


def seal(part: Path, table: pa.Table) -> None:
    """Write a part as a run would: with the right checksum in its name."""
    pq.write_table(table, part, compression="zstd")
    part.rename(part.with_name(f"{part.stem.partition('-')[0]}-{checksum(part)}.parquet"))


def flipped(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 8))):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def walk(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place in nested lists and objects."""
    for place in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, place
        yield from walk(value[place])


def state(folder: Path) -> list[tuple[Any, ...]]:
    """Return what is in a folder, without opening anything."""
    found = []
    for path in sorted(folder.rglob("*")):
        one = path.lstat()
        found.append((str(path), one.st_mode, one.st_size, one.st_mtime_ns, one.st_ino))
    precious = folder.parent / "precious"
    return [*found, (precious.read_text() if precious.exists() else "",)]


def assert_sentence(error: BaseException) -> None:
    text = str(error)
    assert 10 < len(text) < 1000 and "\n" not in text and "Traceback" not in text, f"not a sentence: {text[:2000]!r}"


@contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    def ring(*_: Any) -> None:
        raise AssertionError(f"hangs for more than {seconds} seconds")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0, help="number of the first case, in thousands")
    parser.add_argument("--only", type=int, help="repeat one case")
    arguments = parser.parse_args()
    fuzzer, bad = Fuzzer(), 0
    first = 1000 * arguments.seed
    numbers = [arguments.only] if arguments.only is not None else range(first, first + arguments.cases)
    for number in numbers:
        try:
            done = fuzzer.check(number)
            if arguments.only is not None:
                print(done)
        except Exception as error:
            bad += 1
            print(f"case {number}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            if arguments.only is not None:
                raise
    precious = fuzzer.home / "precious"
    if precious.exists() and precious.read_text() != "precious":
        bad += 1
        print("a file outside the store was written")
    fuzzer.close()
    for ending, cases in sorted(fuzzer.endings.items()):
        print(f"{ending:35s} {cases:5d}")
    print(f"{len(numbers)} cases, {bad} bad")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
