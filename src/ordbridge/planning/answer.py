"""Answering: what the simulations of a plan decided, as tables and in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ordbridge.planning.evidence import Candidate, everyone
from ordbridge.planning.hypotheses import aim_in_words, in_words
from ordbridge.planning.null_truth import without_difference
from ordbridge.planning.protocol import protocol_of
from ordbridge.planning.question import OBSERVED, Question
from ordbridge.planning.result import Plan, table_of
from ordbridge.planning.simulation import Findings
from ordbridge.planning.type_one_error import size_words
from ordbridge.planning.wording import design_words, notes_of, over_pilots, power_words, sentence_of, tested_words
from ordbridge.simulate.effect_units import effect_units

__all__ = ["answer"]


def answer(question: Question, found: Findings) -> Plan:
    """Return what was found out, as tables and in words."""
    rows, subject = question.rows, found.subject
    asked = _asked(question, found)
    notes = [OBSERVED[0].upper() + OBSERVED[1:] + "."] if question.effect_observed else []
    sentences = [sentence_of(question.kind, found.recommended, rows, found.curve, asked, question.enough)]
    if found.uncertainty is not None:
        sentences.append(over_pilots(found.uncertainty["power"].to_pylist()))
    if found.affordable is not None:
        sentences.append(_bought(found.affordable, question, asked))
    if wage := question.prices.wage(question.texts_per_participant or 0):
        sentences.append(wage)
    details = [tested_words(asked)]
    if subject is not None and subject.null is not None:
        details.append(size_words(subject, asked))
    if found.looks is not None:
        details.append(str(found.looks))
    table = table_of(rows, found.recommended, found.curve, asked, question.enough)
    return Plan(
        question=question.kind,
        sentence=" ".join(sentences),
        details=tuple(details),
        designs=table,
        recommended=next((row for row in table.to_pylist() if row["recommended"]), None),
        asked=asked,
        curve=found.curve,
        notes=(*notes, *notes_of(rows, subject, question.alpha)),
        uncertainty=found.uncertainty,
        pairs=found.pairs,
        units=effect_units(question.truth, question.names),
        sensitivity=found.sensitivity,
        looks=found.looks,
        protocol=None if subject is None else protocol_of(question, subject, sentences[0], found.looks),
    )


def _bought(c: Candidate, question: Question, asked: Mapping[str, Any]) -> str:
    """Say what the money buys."""
    money = question.prices.say(float(question.spend or 0))
    return f"The most that {money} buys is {design_words(c, asked)}. It finds the difference in {power_words(c)}."


def _asked(question: Question, found: Findings) -> dict[str, Any]:
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
        "cost": None if question.prices.counted else asdict(question.prices),
        "spend": question.spend,
        "loss": question.prices.loss,
        "engine": question.engine,
        "seed": question.seed,
        "versions": found.versions,
        "datasets": sum(c.n for c in everyone(question.rows)),
        "null_datasets": found.subject.null.n if found.subject and found.subject.null else 0,
    }
