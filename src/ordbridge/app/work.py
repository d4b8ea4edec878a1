"""What the page asks for, computed in a process of its own: from a file and choices to a report and files to keep."""

from __future__ import annotations

import os
import shlex
import tempfile
import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge import report, tables
from ordbridge.comparison import compare
from ordbridge.data import RatingTable, check, read
from ordbridge.design import counterbalanced, crossed
from ordbridge.errors import BridgeError, ClusterError, FitError, InputError
from ordbridge.planning import plan
from ordbridge.planning.closed_form import preview
from ordbridge.power import Grid, run
from ordbridge.progress import Progress
from ordbridge.reliability import analyse
from ordbridge.simulate import Truth, ratings
from ordbridge.simulate.effect_units import with_points
from ordbridge.simulate.presets import HOWCROFT2021

__all__ = ["KINDS", "carry_out", "power_at_once", "write_demo"]

ROLES = ("participant", "item", "system", "rating", "criterion")
SHOWN_ROWS = 8
TEXTS_PER_PARTICIPANT = 25
SIMULATIONS = 400
SETTINGS = tuple(HOWCROFT2021.settings)

Tell = Callable[[Any], None]


def carry_out(connection: Connection, kind: str, file: str | None, options: dict[str, Any], folder: str) -> None:
    """Do one thing and send progress, and in the end what was found, or a sentence that says why not."""
    if hasattr(os, "setsid"):
        os.setsid()  # so that it can be ended together with its workers
    tempfile.tempdir = os.environ["TMPDIR"] = folder  # so that a job that is ended leaves nothing elsewhere

    def tell(progress: Progress | str) -> None:
        if isinstance(progress, Progress):
            left = progress.seconds_left
            connection.send({"done": progress.done, "total": progress.total, "text": str(progress), "left": left})
        else:
            connection.send({"text": str(progress)})

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what they say is in the results
            connection.send({"result": KINDS[kind](file, options, Path(folder), tell)})
    except (InputError, FitError, BridgeError, ClusterError) as refusal:
        connection.send({"error": str(refusal)})
    except MemoryError:
        connection.send({"error": "there is not enough memory for this; try fewer ratings or a smaller study"})
    except Exception as error:
        connection.send({"error": f"something is wrong in ordbridge itself ({type(error).__name__}: {error})"})


def write_demo(folder: Path) -> Path:
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
    return tables.write(table.set_column(table.column_names.index("system"), "system", systems), folder / "demo.csv")


def _ratings(file: str | None, options: Mapping[str, Any]) -> RatingTable:
    if file is None:
        raise InputError("there is no file yet; drop one")
    roles = {role: options[role] for role in ROLES if options.get(role)}
    return read(file, **roles)


def _recognise(file: str | None, options: dict[str, Any], folder: Path, tell: Tell) -> dict[str, Any]:
    """Say what was taken for what, which columns there are, and what is wrong with the ratings."""
    columns = tables.read(file).column_names if file else []
    found = _ratings(file, options)
    checks = check(found).table
    systems = found.table["system"].unique().to_pylist() if "system" in found.table.column_names else []
    return {
        "recognised": {role: found.recognised.get(role, "") for role in ROLES},
        "columns": columns,
        "notes": list(found.notes),
        "checks": checks.to_pylist(),
        "systems": [str(name) for name in systems if name is not None][:100],
        "ratings": found.table.num_rows,
        "rows": [{k: str(v) for k, v in row.items()} for row in found.table.slice(0, SHOWN_ROWS).to_pylist()],
    }


def _compare(file: str | None, options: dict[str, Any], folder: Path, tell: Tell) -> dict[str, Any]:
    chosen = {name: options[name] for name in ("reference", "engine") if options.get(name)}
    found = compare(_ratings(file, options), **chosen, anyway=bool(options.get("anyway")), progress=tell)
    _keep(folder, found, _command("compare", file, options, ("reference", "engine")), answered=bool(found.criteria))
    if found.criteria:
        tables.write(found.pairs, folder / "differences.csv")
        for ending in ("png", "svg", "pdf"):
            found.plot().savefig(folder / f"picture.{ending}")
    return {"headline": " ".join(found.answer) or found.notes[-1], "files": _files(folder)}


def _raters(file: str | None, options: dict[str, Any], folder: Path, tell: Tell) -> dict[str, Any]:
    given = _ratings(file, options)
    criterion = "criterion" if "criterion" in given.table.column_names else None
    found = analyse(given, criterion=criterion)
    _keep(folder, found, _command("reliability", file, options, ()))
    tables.write(found.raters, folder / "raters.csv")
    return {"headline": found.answer, "files": _files(folder)}


