"""The report on a comparison of rating scales."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.compute as pc

from ordbridge import figures
from ordbridge.formats import listed
from ordbridge.report.html import Page

if TYPE_CHECKING:
    from ordbridge.reliability.scales import ScaleComparison

__all__ = ["NAMES", "build"]

NAMES = {"told_apart": "pairs told apart", "F_system": "F of systems", "F_rater": "F of raters"}


def build(found: ScaleComparison) -> Page:
    """Return the answer, picture, tables and checks; :mod:`ordbridge.report.build` adds the rest."""
    made = Page(f"Which rating scale: {listed(found.scales)}?")
    made.answer(found.answer, found.sentences)
    made.picture(figures.scales(found), "How far raters agree on each scale, and where the systems stand on it")
    table = found.side_by_side()
    for place, name in enumerate(table.column_names):
        if name.startswith("F_"):
            table = table.set_column(place, name, pc.round(table[name], 1))
    made.heading("The scales side by side").table(table, names=NAMES)
    made.sentence(
        "Agreement: 1 if all raters put everything in the same order, near 0 if each has an own order (Kendall's W). "
        "F: how much more the ratings differ between systems, or raters, than within; high is wanted for systems "
        "only."
    )
    made.heading("Checks").sentences(found.notes or ["Nothing had to be left out."])
    with made.folded("The tables of Belz & Kow"):
        for caption, table in found.as_in_paper().items():
            made.table(table, caption=caption)
        made.sentence("* p < .05, ** p < .01")
    with made.folded("Means of the systems"):
        made.table(found.without_placeholder("means"))
    with made.folded("Differences between systems"):
        made.table(found.without_placeholder("differences"))
    with made.folded("All numbers"):
        for name in ("reliability", "interchangeability", "sensitivity", "factors"):
            made.table(found.without_placeholder(name), caption=name.capitalize())
    return made
