"""Answering: what the simulations of a plan decided, as tables, in words, and as findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from ordbridge.planning.evidence import everyone
from ordbridge.planning.forecast_power import predictions
from ordbridge.planning.hypotheses import aim_in_words, in_words
from ordbridge.planning.null_truth import without_difference
from ordbridge.planning.protocol import protocol_of
from ordbridge.planning.question import Question
from ordbridge.planning.result import Plan, options_of, table_of
from ordbridge.planning.simulation import Simulated
from ordbridge.planning.stability import with_stability
from ordbridge.planning.undecided import open_below
from ordbridge.planning.wording import (
    answer_of,
    assumed_source,
    counted_words,
    design_words,
    of_pilot,
    of_size,
    of_undecided,
    power_words,
)
from ordbridge.reading import check
from ordbridge.results import Finding, found, worst_first
from ordbridge.simulate.effect_units import effect_units

NEARLY = 0.05
"""How far below the target the curve may be for a design that is still worth showing as the cheapest."""
SAID = ("few-raters", "few-items")
"""What is wrong with a small pilot is that its variances are uncertain, and that has a finding of its own."""


def answer(question: Question, shown: Simulated) -> Plan:
    """Return what was found out."""
    rows, subject, asked = question.rows, shown.subject, _asked(question, shown)
    lines = [answer_of(question.kind, shown.recommended, rows, shown.curve, asked, question.enough)]
    if shown.affordable is not None:
        bought = f"{design_words(shown.affordable, asked)}, power {power_words(shown.affordable)}"
        lines.append(f"{question.costs.say(question.costs.budget or 0.0)} buys {bought}.")
    if shown.looks is not None:
        lines.append(shown.looks.answer)
    protocol = None if subject is None else protocol_of(question, subject, lines[0], shown.looks)
    table = table_of(rows, shown.recommended, shown.curve, asked, question.enough)
    chosen, everything = list(_options(question, shown)), list(everyone(rows))
    options = with_stability(
        options_of(table, chosen), {name: everything[at] for name, at in reversed(chosen)}, question.alpha
    )
    return Plan(
        question=question.kind,
        answer="\n".join(lines),
        counted=f"{counted_words(asked)}{_repeated(options, len(asked['systems']))}",
        findings=worst_first(_findings(question, shown, asked)),
        options=options,
        designs=table,
        recommended=next((row for row in table.to_pylist() if row["recommended"]), None),
        settings=asked | {"protocol": None if protocol is None else protocol.to_dict()},
        curve=shown.curve,
        uncertainty=shown.uncertainty,
        pairs=shown.pairs,
        units=effect_units(question.truth, question.names),
        sensitivity=shown.sensitivity,
        looks=shown.looks,
        protocol=protocol,
    )


def _repeated(options: pa.Table, systems: int) -> str:
    """Say how probably a second study of the first design would put several systems in the same order."""
    if systems < 3 or not options.num_rows:
        return ""
    same = options["same_order"][0].as_py()
    return f" A second such study would rank all {systems} systems alike {same:.0%} of the time."


def _options(question: Question, shown: Simulated) -> Iterator[tuple[str, int]]:
    """Yield the designs to choose from: what each is for, and its place among all."""
    everything = list(everyone(question.rows))
    place = {id(c): i for i, c in enumerate(everything)}
    best, costs = shown.recommended, question.costs
    if question.kind == "power":
        yield "this design", 0
        return
    if best is not None:
        yield ("recommended" if question.kind == "designs" else "smallest effect"), place[id(best)]
    undecided = open_below(question.kind, best, question.rows, question.target, shown.curve)
    likely = zip(undecided, predictions(shown.curve, undecided), strict=True)
    near = next((c for c, power in likely if power >= question.target - NEARLY), None)
    if near is not None and question.kind == "designs":
        yield ("smallest" if costs.counted else "cheapest"), place[id(near)]
    if best is None and (seen := [c for c in everything if c.n]):
        yield "best seen", place[id(max(seen, key=lambda c: c.power))]
    if shown.affordable is not None:
        yield f"{costs.say(costs.budget or 0.0)} buys", place[id(shown.affordable)]


def _findings(question: Question, shown: Simulated, asked: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield what a reader should know."""
    subject, pilot, costs = shown.subject, question.pilot, question.costs
    if pilot is not None:
        wrong = (one for one in check(pilot.ratings).findings if one.severity != "note")
        yield from (one for one in wrong if one.code not in SAID)
    if question.effect_observed:
        yield found("observed-effect")
    if shown.uncertainty is not None and pilot is not None:
        sizes = (len(pilot.design[name].unique()) for name in ("participant", "item"))
        yield of_pilot(shown.uncertainty["power"].to_pylist(), *sizes)
    if failed := sum(c.failed for c in everyone(question.rows)):
        yield found("fits-failed", failed=failed, n=asked["datasets"])
    if shown.sensitivity is not None:
        power = shown.sensitivity["power"][0].as_py()
        yield found("assumed-variances", source=assumed_source(question.source), power=power)
    yield from of_undecided(question.kind, shown.recommended, question.rows, shown.curve, asked)
    yield from of_size(subject, question.alpha)
    if question.criteria > 1:
        yield found("all-criteria", criteria=question.criteria, correlation=question.correlation)
    if subject is not None and costs.loss:
        yield found("recruit-more", recruit=costs.recruited(subject.participants), loss=costs.loss)
    if wage := costs.wage(texts := question.texts_per_participant or 0):
        currency = costs.say(0).removesuffix("0")
        yield found("hourly-wage", **wage._asdict(), texts=texts, currency=currency)


def _asked(question: Question, shown: Simulated) -> dict[str, Any]:
    """Return the question as plain values, with what belongs to it of the simulations."""
    truth, model = question.truth, question.model
    labels = [str(label) for label in question.rows[0][0].grid.cells[0].systems]
    return {
        "truth": truth.to_dict(),
        "names": list(question.names),
        "source": question.source,
        "effect": "smallest" if question.kind == "effect" else list(truth.effects),
        **{name: effect_units(truth)[name].to_pylist() for name in ("points", "superiority")},
        "direction": -1 if max(truth.effects, key=abs) < 0 else 1,
        "target": question.target,
        "alpha": question.alpha,
        "model": model.kind,
        "REML": model.REML if model.kind == "lmer" else None,
        "formula": model.formula,
        "systems": list(next(iter(everyone(question.rows))).grid.cells[0].systems),
        "test": aim_in_words(model) or in_words(model.term, question.names, labels),
        "term": model.term,
        "goal": model.goal,
        "margin": model.margin,
        "on": model.on if model.margin is not None else None,
        "inside_margin": question.rows[0][0].reach,
        "null_effects": list(without_difference(truth, model).effects),
        "calibrated": question.calibrate,
        "criteria": question.criteria,
        "correlation": question.correlation if question.criteria > 1 else None,
        "texts_per_participant": question.texts_per_participant,
        "costs": asdict(question.costs),
        "engine": question.engine,
        "seed": question.seed,
        "versions": shown.versions,
        "datasets": sum(c.n for c in everyone(question.rows)),
        "null_datasets": shown.subject.null.n if shown.subject and shown.subject.null else 0,
    }