def _confirm(file: str | None, options: dict[str, Any], folder: Path, tell: Tell) -> dict[str, Any]:
    """Simulate the study that the sliders describe."""
    truth, items, per_text = _truth(options), int(options["items"]), int(options["ratings"])
    design = {"kind": "counterbalanced", "texts_per_participant": min(TEXTS_PER_PARTICIPANT, items)}
    grid = Grid(truth=truth, design=design, items=[items], ratings_per_text=per_text, effect=list(truth.effects))
    found = run(grid, ["clmm"], sims=SIMULATIONS, engine="fast", progress=tell, store=folder / "fits")
    row = next(row for row in found.power().to_pylist() if row["measure"] == "power")
    _keep(folder, found, "")
    _design_sheet(folder, items, per_text)
    interval = f"{100 * row['conf_low']:.0f} to {100 * row['conf_high']:.0f}"
    headline = f"{100 * row['power']:.0f} % power ({interval}), from {row['n']} simulated studies."
    return {"headline": headline, "power": row["power"], "files": _files(folder)}


def _plan(file: str | None, options: dict[str, Any], folder: Path, tell: Tell) -> dict[str, Any]:
    """Search for the smallest, or cheapest, study."""
    price = float(options.get("price") or 0)
    vary = {"items": [25, 50, 100, 200, 400], "ratings_per_text": [1, 2, 3, 5]}
    found = plan(
        _truth(options),
        vary=vary,
        cost={"rating": price} if price else None,
        texts_per_participant=TEXTS_PER_PARTICIPANT,
        datasets=600,
        null=0,
        progress=tell,
        store=folder / "fits",
    )
    _keep(folder, found, "")
    tables.write(found.designs, folder / "designs.csv")
    if found.recommended is not None:
        _design_sheet(folder, found.recommended["items"], int(found.recommended["ratings_per_text"]))
    return {"headline": found.sentence, "files": _files(folder)}


KINDS: dict[str, Callable[[str | None, dict[str, Any], Path, Tell], dict[str, Any]]] = {
    "recognise": _recognise,
    "compare": _compare,
    "raters": _raters,
    "confirm": _confirm,
    "plan": _plan,
}


def _keep(folder: Path, result: Any, repeat: str, answered: bool = True) -> None:
    report.write_report(result, folder / "report.html", repeat)
    if answered:
        (folder / "tables.tex").write_text(report.latex(result) + "\n", encoding="utf-8")
        (folder / "tables.md").write_text(report.markdown(result) + "\n", encoding="utf-8")


def _design_sheet(folder: Path, items: int, per_text: int) -> None:
    rows = counterbalanced(
        systems=2,
        items=items,
        ratings_per_text=per_text,
        texts_per_participant=min(TEXTS_PER_PARTICIPANT, items),
    )
    ordered = rows.sort_by([("participant", "ascending"), ("order", "ascending")])
    sheet = ordered.select(["participant", "order", "item", "system"]).replace_schema_metadata(None)
    tables.write(sheet, folder / "design-sheet.csv")


def _files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))


def _command(command: str, file: str | None, options: Mapping[str, Any], more: tuple[str, ...]) -> str:
    """Return the command that does the same in a shell."""
    words = ["ordbridge", command, Path(file or "").name]
    for name in (*ROLES, *more):
        if options.get(name):
            words += [f"--{name}", str(options[name])]
    return shlex.join(words)


@lru_cache(maxsize=256)
def _assumed(setting: str, spread: float, points: float) -> Truth:
    if setting not in SETTINGS:
        raise InputError(f"there is no setting {setting!r}; choose one of {', '.join(SETTINGS)}")
    truth = HOWCROFT2021.settings[setting]
    sizes = {name: tuple(spread * sd for sd in getattr(truth, name)) for name in ("participant_sd", "item_sd")}
    return with_points(truth.shift(**sizes), points)


def _truth(options: Mapping[str, Any]) -> Truth:
    return _assumed(str(options["setting"]), round(float(options["spread"]), 2), round(float(options["points"]), 2))


def power_at_once(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the closed-form power of the study that the sliders describe, over the number of items.

    Examples
    --------
    >>> asked = {"setting": "low", "spread": 1, "points": 0.4, "items": 100, "ratings": 3, "price": 0.1}
    >>> power_at_once(asked)["cost"]
    60.0
    """
    try:
        items, per_text, price = int(options["items"]), int(options["ratings"]), float(options.get("price") or 0)
        truth = _truth(options)
    except (KeyError, TypeError, ValueError) as missing:
        raise InputError(f"the sliders did not say everything ({missing}); load the page again") from None
    if not (2 <= items <= 5000 and 1 <= per_text <= 50):
        raise InputError("give from 2 to 5000 items and from 1 to 50 ratings per text")
    over = np.unique(np.r_[np.geomspace(5, 600, 28).round(), items])
    rows = preview(truth, over, per_text, texts_per_participant=TEXTS_PER_PARTICIPANT).to_pylist()
    here = next(row for row in rows if row["items"] == items)
    n_ratings = items * truth.systems * per_text
    return {
        "curve": [[row["items"], row["adjusted"]] for row in rows],
        "power": here["adjusted"],
        "participants": here["participants"],
        "ratings": n_ratings,
        "cost": round(n_ratings * price, 2),
    }
