"""One look for all pictures: colours, an empty figure, titles, plain panels."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["BLUE", "GREY", "INK", "ORANGE", "PALE", "SERIES", "SOFT", "cycle", "empty_figure", "plain", "title"]

INK, SOFT, GREY, PALE = "#222222", "#555555", "#9a9a9a", "#eeeeee"
"""Text and axes, text that stands back, what is compared with, grounds and grids."""
BLUE, ORANGE = "#2166ac", "#d6604d"
"""What a picture is about, and what it warns of or contrasts with."""
SERIES = ("#000000", "#E69F00", "#0072B2", "#56B4E9", "#009E73", "#F0E442", "#D55E00", "#CC79A7")
"""For several of a kind, which everybody can tell apart (Okabe & Ito 2008); in the order of Howcroft & Rieser."""


def empty_figure(width: float, height: float) -> Figure:
    """Return a figure that belongs to no window, in which a ``$`` in a name is a character like any other."""
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    class Picture(Figure):
        """A figure without mathematics: names are people's own, and some have two ``$``."""

        def draw(self, renderer: Any) -> None:
            for text in self.findobj(Text):
                text.set_parse_math(False)
            with matplotlib.rc_context({"text.parse_math": False}):  # of ticks that are made while it is drawn
                super().draw(renderer)

        def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
            """Show the figure in a notebook, at the size of the text there."""
            file = BytesIO()
            self.savefig(file, format="png")
            width, height = (round(90 * inches) for inches in self.get_size_inches())
            return file.getvalue(), {"width": width, "height": height}

    return Picture(figsize=(width, height), dpi=150, layout="constrained")


def title(panel: Axes, title: str, subtitle: str) -> None:
    """Say above a panel what it shows, and how."""
    panel.set_title(f"{title}\n", loc="left", fontsize=11, fontweight="bold", color=INK)
    panel.text(0, 1.02, subtitle, transform=panel.transAxes, fontsize=9, color=SOFT, va="bottom")
    panel.spines[["top", "right"]].set_visible(False)


def plain(panel: Axes) -> None:
    """Take away the frame of a panel."""
    panel.tick_params(labelsize=8, length=0, colors=INK)
    for spine in panel.spines.values():
        spine.set_visible(False)
    panel.set_facecolor("#f7f7f7")


def cycle(number: int) -> list[str]:
    """Return this many colours of the series, from the start again if there are more."""
    return [SERIES[i % len(SERIES)] for i in range(number)]
