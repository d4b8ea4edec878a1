"""Power over the effect, as Howcroft & Rieser (2021) draw it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ordbridge.errors import InputError
from ordbridge.render.figures.style import GREY, INK, LABEL, PALE, cycle, empty_figure, label_ends
from ordbridge.support.escaping import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ordbridge.power import Run

VARIANCES = ("extra-low", "low", "representative", "high", "extra-high")
"""In the order of the paper, from little to much."""
LINE = 3
"""Points that make a line."""
TARGET = 0.8
"""The power that people ask for."""
LINES = {"clmm": "-", "lmer": "--", "clm": "-.", "lm": ":"}


def power_curves(run: Run | Sequence[Run], models: Sequence[str] | None = None) -> Figure:
    """Draw power over the effect: rows are variance settings, columns numbers of ratings, every line has its name.

    Colours, line types and reading order are those of the paper's figures: black, orange and blue for more and more
    items, linear models dashed, ordinal ones solid (fixed-effects models dotted); at the right end of a row stands
    which line is which. Bands are exact 95% intervals; of two points there are bars, and no line between them.

    Parameters
    ----------
    run
        A run of :func:`ordbridge.power.run`, finished or not; or several, with the same models and axes.
    models
        Which models to draw; default: all.

    References
    ----------
    Howcroft & Rieser (2021), Figures 2 and 3.
    """
    runs = list(run) if isinstance(run, Sequence) else [run]
    run, table = runs[0], pa.concat_tables(one.power() for one in runs)
    if models is not None:
        table = table.filter(pc.is_in(table["model"], pa.array(list(models))))
    if not table.num_rows or "effect" not in table.column_names:
        raise InputError("there is nothing to draw: the run has no fits yet, or its grid has no axis 'effect'")
    rows = table.to_pylist()
    other = [axis for axis in run.grid.axes if axis not in ("items", "ratings_per_text", "effect")]
    down = [axis for axis in other if axis == "variance" or len({str(row[axis]) for row in rows}) > 1]
    settings = sorted({tuple(row[axis] for axis in down) for row in rows}, key=_as_in_paper)
    columns, items = (
        sorted({row.get(axis) for row in rows}, key=lambda number: number or 0)
        for axis in ("ratings_per_text", "items")
    )
    drawn = [*dict.fromkeys(row["model"] for row in rows)]
    styles = {model.name: style for model, style in zip(run.models, _line_styles(run), strict=True)}
    look = {(item, model): {"color": colour, "linestyle": styles[model]}
            for colour, item in zip(cycle(len(items)), items, strict=True) for model in drawn}  # fmt: skip
    high = max(1.8, LABEL * (len(look) + 1))
    figure = empty_figure(2.2 + 2.6 * len(columns), 0.6 + (high + 0.5) * len(settings))
    panels = figure.subplots(len(settings), len(columns), sharex=True, sharey=True, squeeze=False)
    for setting, row in zip(settings, panels, strict=True):
        ends: dict[tuple[Any, str], tuple[float, float]] = {}
        for ratings, panel in zip(columns, row, strict=True):
            here = [
                r for r in rows if tuple(r[axis] for axis in down) == setting and r.get("ratings_per_text") == ratings
            ]
            for (item, model), drawn_as in look.items():
                curve = [r for r in here if r.get("items") == item and r["model"] == model]
                if end := _power_curve(panel, curve, drawn_as):
                    ends[item, model] = end
            _ground(panel, run.alpha)
            panel.set_title(_panel_title(down, setting, ratings), fontsize=9, loc="left", color=INK)
        label_ends(row[-1], [(_line_name(key, items, drawn), *end, look[key]) for key, end in ends.items()], high)
    for panel in panels[-1]:
        panel.set_xlabel("difference between the systems (latent)", fontsize=8.5)
    for panel in panels[:, 0]:
        panel.set_ylabel("power", fontsize=8.5)
    return figure


def _ground(panel: Axes, alpha: float) -> None:
    """Draw what lies behind the curves: a grid, the power that people ask for, and alpha."""
    from matplotlib.ticker import PercentFormatter

    panel.axhline(alpha, color=GREY, linewidth=0.7, linestyle=":", zorder=0)
    panel.axhline(TARGET, color=GREY, linewidth=0.7, linestyle=":", zorder=0)
    panel.set_ylim(-0.02, 1.02)
    panel.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol="%"))
    panel.grid(color=PALE, linewidth=0.6)
    panel.tick_params(labelsize=8)
    panel.spines[["top", "right"]].set_visible(False)


def _panel_title(down: Sequence[str], setting: tuple[Any, ...], ratings: Any) -> str:
    """Say which studies a panel is about: of which variance, and with how many ratings of each text."""
    names = [f"{value} {axis}" if axis == "variance" else f"{axis.replace('_', ' ')} {value}"
             for axis, value in zip(down, setting, strict=True)]  # fmt: skip
    each = [] if ratings is None else [f"{ratings:g} rating{'s' if ratings != 1 else ''} per text"]
    return "\n".join(shortened(line) for line in (", ".join(names), *each) if line)


def _line_name(key: tuple[Any, str], items: Sequence[Any], models: Sequence[str]) -> str:
    """Name a line by what it does not have in common with all others."""
    item, model = key
    parts = [] if item is None or (len(items) == 1 and len(models) > 1) else [f"{item:g} items"]
    return ", ".join([*parts, shortened(model)] if len(models) > 1 or not parts else parts)


def _as_in_paper(setting: tuple[Any, ...]) -> tuple[Any, ...]:
    """Sort the paper's settings from little to much variance, others by name after them."""
    known = VARIANCES
    return tuple((known.index(value), "") if value in known else (len(known), str(value)) for value in setting)


def _power_curve(axes: Axes, curve: list[dict[str, Any]], look: dict[str, Any]) -> tuple[float, float] | None:
    """Draw a curve with its band, and return where it ends."""
    curve = sorted((r for r in curve if r["power"] is not None and r["effect"] is not None), key=lambda r: r["effect"])
    if not curve:
        return None
    effect, power, low, high = ([r[name] for r in curve] for name in ("effect", "power", "conf_low", "conf_high"))
    if len(effect) >= LINE:
        axes.fill_between(effect, low, high, color=look["color"], alpha=0.08, linewidth=0)
        axes.plot(effect, power, **look, linewidth=1.2)
    else:
        axes.vlines(effect, low, high, color=look["color"], linewidth=1.0, alpha=0.6)
    axes.plot(effect, power, "o", color=look["color"], markersize=3.5, markeredgewidth=0)
    return effect[-1], power[-1]


def _line_styles(run: Run) -> list[Any]:
    """Return a line type a model: by its kind, and for a second model of one kind dashes of another length."""
    seen: dict[str, int] = {}
    styles: list[Any] = []
    for model in run.models:
        again = seen[model.kind] = seen.get(model.kind, -1) + 1
        styles.append((0, (5 + 3 * again, 2, 1, 2)) if again else LINES[model.kind])
    return styles
