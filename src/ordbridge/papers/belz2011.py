"""Belz & Kow (2011): a scale of seven categories and a line from 0 to 100, laid out again and simulated.

"Discrete vs. Continuous Rating Scales for Language Evaluation in NLP", ACL 2011. Its ratings are not available, so
nothing here tests the paper's numbers: numbers simulated from one latent quality, and fitted to the printed ones, stand
beside them, to show what the two scales can differ in.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ordbridge import design, scales
from ordbridge.models.inference.adjust import adjusted_p
from ordbridge.papers.reproduction import HOLDS, Claim, Part, Reproduction, claims_table
from ordbridge.render.figures.style import BLUE, ORANGE, empty_figure
from ordbridge.results import found
from ordbridge.simulate import Simulator, Truth
from ordbridge.simulate.presets import Settings
from ordbridge.support.arguments import whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS", "Experiment", "claims", "fitted", "published", "reproduce", "settings", "validity"]

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
        slope_coding="treatment",
    )


settings = Settings(
    {
        "weather": _truth(EXPERIMENTS["weather"], 3.614, (0.886, 0.765), (0.577, 0.639)),
        "image": _truth(EXPERIMENTS["image"], 1.429, (0.569, 0.31), (0.413, 1.182)),
    }
)
"""Ours, not the paper's, which has none: what :func:`fitted` finds, so that W, F and stability are near the printed
ones. Systems are evenly spaced in latent quality; the line refines the seven categories."""

CRITERIA = {"weather": ("Clarity", "Readability"), "image": ("Adequacy", "Fluency")}
RUNS = {
    "weather": {"VDS-7(A)": ("VDS-7", 0), "VDS-7(B)": ("VDS-7", 1), "VAS": ("VAS", 0)},
    "image": {"VDS-7": ("VDS-7", 0), "VAS(A)": ("VAS", 0), "VAS(B)": ("VAS", 1)},
}
"""The paper's experiments of each kind: which scale, and which of two runs of the same raters."""

