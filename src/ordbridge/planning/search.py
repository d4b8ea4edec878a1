"""Simulate where it matters: coarse first, then around the answer, until the interval is on one side of the target."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ordbridge.planning.curve import Curve, fit_curve
from ordbridge.planning.evidence import ENOUGH, Candidate, Rows, everyone, verdict

__all__ = ["search"]

COARSE = 20
MARGIN = 2.0  # standard errors from the target within which ``most`` simulations would hardly decide
LOOKS = (COARSE, 50, 100, 200, 400, 800, 1600, 3200, 6400, 12800)
"""Simulations after which the interval is looked at: each look about doubles what is known."""


def search(
    rows: Rows,
    simulate: Callable[[Candidate, int], None],
    *,
    target: float,
    alpha: float,
    budget: int,
    most: int,
) -> Curve:
    """Find the cheapest candidate that reaches the target.

    Along a row power and price rise. The next simulations go to the cheapest candidate that is predicted to reach the
    target and not yet decided, as long as it is cheaper than what is known to reach it. Candidates so close to the
    target that ``most`` simulations would hardly decide about them are passed over at first, so that an answer is
    found; what is left of the budget goes to these.

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


def _chosen(rows: Rows, curve: Curve, target: float, most: int, patient: bool) -> Candidate | None:
    """Return the candidate that is worth the next simulations."""
    verdicts = {id(c): verdict(c, rows, target, min(ENOUGH, most)) for c in everyone(rows)}
    reaching = [(c.price, c.effect) for c in everyone(rows) if verdicts[id(c)] == "reaches"]
    waiting = [c for row in rows if (c := _next(row, verdicts, curve, target, most, patient)) is not None]
    cheaper = [c for c in waiting if not reaching or (c.price, c.effect) < min(reaching)]
    return min(cheaper, key=lambda c: (c.price, -c.ratings_per_text), default=None)


def _next(
    row: Sequence[Candidate], verdicts: dict[int, str], curve: Curve, target: float, most: int, patient: bool
) -> Candidate | None:
    """Return the predicted answer of the row, if more simulations of it are worth it."""
    power = [float(curve.power(c.distance, c.items, c.ratings_per_text)) for c in row]
    first = next((i for i, c in enumerate(row) if verdicts[id(c)] == "reaches"), len(row))
    # Below lies all that is known not to reach the target, or was not shown to by all it may have.
    below = max((i for i in range(first) if verdicts[id(row[i])] == "falls short" or row[i].n >= most), default=-1)
    between = range(below + 1, first)
    margin = 0.0 if patient else MARGIN * math.sqrt(target * (1 - target) / most)
    likely = next((i for i in between if power[i] >= target + margin), None)
    if likely is not None:
        return row[likely]
    return row[between[-1]] if between and (patient or first == len(row)) else None


def _double(row: Sequence[Candidate]) -> int:
    """Return the place of the first candidate with twice the information of the first one."""
    least = row[0].items * row[0].distance ** 2
    return next((i for i, c in enumerate(row) if c.items * c.distance**2 >= 2 * least), len(row) - 1)


def _spent(rows: Rows) -> int:
    return sum(c.n for c in everyone(rows))


def _curve(rows: Rows, alpha: float) -> Curve:
    seen = [c for c in everyone(rows) if c.n]
    return fit_curve([(c.distance, c.items, c.ratings_per_text, c.significant, c.n) for c in seen], alpha)
