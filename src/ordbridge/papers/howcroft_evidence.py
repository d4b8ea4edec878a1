"""From the runs of Howcroft & Rieser's simulation to tables, figures and a verdict on every claim."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ordbridge import design, simulate
from ordbridge.papers import howcroft2021 as paper
from ordbridge.papers import power_verdicts as judge
from ordbridge.papers.power_verdicts import Row, Verdict, Weighted
from ordbridge.papers.reproduction import UNDECIDED, Part, Reproduction, claims_table
from ordbridge.planning.hypotheses import r_versions
from ordbridge.power import Run
from ordbridge.power.result import true_value
from ordbridge.render import figures

TARGET = 0.8


def reproduction(runs: Mapping[str, Run], variants: Sequence[str], figure: str) -> Reproduction:
    """Return everything that the runs say."""
    main = {variant: [run for name, run in runs.items() if name.startswith(f"{variant}-")] for variant in variants}
    deciding = [run for name, run in runs.items() if name.startswith("deciding-")]
    evidence = {variant: Evidence.of(main[variant], deciding if variant == variants[0] else []) for variant in variants}
    questions = question_table([run for name, run in runs.items() if name.startswith("questions-")])
    claims, left_open = judged(evidence, questions)
    parts = [Part("figure1", "Figure 1 from simulated ratings: counts, and the two views of them", _figure1())]
    for variant in variants:
        parts += _figures(main[variant], variant, figure)
        parts += [
            Part(f"power_{variant}", f"Power, {variant} simulator", evidence[variant].power),
            Part(
                f"differences_{variant}",
                f"Power of clmm less power of lmer on the same datasets, {variant} simulator",
                evidence[variant].compared,
            ),
        ]
    parts.append(Part("linear_null", "What the linear model tests", linear_null(), NULL_WORDS))
    if deciding:
        words = "Cells that decide what the paper says of 80 % power and of half the items"
        parts.append(Part("deciding", words, evidence[variants[0]].deciding))
    if questions.num_rows:
        parts.append(Part("question_means", "The open questions, means over the settings", question_means(questions)))
        parts.append(Part("questions", "The cells that decide the open questions", questions, QUESTION_WORDS))
    parts += _diagnostics([*runs.values()])
    summary = tuple(_summary(evidence, questions))
    title = "Ordinal and linear models of ratings: the published power simulation, run again"
    versions = r_versions([one for run in runs.values() for one in run.manifest["environments"]])
    return Reproduction(title, paper.REFERENCE, summary, claims, tuple(parts), versions=versions, left_open=left_open)


def judged(evidence: Mapping[str, Evidence], questions: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Return a verdict on everything that the paper says, and on what it leaves open."""
    claims = [row for variant, found in evidence.items() for row in _published_claims(found, variant)]
    left_open = [row for variant, found in evidence.items() for row in _open_in_the_grid(found, variant)]
    left_open += [*_open_claims(questions), _misplaced(evidence)]
    return claims_table(claims), claims_table(left_open)


@dataclass(frozen=True)
class Evidence:
    """The tables of all settings of one variant: rows of ``Run.power`` and ``Run.compare``."""

    power: pa.Table
    compared: pa.Table
    deciding: pa.Table
    """More datasets of the cells on which a claim depends; may be empty."""

    @classmethod
    def of(cls, runs: Sequence[Run], deciding: Sequence[Run] = ()) -> Evidence:
        """Take the tables of the runs."""
        compared = pa.concat_tables(run.compare("clmm", "lmer") for run in runs).drop_columns(["cell"])
        power = _powers(runs)
        return cls(power, compared, _powers(deciding) if deciding else power.slice(0, 0))

    @property
    def settings(self) -> list[str]:
        """The settings that were run."""
        return [*dict.fromkeys(self.power["variance"].to_pylist())]

    def powers(self, model: str, **where: Any) -> list[Row]:
        """Return the rows of a model, in order of ratings, items and effect."""
        return _where(self.power.to_pylist(), model=model, **where)

    def decided(self, model: str, **where: Any) -> list[Row]:
        """Return the same from the cells with more datasets, where there are any."""
        return _where(self.deciding.to_pylist(), model=model, **where) or self.powers(model, **where)

    def differences(self, sign: int, **where: Any) -> list[Row]:
        """Return the comparisons at positive or negative effects."""
        return [row for row in _where(self.compared.to_pylist(), **where) if row["effect"] * sign > 0]


def _powers(runs: Sequence[Run]) -> pa.Table:
    tables = [run.power().replace_schema_metadata(None) for run in runs]
    return pa.concat_tables(tables).drop_columns(["cell", "term", "note"])


