"""Simulate where it matters: coarse first, then around the answer, until the interval is on one side of the target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ordbridge.power.curve import Curve, fit_curve
from ordbridge.power.estimates import clopper_pearson

__all__ = ["Candidate", "search"]

COARSE = 20
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
    """Find, in each row, the first candidate that reaches the target; rows with the cheapest answers come first.

    Along a row power rises. A row is settled when the candidate before the first one that reaches the target has been
    decided, or has used up ``most`` simulations undecided.

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
    while True:
        waiting = [c for row in rows if (c := _next(row, curve, target, most)) is not None]
        if not waiting:
            return curve
        chosen = min(waiting, key=lambda c: (c.price, -c.ratings_per_text))
        wanted = next(look for look in looks if look > chosen.n)
        room = budget - _spent(rows)
        if room <= 0:
            return curve
        simulate(chosen, min(wanted, chosen.n + room))
        curve = _curve(rows, alpha)


def _next(row: Sequence[Candidate], curve: Curve, target: float, most: int) -> Candidate | None:
    """Return the candidate of the row that is worth the next simulations: the predicted answer."""
    verdicts = [c.verdict(target) for c in row]
    first = next((i for i, verdict in enumerate(verdicts) if verdict == "reaches"), len(row))
    # Below lies all that is known, or can no longer be shown, to reach the target.
    below = max((i for i in range(first) if verdicts[i] == "falls short" or row[i].n >= most), default=-1)
    between = row[below + 1 : first]
    if not between:
        return None
    predicted = [float(curve.power(c.effect, c.items, c.ratings_per_text)) for c in between]
    return next((c for c, power in zip(between, predicted, strict=True) if power >= target), between[-1])


def _double(row: Sequence[Candidate]) -> int:
    """Return the place of the first candidate with twice the information of the first one."""
    least = row[0].items * row[0].effect ** 2
    return next((i for i, c in enumerate(row) if c.items * c.effect**2 >= 2 * least), len(row) - 1)


def _spent(rows: Sequence[Sequence[Candidate]]) -> int:
    return sum(c.n for row in rows for c in row)


def _curve(rows: Sequence[Sequence[Candidate]], alpha: float) -> Curve:
    seen = [c for row in rows for c in row if c.n]
    return fit_curve([(c.effect, c.items, c.ratings_per_text, c.significant, c.n) for c in seen], alpha)
