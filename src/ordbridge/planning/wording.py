"""The words of a plan: its answer, what it is about, and what a reader should know besides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ordbridge.planning.effect_words import aimed, several, smallest
from ordbridge.planning.evidence import ENOUGH, Candidate, Rows, everyone, verdict
from ordbridge.planning.forecast_power import Powers, predictions
from ordbridge.planning.money import Costs
from ordbridge.planning.undecided import more_datasets, open_below
from ordbridge.results import Finding, found

MOST_MORE = 4000  # datasets that somebody may want to add to a plan
CLEARLY = 0.1  # above the target: what so few datasets as ENOUGH will show
NAMED = 3  # undecided designs that are named; the table has the others
MIDDLE = (0.1, 0.9)  # of the draws from a pilot's uncertainty


def answer_of(
    kind: str, best: Candidate | None, rows: Rows, curve: Powers, asked: Mapping[str, Any], enough: int = ENOUGH
) -> str:
    """Return the answer: only what the verdicts of the table bear out is said without reservation."""
    target = asked["target"]
    if kind == "power":
        return _one_design(next(iter(everyone(rows))), rows, asked, enough)
    undecided = open_below(kind, best, rows, target, curve)
    if best is None:
        return _nothing(kind, undecided, rows, asked)
    if kind == "effect":
        at_most = "at most " if undecided else ""
        return (
            f"The smallest effect found with {target:.0%} power is {at_most}{_named(best, kind, asked, whole=True)}. "
            f"Design: {_size(best)}, power {power_words(best)}."
        )
    return f"Run {design_words(best, asked)}, power {power_words(best)}."


def _one_design(c: Candidate, rows: Rows, asked: Mapping[str, Any], enough: int) -> str:
    target = f"{asked['target']:.0%}"
    reached = {"reaches": f"reaches {target}", "falls short": f"falls short of {target}"}
    told = reached.get(verdict(c, rows, asked["target"], enough), f"is too close to {target} to call")
    costs = Costs(**asked["costs"])
    price = "" if costs.counted else f", {costs.say(c.price)}"
    return f"Power {power_words(c)} {told}: {_size(c)}, {c.ratings:,} ratings by {c.participants:,} raters{price}."


def _nothing(kind: str, undecided: list[Candidate], rows: Rows, asked: Mapping[str, Any]) -> str:
    what = "design" if kind == "designs" else "effect"
    seen = [c for c in everyone(rows) if c.n]
    target = f"{asked['target']:.0%} power"
    best = max(seen, key=lambda c: c.power, default=None)
    top = f"; the best seen, {_named(best, kind, asked)}, has {best.power:.0%}" if best else ""
    if not undecided:
        return f"No {what} in the range reaches {target}{top}."
    return f"No {what} in the range was shown to reach {target} with {sum(c.n for c in seen):,} datasets{top}."


def of_undecided(
    kind: str, best: Candidate | None, rows: Rows, curve: Powers, asked: Mapping[str, Any]
) -> Iterator[Finding]:
    """Yield which designs are undecided, those nearest to the target first, and what deciding would take."""
    target = asked["target"]
    undecided = open_below(kind, best, rows, target, curve)
    if kind == "power":
        undecided = [c for c in everyone(rows) if verdict(c, rows, target, min(ENOUGH, c.n)) == "undecided"]
    if not undecided:
        return
    predicted = predictions(curve, undecided)
    near = sorted(zip(undecided, predicted, strict=True), key=lambda one: abs(one[1] - target))[:NAMED]
    words = [f"{_short(c, kind, asked)} ({likely_power(c.power if c.n else None, p, c.n)})" for c, p in near]
    if rest := len(undecided) - len(near):
        words.append(f"{rest:,} other{'s' if rest > 1 else ''}")
    more, most = more_datasets(undecided, curve, target)
    values: dict[str, Any] = {
        "target": target,
        "designs": words,
        "n": len(undecided),
        "more": more,
        "max_per_design": most,
    }
    yield found("undecidable-designs" if more > MOST_MORE else "undecided-designs", **values)
    if best is None and kind != "power":
        likely = zip(undecided, predicted, strict=True)
        sure = next(((c, p) for c, p in likely if not c.n and p >= target + CLEARLY), None)
        if sure is not None:
            yield found("likely-design", design=_short(sure[0], kind, asked), power=sure[1], more=ENOUGH)


def likely_power(power: float | None, predicted: float, n: int) -> str:
    """Write a power: the curve through all simulations says it where a design's own datasets are few.

    Examples
    --------
    >>> likely_power(0.7, 0.767, 20), likely_power(0.79, 0.78, 400)
    ('about 77%', '79%')
    """
    return f"about {predicted:.0%}" if power is None or n < ENOUGH else f"{power:.0%}"


def of_size(subject: Candidate | None, alpha: float) -> Iterator[Finding]:
    """Yield how often the test of a design is significant where nothing differs.

    Examples
    --------
    >>> from ordbridge.planning.evidence import Null
    >>> design = Candidate(20, 2, 8, 80, 80.0, 0.5, null=Null(1000, 93, 0.0213))
    >>> print(next(of_size(design, 0.05)).text)
    Significant means p < 0.0213: p < 0.05 would give 9.3% false positives (7.6% to 11.3%, 1,000 datasets).
    >>> design.null = design.null._replace(critical_value=None)
    >>> next(of_size(design, 0.05)).code
    'liberal-test'
    """
    null = subject.null if subject is not None else None
    if subject is None or null is None:
        return
    low, high = null.interval
    values: dict[str, Any] = {"size": null.size, "low": low, "high": high, "n": null.n, "alpha": alpha}
    if null.critical_value is not None:
        yield found("critical-value", **values, critical_value=null.critical_value)
    elif low > alpha:
        yield found("liberal-test", **values, participants=subject.participants)
    else:
        yield found("type-one-error", **values)


def of_pilot(powers: Sequence[float], participants: int, items: int) -> Finding:
    """Return how the power of a design varies over the uncertainty of a pilot."""
    low, high = (float(value) for value in np.quantile(powers, MIDDLE))
    values: dict[str, Any] = {"low": low, "high": high, "mean": float(np.mean(powers)), "draws": len(powers)}
    return found("pilot-uncertain", **values, participants=participants, items=items)


def counted_words(asked: Mapping[str, Any]) -> str:
    """Say what was looked for, how it was tested, and how many studies were simulated."""
    how = "" if asked.get("REML") is None else ", REML" if asked["REML"] else ", maximum likelihood"
    aim = aimed(asked)
    test = f"{asked['test']}, " if several(asked) or not aim else ""
    tested = f"{test}{asked['model']}{how}, alpha {asked['alpha']:g}"
    return (
        f"{aim}{'. ' if aim else ''}Test: {tested}; {asked['datasets']:,} simulated studies, engine {asked['engine']}."
    )


def power_words(c: Candidate) -> str:
    """Say the power of a design with its 95% interval.

    Examples
    --------
    >>> power_words(Candidate(20, 2, 8, 80, 80.0, 0.5, n=400, significant=330))
    '82% (78 to 86%)'
    """
    low, high = c.interval
    return f"{c.power:.0%} ({100 * low:.0f} to {100 * high:.0f}%)"


def design_words(c: Candidate, asked: Mapping[str, Any]) -> str:
    """Say the size of a design, and what it costs."""
    costs = Costs(**asked["costs"])
    price = "" if costs.counted else f"{costs.say(c.price)} for "
    return f"{_size(c)}: {price}{c.ratings:,} ratings by {c.participants:,} raters"


def _size(c: Candidate) -> str:
    return f"{c.items:,} items with {c.ratings_per_text:g} rating{'' if c.ratings_per_text == 1 else 's'} each"


def _named(c: Candidate, kind: str, asked: Mapping[str, Any], whole: bool = False) -> str:
    return smallest(asked.get("direction", 1) * c.effect, asked, whole) if kind == "effect" else _size(c)


def _short(c: Candidate, kind: str, asked: Mapping[str, Any]) -> str:
    return _named(c, kind, asked) if kind == "effect" else f"{c.items:,} items × {c.ratings_per_text:g}"


def assumed_source(source: str) -> str:
    """Say where variances come from.

    Examples
    --------
    >>> assumed_source("howcroft2021, low"), assumed_source("pilot")
    ('howcroft2021, low', 'the pilot')
    """
    return {"pilot": "the pilot", "truth": "the given truth"}.get(source, source)