def _where(rows: Iterable[Row], **where: Any) -> list[Row]:
    chosen = [row for row in rows if all(row[name] == value for name, value in where.items())]
    return sorted(chosen, key=lambda row: (row["ratings_per_text"], row["items"], row["effect"]))


def _row(name: str, found: Verdict, where: str = "", figure: str = "") -> Row:
    claim = paper.claims[name]
    row = claim.judged(found.found, found.verdict, found.reason)
    row |= {"claim": f"{row['claim']} ({where})"} if where else {}
    return row | {"where": figure} if figure else row


def _published_claims(evidence: Evidence, variant: str) -> list[Row]:
    """Judge the paper's own claims, on positive effects."""
    rows = [_row("never lower", judge.never_lower(evidence.differences(+1)), variant)]
    for setting, ratings in product(evidence.settings, paper.ratings):
        found = _half_the_items(evidence, setting, ratings)
        figure = "Figure 2" if setting in paper.figures["2"] else "Figure 3"
        rows.append(_row("half the items", found, f"{setting}, {ratings} ratings, {variant}", figure))
    rows += [_80_percent(evidence, setting, variant) for setting in evidence.settings if setting in paper.figures["2"]]
    means = {setting: judge.advantage(evidence.differences(+1, variance=setting)) for setting in evidence.settings}
    if {"extra-low", "extra-high"} <= {*means}:
        others = [mean for setting, mean in means.items() if setting != "extra-high"]
        rows.append(_row("extra-low", judge.small(means["extra-low"], "mean over 24 cells"), variant))
        rows.append(_row("extra-high", judge.largest(means["extra-high"], others), variant))
    return rows


def _open_in_the_grid(evidence: Evidence, variant: str) -> Iterator[Row]:
    """Judge what the paper leaves open, over the whole grid."""
    for name, model in (("size of lmer", "lmer"), ("size of clmm", "clmm")):
        yield _row(name, judge.keeps_level(evidence.powers(model, effect=0.0)), variant)
    if negative := evidence.differences(-1):
        yield _row("negative", judge.never_lower(negative), variant)


def _half_the_items(evidence: Evidence, setting: str, ratings: int) -> Verdict:
    """Compare clmm with 50 items and lmer with 100, over the four effects."""
    ordinal, linear = (
        [
            row
            for row in evidence.decided(model, items=number, variance=setting, ratings_per_text=ratings)
            if row["effect"] > 0
        ]
        for model, number in (("clmm", 50), ("lmer", 100))
    )
    found = judge.not_below(judge.gap(ordinal, linear))
    datasets = min(row["n"] for row in (*ordinal, *linear))
    return found._replace(reason=f"mean over effects, {datasets} datasets per cell; {found.reason}")


def _80_percent(evidence: Evidence, setting: str, variant: str) -> Row:
    """Judge whether lmer misses 80 % and clmm reaches it; at low variance lmer does."""
    chosen = {"variance": setting, "items": 100, "ratings_per_text": 3, "effect": paper.effects[2]}
    (linear,), (ordinal,) = evidence.decided("lmer", **chosen), evidence.decided("clmm", **chosen)
    if setting == "low":
        return _row("80 percent, low", judge.reaches(linear, TARGET), variant)
    found = [judge.stays_below(linear, TARGET), judge.reaches(ordinal, TARGET)]
    words = f"lmer {found[0].found}, clmm {found[1].found}"
    datasets = min(linear["n"], ordinal["n"])
    rule = f"holds: lmer's exact interval below {TARGET:g}, clmm's above it; {datasets} datasets"
    return _row("80 percent", Verdict(words, judge.all_of(found), rule), f"{setting}, {variant}")


def _open_claims(questions: pa.Table) -> list[Row]:
    """Judge what the paper leaves open, in the deciding cells."""
    names = ("size of lmer", "size of clmm", "negative", "centred slopes", "centred thresholds")
    if not questions.num_rows:
        left_out = Verdict("not run", UNDECIDED, "the deciding cells were left out")
        return [_row(name, left_out) for name in names[2:]]
    rows = questions.to_pylist()
    published = {"slope_coding": "treatment", "thresholds": "published"}
    sizes = []
    for coding in ("treatment", "centred"):
        null = _where(rows, slope_coding=coding, thresholds="published", effect=0.0)
        for name, model in (("size of lmer", "lmer"), ("size of clmm", "clmm")):
            level = judge.keeps_level([row | {"power": row[f"power_{model}"]} for row in null])
            sizes.append(_row(name, level, f"deciding cells, {coding} slopes"))
    negative = judge.never_lower(_where(rows, effect=-0.31, **published))
    as_published = _advantage(rows, **published)
    centred_slopes = _advantage(rows, slope_coding="centred", thresholds="published")
    centred_thresholds = _advantage(rows, slope_coding="treatment", thresholds="centred")
    return [
        *sizes,
        _row("negative", negative, "deciding cells"),
        _row("centred slopes", judge.at_least_half(centred_slopes, as_published)),
        _row("centred thresholds", judge.at_least_half(centred_thresholds, as_published)),
    ]


