"""Belz & Kow (2011): seven categories against a line from 0 to 100, laid out again and simulated from one quality.

"Discrete vs. Continuous Rating Scales for Language Evaluation in NLP", ACL 2011. Its ratings are not at hand, so
nothing here tests the paper's numbers: simulated ones stand beside them, to show what the two scales can differ in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ordbridge import design
from ordbridge.errors import InputError
from ordbridge.papers.reproduction import HOLDS, Claim, Part, Reproduction, claims_table, figure
from ordbridge.papers.settings import Settings
from ordbridge.reliability import scales
from ordbridge.simulate import Simulator, Truth

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS", "Experiment", "claims", "published", "reproduce", "settings"]

REFERENCE = (
    "Belz, A., & Kow, E. (2011). Discrete vs. continuous rating scales for language evaluation in NLP. ACL 2011, "
    "230-235."
)
SCALES = ("VDS-7", "VAS")
CATEGORIES = (3, 5, 7, 11)
ALPHA = 0.05


@dataclass(frozen=True)
class Experiment:
    """Size of an experiment: repeated Latin squares in which every rater sees each item once."""

    systems: int
    items: int
    raters: int

    @property
    def pairs(self) -> int:
        """Number of pairs of systems."""
        return self.systems * (self.systems - 1) // 2

    def design(self) -> pa.Table:
        """Lay out who sees which item under which system."""
        return design.latin_square(systems=self.systems, items=self.items, raters=self.raters)


EXPERIMENTS = {"weather": Experiment(11, 22, 22), "image": Experiment(8, 112, 8)}
"""Weather forecasts: ten generators and a human; image descriptions: six generators and two sets by humans."""


def _truth(experiment: Experiment, spread: float, rater: tuple[float, float], item: tuple[float, float]) -> Truth:
    centre = spread / 2
    return Truth(
        effects=tuple(np.linspace(0.0, spread, experiment.systems)[1:]),
        thresholds=tuple(centre + np.linspace(-2.0, 2.0, 6)),
        participant_sd=rater,
        item_sd=item,
    )


settings = Settings(
    {
        "weather": _truth(EXPERIMENTS["weather"], 2.8, (0.9, 0.7), (0.6, 0.7)),
        "image": _truth(EXPERIMENTS["image"], 1.3, (0.8, 0.7), (0.6, 0.7)),
    }
)
"""Ours, not the paper's, which has none: chosen so that stability and the number of significant differences are near
the published ones. Systems are evenly spaced in latent quality; the line refines the seven categories."""

published: dict[str, dict[str, dict[str, tuple[float, ...]]]] = {
    "weather": {
        "stability": {"VDS-7": (0.656, 0.704)},
        "significant differences": {"VDS-7": (24, 23), "VAS": (25, 26)},
    },
    "image": {
        "stability": {"VAS": (0.666, 0.593)},
        "significant differences": {"VDS-7": (8, 14), "VAS": (7, 15)},
    },
}
"""The paper's numbers that are at hand, from its running text: for clarity and readability of weather forecasts, and
for adequacy and fluency of image descriptions. Those of its tables (W, correlations of means, F, validity) are not."""

claims = (
    Claim("every rater sees each system equally often (weather)", "22 raters, 22 dates, 11 systems", "section 4"),
    Claim("every rater sees each system equally often (image)", "8 raters, 112 image sets, 8 systems", "section 4"),
    Claim("VAS finds more significant differences than VDS-7", "in 3 of 4 cases", "section 7"),
)


def reproduce(sims: int = 100, seed: int = 1) -> Reproduction:
    """Lay out the designs, rate one latent quality on both scales ``sims`` times, and show the paper's measures.

    Parameters
    ----------
    sims
        Simulated experiments of each kind; each has a second run by the same raters.
    seed
        Of the simulation.
    """
    if isinstance(sims, bool) or not isinstance(sims, int) or sims < 2:
        raise InputError(f"sims={sims!r} must be a whole number from 2 on")
    simulated = {name: _simulate(name, sims, seed) for name in EXPERIMENTS}
    power = _power(sims, seed)
    measures = {name: _beside_paper(name, rows) for name, rows in simulated.items()}
    more = {name: _finds_more(rows) for name, rows in simulated.items()}
    parts = [Part("designs", "The two designs", _designs())]
    for name, table in measures.items():
        of = EXPERIMENTS[name]
        text = (
            f"Means over {sims} simulated experiments, with the range of the middle 90 %; the paper's own numbers "
            "beside them where they are at hand, one for each of its two criteria. Simulated numbers come from our "
            "settings, which were tuned to the paper's stability and significant differences, and say nothing about "
            "whether the paper's are right.",
            f"W is over {of.systems} systems' means of {of.raters} raters; significant differences are of {of.pairs}, "
            "by t tests with Holm's correction after a significant analysis of variance (which test the "
            "paper used is not at hand). Validity is the correlation of the systems' means with their true quality.",
        )
        parts.append(Part(f"measures_{name}", f"The paper's measures: {name} (simulated)", table, text))
    parts += [
        Part(
            "power",
            "Which scale finds more, and under which analysis (simulated)",
            power,
            (
                "One latent quality, recorded on scales of 3 to 11 equal categories and on the line from 0 to 100, in "
                "the weather design. Rank tests (Mann–Whitney) are the score tests of an ordinal model. The last "
                "column is the chance of any significant difference between systems that are all alike.",
            ),
        ),
        Part("power_figure", "The same as a picture (simulated)", _power_figure(power)),
    ]
    summary = _summary(power, more)
    title = "Discrete and continuous rating scales, simulated from one latent quality"
    warning = (
        "Everything called simulated comes from settings of ours; the paper's own ratings are not at hand. The "
        "settings were chosen so that stability and the number of significant differences come near the paper's. That "
        "these two are near is how the simulation was made, and no evidence for or against the paper."
    )
    return Reproduction(title, REFERENCE, summary, _judged(more), tuple(parts), (warning,))


def _designs() -> pa.Table:
    rows = []
    for name, experiment in EXPERIMENTS.items():
        for row in design.check(experiment.design()).to_pylist():
            rows.append({"experiment": name, "property": row["property"], "finding": row["words"]})
    return pa.Table.from_pylist(rows)


def _simulate(name: str, sims: int, seed: int) -> list[dict[str, Any]]:
    """Return one row a simulated experiment and scale, with the paper's measures."""
    plan = EXPERIMENTS[name].design()
    truth = settings[name]
    rows = []
    for number in range(sims):
        runs = _rated_twice(plan, truth, np.random.SeedSequence([seed, number]))
        compared = scales.compare(
            runs["VDS-7"][0], runs["VAS"][0], text_type="item", posthoc="holm", names=SCALES, draws=0
        )
        together = {row["coefficient"]: row["estimate"] for row in compared.interchangeability.to_pylist()}
        quality = dict(zip(sorted(set(plan["system"].to_pylist())), (0.0, *truth.effects), strict=True))
        for scale in SCALES:
            found = {row["factor"]: row["F"] for row in compared.factors.to_pylist() if row["scale"] == scale}
            rows.append(
                {
                    "scale": scale,
                    "Kendall's W": _of(compared.reliability, scale, "kendall_w"),
                    "stability": scales.stability(runs[scale][0], runs[scale][1], draws=0).value,
                    "Pearson's r of means with the other scale": together["Pearson's r"],
                    "Spearman's ρ of means with the other scale": together["Spearman's ρ"],
                    "significant differences": _of(compared.sensitivity, scale, "significant"),
                    **{f"F of {factor}": value for factor, value in found.items()},
                    "validity": scales.validity(runs[scale][0], quality).value,
                }
            )
    return rows


