"""Simulate where it matters: coarse first, then around the answer, until the interval is on one side of the target."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ordbridge.power.curve import Curve, fit_curve
from ordbridge.power.estimates import clopper_pearson

__all__ = ["ENOUGH", "Candidate", "search"]

COARSE = 20
ENOUGH = 100  # simulations before one believes that a candidate reaches the target
LOOKS = (COARSE, 50, 100, 200, 400, 800, 1600, 3200, 6400, 12800)
"""Simulations after which the interval is looked at: each look about doubles what is known."""


@dataclass
class Candidate:
    """One design (or, if the effect is sought, one effect) with what its simulations have said so far."""

    items: int
    ratings_per_text: float
    participants: int
    ratings: int
    price: float
    effect: float
    grid: Any = None
    n: int = 0
    significant: int = 0
    failed: int = 0

    @property
    def interval(self) -> tuple[float, float]:
        """The exact 95 % interval of its power; all of 0 … 1 before the first simulation."""
        return clopper_pearson(self.significant, self.n) if self.n else (0.0, 1.0)

    def verdict(self, target: float) -> str:
        """Return ``"reaches"``, ``"falls short"``, ``"undecided"`` or ``"not simulated"``."""
        low, high = self.interval
        if not self.n:
            return "not simulated"
        return "reaches" if low >= target else "falls short" if high < target else "undecided"


def search(
    rows: Sequence[Sequence[Candidate]],
    simulate: Callable[[Candidate, int], None],
    *,
    target: float,
    alpha: float,
    budget: int,
    most: int,
) -> Curve:
    """Find the cheapest candidate that reaches the target.

    Along a row power and price rise. The next simulations go to the cheapest candidate that is predicted to reach the
    target and not yet decided, as long as it is cheaper than what is known to reach it. A candidate so close to the
    target that ``most`` simulations would hardly decide about it is put off after a hundred, so that an answer is found
    first; what is left of the budget goes to these.

    Parameters
    ----------
    rows
        Candidates, from little to much power.
    simulate
        Brings a candidate to a number of simulations.
    target, alpha
        The power to reach, and the level of the test.
    budget, most
        Simulations in all, and of one candidate.

    Returns
    -------
    Curve
        The curve through all that was simulated.
    """
    looks = [look for look in LOOKS if look < most] + [most]
    for row in rows:  # coarse: two small designs a row, which are cheap to simulate, and the curve does the rest
        for candidate in {id(c): c for c in (row[0], row[min(len(row) - 1, _double(row))])}.values():
            if _spent(rows) + looks[0] <= budget:
                simulate(candidate, looks[0])
    curve = _curve(rows, alpha)
    for patient in (False, True):
        while (chosen := _chosen(rows, curve, target, most, patient)) is not None:
            room = budget - _spent(rows)
            if room <= 0:
                return curve
            wanted = next(look for look in looks if look > chosen.n)
            simulate(chosen, min(wanted, chosen.n + room))
            curve = _curve(rows, alpha)
    return curve


def _chosen(
    rows: Sequence[Sequence[Candidate]], curve: Curve, target: float, most: int, patient: bool
) -> Candidate | None:
    """Return the candidate that is worth the next simulations."""
    reaching = [(c.price, c.effect) for row in rows for c in row if _shown(c, target, most)]
    waiting = [c for row in rows if (c := _next(row, curve, target, most, patient)) is not None]
    cheaper = [c for c in waiting if not reaching or (c.price, c.effect) < min(reaching)]
    return min(cheaper, key=lambda c: (c.price, -c.ratings_per_text), default=None)


def _next(row: Sequence[Candidate], curve: Curve, target: float, most: int, patient: bool) -> Candidate | None:
    """Return the predicted answer of the row, if more simulations of it are worth it."""
    verdicts = [c.verdict(target) for c in row]
    power = [float(curve.power(c.effect, c.items, c.ratings_per_text)) for c in row]
    margin = 0.0 if patient else math.sqrt(target * (1 - target) / most)
    tried = [c.n >= most or (c.n >= ENOUGH and abs(p - target) < margin) for c, p in zip(row, power, strict=True)]
    first = next((i for i, c in enumerate(row) if _shown(c, target, most)), len(row))
    # Below lies all that is known not to reach the target, or can hardly be shown to.
    below = max((i for i in range(first) if verdicts[i] == "falls short" or tried[i]), default=-1)
    between = range(below + 1, first)
    if not between:
        return None
    return row[next((i for i in between if power[i] >= target), between[-1])]


def _shown(candidate: Candidate, target: float, most: int) -> bool:
    """Tell whether a candidate reaches the target after enough simulations; the first few may be lucky."""
    return candidate.n >= min(ENOUGH, most) and candidate.verdict(target) == "reaches"


def _double(row: Sequence[Candidate]) -> int:
    """Return the place of the first candidate with twice the information of the first one."""
    least = row[0].items * row[0].effect ** 2
    return next((i for i, c in enumerate(row) if c.items * c.effect**2 >= 2 * least), len(row) - 1)


def _spent(rows: Sequence[Sequence[Candidate]]) -> int:
    return sum(c.n for row in rows for c in row)


def _curve(rows: Sequence[Sequence[Candidate]], alpha: float) -> Curve:
    seen = [c for row in rows for c in row if c.n]
    return fit_curve([(c.effect, c.items, c.ratings_per_text, c.significant, c.n) for c in seen], alpha)
