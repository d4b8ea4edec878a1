"""All pairwise differences of systems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ordbridge.render.figures.style import BLUE, GREY, INK, empty_figure, title
from ordbridge.support.escaping import shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 40


def differences(rows: Sequence[dict[str, Any]], conf_level: float = 0.95, unit: str = "rating points") -> Figure:
    """Draw differences in points with their intervals: filled where systems differ, hollow elsewhere.

    Parameters
    ----------
    rows
        ``label, difference, conf_low, conf_high, differs``, of which the largest differences are drawn if there are
        many.
    conf_level
        The level of the intervals.
    unit
        What the axis says.

    Examples
    --------
    >>> row = {"label": "B – A", "difference": 0.4, "conf_low": 0.1, "conf_high": 0.7, "differs": True}
    >>> [label.get_text() for label in differences([row]).axes[0].get_yticklabels()]
    ['B – A']
    """
    shown = sorted(rows, key=lambda row: -abs(row["difference"]))[:MOST]
    shown = [row for row in rows if any(row is one for one in shown)]
    figure = empty_figure(7.2, 1.3 + 0.3 * len(shown))
    panel = figure.subplots()
    for place, row in enumerate(shown):
        colour = BLUE if row["differs"] else GREY
        if row["conf_low"] is not None and row["conf_high"] is not None:
            panel.plot([row["conf_low"], row["conf_high"]], [place, place], color=colour, linewidth=2, zorder=1)
        face = BLUE if row["differs"] else "white"
        panel.plot(row["difference"], place, "o", color=colour, markerfacecolor=face, zorder=2)
    panel.axvline(0, color=INK, linewidth=0.8)
    panel.set_yticks(range(len(shown)), [shortened(row["label"], 44) for row in shown])
    panel.set_ylim(len(shown) - 0.5, -0.5)
    panel.tick_params(axis="y", length=0)
    panel.grid(axis="x", color=GREY, alpha=0.25, linewidth=0.6)
    panel.set_axisbelow(True)
    panel.set_xlabel(unit)
    rest = f", the {MOST} largest of {len(rows)}" if len(rows) > MOST else ""
    title(panel, "Differences", f"first minus second, {100 * conf_level:g}% intervals; filled: they differ{rest}")
    return figure
