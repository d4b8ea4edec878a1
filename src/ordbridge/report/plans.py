"""The report on a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ordbridge import figures
from ordbridge.formats import as_text
from ordbridge.planning.money import Prices
from ordbridge.report.html import Page
from ordbridge.report.paragraphs import without_options
from ordbridge.report.runs import NAMES, said_once

if TYPE_CHECKING:
    from ordbridge.planning import Plan

__all__ = ["build"]

READ = ["items", "ratings_per_text", "power", "conf_low", "conf_high", "verdict", "participants",
        "ratings", "cost", "effect", "n", "n_failed"]  # fmt: skip
CALIBRATED = ["nominal_power", "critical_value", "size", "size_n"]


def build(plan: Plan) -> Page:
    """Return the answer, picture, tables and checks; :mod:`ordbridge.report.build` adds the rest."""
    asked = plan.asked
    made = Page("How many items, how many raters?")
    best = plan.recommended
    if best is not None and plan.question == "designs":
        made.answer(_in_short(best, asked), [without_options(plan.sentence)])
    else:
        made.answer(without_options(plan.sentence))
    for note in plan.notes:
        made.warning(without_options(note))
    made.picture(figures.plan_contours(plan), "Power: the curve through all simulations, and the designs simulated")
    simulated = plan.designs.filter(plan.designs["n"].to_numpy() > 0)
    said, shown = said_once(simulated.select(READ + CALIBRATED * asked["calibrated"]))
    made.heading("Designs").sentence(said).table(shown, names=NAMES)
    if plan.pairs is not None:
        made.table(plan.pairs, "Pairs under the recommended design, after Holm's correction")
    failed = sum(plan.designs["n_failed"].to_pylist())
    made.heading("Checks").sentence(f"{failed} of {asked['datasets']} fits failed.")
    if plan.question == "designs":
        what = "money" if asked["cost"] else "ratings"
        with made.folded(f"Power against {what}"):
            made.picture(figures.plan_money(plan), f"What more {what} would buy")
    for name, caption in (("sensitivity", "If raters or items differ more, or the effect is smaller"),
                          ("uncertainty", "How uncertain the pilot is"),
                          ("units", "The effect in other units")):  # fmt: skip
        if (table := getattr(plan, name)) is not None and table.num_rows:
            with made.folded(caption):
                made.table(table)
    rest = plan.designs.filter(plan.designs["n"].to_numpy() == 0)
    if rest.num_rows and plan.question == "designs":
        with made.folded("Designs that were not simulated: what the curve predicts"):
            made.table(rest.select(["items", "ratings_per_text", "participants", "ratings", "cost", "predicted"]))
    with made.folded("What was assumed"):
        made.table(_assumed(asked["truth"]))
    return made


def _in_short(best: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    cost = f", {Prices(**asked['cost']).say(best['cost'])}" if best["cost"] is not None else ""
    return (
        f"{_purpose(asked)}, {best['items']:,} items with {best['ratings_per_text']:g} ratings per text are enough: "
        f"power {100 * best['power']:.0f} % ({100 * best['conf_low']:.0f} to {100 * best['conf_high']:.0f}), "
        f"{best['ratings']:,} ratings by {best['participants']:,} participants{cost}."
    )


def _purpose(asked: Mapping[str, Any]) -> str:
    """Say what the study is to find, with the names of the systems."""
    if asked.get("margin") is not None:
        return f"To show {asked['test']}"
    if len(asked["names"]) != 2 or "points" not in asked:
        return f"To test {asked['test']}"
    points, (first, second) = asked["points"][0], asked["names"]
    return f"To find that {second} is rated {abs(points):.2g} points {'higher' if points > 0 else 'lower'} than {first}"


def _assumed(truth: Mapping[str, Any]) -> pa.Table:
    """Return what was assumed in words and three digits; correlations of 0 are left out."""
    rows = {}
    for name, value in truth.items():
        if value is None or value == [] or _is_identity(value):
            continue
        rows[name.replace("_", " ")] = as_text(value, "{:.3g}".format)
    return pa.table({"what": list(rows), "value": list(rows.values())})


def _is_identity(value: Any) -> bool:
    square = isinstance(value, Sequence) and len(value) > 0 and all(
        isinstance(row, Sequence) and not isinstance(row, str) and len(row) == len(value) for row in value
    )  # fmt: skip
    return square and all(number == (i == j) for i, row in enumerate(value) for j, number in enumerate(row))
