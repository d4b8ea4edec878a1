"""The analysis that was planned, on the data that came: what the planned test says, and where data and plan differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge.comparison.api import compare
from ordbridge.comparison.result import Comparison
from ordbridge.data import RatingTable, read
from ordbridge.errors import InputError
from ordbridge.formats import listed, p_text
from ordbridge.models.fit import Fit
from ordbridge.models.inference.adjust import holm
from ordbridge.planning.protocol import Protocol

__all__ = ["PlannedComparison", "compare_as_planned", "departures"]

FEW = 10  # participants or items with fewer of which the printed p-value of an ordinal model is too small
NEAR = 0.05  # of a planned number: less is not worth a word


@dataclass(frozen=True)
class PlannedComparison:
    """What a planned analysis found.

    Attributes
    ----------
    comparison
        The whole comparison, with the model, the correction and the level of the plan.
    tests
        The planned tests: ``criterion, low, high, difference, p_value, p_adjusted, found``.
    sentences
        What they say.
    departures
        Where the data differ from the plan, a sentence each.
    """

    comparison: Comparison
    tests: pa.Table
    sentences: tuple[str, ...]
    departures: tuple[str, ...]


def compare_as_planned(
    data: Any, protocol: Protocol, *, engine: str = "r", progress: Callable[..., Any] | None = None, **reading: Any
) -> PlannedComparison:
    """Make the planned analysis.

    Parameters
    ----------
    data
        As for :func:`ordbridge.compare`; ``reading`` has its options of reading.
    protocol
        What :func:`ordbridge.planning.read_protocol` returned.
    engine, progress
        As for :func:`ordbridge.compare`.
    """
    ratings = data if isinstance(data, RatingTable) else read(data, **reading)
    _check_systems(ratings, protocol)
    if protocol.goal != "difference":
        raise InputError(f"the plan is for {protocol.goal}; ordbridge fit … has that test, with the margin of the plan")
    found = compare(
        ratings,
        model=protocol.model,
        formula=protocol.formula,
        link=protocol.link or "logit",
        engine=engine,
        conf_level=1 - protocol.alpha,
        progress=progress,
    )
    tests = _tests(found, protocol)
    return PlannedComparison(found, tests, _sentences(tests, protocol), tuple(departures(ratings, protocol)))


def _tests(found: Comparison, protocol: Protocol) -> pa.Table:
    """Return the planned tests with Holm's correction over the pairs of the plan and over criteria."""
    rows: list[dict[str, Any]] = []
    for criterion, fit in found.fits.items():
        few = any(row["criterion"] == criterion and _is_small(row) for row in found.design.to_pylist())
        bootstrap = protocol.calibrated and few
        if protocol.family == "any":
            p = fit.test("system", method="bootstrap" if bootstrap else "lrt")["p_value"][0].as_py()
            rows.append({"criterion": criterion, "low": None, "high": None, "difference": None, "p_value": p})
            continue
        for low, high in protocol.pairs:
            p = _p_value(fit, low, high, bootstrap=bootstrap)
            points = _points(found, criterion, low, high)
            rows.append({"criterion": criterion, "low": low, "high": high, "difference": points, "p_value": p})
    corrected = holm(np.array([row["p_value"] for row in rows])).tolist()
    return pa.Table.from_pylist(
        [row | {"p_adjusted": p, "found": p < protocol.alpha} for row, p in zip(rows, corrected, strict=True)]
    )


def _is_small(design: Mapping[str, Any]) -> bool:
    return any(design[name] is not None and design[name] < FEW for name in ("participants", "items"))


def _p_value(fit: Fit, low: str, high: str, *, bootstrap: bool) -> float:
    """Return the p-value of a pair: Wald's z of an ordinal model, Satterthwaite's t of a linear one."""
    weights = {
        term: sign for name, sign in ((high, 1.0), (low, -1.0)) if (term := f"system{name}") in fit.estimates.terms
    }
    method = "bootstrap" if bootstrap else "wald" if fit.problem.ordinal else "f"
    return float(fit.test(weights, method=method)["p_value"][0].as_py())


