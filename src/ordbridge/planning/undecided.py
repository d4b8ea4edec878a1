"""What a plan leaves open: designs that may be enough, and how many more datasets would decide."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby

from ordbridge.planning.evidence import ENOUGH, Candidate, Rows, everyone, is_excluded, order_of
from ordbridge.planning.forecast_power import Powers, predictions, ruled_out

NEAREST = 0.01  # a power nearer to the target than this counts as so far away: nobody needs to tell .795 from .80


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


def _hundreds(n: float) -> int:
    return math.ceil(n / 100) * 100
