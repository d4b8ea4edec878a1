"""The report on a fitted model, and on a fit with all pairwise differences of a factor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge import figures
from ordbridge.errors import FitError, InputError
from ordbridge.escaping import for_latex, for_markdown
from ordbridge.formats import listed, p_text
from ordbridge.formula import expand
from ordbridge.models.fit import Fit
from ordbridge.models.inference.adjust import holm
from ordbridge.models.kinds import KINDS
from ordbridge.models.summary import factor_lines
from ordbridge.report import manuscript
from ordbridge.report.html import Page, cell

__all__ = ["FitWithContrasts", "build"]

REMEDIES = (
    "Leave out random slopes, or a random effect that hardly varies.",
    "Look for a category, system or participant with hardly any rating; merge rare categories.",
    "Through R, start at the optimum of the native engine: start='fast', or --start fast.",
)
"""What to do with a fit that did not converge."""


@dataclass(frozen=True, eq=False)
class FitWithContrasts:
    """A fit together with the pairwise differences of one of its factors; every output has both.

    Attributes
    ----------
    fit
        The fitted model.
    factor
        Whose levels are compared.
    contrasts
        What :meth:`ordbridge.Fit.contrasts` returned.
    adjust
        The correction.
    """

    fit: Fit
    factor: str
    contrasts: pa.Table
    adjust: str = "Holm"

    def methods(self) -> str:
        """Return the methods paragraph."""
        n = self.contrasts.num_rows
        return (
            f"{manuscript.methods(self.fit)} All {n} pairwise differences of {self.factor} were tested with emmeans, "
            f"with p-values corrected by {self.adjust}'s method."
        )

    def references(self) -> list[str]:
        """Return its references."""
        lenth = "Lenth, R. V. emmeans: Estimated Marginal Means, aka Least-Squares Means. R package."
        return [*manuscript.references(self.fit), lenth]

    def main_table(self) -> pa.Table:
        """Return the differences, which are the answer."""
        return self.contrasts.replace_schema_metadata(None)

    def markdown(self) -> str:
        """Return both tables and the paragraph in Markdown."""
        tables = [manuscript.markdown(table, caption) for caption, table in self._tables()]
        cited = "\n".join(f"- {for_markdown(one)}" for one in self.references())
        return "\n\n".join([*tables, for_markdown(self.methods()), cited])

    def latex(self) -> str:
        """Return both tables and the paragraph in LaTeX."""
        tables = [manuscript.latex(table, caption) for caption, table in self._tables()]
        return "\n\n".join([*tables, *map(for_latex, [self.methods(), *self.references()])])

    def page(self, repeat: str = "") -> Page:
        """Return the report."""
        made = build(self.fit, self)
        made.heading("For the paper").sentence(self.methods()).sentences(self.references())
        made.heading("The tables in LaTeX", 3)
        for caption, table in self._tables():
            made.verbatim(manuscript.latex(table, caption))
        if repeat:
            made.heading("How to repeat it").verbatim(repeat)
        return made

    def _tables(self) -> list[tuple[str, pa.Table]]:
        return [
            (f"Pairwise differences of {self.factor} ({self.adjust})", self.main_table()),
            ("Coefficients", manuscript.main_table(self.fit)),
        ]


def build(fit: Fit, compared: FitWithContrasts | None = None) -> Page:
    """Return the page of a fit; one that did not converge has no answer."""
    made = Page(f"{KINDS[fit.problem.model].name.capitalize()} of the ratings")
    if not fit.converged:
        made.warning("The fit did not converge: its numbers answer nothing.")
    for row in fit.conditions.to_pylist():
        if row["kind"] == "warning" or row["stage"] == "inference":
            made.warning(f"{row['stage']}: {row['text']}")
    if fit.converged:
        _answer(made, fit, compared)
    else:
        made.heading("No answer").sentence("What to do:").sentences(REMEDIES)
    title = "Coefficients" if fit.converged else "Where the optimiser ended"
    made.heading(title).sentences(f"Levels of {line}." for line in factor_lines(fit))
    effects = fit.tidy()["effect"].to_pylist()
    shown = [effect != "threshold" for effect in effects]
    several = {effect for effect in effects if effect != "threshold"} - {"fixed"}
    table = fit.tidy().filter(shown) if any(shown) else fit.tidy()
    made.table(table if several or not any(shown) else table.drop_columns(["effect"]))
    if fit.converged:
        made.picture(figures.forest(fit, thresholds=not any(shown)), "Coefficients with 95 % intervals")
    if any(shown) and not all(shown):
        thresholds = fit.tidy().filter([not one for one in shown]).drop_columns(["effect"])
        made.table(thresholds, "Thresholds between the categories", closed=True)
    if fit.varcorr().num_rows:
        made.heading("Random effects").table(fit.varcorr())
    if fit.problem.ordinal and fit.converged:
        _assumptions(made, fit)
    said = {name: cell(value) for name, value in fit.glance().drop_columns(["n_groups"]).to_pylist()[0].items()}
    said = {name.replace("_", " "): value for name, value in said.items() if value != "–"}
    made.heading("Diagnostics").table(pa.table({"what": list(said), "value": list(said.values())}))
    if fit.conditions.num_rows:
        made.table(fit.conditions, "Messages of the engine")
    return made


def _answer(made: Page, fit: Fit, compared: FitWithContrasts | None) -> None:
    if compared is None:
        made.heading("Question").sentence(f"Which terms of {fit.problem.described} matter, in {fit.n_obs} ratings?")
        effects = _effects(fit)
        beyond = _beyond_location(fit)
        made.heading("Answer").sentence(beyond.pop(0) if beyond and not effects else _in_a_sentence(effects))
        if len(effects) > 1:
            made.sentences(effects.values())
        made.sentences(beyond)
        return
    asked = f"Which levels of {compared.factor} differ, in {fit.n_obs} ratings ({fit.problem.described})?"
    rows = compared.contrasts.to_pylist()
    differ = [row["contrast"] for row in rows if row["p_value"] is not None and row["p_value"] < 0.05]
    answer = (
        f"{len(differ) or 'None'} of {len(rows)} pairs differ at the 5 % level, after {compared.adjust}'s correction"
    )
    made.heading("Question").sentence(asked)
    made.heading("Answer").sentence(f"{answer}: {listed(differ)}." if differ else f"{answer}.")
    unit = f"on the {fit.problem.link} scale" if fit.problem.ordinal else "points of the rating"
    made.sentences(_difference(row, unit) for row in rows)
    made.heading(f"Differences of {compared.factor}").table(compared.main_table())
    notes: bytes = (compared.contrasts.schema.metadata or {}).get(b"notes", b"")
    made.sentences(notes.decode().splitlines())


def _assumptions(made: Page, fit: Fit) -> None:
    """Add whether thresholds move alike and residuals are equally wide."""
    made.heading("Assumptions")
    try:
        found = fit.assumptions()
    except (InputError, FitError) as refusal:
        made.sentence(f"They could not be checked: {refusal}.")
        return
    made.sentences(found.sentences)
    if found.thresholds.num_rows:
        made.picture(figures.thresholds(found), f"Thresholds of each {found.factor}")
    for table, caption in ((found.nominal_test, "Nominal effects"), (found.scale_test, "Scale effects")):
        if table.num_rows > 1:
            made.table(table, f"{caption}: likelihood ratio tests against the model as it is (<none>)", closed=True)


def _difference(row: dict[str, Any], unit: str) -> str:
    if row["p_value"] is None:
        return f"{row['contrast']}: without a test."
    interval = f"95 % interval {row['conf_low']:.2f} to {row['conf_high']:.2f}"
    return f"{row['contrast']}: {row['estimate']:+.2f} {unit} ({interval}), {p_text(row['p_value'])} (corrected)."


def _effects(fit: Fit) -> dict[tuple[str, bool], str]:
    """Return a sentence per coefficient, by its name and whether it differs from 0 at the 5 % level.

    Several coefficients are several tests: what is called different is so after Holm's correction.
    """
    unit = f"on the {fit.problem.link} scale" if fit.problem.ordinal else "points of the rating"
    rows = [row for row in fit.tidy().to_pylist() if row["effect"] == "fixed" and row["term"] != "(Intercept)"]
    known = [row for row in rows if None not in (row["p_value"], row["conf_low"], row["conf_high"])]
    corrected = dict(zip([r["term"] for r in known], holm(np.array([r["p_value"] for r in known])), strict=True))
    sentences = {}
    for row in rows:
        start = f"{row['term']}: {row['estimate']:+.2f} {unit}"
        if row["term"] not in corrected:
            sentences[row["term"], False] = f"{start}, without a test."
            continue
        p = float(corrected[row["term"]])
        how = p_text(p) if len(known) == 1 else f"{p_text(p)} (Holm)"
        interval = f"(95 % interval {row['conf_low']:.2f} to {row['conf_high']:.2f})"
        sentences[row["term"], p < 0.05] = f"{start} {interval}, {how}."
    return sentences


def _beyond_location(fit: Fit) -> list[str]:
    """Return a sentence per scale effect, and one per term that moves every threshold on its own."""
    found = []
    for row in fit.tidy().to_pylist():
        if row["effect"] == "scale":
            times = f"the residual spread of {row['term']} is {np.exp(row['estimate']):.2f} times that of the reference"
            rest = ", without a test"
            if None not in (row["p_value"], row["conf_low"], row["conf_high"]):
                low, high = np.exp(row["conf_low"]), np.exp(row["conf_high"])
                rest = f" (95 % interval {low:.2f} to {high:.2f}), {p_text(row['p_value'])}"
            found.append(f"{times[0].upper()}{times[1:]}{rest}.")
    for term in expand(fit.problem.nominal).terms:
        name = ":".join(map(str, term))
        row = fit.test(name).to_pylist()[0]
        said = (
            f"χ²({row['df']}) = {row['statistic']:.2f}, {p_text(row['p_value'])}" if row["p_value"] is not None else ""
        )
        found.append(f"{name} moves every threshold on its own: {said or 'without a test'}.")
    return found


def _in_a_sentence(effects: dict[tuple[str, bool], str]) -> str:
    if not effects:
        return "There is no predictor in the model."
    differ = [term for term, differs in effects if differs]
    if len(effects) == 1:
        (sentence,) = effects.values()
        return f"{sentence[:-1]}: {'' if differ else 'not '}different from 0 at the 5 % level."
    which = f": {', '.join(differ)}" if differ else ""
    level = "at the 5 % level, after Holm's correction"
    return f"{len(differ) or 'None'} of {len(effects)} coefficients differ from 0 {level}{which}."
