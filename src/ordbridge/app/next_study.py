"""The next study: its power in closed form while sliders move, and by simulation, with the sheets to run it."""

from __future__ import annotations

import math
import time
import zipfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ordbridge.app.given import Given, Tell, command, files_in, keep, read_given, shown
from ordbridge.comparison.scale import read_scale
from ordbridge.design import sheets
from ordbridge.errors import InputError
from ordbridge.planning import (
    Costs,
    Designs,
    Effect,
    Plan,
    PlannedAnalysis,
    plan,
    preregistration,
    preview,
    sheet_of,
)
from ordbridge.planning.pilot import read_pilot
from ordbridge.planning.question import USUAL
from ordbridge.planning.type_one_error import EACH
from ordbridge.reading import tables
from ordbridge.render import json
from ordbridge.simulate import Truth
from ordbridge.simulate.effect_units import effect_units, with_points
from ordbridge.simulate.presets import HOWCROFT2021
from ordbridge.support.progress import Progress
from ordbridge.support.writing import write_text

TEXTS = 25  # that one participant rates
LEAST_ITEMS, MOST_ITEMS, MOST_RATINGS = 5, 600, 12
POINTS = 29  # of the curve
PILOT = "pilot"
NEEDED = ("participant", "item", "system", "rating")


def pilot(given: Given) -> dict[str, Any]:
    """Take the dropped file as a pilot: two of its systems on one criterion, and what they let one assume."""
    found = read_given(given)
    table = found.table
    if missing := [role for role in NEEDED if role not in table.column_names]:
        raise InputError(f"the file does not say the {missing[0]} of a rating, so nothing can be planned from it")
    if criterion := given.options.get("of_criterion"):
        table = table.filter(pc.equal(table["criterion"], str(criterion)))
    present = [str(name) for name in table["system"].unique().to_pylist() if name is not None]
    two = [str(name) for name in given.options.get("systems") or present[:2]]
    if len(set(two)) != 2 or not {*two} <= {*present}:
        raise InputError("a plan is for two systems of the file; choose two different ones")
    table = table.filter(pc.is_in(table["system"], pa.array(two)))
    scale, response = read_scale(table["rating"], found.levels or ())
    rated = table.select(list(NEEDED[:3])).append_column("rating", response)
    file = tables.write(rated, given.folder / "pilot.csv")
    given.tell("estimating how much raters and items differ")
    study = read_pilot(str(file), "clmm" if scale.ordinal else "lmer", None, "fast")
    study.truth.to_toml(given.folder / "truth.toml")
    step = _step(abs(scale.scores[-1] - scale.scores[0]))
    (observed,) = effect_units(study.truth)["points"].to_pylist()
    return {
        "systems": list(study.systems),
        "points": {"min": step, "max": 30 * step, "step": step, "value": 8 * step},
        "observed": abs(observed),
        "scale": scale.in_words,
    }


def _step(span: float) -> float:
    """Return a round number of rating points, about eighty of which make the scale.

    Examples
    --------
    >>> _step(4), _step(100), _step(1)
    (0.05, 1.0, 0.01)
    """
    size = 10.0 ** math.floor(math.log10(span / 80))
    return next(round(k * size, 10) for k in (10, 5, 2, 1) if k * size <= span / 80 * (1 + 1e-9))


def confirm(given: Given) -> dict[str, Any]:
    """Simulate the study that the sliders describe."""
    items, per_text = _size(given.options)
    most = USUAL["max_per_design"] + USUAL["null_datasets"]
    return _planned(given, Designs(items, per_text, texts_per_participant=min(TEXTS, items)), most)


def search(given: Given) -> dict[str, Any]:
    """Search for the smallest, or cheapest, study, and for the best that the money buys."""
    return _planned(given, Designs(texts_per_participant=TEXTS), (1 + EACH) * USUAL["datasets"])


