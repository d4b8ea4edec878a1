"""The words of a power run: what it finds, what it rests on, and what a reader should know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ordbridge import __version__
from ordbridge.models.kinds import KINDS
from ordbridge.render.cells import cell as as_cell
from ordbridge.results import Finding, citations, found
from ordbridge.simulate.effect_units import effect_units
from ordbridge.support.formatting import listed

if TYPE_CHECKING:
    from ordbridge.power.grid import Cell
    from ordbridge.power.models import Model
    from ordbridge.power.result import Run

ENOUGH = 0.8
"""The power that the answer asks for."""
NAMES = {"n": "datasets", "n_failed": "failed fits", "ratings_per_text": "ratings/text"}
AXES = {"items": "{} items", "ratings_per_text": "{} ratings per text", "variance": "{} variance"}
ORDER = ("clmm", "clm", "lmer", "lm")
"""In which models are told: first those that are made for ordinal ratings, and for raters and items."""
MOST = 8  # columns of the table below the answer


def percent(power: float, low: float, high: float) -> str:
    """Write a power with its interval.

    Examples
    --------
    >>> percent(0.826, 0.78, 0.864)
    '83% (78 to 86%)'
    """
    return f"{power:.0%} ({100 * low:.0f} to {100 * high:.0f}%)"


def answer(run: Run, table: pa.Table) -> str:
    """Say for every model which difference which size of study finds often enough, a line each.

    Of the studies with enough power it is the one with the smallest difference, and of these the smallest study. In a
    calibrated run power is adjusted, so that no test profits from false alarms.
    """
    sure = {"power": "adjusted_power", "conf_low": "adjusted_low", "conf_high": "adjusted_high"}
    rows = [row for row in table.to_pylist() if row["measure"] == "power"]
    if run.calibration:
        rows = [row | {name: row[adjusted] for name, adjusted in sure.items()} for row in rows]
    rows = [row for row in rows if row["power"] is not None]
    if not rows:
        return "There is no power to report yet."
    cells = {cell.label: cell for cell in run.grid.cells}
    axes = [axis for axis in run.grid.axes if axis in table.column_names]
    lines = []
    for model in sorted(run.models, key=lambda model: ORDER.index(model.kind)):
        own = [row for row in rows if row["model"] == model.name]
        if not own:
            continue
        enough = [row for row in own if row["power"] >= ENOUGH]
        best = min(enough, key=_smallest) if enough else max(own, key=lambda row: row["power"])
        by = f"{model.name}: " if len(run.models) > 1 else ""
        power = percent(best["power"], best["conf_low"], best["conf_high"])
        what, where = _sought(cells[best["cell"]], model, best), _study(best, axes)
        if enough:
            line = f"{by}power {power} to {what}{where}."
        else:
            line = f"{by}no study reaches {ENOUGH:.0%} power. The best has {power} to {what}{where}."
        lines.append(line if by else f"{line[0].upper()}{line[1:]}")
    return "\n".join(lines)


def _smallest(row: dict[str, Any]) -> tuple[float, float]:
    effect = row.get("effect")
    size = abs(effect) if isinstance(effect, (int, float)) else 0.0
    return size, float(row.get("items") or 1) * float(row.get("ratings_per_text") or 1)


def _sought(cell: Cell, model: Model, row: dict[str, Any]) -> str:
    """Say what is found, or shown: a difference in points where there are two systems on a scale."""
    first, *others = map(str, cell.systems)
    if model.margin is not None:
        unit = "points" if model.on == "rating" else "latent units"
        whose = f" of {others[0]} and {first}" if len(others) == 1 else ""
        return f"show {model.goal}{whose} within {model.margin:g} {unit}"
    if len(others) > 1:
        return f"find an effect of {row['effect']}" if row.get("effect") is not None else "find a difference"
    points = effect_units(cell.truth)["points"][0].as_py()
    return f"find {abs(points):.2g} points between {others[0]} and {first}"


def _study(row: dict[str, Any], axes: Sequence[str]) -> str:
    told = [AXES.get(axis, axis.replace("_", " ") + " {}").format(as_cell(row[axis])) for axis in axes
            if axis != "effect" and row.get(axis) is not None]  # fmt: skip
    return f" with {listed(told)}" if told else ""


def counted(run: Run, table: pa.Table) -> str:
    """Say how many studies were simulated, and how they were analysed."""
    shown = sorted({f"{m.goal} within {m.margin:g} ({m.on})" for m in run.models if m.margin is not None})
    models = [f"{m.name} ({'REML' if m.REML else 'maximum likelihood'})" if m.kind == "lmer" else m.name
              for m in run.models]  # fmt: skip
    goal = f"; goal: {listed(shown)}" if shown else ""
    nulls = f"; critical values from {run.calibration:,} datasets each" if run.calibration else ""
    cells = len(run.grid.cells)
    return (
        f"{_number(table)} simulated datasets in each of {cells} kind{'' if cells == 1 else 's'} of study; "
        f"{listed(models)}, alpha {run.alpha:g}, engine {run.engine}{goal}{nulls}. "
        f"{run.fits.num_rows:,} fits in {run.path}."
    )


def _number(table: pa.Table) -> str:
    counts = sorted(set(table["n"].to_pylist()))
    return "No" if not counts else f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"


def findings(run: Run, table: pa.Table) -> Iterator[Finding]:
    """Yield failed and missing fits, tests that do not keep their level, and what an audit found."""
    rows = table.to_pylist()
    messages = {row["model"]: row["message"] for row in reversed(run.failures().to_pylist())}  # the commonest first
    for row in rows:
        if row["n_failed"] == row["n"]:
            where = ", ".join(name for name in (row["cell"], row["model"]) if name)
            yield found("every-fit-failed", where, text=messages[row["model"]] or "no message")
    if missing := run.missing:
        yield found("fits-missing", missing=missing)
    if failed := sum(row["n_failed"] for row in rows):
        yield found("fits-failed", failed=failed, n=sum(row["n"] for row in rows))
    for model in run.models if run.calibration else ():
        sizes = [row for row in rows if row["model"] == model.name and row["size_low"] is not None]
        worst = max(sizes, key=lambda row: row["size"], default=None)
        if worst is not None and worst["size_low"] > run.alpha:
            values = {"size": worst["size"], "low": worst["size_low"], "high": worst["size_high"]}
            yield found("false-positives", model.name, alpha=run.alpha, **values)
    if run.manifest["audit"] and (audit := run.audit()).compared:
        agrees = not audit.differ and not audit.cases.num_rows
        values = {"compared": audit.compared, "largest": audit.largest, "differ": audit.differ}
        yield found("audit-agrees" if agrees else "audit-differs", **values, over_1_percent=audit.cases.num_rows)


def main_columns(run: Run, table: pa.Table) -> pa.Table:
    """Return the power of each study in at most eight columns; what is the same in all rows is not repeated."""
    axes = [axis for axis in run.grid.axes if axis in table.column_names]
    varied = [axis for axis in axes if len(set(map(str, table[axis].to_pylist()))) > 1]
    rows, columns = table.to_pylist(), dict[str, list[Any]]()
    for name in [*varied, *(["model"] if len(run.models) > 1 else [])]:
        columns[name] = [row[name] for row in rows]
    if not run.calibration:
        columns["n"] = [row["n"] for row in rows]
    if any(row["measure"] != "power" for row in rows):
        columns["measure"] = [row["measure"] for row in rows]
    columns["power"] = [_percent(row, "power", "conf_low", "conf_high") for row in rows]
    if run.calibration:
        columns["adjusted_power"] = [_percent(row, "adjusted_power", "adjusted_low", "adjusted_high") for row in rows]
    spare = [name for name in ("n", "measure") if name in columns]
    while len(columns) > MOST and spare:
        columns.pop(spare.pop(0))
    return pa.table(columns)


def _percent(row: dict[str, Any], *names: str) -> str | None:
    power, low, high = (row[name] for name in names)
    return None if power is None else percent(power, low, high)


def methods(run: Run, table: pa.Table) -> str:
    """Say how power was simulated."""
    formulas = "; ".join(f"{KINDS[model.kind].name} {model}" for model in run.models)
    failed = sum(table["n_failed"].to_pylist())
    audit = f" {run.audit()}." if run.manifest["audit"] else ""
    what = sorted({f"{m.goal} within {m.margin:g} ({m.on})" for m in run.models if m.margin is not None})
    goal = f" What was to be shown is {' or '.join(what)}, by two one-sided tests." if what else ""
    null = "an effect" if not what else "more than the margin"
    sizes = (
        f" Size-adjusted power is the share of datasets with p below a critical value, which {run.calibration} "
        f"datasets without {null} give for each design, so that all tests have size {run.alpha:g}; its "
        "intervals include the error of the critical value."
        if run.calibration
        else ""
    )
    return (
        f"Power was estimated by simulation: {_number(table).lower()} datasets for each of {len(run.grid.cells)} cells "
        f"(seed {run.manifest['seed']}), each analysed by {formulas}, with "
        f"{citations.software(run.versions, run.engine)}. Power is the share of datasets with p < {run.alpha:g}; the "
        f"{failed} failed fits count as not significant. Intervals are exact 95% intervals (Clopper & Pearson 1934)."
        f"{compared(run.grid.cells[0].systems)}{goal}{sizes}{audit}"
    )


def references(run: Run) -> list[str]:
    """Return the references of the methods paragraph."""
    ordinal = [citations.WORKS["mccullagh"]] if any(model.ordinal for model in run.models) else []
    return [f"ordbridge {__version__}.", *ordinal, *citations.of_software(run.versions), citations.WORKS["clopper"]]


def compared(systems: Sequence[Any]) -> str:
    """Name the systems of simulated studies in their order, and the one that others are set against."""
    first, *others = map(str, systems)
    return f" The systems are {first} (the reference) and {listed(others)}."


def said_once(table: pa.Table) -> tuple[str, pa.Table]:
    """Return a sentence about the columns that say the same in every row, and the table without them.

    Examples
    --------
    >>> said, left = said_once(pa.table({"items": [20, 40], "effect": [0.6, 0.6], "note": [None, None]}))
    >>> said, left.column_names
    ('In all rows: effect 0.6.', ['items'])
    """
    same = {}
    if table.num_rows > 1:
        values = {name: table[name].to_pylist() for name in table.column_names}
        same = {name: column[0] for name, column in values.items() if all(v == column[0] for v in column)}
    words = [
        f"{NAMES.get(name, name.replace('_', ' '))} {f'{v:g}' if isinstance(v, float) else as_cell(v, name)}"
        for name, v in same.items()
        if v not in (None, "")
    ]
    return (f"In all rows: {', '.join(words)}." if words else ""), table.drop_columns(list(same))
