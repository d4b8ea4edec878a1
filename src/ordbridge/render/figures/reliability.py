"""Agreement, correlation and reliability with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ordbridge.render.figures.style import BLUE, GREY, empty_figure, title
from ordbridge.support.escaping import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLES = {"agreement": "Agreement", "correlation": "Correlation", "single rating": "One rating", "average": "Averages"}


def agreement_and_reliability(rows: Sequence[dict[str, Any]]) -> Figure:
    """Draw agreement, correlation and reliability as points with intervals; of several criteria a panel for each.

    Parameters
    ----------
    rows
        ``criterion, group, what, measure, estimate, conf_low, conf_high``, as in the table ``summary``.

    Examples
    --------
    >>> row = {"criterion": "all", "group": "all", "what": "agreement", "measure": "agreement (α)", "estimate": 0.5,
    ...        "conf_low": 0.3, "conf_high": 0.7}
    >>> len(agreement_and_reliability([row]).axes)
    1
    """
    lines = list(dict.fromkeys((row["criterion"], row["group"]) for row in rows))
    if len(lines) < 2:
        figure = empty_figure(7.2, 0.9 + 0.34 * max(1, len(rows)))
        panel = figure.subplots()
        _points(panel, rows, [row["measure"] for row in rows])
        title(panel, "Agreement and reliability", "1: perfect; 0: chance; with intervals")
        return figure
    kinds = [kind for kind in TITLES if any(row["what"] == kind for row in rows)]
    groups = len({group for _, group in lines}) > 1
    names = [f"{criterion}, {group}" if groups else criterion for criterion, group in lines]
    figure = empty_figure(min(10.5, 2.2 + 2.1 * len(kinds)), 0.9 + 0.3 * len(lines))
    for place, (panel, kind) in enumerate(
        zip(figure.subplots(1, len(kinds), sharey=True, squeeze=False)[0], kinds, strict=True)
    ):
        own = {(row["criterion"], row["group"]): row for row in rows if row["what"] == kind}
        _points(panel, [own.get(line) for line in lines], names if place == 0 else None)
        said = {"agreement": "Krippendorff's α", "correlation": "between raters"}.get(kind, "reliability")
        title(panel, TITLES[kind], said)
    return figure


def _points(panel: Axes, rows: Sequence[dict[str, Any] | None], names: Sequence[str] | None) -> None:
    low = 0.0
    for place, row in enumerate(rows):
        if row is None or row["estimate"] is None:
            continue
        if row["conf_low"] is not None:
            panel.plot([row["conf_low"], row["conf_high"]], [place, place], color=BLUE, linewidth=1.8)
        panel.plot(row["estimate"], place, "o", color=BLUE, markersize=6)
        low = min(low, row["estimate"], row["conf_low"] if row["conf_low"] is not None else 0.0)
    panel.set_xlim(min(0.0, low - 0.05), 1.0)
    panel.set_ylim(len(rows) - 0.5, -0.5)
    panel.axvline(0, color=GREY, linewidth=0.8)
    panel.grid(axis="x", color=GREY, alpha=0.25, linewidth=0.6)
    panel.set_axisbelow(True)
    if names is not None:
        panel.set_yticks(range(len(rows)), [shortened(name, 56) for name in names])
    panel.tick_params(axis="y", length=0)
