"""What goes into a paper: a methods paragraph with references, and tables in LaTeX and Markdown, from any result."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import pyarrow as pa

from ordbridge import __version__
from ordbridge.errors import InputError
from ordbridge.escaping import for_latex, for_markdown
from ordbridge.judges import JudgeAnalysis
from ordbridge.models.fit import Fit
from ordbridge.papers.reproduction import Reproduction
from ordbridge.planning import Plan
from ordbridge.power import Run
from ordbridge.reliability import Reliability
from ordbridge.reliability.scales import ScaleComparison
from ordbridge.report import citations, paragraphs
from ordbridge.report.html import cell, without_empty_columns

if TYPE_CHECKING:
    from ordbridge.report.html import Page

__all__ = [
    "Described",
    "for_the_paper",
    "kind_of",
    "latex",
    "main_table",
    "markdown",
    "methods",
    "references",
]

RESULTS = (
    "a fit, a comparison, a power run, a plan, an analysis of reliability or of a judge, a comparison of scales, or a "
    "reproduction"
)


@runtime_checkable
class Described(Protocol):
    """A result that describes itself, as a comparison of systems does."""

    def methods(self) -> str:
        """Return the methods paragraph."""

    def references(self) -> list[str]:
        """Return its references."""

    def main_table(self) -> pa.Table:
        """Return the table of a paper."""

    def markdown(self) -> str:
        """Return tables and paragraph in Markdown."""

    def latex(self) -> str:
        """Return tables and paragraph in LaTeX."""

    def page(self, repeat: str = "") -> Page:
        """Return the report."""


def methods(result: Any) -> str:
    """Return a paragraph for the methods section.

    Parameters
    ----------
    result
        A fit, a power run, a plan, an analysis of reliability or a reproduction.

    Examples
    --------
    >>> import ordbridge as ob
    >>> fit = ob.lm("y ~ x", {"y": [1.0, 2.1, 2.9, 4.2], "x": [1, 2, 3, 4]}, engine="fast")
    >>> methods(fit)[:53]
    'We fitted a linear model, y ~ x, to 4 ratings, with t'
    """
    if isinstance(result, Described):
        return result.methods()
    write: dict[str, Callable[[Any], str]] = {
        "fit": paragraphs.of_fit,
        "run": paragraphs.of_run,
        "plan": paragraphs.of_plan,
        "reliability": paragraphs.of_reliability,
        "judge": paragraphs.of_judge,
        "scales": paragraphs.of_scales,
        "reproduction": paragraphs.of_reproduction,
    }
    return write[kind_of(result)](result)


def references(result: Any) -> list[str]:
    """Return the references that the methods paragraph needs, with the versions that were used."""
    if isinstance(result, Described):
        return result.references()
    kind = kind_of(result)
    found = [f"ordbridge {__version__}."]
    if kind == "reproduction":
        return [result.reference, *found, *citations.of_software(result.versions)]
    if kind == "reliability":
        return [*found, citations.AMIDEI, *citations.of_coefficients(result.coefficients["coefficient"].to_pylist())]
    if kind == "judge":
        return [*found, *citations.of_judges(result)]
    if kind == "scales":
        return [*found, citations.BELZ, *citations.of_coefficients(["Kendall's W"]), citations.ZOU]
    if {"clm", "clmm"} & paragraphs.models_of(result, kind):
        found.append(citations.MCCULLAGH)
    found += citations.of_software(paragraphs.versions_of(result, kind))
    return found if kind == "fit" else [*found, citations.CLOPPER]


def for_the_paper(made: Page, paragraph: str, cited: Sequence[str], tables: Sequence[str], repeat: str = "") -> Page:
    """Add what every report has below its answer: methods, references, tables in LaTeX, and how to repeat it."""
    made.heading("For the paper").sentence(paragraph)
    if repeat:
        made.heading("How to repeat it").verbatim(repeat)
    with made.folded("References"):
        made.sentences(cited)
    with made.folded("Tables in LaTeX"):
        for table in tables:
            made.verbatim(table)
    return made


def kind_of(result: Any) -> str:
    """Return ``"fit"``, ``"run"``, ``"plan"``, ``"reliability"``, ``"judge"``, ``"scales"`` or ``"reproduction"``."""
    known = {"fit": Fit, "run": Run, "plan": Plan, "reliability": Reliability, "judge": JudgeAnalysis,
             "scales": ScaleComparison, "reproduction": Reproduction}  # fmt: skip
    for kind, its_class in known.items():
        if isinstance(result, its_class):
            return kind
    raise InputError(f"there is no report on something of type {type(result).__name__}; give {RESULTS}")


def main_table(result: Any) -> pa.Table:
    """Return the table that a paper would show."""
    if isinstance(result, Described):
        return result.main_table()
    kind = kind_of(result)
    if kind == "fit":
        found: pa.Table = result.tidy().drop_columns(["effect"])
        return found
    if kind == "run":
        table = result.power()
        kept = [name for name in table.column_names if name not in ("cell", "engine", "measure", "mc_error", "note")]
        return table.select(kept)
    if kind == "reliability":
        shown = ["criterion", "group", "coefficient", "estimate", "conf_low", "conf_high", "n_items", "n_raters"]
        return _without_constants(result.coefficients.select(shown), ("criterion", "group"))
    if kind == "judge":
        return _table_of_judge(result)
    if kind == "scales":
        return result.side_by_side()
    if kind == "reproduction":
        return result.claims if result.claims.num_rows else next(iter(result.tables.values()), result.claims)
    designs = result.designs
    return designs.filter(designs["n"].to_numpy() > 0).drop_columns(["predicted"])


def _table_of_judge(result: JudgeAnalysis) -> pa.Table:
    if result.estimates is not None:
        return result.estimates.differences if result.estimates.differences.num_rows else result.estimates.means
    if result.agreement is not None:
        return result.agreement.footing
    return pa.table({"note": list(result.notes)}) if result.alternative is None else result.alternative.annotators


def markdown(result: Any, caption: str = "") -> str:
    r"""Return a result's main table, or any table, in Markdown, with the methods paragraph below.

    Examples
    --------
    >>> print(markdown(pa.table({"term": ["a|b"], "estimate": [0.51234]})))
    | term | estimate |
    |:-----|---------:|
    | a\|b | 0.512 |
    """
    if isinstance(result, Described):
        return result.markdown()
    table, named = _table_of(result)
    rows = [[for_markdown(text, in_table=True) for text in row] for row in _cells(table)]
    head = [for_markdown(name.replace("_", " "), in_table=True) for name in table.column_names]
    marks = [f"{'-' * (len(n) + 1)}:" if _numeric(table, i) else f":{'-' * (len(n) + 1)}" for i, n in enumerate(head)]
    lines = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    lines.insert(1, f"|{'|'.join(marks)}|")
    text = []
    if named:
        text = [for_markdown(methods(result)), "", *(f"- {for_markdown(one)}" for one in references(result))]
    return "\n".join(([f"**{for_markdown(caption)}**", ""] if caption else []) + lines + ([""] if text else []) + text)


def latex(result: Any, caption: str = "", label: str = "") -> str:
    r"""Return a result's main table, or any table, in LaTeX (package booktabs), with the methods paragraph below.

    Examples
    --------
    >>> print(latex(pa.table({"term": ["a_b"], "estimate": [-0.51234]})))
    \begin{tabular}{lr}
    \toprule
    term & estimate \\
    \midrule
    a\_b & $-0.512$ \\
    \bottomrule
    \end{tabular}
    """
    if isinstance(result, Described):
        return result.latex()
    table, named = _table_of(result)
    rows = _cells(table)
    columns = "".join(
        "r" if _numeric(table, i) else _text_column([row[i] for row in rows]) for i in range(table.num_columns)
    )
    head = " & ".join(for_latex(name.replace("_", " ")) for name in table.column_names)
    body = [" & ".join(map(_latex_cell, row)) + r" \\" for row in rows]
    lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head + r" \\", r"\midrule", *body, r"\bottomrule",
             r"\end{tabular}"]  # fmt: skip
    if caption or label:
        titles = [rf"\caption{{{for_latex(caption)}}}"] if caption else []
        titles += [rf"\label{{{label}}}"] if label else []
        lines = [r"\begin{table}", r"\centering", *lines, *titles, r"\end{table}"]
    paragraphs = [methods(result), *references(result)] if named else []
    return "\n\n".join(["\n".join(lines), *map(for_latex, paragraphs)])


def _table_of(result: Any) -> tuple[pa.Table, bool]:
    """Return the table to write, and whether it comes from a result, which has a methods paragraph."""
    named = not isinstance(result, pa.Table)
    return without_empty_columns(main_table(result) if named else result), named


def _cells(table: pa.Table) -> list[list[str]]:
    return [[cell(row[name], name) for name in table.column_names] for row in table.to_pylist()]


def _numeric(table: pa.Table, column: int) -> bool:
    kind = table.schema.field(column).type
    return pa.types.is_integer(kind) or pa.types.is_floating(kind)


def _without_constants(table: pa.Table, names: tuple[str, ...]) -> pa.Table:
    """Return the table without those columns that say the same in every row."""
    return table.drop_columns([name for name in names if len(set(table[name].to_pylist())) < 2])


def _text_column(texts: list[str]) -> str:
    """Return the kind of a LaTeX column: one that breaks lines where a cell is long."""
    return r"p{0.25\linewidth}" if max(map(len, texts), default=0) > LONG else "l"


def _latex_cell(text: str) -> str:
    if not NUMBER.fullmatch(text):
        return for_latex(text)
    return f"${text}$" if text.startswith("-") else text


LONG = 40  # characters in a cell that LaTeX may break
NUMBER = re.compile(r"-?\d+(\.\d+)?(e[-+]?\d+)?", re.ASCII)
