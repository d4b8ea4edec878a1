"""A fit with all that its report shows, computed beforehand: expected ratings, differences, tests, assumptions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from ordbridge.errors import FitError, InputError
from ordbridge.formula import expand
from ordbridge.models import fit_words
from ordbridge.models.inference.adjust import adjusted
from ordbridge.models.inference.marginal_means import effects as effects_of
from ordbridge.models.inference.proportionality import Assumptions
from ordbridge.models.inference.wald import statistic
from ordbridge.render import figures
from ordbridge.render.layout import Block, Bullets, Figures, Section, ShownPicture, ShownTable
from ordbridge.results import Finding, Result, findings_of, worst_first
from ordbridge.support.escaping import shortened
from ordbridge.support.formatting import listed, p_text

if TYPE_CHECKING:
    from ordbridge.models.fit import Fit

LENTH = "Lenth, R. V. emmeans: Estimated Marginal Means, aka Least-Squares Means. R package."
DECIDES = (
    "What differs is decided by Wald's tests of the coefficients, as R prints them, after Holm's correction. "
    "Intervals in points come from the delta method, and may disagree with the tests near p = .05."
)
"""Beside differences in points of an ordinal model."""


@dataclass(frozen=True, eq=False, repr=False)
class FitAnalysis(Result):
    """A fit, and what was computed from it; :meth:`ordbridge.Fit.explain` makes it.

    Attributes
    ----------
    fit
        The fitted model.
    factor
        The factor that it is about, if there is one.
    levels
        Expected ratings of its levels and their differences, in points; None where a mean over the rest would mislead.
    contrasts
        What :meth:`ordbridge.Fit.contrasts` returned, if it was asked for.
    tests
        What :meth:`ordbridge.Fit.test` returned, if it was asked for.
    assumptions
        What :meth:`ordbridge.Fit.assumptions` returned, for ordinal models.
    unchecked
        Why the assumptions could not be checked, if they could not.
    noticed
        What was found out about the ratings before.
    """

    kind: ClassVar[str] = "fit"
    fit: Fit
    factor: str | None = None
    levels: LevelsInPoints | None = None
    contrasts: pa.Table | None = None
    tests: pa.Table | None = None
    assumptions: Assumptions | None = None
    unchecked: str = ""
    conf_level: float = 0.95
    noticed: tuple[Finding, ...] = ()

    @property
    def title(self) -> str:  # type: ignore[override]
        """What the report is called."""
        return f"Ratings by {self.factor}" if self.factor else "What the ratings depend on"

    @property
    def answer(self) -> str:  # type: ignore[override]
        """What differs, and by how much."""
        if not self.fit.converged:
            return fit_words.NO_ANSWER
        if self.levels is not None:
            return self.levels.headline
        return fit_words.answer(self.fit) if self.contrasts is None else self._of_contrasts(self.contrasts)

    def _of_contrasts(self, table: pa.Table) -> str:
        rows = table.to_pylist()
        tested = [row for row in rows if row["p_adjusted"] is not None]
        differ = [f"{row['system_a']} - {row['system_b']}" for row in tested if row["p_adjusted"] < fit_words.LEVEL]
        said = f"{len(differ) or 'None'} of {len(rows)} pairs differ at the 5% level, after Holm's correction"
        return f"{said}: {listed(differ)}." if differ else f"{said}."

    @property
    def counted(self) -> str:  # type: ignore[override]
        """How many ratings were used, and by which model."""
        return fit_words.counted(self.fit)

    @property
    def findings(self) -> tuple[Finding, ...]:  # type: ignore[override]
        """What to know about the fit, and about what was computed from it."""
        tables = [table for table in (self.contrasts, self.tests) if table is not None]
        own = [one for table in tables for one in findings_of(table) if one.code != "emmeans"]  # what emmeans prints
        return worst_first([*self.fit.findings, *self.noticed, *own])

    @property
    def tables(self) -> dict[str, pa.Table]:
        """All tables by name."""
        found = {**self.fit.tables, "tidy": self.fit.tidy(self.conf_level)}
        found |= {} if self.levels is None else {"levels": self.levels.table}
        found |= {} if self.contrasts is None else {"contrasts": self.contrasts}
        found |= {} if self.tests is None else {"tests": self.tests}
        if (checked := self.assumptions) is not None:
            found |= {"nominal_test": checked.nominal_test, "scale_test": checked.scale_test}
            found |= {"thresholds": checked.thresholds, "spread": checked.spread}
        return found

    def main(self) -> Sequence[ShownTable]:
        """Return the differences where they were asked for, and the coefficients."""
        found = [fit_words.coefficients(self.fit, self.conf_level)]
        if self.tests is not None:
            found.insert(0, ShownTable(self.tests, "Tests"))
        if self.contrasts is not None:
            found.insert(0, ShownTable(self.contrasts, f"Pairwise differences of {self.factor} (Holm)"))
        return found

    def on_page(self) -> Sequence[ShownTable]:
        """Return the levels in rating points where there are such, else the coefficients; and tests."""
        if self.levels is None:
            return self.main()
        return [self._by_level(self.levels), *([] if self.tests is None else [ShownTable(self.tests, "Tests")])]

    def picture(self) -> ShownPicture | None:
        """Return the picture of the levels where there are such, else of the coefficients."""
        if self.levels is None:
            return fit_words.picture(self.fit)
        return ShownPicture("levels", f"Ratings by {self.factor}, and expected ratings with 95% intervals")

    def paper_tables(self) -> Sequence[ShownTable]:
        """Return the levels in rating points, and the whole model."""
        found = [] if self.levels is None else [self._by_level(self.levels)]
        return [*found, fit_words.model_table(self.fit, self.conf_level)]

    def results(self) -> str:
        """Return every difference in rating points in a sentence, or what the coefficients say."""
        if self.levels is None:
            return " ".join(fit_words.sentences(self.fit)) if self.fit.converged else self.answer
        rows = [row for row in self.levels.table.to_pylist() if row["what"] == "mean"]
        means = "; ".join(
            f"{row['estimate']:.2f} for {row['level']} (95% CI {row['conf_low']:.2f} to {row['conf_high']:.2f})"
            for row in sorted(rows, key=lambda row: -row["estimate"])
        )
        return " ".join([f"Expected ratings: {means}.", *self.levels.pairs])

    def _by_level(self, levels: LevelsInPoints) -> ShownTable:
        """Return a row for each level: its expected rating, and its difference from the highest one."""
        rows = levels.table.to_pylist()
        means = sorted((row for row in rows if row["what"] == "mean"), key=lambda row: -row["estimate"])
        apart = {}
        for row in (row for row in rows if row["what"] == "difference"):
            a, b, size, low, high = (
                row[name] for name in ("system_a", "system_b", "estimate", "conf_low", "conf_high")
            )
            apart[a, b], apart[b, a] = (size, low, high, row["p_adjusted"]), (-size, -high, -low, row["p_adjusted"])
        top = means[0]["level"]
        found = [apart.get((row["level"], top)) for row in means]
        table = {
            str(self.factor): [row["level"] for row in means],
            "rating": [f"{row['estimate']:.2f}" for row in means],
            "95% CI": [_ends(row["conf_low"], row["conf_high"]) for row in means],
            f"difference from {shortened(top, 16)}": [
                "" if one is None else f"{one[0]:.2f}".replace("-", "−") for one in found
            ],
            "95% CI ": ["" if one is None else _ends(one[1], one[2]) for one in found],
            "p (Holm)" if len(means) > 2 else "p": ["" if one is None else _p(one[3]) for one in found],
        }
        return ShownTable(pa.table(table), f"Expected ratings by {self.factor}, in points of the scale")

    def sections(self) -> Sequence[Section]:
        """Return assumptions, coefficients and differences, and what the fit alone has."""
        found = []
        if self.levels is not None and _by_coefficients(self.fit):
            found.append(Section("How differences were tested", (DECIDES,), folded=True))
        if self.contrasts is not None and self.levels is not None:
            caption = f"Pairwise differences of {self.factor} (Holm)"
            found.append(Section("Differences by emmeans", (ShownTable(self.contrasts, caption),), folded=True))
        if self.unchecked:
            found.append(Section("Checks", (f"Assumptions could not be checked: {self.unchecked}.",)))
        if (checked := self.assumptions) is not None:
            found.append(Section("Checks", (Bullets(checked.sentences),)))
            numbers: list[Block] = []
            if checked.thresholds.num_rows:
                numbers.append(ShownPicture("thresholds", f"Thresholds of each {checked.factor}"))
            for table, caption in ((checked.nominal_test, "Nominal effects"), (checked.scale_test, "Scale effects")):
                if table.num_rows > 1:
                    words = f"{caption}: likelihood ratio tests against the model as it is (<none>)"
                    numbers.append(ShownTable(table, words))
            if numbers:
                found.append(Section("Assumptions in numbers", tuple(numbers), folded=True))
        return [*found, *fit_words.sections(self.fit, pictured=self.levels is None)]

    def figures(self) -> Figures:
        """Return the coefficients, and where there are such the ratings of levels and the thresholds."""
        drawn = dict(self.fit.draw())
        if (levels := self.levels) is not None:
            drawn = {"levels": lambda: figures.systems([levels.drawn]), **drawn}
        if (checked := self.assumptions) is not None:
            drawn["thresholds"] = lambda: figures.thresholds(checked)
        return Figures(drawn)

    def methods(self) -> str:
        """Return the methods paragraph."""
        said = fit_words.methods(self.fit)
        if self.contrasts is None:
            return said
        pairs = f"All {self.contrasts.num_rows} pairwise differences of {self.factor}"
        return f"{said} {pairs} were tested with emmeans, with p-values corrected by Holm's method."

    def references(self) -> list[str]:
        """Return its references."""
        return [*fit_words.references(self.fit), *([] if self.contrasts is None else [LENTH])]


def explain(
    fit: Fit,
    contrasts: str | None = None,
    tests: pa.Table | None = None,
    assumptions: bool = True,
    conf_level: float = 0.95,
    noticed: Sequence[Finding] = (),
) -> FitAnalysis:
    """Compute what a report shows; see :meth:`ordbridge.Fit.explain`."""
    factor = contrasts or fit_words.main_factor(fit)
    differences = None if contrasts is None else fit.contrasts(contrasts, conf_level=conf_level)
    levels = _expected_ratings(fit, factor) if factor and fit.converged else None
    checked, why = None, ""
    if assumptions and fit.problem.ordinal and fit.converged:
        try:
            checked = fit.assumptions()
        except (InputError, FitError) as refusal:
            why = str(refusal)
    return FitAnalysis(fit, factor, levels, differences, tests, checked, why, conf_level, tuple(noticed))


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
        rows = fit.means(factor).table.to_pylist()
    except (InputError, FitError):
        return None
    means = [row for row in rows if row["what"] == "mean"]
    pairs = list(combinations([row["level"] for row in means], 2))
    found = [row for row in rows if row["what"] == "difference"]
    if len(found) != len(pairs) or any(row["conf_low"] is None or row["p_adjusted"] is None for row in found):
        return None
    if _by_coefficients(fit):
        for row, p in zip(found, _tested(fit, factor), strict=True):
            row["p_adjusted"] = p
    sentences = [_pair(*pair, row, len(pairs)) for pair, row in zip(pairs, found, strict=True)]
    top = max(means, key=lambda row: row["estimate"])
    same = [a if b == top["level"] else b for (a, b), row in zip(pairs, found, strict=True)
            if top["level"] in (a, b) and not row["p_adjusted"] < fit_words.LEVEL]  # fmt: skip
    headline = sentences[0]
    if len(means) > 2:
        best = (
            f"{top['level']} is rated highest: {top['estimate']:.2f} ({top['conf_low']:.2f} to {top['conf_high']:.2f})"
        )
        headline = f"{best}; no clear difference from {listed(same)}." if same else f"{best}, above all others."
    columns = ["what", "level", "system_a", "system_b", "estimate", "conf_low", "conf_high", "p_adjusted"]
    table = pa.Table.from_pylist([{name: row[name] for name in columns} for row in rows if row["category"] is None])
    return LevelsInPoints(headline, sentences, table, _drawn(fit, factor, means))


def _ends(low: float, high: float) -> str:
    return f"{low:.2f} to {high:.2f}".replace("-", "−")


def _p(value: float) -> str:
    return p_text(value).removeprefix("p ").removeprefix("= ")


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
    interval = f"95% CI {low:.2f} to {high:.2f}".replace("-", "−")
    tested = f"({interval}, {p_text(row['p_adjusted'])}{', Holm' if pairs > 1 else ''})"
    if not row["p_adjusted"] < fit_words.LEVEL:
        return f"No clear difference: {a} scored {size:.2f} points higher than {b} {tested}."
    return f"{a} is rated {size:.2f} points higher than {b} {tested}."


def _scale(labels: Sequence[str]) -> list[float]:
    """Return the ends of a scale whose categories are numbers; of words there are places."""
    try:
        return [float(labels[0]), float(labels[-1])]
    except ValueError:
        return [1.0, float(len(labels))]


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
    ends: list[float] = []
    if fit.problem.ordinal:
        response = fit.problem.columns[str(fit.problem.formula.response)].values[rows]
        for row in ranking:
            own = response[level == row["system"]]
            shares += [
                {"system": row["system"], "category": label, "share": float((own == code).mean())}
                for code, label in enumerate(fit.problem.columns[str(fit.problem.formula.response)].levels)
            ]
        ends = _scale(fit.problem.columns[str(fit.problem.formula.response)].levels)
    ends = ends or [end for row in means for end in (row["conf_low"], row["conf_high"])]
    return figures.SystemRatings("", ranking, shares, (min(ends), max(ends)))
