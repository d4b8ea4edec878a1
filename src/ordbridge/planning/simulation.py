"""Simulating: datasets where they decide something, and what they have shown."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from ordbridge.planning.evidence import Candidate, Rows, everyone, recommend
from ordbridge.planning.forecast_power import PowerForecast, Powers, forecast_power, predictions
from ordbridge.planning.forecast_time import Look, forecast_time, rehearse, said
from ordbridge.planning.hypotheses import Simulations, pairs_of
from ordbridge.planning.looks import Sequential, sequential
from ordbridge.planning.pilot import over_draws
from ordbridge.planning.question import Question
from ordbridge.planning.search import search
from ordbridge.planning.type_one_error import Nulls
from ordbridge.power.estimates import clopper_pearson
from ordbridge.power.grid import Grid
from ordbridge.simulate import Truth
from ordbridge.support.columns import columns
from ordbridge.support.progress import Progress

MORE = 1.5  # times the variances that were assumed
A_CASE = 200  # datasets of each case of the sensitivity table, where there is no closed form
A_DRAW = 40  # and of each draw from a pilot's uncertainty


@dataclass(frozen=True)
class Simulated:
    """What the simulations have shown, in addition to the counts that the candidates themselves carry."""

    curve: Powers
    recommended: Candidate | None
    subject: Candidate | None
    """The design that the answer is about: the recommended one, or the only one."""
    uncertainty: pa.Table | None
    pairs: pa.Table | None
    affordable: Candidate | None
    """With money to spend: the design with the most power that it buys."""
    sensitivity: pa.Table | None
    versions: dict[str, str]
    looks: Sequential | None = None
    """The same study with looks at the data before its end."""


def simulate(
    question: Question,
    folder: Path,
    jobs: int,
    progress: Callable[[str | Progress], object] | None = None,
) -> Simulated:
    """Simulate what the question needs; what the folder already has is not simulated again."""
    simulations = Simulations(
        question.model,
        folder,
        question.seed,
        question.engine,
        jobs,
        question.alpha,
        question.criteria,
        question.correlation,
        progress=progress,
    )
    tell = progress or (lambda _: None)
    if question.engine == "r" and progress is not None:
        tell(_how_long(question, simulations))
    nulls = Nulls(simulations, question.null, question.calibrate, question.kind != "designs", question.rows[0][0])
    curve = _search(question, question.rows, _looker(nulls, tell))
    best, subject = _about(question, question.rows)
    uncertainty = pairs = None
    if subject is not None and question.null:
        if subject.null is None:
            design = f"{subject.items} items × {subject.ratings_per_text:g} ratings"
            tell(f"{design}, no difference: {question.null} datasets for the type-I error")
        nulls.size(subject)
    if subject is not None and question.pilot is not None and question.pilots_drawn:
        power = _elsewhere(subject, simulations, curve, A_DRAW)
        uncertainty = over_draws(
            question.pilot, question.truth, question.effect_observed, power, question.draws, question.seed, progress
        )
    if subject is not None and subject.n and simulations.pairs:
        pairs = simulations.of_pairs(subject.grid, subject.n, question.names, subject.critical_value)
    looks = _looks(question, subject, folder, jobs, tell) if subject is not None else None
    affordable = _affordable(question, curve, _looker(nulls, tell))
    sensitivity = None
    if subject is not None and question.kind != "effect":
        sensitivity = _sensitivity(subject, _elsewhere(subject, simulations, curve, A_CASE), tell)
    return Simulated(curve, best, subject, uncertainty, pairs, affordable, sensitivity, simulations.versions, looks)


def _looks(
    question: Question, subject: Candidate, folder: Path, jobs: int, tell: Callable[[str], object]
) -> Sequential | None:
    """Simulate the looks at the design that the answer is about."""
    if question.looks is None:
        return None
    (cell,) = subject.grid.cells
    labels = [str(label) for label in cell.systems]
    ((low, high),) = pairs_of(question.model.term, labels)
    tell(f"{subject.items} items × {subject.ratings_per_text:g} ratings, {question.looks} looks")
    return sequential(
        cell.design,
        cell.truth,
        replace(question.model, term=f"system{labels[high]}"),
        looks=question.looks,
        shape=question.shape,
        alpha=question.alpha,
        datasets=question.most,
        null=max(question.null, 100),
        reference=labels[low],
        engine=question.engine,
        seed=question.seed,
        jobs=jobs,
        store=folder / "looks",
    )


def _affordable(question: Question, curve: Powers, look: Look) -> Candidate | None:
    """Return the design with the most power that the money buys, simulated as far as any."""
    if question.costs.budget is None:
        return None
    within = [c for c in everyone(question.rows) if c.price <= question.costs.budget]
    power = predictions(curve, within)
    best = within[max(range(len(within)), key=lambda i: (power[i], -within[i].price))]
    if best.n < question.most:
        look(best, question.most)
    return best


def _elsewhere(
    subject: Candidate, simulations: Simulations, curve: Powers, n: int
) -> Callable[[Truth], dict[str, Any]]:
    """Return the function that says the power of a design under another truth.

    In closed form, corrected by what the plan has simulated, where there is one: a few hundred datasets would say less.
    """
    size, items, ratings = subject.distance, subject.items, subject.ratings_per_text
    largest = max(map(abs, subject.grid.cells[0].truth.effects), default=0.0)

    def in_closed_form(truth: Truth) -> dict[str, Any]:
        scaled = size / largest * max(map(abs, truth.effects))
        power = float(curve.at(truth).power(scaled, items, ratings))  # type: ignore[union-attr]
        return {"n": None, "n_failed": None, "power": power, "conf_low": None, "conf_high": None}

    def simulated(truth: Truth) -> dict[str, Any]:
        grid = Grid.from_dict({**subject.grid.to_dict(), "truths": {"": truth.to_dict()}})
        count, significant, failed = simulations.count(grid, n, subject.critical_value)
        low, high = clopper_pearson(significant, count)
        return {"n": count, "n_failed": failed, "power": significant / count, "conf_low": low, "conf_high": high}

    return in_closed_form if isinstance(curve, PowerForecast) else simulated


def _sensitivity(
    subject: Candidate, power: Callable[[Truth], dict[str, Any]], tell: Callable[[str], object]
) -> pa.Table:
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
        tell(f"{subject.items} items × {subject.ratings_per_text:g} ratings, {words}")
        rows.append({"if": words} | power(truth.shift(**changes)))
    return pa.Table.from_pylist(rows, schema=SENSITIVITY)


SENSITIVITY = pa.schema(columns("if: text; n n_failed: count; power conf_low conf_high: number"))


def _search(question: Question, rows: Rows, look: Look) -> Powers:
    if question.kind == "power":
        look(rows[0][0], question.most)
    closed = _closed_form(question)
    return search(rows, look, target=question.target, alpha=question.alpha, closed=closed, **question.limits)


def _closed_form(question: Question) -> PowerForecast | None:
    cell = question.rows[0][0].grid.cells[0]
    labels = [str(label) for label in cell.systems]
    texts = question.texts_per_participant
    found = forecast_power(question.truth, question.model, labels, question.alpha, texts, question.calibrate)
    return found and replace(found, criteria=question.criteria, correlation=question.correlation)


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
        if _closed_form(question) is None:
            more.append((subject.ratings, question.draws * A_DRAW))
        refits = question.draws * question.pilot.fit.glance()["seconds"][0].as_py()  # the pilot itself, at every draw
    seconds, timed = forecast_time(rehearsed, simulations, more)
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
