"""The answer of a plan: a table of designs, the recommended one, and a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ordbridge.doors import picture, write_report
from ordbridge.notebooks import fragment
from ordbridge.planning.evidence import ENOUGH, Candidate, Rows, everyone, verdict
from ordbridge.planning.foresight import Powers, predictions
from ordbridge.planning.looks import Sequential
from ordbridge.planning.protocol import Protocol

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

    from matplotlib.figure import Figure

__all__ = ["Plan", "table_of"]


@dataclass(frozen=True)
class Plan:
    """What a plan found out.

    Attributes
    ----------
    question
        ``"designs"`` (which designs reach the target), ``"power"`` (of one design) or ``"effect"`` (the smallest that
        one design detects).
    sentence
        The answer.
    details
        What was tested and how, how often the test rejects where nothing differs, and what looks at the data buy.
    designs
        One row per design (or effect): ``items, ratings_per_text, participants, ratings, cost, effect, n, n_failed,
        power, conf_low, conf_high`` (Clopper–Pearson), ``predicted`` by the curve through all simulations, ``verdict``
        (:func:`ordbridge.planning.evidence.verdict`) and ``recommended``. What was never worth simulating has no power,
        only a prediction. A calibrated plan has size-adjusted ``power``, its interval with the error of the critical
        value in it, beside ``nominal_power`` at alpha, the ``critical_value``, and ``size, size_low, size_high``
        (Clopper–Pearson), the type-I error at alpha over ``size_n`` datasets without any difference. Otherwise
        ``power`` is nominal and only the design that the answer is about has a size; for a linear model of ordinal
        ratings see :func:`ordbridge.simulate.implied`.
    recommended
        The recommended row, whose verdict is ``"reaches"``, or None.
    asked
        The arguments, as plain values.
    curve
        The curve through all simulations, for pictures.
    notes
        What a reader has to know besides.
    uncertainty
        From a pilot: one row per draw from the sampling distribution of its estimates, with the power there.
    pairs
        With several pairs tested: the power of each pair of systems under the recommended design, or the only one.
    units
        The effect in all units (:func:`ordbridge.simulate.effect_units.effect_units`).
    sensitivity
        The power of the recommended design, or the only one, if raters or items differ more than was assumed, or the
        effect is smaller.
    looks
        The same study with looks at the data before its end, if they were asked for.
    protocol
        The planned study and its analysis, for a file from which ``ordbridge compare`` makes it later; None if no
        design is recommended.
    """

    question: str
    sentence: str
    designs: pa.Table
    recommended: dict[str, Any] | None
    asked: dict[str, Any]
    curve: Powers
    notes: tuple[str, ...] = ()
    uncertainty: pa.Table | None = None
    pairs: pa.Table | None = None
    units: pa.Table | None = None
    sensitivity: pa.Table | None = None
    details: tuple[str, ...] = ()
    looks: Sequential | None = None
    protocol: Protocol | None = None

    def __str__(self) -> str:
        """Say the answer, and what it rests on."""
        return " ".join((self.sentence, *self.details))

    def _repr_html_(self) -> str:
        """Show the answer, and the designs that were simulated, in a notebook."""
        simulated = self.designs.filter(self.designs["n"].to_numpy() > 0)
        shown = ["items", "ratings_per_text", "participants", "ratings", "cost", "power", "conf_low", "conf_high",
                 "verdict"]  # fmt: skip
        return fragment(self.sentence, self.notes, [("", simulated.select(shown))])

    def plot(self) -> Figure:
        """Draw the trade-off; see :func:`ordbridge.figures.plan_contours`."""
        figure: Figure = picture("plan_contours", self)
        return figure

    def report(self, path: str | PathLike[str], repeat: str = "") -> Path:
        """Write the report, one HTML file; see :func:`ordbridge.report.write_report`."""
        return write_report(self, path, repeat)


def table_of(
    rows: Rows,
    best: Candidate | None,
    curve: Powers,
    asked: Mapping[str, Any],
    enough: int = ENOUGH,
) -> pa.Table:
    """Return all candidates as a table."""
    records = []
    candidates = list(everyone(rows))
    for c, predicted in zip(candidates, predictions(curve, candidates), strict=True):
        low, high = c.interval if c.n else (None, None)
        null = c.null
        size_low, size_high = null.interval if null else (None, None)
        records.append(
            {
                "items": c.items,
                "ratings_per_text": float(c.ratings_per_text),
                "participants": c.participants,
                "ratings": c.ratings,
                "cost": round(c.price, 2) if asked["cost"] else None,
                "effect": float(asked.get("direction", 1) * c.effect),
                "n": c.n,
                "n_failed": c.failed,
                "power": c.power if c.n else None,
                "conf_low": low,
                "conf_high": high,
                "predicted": predicted,
                "verdict": verdict(c, rows, asked["target"], enough),
                "recommended": c is best,
                "nominal_power": c.nominal / c.n if c.n else None,
                "critical_value": c.critical_value,
                "size": null and null.size,
                "size_low": size_low,
                "size_high": size_high,
                "size_n": null and null.n,
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
        *((name, pa.float64()) for name in ("nominal_power", "critical_value", "size", "size_low", "size_high")),
        ("size_n", pa.int64()),
    ]
)
