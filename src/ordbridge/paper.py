"""What goes into a paper: a methods paragraph with references, and tables in LaTeX and Markdown, from any result."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ordbridge import __version__
from ordbridge.errors import InputError
from ordbridge.report import cell, without_empty_columns

if TYPE_CHECKING:
    from ordbridge.models.fit import Fit
    from ordbridge.power import Planned, Run

__all__ = ["latex", "main_table", "markdown", "methods", "references"]

NAMES = {
    "clm": "cumulative link model",
    "clmm": "cumulative link mixed model",
    "lm": "linear model",
    "lmer": "linear mixed model",
}
ORDINAL = (
    "Christensen, R. H. B. ordinal: Regression Models for Ordinal Data. R package{version}. "
    "https://CRAN.R-project.org/package=ordinal"
)
LMERTEST = (
    "Kuznetsova, A., Brockhoff, P. B. & Christensen, R. H. B. (2017). lmerTest Package: Tests in Linear Mixed Effects "
    "Models. Journal of Statistical Software 82(13), 1–26{version}."
)
R = "R Core Team. R: A Language and Environment for Statistical Computing{version}. https://www.R-project.org/"
MCCULLAGH = (
    "McCullagh, P. (1980). Regression Models for Ordinal Data. Journal of the Royal Statistical Society B 42, 109–142."
)
CLOPPER = (
    "Clopper, C. J. & Pearson, E. S. (1934). The use of confidence or fiducial limits illustrated in the case of the "
    "binomial. Biometrika 26, 404–413."
)


def methods(result: Any) -> str:
    """Return a paragraph for the methods section.

    Parameters
    ----------
    result
        A fit, a power run or a plan.

    Examples
    --------
    >>> import ordbridge as ob
    >>> fit = ob.lm("y ~ x", {"y": [1.0, 2.1, 2.9, 4.2], "x": [1, 2, 3, 4]}, engine="fast")
    >>> methods(fit)[:53]
    'We fitted a linear model, y ~ x, to 4 ratings, with t'
    """
    write: dict[str, Callable[[Any], str]] = {"fit": _methods_fit, "run": _methods_run, "plan": _methods_plan}
    return write[kind_of(result)](result)


def references(result: Any) -> list[str]:
    """Return the references that the methods paragraph needs, with the versions that were used."""
    kind = kind_of(result)
    versions = _versions(result, kind)
    found = [f"ordbridge {__version__}."]
    if {"clm", "clmm"} & _models(result, kind):
        found.append(MCCULLAGH)
    if "ordinal" in versions:
        found.append(ORDINAL.format(version=f" version {versions['ordinal']}"))
    if "lmerTest" in versions:
        found.append(LMERTEST.format(version=f", version {versions['lmerTest']}"))
    if "R" in versions:
        found.append(R.format(version=f", version {versions['R']}"))
    return found if kind == "fit" else [*found, CLOPPER]


def kind_of(result: Any) -> str:
    """Return ``"fit"``, ``"run"`` or ``"plan"``."""
    from ordbridge.models.fit import Fit
    from ordbridge.power import Planned, Run

    for kind, known in (("fit", Fit), ("run", Run), ("plan", Planned)):
        if isinstance(result, known):
            return kind
    raise InputError(f"there is no methods paragraph for a {type(result).__name__}; give a fit, a power run or a plan")


def main_table(result: Any) -> pa.Table:
    """Return the table that a paper would show."""
    kind = kind_of(result)
    if kind == "fit":
        found: pa.Table = result.tidy().drop_columns(["effect"])
        return found
    if kind == "run":
        table = result.power()
        kept = [name for name in table.column_names if name not in ("cell", "engine", "measure", "mc_error", "note")]
        return table.select(kept)
    designs = result.designs
    return designs.filter(designs["n"].to_numpy() > 0).drop_columns(["predicted"])


def markdown(result: Any, caption: str = "") -> str:
    r"""Return a result's main table, or any table, in Markdown, with the methods paragraph below.

    Examples
    --------
    >>> print(markdown(pa.table({"term": ["a|b"], "estimate": [0.51234]})))
    | term | estimate |
    |:-----|---------:|
    | a\|b | 0.512 |
    """
    table, below = _table_and_text(result)
    rows = [[text.replace("|", "\\|") for text in row] for row in _cells(table)]
    head = [name.replace("_", " ") for name in table.column_names]
    marks = [f"{'-' * (len(n) + 1)}:" if _numeric(table, i) else f":{'-' * (len(n) + 1)}" for i, n in enumerate(head)]
    lines = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    lines.insert(1, f"|{'|'.join(marks)}|")
    return "\n".join(([f"**{caption}**", ""] if caption else []) + lines + below)


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
    table, below = _table_and_text(result)
    columns = "".join("r" if _numeric(table, i) else "l" for i in range(table.num_columns))
    head = " & ".join(_escaped(name.replace("_", " ")) for name in table.column_names)
    body = [" & ".join(map(_latex_cell, row)) + r" \\" for row in _cells(table)]
    lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head + r" \\", r"\midrule", *body, r"\bottomrule",
             r"\end{tabular}"]  # fmt: skip
    if caption or label:
        named = [rf"\caption{{{_escaped(caption)}}}"] if caption else []
        named += [rf"\label{{{label}}}"] if label else []
        lines = [r"\begin{table}", r"\centering", *lines, *named, r"\end{table}"]
    return "\n".join(lines + [_escaped(line) for line in below])


def _table_and_text(result: Any) -> tuple[pa.Table, list[str]]:
    if isinstance(result, pa.Table):
        return without_empty_columns(result), []
    return without_empty_columns(main_table(result)), ["", methods(result), "", *references(result)]


def _cells(table: pa.Table) -> list[list[str]]:
    return [[_text(row[name], name) for name in table.column_names] for row in table.to_pylist()]


def _text(value: Any, column: str) -> str:
    return ", ".join(cell(v) for v in value) if isinstance(value, list) else cell(value, column)


def _numeric(table: pa.Table, column: int) -> bool:
    kind = table.schema.field(column).type
    return pa.types.is_integer(kind) or pa.types.is_floating(kind)


def _latex_cell(text: str) -> str:
    try:
        float(text)
    except ValueError:
        return _escaped(text)
    return f"${text}$" if text.startswith("-") else text


SPECIAL = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$",
           "|": r"\textbar{}", "×": r"$\times$", "−": "$-$", "–": "--"} | {c: rf"\{c}" for c in "_%&#${}"}  # fmt: skip


def _escaped(text: str) -> str:
    return "".join(SPECIAL.get(character, character) for character in text)


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
    from ordbridge.power.hypotheses import r_versions

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
        f"We fitted a {NAMES[p.model]}{link}, {p.formula}, to {fit.n_obs} ratings{f' ({groups})' if groups else ''}, "
        f"with {_software(_versions(fit, 'fit'), fit.engine)}{used}."
    ]
    if row["n_dropped"]:
        said.append(f"{row['n_dropped']} rows with missing values were left out.")
    if not fit.converged:
        said.append("The fit did not converge.")
    elif fit.singular:
        said.append("The fit is singular.")
    return " ".join(said)


def _methods_run(run: Run) -> str:
    power = run.power()
    counts = sorted({n for n in power["n"].to_pylist()})
    number = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}" if counts else "no"
    formulas = "; ".join(f"{NAMES[model.kind]} {model.formula}" for model in run.models)
    failed = sum(power["n_failed"].to_pylist())
    audit = f" {run.audit()}." if run.manifest["audit"] else ""
    return (
        f"Power was estimated by simulation: {number} datasets for each of {len(run.grid.cells)} cells (seed "
        f"{run.manifest['seed']}), each analysed by {formulas}, with {_software(_versions(run, 'run'), run.engine)}. "
        f"Power is the share of datasets with p < {run.alpha:g}; the {failed} failed fits count as not significant. "
        f"Intervals are exact 95 % intervals (Clopper & Pearson 1934).{audit}"
    )


def _methods_plan(plan: Planned) -> str:
    asked = plan.asked
    effect = "the smallest detectable effect" if asked["effect"] == "smallest" else (
        f"an effect of {', '.join(f'{e:g}' for e in asked['effect'])} latent units"
    )  # fmt: skip
    source = {"pilot": "the estimates of a pilot study", "truth": "assumed parameters"}.get(
        asked["source"], f"the parameters of {asked['source']}"
    )
    model = f"a {NAMES[asked['model']]}, {asked['formula']} ({asked['test']}, alpha {asked['alpha']:g})"
    return (
        f"The size of the study was planned by simulation: {asked['datasets']} datasets (seed {asked['seed']}) were "
        f"drawn from {source} with {effect} and analysed by {model}, with "
        f"{_software(asked['versions'], asked['engine'])}. A design was simulated until the exact 95 % interval of its "
        f"power (Clopper & Pearson 1934) lay on one side of {asked['target']:.0%} or its share of the datasets was "
        f"spent. {plan.sentence}"
    )
