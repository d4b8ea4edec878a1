"""The comparison as a page, and as what a notebook shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from ordbridge import figures
from ordbridge.comparison import paper
from ordbridge.comparison.wording import about_these, differ, units
from ordbridge.escaping import for_html
from ordbridge.formats import html_table, listed
from ordbridge.report.html import Page
from ordbridge.report.manuscript import for_the_paper
from ordbridge.report.paragraphs import without_options

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ordbridge.comparison.result import Comparison

__all__ = ["fragment", "page"]


def page(comparison: Comparison, repeat: str = "") -> Page:
    """Return the report: the answer, what is wrong, the picture, tables, what was decided, and methods."""
    made = Page(_title(comparison))
    bad = [_check(row) for row in comparison.checks.to_pylist() if row["severity"] != "note"]
    if not comparison.criteria:
        made.answer("There is no answer: the ratings have errors")
        for text in bad:
            made.warning(text)
        return _checked(made.sentences(comparison.notes), comparison)
    pairs = [line for line in comparison.sentences if line not in comparison.answer]
    made.answer(*_headline(comparison, pairs))
    for text in bad:
        made.warning(text)
    made.picture(comparison.plot(), "Shares of the categories, and expected ratings with their intervals")
    made.table(_renamed(comparison.main_table())).sentence(paper.caption(comparison))
    made.heading("Differences").sentences(pairs)
    if any(row["conf_low"] is not None for row in comparison.pairs.to_pylist()):
        made.picture(_differences(comparison), f"Differences {paper.in_units(comparison)}, with intervals")
    made.table(_without_constants(comparison.pairs).drop_columns(["test", "std_error", "df"]), names=_names(comparison))
    _checked(made, comparison)
    with made.folded("How it was computed"):
        made.sentences(map(without_options, comparison.notes))
        made.table(_without_constants(comparison.models.drop_columns(["seconds"])), "Models")
    for name, caption in (("ranking", "Expected ratings in numbers"), ("design", "Who rated what"),
                          ("shares", "Shares of the categories")):  # fmt: skip
        if (table := getattr(comparison, name)).num_rows:
            with made.folded(caption):
                made.table(_without_constants(table))
    return for_the_paper(made, comparison.methods(), comparison.references(), [comparison.latex()], repeat)


def _headline(comparison: Comparison, pairs: list[str]) -> tuple[str, list[str]]:
    """Return the answer with its size: of two systems by how much they differ, of more how far the first is ahead."""
    first, *others = comparison.answer
    criterion = comparison.criteria[0]
    if len(comparison.pairs) == 1:
        return pairs[0] if not _only(comparison, criterion) else f"{_only(comparison, criterion)}{pairs[0]}", pairs[1:]
    ranking = comparison.rows("ranking", criterion)
    for row in comparison.rows("pairs", criterion):
        ahead = [row["a"], row["b"]] == [ranking[0]["system"], ranking[1]["system"]]
        if ahead and comparison.asked["reference"] is None and row["conf_low"] is not None and row["difference"] > 0:
            unit = units(comparison.rows("design", criterion)[0], comparison.asked["estimand"])
            interval = f"({unit.value(row['conf_low'])} to {unit.value(row['conf_high'])})"
            lead = f"{row['a']} is {unit.with_unit(row['difference'])} {interval} ahead of {row['b']}."
            return f"{first} {lead}", others
    return first, others


def _only(comparison: Comparison, criterion: str | None) -> str:
    return about_these(comparison.rows("design", criterion)[0])


def _differences(comparison: Comparison) -> Figure:
    rows = []
    for row in comparison.pairs.to_pylist():
        name = "" if row["criterion"] is None else f"{row['criterion']}: "
        rows.append({**row, "label": f"{name}{row['a']} – {row['b']}", "differs": differ(row, comparison.alpha)})
    return figures.differences(rows, comparison.asked["conf_level"])


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


def _checked(made: Page, comparison: Comparison) -> Page:
    made.heading("Checks")
    return made.table(comparison.checks) if comparison.checks.num_rows else made.sentence("Nothing is wrong.")


def _check(row: dict[str, object]) -> str:
    where = f" (row{'s' if row['count'] != 1 else ''} {row['rows']})" if row["rows"] else ""
    return f"{row['what']}{where}. {row['remedy']}"


def _names(comparison: Comparison) -> dict[str, str]:
    return {
        "a": "first", "b": "second", "p_value": "p, uncorrected", "adjusted": "p, corrected",
        "superiority": "P(first above second)", "superiority_low": "from ", "superiority_high": "to ",
        "latent_difference": "latent difference (R's ordinal model)", "latent_p_value": "its p, uncorrected",
        "latent_agrees": "both agree",
    }  # fmt: skip


def _renamed(table: pa.Table) -> pa.Table:
    return table.rename_columns([name.strip() for name in table.column_names])


def _without_constants(table: pa.Table) -> pa.Table:
    """Return the table without the criterion where there is none."""
    criteria = set(table["criterion"].to_pylist())
    return table.drop_columns(["criterion"]) if criteria == {None} else table
