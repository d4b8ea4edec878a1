"""The report on a fitted model, and on a fit with all pairwise differences of a factor."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ordbridge import figures
from ordbridge.errors import FitError, InputError
from ordbridge.escaping import for_latex, for_markdown
from ordbridge.formats import listed, p_text
from ordbridge.formula import expand
from ordbridge.models.fit import Fit
from ordbridge.models.inference.adjust import adjusted, holm
from ordbridge.models.inference.marginal_means import effects as effects_of
from ordbridge.models.inference.wald import statistic
from ordbridge.models.summary import factor_lines
from ordbridge.report import manuscript
from ordbridge.report.html import Page, cell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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

    def plot(self) -> Figure:
        """Draw the coefficients, as the fit alone does."""
        return self.fit.plot()

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
        tables = [manuscript.latex(table, caption) for caption, table in self._tables()]
        return manuscript.for_the_paper(build(self.fit, self), self.methods(), self.references(), tables, repeat)

    def _tables(self) -> list[tuple[str, pa.Table]]:
        return [
            (f"Pairwise differences of {self.factor} ({self.adjust})", self.main_table()),
            ("Coefficients", manuscript.main_table(self.fit)),
        ]


def build(fit: Fit, compared: FitWithContrasts | None = None) -> Page:
    """Return the page of a fit; one that did not converge has no answer."""
    factor = compared.factor if compared else _main_factor(fit)
    made = Page(f"Ratings by {factor}" if factor else "What the ratings depend on")
    levels = _expected_ratings(fit, factor) if factor and fit.converged else None
    if not fit.converged:
        made.answer("There is no answer: the fit did not converge", ["Its numbers answer nothing. What to do:"])
        made.sentences(REMEDIES)
    elif compared is not None:
        _answer_by_pairs(made, compared)
    elif levels is not None:
        made.answer(levels.headline, levels.pairs if len(levels.pairs) > 1 else ())
    else:
        own, beyond = _effects(fit), _beyond_location(fit)
        made.answer(beyond.pop(0) if beyond and not own else _in_a_sentence(own))
    for row in fit.conditions.to_pylist():
        if row["kind"] == "warning" or row["stage"] == "inference":
            made.warning(f"{row['stage']}: {row['text']}")
    if levels is not None:
        made.picture(figures.systems([levels.drawn]), f"Ratings by {factor}, and expected ratings with 95 % intervals")
        made.table(levels.table, f"Expected ratings and differences of {factor}", names=READABLE)
        if _by_coefficients(fit):
            made.sentence(DECIDES)
    if compared is not None:
        notes: bytes = (compared.contrasts.schema.metadata or {}).get(b"notes", b"")
        made.heading(f"Differences of {factor}").table(compared.main_table()).sentences(notes.decode().splitlines())
    _coefficients(made, fit, folded=levels is not None or compared is not None)
    made.heading("Checks")
    if fit.problem.ordinal and fit.converged:
        _assumptions(made, fit)
    missing = fit.problem.n_rows - fit.n_obs
    made.sentence(f"{fit.n_obs} ratings were used; {missing} were left out because values are missing.")
    if fit.conditions.num_rows:
        with made.folded("Messages of the engine"):
            made.table(fit.conditions)
    said = {name: cell(value) for name, value in fit.glance().drop_columns(["n_groups"]).to_pylist()[0].items()}
    said = {name.replace("_", " "): value for name, value in said.items() if value != "–"}
    with made.folded("The fit in numbers"):
        made.table(pa.table({"what": list(said), "value": list(said.values())}))
    return made


READABLE = {"p_value": "p (Holm)"}
LEVEL = 0.05
DECIDES = (
    "What differs is decided by Wald's tests of the coefficients, as R prints them, after Holm's correction where "
    "there are several pairs. Intervals in points come from the delta method: near p = .05 they may include 0 although "
    "the test finds a difference, or exclude it although it does not."
)
"""Beside differences in points of an ordinal model."""


def _coefficients(made: Page, fit: Fit, folded: bool) -> None:
    """Add the coefficients: folded, unless they are the answer."""
    title = "Coefficients" if fit.converged else "Where the optimiser ended"
    effects = fit.tidy()["effect"].to_pylist()
    shown = [effect != "threshold" for effect in effects]
    several = {effect for effect in effects if effect != "threshold"} - {"fixed"}
    table = fit.tidy().filter(shown) if any(shown) else fit.tidy()
    table = table if several or not any(shown) else table.drop_columns(["effect"])

    def add() -> None:
        if fit.converged:
            made.picture(figures.forest(fit, thresholds=not any(shown)), "Coefficients with 95 % intervals")
            made.sentences([*_effects(fit).values(), *_beyond_location(fit)])
        made.table(table).sentences(f"Levels of {line}." for line in factor_lines(fit))

    if folded:
        with made.folded(f"{title}: {fit.problem.described}"):
            add()
    else:
        made.heading(title).sentence(fit.problem.described)
        add()
    if any(shown) and not all(shown):
        with made.folded("Thresholds between the categories"):
            made.table(fit.tidy().filter([not one for one in shown]).drop_columns(["effect"]))
    if fit.varcorr().num_rows:
        with made.folded("How much raters, items and other groups differ"):
            made.table(fit.varcorr())


def _main_factor(fit: Fit) -> str | None:
    """Return the factor that the page is about: the one called system, or the only one."""
    factors = [row["factor"] for row in fit.factors().to_pylist()]
    return "system" if "system" in factors else factors[0] if len(factors) == 1 else None


@dataclass(frozen=True)
class LevelsInPoints:
    """The levels of a factor in rating points."""

    headline: str
    pairs: list[str]
    table: pa.Table
    drawn: figures.SystemRatings


def _expected_ratings(fit: Fit, factor: str) -> LevelsInPoints | None:
    """Return expected ratings and their differences; None where a mean over the rest would mislead."""
    terms = [":".join(map(str, term)) for term in expand(fit.problem.formula.fixed).terms]
    if any(":" in term and factor in term.split(":") for term in terms) or factor not in fit.problem.columns:
        return None
    try:
        rows = fit.means(factor).to_pylist()
    except (InputError, FitError):
        return None
    means = [row for row in rows if row["what"] == "mean"]
    pairs = list(combinations([row["level"] for row in means], 2))
    found = [row for row in rows if row["what"] == "difference"]
    if len(found) != len(pairs) or any(row["conf_low"] is None or row["p_value"] is None for row in found):
        return None
    if _by_coefficients(fit):
        for row, p in zip(found, _tested(fit, factor), strict=True):
            row["p_value"] = p
    sentences = [_pair(*pair, row, len(pairs)) for pair, row in zip(pairs, found, strict=True)]
    top = max(means, key=lambda row: row["estimate"])
    same = [a if b == top["level"] else b for (a, b), row in zip(pairs, found, strict=True)
            if top["level"] in (a, b) and not row["p_value"] < LEVEL]  # fmt: skip
    headline = sentences[0]
    if len(means) > 2:
        best = (
            f"{top['level']} is rated highest: {top['estimate']:.2f} ({top['conf_low']:.2f} to {top['conf_high']:.2f})"
        )
        headline = f"{best}, but it cannot be told from {listed(same)}." if same else f"{best}, above all others."
    columns = ["what", "level", "estimate", "conf_low", "conf_high", "p_value"]
    table = pa.Table.from_pylist([{name: row[name] for name in columns} for row in rows if row["category"] is None])
    return LevelsInPoints(headline, sentences, table, _drawn(fit, factor, means))


def _by_coefficients(fit: Fit) -> bool:
    """Tell whether one coefficient per pair says whether it differs: in ordinal models that only shift the ratings."""
    return fit.problem.ordinal and set(fit.estimates.effects) <= {"threshold", "fixed"}


def _tested(fit: Fit, factor: str) -> list[float]:
    """Return the p-values of Wald's tests of the coefficients behind all pairs, corrected by Holm's method."""
    found = effects_of(fit, factor)
    squared = [statistic(fit.estimates, found.combinations[[i]] - found.combinations[[j]]) for i, j in found.pairs]
    z = np.sqrt(np.maximum(squared, 0.0))
    return [float(p) for p in adjusted(z, np.full(len(z), np.inf), "holm", len(found.cells))]


def _pair(a: str, b: str, row: dict[str, Any], pairs: int) -> str:
    size, low, high = row["estimate"], row["conf_low"], row["conf_high"]
    if size < 0:
        a, b, size, low, high = b, a, -size, -high, -low
    interval = f"95 % interval {low:.2f} to {high:.2f}".replace("-", "−")
    tested = f"({interval}; {p_text(row['p_value'])}{', Holm' if pairs > 1 else ''})"
    if not row["p_value"] < LEVEL:
        return f"{a} and {b} cannot be told apart: {a} is rated {size:.2f} points higher {tested}."
    return f"{a} is rated {size:.2f} points higher than {b} {tested}."


def _drawn(fit: Fit, factor: str, means: list[dict[str, Any]]) -> figures.SystemRatings:
    """Return what the picture of systems needs: the shares of the ratings as they are, and the expected ratings."""
    rows, column = fit.estimates.rows, fit.problem.columns[factor]
    labels = column.levels or ("FALSE", "TRUE")
    level = np.array([labels[int(code)] for code in column.values[rows]], dtype=object)
    ranking = [
        {**row, "system": row["level"], "letters": None, "n": int((level == row["level"]).sum())}
        for row in sorted(means, key=lambda row: -row["estimate"])
    ]
    shares = []
    ends = [end for row in means for end in (row["conf_low"], row["conf_high"])]
    if fit.problem.ordinal:
        response = fit.problem.columns[str(fit.problem.formula.response)].values[rows]
        for row in ranking:
            own = response[level == row["system"]]
            shares += [
                {"system": row["system"], "category": label, "share": float((own == code).mean())}
                for code, label in enumerate(fit.problem.columns[str(fit.problem.formula.response)].levels)
            ]
    return figures.SystemRatings("", ranking, shares, (min(ends), max(ends)))


def _answer_by_pairs(made: Page, compared: FitWithContrasts) -> None:
    rows, problem = compared.contrasts.to_pylist(), compared.fit.problem
    differ = [row["contrast"] for row in rows if row["p_value"] is not None and row["p_value"] < 0.05]
    answer = (
        f"{len(differ) or 'None'} of {len(rows)} pairs differ at the 5 % level, after {compared.adjust}'s correction"
    )
    unit = f"on the {problem.link} scale" if problem.ordinal else "points of the rating"
    made.answer(f"{answer}: {listed(differ)}." if differ else f"{answer}.", [_difference(row, unit) for row in rows])


def _assumptions(made: Page, fit: Fit) -> None:
    """Add whether thresholds move alike and residuals are equally wide."""
    try:
        found = fit.assumptions()
    except (InputError, FitError) as refusal:
        made.sentence(f"They could not be checked: {refusal}.")
        return
    made.sentences(found.sentences)
    with made.folded("Assumptions in numbers"):
        if found.thresholds.num_rows:
            made.picture(figures.thresholds(found), f"Thresholds of each {found.factor}")
        for table, caption in ((found.nominal_test, "Nominal effects"), (found.scale_test, "Scale effects")):
            if table.num_rows > 1:
                made.table(table, f"{caption}: likelihood ratio tests against the model as it is (<none>)")


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
