"""The report on a power run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ordbridge import figures
from ordbridge.formats import listed
from ordbridge.report.html import Page, cell
from ordbridge.simulate.effect_units import effect_units

if TYPE_CHECKING:
    from ordbridge.power import Run
    from ordbridge.power.grid import Cell
    from ordbridge.power.models import Model

__all__ = ["build", "power_answer", "said_once"]

ENOUGH = 0.8
"""The power that the headline of a run asks for."""
IN_WORDS = {"lm": "a linear model", "lmer": "a linear mixed model", "clm": "an ordinal model",
            "clmm": "an ordinal mixed model"}  # fmt: skip
BEHIND = ("cell", "n_ok", "mc_error")
"""Columns that a reader does not need: the interval says what they say."""
NAMES = {"n": "datasets", "n_failed": "failed fits"}


def build(run: Run) -> Page:
    """Return the answer, picture, tables and checks; :mod:`ordbridge.report.build` adds the rest."""
    table = run.power()
    made = Page("Power of the planned study")
    headline, *more = power_answer(run, table)
    made.answer(headline, more)
    if "effect" in table.column_names and table.num_rows:
        made.picture(figures.power_curves(run), "Power over the difference between the systems, with 95 % intervals")
    failed = any(table["n_failed"].to_pylist())
    hidden = [*BEHIND, *([] if failed else ["power_if_failures_significant"])]
    said, shown = said_once(table.drop_columns(hidden))
    made.heading("Power of each study").sentence(said).table(shown, names=NAMES)
    if run.calibration:
        made.sentence(
            "Size is how often the test is significant where nothing is to be found; adjusted power is that at a "
            "critical value at which the size is alpha. Compare models by their adjusted power."
        )
    made.heading("Checks")
    failures = run.failures()
    if failures.num_rows:
        made.warning(f"{sum(failures['n'].to_pylist())} fits failed; they count as not significant.").table(failures)
    else:
        made.sentence("No fit failed.")
    if run.manifest["audit"]:
        audit = run.audit()
        made.heading("Audit against R", 3).sentence(f"{audit}.").table(audit.summary)
    with made.folded("Estimates against the truth"):
        made.table(said_once(run.bias().drop_columns(["cell"]))[1], names=NAMES)
    return made


def power_answer(run: Run, table: pa.Table) -> list[str]:
    """Say for every model which difference which size of study finds often enough; the first sentence is the headline.

    Of the studies with enough power it is the one with the smallest difference, and of these the smallest study. In a
    calibrated run power is adjusted, so that no test profits from false alarms.
    """
    sure = {"power": "adjusted_power", "conf_low": "adjusted_low", "conf_high": "adjusted_high"}
    rows = [row for row in table.to_pylist() if row["measure"] == "power"]
    if run.calibration:
        rows = [row | {name: row[adjusted] for name, adjusted in sure.items()} for row in rows]
    rows = [row for row in rows if row["power"] is not None]
    if not rows:
        return ["There is no power to report yet."]
    cells = {cell.label: cell for cell in run.grid.cells}
    axes = [axis for axis in run.grid.axes if axis in table.column_names]
    sentences = []
    for model in run.models:
        own = [row for row in rows if row["model"] == model.name]
        if not own:
            continue
        enough = [row for row in own if row["power"] >= ENOUGH]
        best = min(enough, key=_smallest) if enough else max(own, key=lambda row: row["power"])
        by = f" by {IN_WORDS[model.kind]} ({model.name})" if len(run.models) > 1 else ""
        often = f"{'' if enough else 'only '}{100 * best['power']:.0f} % of studies"
        interval = f"({100 * best['conf_low']:.0f} to {100 * best['conf_high']:.0f})"
        what = _sought(cells[best["cell"]], model, best)
        sentences.append(f"{what} in {often} {interval}{_study(best, axes)}{by}.")
    return sentences


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
        return f"{model.goal.capitalize()}{whose} within {model.margin:g} {unit} is shown"
    if len(others) > 1:
        return f"An effect of {row['effect']} is found" if row.get("effect") is not None else "A difference is found"
    points = effect_units(cell.truth)["points"][0].as_py()
    return f"A difference of {abs(points):.2g} points between {others[0]} and {first} is found"


AXES = {"items": "{} items", "ratings_per_text": "{} ratings per text", "variance": "{} variance"}


def _study(row: dict[str, Any], axes: Sequence[str]) -> str:
    told = [AXES.get(axis, axis.replace("_", " ") + " {}").format(cell(row[axis])) for axis in axes
            if axis != "effect" and row.get(axis) is not None]  # fmt: skip
    return f" with {listed(told)}" if told else ""


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
        f"{NAMES.get(name, name.replace('_', ' '))} {f'{v:g}' if isinstance(v, float) else cell(v, name)}"
        for name, v in same.items()
        if v not in (None, "")
    ]
    return (f"In all rows: {', '.join(words)}." if words else ""), table.drop_columns(list(same))
