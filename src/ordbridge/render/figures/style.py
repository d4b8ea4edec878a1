"""One look for all pictures: colours, an empty figure, titles, plain panels."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, SOFT, GREY, PALE = "#222222", "#555555", "#9a9a9a", "#eeeeee"
"""Text and axes, text that stands back, what is compared with, grounds and grids."""
BLUE, ORANGE = "#1f5a96", "#c8561f"
"""What a picture is about, and what it warns of or contrasts with."""
SERIES = ("#000000", "#E69F00", "#0072B2", "#56B4E9", "#009E73", "#F0E442", "#D55E00", "#CC79A7")
"""For several of a kind, which everybody can tell apart (Okabe & Ito 2008); in the order of Howcroft & Rieser."""


SUBTITLE = "_subtitle"  # no legend shows what begins so
"""What subtitles are found by when a figure is drawn for a phone."""


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

        def add_subplot(self, *arguments: Any, **options: Any) -> Any:
            panel = super().add_subplot(*arguments, **options)
            panel.tick_params(labelsize=8.5, color=GREY, labelcolor=INK, width=0.7, length=3)
            panel.xaxis.label.set(size=9, color=INK)
            panel.yaxis.label.set(size=9, color=INK)
            panel.spines[["left", "bottom"]].set(color=GREY, linewidth=0.7)
            panel.spines[["top", "right"]].set_visible(False)
            return panel

        def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
            """Show the figure in a notebook, at the size of the text there."""
            file = BytesIO()
            self.savefig(file, format="png")
            width, height = (round(90 * inches) for inches in self.get_size_inches())
            return file.getvalue(), {"width": width, "height": height}

    return Picture(figsize=(width, height), dpi=150, layout="constrained")


def title(panel: Axes, title: str, subtitle: str) -> None:
    """Say above a panel what it shows, and how."""
    from matplotlib.transforms import ScaledTranslation

    _headed(panel, f"{title}\n")
    above = panel.transAxes + ScaledTranslation(0, 4 / 72, panel.figure.dpi_scale_trans)  # however tall the panel is
    panel.text(0, 1, subtitle, transform=above, fontsize=8.5, color=SOFT, va="bottom", label=SUBTITLE)
    panel.spines[["top", "right"]].set_visible(False)


def _headed(panel: Axes, text: str) -> None:
    panel.set_title(text, loc="left", fontsize=10.5, fontweight="bold", color=INK)


def plain(panel: Axes) -> None:
    """Take away the frame of a panel."""
    panel.tick_params(labelsize=8, length=0, colors=INK)
    for spine in panel.spines.values():
        spine.set_visible(False)
    panel.set_facecolor("#f7f7f7")


def cycle(number: int) -> list[str]:
    """Return this many colours of the series, from the start again if there are more."""
    return [SERIES[i % len(SERIES)] for i in range(number)]


def label_ends(panel: Axes, ends: Sequence[tuple[str, float, float, dict[str, Any]]], height: float) -> None:
    """Name lines at the right of a panel, each beside its last point: no legend, no two names in one place."""
    if not ends:
        return
    bottom, top = panel.get_ylim()
    heights = np.array([(y - bottom) / (top - bottom) for _, _, y, _ in ends])
    for (name, x, y, look), place in zip(ends, apart(heights, LABEL / height), strict=True):
        panel.annotate(
            name,
            (x, y),
            (1.07, place),
            textcoords="axes fraction",
            va="center",
            fontsize=8,
            color=INK,
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "linewidth": 0.9, "shrinkA": 1, "shrinkB": 0, **look},
        )


LABEL = 0.135
"""The height of a line of small text, in inches."""


def apart(places: np.ndarray, gap: float) -> np.ndarray:
    """Return places between 0 and 1, in the same order and as near as they can be, that are a gap apart.

    This is isotonic regression: without ``i * gap`` the places only must not decrease.

    Examples
    --------
    >>> apart(np.array([0.9, 0.1, 0.9]), 0.2).round(3).tolist()
    [0.8, 0.1, 1.0]
    """
    order = np.argsort(places, kind="stable")
    steps = gap * np.arange(len(places))
    blocks: list[list[float]] = []  # of each its sum and its size
    for value in places[order] - steps:
        blocks.append([float(value), 1])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
            total, size = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += size
    level = np.concatenate([np.full(int(size), total / size) for total, size in blocks])
    found = np.empty(len(places))
    found[order] = np.clip(level, 0, max(0.0, 1 - steps[-1])) + steps
    return found


PHONE = 4.0
"""How wide a figure for a phone is, in inches: letters are then as large as those of the text around it."""
MOST_STACKED = 4
"""Panels that are put below each other; more are left as they are, to be scrolled."""
LETTERS = 22
"""Of a name beside an axis on a phone; longer ones have two lines."""


@contextmanager
def narrowed(figure: Figure) -> Iterator[Figure | None]:
    """Yield the figure as a phone shows it: panels below each other, long lines broken; None if it fits as it is.

    It is also None if it cannot be changed. Afterwards the figure is as it was.

    Examples
    --------
    >>> figure = empty_figure(9.6, 3.0)
    >>> _ = figure.subplots(1, 2)
    >>> with narrowed(figure) as small:
    ...     small.get_size_inches().tolist()
    [4.0, 6.0]
    >>> figure.get_size_inches().tolist()
    [9.6, 3.0]
    """
    panels = [panel for panel in figure.axes if panel.get_subplotspec() is not None and panel.get_visible()]
    specs = [panel.get_subplotspec() for panel in panels]
    several = any(spec is not None and spec.get_gridspec().ncols > 1 for spec in specs)
    fits = figure.get_figwidth() <= PHONE
    if fits or figure.get_layout_engine() is None or not panels or (several and len(panels) > MOST_STACKED):
        yield None
        return
    undo = [_resize(figure), *(_break_lines(panel) for panel in panels)]
    if several:
        undo.append(_stack(figure, panels))
    try:
        yield figure
    finally:
        for step in reversed(undo):
            step()


def _resize(figure: Figure) -> Callable[[], None]:
    width, height = figure.get_size_inches()
    figure.set_size_inches(PHONE, height)
    return lambda: figure.set_size_inches(width, height)


def _stack(figure: Figure, panels: Sequence[Axes]) -> Callable[[], None]:
    """Put panels below each other, each with its own labels and as high as it was."""
    specs: list[Any] = [panel.get_subplotspec() for panel in panels]
    ticks = [panel.yaxis.get_tick_params().get("labelleft", True) for panel in panels]
    grid, height = specs[0].get_gridspec(), figure.get_figheight()
    ratios = grid.get_height_ratios()
    own = [ratios[spec.rowspan.start] for spec in specs]
    figure.set_figheight(height * sum(own) / sum(ratios))
    layout: Any = figure.get_layout_engine()
    between = layout.get()["h_pad"]
    layout.set(h_pad=0.12)
    column = figure.add_gridspec(len(panels), 1, height_ratios=own)
    for place, panel in enumerate(panels):
        panel.set_subplotspec(column[place])
        panel.tick_params(labelleft=True)

    def undo() -> None:
        figure.set_figheight(height)
        layout.set(h_pad=between)
        for panel, spec, shown in zip(panels, specs, ticks, strict=True):
            panel.set_subplotspec(spec)
            panel.tick_params(labelleft=shown)

    return undo


def _break_lines(panel: Axes) -> Callable[[], None]:
    """Break the lines of a subtitle and of names beside the axis that are too long for a phone."""
    heading, names = panel.get_title(loc="left"), [label.get_text() for label in panel.get_yticklabels()]
    subtitles = [text for text in panel.texts if text.get_label() == SUBTITLE]
    before = [text.get_text() for text in subtitles]
    for text in subtitles:
        lines = textwrap.wrap(text.get_text(), 2 * LETTERS)
        text.set_text("\n".join(lines))
        text.set_in_layout(False)
        _headed(panel, heading.rstrip("\n") + "\n" * len(lines))
    kinds = {type(one).__name__ for one in (panel.yaxis.get_major_formatter(), panel.yaxis.get_major_locator())}
    fixed = kinds <= {"FixedFormatter", "FuncFormatter", "FixedLocator"}  # names in place of numbers
    if fixed:
        panel.set_yticks(panel.get_yticks(), [textwrap.fill(name, LETTERS) for name in names])

    def undo() -> None:
        for text, said in zip(subtitles, before, strict=True):
            text.set_text(said)
            text.set_in_layout(True)
            _headed(panel, heading)
        if fixed:
            panel.set_yticks(panel.get_yticks(), names)

    return undo
