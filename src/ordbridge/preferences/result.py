"""The result of comparisons: win rates, ranking, checks, and their words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from ordbridge import __version__
from ordbridge.render import figures
from ordbridge.render.layout import Block, Figures, Section, ShownPicture, ShownTable
from ordbridge.results import citations
from ordbridge.results.compared import SystemsCompared, without_criterion
from ordbridge.results.finding import Finding
from ordbridge.support.formatting import listed, p_text

__all__ = ["PreferenceComparison"]

MOST_NAMED = 4
MOST_SENTENCES = 40
LINE = "\n"


def percent(value: float) -> str:
    """Write a share: no decimals, except next to 0 and 1.

    Examples
    --------
    >>> percent(0.582), percent(0.996), percent(1.0)
    ('58', '99.6', '100')
    """
    return f"{100 * value:.1f}" if 0 < min(value, 1 - value) < 0.01 else f"{100 * value:.0f}"


@dataclass(frozen=True, eq=False, repr=False)
class PreferenceComparison(SystemsCompared):
    """Which system is preferred, how often, and how sure that is.

    Attributes
    ----------
    ranking
        criterion, rank, system, win_rate (mean over all opponents, ties split, for new raters and items), conf_low,
        conf_high, letters (systems that share one do not differ significantly), strength (log odds, mean 0), rank_low,
        rank_high (ranks that the tests leave open), observed (share of points as they are), n. Systems that always won
        or lost have no win rate.
    pairs
        criterion, system_a (the better one), system_b, win_rate, conf_low, conf_high, win, tie, log_odds, std_error,
        df, p_value, p_adjusted, observed (in direct comparisons), n (of these), test, naive_p_value (without raters
        and items). Intervals exclude 50% exactly where ``p_adjusted`` is below 1 − conf_level.
    checks
        Position effect, intransitivity, circular triads, agreement on the same pair.
    models, design
        What was fitted, and to what.
    """

    kind: ClassVar[str] = "preferences"
    ranking: pa.Table
    pairs: pa.Table
    checks: pa.Table
    models: pa.Table
    design: pa.Table
    recognised: Mapping[str, str]
    findings: tuple[Finding, ...]
    settings: Mapping[str, Any]

    def __repr__(self) -> str:
        """Say in one line what was compared."""
        return f"<preferences between {listed(self.systems[:6])}: {'; '.join(self.answer.splitlines())}>"

    @property
    def title(self) -> str:  # type: ignore[override]
        """What the report is called."""
        few = len(self.systems) <= MOST_NAMED
        return (
            f"Preferences between {listed(self.systems)}" if few else f"Preferences between {len(self.systems)} systems"
        )

    @property
    def answer(self) -> str:  # type: ignore[override]
        """Who beats whom how often: of one criterion in a line or two, of several in a line for each."""
        return "\n".join(self._headline(criterion) for criterion in self.criteria)

    def _headline(self, criterion: str | None) -> str:
        of = f"{criterion}: " if criterion else ""
        ranking, pairs = self.rows("ranking", criterion), self.rows("pairs", criterion)
        if len(ranking) == 2:
            return f"{of}{self._sentence(pairs[0])}, {self._population(criterion)}."
        best, rest = ranking[0], ranking[1]
        if best["win_rate"] is None:
            return f"{of}{best['system']} never lost a point against the others and ranks first of {len(ranking)}."
        said = f"{of}{best['system']} is preferred most: it wins {percent(best['win_rate'])}% against the others"
        said += f", {self._population(criterion)}."
        pair = next((p for p in pairs if {p["system_a"], p["system_b"]} == {best["system"], rest["system"]}), None)
        return said if pair is None else f"{said}{' ' if of else LINE}{self._sentence(pair)}."

    def _sentence(self, row: Mapping[str, Any]) -> str:
        level = 100 * float(self.settings["conf_level"])
        rate, p = percent(row["win_rate"]), row["p_adjusted"]
        interval = ""
        if row["conf_low"] is not None:
            interval = f"{level:g}% CI {percent(row['conf_low'])} to {percent(row['conf_high'])}%, "
        said = f"{row['system_a']} beats {row['system_b']} in {rate}% of comparisons ({interval}{p_text(p)})"
        return said if p < self.alpha else f"No clear difference: {said}"

    def _population(self, criterion: str | None) -> str:
        random = self.rows("models", criterion)[0]["random"]
        new = [name for name in ("rater", "item") if f"{name}:system" in random]
        return f"for new {listed([f'{name}s' for name in new])}" if new else "in these comparisons"

    @property
    def sentences(self) -> tuple[str, ...]:
        """Every pair in a sentence."""
        return tuple(
            f"{row['criterion']}: {self._sentence(row)}." if row["criterion"] else f"{self._sentence(row)}."
            for row in self.pairs.to_pylist()
        )

    @property
    def counted(self) -> str:  # type: ignore[override]
        """Who compared what, and by which model."""
        design, model = self.design.to_pylist(), self.models.to_pylist()[0]
        n = sum(row["comparisons"] for row in design)
        who = [f"{design[0][key]:,} {key}" for key in ("raters", "items") if design[0][key]]
        ties = sum(row["comparisons"] * row["ties"] for row in design) / n
        shown = ", ".join([f"{n:,} comparisons of {len(self.systems)} systems", *who, f"{percent(ties)}% ties"])
        random = f" with random {model['random']}" if model["random"] else ""
        return f"{shown}; {model['model']}{random}. Win rates split ties."

    @property
    def tables(self) -> dict[str, pa.Table]:
        """All tables by name."""
        return {name: getattr(self, name) for name in ("ranking", "pairs", "checks", "models", "design")}

    def main(self) -> Sequence[ShownTable]:
        """Return the systems with their win rates, one table for each criterion."""
        out = []
        for criterion in self.criteria:
            rows = [
                {"system": row["system"], "wins": _share(row["win_rate"]), "95% CI": _range(row),
                 "group": row["letters"], "ranks": _ranks(row), "observed": _share(row["observed"]), "n": row["n"]}
                for row in self.rows("ranking", criterion)
            ]  # fmt: skip
            names = {"wins": "wins", "95% CI": f"{100 * float(self.settings['conf_level']):g}% CI"}
            caption = f"{criterion}: win rates against the others" if criterion else "Win rates against the others"
            out.append(ShownTable(pa.Table.from_pylist(rows), caption, names))
        return out

    def on_request(self) -> Mapping[str, Sequence[Block]]:
        """Return all pairs, and how they were tested."""
        return {**super().on_request(), "pairs": [self._pairs_grid()]}

    def paper_tables(self) -> Sequence[ShownTable]:
        """Return the systems, and the pairs."""
        return [*self.main(), self._pairs_grid()]

    def _pairs_grid(self) -> ShownTable:
        rows = [
            {"criterion": row["criterion"], "pair": f"{row['system_a']} – {row['system_b']}",
             "wins": _share(row["win_rate"]), "CI": _range(row), "win": _share(row["win"]), "tie": _share(row["tie"]),
             "p_adjusted": row["p_adjusted"], "naive_p_value": row["naive_p_value"]}
            for row in self.pairs.to_pylist()
        ]  # fmt: skip
        names = {
            "CI": f"{100 * float(self.settings['conf_level']):g}% CI",
            "naive_p_value": "p without raters and items",
        }
        return ShownTable(pa.Table.from_pylist(rows), "Win rates of the first, ties split", names)

    def picture(self) -> ShownPicture:
        """Return the picture of win rates."""
        level = f"{100 * float(self.settings['conf_level']):g}%"
        return ShownPicture("win_rates", f"Win rates against the mean opponent, ties split, with {level} intervals")

    def results(self) -> str:
        """Return the answer, and every pair of systems, in sentences."""
        said = " ".join(self.answer.splitlines())
        return " ".join([said, *[pair for pair in self.sentences if pair not in said][:MOST_SENTENCES]])

    def sections(self) -> Sequence[Section]:
        """Return the pictures, the pairs, the checks, and what is behind them."""
        pairs: list[Block] = []
        if self.pairs.num_rows > 1:
            pairs.append(ShownPicture("pairs", "Win rate of the row against the column, ties split"))
        pairs.append(self._pairs_grid())
        return [
            Section("Pairs", tuple(pairs)),
            Section("Position, circles and agreement", (ShownTable(without_criterion(self.checks)),)),
            Section(
                "Model",
                (ShownTable(without_criterion(self.models)), ShownTable(without_criterion(self.design))),
                folded=True,
            ),
            Section("All pairs in numbers", (ShownTable(without_criterion(self.pairs)),), folded=True),
        ]

    def figures(self) -> Figures:
        """Return win rates against the mean opponent, and the matrix of pairs."""
        panels = {criterion: self.rows("ranking", criterion) for criterion in self.criteria}
        level = float(self.settings["conf_level"])
        matrices = {criterion: self.rows("pairs", criterion) for criterion in self.criteria}
        return Figures(
            {
                "win_rates": lambda: figures.win_rates(panels, level),
                "pairs": lambda: figures.pair_matrix(panels, matrices),
            }
        )

    def methods(self) -> str:
        """Return the paragraph for the methods section."""
        model, s = self.models.to_pylist()[0], self.settings
        tests = set(self.pairs["test"].to_pylist())
        penalty = " Variances were kept from zero by a weak penalty (Chung et al. 2013)." if model["random"] else ""
        if tests == {"sign"}:
            how = "by an exact sign test over raters or items, whichever are fewer"
            return f"{self._compared()} were tested {how}, with ordbridge {__version__}."
        random = (
            f" with one random variance for each of {model['random'].replace(', ', ' and ')}" if model["random"] else ""
        )
        several = s["comparisons"] > 1 and s["adjust"] != "none"
        family = f"{s['adjust'].capitalize()}, {s['comparisons']} comparisons"
        corrected = f", and p-values corrected for multiple comparisons ({family})"
        tested = "Wald tests"
        if "robust t" in tests:
            within = "item" if self.design["items"][0].as_py() else "rater"
            tested = f"t tests with standard errors that allow for correlation within an {within}"
        elif random:
            tested = "t tests from the restricted Laplace likelihood with Satterthwaite's degrees of freedom"
        about = f" and are {self._population(self.criteria[0])}" if random else ""
        return (
            f"{self._compared()} were analysed with a {model['model']} ({s['link']} link){random}, "
            f"by ordbridge {__version__}.{penalty} Win rates split ties{about}. "
            f"Pairs were compared by {tested}{corrected if several else ''}."
        )

    def _compared(self) -> str:
        design = self.design.to_pylist()
        who = [f"{design[0][key]:,} {key}" for key in ("raters", "items") if design[0][key]]
        of = f"{sum(row['comparisons'] for row in design):,} comparisons of {len(self.systems)} systems"
        return f"{of} ({', '.join(who)})" if who else of

    def references(self) -> list[str]:
        """Return the references that the paragraph needs."""
        model, tests = self.models.to_pylist()[0], set(self.pairs["test"].to_pylist())
        used = [] if tests == {"sign"} else [citations.PREFERENCES[model["model"].removesuffix(" model")]]
        if model["random"]:
            used += [citations.PREFERENCES["random"], citations.COMPARISONS["t"]]
        used += [citations.PREFERENCES["robust"]] if "robust t" in tests else []
        if self.settings["comparisons"] > 1:
            used += [
                work for name, work in citations.COMPARISONS.items() if name in (self.settings["adjust"], "letters")
            ]
        return [f"ordbridge {__version__}.", *used]


def _share(value: float | None) -> str | None:
    return None if value is None else f"{percent(value)}%"


def _range(row: Mapping[str, Any]) -> str | None:
    return None if row["conf_low"] is None else f"{percent(row['conf_low'])} to {percent(row['conf_high'])}%"


def _ranks(row: Mapping[str, Any]) -> str | None:
    if row["rank_low"] is None:
        return None
    return f"{row['rank_low']}" if row["rank_low"] == row["rank_high"] else f"{row['rank_low']}–{row['rank_high']}"
