"""Files that nobody wrote: whatever is in a file, there is a result or one sentence.

    python tests/fuzz/files.py --hours 2 --corpus ~/ordbridge-fuzz

Atheris, a coverage-guided fuzzer, mutates files of every kind that ordbridge reads: tables, workbooks, exports, plans,
truths, studies, manifests, saved fits, ledgers, draws. One process at a time; each kind gets two minutes in turn. Hours
and seconds are those of the processor, so that a busy machine only takes longer. The corpus grows in the folder, so
that a later call goes on from there. ``log.csv`` has a line per turn: how many cases, how many of them ended in
anything but a result or an InputError, or took longer than 5 seconds. ``found/`` has a file and a traceback for each
place. How to install it: README.md beside this file.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import re
import resource
import struct
import subprocess
import sys
import tempfile
import time
import tomllib
import traceback
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
SLOW = 5.0  # seconds that no case of at most LARGEST bytes may take
LARGEST = 20_000
ODD: tuple[Any, ...] = (
    None, True, False, [], {}, [[]], [{}], {"": None}, "", " ", 0, -1, 1.5, 1e308, -1e308, float("nan"), float("inf"),
    10**30,
    "\ud800", "\x00", "a\x00b", "²", "①", "٣", "９", "½", "1_000", "1e999", "0x10", "9" * 5000, "NA", "=1", "'=1",
    "＝1", "row", "none", ["rating"], {"rating": 4}, [1, "a", None], [[1, 2], [3]], {"a": {"b": {"c": 1}}}, "a" * 3000,
    "[" * 3000, "{" * 3000, "true", "1,5", "1.5.2", "2024-01-01", "\ufeff", "\u202e", "a\nb", "\r", '"', "'", "x\ty",
)  # fmt: skip


# ---- the kinds of files: what each does with its bytes


def main_reader(path: Path, data: bytes) -> None:
    """Read ratings the way a command does: recognise, check, describe, and as a plain table."""
    from ordbridge.errors import InputError
    from ordbridge.reading import check, columns_of, describe, read, tables
    from ordbridge.reading.exports import FORMATS

    pick = zlib.crc32(data)
    format = (None, None, None, None, *FORMATS)[pick // 3 % (4 + len(FORMATS))]
    try:
        if pick % 3 == 0:
            tables.to_arrow(path)
        elif pick % 3 == 1:
            ratings = read(path, format=format)
            check(ratings)
            str(ratings), str(describe(ratings))
        elif header := columns_of(path):
            name = header[pick // 7 % len(header)]
            role = ("participant", "item", "system", "rating", "criterion", "columns", "join")[pick // 11 % 7]
            read(path, **{role: [path] if role == "join" else name})
    except InputError as error:
        one_sentence(error)


def one_sentence(error: Exception) -> None:
    text = str(error)
    if "\n" in text or not text.strip():
        raise AssertionError(f"not one line: {text!r}")
    text.encode()


def file_of(suffixes: tuple[str, ...]) -> Callable[[bytes, Path], None]:
    def case(data: bytes, folder: Path) -> None:
        path = folder / f"case{suffixes[zlib.adler32(data) % len(suffixes)]}"
        path.write_bytes(data)
        try:
            main_reader(path, data)
        finally:
            path.unlink()

    return case


def packed(data: bytes, folder: Path) -> None:
    """Text or JSON in gzip; half of the cases are damaged inside, half outside."""
    import gzip

    path = folder / "case.csv.gz"
    path.write_bytes(data if data[:2] == b"\x1f\x8b" else gzip.compress(data, 1, mtime=0))
    main_reader(path, data)


def workbook(kind: str) -> Callable[[bytes, Path], None]:
    """Put a mutated part into an otherwise sound workbook; what begins with PK is a whole one."""
    part = {"xlsx": "xl/worksheets/sheet1.xml", "ods": "content.xml"}[kind]

    def case(data: bytes, folder: Path) -> None:
        path = folder / f"case.{kind}"
        if data[:2] == b"PK":
            path.write_bytes(data)
        else:
            whole = io.BytesIO(whole_workbook(kind))
            with zipfile.ZipFile(whole) as old, zipfile.ZipFile(path, "w") as new:
                for name in old.namelist():
                    new.writestr(name, data if name == part else old.read(name))
        main_reader(path, data)

    return case


def evaluation_log(data: bytes, folder: Path) -> None:
    """A log of inspect_ai whose summaries are mutated, or a file that may be one of another harness."""
    from ordbridge import logs
    from ordbridge.errors import InputError

    pick = zlib.crc32(data) % 3
    path = folder / ("case.eval", "case.json", "samples_task_2026.jsonl")[pick]
    if pick:
        path.write_bytes(data)
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("header.json", json.dumps(INSPECT_HEADER))
            archive.writestr("summaries.json", data)
    try:
        logs.is_log([path])
        logs.read(path)
    except InputError as error:
        one_sentence(error)
    finally:
        path.unlink()


INSPECT_HEADER = {
    "version": 2, "status": "success",
    "eval": {"model": "a/b", "task": "t", "config": {"epochs": 1}, "scorers": [{"name": "exact"}]},
}  # fmt: skip


def seeds_of_log() -> list[bytes]:
    scores = {"exact": {"value": "C"}, "grade": {"value": 0.5}}
    summaries = [{"id": n, "epoch": 1, "scores": scores, "metadata": {"passage": n}} for n in range(3)]
    line = {"doc_id": 0, "doc_hash": "x", "filter": "none", "metrics": ["acc"], "acc": 1.0}
    turn = {"question_id": 1, "turn": 1, "model": "m", "judge": ["j", "p"], "score": 7}
    vote = [{"instruction": "i", "preference": 1.5, "annotator": "a", "generator_1": "x", "generator_2": "y"}]
    result = {"provider": {"label": "p"}, "vars": {"q": "1"}, "namedScores": {"s": 1}, "score": 1, "failureReason": 0}
    promptfoo = {"results": {"results": [result]}}
    whole = {**INSPECT_HEADER, "samples": summaries}
    return [json.dumps(one).encode() for one in (summaries, line, turn, vote, promptfoo, whole)]


def potato_folder(data: bytes, folder: Path) -> None:
    """Three annotators; the first one's file is mutated."""
    import shutil

    from ordbridge.errors import InputError
    from ordbridge.reading import read

    place = folder / "potato"
    shutil.copytree(PROJECT / "tests/reading/exports/potato", place, dirs_exist_ok=True)
    (place / "anna" / "user_state.json").write_bytes(data)
    with contextlib.suppress(InputError):
        read(place)


