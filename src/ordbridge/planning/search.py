"""Simulate where it matters: coarse first, then around the answer, until the interval is on one side of the target."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ordbridge.planning.curve import fit_curve
from ordbridge.planning.evidence import ENOUGH, Candidate, Rows, everyone, verdict
from ordbridge.planning.forecast_power import NEAR, PowerForecast, Powers, predictions

COARSE = 20
FIRST = 200  # simulations of a candidate that the closed form proposes: fewer say less than it does
WORTH = 0.95  # of the price of the answer: what is not cheaper than this is not tried once there is one
AIM = 3.2  # standard errors above the target where the closed form proposes, so that most proposals are confirmed
FARTHEST = 0.6  # of the way from the target to 1: no proposal is further above it
MARGIN = 2.0  # standard errors from the target within which ``most`` simulations would hardly decide
HALF = FIRST // 2  # where a candidate may have no more than FIRST, it is looked at once before
FUTILE = 0.2  # a probability that the rest of its simulations would decide, below which they are not made
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
    closed: PowerForecast | None = None,
) -> Powers:
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
    closed
        What is known in closed form; it takes the place of the first, coarse simulations, and where it is far below
        the target nothing is simulated.

    Returns
    -------
    Curve or PowerForecast
        The curve through all that was simulated, or the closed form corrected by it.
    """
    looks = [look for look in LOOKS if (FIRST if closed else 0) <= look < most] + [most]
    if closed and most == FIRST:
        looks.insert(0, HALF)
    for row in (
        rows if closed is None else ()
    ):  # coarse: two small designs a row, which are cheap to simulate, and the curve does the rest
        for candidate in {id(c): c for c in (row[0], row[min(len(row) - 1, _double(row))])}.values():
            if _spent(rows) + looks[0] <= budget:
                simulate(candidate, looks[0])
    curve = _curve(rows, alpha, closed)
    for patient in (False, True):
        while (chosen := _chosen(rows, curve, target, most, patient)) is not None:
            room = budget - _spent(rows)
            if room <= 0 or (closed and chosen.n + room < min(ENOUGH, most)):  # too few to show anything
                return curve
            wanted = next(look for look in looks if look > chosen.n)
            simulate(chosen, min(wanted, chosen.n + room))
            curve = _curve(rows, alpha, closed)
    return curve


def _chosen(rows: Rows, curve: Powers, target: float, most: int, patient: bool) -> Candidate | None:
    """Return the candidate that is worth the next simulations."""
    verdicts = {id(c): verdict(c, rows, target, min(ENOUGH, most)) for c in everyone(rows)}
    reaching = [(c.price, c.effect) for c in everyone(rows) if verdicts[id(c)] == "reaches"]
    # After a candidate that all its simulations did not decide comes one far enough from the target to be decided.
    tried = sum(_is_done(c, target, most) and verdicts[id(c)] == "undecided" for c in everyone(rows))
    aim = AIM / 2 if patient else AIM * (1 + tried)
    waiting = [c for row in rows if (c := _next(row, verdicts, curve, target, most, aim, patient)) is not None]
    cheaper = [c for c in waiting if not reaching or (c.price, c.effect) < min(reaching)]
    if isinstance(curve, PowerForecast) and reaching:  # the smallest effect is worth finding, a penny is not
        price, effect = min(reaching)
        cheaper = [c for c in cheaper if c.price <= WORTH * price or c.effect < effect]
    return min(cheaper, key=lambda c: (c.price, -c.ratings_per_text), default=None)


def _next(
    row: Sequence[Candidate],
    verdicts: dict[int, str],
    curve: Powers,
    target: float,
    most: int,
    aim: float,
    patient: bool,
) -> Candidate | None:
    """Return the predicted answer of the row, if more simulations of it are worth it."""
    power = predictions(curve, row)
    first = next((i for i, c in enumerate(row) if verdicts[id(c)] == "reaches"), len(row))
    # Below lies all that is known not to reach the target, or was not shown to by all it may have, or hardly would be.
    below = max(
        (i for i in range(first) if verdicts[id(row[i])] == "falls short" or _is_done(row[i], target, most)), default=-1
    )
    between = range(below + 1, first)
    error = math.sqrt(target * (1 - target) / most)
    if isinstance(curve, PowerForecast):
        return _proposed(row, between, power, target, min(aim * error, FARTHEST * (1 - target)))
    margin = MARGIN * error
    likely = next((i for i in between if power[i] >= target + (0.0 if patient else margin)), None)
    if likely is not None:
        return row[likely]
    return row[between[-1]] if between and (patient or first == len(row)) else None


def _proposed(
    row: Sequence[Candidate], between: range, power: Sequence[float], target: float, margin: float
) -> Candidate | None:
    """Return what the closed form proposes; one that was begun is finished as long as it may still be the answer."""
    begun = next((i for i in between if row[i].n and power[i] >= target + margin / 2), None)
    if begun is not None:
        return row[begun]
    likely = next((i for i in between if power[i] >= target + margin), None)
    if likely is not None:
        return row[likely]
    # Above all that has been tried there may be only one that hardly reaches the target, but there is none else.
    last = between[-1] if between else None
    return row[last] if last == len(row) - 1 and power[last] >= target - NEAR else None


def _is_done(candidate: Candidate, target: float, most: int) -> bool:
    """Tell whether a candidate has all the simulations that it may have, or the rest would hardly decide about it."""
    return candidate.n >= most or (candidate.n == HALF and most == FIRST and chance(candidate, target, most) < FUTILE)


def chance(candidate: Candidate, target: float, most: int) -> float:
    """Return how probably the interval of a candidate's power will be on one side of the target after all simulations.

    What the rest will add is predicted from what there is, with normal distributions: with n of N simulations and a
    power p, whose variance is v after N, the final estimate has the standard deviation √(v (N − n) / n) around p.

    References
    ----------
    Jennison, C. & Turnbull, B. W. (2000). Group sequential methods with applications to clinical trials. Chapman &
    Hall, chapter 10: stochastic curtailment by predictive power.

    Examples
    --------
    >>> seen = [Candidate(100, 3, 12, 600, 600.0, 0.3, n=100, significant=hits) for hits in (81, 89)]
    >>> [round(chance(candidate, 0.8, 200), 2) for candidate in seen]
    [0.05, 0.89]
    """
    from scipy.special import ndtr

    n = candidate.n
    power = (candidate.significant + 2) / (n + 4)  # so that 0 and 1 have a variance
    error = math.sqrt(power * (1 - power) / (candidate.weight * most))
    spread = error * math.sqrt((most - n) / n)
    above, below = ((power - target - 1.96 * error) / spread, (target - 1.96 * error - power) / spread)
    return float(ndtr(above) + ndtr(below))


def _double(row: Sequence[Candidate]) -> int:
    """Return the place of the first candidate with twice the information of the first one."""
    least = row[0].items * row[0].distance ** 2
    return next((i for i, c in enumerate(row) if c.items * c.distance**2 >= 2 * least), len(row) - 1)


def _spent(rows: Rows) -> int:
    return sum(c.n for c in everyone(rows))


def _curve(rows: Rows, alpha: float, closed: PowerForecast | None = None) -> Powers:
    seen = [c for c in everyone(rows) if c.n]
    if closed is None:
        return fit_curve([(c.distance, c.items, c.ratings_per_text, c.significant, c.n) for c in seen], alpha)
    return closed.corrected(
        [(c.distance, c.items, c.ratings_per_text, c.weight * c.significant, c.weight * c.n) for c in seen]
    )
