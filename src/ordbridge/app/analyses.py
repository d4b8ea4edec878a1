"""From a file to its answers: what was recognised, what is wrong with it, which system is better, the raters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from ordbridge.app.given import Given, command, files_in, keep, read_given, shown
from ordbridge.app.labels import labelled
from ordbridge.comparison import CompareOptions, compare, compare_as_planned
from ordbridge.design import crossed
from ordbridge.errors import InputError
from ordbridge.planning import read_protocol
from ordbridge.reading import RatingTable, check, columns_of, read, tables
from ordbridge.reading.opening import sheets_of
from ordbridge.reading.preferences import Preferences, PreferencesFound
from ordbridge.reliability import analyse
from ordbridge.simulate import Truth, ratings
from ordbridge.support.naming import names_as

ROLES = ("participant", "item", "system", "rating", "criterion")
LINES = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson")
BEGINNING = 2**19  # bytes of a long file of lines in which its columns are looked for
SHOWN_ROWS = 6
MOST_NAMES = 100
ANSWERED = ("few-raters", "several-criteria")  # by the comparison on the same page


def write_demo(folder: Path) -> str:
    """Write a simulated study for the curious: three systems, twelve people, twenty items, a scale from 1 to 5."""
    truth = Truth(
        effects=(0.5, 1.1),
        thresholds=(-1.5, -0.3, 0.9, 2.0),
        participant_sd=(0.6, 0.2, 0.2),
        item_sd=(0.5, 0.2, 0.2),
    )
    table = ratings(crossed(items=20, raters=12, systems=3), truth, seed=4)
    names = {"A": "baseline", "B": "fine-tuned", "C": "with retrieval"}
    systems = pa.array([names[name] for name in table["system"].to_pylist()])
    named = table.set_column(table.column_names.index("system"), "system", systems)
    return tables.write(named, folder / "demo.csv").name


def recognise(given: Given) -> dict[str, Any]:
    """Say what was taken for what, and what is wrong with the ratings; where it is not clear, what can be chosen."""
    how = given.reading()
    size = sum(Path(file).stat().st_size for file in given.files)
    given.tell(f"reading {_size(size)}")
    of_columns = {name: how[name] for name in ("format", "sheet", "join") if name in how}
    columns = columns_of(_beginning(given), **of_columns)
    found: dict[str, Any] = {"columns": columns, "sheets": sheets_of(given.files[0]), "files_read": list(given.files)}
    together: dict[str, list[str]] = {}

    def named(name: str, *value: Any) -> str:
        if name in ("participant", "item") and value and "," in str(value[0]):
            together[name] = [str(value[0])]  # two columns, which the menu does not have yet
        return labelled(name, *value)

    try:
        with names_as(named):
            table = read_given(given)
    except PreferencesFound as recognised:
        if recognised.preferences is None:
            return found | {"problem": str(recognised)}
        return found | _of_preferences(recognised.preferences)
    except InputError as question:
        return found | {"problem": str(question), "together": together}
    given.tell(f"checking {table.table.num_rows:,} ratings")
    checks = check(table).table
    tables.write(table.table, given.folder / "ratings.csv")
    if checks.num_rows:
        tables.write(checks, given.folder / "checks.csv")
    counts = {role: _names(table, role) for role in ("participant", "item", "system", "criterion")}
    first = table.table.select([role for role in ROLES if role in table.table.column_names]).slice(0, SHOWN_ROWS)
    return found | {
        "recognised": {role: table.recognised.get(role, "") for role in ROLES},
        "others": [name for name in columns if name in table.table.column_names and name not in ROLES],
        "notes": [note.text for note in table.notes],
        "checks": [row for row in checks.to_pylist() if row["code"] not in ANSWERED],
        "systems": counts["system"][:MOST_NAMES],
        "criteria": counts["criterion"][:MOST_NAMES],
        "counts": {role: len(names) for role, names in counts.items()},
        "ratings": table.table.num_rows,
        "rows": [{k: "" if v is None else str(v) for k, v in row.items()} for row in first.to_pylist()],
        "command": command("check", *given.files, **given.typed()),
        "files": files_in(given.folder),
    }


def _of_preferences(found: Preferences) -> dict[str, Any]:
    """Return what the page shows of comparisons of systems."""
    table = found.table
    named = {"rater": "participant", "item": "item", "criterion": "criterion"}
    counts = {role: _distinct(table, name) for name, role in named.items()}
    rows = [{k: str(v) for k, v in row.items() if v is not None} for row in table.slice(0, SHOWN_ROWS).to_pylist()]
    return {
        "preferences": True,
        "recognised": {},
        "others": [],
        "notes": [],
        "checks": [],
        "systems": list(found.systems)[:MOST_NAMES],
        "criteria": [],
        "counts": counts | {"system": len(found.systems)},
        "ratings": table.num_rows,
        "rows": rows,
        "command": "",
        "files": [],
    }


def _distinct(table: pa.Table, name: str) -> int:
    return len([value for value in table[name].unique().to_pylist() if value is not None])


def _size(size: int) -> str:
    """Write the size of a file.

    Examples
    --------
    >>> _size(28_400_000), _size(900)
    ('27 MB', '1 kB')
    """
    return f"{size / 2**20:.0f} MB" if size >= 2**20 else f"{max(1, round(size / 1000))} kB"


def _beginning(given: Given) -> str:
    """Return the first file, or of a long table of text its beginning: its columns are seen there."""
    file = Path(given.files[0])
    if file.suffix.lower() not in LINES or file.stat().st_size <= BEGINNING:
        return str(file)
    with open(file, "rb") as whole:
        start = whole.read(BEGINNING)
    short = given.folder / f"beginning{file.suffix}"
    short.write_bytes(start[: start.rfind(b"\n") + 1])
    return str(short)


def _names(table: RatingTable, role: str) -> list[str]:
    if role not in table.table.column_names:
        return []
    return [str(name) for name in table.table[role].unique().to_pylist() if name is not None]


def compare_systems(given: Given) -> dict[str, Any]:
    """Compare, and keep what the command would write."""
    how, typed = given.reading(), given.typed()
    engine = str(given.options.get("engine") or "fast")
    force = bool(given.options.get("force"))
    given.tell("R fits the models" if engine == "r" else "fitting the models")
    if given.plan is not None:
        return _as_planned(given, engine)
    chosen: dict[str, Any] = {"engine": engine}
    if reference := given.options.get("reference"):
        chosen["reference"] = str(reference)
    columns: dict[str, Any] = {
        name: str(value) for name in ("covariates", "blocks") if (value := given.options.get(name))
    }
    options = CompareOptions(progress=given.tell, **columns)
    try:
        ratings: Any = read(given.source, **how)
    except PreferencesFound as recognised:
        if recognised.preferences is None:
            raise
        ratings = recognised.preferences
    found = compare(ratings, **chosen, force=force, options=options)
    words = {{"blocks": "block"}.get(name, name): value for name, value in columns.items()}
    repeat = command(
        "compare", *given.files, **typed, **chosen, **words, **({"force": []} if force else {}), html="report.html"
    )
    return _compared(given, found, found, repeat, bool(found.criteria))


def _as_planned(given: Given, engine: str) -> dict[str, Any]:
    """Make the comparison that a plan has laid down."""
    protocol = read_protocol(str(given.plan))
    if protocol.looks:
        raise InputError(
            "this plan has looks at the data, which are counted in a file beside it; "
            f"on the command line: ordbridge compare {given.files[0]} --plan {given.plan}"
        )
    found = compare_as_planned(given.source, protocol, engine=engine, progress=given.tell, **given.reading())
    repeat = command("compare", *given.files, **given.typed(), plan=given.plan, engine=engine, html="report.html")
    return _compared(given, found, found.comparison, repeat, True)


def _compared(given: Given, found: Any, comparison: Any, repeat: str, answered: bool) -> dict[str, Any]:
    """Keep a comparison, and return what the page shows, with the numbers that another engine is held against."""
    given.tell("writing the report")
    if answered:
        tables.write(comparison.pairs, given.folder / "differences.csv")
    keep(given.folder, found, repeat, answered)
    size = "difference" if "difference" in comparison.pairs.column_names else "win_rate"
    numbers = [[row[size], row["p_adjusted"]] for row in comparison.pairs.to_pylist()] if answered else []
    return shown(found) | {
        "answered": answered,
        "numbers": numbers,
        "alpha": comparison.alpha,
        "command": repeat,
        "files": files_in(given.folder),
    }


def check_raters(given: Given) -> dict[str, Any]:
    """Analyse the raters, as the command does."""
    given.tell("computing how far raters agree")
    force = bool(given.options.get("force"))
    found = analyse(read_given(given), force=force)
    typed = command(
        "reliability", *given.files, **given.typed(), **({"force": []} if force else {}), html="report.html"
    )
    keep(given.folder, found, typed)
    tables.write(found.raters, given.folder / "raters.csv")
    return shown(found) | {"command": typed, "files": files_in(given.folder)}
