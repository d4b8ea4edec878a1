"""Answering: what the simulations of a plan decided, what they did not, and what deciding would take."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

import numpy as np

from ordbridge.planning.evidence import ENOUGH, Candidate, Rows, everyone, is_excluded, order_of, verdict
from ordbridge.planning.foresight import Powers, predictions, ruled_out
from ordbridge.planning.hypotheses import aim_in_words, in_words
from ordbridge.planning.money import Prices
from ordbridge.planning.question import OBSERVED, Question
from ordbridge.planning.result import Plan, table_of
from ordbridge.planning.simulation import Findings
from ordbridge.planning.type_one_error import size_words
from ordbridge.simulate.effect_units import effect_units

__all__ = ["answer", "more_datasets", "notes_of", "open_below", "over_pilots", "sentence_of"]

NAMED = 3  # undecided designs that are named; the table has the others
NEAREST = 0.01  # a power nearer to the target than this counts as so far away: nobody needs to tell .795 from .80


def answer(question: Question, found: Findings) -> Plan:
    """Return what was found out, as tables and in words."""
    rows, subject = question.rows, found.subject
    asked = _asked(question, found)
    notes = [OBSERVED[0].upper() + OBSERVED[1:] + "."] if question.effect_observed else []
    sentences = [sentence_of(question.kind, found.recommended, rows, found.curve, asked, question.enough)]
    if subject is not None and subject.null is not None:
        sentences.append(size_words(subject, asked, found.differs))
    if found.uncertainty is not None:
        sentences.append(over_pilots(found.uncertainty["power"].to_pylist()))
    if found.affordable is not None:
        sentences.append(_bought(found.affordable, question, asked))
    if wage := question.prices.wage(question.texts_per_participant or 0):
        sentences.append(wage)
    table = table_of(rows, found.recommended, found.curve, asked, question.enough)
    return Plan(
        question=question.kind,
        sentence=" ".join(sentences),
        designs=table,
        recommended=next((row for row in table.to_pylist() if row["recommended"]), None),
        asked=asked,
        curve=found.curve,
        notes=(*notes, *notes_of(rows, subject, found.differs, question.alpha)),
        uncertainty=found.uncertainty,
        pairs=found.pairs,
        units=effect_units(question.truth, question.names),
        sensitivity=found.sensitivity,
    )


def _bought(c: Candidate, question: Question, asked: Mapping[str, Any]) -> str:
    """Say what the money buys."""
    money = question.prices.say(float(question.spend or 0))
    return f"The most that {money} buys is {_words(c, asked)}: power {_power(c)}."


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
        "calibrated": question.calibrate and not found.differs,
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


def open_below(kind: str, best: Candidate | None, rows: Rows, target: float, curve: Powers) -> list[Candidate]:
    """Return the cheaper designs, or all if none is recommended, those not yet known to fall short.

    What was not simulated because the closed form is far below the target there is taken as falling short.
    """
    order = order_of(kind)
    cheaper = [c for c in everyone(rows) if best is None or order(c)[0] < order(best)[0]]
    hopeless = ruled_out(curve, cheaper, target)
    open_ones = [c for c, out in zip(cheaper, hopeless, strict=True) if c.n or not out]
    return sorted((c for c in open_ones if not is_excluded(c, rows, target)), key=order)


def more_datasets(undecided: Sequence[Candidate], curve: Powers, target: float) -> tuple[int, int]:
    """Return about how many more datasets would decide about designs, and how many the one in most need would have.

    A power p is distinguished from the target t when 1.96 standard errors √(p(1 − p) / n) are less than |p − t|; p is
    taken from the curve through all simulations. With each number of ratings, two designs decide about the others: the
    largest that should fall short, and the smallest that should not.
    """
    needed = []
    for c, p in _on_the_edge(undecided, curve, target):
        by_curve = math.ceil(1.96**2 * p * (1 - p) / max(abs(p - target), NEAREST) ** 2)
        needed.append((c, max(by_curve, 2 * c.n or ENOUGH)))  # what has been simulated has not decided
    return _hundreds(sum(n - c.n for c, n in needed)), _hundreds(max((n for _, n in needed), default=0))


def _on_the_edge(undecided: Sequence[Candidate], curve: Powers, target: float) -> Iterator[tuple[Candidate, float]]:
    """Go through the designs next to the target, on either side of it, with the power that the curve predicts."""
    by_size = sorted(undecided, key=lambda c: (c.ratings_per_text, c.items, c.effect))
    for _, row in groupby(by_size, key=lambda c: c.ratings_per_text):
        designs = list(row)
        predicted = list(zip(designs, predictions(curve, designs), strict=True))
        yield from [(c, p) for c, p in predicted if p < target][-1:]
        yield from [(c, p) for c, p in predicted if p >= target][:1]


def sentence_of(
    kind: str, best: Candidate | None, rows: Rows, curve: Powers, asked: Mapping[str, Any], enough: int = ENOUGH
) -> str:
    """Return the answer: only what the verdicts of the table bear out is said without reservation."""
    target = asked["target"]
    undecided = open_below(kind, best, rows, target, curve)
    if kind == "power":
        return _one_design(next(iter(everyone(rows))), rows, curve, asked, enough)
    if best is None:
        return _nothing(kind, undecided, rows, curve, asked)
    goal, design = f"{target:.0%} power", _words(best, asked)
    reached = f"power {_power(best)} ({_goal(asked)})"
    if kind == "effect":
        is_ = "is at most" if undecided else "is"
        text = f"With {design}, the smallest effect found with {goal} {is_} {_effect(best, asked):g}: {reached}."
        return f"{text}{_undecided('Smaller effects are undecided', undecided, kind, rows, curve, asked)}"
    to_find = f"To {_aim(asked)} with {goal},"
    superlative, comparative = ("cheapest", "cheaper") if asked["cost"] else ("smallest", "smaller")
    if not undecided:
        return f"{to_find} the {superlative} design is {design}: {reached}."
    also = f"Whether a {comparative} design is enough is undecided"
    return f"{to_find} {design} are enough: {reached}.{_undecided(also, undecided, kind, rows, curve, asked)}"


def notes_of(rows: Rows, subject: Candidate | None, differs: float, alpha: float) -> list[str]:
    """Return what a reader has to know besides the answer."""
    notes = []
    failed, n = sum(c.failed for c in everyone(rows)), sum(c.n for c in everyone(rows))
    if failed:
        notes.append(f"{failed} of {n} fits failed; they count as not significant.")
    null = subject.null if subject is not None else None
    if subject is None or null is None or null.interval[0] <= alpha or differs:
        return notes
    often = (
        f"With {subject.participants} participants this test is significant in {null.size:.1%} of studies where "
        f"nothing differs (alpha {alpha:g})."
    )
    if null.critical_value is None:
        notes.append(
            f"{often} More participants, a likelihood ratio test (test='any') or lmer with REML keep the level better; "
            "do not compare this power with that of a test that keeps it."
        )
    else:
        notes.append(
            f"{often} Analyse the study with one that keeps its level, fit.test(…, method='bootstrap'): the power here "
            "is that of such a test."
        )
    return notes


def over_pilots(powers: Sequence[float]) -> str:
    """Say how the power of a design varies over the uncertainty of a pilot."""
    low, high = np.quantile(powers, [0.1, 0.9])
    return (
        f"The pilot is small, and others like it could have been observed: in 4 of 5 such worlds the power is at least "
        f"{np.quantile(powers, 0.2):.0%}, on average {np.mean(powers):.0%} (between {low:.0%} and {high:.0%} in the "
        f"middle four fifths of {len(powers)} draws)."
    )


def _one_design(c: Candidate, rows: Rows, curve: Powers, asked: Mapping[str, Any], enough: int) -> str:
    text = f"With {_words(c, asked)}, {_aimed(asked)} with power {_power(c)} ({_goal(asked)})"
    found, target = verdict(c, rows, asked["target"], enough), f"{asked['target']:.0%}"
    if found == "reaches":
        return f"{text}: it reaches {target}."
    if found == "falls short":
        return f"{text}: it falls short of {target}."
    more, most = more_datasets([c], curve, asked["target"])
    return f"{text}: whether it reaches {target} is undecided; about {more} more datasets would decide (most={most})."


def _nothing(kind: str, undecided: list[Candidate], rows: Rows, curve: Powers, asked: Mapping[str, Any]) -> str:
    what = "design" if kind == "designs" else "effect"
    seen = [c for c in everyone(rows) if c.n]
    best = max(seen, key=lambda c: c.power, default=None)
    target = f"{asked['target']:.0%} power"
    if not undecided:
        top = f"; the best seen, {_named(best, kind, asked)}, has {best.power:.0%}" if best else ""
        return f"No {what} in the range reaches {target} ({_goal(asked)}): all fall short{top}."
    text = (
        f"No {what} in the range was shown to reach {target} with {sum(c.n for c in seen)} datasets ({_goal(asked)})."
    )
    return f"{text}{_undecided('Undecided are', undecided, kind, rows, curve, asked)}"


def _undecided(
    begin: str, undecided: list[Candidate], kind: str, rows: Rows, curve: Powers, asked: Mapping[str, Any]
) -> str:
    """Name the undecided designs, those with the most simulations first, and what deciding would take."""
    if not undecided:
        return ""
    named = sorted(undecided, key=lambda c: -c.n)[:NAMED]
    words = [_named(c, kind, asked) + (f" ({c.power:.0%} of {c.n})" if c.n else " (not simulated)") for c in named]
    if rest := len(undecided) - len(named):
        words.append(f"{rest} other{'s' if rest > 1 else ''}")
    more, most = more_datasets(undecided, curve, asked["target"])
    budget = sum(c.n for c in everyone(rows)) + more
    return f" {begin}: {'; '.join(words)}. About {more} more datasets would decide (datasets={budget}, most={most})."


def _wanted(asked: Mapping[str, Any]) -> str:
    """Name the effect, in points and as a probability of being rated higher where that is known."""
    effects = asked["effect"]
    latent = ", ".join(f"{e:.3g}" for e in effects)
    if len(effects) == 1 and "points" in asked:
        points, higher = asked["points"][0], asked["superiority"][0]
        first, second = asked["names"]
        return (
            f"a difference of {points:+.2g} rating points between {second} and {first} (a text of {second} is rated "
            f"higher in {higher:.0%}; latent effect {latent})"
        )
    return f"an effect of {latent}"


def _aim(asked: Mapping[str, Any]) -> str:
    """Say what a study is to do, as in "to find an effect of .3"."""
    if asked.get("margin") is None:
        return f"find {_wanted(asked)}"
    return f"show {asked['test']} at {_wanted(asked)}"


def _aimed(asked: Mapping[str, Any]) -> str:
    """Say what a study does, as in "an effect of .3 is found"."""
    if asked.get("margin") is None:
        return f"{_wanted(asked)} is found"
    return f"{asked['test']} is shown at {_wanted(asked)}"


def _goal(asked: Mapping[str, Any]) -> str:
    how = "" if asked.get("REML") is None else ", REML" if asked["REML"] else ", maximum likelihood"
    level = "size-adjusted, " if asked.get("calibrated") else ""
    return f"{asked['test']}, {level}alpha {asked['alpha']:g}, {asked['model']}{how}"


def _power(c: Candidate) -> str:
    return f"{c.power:.0%} (95 % interval {c.interval[0]:.0%} to {c.interval[1]:.0%}, {c.n} datasets)"


def _words(c: Candidate, asked: Mapping[str, Any]) -> str:
    prices = Prices(**asked["cost"]) if asked["cost"] else Prices(loss=asked.get("loss", 0.0))
    price = f", {prices.say(c.price)} in all" if asked["cost"] else ""
    lost = f" (recruit {prices.recruited(c.participants)}: {prices.loss:.0%} will be lost)" if prices.loss else ""
    return f"{_named(c, 'designs', asked)}, {c.participants} participants{lost}, {c.ratings} ratings in all{price}"


def _named(c: Candidate, kind: str, asked: Mapping[str, Any]) -> str:
    if kind == "effect":
        return f"{_effect(c, asked):g}"
    return f"{c.items} items × {c.ratings_per_text:g} ratings per text"


def _effect(c: Candidate, asked: Mapping[str, Any]) -> float:
    return float(asked.get("direction", 1) * c.effect)


def _hundreds(n: float) -> int:
    return math.ceil(n / 100) * 100