published: dict[str, dict[str, dict[str, tuple[float, float]]]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
"""All printed tables of section 6, for the two criteria of each kind of text."""

validity = {"VAS(A)": 0.870, "VAS(B)": 0.927, "VDS-7": 0.906}
"""Pearson's r of mean Adequacy with identification accuracy (images), as printed; Fluency has .3 to .5, and Adequacy
with identification speed −.35 to −.29. Accuracy and speed of people are not simulated."""

claims = (
    Claim("every rater sees each system equally often (weather)", "22 raters, 22 dates, 11 systems", "section 4"),
    Claim("every rater sees each system equally often (image)", "8 raters, 112 image sets, 8 systems", "section 4"),
    Claim("VAS finds more significant differences than VDS-7", "in 3 of 4 cases", "section 7"),
)


def reproduce(datasets: int = 100, seed: int = 1) -> Reproduction:
    """Lay out the designs, rate one latent quality on both scales ``datasets`` times, and show the paper's measures.

    Parameters
    ----------
    datasets
        Simulated experiments of each kind; each has a second run by the same raters.
    seed
        Of the simulation.
    """
    whole("datasets", datasets, least=2)
    simulated = {name: _simulate(name, datasets, seed) for name in EXPERIMENTS}
    power = _power(datasets, seed)
    measures = {name: _beside_paper(name, rows) for name, rows in simulated.items()}
    more = {name: _finds_more(name, rows) for name, rows in simulated.items()}
    parts = [Part("designs", "The two designs", _designs())]
    for name, table in measures.items():
        of = EXPERIMENTS[name]
        text = (
            f"The paper's printed numbers for its two criteria, and means over {datasets} simulated experiments with "
            "the range of the middle 90 %; the last column names the criteria whose number lies outside. Simulated "
            "numbers come from settings of ours, which were fitted to the printed W, F and stability, and say nothing "
            "about whether the paper's are right. One setting cannot be near both criteria where these differ.",
            f"W is over {of.systems} systems' means of {of.raters} raters; significant differences are of {of.pairs}, "
            "by t tests with Holm's correction after a significant analysis of variance (which test the "
            "paper used is not available). F of text type takes each item as a type.",
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
    also = (
        "The paper also has Fluency with identification accuracy, .3 to .5, and Adequacy with identification speed, "
        "−.35 to −.29; accuracy and speed are not simulated.",
    )
    caption = "Validity as printed: mean Adequacy and identification accuracy"
    parts.insert(3, Part("validity", caption, _validity(simulated), also))
    summary = (*_summary(power, more), *_outside(measures))
    title = "Discrete and continuous rating scales, simulated from one latent quality"
    return Reproduction(title, REFERENCE, summary, _judged(more), tuple(parts), (found("simulated-settings"),))


def _validity(simulated: dict[str, list[dict[tuple[str, str], float]]]) -> pa.Table:
    """Set the printed validities beside the simulated means' correlation with true quality, its upper limit."""
    true = {run: np.mean([row["correlation with true quality", run] for row in simulated["image"]]) for run in validity}
    return pa.table(
        {
            "experiment": list(validity),
            "printed": list(validity.values()),
            "simulated_correlation_with_true_quality": [float(value) for value in true.values()],
        }
    )


def _outside(measures: dict[str, pa.Table]) -> list[str]:
    """Say how many printed numbers lie outside what the simulation gives, and which."""
    said = []
    for name, table in measures.items():
        rows = [row for row in table.to_pylist() if row["outside"] is not None]
        beyond = [f"{row['measure']} {row['experiment']} ({row['outside']})" for row in rows if row["outside"] != "–"]
        number = sum(len(row["outside"].split(", ")) for row in rows if row["outside"] != "–")
        which = f": {'; '.join(beyond)}" if beyond else ""
        said.append(
            f"Of {2 * len(rows)} printed numbers of the {name} experiments, {number} lie outside the middle 90 % of "
            f"the simulated ones{which}."
        )
    return said


def _designs() -> pa.Table:
    rows = []
    for name, experiment in EXPERIMENTS.items():
        for row in design.check(experiment.design()).to_pylist():
            rows.append({"experiment": name, "property": row["property"], "finding": row["words"]})
    return pa.Table.from_pylist(rows)


def fitted(name: str, datasets: int = 12, steps: int = 110) -> Truth:
    """Fit the spread of systems and the variances of raters and items to the printed W, F and stability.

    The squared logarithms of simulated over printed numbers (means over criteria and scales) are made small by Nelder &
    Mead's search, with the same random numbers in every step; :data:`settings` holds the result, rounded.

    Parameters
    ----------
    name
        ``"weather"`` or ``"image"``.
    datasets, steps
        Simulated experiments in each step, and the number of steps.
    """
    from scipy.optimize import minimize

    experiment = EXPERIMENTS[name]
    measured = {"Kendall's W": 2.0, "F of system": 1.0, "F of rater": 1.0, "F of text type": 1.0, "stability": 2.0}
    targets = np.array([np.mean(list(published[name][measure].values())) for measure in measured])
    weights = np.array(list(measured.values()))

    def truth_of(logs: np.ndarray) -> Truth:
        spread, *deviations = np.exp(logs).tolist()
        return _truth(experiment, spread, (deviations[0], deviations[1]), (deviations[2], deviations[3]))

    def distance(logs: np.ndarray) -> float:
        rows = _simulate(name, datasets, 1, truth_of(logs))
        found = [np.mean([value for row in rows for (m, _), value in row.items() if m == what]) for what in measured]
        return float(((weights * np.log(np.array(found) / targets)) ** 2).sum())

    start = np.log([experiment.systems / 4, 0.8, 0.7, 0.6, 0.7])
    corners = np.vstack([start, start + 0.4 * np.eye(5)])
    best = minimize(distance, start, method="Nelder-Mead", options={"maxfev": steps, "initial_simplex": corners})
    return truth_of(best.x)


def _simulate(name: str, datasets: int, seed: int, truth: Truth | None = None) -> list[dict[tuple[str, str], float]]:
    """Return one row per simulated experiment: the paper's measures by measure and experiment (or two of them)."""
    plan = EXPERIMENTS[name].design()
    truth = truth or settings[name]
    quality = dict(zip(sorted(set(plan["system"].to_pylist())), (0.0, *truth.effects), strict=True))
    rows = []
    for number in range(datasets):
        runs = _rated_twice(plan, truth, np.random.SeedSequence([seed, number]))
        tables = {run: runs[scale][which] for run, (scale, which) in RUNS[name].items()}
        again = {run: runs[scale][1] for run, (scale, which) in RUNS[name].items() if which == 0}
        compared = scales.compare(
            tables, text_type="item", posthoc="holm", again=again, outside=quality, conf_level=None
        )
        row = {("Kendall's W", r["scale"]): r["kendall_w"] for r in compared.reliability.to_pylist()}
        for r in compared.interchangeability.to_pylist():
            row[f"{r['coefficient']} of means", r["scales"]] = r["estimate"]
        row |= {("stability", r["scale"]): r["estimate"] for r in compared.stability.to_pylist()}
        row |= {(f"F of {r['factor']}", r["scale"]): r["F"] for r in compared.factors.to_pylist()}
        row |= {("significant differences", r["scale"]): r["significant"] for r in compared.sensitivity.to_pylist()}
        row |= {("correlation with true quality", r["scale"]): r["estimate"] for r in compared.validity.to_pylist()}
        rows.append(row)
    return rows


def _rated_twice(plan: pa.Table, truth: Truth, seed: np.random.SeedSequence) -> dict[str, list[dict[str, Any]]]:
    """Return two runs of the same raters on each scale: the raters' and items' deviations stay, the rest is new."""
    both = pa.concat_tables([plan, plan]).select(["participant", "item", "system"])
    runs = {}
    for scale, kind in zip(SCALES, ("ordinal", "vas"), strict=True):
        rating, _ = Simulator(both, truth.shift(scale=kind)).draw(seed)
        columns = {"system": plan["system"], "item": plan["item"], "participant": plan["participant"]}
        runs[scale] = [{**columns, "rating": half} for half in np.split(rating, 2)]
    return runs


def _beside_paper(name: str, rows: list[dict[tuple[str, str], float]]) -> pa.Table:
    """Return one row per measure and experiment: the printed numbers, the simulated ones, and which lie outside."""
    table = []
    for measure, run in rows[0]:
        values = np.array([row[measure, run] for row in rows], dtype=float)
        low, high = np.quantile(values, (0.05, 0.95))
        printed = published[name].get(measure, {}).get(run)
        row: dict[str, Any] = {"measure": measure, "experiment": run}
        outside = []
        for at, criterion in enumerate(CRITERIA[name]):
            row[criterion] = None if printed is None else printed[at]
            if printed is not None and not low <= printed[at] <= high:
                outside.append(criterion)
        row |= {"simulated": float(values.mean()), "low": float(low), "high": float(high)}
        row["outside"] = None if printed is None else ", ".join(outside) or "–"
        table.append(row)
    return pa.Table.from_pylist(table)


def _finds_more(name: str, rows: list[dict[tuple[str, str], float]]) -> dict[str, tuple[float, float]]:
    """Return how often VAS finds more, and fewer, significant differences than VDS-7.

    From the same raters, so that only the scale differs; and from others, as in the paper, by comparing with the next
    simulated experiment.
    """
    first = {scale: run for run, (scale, which) in RUNS[name].items() if which == 0}
    counts = {scale: np.array([row["significant differences", run] for row in rows]) for scale, run in first.items()}
    differences = {
        "the same raters": counts["VAS"] - counts["VDS-7"],
        "other raters": np.roll(counts["VAS"], 1) - counts["VDS-7"],
    }
    return {who: (float((d > 0).mean()), float((d < 0).mean())) for who, d in differences.items()}


def _power(datasets: int, seed: int) -> pa.Table:
    """Return one row per scale and analysis: significant differences found, and false positives among equal systems."""
    experiment, truth = EXPERIMENTS["weather"], settings["weather"].shift(scale="vas")
    plan = experiment.design()
    alike = truth.shift(effect=[0.0] * len(truth.effects))
    found: dict[tuple[str, str], list[int]] = {}
    false: dict[tuple[str, str], list[int]] = {}
    for target, true in ((found, truth), (false, alike)):
        simulator = Simulator(plan, true)
        for number in range(datasets):
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
            counts[scale, analysis] = sum(value <= ALPHA for value in adjusted_p(np.nan_to_num(p, nan=1.0), "holm"))
    return counts


def _power_figure(power: pa.Table) -> Figure:
    picture = empty_figure(6.4, 3.4)
    panel = picture.subplots()
    for analysis, colour, marker in (("t tests", ORANGE, "s"), ("rank tests", BLUE, "o")):
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