def _advantage(rows: list[Row], **where: Any) -> Weighted:
    return judge.advantage(_where(rows, effect=0.31, **where))


def _misplaced(evidence: Mapping[str, Evidence]) -> Row:
    """Judge what the misplaced participant effects change, over all cells and both mixed models."""
    if len(evidence) < 2:
        return _row("misplaced", Verdict("not run", UNDECIDED, "needs both variants"))
    changes = {}
    for model in ("lmer", "clmm"):
        published, corrected = (_by_cell(evidence[v].powers(model)) for v in ("published", "corrected"))
        common = [cell for cell in published if cell in corrected]
        changes[model] = judge.gap([published[cell] for cell in common], [corrected[cell] for cell in common])
    found = [judge.small(change, model) for model, change in changes.items()]
    words = "; ".join(verdict.found for verdict in found)
    return _row("misplaced", Verdict(words, judge.all_of(found), f"published less corrected; {found[0].reason}"))


def _by_cell(rows: list[Row]) -> dict[tuple[Any, ...], Row]:
    return {tuple(row[name] for name in ("variance", "items", "ratings_per_text", "effect")): row for row in rows}


QUESTION_WORDS = (
    "Every row has the same datasets for both models. mean_difference is the difference of mean ratings that the truth "
    "implies, which is what the linear model tests; negative_lmer and negative_clmm are the shares of datasets with a "
    "significant result of negative sign.",
)
NULL_WORDS = (
    "The linear model tests whether the mean ratings of the two systems differ, the ordinal model whether their mean "
    "latent qualities do. Computed from the truth, without simulation: the standard deviation of latent quality of "
    "each system, the difference of mean ratings at three latent effects, and the latent effect of equal mean ratings.",
)


def question_table(runs: Sequence[Run]) -> pa.Table:
    """Return one row per deciding cell: both powers, their difference, what the linear model tests, and wrong signs."""
    rows = []
    for run in runs:
        cells = {cell.label: cell for cell in run.grid.cells}
        lmer = next(model for model in run.models if model.name == "lmer")
        negative = _negative(run)
        for row in run.compare("clmm", "lmer").to_pylist():
            cell = cells[row["cell"]]
            moved = cell.truth.threshold_distribution == paper.centred_thresholds
            rows.append(
                {
                    "thresholds": "centred" if moved else "published",
                    "slope_coding": row["slope_coding"],
                    "variance": row["variance"].split(",")[0],
                    "items": row["items"],
                    "ratings_per_text": row["ratings_per_text"],
                    "effect": row["effect"],
                    "mean_difference": true_value(cell, lmer),
                    "n": row["n"],
                    "power_lmer": row["power_b"],
                    "power_clmm": row["power_a"],
                    **{
                        name: row[name]
                        for name in ("difference", "conf_low", "conf_high", "only_a", "only_b", "p_value")
                    },
                    **{f"negative_{model}": negative[row["cell"], model] / row["n"] for model in ("lmer", "clmm")},
                }
            )
    return pa.Table.from_pylist(rows)


def question_means(questions: pa.Table) -> pa.Table:
    """Return the deciding cells averaged over settings, a row per size, coding, placement of thresholds and effect."""
    axes = ("items", "ratings_per_text", "slope_coding", "thresholds", "effect")
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in questions.to_pylist():
        groups.setdefault(tuple(row[name] for name in axes), []).append(row)
    means = []
    for values, rows in groups.items():
        shares = ("power_lmer", "power_clmm", "negative_lmer", "negative_clmm", "mean_difference")
        difference = judge.advantage(rows)
        means.append(
            {
                **dict(zip(axes, values, strict=True)),
                "n": sum(row["n"] for row in rows),
                **{name: float(np.mean([row[name] for row in rows])) for name in shares},
                **{"difference": difference.mean, "conf_low": difference.low, "conf_high": difference.high},
            }
        )
    return pa.Table.from_pylist(means)


def _negative(run: Run) -> dict[tuple[str, str], int]:
    """Count significant fits with an estimate below 0, by cell and model."""
    fits = run.fits.filter(pc.equal(run.fits["engine"], run.engine))
    hit = pc.and_(pc.less(fits["p_value"], run.alpha), pc.less(fits["estimate"], 0))
    counts = fits.append_column("hit", hit).group_by(["cell", "model"]).aggregate([("hit", "sum")]).to_pylist()
    return {(row["cell"], row["model"]): row["hit_sum"] or 0 for row in counts}


