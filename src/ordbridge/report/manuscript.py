"""What goes into a paper: a methods paragraph with references, and tables in LaTeX and Markdown, from any result."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import pyarrow as pa

from ordbridge import __version__
from ordbridge.errors import InputError
from ordbridge.escaping import for_latex, for_markdown
from ordbridge.formats import listed
from ordbridge.judges import JudgeAnalysis
from ordbridge.models.fit import Fit
from ordbridge.models.kinds import KINDS
from ordbridge.models.summary import factor_lines
from ordbridge.papers.reproduction import Reproduction
from ordbridge.planning import Plan
from ordbridge.power import Run
from ordbridge.power.result import r_versions
from ordbridge.reliability import Reliability
from ordbridge.reliability.scales import ScaleComparison
from ordbridge.report import citations
from ordbridge.report.html import cell, without_empty_columns

if TYPE_CHECKING:
    from ordbridge.report.html import Page

__all__ = [
    "Described",
    "fitted_with",
    "for_the_paper",
    "kind_of",
    "latex",
    "main_table",
    "markdown",
    "methods",
    "references",
    "without_options",
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
        "fit": _methods_fit,
        "run": _methods_run,
        "plan": _methods_plan,
        "reliability": _methods_reliability,
        "judge": _methods_judge,
        "scales": _methods_scales,
        "reproduction": _methods_reproduction,
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
    if {"clm", "clmm"} & _models(result, kind):
        found.append(citations.MCCULLAGH)
    found += citations.of_software(_versions(result, kind))
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


def _versions(result: Any, kind: str) -> dict[str, str]:
    """Return the versions of R and of the packages that fitted; nothing if it was the native engine."""
    if kind == "fit":
        row = result.glance().to_pylist()[0]
        if row["r_version"] is None:
            return {}
        package, _, number = row["package_version"].partition(" ")
        return {"R": row["r_version"], package: number}
    if kind == "plan":
        return dict(result.asked["versions"])
    return r_versions(result.manifest["environments"])


def _models(result: Any, kind: str) -> set[str]:
    if kind == "fit":
        return {result.problem.model}
    return {result.asked["model"]} if kind == "plan" else {model.kind for model in result.models}


def _software(versions: dict[str, str], engine: str) -> str:
    if engine == "fast":
        return f"the native engine of ordbridge {__version__}"
    if not versions:  # a run without any fit yet
        return f"R through ordbridge {__version__}"
    packages = " and ".join(f"{name} {number}" for name, number in versions.items() if name != "R")
    return f"{packages} in R {versions['R']}, through ordbridge {__version__}"


def fitted_with(fit: Fit) -> str:
    """Say which software fitted a model, with its versions."""
    return _software(_versions(fit, "fit"), fit.engine)


def _methods_fit(fit: Fit) -> str:
    row = fit.glance().to_pylist()[0]
    p = fit.problem
    link = f" with {p.link} link and {p.threshold} thresholds" if p.ordinal else ""
    groups = ", ".join(f"{count} {name}s" for name, count in (row["n_groups"] or {}).items())
    how = {
        "clmm": "the Laplace approximation" if p.nAGQ == 1 else f"{p.nAGQ}-point adaptive quadrature",
        "lmer": f"{'REML' if p.REML else 'maximum likelihood'}; t tests use {p.ddf}'s degrees of freedom",
    }.get(p.model)
    used = f", by {how}" if how else ""
    said = [
        f"We fitted a {KINDS[p.model].name}{link}, {p.described}, to {fit.n_obs} ratings"
        f"{f' ({groups})' if groups else ''}, "
        f"with {fitted_with(fit)}{used}."
    ]
    if p.scale:
        said.append("Scale effects are on the logarithm of the residual standard deviation.")
    if p.nominal:
        said.append("Nominal effects move each threshold on its own.")
    if levels := factor_lines(fit):
        said.append(f"The levels of the factors were, in order, {'; '.join(levels)}.")
    if row["n_dropped"]:
        said.append(f"{row['n_dropped']} rows with missing values were left out.")
    if not fit.converged:
        said.append("The fit did not converge.")
    elif fit.singular:
        said.append("The fit is singular.")
    doubts = [row["text"] for row in fit.conditions.to_pylist() if row["stage"] == "inference"]
    return " ".join(said + [f"{text[0].upper()}{text[1:]}." for text in doubts])


def _methods_run(run: Run) -> str:
    power = run.power()
    counts = sorted({n for n in power["n"].to_pylist()})
    number = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}" if counts else "no"
    formulas = "; ".join(f"{KINDS[model.kind].name} {model}" for model in run.models)
    failed = sum(power["n_failed"].to_pylist())
    audit = f" {run.audit()}." if run.manifest["audit"] else ""
    what = sorted({f"{m.goal} within {m.margin:g} ({m.on})" for m in run.models if m.margin is not None})
    goal = f" What was to be shown is {' or '.join(what)}, by two one-sided tests." if what else ""
    null = "an effect" if not what else "more than the margin"
    sizes = (
        f" Size-adjusted power is the share of datasets with p below a critical value, which {run.calibration} "
        f"datasets without {null} give for each design, so that all tests have size {run.alpha:g}; its "
        "intervals include the error of the critical value."
        if run.calibration
        else ""
    )
    return (
        f"Power was estimated by simulation: {number} datasets for each of {len(run.grid.cells)} cells (seed "
        f"{run.manifest['seed']}), each analysed by {formulas}, with {_software(_versions(run, 'run'), run.engine)}. "
        f"Power is the share of datasets with p < {run.alpha:g}; the {failed} failed fits count as not significant. "
        f"Intervals are exact 95 % intervals (Clopper & Pearson 1934)."
        f"{_compared(run.grid.cells[0].systems)}{goal}{sizes}{audit}"
    )


def _methods_plan(plan: Plan) -> str:
    asked = plan.asked
    effect = "the smallest detectable effect" if asked["effect"] == "smallest" else (
        f"an effect of {', '.join(f'{e:g}' for e in asked['effect'])} latent units"
    )  # fmt: skip
    source = {"pilot": "the estimates of a pilot study", "truth": "assumed parameters"}.get(
        asked["source"], f"the parameters of {asked['source']}"
    )
    model = f"a {KINDS[asked['model']].name}, {asked['formula']} ({asked['test']}, alpha {asked['alpha']:g})"
    sizes = (
        " Critical values come from datasets without a difference on the same designs: the test keeps its level."
        if asked["calibrated"]
        else ""
    )
    return (
        f"The size of the study was planned by simulation: {asked['datasets']} datasets (seed {asked['seed']}) were "
        f"drawn from {source} with {effect} and analysed by {model}, with "
        f"{_software(asked['versions'], asked['engine'])}. A design was simulated until the exact 95 % interval of its "
        f"power (Clopper & Pearson 1934) lay on one side of {asked['target']:.0%} or its share of the datasets was "
        f"spent.{_compared(asked['systems'])}{sizes} {without_options(plan.sentence)}"
    )


def without_options(sentence: str) -> str:
    """Return a sentence without the arguments that it names in parentheses, which are for those who call.

    Examples
    --------
    >>> without_options("About 400 more datasets would decide (datasets=600, most=200).")
    'About 400 more datasets would decide.'
    >>> without_options("item: column 'text' (to change this give item=); it may be so (p = .2)")
    "item: column 'text'; it may be so (p = .2)"
    """
    return re.sub(r" \([^()]*\b[a-z_]+=[^()]*\)", "", sentence)


def _compared(systems: Sequence[Any]) -> str:
    """Name the systems of simulated studies in their order, and the one that others are set against."""
    first, *others = map(str, systems)
    return f" The systems are {first} (the reference) and {', '.join(others)}."


def _methods_reliability(result: Reliability) -> str:
    answers = {row["what"]: row["answer"] for row in result.checklist.to_pylist()}
    names = list(dict.fromkeys(name.partition(",")[0] for name in result.coefficients["coefficient"].to_pylist()))
    intervals = "" if answers["Intervals"] == "none" else f", with {answers['Intervals']}"
    return (
        f"{result.counted}, at the {result.level} level of measurement. Their reliability was described by "
        f"{', '.join(names[:-1])} and {names[-1]}{intervals}, with ordbridge {__version__}, and agreement and "
        f"correlation were read together (Amidei et al. 2019). {_finding(result)}"
    )


def _finding(result: Reliability) -> str:
    """Return what was found, without what a reading advises the authors to do about it."""
    if result.readings.num_rows != 1:
        return result.answer
    verdict, bracket, numbers = result.answer.partition(" (")
    return f"{verdict.partition(':')[0].rstrip('.')}{bracket}{numbers}" if bracket else result.answer


def _methods_judge(result: JudgeAnalysis) -> str:
    said = [f"{result.counted}."]
    if result.alternative is not None:
        said.append(
            f"Whether {result.judge} can stand in for a person was tested by the alternative annotator test (Calderon "
            f"et al. 2025) with ε = {result.alternative.epsilon:g}, as published and with standard errors over "
            "clusters of texts and over people."
        )
    if result.agreement is not None:
        said.append(
            "Its agreement with people was compared with that of people on the same texts, each person left out in "
            f"turn; intervals are a jackknife over items{' and people' if result.agreement.raters == 'random' else ''}."
        )
    if result.estimates is not None:
        said.append(
            "Means were estimated by prediction-powered inference with a tuned weight (Angelopoulos et al. 2023), with "
            + (
                "variances over items and people from components of variance, and Satterthwaite's degrees of freedom."
                if result.estimates.raters == "random"
                else "variances over items."
            )
        )
    return " ".join([*said, f"All with ordbridge {__version__}.", *result.sentences[:-1]])


def _methods_scales(found: ScaleComparison) -> str:
    means = found.means.to_pylist()
    counts = [f"{sum(row['n_ratings'] for row in means if row['scale'] == name)} ratings on {name}"
              for name in found.scales]  # fmt: skip
    systems = len({row["system"] for row in means})
    criteria = f", on {len(found.criteria)} criteria" if len(found.criteria) > 1 else ""
    tests = listed(list(dict.fromkeys(found.sensitivity["posthoc"].to_pylist())))
    level = "" if found.conf_level is None else f", with {100 * found.conf_level:g} % jackknife intervals"
    between = "" if found.conf_level is None else (
        "; the interval of a difference comes from those of both scales (Zou 2007), whose ratings it takes as "
        "independent"
    )  # fmt: skip
    return (
        f"{systems} systems were rated on {len(found.scales)} scales{criteria}: {listed(counts)}. The scales were "
        f"compared by the measures of Belz & Kow (2011), with ordbridge {__version__}: agreement of the raters is "
        f"Kendall's W{level}{between}; pairs of systems were tested by {tests}, after a significant one-way "
        f"analysis of variance. {found.answer}"
    )


def _methods_reproduction(result: Reproduction) -> str:
    software = _software(dict(result.versions), "ordinal") if result.versions else f"ordbridge {__version__}"
    return f"We computed again, with {software}, what is claimed in {result.reference.rstrip('.')}. {result.answer}"