def plan_file(data: bytes, folder: Path) -> None:
    from ordbridge.errors import InputError
    from ordbridge.planning import read_protocol

    path = folder / "plan.json"
    path.write_bytes(data)
    try:
        read_protocol(path)
    except InputError as error:
        one_sentence(error)
        return
    if zlib.crc32(data) % 50 == 0:  # and what is planned can be done, or not, in one sentence
        (folder / "ratings.csv").write_text(RATINGS)
        command = ("compare", "stop")[zlib.crc32(data) // 50 % 2]
        by_command(command, str(folder / "ratings.csv"), "--plan", str(path), "--engine", "fast")


RATINGS = "participant,item,system,rating\n" + "".join(
    f"p{p},t{i},{s},{1 + (p * 3 + i * 7 + len(s) * (i % 2)) % 5}\n" for p in range(6) for i in range(8) for s in "ab"
)


def by_command(*words: str) -> None:
    """Run a command, which ends in anything but the last resort."""
    from ordbridge.cli import main, unforeseen

    def fail(error: BaseException) -> str:
        raise error

    real, unforeseen.sentence = unforeseen.sentence, fail
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            main(words)
    finally:
        unforeseen.sentence = real


def truth_file(data: bytes, folder: Path) -> None:
    from ordbridge.errors import InputError
    from ordbridge.simulate import Truth

    path = folder / "truth.toml"
    path.write_bytes(data)
    try:
        truth = Truth.from_toml(path)
        Truth.from_toml(truth.to_toml())
    except InputError as error:
        one_sentence(error)


def study_file(data: bytes, folder: Path) -> None:
    from ordbridge.errors import InputError
    from ordbridge.power import models
    from ordbridge.power.study import read_study

    path = folder / "study.toml"
    path.write_bytes(data)
    try:
        study = read_study(path)
        models.resolve(study.models, study.grid.cells, study.options.get("term"), study.grid.preset)
    except InputError as error:
        one_sentence(error)


def manifest_file(data: bytes, folder: Path) -> None:
    from ordbridge.errors import InputError
    from ordbridge.power import load

    store = folder / "store"
    (store / "fits").mkdir(parents=True, exist_ok=True)
    (store / "manifest.json").write_bytes(data)
    try:
        load(store)
    except InputError as error:
        one_sentence(error)


def ledger_file(data: bytes, folder: Path) -> None:
    from ordbridge.errors import InputError
    from ordbridge.planning import Ledger
    from ordbridge.planning.interim import _known, next_boundary

    path, plan = folder / "plan.ledger.json", seed_of_plan()
    path.write_bytes(data)
    try:
        looks = Ledger(plan, path).looks()
        for look in looks:
            str(_known([look], look.digest, 5, 50)), next_boundary(plan, look, 9)
        _known(looks, "other ratings", 5, 50)
    except InputError as error:
        one_sentence(error)


def stored_draws(data: bytes, folder: Path) -> None:
    from ordbridge.errors import InputError
    from ordbridge.models.inference.resampling import _Store

    path = folder / "draws.csv"
    path.write_bytes(data)
    try:
        _Store(DRAWS, path).add([[1.0]])
    except InputError as error:
        one_sentence(error)


DRAWS = "0123456789abcdef"  # what tells these draws from others


def saved_fit(data: bytes, folder: Path) -> None:
    from ordbridge.errors import InputError
    from ordbridge.models.save_load import load

    path = folder / "fit.arrow"
    path.write_bytes(data)
    try:
        load(path)
    except InputError as error:
        one_sentence(error)


PUBLISHED = ("alttest", "flickr8k", "huse", "nem", "pplm", "qgstec")


def published(data: bytes, folder: Path) -> None:
    from ordbridge import reading as readers
    from ordbridge.errors import InputError

    path = folder / ("case.json" if data[:1] in b"[{" else "case.csv")
    path.write_bytes(data)
    name = PUBLISHED[zlib.adler32(data) % len(PUBLISHED)]
    reader = getattr(readers, f"read_{name}")
    try:
        reader(path, *[path] * (name == "alttest"))
    except InputError as error:
        one_sentence(error)


# ---- mutations that keep a file's structure


def mutated_value(draw: random.Random, value: Any) -> Any:
    """Replace, remove, repeat or rename something at a random depth."""
    if isinstance(value, (dict, list)) and value and draw.random() < 0.85:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = draw.choice(keys)
        copy = dict(value) if isinstance(value, dict) else list(value)
        what = draw.random()
        if what < 0.6:
            copy[key] = mutated_value(draw, copy[key])
        elif what < 0.7:
            del copy[key]
        elif what < 0.8 and isinstance(copy, list):
            copy.insert(key, copy[draw.choice(keys)])
        elif what < 0.9 and isinstance(copy, dict):
            copy[str(draw.choice((*ODD, *keys)))] = copy.pop(key)
        else:
            copy[key] = draw.choice(ODD)
        return copy
    return draw.choice(ODD)


def as_json(draw: random.Random, data: bytes) -> bytes:
    text = data.decode()
    lines = text.splitlines()
    if len(lines) > 1 and lines[0].startswith("{") and lines[0].endswith("}"):
        at = draw.randrange(len(lines))
        lines[at] = json.dumps(mutated_value(draw, json.loads(lines[at])))
        return "\n".join(lines).encode("utf-8", "surrogatepass")
    value = json.loads(text)
    for _ in range(draw.choice((1, 1, 2, 4))):
        value = mutated_value(draw, value)
    return json.dumps(value, ensure_ascii=draw.random() < 0.7).encode("utf-8", "surrogatepass")


def as_toml(draw: random.Random, data: bytes) -> bytes:
    import tomli_w

    value = tomllib.loads(data.decode())
    for _ in range(draw.choice((1, 1, 2, 3))):
        value = mutated_value(draw, value)
    return tomli_w.dumps(value).encode()


def as_cells(draw: random.Random, data: bytes) -> bytes:
    text = data.decode("utf-8", "surrogateescape")
    separator = max(",;\t|", key=text.count)
    lines = text.split("\n")
    for _ in range(draw.choice((1, 1, 2, 5))):
        at = 0 if draw.random() < 0.3 else draw.randrange(len(lines))
        cells = lines[at].split(separator)
        place = draw.randrange(len(cells))
        what = draw.random()
        if what < 0.6:
            cells[place] = str(draw.choice(ODD))
        elif what < 0.7:
            del cells[place]
        elif what < 0.8:
            cells.insert(place, draw.choice(draw.choice(lines).split(separator)))
        else:
            lines.insert(at, draw.choice(lines))
            continue
        lines[at] = separator.join(cells)
    return "\n".join(lines).encode("utf-8", "replace")


def as_xml(draw: random.Random, data: bytes) -> bytes:
    text = data.decode()
    places = list(re.finditer(r'"[^"]*"|>[^<]+<|<[^>]*>', text))
    for _ in range(draw.choice((1, 1, 2))):
        found = draw.choice(places)
        old = found[0]
        odd = str(draw.choice((*ODD, "1048576", "16384", "XFD1048576", "100000000", "-5"))).translate(
            {34: "", 60: "", 62: ""}
        )
        new = f'"{odd}"' if old[0] == '"' else f">{odd}<" if old[0] == ">" else draw.choice(("", old + old))
        text = text[: found.start()] + new + text[found.end() :]
        places = [one for one in places if one.end() < found.start()] or [found]
        if places == [found]:
            break
    return text.encode("utf-8", "replace")


# ---- seeds


def whole_workbook(kind: str) -> bytes:
    import pandas as pd

    from ordbridge import __version__  # noqa: F401  (so that pandas is imported after ordbridge is instrumented)

    if kind not in _workbooks:
        file = io.BytesIO()
        frame = pd.DataFrame(
            {
                "rater": ["a", "b"] * 3,
                "item": [1, 1, 2, 2, 3, 3],
                "system": list("xyxyxy"),
                "rating": [1, 2, 3, 4, 5, 1],
            }
        )
        frame.to_excel(file, index=False, engine="openpyxl" if kind == "xlsx" else "odf")
        _workbooks[kind] = file.getvalue()
    return _workbooks[kind]


_workbooks: dict[str, bytes] = {}


def forms_of_a_study(*suffixes: str) -> list[bytes]:
    """The study of tests/reading in every form, written by its writers."""
    sys.path.insert(0, str(PROJECT / "tests" / "reading"))
    import found_files  # noqa: F401
    import study_files

    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name, write in study_files.WRITERS.items():
            place = Path(folder) / name
            place.mkdir()
            with contextlib.suppress(Exception):
                write(place / "study")
            for file in place.rglob("*"):
                if file.is_file() and file.suffix in suffixes and file.stat().st_size <= LARGEST:
                    found.append(file.read_bytes())
    return found


def exports(*suffixes: str) -> list[bytes]:
    folder = PROJECT / "tests" / "reading" / "exports"
    return [file.read_bytes() for file in sorted(folder.rglob("*")) if file.suffix in suffixes]


def seeds_of_workbook(kind: str) -> list[bytes]:
    part = {"xlsx": "xl/worksheets/sheet1.xml", "ods": "content.xml"}[kind]
    whole = whole_workbook(kind)
    return [zipfile.ZipFile(io.BytesIO(whole)).read(part), whole, *forms_of_a_study(f".{kind}")]


def seeds_of_arrow(kind: str) -> list[bytes]:
    import pyarrow as pa
    from pyarrow import feather, parquet

    tables = [
        pa.table({"rater": ["a", "b"], "item": [1, 2], "system": ["x", "y"], "rating": [1, 5]}),
        pa.table({"rater": ["a", None], "item": [[1], [2]], "rating": pa.array(["lo", "hi"]).dictionary_encode()}),
        pa.table({"worker": [b"a", b"b"], "score": [1.5, None], "model": [{"a": 1}, {"a": 2}]}),
    ]
    found = []
    for table in tables:
        file = io.BytesIO()
        parquet.write_table(table, file) if kind == "parquet" else feather.write_feather(table, file)
        found.append(file.getvalue())
    return found


def seed_of_plan() -> Any:
    from ordbridge.planning.protocol import Protocol

    return Protocol(
        systems=("a", "b"), family="pair", pairs=(("a", "b"),), model="clmm", formula="rating ~ system + (1 | item)",
        link="probit", REML=None, alpha=0.05, target=0.8, calibrated=False, goal="difference", margin=None, on=None,
        criteria=1, items=50, ratings_per_text=3.0, participants=12, ratings=300, texts_per_participant=25, recruit=12,
        levels=5, answer="Run 50 items.", test="z", critical_value=0.05,
        looks=({"look": 1, "participants": 6, "critical": 2.5, "normal": 2.4, "share": 0.5},),
        shape="obrien-fleming",
    )  # fmt: skip


def seeds_of_plan() -> list[bytes]:
    return [json.dumps(seed_of_plan().to_dict(), indent=2).encode()]


def seeds_of_ledger() -> list[bytes]:
    from dataclasses import asdict

    from ordbridge.planning import Ledger
    from ordbridge.planning.interim import Decision
    from ordbridge.planning.ledger import TakenLook

    decision = Decision("go on", 1, 1, False, False, 1.2, 2.5, 6, 60, "A", "B", "Go on.")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.ledger.json"
        Ledger(seed_of_plan(), path).add(TakenLook("ab", "", "fast", 1, True, (0.5,), (2.4,), asdict(decision)))
        return [path.read_bytes()]


def seeds_of_draws() -> list[bytes]:
    lines = [f"{DRAWS},{number},{value!r}" for number, value in enumerate((0.5, 1e-9, float("nan")))]
    return ["\n".join([*lines, ""]).encode(), "\n".join(lines).encode()]


def seeds_of_truth() -> list[bytes]:
    from ordbridge.power.study import TEMPLATE
    from ordbridge.simulate import Truth

    plain = Truth(effects=[0.3], thresholds=[-1, 0, 1], participant_sd=[0.4, 0.2], item_sd=[0.5, 0.4])
    spread = (
        'effects = [0.3]\nlink = "logit"\n'
        "threshold_distribution = { lowest = [-1.78, 0.19], distance = [0.62, 0.18], categories = 6 }\n"
    )
    inner = TEMPLATE.partition("[truth.careful]")[2].partition("[truth.noisy]")[0]
    return [plain.to_toml().encode(), spread.encode(), inner.encode()]


def seeds_of_study() -> list[bytes]:
    from ordbridge.power.study import TEMPLATE

    preset = (
        'preset = "howcroft2021"\n[grid]\nvariance = ["low"]\nitems = [20]\nratings_per_text = [2]\n'
        "effect = [0.0, 0.6]\n[models.lm]\n[run]\nsims = 5\n"
    )
    return [TEMPLATE.encode(), preset.encode(), b'[design]\ntable = "case.csv"\n']


def seeds_of_manifest() -> list[bytes]:
    from ordbridge.power import Grid
    from ordbridge.power.assignment import Assignment
    from ordbridge.power.manifest import identity_of
    from ordbridge.power.models import resolve

    grid = Grid(preset="howcroft2021", variance="low", items=20, ratings_per_text=2, effect=[0, 0.62])
    asked = Assignment(grid, resolve(["lm", "clm"], grid.cells, None, grid.preset), 4, 7, "fast")
    manifest = asked.manifest()
    return [json.dumps({**manifest, "identity": identity_of(manifest)}, indent=1).encode()]


def seeds_of_fit() -> list[bytes]:
    """A saved fit, where the compiled engine is there; else what has its metadata."""
    import pyarrow as pa
    from pyarrow import ipc

    from ordbridge.models.save_load import FORMAT, KEY

    with contextlib.suppress(Exception), tempfile.TemporaryDirectory() as folder:
        import ordbridge as ob

        fit = ob.clm("y ~ x", {"y": [1, 2, 3, 1, 2, 3, 2, 1], "x": [0, 1, 1, 0, 0, 1, 1, 1]}, engine="fast")
        return [Path(fit.save(f"{folder}/fit.arrow")).read_bytes()]
    file = io.BytesIO()
    table = pa.table({"y": [1, 2]}).replace_schema_metadata({KEY: json.dumps({"format": FORMAT})})
    with ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return [file.getvalue()]


def seeds_of_published() -> list[bytes]:
    tables = (
        b"method,qualityScore,text\nA,3,x\n", b"item,participant,rating,system\n1,a,2,b\n", 
        b'{"a": {"anna": {"1": 4}}}',
        b"text,annotator1,annotator2\nx,1,2\n", b'[["a", [1, 2], "b"]]',
    )  # fmt: skip
    return [*tables, *exports(".csv", ".json")]


Mutator = Callable[[random.Random, bytes], bytes]
TARGETS: dict[str, tuple[Callable[[bytes, Path], None], Callable[[], list[bytes]], Mutator | None]] = {
    "text": (
        file_of((".csv", ".csv", ".tsv", ".txt", ".dat")),
        lambda: exports(".csv", ".tsv") + forms_of_a_study(".csv", ".tsv", ".txt"),
        as_cells,
    ),
    "json": (file_of((".json",)), lambda: exports(".json") + forms_of_a_study(".json"), as_json),
    "jsonl": (file_of((".jsonl", ".csv")), lambda: exports(".jsonl") + forms_of_a_study(".jsonl"), as_json),
    "gzip": (packed, lambda: exports(".csv", ".jsonl"), as_cells),
    "xlsx": (workbook("xlsx"), lambda: seeds_of_workbook("xlsx"), as_xml),
    "ods": (workbook("ods"), lambda: seeds_of_workbook("ods"), as_xml),
    "parquet": (file_of((".parquet",)), lambda: seeds_of_arrow("parquet"), None),
    "feather": (file_of((".feather",)), lambda: seeds_of_arrow("feather"), None),
    "potato": (
        potato_folder,
        lambda: [(PROJECT / "tests/reading/exports/potato/anna/user_state.json").read_bytes()],
        as_json,
    ),
    "log": (evaluation_log, seeds_of_log, as_json),
    "published": (published, seeds_of_published, as_json),
    "plan": (plan_file, seeds_of_plan, as_json),
    "truth": (truth_file, seeds_of_truth, as_toml),
    "study": (study_file, seeds_of_study, as_toml),
    "manifest": (manifest_file, seeds_of_manifest, as_json),
    "fit": (saved_fit, seeds_of_fit, None),
    "ledger": (ledger_file, seeds_of_ledger, as_json),
    "draws": (stored_draws, seeds_of_draws, as_cells),
}


# ---- running


def place_of(error: BaseException) -> str:
    """Return where an error comes from: the last line of ordbridge on its way."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/ordbridge/" in f.filename]
    last = frames[-1] if frames else traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}-{Path(last.filename).stem}-{last.lineno}"


def fuzz(target: str, corpus: Path, seconds: int) -> None:
    """Fuzz one kind of file in this process; atheris ends the process."""
    import atheris

    sys.path.insert(0, str(PROJECT / "src"))
    with atheris.instrument_imports(include=["ordbridge"]):
        pass
    warnings.simplefilter("ignore")
    case, seeds, mutator = TARGETS[target]
    own = corpus / target
    own.mkdir(parents=True, exist_ok=True)
    if not any(own.iterdir()):
        for number, seed in enumerate(seeds()):
            (own / f"seed-{number}").write_bytes(seed[:LARGEST])
    counts = os.open(corpus / f"{target}.count", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    cases = uncaught = 0
    scratch = tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    folder = Path(scratch.name)
    seen: set[str] = set()

    def keep(data: bytes, place: str, said: str) -> None:
        nonlocal uncaught
        uncaught += 1
        if place not in seen:
            seen.add(place)
            found = corpus / "found"
            found.mkdir(exist_ok=True)
            (found / f"{target}-{place}.case").write_bytes(data)
            (found / f"{target}-{place}.txt").write_text(said, encoding="utf-8", errors="backslashreplace")

    def one(data: bytes) -> None:
        nonlocal cases
        cases += 1
        begun = time.process_time()  # other work on the machine is not to blame
        try:
            case(data, folder)
        except Exception as error:
            keep(data, place_of(error), traceback.format_exc())
        if (took := time.process_time() - begun) > SLOW:
            keep(data, "slow", f"{took:.1f} s")
        os.pwrite(counts, struct.pack("<qq", cases, uncaught), 0)
        if time.process_time() > seconds:
            scratch.cleanup()
            os._exit(0)

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        draw = random.Random(seed)
        if mutator is not None and draw.random() < 0.6:
            with contextlib.suppress(Exception):
                if len(changed := mutator(draw, bytes(data))) <= most:
                    return changed
        return bytes(atheris.Mutate(data, most))

    options = [
        f"-max_len={LARGEST}",
        "-timeout=3600",  # by the clock, on a machine that may do other things first
        "-rss_limit_mb=2500",
        "-verbosity=0",
    ]
    atheris.Setup(
        [sys.argv[0], *options, f"-artifact_prefix={corpus}/found/{target}-", "-print_final_stats=0", str(own)],
        one,
        custom_mutator=mutate,
    )
    atheris.Fuzz()


def cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def rounds(corpus: Path, hours: float, seconds: int, targets: list[str]) -> int:
    """Fuzz all kinds in turn until the time is over, and say what was found."""
    (corpus / "found").mkdir(parents=True, exist_ok=True)
    log = corpus / "log.csv"
    if not log.exists():
        log.write_text("ended,target,seconds,cases,uncaught,exit,cpu\n")
    while cpu_of_children() < hours * 3600:
        for target in targets:
            count = corpus / f"{target}.count"
            count.unlink(missing_ok=True)
            begun, used = time.monotonic(), cpu_of_children()
            command = [sys.executable, __file__, "--corpus", str(corpus), "--target", target, "--seconds", str(seconds)]
            with open(corpus / f"{target}.stderr", "wb") as said:
                code = subprocess.run(command, stdout=said, stderr=said, check=False).returncode
            cases, uncaught = struct.unpack("<qq", count.read_bytes()) if count.exists() else (0, 0)
            took = time.monotonic() - begun
            with open(log, "a", encoding="utf-8") as lines:
                stamp, used = time.strftime("%FT%T"), cpu_of_children() - used
                lines.write(f"{stamp},{target},{took:.0f},{cases},{uncaught},{code},{used:.0f}\n")
            if cpu_of_children() >= hours * 3600:
                break
    return summary(log)


def summary(log: Path) -> int:
    """Print how many cases there were for each kind, and how many after the last one that was not caught."""
    import csv

    lines = list(csv.DictReader(log.open()))
    since = 0
    for line in lines:
        clean = line["uncaught"] == "0" and line["exit"] == "0"
        since = since + int(line["cases"]) if clean else 0
    for target in dict.fromkeys(line["target"] for line in lines):
        mine = [line for line in lines if line["target"] == target]
        cases, uncaught, took = (sum(int(line[name]) for line in mine) for name in ("cases", "uncaught", "cpu"))
        print(f"{target:<10} {cases:>9,} cases {took / 3600:6.2f} h {uncaught:>6,} not caught")
    total, took = (sum(int(line[name]) for line in lines) for name in ("cases", "cpu"))
    print(f"{'all':<10} {total:>9,} cases {took / 3600:6.2f} h; {since:,} cases since the last that was not caught")
    return 0 if since else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path, required=True, help="folder outside the repository; it is continued")
    parser.add_argument("--hours", type=float, default=0.1, help="of the processor, for all kinds together")
    parser.add_argument("--seconds", type=int, default=120, help="of the processor, for the turn of each kind of file")
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=list(TARGETS))
    parser.add_argument("--target", choices=TARGETS, help=argparse.SUPPRESS)
    parser.add_argument("--summary", action="store_true", help="only say what the log has")
    args = parser.parse_args()
    if args.summary:
        return summary(args.corpus / "log.csv")
    if args.target:
        fuzz(args.target, args.corpus.resolve(), args.seconds)
        return 0
    return rounds(args.corpus.resolve(), args.hours, args.seconds, args.targets)


if __name__ == "__main__":
    sys.exit(main())