def _planned(given: Given, designs: Designs, most: int) -> dict[str, Any]:
    """Plan as ``ordbridge plan`` does, with the options that are typed for it."""
    truth, analysis, words, typed = _source(given)
    points, texts = _number(given.options, "points"), designs.texts_per_participant
    costs, typed_costs = _costs(given.options, budget=not designs.vary)
    few = {} if texts == TEXTS else {"texts_per_participant": texts}
    found = plan(
        truth,
        effect=Effect(points, "points"),
        analysis=analysis,
        designs=designs,
        costs=costs,
        progress=_AllFits(given.tell, most),
    )
    outputs = {"json": "plan.json", "sheets": "sheets", "html": "report.html"}
    if found.protocol is None:
        outputs = {"html": "report.html"}
    repeat = command("plan", *words, **typed, effect_points=points, **designs.vary, **few, **typed_costs, **outputs)
    given.tell("writing the report")
    _keep(given.folder, found, repeat)
    row = next((row for row in found.designs.to_pylist() if designs.vary or row["recommended"]), None)
    told = row and {name: row[name] for name in ("items", "ratings_per_text", "power", "conf_low", "conf_high")}
    return shown(found) | {"design": told, "command": repeat, "files": files_in(given.folder)}


def _source(given: Given) -> tuple[Any, PlannedAnalysis, list[str], dict[str, Any]]:
    """Return what the plan starts from and its analysis, and both as words and options of the command."""
    setting, spread = str(given.options.get("setting")), _number(given.options, "spread")
    folder = _pilot_folder(given.options, Path.cwd())
    model: dict[str, Any] = {} if folder is None or _truth_in(folder).scale == "ordinal" else {"model": "lmer"}
    if spread == 1 and folder is not None:
        content = (folder / "pilot.csv").read_bytes()
        (given.folder / "pilot.csv").write_bytes(content)
        return given.folder / "pilot.csv", PlannedAnalysis(**model), ["pilot.csv"], model
    if spread == 1:
        return HOWCROFT2021.settings[setting], PlannedAnalysis(), [], {"preset": "howcroft2021", "variance": setting}
    truth = _with_spread(_truth_text(setting, folder), spread)
    truth.to_toml(given.folder / "truth.toml")
    names = None if folder is None else _systems_in(folder)
    typed = {"truth": "truth.toml", **model, **({} if names is None else {"names": names})}
    return truth, PlannedAnalysis(**model, systems=names), [], typed


def _costs(options: Mapping[str, Any], budget: bool) -> tuple[Costs, dict[str, Any]]:
    """Return prices, and the same as options of the command."""
    price, amount = _number(options, "price", 0.0), _number(options, "spend", 0.0)
    currency = str(options.get("currency") or "")
    if not price:
        return Costs(), {}
    extra: dict[str, Any] = {"currency": currency} if currency else {}
    extra |= {"budget": amount} if budget and amount else {}
    return Costs(rating=price, **extra), {"cost_rating": price, **extra}


class _AllFits:
    """Tells how far all simulations of a plan are together, and how long they may still take."""

    def __init__(self, tell: Tell, most: int) -> None:
        self._tell, self._most = tell, most
        self._done: dict[str, int] = {}
        self._began: tuple[float, int] | None = None

    def __call__(self, progress: Progress | str) -> None:
        if isinstance(progress, str):
            return
        self._done[progress.what] = progress.done
        done, now = sum(self._done.values()), time.monotonic()
        if self._began is None:
            self._began = now, done
        since, before = self._began
        rate = (done - before) / max(now - since, 1e-9)
        total = max(self._most, done)
        left = (total - done) / rate if rate else None
        self._tell(Progress(done, total, rate, left, progress.failures, "simulated studies"))


