"""Pictures of raters: item by item, categories used, and pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.render.figures.style import BLUE, GREY, INK, ORANGE, PALE, empty_figure, label_ends, plain, title
from ordbridge.support.escaping import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ordbridge.reliability.ratings import Ratings
    from ordbridge.reliability.variance_components import Generalizability

FEW = 12
"""Raters who all have names in a picture."""


def ratings_by_item(ratings: Ratings, *, limit: int = 60, columns: int = 2) -> Figure:
    """Draw every rater's ratings item by item, one panel per rater, with the mean of all raters.

    Items are sorted by their mean rating. Of more than ``limit`` items an evenly spaced choice is drawn.

    Examples
    --------
    >>> from ordbridge.reliability import prepare
    >>> figure = ratings_by_item(prepare([[1, 2], [2, 2], [3, 4]]))
    >>> len(figure.axes)
    2
    """
    if not ratings.ordered:
        raise InputError("ratings by item need categories with an order; these are words without one")
    values = ratings.values
    means = np.nanmean(values, axis=1)
    order = np.argsort(means, kind="stable")
    shown = order if len(order) <= limit else order[np.linspace(0, len(order) - 1, limit).round().astype(int)]
    n = len(ratings.raters)
    columns = min(columns, n)
    rows = -(-n // columns)
    figure = empty_figure(7.4, 0.9 + 1.5 * rows)
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    place = np.arange(len(shown))
    for position, panel in enumerate(panels.flat):
        if position >= n:
            panel.set_visible(False)
            continue
        panel.plot(place, means[shown], color=GREY, linewidth=1.4, zorder=1)
        panel.plot(place, values[shown, position], "o", color=BLUE, markersize=3.2, alpha=0.8, zorder=2)
        panel.set_title(shortened(str(ratings.raters[position])), fontsize=9, loc="left", color=INK)
        panel.margins(y=0.1)
        _scale_ticks(panel, ratings)
        plain(panel)
    chosen = f"{len(shown)} of {len(order)} items" if len(shown) < len(order) else f"{len(order)} items"
    figure.supxlabel(f"{chosen}, sorted by mean rating (grey line: mean of all raters)", fontsize=9, color=INK)
    figure.supylabel("rating", fontsize=9, color=INK)
    return figure


def categories_used(ratings: Ratings) -> Figure:
    """Draw the share of each category in every rater's ratings, as one bar per rater.

    Examples
    --------
    >>> from ordbridge.reliability import prepare
    >>> figure = categories_used(prepare([[1, 2], [2, 2], [3, 4]]))
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ['1', '2']
    """
    from matplotlib import colormaps, ticker

    use = ratings.use_of_categories()
    raters = list(dict.fromkeys(row["participant"] for row in use))
    labels = list(dict.fromkeys(row["category"] for row in use))
    share = np.array([row["share"] for row in use]).reshape(len(raters), len(labels))
    shades = colormaps["viridis" if ratings.ordered else "tab20"](np.linspace(0.05, 0.95, len(labels)))
    figure = empty_figure(7.4, 1.3 + 0.34 * len(raters))
    panel = figure.subplots()
    left, rows = np.zeros(len(raters)), range(len(raters))
    for column, label in enumerate(labels):
        panel.barh(rows, share[:, column], left=left, color=shades[column], label=shortened(label, 20), height=0.74)
        dark = np.dot(shades[column][:3], [0.299, 0.587, 0.114]) < 0.55
        for row in rows:
            if share[row, column] >= 0.06:
                at = left[row] + share[row, column] / 2
                text = f"{share[row, column]:.0%}"
                panel.text(at, row, text, ha="center", va="center", fontsize=7.5, color="white" if dark else INK)
        left += share[:, column]
    panel.set_yticks(rows, [shortened(rater, 30) for rater in raters])
    panel.set_ylim(len(raters) - 0.5, -0.5)
    panel.set_xlim(0, 1)
    panel.xaxis.set_major_formatter(ticker.PercentFormatter(1))
    panel.set_xlabel("share of the rater's ratings", fontsize=9, color=INK)
    plain(panel)
    _legend_above(figure, panel, len(labels))
    return figure


def leniency_and_consistency(raters: pa.Table, criterion: str | None = None) -> Figure:
    """Draw each rater as a point: how mild, and how consistent with the others; outliers are orange.

    They have names, and the others, too, where there are few.

    Parameters
    ----------
    raters
        The table ``raters`` of :func:`ordbridge.reliability.analyse`.
    criterion
        Which criterion to draw; default: a panel for each.

    Examples
    --------
    >>> from ordbridge.reliability import analyse
    >>> ratings = {"item": [*range(30)] * 2, "participant": ["a"] * 30 + ["b"] * 30,
    ...            "rating": [i % 3 for i in range(30)] + [i % 4 for i in range(30)]}
    >>> len(leniency_and_consistency(analyse(ratings, conf_level=None).raters).axes)
    1
    """
    every = raters.to_pylist()
    criteria = [criterion] if criterion is not None else list(dict.fromkeys(row["criterion"] for row in every))
    across = min(2, len(criteria))
    down = -(-len(criteria) // across)
    figure = empty_figure(6.4 if across == 1 else 9.2, 3.9 * down)
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for name, panel in zip(criteria, panels, strict=False):
        _leniency(panel, _of_criterion(every, name), "" if len(criteria) == 1 else f"{shortened(name, 30)}: ")
    for panel in panels[len(criteria) :]:
        panel.set_visible(False)
    return figure


def _leniency(panel: Axes, rows: list[dict[str, Any]], name: str) -> None:
    rows = [row for row in rows if row["consistency"] is not None]
    for row in rows:
        x = 0.0 if row["leniency"] is None else row["leniency"]
        _cross(panel, row, x)
        mark = "D" if row["flagged"] else "o"  # to be told apart without colours
        panel.plot(x, row["consistency"], mark, color=ORANGE if row["flagged"] else BLUE, markersize=5, zorder=3)
        if row["flagged"] or len(rows) <= FEW:
            panel.annotate(
                shortened(row["participant"], 30),
                (x, row["consistency"]),
                (4, 4),
                textcoords="offset points",
                fontsize=8,
            )
    panel.axvline(0, color=GREY, linewidth=0.8)
    panel.margins(0.12)
    panel.grid(color=GREY, alpha=0.25, linewidth=0.6)
    panel.set_axisbelow(True)
    panel.set_xlabel("stricter   ←   points above the others   →   milder", fontsize=9, color=INK)
    panel.set_ylabel("consistency with the others", fontsize=9, color=INK)
    outliers = "; diamonds: outliers" if any(row["flagged"] for row in rows) else ""
    title(panel, f"{name}Raters", f"leniency and consistency on the same items, 95% intervals{outliers}")


def _cross(panel: Axes, row: dict[str, Any], x: float) -> None:
    """Draw the intervals of a rater behind the point."""
    look: dict[str, Any] = {"color": ORANGE if row["flagged"] else BLUE, "linewidth": 0.9, "alpha": 0.35, "zorder": 1}
    if row["consistency_low"] is not None:
        panel.plot([x, x], [row["consistency_low"], row["consistency_high"]], **look)
    if row["leniency_low"] is not None:
        panel.plot([row["leniency_low"], row["leniency_high"]], [row["consistency"]] * 2, **look)


def d_study(found: Generalizability) -> Figure:
    """Draw how reliability grows with the number of raters of each text, one line per object and kind.

    Parameters
    ----------
    found
        What :func:`ordbridge.reliability.generalizability` returned.

    Examples
    --------
    >>> from ordbridge.reliability import generalizability
    >>> judges = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    >>> len(d_study(generalizability(judges, draws=0)).axes[0].lines)
    2
    """
    figure = empty_figure(7.0, 3.4)
    panel = figure.subplots()
    lines: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
    for row in found.reliability.to_pylist():
        lines.setdefault((row["object"], row["kind"], row["n_items"]), []).append(row)
    colours = dict(zip(dict.fromkeys(key[0] for key in lines), (BLUE, ORANGE), strict=False))
    ends: list[tuple[str, float, float, dict[str, Any]]] = []
    for (what, kind, n_items), rows in lines.items():
        over = f", {n_items} items" if what == "system" else ""
        x, style = [row["n_raters"] for row in rows], "-" if kind == "relative" else "--"
        y = [row["estimate"] for row in rows]
        look = {"color": colours[what], "linestyle": style}
        panel.plot(x, y, marker="o", markersize=3, **look)
        ends.append((f"{what}{over}, {kind}", x[-1], y[-1], look))
        if kind == "relative" and rows[0]["conf_low"] is not None:
            low, high = ([row[end] for row in rows] for end in ("conf_low", "conf_high"))
            panel.fill_between(x, low, high, color=colours[what], alpha=0.15, linewidth=0)
    panel.set_ylim(0, 1)
    panel.set_xlabel("raters of each text", fontsize=9, color=INK)
    panel.set_ylabel("reliability of the mean", fontsize=9, color=INK)
    label_ends(panel, ends, 2.6)
    plain(panel)
    return figure


def _of_criterion(rows: list[dict[str, Any]], criterion: str | None) -> list[dict[str, Any]]:
    """Return the rows of one criterion, which has to be named when there are several."""
    criteria = list(dict.fromkeys(row["criterion"] for row in rows))
    if criterion is None and len(criteria) > 1:
        raise InputError(f"there are several criteria; name one of: {', '.join(criteria)}")
    found = [row for row in rows if row["criterion"] == (criterion or (criteria or [None])[0])]
    if not found:
        raise InputError(f"there is no criterion {criterion!r}; there are: {', '.join(criteria)}")
    return found


def pairs_heatmap(pairs: pa.Table, criterion: str | None = None) -> Figure:
    """Draw κ and γ of all pairs of raters as two heat maps; hatched cells are pairs without a value.

    Parameters
    ----------
    pairs
        The table ``pairs`` of :func:`ordbridge.reliability.analyse`.
    criterion
        Which criterion to draw; not needed when there is one.

    Examples
    --------
    >>> from ordbridge.reliability import analyse
    >>> ratings = {"item": [*range(30)] * 2, "participant": ["a"] * 30 + ["b"] * 30,
    ...            "rating": [i % 3 for i in range(30)] + [i % 4 for i in range(30)]}
    >>> len(pairs_heatmap(analyse(ratings, conf_level=None).pairs).axes)
    3
    """
    rows = _of_criterion(pairs.to_pylist(), criterion)
    raters = list(dict.fromkeys(name for row in rows for name in (row["participant_a"], row["participant_b"])))
    measures = [("kappa", "Cohen's κ (agreement)"), ("gamma", "Goodman & Kruskal's γ (correlation)")]
    measures = [measure for measure in measures if any(row[measure[0]] is not None for row in rows)] or measures[:1]
    side = max(2.4, 0.34 * len(raters))
    figure = empty_figure(min(11.0, side * len(measures) + 1.6), side + 0.9)
    panels = figure.subplots(1, len(measures), squeeze=False)[0]
    for panel, (measure, heading) in zip(panels, measures, strict=True):
        image = _heatmap(panel, rows, raters, measure)
        panel.set_title(heading, fontsize=9, loc="left", color=INK)
    bar = figure.colorbar(image, ax=list(panels), shrink=0.8)
    bar.ax.tick_params(labelsize=8)
    bar.outline.set_visible(False)
    return figure


def _heatmap(panel: Any, rows: list[dict[str, Any]], raters: list[str], measure: str) -> Any:
    grid = np.full((len(raters), len(raters)), np.nan)
    for row in rows:
        a, b = raters.index(row["participant_a"]), raters.index(row["participant_b"])
        grid[a, b] = grid[b, a] = np.nan if row[measure] is None else row[measure]
    image = panel.imshow(grid, cmap="RdBu", vmin=-1, vmax=1)
    if len(raters) <= 16:
        for a, b in zip(*np.nonzero(~np.isnan(grid)), strict=True):
            colour = "white" if abs(grid[a, b]) > 0.62 else INK
            panel.text(b, a, f"{grid[a, b]:.2f}", ha="center", va="center", fontsize=7, color=colour)
    names = [shortened(rater, 20) for rater in raters]
    panel.set_xticks(range(len(raters)), names, rotation=90, fontsize=7.5)
    panel.set_yticks(range(len(raters)), names, fontsize=7.5)
    plain(panel)
    panel.patch.set(facecolor=PALE, edgecolor=GREY, hatch="////", linewidth=0)  # unlike 0, which is white
    return image


def _legend_above(figure: Figure, panel: Any, n_labels: int) -> None:
    """Put the legend above, to be read line by line (matplotlib fills it column by column)."""
    columns = n_labels if n_labels <= 8 else -(-n_labels // -(-n_labels // 6))
    handles, names = panel.get_legend_handles_labels()
    order = [position for column in range(columns) for position in range(column, n_labels, columns)]
    figure.legend(
        [handles[position] for position in order],
        [names[position] for position in order],
        loc="outside upper left",
        ncols=columns,
        title="category",
        fontsize=8,
        title_fontsize=8,
        frameon=False,
        alignment="left",
    )


def _scale_ticks(panel: Any, ratings: Ratings) -> None:
    if ratings.scores is None:
        panel.set_yticks(
            range(len(ratings.categories)), [shortened(str(category), 20) for category in ratings.categories]
        )
    elif len(ratings.categories) <= 10:
        panel.set_yticks(ratings.scores)
