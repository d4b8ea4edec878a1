"""The words of a plan: short sentences first, what they rest on after them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ordbridge.planning.effect_words import aimed, smallest
from ordbridge.planning.evidence import ENOUGH, Candidate, Rows, everyone, verdict
from ordbridge.planning.foresight import Powers, predictions
from ordbridge.planning.money import Prices
from ordbridge.planning.undecided import more_datasets, open_below

__all__ = ["design_words", "notes_of", "over_pilots", "power_words", "sentence_of", "tested_words"]

MOST_MORE = 4000  # datasets that somebody may want to add to a plan
CLEARLY = 0.1  # above the target: what so few datasets as ENOUGH will show
NAMED = 3  # undecided designs that are named; the table has the others


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
    goal = f"{target:.0%} power"
    if kind == "effect":
        is_ = "is at most" if undecided else "is"
        text = (
            f"With {design_words(best, asked)}, the smallest effect found with {goal} {is_} "
            f"{_named(best, kind, asked, whole=True)}. It is found in {power_words(best)}."
        )
        return f"{text}{_undecided('Smaller effects are undecided', undecided, kind, rows, curve, asked)}"
    superlative, comparative = ("cheapest", "cheaper") if asked["cost"] else ("smallest", "smaller")
    found = f"{aimed(asked)} in {power_words(best)}."
    found = found[0].upper() + found[1:]
    if not undecided:
        return f"The {superlative} design with {goal} is {design_words(best, asked)}. {found}"
    also = f"Whether a {comparative} design is enough is undecided"
    text = f"For {goal}, {design_words(best, asked)} are enough. {found}"
    return f"{text}{_undecided(also, undecided, kind, rows, curve, asked)}"


def notes_of(rows: Rows, subject: Candidate | None, alpha: float) -> list[str]:
    """Return what a reader has to know besides the answer."""
    notes = []
    failed, n = sum(c.failed for c in everyone(rows)), sum(c.n for c in everyone(rows))
    if failed:
        notes.append(f"{failed} of {n} fits failed; they count as not significant.")
    null = subject.null if subject is not None else None
    if subject is None or null is None or null.interval[0] <= alpha:
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
            f"{often} p has to fall below {null.critical_value:.3g} instead, which keeps the level; ordbridge compare "
            "--plan tests with that value."
        )
    return notes


def over_pilots(powers: Sequence[float]) -> str:
    """Say how the power of a design varies over the uncertainty of a pilot."""
    return (
        f"The pilot is only one of those that could have been observed: in 4 of 5 such worlds the power is at least "
        f"{np.quantile(powers, 0.2):.0%}, and on average it is {np.mean(powers):.0%} ({len(powers)} draws)."
    )


def tested_words(asked: Mapping[str, Any]) -> str:
    """Say what was tested, at which level and with which model."""
    how = "" if asked.get("REML") is None else ", REML" if asked["REML"] else ", maximum likelihood"
    level = "size-adjusted, " if asked.get("calibrated") else ""
    several = ""
    if asked.get("criteria", 1) > 1:
        several = (
            f" Power is that of finding it on all {asked['criteria']} criteria with Holm's correction over them; their "
            f"tests are assumed to correlate {asked['correlation']:g}."
        )
    return f"Tested: {asked['test']}, {level}alpha {asked['alpha']:g}, {asked['model']}{how}.{several}"


def _one_design(c: Candidate, rows: Rows, curve: Powers, asked: Mapping[str, Any], enough: int) -> str:
    text = f"With {design_words(c, asked)}, {aimed(asked)} in {power_words(c)}"
    found, target = verdict(c, rows, asked["target"], enough), f"{asked['target']:.0%}"
    if found == "reaches":
        return f"{text}: it reaches {target}."
    if found == "falls short":
        return f"{text}: it falls short of {target}."
    more, most = more_datasets([c], curve, asked["target"])
    return f"{text}: whether it reaches {target} is undecided.{_deciding(more, f'most={most}', asked)}"


def _nothing(kind: str, undecided: list[Candidate], rows: Rows, curve: Powers, asked: Mapping[str, Any]) -> str:
    what = "design" if kind == "designs" else "effect"
    seen = [c for c in everyone(rows) if c.n]
    best = max(seen, key=lambda c: c.power, default=None)
    target = f"{asked['target']:.0%} power"
    if not undecided:
        top = f"; the best seen, {_named(best, kind, asked)}, has {best.power:.0%}" if best else ""
        return f"No {what} in the range reaches {target}: all fall short{top}."
    spent = sum(c.n for c in seen)
    text = f"No {what} in the range was shown to reach {target} with {spent} datasets."
    likely = zip(undecided, predictions(curve, undecided), strict=True)
    sure = next(((c, p) for c, p in likely if not c.n and p >= asked["target"] + CLEARLY), None)
    deciding = sure and (
        f" {_named(sure[0], kind, asked)} should have {sure[1]:.0%}: about {ENOUGH} more datasets would show it "
        f"(datasets={spent + ENOUGH})."
    )
    return f"{text}{_undecided('Undecided are', undecided, kind, rows, curve, asked, deciding)}"


def _undecided(
    begin: str,
    undecided: list[Candidate],
    kind: str,
    rows: Rows,
    curve: Powers,
    asked: Mapping[str, Any],
    deciding: str | None = None,
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
    deciding = deciding or _deciding(more, f"datasets={budget}, most={most}", asked)
    return f" {begin}: {'; '.join(words)}.{deciding}"


def _deciding(more: int, options: str, asked: Mapping[str, Any]) -> str:
    """Say how many datasets would decide, if that is something one can do."""
    if more > MOST_MORE:
        return f" No reasonable number of datasets would decide: that power is too near to {asked['target']:.0%}."
    return f" About {more} more datasets would decide ({options})."


def power_words(c: Candidate) -> str:
    """Say the power of a design as a share of studies, with its interval."""
    return f"{c.power:.0%} of studies (95 % interval {c.interval[0]:.0%} to {c.interval[1]:.0%}, {c.n} datasets)"


def design_words(c: Candidate, asked: Mapping[str, Any]) -> str:
    """Say the size of a design, and what it costs."""
    prices = Prices(**asked["cost"]) if asked["cost"] else Prices(loss=asked.get("loss", 0.0))
    price = f", {prices.say(c.price)}" if asked["cost"] else ""
    lost = f" (recruit {prices.recruited(c.participants)}: {prices.loss:.0%} will be lost)" if prices.loss else ""
    return f"{_named(c, 'designs', asked)}, {c.participants} participants{lost}, {c.ratings} ratings in all{price}"


def _named(c: Candidate, kind: str, asked: Mapping[str, Any], whole: bool = False) -> str:
    if kind == "effect":
        return smallest(asked.get("direction", 1) * c.effect, asked, whole)
    return f"{c.items} items × {c.ratings_per_text:g} ratings per text"