def _points(found: Comparison, criterion: str | None, low: str, high: str) -> float | None:
    """Return how many rating points the second system is above the first."""
    for row in found.rows("pairs", criterion):
        if {row["a"], row["b"]} == {low, high}:
            return float(row["difference"] if row["a"] == high else -row["difference"])
    return None


def _sentences(tests: pa.Table, protocol: Protocol) -> tuple[str, ...]:
    lines = []
    corrected = ", Holm" if tests.num_rows > 1 else ""
    for row in tests.to_pylist():
        where = "" if row["criterion"] is None else f"{row['criterion']}: "
        verdict = "found" if row["found"] else "not found"
        p = f"{p_text(row['p_adjusted'])}{corrected}, alpha {protocol.alpha:g}"
        if row["low"] is None:
            lines.append(f"{where}a difference between any of the systems is {verdict} ({p}).")
            continue
        points = "" if row["difference"] is None else f" of {row['difference']:+.2f} rating points"
        lines.append(f"{where}the planned difference between {row['high']} and {row['low']} is {verdict}: an estimate"
                     f"{points} ({p}).")  # fmt: skip
    return tuple(line[0].upper() + line[1:] for line in lines)


def _check_systems(ratings: RatingTable, protocol: Protocol) -> None:
    if "system" not in ratings.table.column_names:
        raise InputError(f"no column of {ratings.source} was recognised as the system; give system=")
    there = set(map(str, ratings.table["system"].drop_null().to_pylist()))
    tested = {name for pair in protocol.pairs for name in pair}
    if missing := sorted(tested - there):
        raise InputError(
            f"the plan tests {listed(missing)}, but the ratings have only {listed(sorted(there))}; rename the systems "
            "in the file, or plan with names= as in the file"
        )


def departures(ratings: RatingTable, protocol: Protocol) -> Iterator[str]:
    """Say where the data differ from the plan, a sentence each."""
    table = ratings.table
    columns = {name: table[name].to_pylist() for name in table.column_names}
    there = dict.fromkeys(str(name) for name in columns["system"] if name is not None)
    if extra := [name for name in there if name not in protocol.systems]:
        yield f"The plan has no system {listed(extra)}."
    if missing := [name for name in protocol.systems if name not in there]:
        yield f"The planned system {listed(missing)} is not in the data."
    criteria = len(set(columns.get("criterion", [None])))
    if criteria != protocol.criteria:
        yield f"{protocol.criteria} {_plural('criterion', protocol.criteria)} planned, {criteria} in the data."
    ratings_each = table.num_rows / criteria
    texts = set(zip(columns.get("item", []), columns["system"], strict=False))
    counts = {
        "participants": (protocol.participants, len(set(columns.get("participant", [])))),
        "items": (protocol.items, len(set(columns.get("item", [])))),
        "ratings": (protocol.ratings, round(ratings_each)),
    }
    for name, (planned, seen) in counts.items():
        if abs(seen - planned) > NEAR * planned:
            yield f"{planned} {name} were planned, there are {seen}."
    each = ratings_each / len(texts) if texts else 0.0
    if each and abs(each - protocol.ratings_per_text) > NEAR * protocol.ratings_per_text:
        yield f"{protocol.ratings_per_text:g} ratings per text were planned, there are {each:.3g} on average."
    categories = len(set(columns["rating"]))
    if protocol.levels is not None and categories > protocol.levels:
        yield f"A scale of {protocol.levels} categories was planned, the ratings have {categories}."
    seen_twice = table.num_rows - len(set(zip(*(columns[n] for n in _KEY if n in columns), strict=True)))
    if protocol.texts_per_participant is not None and seen_twice:
        yield f"Nobody was to see an item twice; {seen_twice} ratings are of an item that the participant had rated."


_KEY = ("participant", "item", "criterion")


def _plural(word: str, count: int) -> str:
    return {"criterion": "criterion" if count == 1 else "criteria"}[word]
