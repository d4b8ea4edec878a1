"""The answer: systems in their order, all differences, and what both rest on."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ordbridge.comparison import paper, wording
from ordbridge.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ordbridge.models.fit import Fit
    from ordbridge.report.html import Page

__all__ = ["Comparison"]

UNPRINTED = ("std_error", "superiority", "superiority_low", "superiority_high")


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Which system is rated higher, by how much, and how sure that is.

    Everything but the columns ``latent_…`` is about the one estimand in ``asked["estimand"]``.

    Attributes
    ----------
    ranking
        criterion, rank, system, estimate (its expected rating), std_error, conf_low, conf_high, letters (systems that
        share one cannot be told apart; null with a reference), n, mean (of the ratings as they are), always (the rating
        that a system always has; null if it has several).
    pairs
        criterion, a, b, difference (of a from b, in rating points), conf_low, conf_high, std_error, df, p_value,
        adjusted (the corrected p-value; null where the design cannot tell two systems apart), superiority (the
        difference as the probability that a text of a is rated above one of b), superiority_low, superiority_high, test
        (``t``, ``welch``, ``exact``; on the latent scale ``wald``, ``t``, ``lrt``, ``bootstrap``), latent_difference
        and latent_p_value (what R's clmm or clm prints, uncorrected: the other question), latent_agrees (whether both
        scales say the same after the correction). Intervals of differences exclude 0 exactly where ``adjusted`` is
        below 1 − conf_level.
    shares
        criterion, system, category, n, share; of a slider none.
    design
        criterion, ratings, participants, items, systems, texts, ratings_per_text, ratings_per_participant (medians),
        scale, scale_low, scale_high, only_participants and only_items (their number, where they are so few that the
        answer is about these).
    models
        criterion, estimand, model, formula, why, engine, test, draws (of a bootstrap), converged, singular, seconds.
    checks
        What is wrong with the ratings (:func:`ordbridge.check`), and with the analysis.
    recognised
        What each role was taken from.
    notes
        What was decided on the way, in sentences.
    asked
        The settings: estimand, reference, adjust, correct, conf_level, engine, seed, comparisons.
    fits
        The fitted models by criterion: the ordinal one where there is one, otherwise the linear one of all systems.
    """

    ranking: pa.Table
    pairs: pa.Table
    shares: pa.Table
    design: pa.Table
    models: pa.Table
    checks: pa.Table
    recognised: Mapping[str, str]
    notes: tuple[str, ...]
    asked: Mapping[str, Any]
    fits: Mapping[str | None, Fit] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Say in one line what was compared."""
        systems = dict.fromkeys(self.ranking["system"].to_pylist())
        return f"<comparison of {', '.join(systems) or 'nothing'}: {'; '.join(self.answer)}>"

    def __str__(self) -> str:
        """Return the answer as lines of text, or why there is none."""
        return "\n".join(self.sentences) if self.criteria else self.notes[-1]

    @property
    def criteria(self) -> tuple[str | None, ...]:
        """The criteria that were analysed; a single ``None`` if there is no such column."""
        return tuple(dict.fromkeys(self.ranking["criterion"].to_pylist()))

    @property
    def alpha(self) -> float:
        """The level below which a corrected p-value counts as a difference."""
        return round(1.0 - float(self.asked["conf_level"]), 12)

    @property
    def answer(self) -> tuple[str, ...]:
        """Which system is rated highest, in a sentence for each criterion."""
        return tuple(wording.headline(self, criterion) for criterion in self.criteria)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The answer, and every pair in a sentence that names systems, direction and size."""
        lines: list[str] = []
        for criterion, first in zip(self.criteria, self.answer, strict=True):
            lines += [first, *wording.pair_sentences(self, criterion)]
        return tuple(lines)

    def _require_answer(self) -> None:
        if not self.criteria:
            raise InputError(f"there is no answer to write: {self.notes[-1]}")

    def rows(self, table: str, criterion: str | None) -> list[dict[str, Any]]:
        """Return the rows of one of the tables that are about one criterion."""
        return [row for row in getattr(self, table).to_pylist() if row["criterion"] == criterion]

    def methods(self) -> str:
        """Return the paragraph for the methods section."""
        self._require_answer()
        return paper.methods(self)

    def references(self) -> list[str]:
        """Return the references that the paragraph needs."""
        self._require_answer()
        return paper.references(self)

    def main_table(self) -> pa.Table:
        """Return the table of a paper: one row per system, one column per criterion."""
        self._require_answer()
        return paper.main_table(self)

    def markdown(self) -> str:
        """Return the table with letters and stars, the differences, and the methods paragraph in Markdown."""
        self._require_answer()
        return paper.markdown(self)

    def latex(self, caption: str = "", label: str = "tab:systems") -> str:
        """Return the table with letters and stars, the differences, and the methods paragraph in LaTeX (booktabs)."""
        self._require_answer()
        return paper.latex(self, caption, label)

    def plot(self, criterion: str | None = None) -> Figure:
        """Draw the shares of the categories beside the expected ratings with their intervals.

        Parameters
        ----------
        criterion
            Which one; ``None`` for all of them, one below the other.
        """
        from ordbridge import figures

        self._require_answer()
        if criterion is not None and criterion not in self.criteria:
            raise InputError(f"there is no criterion {criterion!r}; there are {', '.join(map(repr, self.criteria))}")
        shown = self.criteria if criterion is None else (criterion,)
        panels = []
        for one in shown:
            design = self.rows("design", one)[0]
            panels.append(
                figures.SystemRatings(
                    title=one or "",
                    ranking=self.rows("ranking", one),
                    shares=self.rows("shares", one),
                    ends=(design["scale_low"], design["scale_high"]),
                )
            )
        return figures.systems(panels, self.asked["conf_level"])

    def page(self, repeat: str = "") -> Page:
        """Return the report as a page."""
        from ordbridge.comparison.page import page

        return page(self, repeat)

    def report(self, path: str | os.PathLike[str], repeat: str = "") -> Path:
        """Write the report: one HTML file with the answer, tables, pictures, methods and what was decided.

        Parameters
        ----------
        path
            The file, ``.html``.
        repeat
            The command that made the comparison.
        """
        return self.page(repeat).write(path)

    def to_dict(self) -> dict[str, Any]:
        """Return what ``ordbridge compare --json`` prints: estimand, ranking, pairs, recognised, checks."""
        ranking = self.ranking.select(["criterion", "system", "estimate", "conf_low", "conf_high"])
        pairs = self.pairs.select([name for name in self.pairs.column_names if name not in UNPRINTED])
        return {
            "estimand": self.asked["estimand"],
            "ranking": ranking.to_pylist(),
            "pairs": pairs.to_pylist(),
            "recognised": dict(self.recognised),
            "checks": self.checks.to_pylist(),
        }

    def _repr_html_(self) -> str:
        """Show the answer and both tables in a notebook."""
        from ordbridge.comparison.page import fragment

        return fragment(self)
