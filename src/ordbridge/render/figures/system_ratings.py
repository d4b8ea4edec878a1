"""Systems side by side: the shares of the categories, and expected ratings with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ordbridge.render.figures.style import BLUE, GREY, INK, SOFT, empty_figure, title
from ordbridge.support.escaping import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MOST_TICKS = 10  # categories that all have a tick
MANY = 12  # with more systems clusters stand in place of letters, and rows are closer
ROW, CLOSE = 0.34, 0.19  # inches


@dataclass(frozen=True)
class SystemRatings:
    """The systems of one criterion, the highest first."""

    title: str
    ranking: Sequence[dict[str, Any]]
    """system, estimate, conf_low, conf_high, letters, n; of many systems cluster, rank_low and rank_high, too."""
    shares: Sequence[dict[str, Any]]
    """system, category, share; none for a slider."""
    ends: tuple[float, float]
    """Of the scale."""

    @property
    def many(self) -> bool:
        """Whether clusters stand in place of letters."""
        return len(self.ranking) > MANY and all(row.get("cluster") is not None for row in self.ranking)


def systems(panels: Sequence[SystemRatings], conf_level: float = 0.95) -> Figure:
    """Draw stacked shares of the categories beside expected ratings with intervals, a row for each criterion.

    Examples
    --------
    >>> ranking = [{"system": "A", "estimate": 3.2, "conf_low": 3.0, "conf_high": 3.4, "letters": "a", "n": 10}]
    >>> shares = [{"system": "A", "category": "3", "share": 0.8}, {"system": "A", "category": "4", "share": 0.2}]
    >>> len(systems([SystemRatings("", ranking, shares, (1, 5))]).axes)
    2
    """
    heights = [(CLOSE if len(panel.ranking) > MANY else ROW) * len(panel.ranking) for panel in panels]
    both = any(panel.shares for panel in panels)
    figure = empty_figure(9.6 if both else 6.0, 1.3 * len(panels) + sum(heights) + 0.2)
    grid = figure.subplots(
        len(panels), 2 if both else 1, squeeze=False, gridspec_kw={"height_ratios": [h + 0.9 for h in heights]}
    )
    for row, panel in zip(grid, panels, strict=True):
        places = range(len(panel.ranking))
        if both and panel.shares:
            _stacked(row[0], panel)
        elif both:
            row[0].set_visible(False)
        _ratings(row[-1], panel, conf_level)
        for axes in row:
            axes.set_yticks(places, [shortened(entry["system"], 30) for entry in panel.ranking])
            axes.set_ylim(len(panel.ranking) - 0.5, -0.5)
            axes.tick_params(axis="y", length=0, labelsize=7.5 if len(panel.ranking) > MANY else None)
    return figure


def _stacked(axes: Axes, panel: SystemRatings) -> None:
    from matplotlib import colormaps

    categories = list(dict.fromkeys(row["category"] for row in panel.shares))
    share = {(row["system"], row["category"]): row["share"] for row in panel.shares}
    for place, entry in enumerate(panel.ranking):
        left = 0.0
        for k, category in enumerate(categories):
            width = share.get((entry["system"], category), 0.0)
            strength = k / max(1, len(categories) - 1)
            axes.barh(place, width, 0.72, left, color=colormaps["Blues"](0.08 + 0.8 * strength), edgecolor="white")
            if width >= 0.07:
                colour = "white" if strength > 0.55 else INK
                text = f"{100 * width:.0f}%"
                axes.text(left + width / 2, place, text, ha="center", va="center", fontsize=7.5, color=colour)
            left += width
    handles = [
        axes.barh(0, 0, color=colormaps["Blues"](0.08 + 0.8 * k / max(1, len(categories) - 1)), label=category)
        for k, category in enumerate(categories)
    ]
    axes.legend(
        handles=handles,
        labels=[shortened(category, 18) for category in categories],
        frameon=False,
        fontsize=8,
        ncols=min(6, len(categories)),
        loc="upper left",
        bbox_to_anchor=(0, -0.02),
        handlelength=1,
        columnspacing=1,
    )
    axes.set_xlim(0, 1)
    axes.set_xticks([])
    title(axes, shortened(panel.title) or "Ratings", "share of each category, lowest to highest")
    axes.spines[["left", "bottom"]].set_visible(False)


def _ratings(axes: Axes, panel: SystemRatings, conf_level: float) -> None:
    close = len(panel.ranking) > MANY
    for place, row in enumerate(panel.ranking):
        if panel.many and row["cluster"] % 2 == 0:
            axes.axhspan(place - 0.5, place + 0.5, color=GREY, alpha=0.13, linewidth=0)
        if row["conf_low"] is not None:
            axes.plot([row["conf_low"], row["conf_high"]], [place, place], color=BLUE, linewidth=1.3 if close else 1.8)
        axes.plot(row["estimate"], place, "o", color=BLUE, markersize=3.5 if close else 6)
    marked = any(row["letters"] for row in panel.ranking)
    for place, row in enumerate(panel.ranking):
        text = f"{row['estimate']:.2f}"
        if panel.many:
            text += f"  {'–'.join(dict.fromkeys(map(str, (row['rank_low'], row['rank_high']))))}"
        elif row["letters"]:
            text += f"  {row['letters']}"
        size = 7 if close else 8.5
        axes.annotate(text, (1.02, place), xycoords=("axes fraction", "data"), va="center", fontsize=size, color=SOFT)
    ends = [end for row in panel.ranking for end in (row["conf_low"], row["conf_high"], row["estimate"])]
    ends = [end for end in (*ends, *panel.ends) if end is not None]
    low, high = min(ends), max(ends)  # the whole scale, so that a small difference looks small
    room = 0.02 * (high - low) or 0.5
    axes.set_xlim(low - room, high + room)
    if high - low <= MOST_TICKS and float(low).is_integer() and float(high).is_integer():
        axes.set_xticks(range(int(low), int(high) + 1))
    axes.grid(axis="x", color=GREY, alpha=0.25, linewidth=0.6)
    axes.set_axisbelow(True)
    told = "; a letter in common: no significant difference" if marked else ""
    if panel.many:
        told = ""
        axes.set_xlabel("shades: clusters; on the right: possible places", fontsize=8)
    of = f"{shortened(panel.title)}: expected rating" if panel.title and not panel.shares else "Expected rating"
    title(axes, of, f"with {100 * conf_level:g}% intervals{told}")
