"""Power over the effect, as Howcroft & Rieser (2021) draw it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ordbridge.errors import InputError
from ordbridge.escaping import shortened
from ordbridge.figures.style import GREY, PALE, SOFT, cycle, empty_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ordbridge.power import Run

__all__ = ["power_curves"]

PAPER_NAMES = {
    "extra-low": "Extreme Low Variance",
    "low": "Low Variance",
    "representative": "General",
    "high": "High Variance",
    "extra-high": "Extreme High Variance",
}
LINES = {"clmm": "-", "lmer": "--", "clm": "-.", "lm": ":"}


def power_curves(run: Run | Sequence[Run], models: Sequence[str] | None = None) -> Figure:
    """Draw power over the effect: rows are variance settings, columns numbers of ratings, colours numbers of items.

    Colours, line types and reading order are those of the paper's figures: black, orange and blue for more and more
    items, linear models dashed, ordinal ones solid (fixed-effects models dotted). Bands are exact 95 % intervals, the
    dotted level is alpha. Below stands what was run, with which engine, and how it was audited.

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
    figure = empty_figure(1.6 + 2.6 * len(columns), 1.5 + 1.9 * len(settings))
    panels = figure.subplots(len(settings), len(columns), sharex=True, sharey=True, squeeze=False)
    for i, setting in enumerate(settings):
        for j, ratings in enumerate(columns):
            here = [
                r for r in rows if tuple(r[axis] for axis in down) == setting and r.get("ratings_per_text") == ratings
            ]
            for colour, item in zip(cycle(len(items)), items, strict=True):
                for model in drawn:
                    curve = [r for r in here if r.get("items") == item and r["model"] == model]
                    _power_curve(panels[i, j], curve, colour, styles[model])
            panels[i, j].axhline(run.alpha, color=GREY, linewidth=0.6, linestyle=":", zorder=0)
            panels[i, j].set_ylim(-0.02, 1.02)
            panels[i, j].grid(color=PALE, linewidth=0.6)
            panels[i, j].tick_params(labelsize=8)
            if i == 0 and ratings is not None:
                panels[i, j].set_title(f"# Ratings / Text: {ratings}", fontsize=9)
            if j == len(columns) - 1:
                name = ", ".join(PAPER_NAMES.get(value, shortened(str(value))) for value in setting)
                place = {"xycoords": "axes fraction", "rotation": 270, "ha": "left", "va": "center"}
                panels[i, j].annotate(name, (1.03, 0.5), **place, fontsize=9)
    for panel in panels[-1]:
        panel.set_xlabel("Difference in means (latent)", fontsize=8.5)
    for panel in panels[:, 0]:
        panel.set_ylabel("Power", fontsize=8.5)
    letters = int(18 * figure.get_figwidth())  # in a line of the caption
    caption = "\n".join(textwrap.fill(line, letters) for line in _power_caption(runs, table).split("\n"))
    inch = 1 / figure.get_figheight()
    bottom = (0.05 + 0.13 * (1 + caption.count("\n"))) * inch
    legend_rows = _power_legend(figure, items, drawn, styles, bottom)
    room = bottom + (0.1 + 0.17 * legend_rows) * inch
    layout: Any = figure.get_layout_engine()
    layout.set(rect=(0, room, 1, 1 - room))
    figure.text(0.01, 0.04 * inch, caption, fontsize=6.5, color=SOFT, va="bottom")
    return figure


def _as_in_paper(setting: tuple[Any, ...]) -> tuple[Any, ...]:
    """Sort the paper's settings from little to much variance, others by name after them."""
    known = list(PAPER_NAMES)
    return tuple((known.index(value), "") if value in known else (len(known), str(value)) for value in setting)


def _power_curve(axes: Axes, curve: list[dict[str, Any]], colour: str, style: Any) -> None:
    curve = sorted((r for r in curve if r["power"] is not None and r["effect"] is not None), key=lambda r: r["effect"])
    if not curve:
        return
    effect, power, low, high = ([r[name] for r in curve] for name in ("effect", "power", "conf_low", "conf_high"))
    axes.fill_between(effect, low, high, color=colour, alpha=0.08, linewidth=0)
    axes.plot(effect, power, color=colour, linestyle=style, linewidth=1.2)
    axes.plot(effect, power, "o", color=colour, alpha=0.25, markersize=3.5, markeredgewidth=0)


def _line_styles(run: Run) -> list[Any]:
    """Return a line type a model: by its kind, and for a second model of one kind dashes of another length."""
    seen: dict[str, int] = {}
    styles: list[Any] = []
    for model in run.models:
        again = seen[model.kind] = seen.get(model.kind, -1) + 1
        styles.append((0, (5 + 3 * again, 2, 1, 2)) if again else LINES[model.kind])
    return styles


def _power_legend(figure: Figure, items: list[Any], models: list[str], styles: dict[str, Any], bottom: float) -> int:
    """Put the legend above the caption and return how many rows it has."""
    from matplotlib.lines import Line2D

    handles = []
    if items != [None]:
        colours = zip(cycle(len(items)), items, strict=True)
        handles = [Line2D([], [], color=colour, label=f"{item} items") for colour, item in colours]
    handles += [Line2D([], [], color=SOFT, linestyle=styles[model], label=shortened(model)) for model in models]
    columns = min(len(handles), max(2, int(figure.get_figwidth() / 1.2)))
    look = {"ncols": columns, "fontsize": 8, "frameon": False, "handlelength": 3, "borderpad": 0.2}
    legend = figure.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, bottom), **look)
    legend.set_in_layout(False)
    return -(-len(handles) // columns)


def _power_caption(runs: list[Run], table: pa.Table) -> str:
    datasets = [*dict.fromkeys(table["n"].to_pylist())]
    count = f"{datasets[0]}" if len(datasets) == 1 else f"{min(datasets)}–{max(datasets)}"
    failed = sum(table["n_failed"].to_pylist())
    from ordbridge.power.result import audit_runs

    first = runs[0]
    line = f"{count} datasets a point, failed fits: {failed}, alpha {first.alpha:g}, engine {first.engine}"
    if share := first.manifest["audit"]:
        return f"{line}\nAudit of {share:g} of the datasets: {audit_runs(runs)}"
    return f"{line}, not audited" if first.engine == "fast" else line