def linear_null() -> pa.Table:
    """Return, for each setting, coding and placement of thresholds, what the linear model tests."""
    rows = []
    places = {"published": paper.threshold_distribution, "centred": paper.centred_thresholds}
    for setting, coding, (place, thresholds) in product(paper.settings, ("treatment", "centred"), places.items()):
        truth = paper.settings[setting].shift(slope_coding=coding, threshold_distribution=thresholds)
        spread = np.sqrt(1 + np.diag(truth.covariance("participant") + truth.covariance("item")))
        rows.append(
            {
                **{"variance": setting, "slope_coding": coding, "thresholds": place},
                **{"sd_first": float(spread[0]), "sd_second": float(spread[1])},
                **{f"difference_at_{effect:g}": mean_difference(truth, effect) for effect in (-0.31, 0.0, 0.31)},
                "effect_of_equal_means": equal_means(truth),
            }
        )
    return pa.Table.from_pylist(rows)


def mean_difference(truth: simulate.Truth, effect: float) -> float:
    """Return the difference of mean ratings, second system less first, at a latent effect."""
    return float(simulate.implied(truth.shift(effect=effect)).differences["difference"][0].as_py())


def equal_means(truth: simulate.Truth) -> float:
    """Return the latent effect at which both systems have the same mean rating."""
    from scipy.optimize import brentq

    return float(brentq(lambda effect: mean_difference(truth, effect), -1, 1, xtol=1e-6))


def _figure1() -> Any:
    truth = paper.settings["representative"].shift(effect=0.31)
    return figures.scale_views(simulate.ratings(design.howcroft2021(100, 10), truth, seed=1))


def _figures(runs: Sequence[Run], variant: str, figure: str) -> list[Part]:
    """Return Figures 2 and 3 as the paper draws them, mixed models and positive effects; then both signs, if run."""
    parts = []
    for number in ("2", "3") if figure == "all" else (figure,):
        chosen = [run for run in runs if run.grid.axes["variance"][0] in paper.figures[number]]
        chosen = [run for run in chosen if max(run.grid.axes["effect"]) > 0]
        caption = f"Figure {number}: power of the mixed models, {variant} simulator"
        parts.append(Part(f"figure{number}_{variant}", caption, figures.power_curves(chosen, models=("lmer", "clmm"))))
    if any(min(run.grid.axes["effect"]) < 0 for run in runs):
        caption = f"Both signs of the effect: power of the mixed models, {variant} simulator"
        parts.append(Part(f"both_signs_{variant}", caption, figures.power_curves(runs, models=("lmer", "clmm"))))
    return parts


def _diagnostics(runs: list[Run]) -> list[Part]:
    """Return failures, and the audit if there was one."""
    failures = pa.concat_tables(run.failures() for run in runs)
    parts = [Part("failures", "Failed fits (not significant)", failures)] if failures.num_rows else []
    audited = [run for run in runs if run.manifest["audit"] and len(run.models) == len(paper.models)]
    asked = [run for run in runs if run.manifest["audit"] and run not in audited]
    for name, chosen in (("audit", audited), ("audit_questions", asked)):
        if chosen:
            audit = chosen[0].audit(also=chosen[1:])
            parts.append(
                Part(
                    name,
                    "The fast engine compared with R on a random sample of datasets",
                    audit.summary,
                    (f"{audit}.",),
                )
            )
            if audit.cases.num_rows:
                parts.append(Part(f"{name}_cases", "p differs by more than 1 %", audit.cases))
    return parts


def _summary(evidence: Mapping[str, Evidence], questions: pa.Table) -> Iterable[str]:
    for variant, found in evidence.items():
        sizes = {m: judge.keeps_level(found.powers(m, effect=0.0)).found for m in ("lmer", "clmm")}
        mean = judge.advantage(found.differences(+1))
        yield (
            f"At latent effect 0 ({variant}) the linear mixed model is significant in {sizes['lmer']}, the ordinal one "
            f"in {sizes['clmm']}."
        )
        yield f"Mean advantage of the ordinal model for positive effects ({variant}): {mean}."
    rows = questions.to_pylist()
    for coding, place in product(("treatment", "centred"), ("published", "centred")) if rows else ():
        yield (
            f"Deciding cells, {coding} slopes, {place} thresholds: mean advantage of the ordinal model at effect 0.31 "
            f"{_advantage(rows, slope_coding=coding, thresholds=place)}, at −0.31 "
            f"{judge.advantage(_where(rows, effect=-0.31, slope_coding=coding, thresholds=place))}."
        )
