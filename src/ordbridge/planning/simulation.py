"""Simulating: datasets where they decide something, and what they have shown."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from ordbridge.planning.curve import Curve
from ordbridge.planning.evidence import Candidate, Rows, everyone, recommend
from ordbridge.planning.forecast import Look, foresee, rehearse, said
from ordbridge.planning.hypotheses import Simulations
from ordbridge.planning.pilot import A_DRAW, over_draws
from ordbridge.planning.question import Question
from ordbridge.planning.search import search
from ordbridge.planning.type_one_error import Nulls, mean_difference
from ordbridge.power.estimates import clopper_pearson
from ordbridge.power.grid import Grid

__all__ = ["Findings", "simulate"]

MORE = 1.5  # times the variances that were assumed
A_CASE = 200  # datasets of each case of the sensitivity table


@dataclass(frozen=True)
class Findings:
    """What the simulations have shown, in addition to the counts that the candidates themselves carry."""

    curve: Curve
    recommended: Candidate | None
    subject: Candidate | None
    """The design that the answer is about: the recommended one, or the only one."""
    differs: float
    """What mean ratings differ by at latent effect 0, if a linear model of ordinal ratings tests them."""
    uncertainty: pa.Table | None
    pairs: pa.Table | None
    affordable: Candidate | None
    """With money to spend: the design with the most power that it buys."""
    sensitivity: pa.Table | None
    versions: dict[str, str]


def simulate(question: Question, folder: Path, jobs: int, progress: Callable[[str], object] | None = None) -> Findings:
    """Simulate what the question needs; what the folder already has is not simulated again."""
    simulations = Simulations(question.model, folder, question.seed, question.engine, jobs, question.alpha)
    tell = progress or (lambda _: None)
    if question.engine == "r" and progress is not None:
        tell(_how_long(question, simulations))
    nulls = Nulls(simulations, question.null, question.calibrate, question.kind != "designs", question.rows[0][0])
    curve = _search(question, question.rows, _looker(nulls, tell))
    best, subject = _about(question, question.rows)
    uncertainty = pairs = None
    differs = 0.0
    if subject is not None and question.null:
        if subject.null is None:
            design = f"{subject.items} items × {subject.ratings_per_text:g} ratings"
            tell(f"{design}, no difference: {question.null} datasets for the type-I error")
        nulls.size(subject)
        differs = mean_difference(subject, simulations)
    if subject is not None and question.pilot is not None and question.pilots_drawn:
        uncertainty = over_draws(
            question.pilot,
            question.truth,
            question.effect_observed,
            subject,
            simulations,
            question.draws,
            question.seed,
            progress,
        )
    if subject is not None and subject.n and simulations.pairs:
        pairs = simulations.of_pairs(subject.grid, subject.n, question.names, subject.critical_value)
    affordable = _affordable(question, curve, _looker(nulls, tell))
    sensitivity = None if subject is None or question.kind == "effect" else _sensitivity(subject, simulations, tell)
    return Findings(curve, best, subject, differs, uncertainty, pairs, affordable, sensitivity, simulations.versions)


def _affordable(question: Question, curve: Curve, look: Look) -> Candidate | None:
    """Return the design with the most power that the money buys, simulated as far as any."""
    if question.spend is None:
        return None
    within = [c for c in everyone(question.rows) if c.price <= question.spend]
    best = max(within, key=lambda c: (float(curve.power(c.effect, c.items, c.ratings_per_text)), -c.price))
    if best.n < question.most:
        look(best, question.most)
    return best


def _sensitivity(subject: Candidate, simulations: Simulations, tell: Callable[[str], object]) -> pa.Table:
    """Return the power of the design if raters or items differ more than was assumed."""
    truth = subject.grid.cells[0].truth
    larger = {
        group: tuple(math.sqrt(MORE) * sd for sd in getattr(truth, group)) for group in ("participant_sd", "item_sd")
    }
    cases: dict[str, dict[str, Any]] = {
        f"raters' variances {MORE:g} times larger": {"participant_sd": larger["participant_sd"]},
        f"items' variances {MORE:g} times larger": {"item_sd": larger["item_sd"]},
        f"both {MORE:g} times larger": larger,
        "effect a quarter smaller": {"effect": [0.75 * effect for effect in truth.effects]},
    }
    rows = []
    for words, changes in cases.items():
        tell(f"{subject.items} items × {subject.ratings_per_text:g} ratings, {words}: {A_CASE} datasets")
        other = truth.shift(**changes)
        grid = Grid.from_dict({**subject.grid.to_dict(), "truths": {"": other.to_dict()}})
        n, significant, failed = simulations.count(grid, A_CASE, subject.critical_value)
        low, high = clopper_pearson(significant, n)
        power = {"power": significant / n, "conf_low": low, "conf_high": high}
        rows.append({"if": words, "n": n, "n_failed": failed} | power)
    return pa.Table.from_pylist(rows)


def _search(question: Question, rows: Rows, look: Look) -> Curve:
    if question.kind == "power":
        look(rows[0][0], question.most)
    return search(rows, look, target=question.target, alpha=question.alpha, **question.limits)


def _about(question: Question, rows: Rows) -> tuple[Candidate | None, Candidate | None]:
    """Return the recommended candidate, if there is one, and the one that the answer is about."""
    best = recommend(question.kind, rows, question.target, question.enough)
    return best, best if best is not None or question.kind == "designs" else rows[0][0]


def _how_long(question: Question, simulations: Simulations) -> str:
    """Say how long R will take, with the draws from a pilot's uncertainty and the datasets without a difference."""
    rehearsed = rehearse(
        question.rows,
        simulations,
        lambda rows, look: _search(question, rows, look),
        question.limits["budget"],
    )
    _, subject = _about(question, rehearsed)
    more, refits = [], 0.0
    nulls = Nulls(simulations, question.null, question.calibrate, question.kind != "designs", question.rows[0][0])
    if question.null:
        counted = everyone(rehearsed) if question.calibrate else [subject] if subject is not None else []
        more += [(candidate.ratings, nulls.missing(candidate)) for candidate in counted if candidate.n]
    if subject is not None and question.pilot is not None and question.pilots_drawn:
        more.append((subject.ratings, question.draws * A_DRAW))
        refits = question.draws * question.pilot.fit.glance()["seconds"][0].as_py()  # the pilot itself, at every draw
    seconds, timed = foresee(rehearsed, simulations, more)
    datasets = sum(c.n for c in everyone(rehearsed)) + sum(n for _, n in more)
    return said(seconds + refits, timed, datasets, simulations.workers)


def _looker(nulls: Nulls, tell: Callable[[str], object]) -> Look:
    """Return the function that brings a candidate to a number of simulations, and tells."""

    def look(candidate: Candidate, n: int) -> None:
        nulls.look(candidate, n)
        tell(
            f"{candidate.items} items × {candidate.ratings_per_text:g} ratings, effect {candidate.effect:g}: "
            f"power {candidate.significant / candidate.n:.2f} after {candidate.n} datasets"
        )

    return look
