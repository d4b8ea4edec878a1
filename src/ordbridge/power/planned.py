"""The answer of a plan: a table of designs, the recommended one, and a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge.power.curve import Curve
from ordbridge.power.search import Candidate

__all__ = ["Planned", "notes_of", "sentence_of", "table_of"]


@dataclass(frozen=True)
class Planned:
    """What a plan found out.

    Attributes
    ----------
    question
        ``"designs"`` (which designs reach the target), ``"power"`` (of one design) or ``"effect"`` (the smallest that
        one design detects).
    sentence
        The answer.
    designs
        One row a design (or an effect): ``items, ratings_per_text, participants, ratings, cost, effect, n, n_failed,
        power, conf_low, conf_high`` (Clopper–Pearson), ``predicted`` by the curve through all simulations, ``verdict``
        and ``recommended``. What was never worth simulating has no power, only a prediction.
    recommended
        The recommended row, or None.
    asked
        The arguments, as plain values.
    curve
        The curve through all simulations, for pictures.
    notes
        What a reader has to know besides.
    uncertainty
        From a pilot: one row a draw from the sampling distribution of its estimates, with the power there.
    pairs
        With ``test="pairs"``: the power of each pair of systems under the recommended design.
    """

    question: str
    sentence: str
    designs: pa.Table
    recommended: dict[str, Any] | None
    asked: dict[str, Any]
    curve: Curve
    notes: tuple[str, ...] = ()
    uncertainty: pa.Table | None = None
    pairs: pa.Table | None = None

    def __str__(self) -> str:
        """Say the answer."""
        return self.sentence


def notes_of(rows: list[list[Candidate]], best: Candidate | None, uncertainty: Any, target: float) -> list[str]:
    """Return what a reader has to know besides the answer."""
    notes = []
    failed, n = sum(c.failed for row in rows for c in row), sum(c.n for row in rows for c in row)
    if failed:
        notes.append(f"{failed} of {n} fits failed; they count as not significant.")
    if best is not None and best.verdict(target) == "undecided" and len([c for r in rows for c in r]) > 1:
        notes.append(
            "The interval of the recommended row still contains the target: more datasets (budget, most) would decide."
        )
    if best is not None and best.participants < 5:
        notes.append(f"{best.participants} participants are too few to say anything about other participants.")
    return notes


def table_of(rows: list[list[Candidate]], best: Candidate | None, curve: Curve, target: float, cost: Any) -> pa.Table:
    """Return all candidates as a table."""
    records = []
    for c in (c for row in rows for c in row):
        low, high = c.interval if c.n else (None, None)
        records.append(
            {
                "items": c.items,
                "ratings_per_text": float(c.ratings_per_text),
                "participants": c.participants,
                "ratings": c.ratings,
                "cost": round(c.price, 2) if cost else None,
                "effect": c.effect,
                "n": c.n,
                "n_failed": c.failed,
                "power": c.significant / c.n if c.n else None,
                "conf_low": low,
                "conf_high": high,
                "predicted": float(curve.power(c.effect, c.items, c.ratings_per_text)),
                "verdict": c.verdict(target),
                "recommended": c is best,
            }
        )
    return pa.Table.from_pylist(records, schema=DESIGNS)


DESIGNS = pa.schema(
    [
        *((name, pa.int64()) for name in ("items",)),
        ("ratings_per_text", pa.float64()),
        *((name, pa.int64()) for name in ("participants", "ratings")),
        ("cost", pa.float64()),
        ("effect", pa.float64()),
        *((name, pa.int64()) for name in ("n", "n_failed")),
        *((name, pa.float64()) for name in ("power", "conf_low", "conf_high", "predicted")),
        ("verdict", pa.string()),
        ("recommended", pa.bool_()),
    ]
)


def sentence_of(
    kind: str, row: dict[str, Any] | None, rows: list[list[Candidate]], asked: dict[str, Any], uncertainty: Any
) -> str:
    """Return the answer in a sentence."""
    effects = asked["effect"]
    size = "" if kind == "effect" else f" of {', '.join(f'{e:g}' for e in effects)}"
    goal = f"{asked['test']}, alpha {asked['alpha']:g}, {asked['model']}"
    if row is None:
        seen = [c for r in rows for c in r if c.n]
        best = max(seen, key=lambda c: c.significant / c.n, default=None)
        top = f"; the best seen, {_design_words(best.__dict__)}, has {best.significant / best.n:.0%}" if best else ""
        what = "design" if kind == "designs" else "effect"
        return f"No {what} in the range was shown to reach {asked['target']:.0%} power ({goal}){top}."
    power = f"{row['power']:.0%} (95 % interval {row['conf_low']:.0%} to {row['conf_high']:.0%})"
    price = f", {row['cost']:.2f} in cost" if row["cost"] is not None else ""
    words = f"{_design_words(row)}, {row['participants']} participants, {row['ratings']} ratings in all{price}"
    if kind == "power":
        return f"With {words}, an effect{size} is found with power {power} ({goal})."
    if kind == "effect":
        goal_power = f"{asked['target']:.0%} power"
        return f"With {words}, the smallest effect found with {goal_power} is {row['effect']:g}: {power} ({goal})."
    superlative = "cheapest" if row["cost"] is not None else "smallest"
    text = (
        f"To find an effect{size} with {asked['target']:.0%} power, the {superlative} design is {words}: "
        f"power {power} ({goal})."
    )
    if uncertainty is None:
        return text
    powers = np.array(uncertainty["power"].to_pylist())
    low, high = np.quantile(powers, [0.1, 0.9])
    return (
        f"{text} Over the uncertainty of the pilot its power is {powers.mean():.0%} on average, and between {low:.0%} "
        f"and {high:.0%} in the middle four fifths of {len(powers)} draws."
    )


def _design_words(row: Mapping[str, Any]) -> str:
    return f"{row['items']} items × {row['ratings_per_text']:g} ratings a text"
