"""Preferences: win rates against the mean opponent, and the matrix of pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ordbridge.render.figures.style import BLUE, GREY, INK, SOFT, empty_figure, title
from ordbridge.support.escaping import shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["pair_matrix", "win_rates"]

Panels = Mapping[str | None, Sequence[dict[str, Any]]]
MOST_WRITTEN = 12


def win_rates(panels: Panels, conf_level: float = 0.95) -> Figure:
    """Draw win rates with intervals, the best system on top, a panel for each criterion.

    Examples
    --------
    >>> row = {"system": "A", "win_rate": 0.6, "conf_low": 0.5, "conf_high": 0.7, "letters": "a", "observed": 0.61}
    >>> len(win_rates({None: [row]}).axes)
    1
    """
    heights = [max(2, len(rows)) for rows in panels.values()]
    figure = empty_figure(6.4, sum(1.3 + 0.3 * height for height in heights))
    axes = figure.subplots(len(panels), 1, squeeze=False, gridspec_kw={"height_ratios": heights})[:, 0]
    for panel, (criterion, rows) in zip(axes, panels.items(), strict=True):
        for place, row in enumerate(rows):
            if row["conf_low"] is not None:
                panel.plot([row["conf_low"], row["conf_high"]], [place, place], color=BLUE, linewidth=2)
            if row["win_rate"] is not None:
                panel.plot(row["win_rate"], place, "o", color=BLUE)
            else:
                panel.plot(row["observed"], place, "o", color=GREY, markerfacecolor="white")
            if row["letters"]:
                panel.annotate(
                    row["letters"],
                    (1.02, place),
                    xycoords=("axes fraction", "data"),
                    va="center",
                    fontsize=8.5,
                    color=SOFT,
                )
        panel.axvline(0.5, color=INK, linewidth=0.8)
        panel.set_yticks(range(len(rows)), [shortened(row["system"], 30) for row in rows])
        panel.set_ylim(len(rows) - 0.5, -0.5)
        panel.set_xlim(0, 1)
        panel.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0%", "25%", "50%", "75%", "100%"])
        panel.tick_params(axis="y", length=0)
        panel.grid(axis="x", color=GREY, alpha=0.25, linewidth=0.6)
        panel.set_axisbelow(True)
        told = "; a letter in common: no significant difference"
        title(panel, shortened(criterion or "") or "Win rates", f"ties split, {100 * conf_level:g}% intervals{told}")
    return figure


def pair_matrix(panels: Panels, pairs: Panels) -> Figure:
    """Draw the win rate of the row against the column, a panel for each criterion.

    Examples
    --------
    >>> ranking = [{"system": "A"}, {"system": "B"}]
    >>> pair = {"system_a": "A", "system_b": "B", "win_rate": 0.6}
    >>> len(pair_matrix({None: ranking}, {None: [pair]}).axes)
    1
    """
    import numpy as np

    most = max(len(rows) for rows in panels.values())
    size = min(9.0, 1.8 + 0.45 * most)
    figure = empty_figure(size + 1.2, size * len(panels))
    axes = figure.subplots(len(panels), 1, squeeze=False)[:, 0]
    for panel, (criterion, rows) in zip(axes, panels.items(), strict=True):
        names = [row["system"] for row in rows]
        place = {name: k for k, name in enumerate(names)}
        grid = np.full((len(names), len(names)), np.nan)
        for row in pairs[criterion]:
            a, b = place[row["system_a"]], place[row["system_b"]]
            grid[a, b], grid[b, a] = row["win_rate"], 1 - row["win_rate"]
        panel.imshow(grid, cmap="RdBu", vmin=0, vmax=1)
        if len(names) <= MOST_WRITTEN:
            for (a, b), value in np.ndenumerate(grid):
                if value == value:
                    colour = "white" if abs(value - 0.5) > 0.3 else INK
                    panel.text(b, a, f"{100 * value:.0f}", ha="center", va="center", fontsize=8, color=colour)
        labels = [shortened(name, 18) for name in names]
        panel.set_xticks(range(len(names)), labels, rotation=90)
        panel.set_yticks(range(len(names)), labels)
        panel.tick_params(length=0, labelsize=8 if len(names) <= 20 else 5)
        title(panel, shortened(criterion or "") or "Pairs", "win rate of the row against the column, %")
    return figure