def _rated_twice(plan: pa.Table, truth: Truth, seed: np.random.SeedSequence) -> dict[str, list[dict[str, Any]]]:
    """Return two runs of the same raters on each scale: the raters' and items' deviations stay, the rest is new."""
    both = pa.concat_tables([plan, plan]).select(["participant", "item", "system"])
    runs = {}
    for scale, kind in zip(SCALES, ("ordinal", "vas"), strict=True):
        rating, _ = Simulator(both, truth.shift(scale=kind)).draw(seed)
        columns = {"system": plan["system"], "item": plan["item"], "rater": plan["participant"]}
        runs[scale] = [{**columns, "rating": half} for half in np.split(rating, 2)]
    return runs


def _of(table: pa.Table, scale: str, column: str) -> Any:
    return next(row[column] for row in table.to_pylist() if row["scale"] == scale)


def _beside_paper(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    """Return one row a measure: the paper's number and the simulated ones, for either scale."""
    table = []
    for measure in [key for key in rows[0] if key != "scale"]:
        row: dict[str, Any] = {"measure": measure}
        for scale in SCALES:
            printed = published[name].get(measure, {}).get(scale)
            row[f"paper_{scale}"] = ", ".join(f"{n:g}" for n in printed) if printed else "not at hand"
            values = [float(r[measure]) for r in rows if r["scale"] == scale]
            low, high = np.quantile(values, (0.05, 0.95))
            row[f"simulated_{scale}"] = f"{np.mean(values):.3g} ({low:.3g} to {high:.3g})"
        table.append(row)
    return pa.Table.from_pylist(table)


def _finds_more(rows: list[dict[str, Any]]) -> dict[str, tuple[float, float]]:
    """Return how often VAS finds more, and fewer, significant differences than VDS-7.

    From the same raters, so that only the scale differs; and from others, as in the paper, by comparing with the next
    simulated experiment.
    """
    counts = {scale: np.array([r["significant differences"] for r in rows if r["scale"] == scale]) for scale in SCALES}
    differences = {
        "the same raters": counts["VAS"] - counts["VDS-7"],
        "other raters": np.roll(counts["VAS"], 1) - counts["VDS-7"],
    }
    return {who: (float((d > 0).mean()), float((d < 0).mean())) for who, d in differences.items()}


def _power(sims: int, seed: int) -> pa.Table:
    """Return one row a scale and analysis: significant differences found, and false positives among equal systems."""
    experiment, truth = EXPERIMENTS["weather"], settings["weather"].shift(scale="vas")
    plan = experiment.design()
    alike = truth.shift(effect=[0.0] * len(truth.effects))
    found: dict[tuple[str, str], list[int]] = {}
    false: dict[tuple[str, str], list[int]] = {}
    for target, true in ((found, truth), (false, alike)):
        simulator = Simulator(plan, true)
        for number in range(sims):
            line, _ = simulator.draw(np.random.SeedSequence([seed, number, 1]))
            for key, count in _significant(plan, line).items():
                target.setdefault(key, []).append(count)
    rows = [
        {
            "scale": scale,
            "analysis": analysis,
            "significant": float(np.mean(counts)),
            "of": experiment.pairs,
            "per_100_ratings": 100 * float(np.mean(counts)) / plan.num_rows,
            "any_among_equal_systems": float(np.mean(np.array(false[scale, analysis]) > 0)),
        }
        for (scale, analysis), counts in found.items()
    ]
    return pa.Table.from_pylist(rows)


def _significant(plan: pa.Table, line: np.ndarray) -> Mapping[tuple[str, str], int]:
    """Count the significant pairs of systems for every scale that the line can be cut into, and both analyses."""
    from scipy import stats
    from statsmodels.stats.multitest import multipletests

    recorded = {f"{k} categories": np.ceil(line * k / 100).clip(1, k) for k in CATEGORIES} | {"line 0–100": line}
    system = np.array(plan["system"].to_pylist())
    counts = {}
    for scale, rating in recorded.items():
        groups = np.array([rating[system == name] for name in np.unique(system)])  # a Latin square: all of one size
        first, second = np.array(list(combinations(range(len(groups)), 2))).T
        p_values = {
            "t tests": stats.ttest_ind(groups[first], groups[second], axis=1).pvalue,
            "rank tests": stats.mannwhitneyu(groups[first], groups[second], axis=1, method="asymptotic").pvalue,
        }
        for analysis, p in p_values.items():
            rejected = multipletests(np.nan_to_num(p, nan=1.0), alpha=ALPHA, method="holm")[0]
            counts[scale, analysis] = int(rejected.sum())
    return counts


def _power_figure(power: pa.Table) -> Figure:
    picture = figure(6.4, 3.4)
    panel = picture.subplots()
    for analysis, colour, marker in (("t tests", "#d6604d", "s"), ("rank tests", "#1f5fa8", "o")):
        rows = [row for row in power.to_pylist() if row["analysis"] == analysis]
        panel.plot(
            [row["scale"].replace(" categories", "\ncategories") for row in rows],
            [row["significant"] for row in rows],
            color=colour,
            marker=marker,
            label=analysis,
        )
    panel.set_ylabel(f"significant differences\nof {EXPERIMENTS['weather'].pairs} (mean)")
    panel.set_ylim(0, 1.1 * max(power["significant"].to_pylist()))
    panel.legend(frameon=False, loc="lower right")
    panel.spines[["top", "right"]].set_visible(False)
    return picture


def _judged(more: dict[str, dict[str, tuple[float, float]]]) -> pa.Table:
    rows = []
    for claim, name in zip(claims[:2], EXPERIMENTS, strict=True):
        words = {row["property"]: row for row in design.check(EXPERIMENTS[name].design()).to_pylist()}
        balanced = words["system imbalance within participant"]
        rows.append(claim.judged(balanced["words"], HOLDS if balanced["balanced"] else "does not hold"))
    ours = "; ".join(
        f"{name}, {who}: more in {m:.0%}, fewer in {f:.0%} of simulated experiments"
        for name, found in more.items()
        for who, (m, f) in found.items()
    )
    steady = all(m > f for found in more.values() for m, f in (found["the same raters"],))
    rows.append(
        claims[2].judged(
            ours,
            "holds for one quality; undecided from two groups of raters (simulated)"
            if steady
            else "undecided (simulated)",
            "the line refines the categories, so it finds a little more; between groups of raters chance is larger",
        )
    )
    return claims_table(rows)


def _summary(power: pa.Table, more: dict[str, dict[str, tuple[float, float]]]) -> tuple[str, ...]:
    rows = {(row["scale"], row["analysis"]): row for row in power.to_pylist()}
    seven, line = rows["7 categories", "t tests"], rows["line 0–100", "t tests"]
    coarse = rows[f"{CATEGORIES[0]} categories", "t tests"]
    same, other = more["weather"]["the same raters"], more["weather"]["other raters"]
    return (
        "Both designs are balanced as the paper says.",
        f"From one latent quality, {line['significant']:.1f} of {line['of']} differences are significant on the line "
        f"and {seven['significant']:.1f} with seven categories (t tests, Holm); with three categories "
        f"{coarse['significant']:.1f}.",
        f"With the same raters the line finds more in {same[0]:.0%} of the simulated weather experiments and fewer in "
        f"{same[1]:.0%}; with other raters on the line, as in the paper, more in {other[0]:.0%} and fewer in "
        f"{other[1]:.0%}. So a count from one experiment each says little about the scales.",
        f"Among systems that are all alike, tests that take ratings of one rater as independent call a difference in "
        f"{line['any_among_equal_systems']:.0%} of the experiments instead of {ALPHA:.0%}: the systems' effects differ "
        "between raters and items, which neither analysis knows.",
    )
