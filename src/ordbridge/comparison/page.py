"""The comparison as a page, and as what a notebook shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from ordbridge.comparison import paper
from ordbridge.escaping import for_html
from ordbridge.formats import html_table, listed
from ordbridge.report.html import Page

if TYPE_CHECKING:
    from ordbridge.comparison.result import Comparison

__all__ = ["fragment", "page"]

QUESTION = "Which system is rated higher?"


def page(comparison: Comparison, repeat: str = "") -> Page:
    """Return the report: what is wrong first, then the answer, tables, pictures, what was decided, and methods."""
    made = Page(_title(comparison))
    for row in comparison.checks.to_pylist():
        if row["severity"] != "note":
            made.warning(_check(row))
    if not comparison.criteria:
        made.heading("No answer").sentences(comparison.notes)
        return _checked(made, comparison)
    made.heading("Question").sentence(_question(comparison))
    made.heading("Answer").sentences(comparison.answer)
    made.picture(comparison.plot(), "Shares of the categories, and expected ratings with their intervals")
    made.heading("Systems").sentence(paper.caption(comparison)).table(_renamed(comparison.main_table()))
    made.heading("Differences")
    made.sentences(line for line in comparison.sentences if line not in comparison.answer)
    made.table(_without_constants(comparison.pairs), names=_names(comparison))
    made.heading("How it was computed").sentences(comparison.notes)
    made.table(_without_constants(comparison.models.drop_columns(["seconds"])), "Models")
    made.table(_without_constants(comparison.ranking), "Expected ratings in numbers", closed=True)
    made.table(_without_constants(comparison.design), "Who rated what", closed=True)
    if comparison.shares.num_rows:
        made.table(_without_constants(comparison.shares), "Shares of the categories", closed=True)
    _checked(made, comparison)
    made.heading("For the paper").sentence(comparison.methods()).sentences(comparison.references())
    made.heading("The tables in LaTeX", 3).verbatim(comparison.latex())
    if repeat:
        made.heading("How to repeat it").verbatim(repeat)
    return made


def fragment(comparison: Comparison) -> str:
    """Return the answer and the tables for a notebook."""
    parts = [f"<p>{for_html(_check(row))}</p>" for row in comparison.checks.to_pylist() if row["severity"] == "error"]
    if not comparison.criteria:
        return "".join(parts + [f"<p>{for_html(note)}</p>" for note in comparison.notes])
    parts += [f"<p><b>{for_html(line)}</b></p>" for line in comparison.answer]
    parts += [html_table(comparison.main_table().to_pylist()), f"<p>{for_html(paper.caption(comparison))}</p>"]
    parts.append(html_table(paper.pairs_table(comparison).to_pylist()))
    return "".join(parts)


def _title(comparison: Comparison) -> str:
    systems = list(dict.fromkeys(comparison.ranking["system"].to_pylist()))
    return f"Comparison of {listed(systems)}" if 0 < len(systems) <= 6 else "Comparison of systems"


def _question(comparison: Comparison) -> str:
    reference = comparison.asked["reference"]
    return QUESTION if reference is None else f"Which systems are rated higher or lower than {reference}?"


def _checked(made: Page, comparison: Comparison) -> Page:
    made.heading("What is wrong with the ratings")
    return made.table(comparison.checks) if comparison.checks.num_rows else made.sentence("Nothing was found.")


def _check(row: dict[str, object]) -> str:
    where = f" (row{'s' if row['count'] != 1 else ''} {row['rows']})" if row["rows"] else ""
    return f"{row['what']}{where}. {row['remedy']}"


def _names(comparison: Comparison) -> dict[str, str]:
    return {
        "conf_low": "from", "conf_high": "to", "p_value": "p, uncorrected", "adjusted": "p, corrected",
        "superiority": "P(a above b)", "superiority_low": "from ", "superiority_high": "to ",
    }  # fmt: skip


def _renamed(table: pa.Table) -> pa.Table:
    return table.rename_columns([name.strip() for name in table.column_names])


def _without_constants(table: pa.Table) -> pa.Table:
    """Return the table without the criterion where there is none."""
    criteria = set(table["criterion"].to_pylist())
    return table.drop_columns(["criterion"]) if criteria == {None} else table
