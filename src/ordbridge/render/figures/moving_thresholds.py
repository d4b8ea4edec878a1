"""The thresholds of every system, where each moves on its own and where all move alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ordbridge.errors import InputError
from ordbridge.render.figures.style import BLUE, GREY, INK, empty_figure, title
from ordbridge.support.escaping import shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ordbridge.models.inference.proportionality import Assumptions


def thresholds(found: Assumptions) -> Figure:
    """Draw the thresholds of each level of a factor, from the model in which each moves on its own.

    One row per level, a mark with its interval for every threshold: the further to the left, the more ratings lie above
    it. Grey marks are where the thresholds would be if the factor moved them all alike; a threshold beyond which a
    level has no rating has no blue one.

    Parameters
    ----------
    found
        What :meth:`ordbridge.Fit.assumptions` returned.

    Examples
    --------
    >>> import ordbridge as ob
    >>> ratings = {"rating": [1, 2, 2, 3, 1, 3, 2, 3, 1, 2, 1, 3], "system": list("AABBAABBABBA")}
    >>> figure = thresholds(ob.clm("rating ~ system", ratings, engine="fast").assumptions())
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['A', 'B']
    """
    rows = found.thresholds.to_pylist()
    if not rows:
        raise InputError("there are no thresholds to draw: the model has no factor, or could not be fitted")
    levels = list(dict.fromkeys(row["level"] for row in rows))
    figure = empty_figure(7.2, 1.6 + 0.55 * len(levels))
    panel = figure.subplots()
    for row in rows:
        place = levels.index(row["level"])
        if row["moved_alike"] is not None:
            panel.plot(row["moved_alike"], place, "|", color=GREY, markersize=16, markeredgewidth=2.5, zorder=1)
        if row["estimate"] is not None:
            if row["conf_low"] is not None:
                ends = [row["conf_low"], row["conf_high"]]
                panel.plot(ends, [place, place], "-|", color=BLUE, linewidth=1.2, markersize=5, zorder=2)
            panel.plot(row["estimate"], place, "o", color=BLUE, markersize=5, zorder=3)
        shown = row["estimate"] if row["estimate"] is not None else row["moved_alike"]
        if shown is not None:
            panel.annotate(
                shortened(row["threshold"], 16),
                (shown, place),
                (0, 11),
                textcoords="offset points",
                ha="center",
                fontsize=8,
                color=INK,
            )
    panel.set_yticks(range(len(levels)), [shortened(level, 30) for level in levels])
    panel.set_ylim(len(levels) - 0.4, -0.7)
    panel.set_xlabel("latent quality; blue: each threshold on its own, grey: all moved alike")
    title(
        panel,
        f"Thresholds of each {shortened(found.factor or 'factor')}",
        "how much it takes to be rated higher, with intervals",
    )
    return figure
