"""How many items and raters make means as reliable as wanted, from the components of variance of a pilot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.reliability.ratings import prepare
from ordbridge.reliability.variance_components import ITEM, SYSTEM, TEXT, Generalizability, generalizability
from ordbridge.render.layout import Section, ShownTable
from ordbridge.results import Finding, Result
from ordbridge.support.arguments import choice, proportion, whole
from ordbridge.support.columns import columns
from ordbridge.support.formatting import interval_text, r_text
from ordbridge.support.naming import arg

ITEMS = (10, 25, 50, 100, 200, 400)
MOST_RATERS = 50
_SCHEMA = pa.schema(
    columns("items ratings_per_text ratings: count; estimate conf_low conf_high: number; reaches: truth")
)


@dataclass(frozen=True, repr=False)
class ReliabilityPlan(Result):
    """Designs and the reliability of their means; see :func:`plan`.

    Attributes
    ----------
    designs
        ``items``, ``ratings_per_text``, ``ratings`` in all, the reliability's ``estimate`` with its interval, and
        whether it ``reaches`` the target.
    recommended
        The row with the fewest ratings that reaches it, or ``None``.
    answer
        The design in words.
    components
        Where the variance of the pilot's ratings comes from.
    """

    kind: ClassVar[str] = "reliability-plan"
    title = "How many raters and items make means reliable?"
    designs: pa.Table
    recommended: dict[str, Any] | None
    answer: str = field()
    components: Generalizability

    @property
    def findings(self) -> tuple[Finding, ...]:  # type: ignore[override]
        """What to know about the components."""
        return self.components.findings

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The designs, and the components of the pilot."""
        return {"designs": self.designs, **self.components.tables}

    def main(self) -> Sequence[ShownTable]:
        """Return the designs."""
        return [ShownTable(self.designs)]

    def sections(self) -> Sequence[Section]:
        """Return the components of the pilot."""
        return [Section("Where the pilot's variance comes from", tuple(self.components.main()))]


def plan(
    pilot: Any,
    target: float = 0.8,
    *,
    what: str | None = None,
    kind: str = "relative",
    items: Sequence[int] | None = None,
    ratings_per_text: Sequence[int] | None = None,
    draws: int = 100,
    **options: Any,
) -> ReliabilityPlan:
    """Find the design with the fewest ratings whose means are reliable enough.

    Parameters
    ----------
    pilot
        Ratings of a pilot, as :func:`ordbridge.reliability.generalizability` takes them.
    target
        Reliability to reach.
    what
        Whose means: ``"system"`` (the default where there are systems) or ``"text"``.
    kind
        ``"relative"``: their order counts; ``"absolute"``: their level too.
    items
        Numbers of items to try, for means of systems.
    ratings_per_text
        Numbers of raters of each text to try; by default, for each number of items, the smallest that reaches the
        target, up to 50.
    draws, **options
        See :func:`ordbridge.reliability.generalizability`.

    Returns
    -------
    ReliabilityPlan

    References
    ----------
    Brennan, R. L. (2001). Generalizability Theory. Springer, chapter 4 (D-studies).

    Examples
    --------
    >>> judges = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    >>> plan(judges, 0.9, draws=0).answer
    'The mean of an item has a reliability of .91 with 4 ratings of each text.'
    """
    proportion("target", target)
    choice("what", what, (None, SYSTEM, TEXT))
    choice("kind", kind, ("relative", "absolute"))
    columns = {
        name: options.pop(name) for name in ("item", "participant", "rating", "scale", "system") if name in options
    }
    ratings = prepare(pilot, **columns)
    found = generalizability(ratings, draws=draws, **options)
    systems = len({label[1] for label in ratings.items}) if ratings.text != ITEM else 0
    if what == SYSTEM and not systems:
        raise InputError(f"the pilot has no systems to tell apart; ask for texts ({arg('what')})")
    about = SYSTEM if systems and what != TEXT else TEXT if systems else ITEM
    tried = [whole("items", m, least=1) for m in items or ITEMS] if about == SYSTEM else [1]
    rows = []
    for m in sorted(tried):
        wanted = [whole("ratings_per_text", n, least=1) for n in ratings_per_text or ()]
        for n in wanted or [_smallest(found, about, kind, m, target)]:
            estimate, ends = found.of(about, kind, n, m), found.interval(about, kind, n, m) or (None, None)
            rows.append(
                {
                    "items": m,
                    "ratings_per_text": n,
                    "ratings": m * n * (systems if about == SYSTEM else 1),
                    "estimate": estimate,
                    "conf_low": ends[0],
                    "conf_high": ends[1],
                    "reaches": estimate >= target,
                }
            )
    good = [row for row in rows if row["reaches"]]
    best = min(good, key=lambda row: (row["ratings"], row["items"])) if good else None
    designs = pa.Table.from_pylist(rows, schema=_SCHEMA)
    return ReliabilityPlan(designs, best, _sentence(best, rows, about, kind, target, found.conf_level), found)


def _smallest(found: Generalizability, what: str, kind: str, m: int, target: float) -> int:
    """Return the smallest number of raters that reaches the target, or the largest that is tried."""
    return next((n for n in range(1, MOST_RATERS + 1) if found.of(what, kind, n, m) >= target), MOST_RATERS)


def _sentence(
    best: dict[str, Any] | None, rows: list[dict[str, Any]], what: str, kind: str, target: float, conf_level: float
) -> str:
    mean = "A system's mean" if what == SYSTEM else f"The mean of {'an item' if what == ITEM else 'a text'}"
    row = best or max(rows, key=lambda row: row["estimate"])
    ends = "" if row["conf_low"] is None else f" ({interval_text(row, conf_level)})"
    size = f"{row['items']} items and " if what == SYSTEM else ""
    total = f", {row['ratings']} in all" if what == SYSTEM else ""
    kind = "a reliability" if kind == "relative" else "an absolute reliability"
    with_what = f"{size}{row['ratings_per_text']} rating{'s' * (row['ratings_per_text'] > 1)} of each text"
    reached = f"has {kind} of {r_text(row['estimate'])}{ends} with {with_what}"
    if best is not None:
        return f"{mean} {reached}{total}."
    return f"No design that was tried reaches {target:g}. At most {mean[0].lower()}{mean[1:]} {reached}."
