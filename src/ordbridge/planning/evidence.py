"""What the simulations of a plan say about each design, alone and together with larger and smaller ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from ordbridge.power.estimates import clopper_pearson

ENOUGH = 200  # simulations before one believes that a candidate reaches the target

_interval = lru_cache(maxsize=4096)(clopper_pearson)


class Null(NamedTuple):
    """What datasets without a difference say about the test of a design."""

    n: int
    significant: int
    """At alpha."""
    critical_value: float | None
    """What p has to fall below; None where alpha is used."""

    @property
    def size(self) -> float:
        """How often the test is significant at alpha where nothing differs."""
        return self.significant / self.n

    @property
    def interval(self) -> tuple[float, float]:
        """The exact 95% interval of the size."""
        return _interval(self.significant, self.n)


@dataclass
class Candidate:
    """One design (or one effect, if the smallest one is asked for) with its simulations so far."""

    items: int
    ratings_per_text: float
    participants: int
    ratings: int
    price: float
    effect: float
    grid: Any = None
    n: int = 0
    significant: int = 0
    """At the critical value of the design, or at alpha where there is none."""
    failed: int = 0
    weight: float = 1.0
    """What a dataset counts for; below 1 where the critical value is estimated (:mod:`ordbridge.power.calibration`)."""
    nominal: int = 0
    """How many are significant at alpha."""
    null: Null | None = None
    reach: float | None = None
    """How far the truth is from the edge of what is tested, if that is not the effect: from a margin."""

    @property
    def distance(self) -> float:
        """What the curve through all designs sees as the effect."""
        return self.effect if self.reach is None else self.reach

    @property
    def critical_value(self) -> float | None:
        """What p has to fall below in this design; None for alpha."""
        return self.null.critical_value if self.null else None

    @property
    def power(self) -> float:
        """The share of significant simulations."""
        return self.significant / self.n

    @property
    def interval(self) -> tuple[float, float]:
        """The exact 95% interval of its power; all of 0 … 1 before the first simulation."""
        return _interval(self.weight * self.significant, self.weight * self.n) if self.n else (0.0, 1.0)

    def covers(self, other: Candidate) -> bool:
        """Tell whether this one has as much of everything as another, so that its power cannot be lower."""
        mine, theirs = ((c.items, c.ratings_per_text, c.effect) for c in (self, other))
        return self is not other and all(a >= b for a, b in zip(mine, theirs, strict=True))


Rows = Sequence[Sequence[Candidate]]


def everyone(rows: Rows) -> Iterable[Candidate]:
    """Go through all candidates."""
    return (candidate for row in rows for candidate in row)


def verdict(candidate: Candidate, rows: Rows, target: float, enough: int = ENOUGH) -> str:
    """Return ``"reaches"``, ``"falls short"``, ``"undecided"`` or ``"not simulated"``.

    A design reaches the target if the exact interval of its power is at or above it after ``enough`` simulations. It
    falls short if the interval is below. Because more items, ratings or effect cannot lower the power, larger designs
    that came out lower speak against a lucky one: their simulations are added to its own, and the interval of all of
    them together must say the same (so do smaller designs that came out higher for one that falls short). This is what
    isotonic regression does with neighbours in the wrong order (Barlow et al. 1972).

    Parameters
    ----------
    candidate, rows
        The one in question, and all candidates of the plan.
    target
        The power to reach.
    enough
        The fewest simulations that show that a design reaches the target; the first few may be lucky.

    References
    ----------
    Barlow, R. E., Bartholomew, D. J., Bremner, J. M. & Brunk, H. D. (1972). *Statistical inference under order
    restrictions*. Wiley.

    Examples
    --------
    >>> small, large = (Candidate(m, 3, 6, 6 * m, 6.0 * m, 0.3) for m in (100, 110))
    >>> small.n, small.significant = 200, 172
    >>> verdict(small, [[small, large]], target=0.8)
    'reaches'
    >>> large.n, large.significant = 400, 312
    >>> verdict(small, [[small, large]], target=0.8)
    'undecided'
    """
    if not candidate.n:
        return "not simulated"
    own = _side(*candidate.interval, target)
    if own == "undecided" or (own == "reaches" and candidate.n < enough):
        return "undecided"
    seen = [c for c in everyone(rows) if c.n]
    if own == "reaches":
        against = [c for c in seen if c.covers(candidate) and c.power < candidate.power]
    else:
        against = [c for c in seen if candidate.covers(c) and c.power > candidate.power]
    together = [candidate, *against]
    pooled = _interval(sum(c.weight * c.significant for c in together), sum(c.weight * c.n for c in together))
    return own if _side(*pooled, target) == own else "undecided"


def is_excluded(candidate: Candidate, rows: Rows, target: float) -> bool:
    """Tell whether a design is known not to reach the target: it falls short, or one that covers it does."""
    return any(
        verdict(c, rows, target) == "falls short" for c in everyone(rows) if c is candidate or c.covers(candidate)
    )


def recommend(kind: str, rows: Rows, target: float, enough: int = ENOUGH) -> Candidate | None:
    """Return the cheapest design (or the smallest effect) that was shown to reach the target."""
    shown = [c for c in everyone(rows) if verdict(c, rows, target, enough) == "reaches"]
    return min(shown, key=order_of(kind), default=None)


def order_of(kind: str) -> Callable[[Candidate], tuple[float, float]]:
    """Return by what candidates are preferred: effects by their size, designs by their price."""
    return (lambda c: (c.effect, c.price)) if kind == "effect" else (lambda c: (c.price, c.participants))


def _side(low: float, high: float, target: float) -> str:
    return "reaches" if low >= target else "falls short" if high < target else "undecided"
