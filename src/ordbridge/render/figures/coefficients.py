"""The coefficients of a fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ordbridge.render.figures.style import BLUE, GREY, INK, empty_figure
from ordbridge.support.escaping import shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ordbridge.models.fit import Fit


def forest(fit: Fit, thresholds: bool = True, named: Callable[[str], str] = str) -> Figure:
    """Draw the coefficients with their 95% intervals, those of the predictors in blue, thresholds in grey.

    Scale effects are named so, because they have the names of effects on location.

    Parameters
    ----------
    fit
        A fitted model.
    thresholds
        Whether to draw the thresholds of an ordinal model, too.
    named
        What a term is called in the picture; default: as R calls it.

    Examples
    --------
    >>> import ordbridge as ob
    >>> fit = ob.lm("y ~ x", {"y": [1.0, 2.1, 2.9, 4.2], "x": [1, 2, 3, 4]}, engine="fast")
    >>> [label.get_text() for label in forest(fit).axes[0].get_yticklabels()]
    ['x']
    """
    shown = ("fixed", "threshold") if thresholds else ("fixed",)
    rows = [row for row in fit.tidy().to_pylist() if row["conf_low"] is not None and row["effect"] in shown]
    rows = [row for row in rows if row["term"] != "(Intercept)"] or rows  # which is far from the others
    figure = empty_figure(6.4, 0.9 + 0.32 * max(1, len(rows)))
    panel = figure.subplots()
    for place, row in enumerate(reversed(rows)):
        colour = GREY if row["effect"] == "threshold" else BLUE
        panel.plot([row["conf_low"], row["conf_high"]], [place, place], color=colour)
        panel.plot(row["estimate"], place, "o", color=colour)
    panel.set_ylim(-0.5, max(len(rows), 1) - 0.5)
    panel.tick_params(axis="y", length=0)
    panel.set_yticks(range(len(rows)), [_label(row, named) for row in reversed(rows)])
    panel.axvline(0, color=INK, linewidth=0.8)
    panel.spines[["top", "right"]].set_visible(False)
    panel.set_xlabel("estimate")
    return figure


def _label(row: dict[str, Any], named: Callable[[str], str]) -> str:
    term = shortened(named(str(row["term"])))
    return f"scale: {term}" if row["effect"] == "scale" else term
