"""How long R will take for a plan, said before it begins: a rehearsal with the native engine, and a few fits by R."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from ordbridge.errors import FitError, InputError
from ordbridge.planning.evidence import Candidate, Rows
from ordbridge.planning.hypotheses import Simulations
from ordbridge.support.progress import duration

Look = Callable[[Candidate, int], None]


def rehearse(rows: Rows, simulations: Simulations, simulate: Callable[[Rows, Look], object], budget: int) -> Rows:
    """Make the plan with the native engine, and return what it simulated: R will be asked for much the same.

    Where the native engine cannot fit the model, all datasets are expected in a design in the middle of the range.
    """
    native = replace(simulations, engine="fast", versions={})
    copies = [[replace(candidate) for candidate in row] for row in rows]

    def look(candidate: Candidate, n: int) -> None:
        candidate.n, candidate.significant, candidate.failed = native.count(candidate.grid, n)
        if candidate.failed == candidate.n:
            raise FitError("the native engine cannot fit this")

    try:
        simulate(copies, look)
    except (FitError, InputError):
        by_size = sorted((candidate for row in rows for candidate in row), key=lambda c: c.ratings)
        return [[replace(by_size[len(by_size) // 2], n=budget)]]
    return copies


def forecast_time(
    rehearsed: Rows, simulations: Simulations, more: Sequence[tuple[int, int]] = ()
) -> tuple[float, list[tuple[int, float]]]:
    """Return how many seconds R still needs, and how long datasets of two sizes took it.

    R fits datasets of the smallest design and of the one that will cost it most; between these sizes, and beyond, the
    time is a power of the number of ratings. These fits are part of the plan and not done again.
    """
    todo = [candidate for row in rehearsed for candidate in row if candidate.n]
    left = [(c.ratings, max(0, c.n - simulations.stored(c.grid))) for c in todo]
    smallest, costliest = min(todo, key=lambda c: c.ratings), max(todo, key=lambda c: c.n * c.ratings)
    timed = []
    for candidate in (smallest, costliest) if costliest.ratings > smallest.ratings else (costliest,):
        # of the small ones a few, because R's first fit loads what the others find loaded
        few = 3 * simulations.workers if candidate is smallest else simulations.workers
        simulations.count(candidate.grid, min(few, candidate.n))
        timed.append((candidate.ratings, simulations.seconds(candidate.grid)))
    return sum(n * seconds_of(ratings, timed) for ratings, n in [*left, *more]) / simulations.workers, timed


def seconds_of(ratings: int, timed: Sequence[tuple[int, float]]) -> float:
    """Return how long a fit takes by the fits that were timed: a power of its size, at least proportional to it.

    Examples
    --------
    >>> seconds_of(400, [(100, 1.0)]), seconds_of(400, [(100, 1.0), (200, 4.0)])
    (4.0, 16.0)
    """
    (size, seconds), *rest = timed
    power = 1.0
    if rest:
        power = max(1.0, math.log(rest[0][1] / seconds) / math.log(rest[0][0] / size))
        size, seconds = rest[0] if ratings > size else (size, seconds)
    return seconds * (ratings / size) ** power


def said(seconds: float, timed: Sequence[tuple[int, float]], datasets: int, workers: int) -> str:
    """Say how long it will take.

    Examples
    --------
    >>> text = said(7200, [(100, 1.5), (1200, 131.2)], 500, 2)
    >>> text.partition("; ")[0]
    'R takes 1.5 s for a fit with 100 ratings and 131 s with 1200'
    >>> text.partition("; ")[2]
    'what is left of 500 datasets, 2 at a time, will take about 2 h 0 min'
    """
    sizes = " and ".join(
        f"{t:.{0 if t >= 10 else 2}{'f' if t >= 10 else 'g'}} s {'for a fit with' if i == 0 else 'with'} {n}"
        f"{' ratings' if i == 0 else ''}"
        for i, (n, t) in enumerate(timed)
    )
    rest = f"what is left of {datasets} datasets, {workers} at a time, will take about {duration(seconds)}"
    return f"R takes {sizes}; {rest}"
