"""From a file to its answers: what was recognised, what is wrong with it, which system is better, the raters."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa

from ordbridge.app.given import Given, command, files_in, keep, keep_picture, read_given
from ordbridge.app.wording import on_page
from ordbridge.comparison import CompareOptions, compare
from ordbridge.design import crossed
from ordbridge.errors import InputError
from ordbridge.reading import RatingTable, check, columns_of, read, tables
from ordbridge.reading.opening import sheets_of
from ordbridge.reliability import analyse
from ordbridge.simulate import Truth, ratings

ROLES = ("participant", "item", "system", "rating", "criterion")
SHOWN_ROWS = 6
MOST_NAMES = 100


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
    columns = columns_of(given.file, **{name: how[name] for name in ("format", "sheet", "join") if name in how})
    found: dict[str, Any] = {"columns": columns, "sheets": sheets_of(given.file)}
    try:
        table = read_given(given)
    except InputError as question:
        both = re.findall(r"\b(participant|item)='([^',]+,[^']+)'", str(question))
        return found | {"problem": on_page(str(question)), "together": {role: [names] for role, names in both}}
    checks = check(table).table
    tables.write(table.table, given.folder / "ratings.csv")
    if checks.num_rows:
        tables.write(checks, given.folder / "checks.csv")
    counts = {role: _names(table, role) for role in ("participant", "item", "system", "criterion")}
    shown = table.table.select([role for role in ROLES if role in table.table.column_names]).slice(0, SHOWN_ROWS)
    return found | {
        "recognised": {role: table.recognised.get(role, "") for role in ROLES},
        "notes": [on_page(note.text) for note in table.notes],
        "checks": [
            {**row, "what": on_page(row["what"]), "remedy": on_page(row["remedy"])} for row in checks.to_pylist()
        ],
        "systems": counts["system"][:MOST_NAMES],
        "criteria": counts["criterion"][:MOST_NAMES],
        "counts": {role: len(names) for role, names in counts.items()},
        "ratings": table.table.num_rows,
        "rows": [{k: "" if v is None else str(v) for k, v in row.items()} for row in shown.to_pylist()],
        "command": command("check", given.file, **how),
        "files": files_in(given.folder),
    }


def _names(table: RatingTable, role: str) -> list[str]:
    if role not in table.table.column_names:
        return []
    return [str(name) for name in table.table[role].unique().to_pylist() if name is not None]


def compare_systems(given: Given) -> dict[str, Any]:
    """Compare, and keep what the command would write."""
    how = given.reading()
    chosen: dict[str, Any] = {
        name: str(value) for name in ("reference", "engine") if (value := given.options.get(name))
    }
    force = bool(given.options.get("force"))
    if chosen.get("engine") == "r":
        given.tell("R fits the model")
    options = CompareOptions(progress=given.tell)
    found = compare(read(given.file, **how), **chosen, force=force, options=options)
    typed = command("compare", given.file, **how, **chosen, **({"force": []} if force else {}), html="report.html")
    keep(given.folder, found, typed, answered=bool(found.criteria))
    if found.criteria:
        tables.write(found.pairs, given.folder / "differences.csv")
        keep_picture(given.folder, found.plot())
    return {
        "headline": " ".join(found.answer.splitlines()),
        "answered": bool(found.criteria),
        "command": typed,
        "files": files_in(given.folder),
    }


def check_raters(given: Given) -> dict[str, Any]:
    """Analyse the raters, as the command does."""
    found = analyse(read_given(given))
    typed = command("reliability", given.file, **given.reading(), html="report.html")
    keep(given.folder, found, typed)
    tables.write(found.raters, given.folder / "raters.csv")
    return {"headline": " ".join(found.answer.splitlines()), "command": typed, "files": files_in(given.folder)}
