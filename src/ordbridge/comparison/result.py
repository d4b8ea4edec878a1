"""The answer: systems in their order, all differences, and what both rest on."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from ordbridge.comparison import paper, wording
from ordbridge.errors import InputError
from ordbridge.render import figures
from ordbridge.render.layout import Block, Bullets, Figures, Section, ShownPicture, ShownTable
from ordbridge.results.compared import SystemsCompared, without_criterion
from ordbridge.results.finding import Finding
from ordbridge.support.formatting import listed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ordbridge.models.fit import Fit

DRAWN = ("estimate", "conf_low", "conf_high")
TABLES = ("ranking", "pairs", "shares", "design", "models", "stability", "criteria_together")


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(SystemsCompared):
    """Which system is rated higher, by how much, and how sure that is.

    Everything but the columns ``latent_…`` is about the one estimand in ``settings["estimand"]``.

    Attributes
    ----------
    ranking
        criterion (with the block, where ``by`` has one, or the group of systems that share items), rank, system,
        estimate (its expected rating), std_error, conf_low, conf_high, letters (systems that share one do not differ
        significantly; null with a reference), rank_low and rank_high (the places that it can have, for all systems at
        once), cluster (from 1 on; each has the best system left and those after it that are not significantly below
        it), best_probability (that its mean is the highest), n, mean (of the ratings as they are), always (the rating
        that a system always has; null if it has several).
    pairs
        criterion, system_a, system_b, difference (of the first from the second, in points), conf_low, conf_high,
        std_error, df, p_value,
        p_adjusted (the corrected p-value; null where the design cannot tell two systems apart), superiority (the
        difference as the probability that a text of the first is rated above one of the second), superiority_low,
        superiority_high, test
        (``t``, ``welch``, ``exact``; on the latent scale ``wald``, ``t``, ``lrt``, ``bootstrap``), latent_difference
        and latent_p_value (what R's clmm or clm prints, uncorrected: the other question), latent_agrees (whether both
        scales say the same after the correction), raw_difference (of plain means, in points). Intervals of differences
        exclude 0 exactly where ``p_adjusted`` is below 1 − conf_level.
    shares
        criterion, system, category, n, share; of a slider none.
    design
        criterion, ratings, participants, items, systems, texts, ratings_per_text, ratings_per_participant (medians),
        scale, scale_low, scale_high, only_participants and only_items (their number, where they are so few that the
        answer is about these).
    models
        criterion, estimand, model, formula, why, engine, test, draws (of a bootstrap), converged, singular, seconds.
    stability
        criterion, pairs_that_differ, and how probably a repetition of the study with new raters, items and ratings
        finds the same: stable_ranking (all of these pairs in the same order; Riley et al. 2024), same_order (of all
        systems), same_best.
    criteria_together
        criterion_a, criterion_b, systems, correlation (of the systems' expected ratings on both), conf_low, conf_high.
    findings
        What is wrong with the ratings (:func:`ordbridge.check`) and with the analysis, and what was decided on the way.
    recognised
        What each role was taken from.
    settings
        estimand, reference, adjust, correct, conf_level, engine, seed, comparisons.
    fits
        The fitted models by criterion: the ordinal one where there is one, otherwise the linear one of all systems.
    """

    kind: ClassVar[str] = "comparison"
    most_lines: ClassVar[int] = 25
    ranking: pa.Table
    pairs: pa.Table
    shares: pa.Table
    design: pa.Table
    models: pa.Table
    stability: pa.Table
    criteria_together: pa.Table
    recognised: Mapping[str, str]
    findings: tuple[Finding, ...]
    settings: Mapping[str, Any]
    fits: Mapping[str | None, Fit] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Say in one line what was compared."""
        return f"<comparison of {', '.join(self.systems) or 'nothing'}: {'; '.join(self.answer.splitlines())}>"

    @property
    def title(self) -> str:  # type: ignore[override]
        """What the report is called."""
        systems = self.systems
        return f"Comparison of {listed(systems)}" if 0 < len(systems) <= wording.MOST_NAMED else "Comparison of systems"

    @property
    def answer(self) -> str:  # type: ignore[override]
        """Which system is rated highest and by how much, in a line for each criterion."""
        if not self.criteria:
            return "There is no answer."
        return "\n".join(wording.headline(self, criterion) for criterion in self.criteria)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Every pair in a sentence that names systems, direction and size."""
        return tuple(line for criterion in self.criteria for line in wording.pair_sentences(self, criterion))

    @property
    def counted(self) -> str:  # type: ignore[override]
        """Who rated what, and by which models it was compared."""
        return f"{paper.counts(self)}; {paper.models(self)}." if self.criteria else ""

    @property
    def tables(self) -> dict[str, pa.Table]:
        """All tables by name."""
        return {name: getattr(self, name) for name in TABLES}

    def main(self) -> Sequence[ShownTable]:
        """Return the systems with their expected ratings."""
        if not self.criteria:
            return []
        if paper.many_systems(self):
            return [paper.clusters_grid(self)]
        return [paper.ratings_grid(self) if len(self.criteria) > 1 else paper.ranking_grid(self)]

    def brief(self) -> Sequence[ShownTable]:
        """Return the same in fewer lines, where sentences on several criteria leave little room."""
        return paper.within_terminal(self, self.main()[0]) if self.criteria else []

    def on_request(self) -> Mapping[str, Sequence[Block]]:
        """Return the differences between all pairs, and how they were tested."""
        if not self.criteria:
            return {}
        explained = [Bullets(self.sentences), *super().on_request()["explain"]]
        return {"pairs": [paper.pairs_grid(self)], "explain": explained}

    def on_page(self) -> Sequence[ShownTable]:
        """Return the systems with their expected ratings, and how far each is from the best or the reference."""
        return [paper.overview_grid(self)] if len(self.criteria) == 1 else self.main()

    def picture(self) -> ShownPicture | None:
        """Return the picture of categories and expected ratings."""
        level = f"{100 * self.settings['conf_level']:g}%"
        return (
            ShownPicture("ratings", f"{paper.caption_of_picture(self)} with {level} intervals")
            if self.criteria
            else None
        )

    def results(self) -> str:
        """Return expected ratings and differences for the results section."""
        return paper.results(self) if self.criteria else ""

    def paper_tables(self) -> Sequence[ShownTable]:
        """Return the systems, and the differences."""
        return [paper.ratings_grid(self), paper.pairs_grid(self)] if self.criteria else []

    def sections(self) -> Sequence[Section]:
        """Return the picture, the differences, and what is behind them."""
        if not self.criteria:
            return []
        found: list[Section] = []
        several = self.pairs.num_rows > 1
        if several and "differences" in self.figures():
            shown = ShownPicture("differences", f"Differences {paper.in_units(self)}, with intervals")
            found.append(Section("Differences", (shown,)))
        found += [
            Section("Every pair", (paper.pairs_grid(self),), folded=len(self.criteria) == 1),
            Section("Models", (ShownTable(without_criterion(self.models.drop_columns(["seconds"]))),), folded=True),
        ]
        behind = {
            "pairs": "Differences in numbers",
            "ranking": "Expected ratings in numbers",
            "stability": "What a repetition would find",
            "criteria_together": "How criteria agree about systems",
            "design": "Who rated what",
            "shares": "How often each category was chosen",
        }
        for name, caption in behind.items():
            if (table := getattr(self, name)).num_rows:
                found.append(Section(caption, (ShownTable(without_criterion(table)),), folded=True))
        return found

    def figures(self) -> Figures:
        """Return the ratings of the systems, and their differences."""
        if not self.criteria:
            return Figures()
        rows = self.pairs.to_pylist()
        drawn: dict[str, Callable[[], Any]] = {"ratings": self.plot}
        if any(row["conf_low"] is not None for row in rows):
            for row in rows:
                of = "" if row["criterion"] is None else f"{row['criterion']}: "
                row["label"] = f"{of}{row['system_a']} – {row['system_b']}"
                row["differs"] = wording.differ(row, self.alpha)
            unit = "log ratio" if self.settings.get("magnitude") else "rating points"
            drawn["differences"] = lambda: figures.differences(rows, self.settings["conf_level"], unit)
        return Figures(drawn)

    def plot(self, criterion: str | None = None) -> Figure:
        """Draw how often each category was chosen beside the expected ratings with their intervals.

        Parameters
        ----------
        criterion
            Which one; ``None`` for all of them, one below the other.
        """
        if not self.criteria:
            raise InputError("there is no answer to draw: the ratings have errors")
        if criterion is not None and criterion not in self.criteria:
            raise InputError(f"there is no criterion {criterion!r}; there are {', '.join(map(repr, self.criteria))}")
        panels = []
        for one in self.criteria if criterion is None else (criterion,):
            design = self.rows("design", one)[0]
            ends = (design["scale_low"], design["scale_high"])
            ranking = self.rows("ranking", one)
            if design["kind"] == "magnitude":
                ends = (math.exp(ends[0]), math.exp(ends[1]))
                ranking = [
                    row | {name: None if row[name] is None else math.exp(row[name]) for name in DRAWN}
                    for row in ranking
                ]
            panels.append(figures.SystemRatings(one or "", ranking, self.rows("shares", one), ends))
        return figures.systems(panels, self.settings["conf_level"])

    def methods(self) -> str:
        """Return the paragraph for the methods section."""
        return paper.methods(self) if self.criteria else ""

    def references(self) -> list[str]:
        """Return the references that the paragraph needs."""
        return paper.references(self) if self.criteria else []