def _keep(folder: Path, found: Plan, repeat: str) -> None:
    """Write the report, the plan as a file, and the sheets that say who rates what."""
    keep(folder, found, repeat)
    tables.write(found.designs, folder / "designs.csv")
    if found.protocol is None:
        return
    write_text(folder / "plan.json", json.text(found) + "\n")
    write_text(folder / "preregistration.md", preregistration(found))
    rows = sheet_of(found.protocol).sort_by([("participant", "ascending"), ("order", "ascending")])
    sheet = rows.select(["participant", "order", "item", "system"]).replace_schema_metadata(None)
    tables.write(sheet, folder / "design-sheet.csv")
    for target in ("tasks.jsonl", "tasks.json"):
        sheets(rows, folder / target)
    with zipfile.ZipFile(folder / "sheets.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sheets(rows, folder / "sheets"):
            archive.write(path, f"sheets/{path.name}")


def power_at_once(options: Mapping[str, Any], study: Path | None = None) -> dict[str, Any]:
    """Return the closed-form power of the study that the sliders describe, over the number of items.

    Examples
    --------
    >>> asked = {"setting": "low", "spread": 1, "points": 0.4, "items": 100, "ratings": 3, "price": 0.1, "spend": 90}
    >>> found = power_at_once(asked)
    >>> found["cost"], found["affordable"]["items"]
    ('60', 150)
    """
    items, per_text = _size(options)
    folder = _pilot_folder(options, study)
    truth = _assumed(
        _truth_text(str(options.get("setting")), folder), _number(options, "spread"), _number(options, "points")
    )
    costs, _ = _costs(options, budget=True)
    bought = []
    if costs.budget is not None:
        bought = [_bought((costs.rating or 0.0) * truth.systems * per_text, costs.budget)]
    over = np.unique(np.r_[np.geomspace(LEAST_ITEMS, MOST_ITEMS, POINTS).round(), items, bought]).astype(int)
    participants = np.ceil(over * truth.systems * per_text / np.minimum(TEXTS, over))
    model = "clmm" if truth.scale == "ordinal" else "lmer"
    powers = preview(truth, over, per_text, participants=participants, model=model)
    rows = {row["items"]: row for row in powers.to_pylist()}
    here, count = rows[items], items * truth.systems * per_text
    return {
        "curve": [[n, row["adjusted"]] for n, row in rows.items() if n <= MOST_ITEMS],
        "power": here["adjusted"],
        "participants": here["participants"],
        "ratings": count,
        "cost": None if costs.counted else costs.say(costs.of(count, here["participants"])),
        "affordable": None
        if costs.budget is None
        else {"items": bought[0], "power": rows[bought[0]]["adjusted"], "money": costs.say(costs.budget)},
    }


def _bought(price: float, money: float) -> int:
    """Return how many items money buys; two at least, because a study of one has no power at all."""
    return int(min(max(money / price + 1e-9, 2), 100_000))


def _size(options: Mapping[str, Any]) -> tuple[int, int]:
    items, per_text = (int(_number(options, name)) for name in ("items", "ratings"))
    if not (LEAST_ITEMS <= items <= 5000 and 1 <= per_text <= 50):
        raise InputError(f"give from {LEAST_ITEMS} to 5000 items and from 1 to 50 ratings per text")
    return items, per_text


def _number(options: Mapping[str, Any], name: str, default: float | None = None) -> float:
    """Return where a slider stands."""
    value = options.get(name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
        raise InputError(f"the slider {name!r} says {value!r}, which is not a number from 0 on; load the page again")
    return round(float(value), 4)


def _pilot_folder(options: Mapping[str, Any], study: Path | None) -> Path | None:
    """Return the folder of the job that read the pilot, if the plan is from one."""
    if options.get("setting") != PILOT:
        return None
    folder = (study or Path()) / Path(str(options.get("pilot"))).name
    if study is None or not (folder / "truth.toml").is_file():
        raise InputError("the file is not read as a pilot yet; choose another setting, or drop the file again")
    return folder


def _truth_text(setting: str, folder: Path | None) -> str:
    if folder is not None:
        return (folder / "truth.toml").read_text(encoding="utf-8")
    if setting not in HOWCROFT2021.settings:
        raise InputError(f"there is no setting {setting!r}; choose one of {', '.join(HOWCROFT2021.settings)}")
    return HOWCROFT2021.settings[setting].to_toml()


def _truth_in(folder: Path) -> Truth:
    return Truth.from_toml(_truth_text(PILOT, folder))


def _systems_in(folder: Path) -> list[str]:
    """Return the names of the pilot's systems, in the order of its truth."""
    return sorted({str(name) for name in tables.read(folder / "pilot.csv")["system"].to_pylist()})


def _with_spread(text: str, spread: float) -> Truth:
    truth = Truth.from_toml(text)
    sizes = {name: tuple(spread * sd for sd in getattr(truth, name)) for name in ("participant_sd", "item_sd")}
    return truth.shift(**sizes)


@lru_cache(maxsize=256)
def _assumed(text: str, spread: float, points: float) -> Truth:
    return with_points(_with_spread(text, spread), points)
