"""One HTML page from any result: the question, the answer, tables, pictures, failures, methods, how to repeat it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ordbridge import paper
from ordbridge.report import Page, cell

if TYPE_CHECKING:
    from ordbridge.models.fit import Fit
    from ordbridge.power import Planned, Run

__all__ = ["page", "write_report"]


def write_report(result: Any, path: str | os.PathLike[str], repeat: str = "") -> Path:
    """Write any result to one self-contained HTML file.

    Parameters
    ----------
    result
        A fit, a power run, a plan, an analysis of reliability or a reproduction.
    path
        The file, ``.html``.
    repeat
        The command that made the result.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import ordbridge as ob
    >>> fit = ob.lm("y ~ x", {"y": [1.0, 2.1, 2.9, 4.2], "x": [1, 2, 3, 4]}, engine="fast")
    >>> with TemporaryDirectory() as folder:
    ...     write_report(fit, f"{folder}/report.html").name
    'report.html'
    """
    return page(result, repeat).write(path)


def page(result: Any, repeat: str = "") -> Page:
    """Return the page of :func:`write_report`."""
    from ordbridge.reliability.page import build as build_reliability

    build: dict[str, Callable[[Any], Page]] = {
        "fit": _fit,
        "run": _run,
        "plan": _plan,
        "reliability": build_reliability,
        "reproduction": lambda reproduction: reproduction.page(),
    }
    made = build[paper.kind_of(result)](result)
    made.heading("For the paper").sentence(paper.methods(result)).sentences(paper.references(result))
    made.heading("The table in LaTeX", 3).verbatim(paper.latex(paper.main_table(result)))
    if repeat:
        made.heading("How to repeat it").verbatim(repeat)
    return made


def _fit(fit: Fit) -> Page:
    made = Page(f"{paper.NAMES[fit.problem.model].capitalize()} of the ratings")
    for row in fit.conditions.to_pylist():
        if row["kind"] == "warning":
            made.warning(f"{row['stage']}: {row['text']}")
    made.heading("Question").sentence(f"Which terms of {fit.problem.formula} matter, in {fit.n_obs} ratings?")
    effects = _effects(fit)
    made.heading("Answer").sentence(_in_a_sentence(effects))
    if len(effects) > 1:
        made.sentences(effects.values())
    made.heading("Coefficients").table(fit.tidy())
    made.picture(_forest(fit), "Coefficients with 95 % intervals")
    if fit.varcorr().num_rows:
        made.heading("Random effects").table(_flat(fit.varcorr()))
    said = {name: cell(value) for name, value in fit.glance().drop_columns(["n_groups"]).to_pylist()[0].items()}
    said = {name.replace("_", " "): value for name, value in said.items() if value != "–"}
    made.heading("Diagnostics").table(pa.table({"what": list(said), "value": list(said.values())}))
    if fit.conditions.num_rows:
        made.table(fit.conditions, "What the engine said")
    return made


def _effects(fit: Fit) -> dict[tuple[str, bool], str]:
    """Return a sentence a coefficient, by its name and whether it differs from 0 at the 5 % level."""
    unit = f"on the {fit.problem.link} scale" if fit.problem.ordinal else "points of the rating"
    sentences = {}
    for row in fit.tidy().to_pylist():
        if row["effect"] == "fixed" and row["term"] != "(Intercept)":
            p, low, high = row["p_value"], row["conf_low"], row["conf_high"]
            known = None not in (p, low, high)
            rest = f" (95 % interval {low:.2f} to {high:.2f}), {_p(p)}" if known else ", without a test"
            differs = known and p < 0.05
            sentences[row["term"], differs] = f"{row['term']}: {row['estimate']:+.2f} {unit}{rest}."
    return sentences


def _in_a_sentence(effects: dict[tuple[str, bool], str]) -> str:
    if not effects:
        return "There is no predictor in the model."
    differ = [term for term, differs in effects if differs]
    if len(effects) == 1:
        (sentence,) = effects.values()
        return f"{sentence[:-1]}: {'' if differ else 'not '}different from 0 at the 5 % level."
    which = f": {', '.join(differ)}" if differ else ""
    return f"{len(differ) or 'None'} of {len(effects)} coefficients differ from 0 at the 5 % level{which}."


def _p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _forest(fit: Fit) -> Any:
    from matplotlib.figure import Figure

    rows = [row for row in fit.tidy().to_pylist() if row["conf_low"] is not None]
    figure = Figure(figsize=(6.4, 0.9 + 0.32 * max(1, len(rows))), layout="constrained")
    panel = figure.subplots()
    for place, row in enumerate(reversed(rows)):
        colour = "#2166ac" if row["effect"] == "fixed" else "#9a9a9a"
        panel.plot([row["conf_low"], row["conf_high"]], [place, place], color=colour)
        panel.plot(row["estimate"], place, "o", color=colour)
    panel.set_yticks(range(len(rows)), [row["term"] for row in reversed(rows)])
    panel.axvline(0, color="#222222", linewidth=0.8)
    panel.spines[["top", "right"]].set_visible(False)
    panel.set_xlabel("estimate")
    return figure


def _run(run: Run) -> Page:
    from ordbridge import plots

    table = run.power()
    made = Page("Power of the planned study")
    failures = run.failures()
    made.heading("Question")
    made.sentence(
        f"How often do {', '.join(m.name for m in run.models)} find the difference, at alpha {run.alpha:g}, in "
        f"{len(run.grid.cells)} kinds of study?"
    )
    made.heading("Answer").sentence(_range(table))
    if "effect" in table.column_names:
        made.picture(plots.power_curves(run), "Power over the effect, with exact 95 % intervals")
    hidden = ["cell"] if any(table["n_failed"].to_pylist()) else ["cell", "power_if_failures_significant"]
    said, shown = _apart(_flat(table.drop_columns(hidden)))
    made.heading("Power").sentence(said).table(shown)
    made.heading("Diagnostics and failures")
    if failures.num_rows:
        made.warning(f"{sum(failures['n'].to_pylist())} fits failed; they count as not significant.").table(failures)
    else:
        made.sentence("No fit failed.")
    made.table(_apart(run.bias().drop_columns(["cell"]))[1], "Estimates against the truth")
    if run.manifest["audit"]:
        audit = run.audit()
        made.heading("Audit against R", 3).sentence(f"{audit}.").table(audit.summary)
    return made


def _range(table: Any) -> str:
    rows = [row for row in table.to_pylist() if row["measure"] == "power" and row["power"] is not None]
    if not rows:
        return "There is no power to report yet."
    low, high = (edge(rows, key=lambda row: row["power"]) for edge in (min, max))
    return (
        f"Power runs from {low['power']:.0%} ({low['model']}, {low['cell']}) to {high['power']:.0%} "
        f"({high['model']}, {high['cell']})."
    )


READ = ["items", "ratings_per_text", "power", "conf_low", "conf_high", "verdict", "recommended", "participants",
        "ratings", "cost", "effect", "n", "n_failed"]  # fmt: skip


def _plan(plan: Planned) -> Page:
    from ordbridge import plots

    made = Page("How many items, how many raters?")
    for note in plan.notes:
        made.warning(note)
    asked = plan.asked
    question = {
        "designs": f"Which is the smallest, or cheapest, study with {asked['target']:.0%} power?",
        "power": "What is the power of this study?",
        "effect": f"What is the smallest effect that this study finds with {asked['target']:.0%} power?",
    }[plan.question]
    made.heading("Question").sentence(question)
    made.heading("Answer").sentence(plan.sentence)
    made.picture(plots.plan_contours(plan), "Power: the curve through all simulations, and the designs simulated")
    said, shown = _apart(plan.designs.filter(plan.designs["n"].to_numpy() > 0).select(READ))
    made.heading("Designs").sentence(said).table(shown, "Simulated")
    if plan.pairs is not None:
        made.table(plan.pairs, "Pairs under the recommended design, after Holm's correction")
    if plan.uncertainty is not None:
        made.heading("How uncertain the pilot is").table(_flat(plan.uncertainty))
    rest = plan.designs.filter(plan.designs["n"].to_numpy() == 0)
    if rest.num_rows and plan.question == "designs":
        columns = ["items", "ratings_per_text", "participants", "ratings", "cost", "predicted"]
        made.table(rest.select(columns), "Not simulated: what the curve predicts", closed=True)
    made.heading("What was assumed").verbatim("\n".join(f"{name}: {value}" for name, value in asked["truth"].items()))
    failed = sum(plan.designs["n_failed"].to_pylist())
    made.heading("Diagnostics and failures").sentence(f"{failed} of {asked['datasets']} fits failed.")
    return made


def _apart(table: pa.Table) -> tuple[str, pa.Table]:
    """Return a sentence about the columns that say the same in every row, and the table without them."""
    same = {}
    if table.num_rows > 1:
        values = {name: table[name].to_pylist() for name in table.column_names}
        same = {name: column[0] for name, column in values.items() if all(v == column[0] for v in column)}
    words = [f"{name.replace('_', ' ')} {cell(v, name)}" for name, v in same.items() if v not in (None, "")]
    return (f"In all rows: {', '.join(words)}." if words else ""), table.drop_columns(list(same))


def _flat(table: pa.Table) -> pa.Table:
    """Return the table with lists as text."""
    for place, field in enumerate(table.schema):
        if pa.types.is_list(field.type):
            texts = [
                None if v is None else ", ".join("–" if x is None else f"{x:.3g}" for x in v)
                for v in table[field.name].to_pylist()
            ]
            table = table.set_column(place, field.name, pa.array(texts, pa.string()))
    return table
