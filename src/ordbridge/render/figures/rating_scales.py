"""Rating scales side by side: agreement of the raters, and where the systems stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ordbridge.render.figures.style import BLUE, GREY, LABEL, SOFT, cycle, empty_figure, label_ends, title
from ordbridge.support.escaping import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ordbridge.scales import ScaleComparison


def scales(found: ScaleComparison) -> Figure:
    """Draw agreement of the raters with its interval, and beside it the systems from the lowest to the highest mean.

    One row of panels for each criterion. Lines that cross are systems that change places from one scale to the next.

    Parameters
    ----------
    found
        What :func:`ordbridge.scales.compare` returned.

    Examples
    --------
    >>> from ordbridge import scales as rating_scales
    >>> cells = [(s, i, r) for s in range(3) for i in range(6) for r in range(3)]
    >>> columns = dict(zip(("system", "item", "participant"), map(list, zip(*cells))))
    >>> a = columns | {"rating": [s + (i * r) % 3 for s, i, r in cells]}
    >>> b = columns | {"rating": [10 * s + (i + r) % 7 for s, i, r in cells]}
    >>> len(scales(rating_scales.compare(a, b, names=("five", "slider"))).axes)
    2
    """
    high = max(1.5, 0.3 * len(found.scales), LABEL * (1 + len(set(found.means["system"].to_pylist()))))
    figure = empty_figure(9.2, (high + 0.9) * len(found.criteria))
    grid = figure.subplots(len(found.criteria), 2, squeeze=False)
    for criterion, (left, right) in zip(found.criteria, grid, strict=True):
        name = f"{shortened(criterion, 24)}: " if len(found.criteria) > 1 else ""
        _agreement(left, [row for row in found.reliability.to_pylist() if row["criterion"] == criterion], name)
        _systems(right, [row for row in found.means.to_pylist() if row["criterion"] == criterion], found.scales, high)
    return figure


def _agreement(panel: Axes, rows: list[dict[str, Any]], name: str) -> None:
    for place, row in enumerate(rows):
        if row["kendall_w"] is None:
            panel.text(0.5, place, "no value", ha="center", va="center", fontsize=8.5, color=SOFT)
            continue
        if row["conf_low"] is not None:
            panel.plot([row["conf_low"], row["conf_high"]], [place, place], color=BLUE, linewidth=2)
        panel.plot(row["kendall_w"], place, "o", color=BLUE)
    panel.set_yticks(range(len(rows)), [shortened(row["scale"], 24) for row in rows])
    panel.set_ylim(len(rows) - 0.5, -0.5)
    panel.set_xlim(0, 1)
    panel.tick_params(axis="y", length=0)
    panel.grid(axis="x", color=GREY, alpha=0.25, linewidth=0.6)
    panel.set_axisbelow(True)
    panel.set_xlabel("Kendall's W")
    title(panel, f"{name}Agreement of the raters", "1: all in the same order; with intervals")


def _systems(panel: Axes, rows: list[dict[str, Any]], names: list[str], height: float) -> None:
    """Draw a line for each system through its place between the lowest and the highest mean of each scale."""
    own = {name: {row["system"]: row["mean"] for row in rows if row["scale"] == name} for name in names}
    systems = list(dict.fromkeys(row["system"] for row in rows))
    ends = []
    for system, colour in zip(systems, cycle(len(systems)), strict=True):
        across = [place for place, name in enumerate(names) if system in own[name]]
        up = [_standing(own[names[place]], system) for place in across]
        panel.plot(across, up, "-o", color=colour, markersize=4, linewidth=1.2)
        ends.append((shortened(system, 16), float(across[-1]), up[-1], {"color": colour}))
    panel.set_xticks(range(len(names)), [shortened(name, 14) for name in names])
    panel.set_xlim(-0.15, len(names) - 0.85)
    panel.set_ylim(-0.06, 1.06)
    panel.set_yticks([0, 1], ["lowest", "highest"])
    title(panel, "Systems", "means between the lowest and the highest on each scale")
    label_ends(panel, ends, height)


def _standing(means: dict[str, float], system: str) -> float:
    low, high = min(means.values()), max(means.values())
    return 0.5 if high == low else (means[system] - low) / (high - low)
