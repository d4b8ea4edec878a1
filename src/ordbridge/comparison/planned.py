"""The analysis that was planned, on the data that came: what the planned test says, and where data and plan differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ordbridge.comparison.api import CompareOptions, compare
from ordbridge.comparison.result import Comparison
from ordbridge.errors import InputError
from ordbridge.models.inference.adjust import adjusted_p
from ordbridge.planning.interim import Decision, decide
from ordbridge.planning.ledger import Ledger
from ordbridge.planning.planned_test import PlannedTest, usable
from ordbridge.planning.protocol import Protocol, model_of
from ordbridge.reading import RatingTable, read
from ordbridge.render.layout import Figures, Section, ShownPicture, ShownTable
from ordbridge.results.finding import Finding, worst_first
from ordbridge.results.finding import found as noticed
from ordbridge.results.result import Result
from ordbridge.support.columns import columns
from ordbridge.support.formatting import listed, p_text

BEYOND = "Beyond the plan, without its boundaries and critical values"
NEAR = 0.05  # of a planned number: less is not worth a word


@dataclass(frozen=True, eq=False, repr=False)
class PlannedComparison(Result):
    """What a planned analysis found.

    Attributes
    ----------
    comparison
        The whole comparison, with the model, the correction and the level of the plan. Its tests are those of
        :func:`ordbridge.compare`, not the planned ones.
    tests
        The planned tests: ``criterion, low, high, difference`` (in rating points), ``p_value`` as the model prints it,
        ``p_adjusted`` (by Holm; with looks in the stage-wise ordering, null while the study goes on),
        ``critical_value`` (what ``p_adjusted`` has to fall below; with looks it is ``p_value``), ``found``, and after
        looks ``estimate, conf_low, conf_high``, the median-unbiased estimate as in
        :class:`ordbridge.planning.Decision`.
    said
        What they say.
    departures
        Where the data differ from the plan.
    decision
        Of a plan with looks: what ``ordbridge stop`` says about the same ratings.
    """

    kind: ClassVar[str] = "planned comparison"
    title = "The planned comparison"
    comparison: Comparison
    tests: pa.Table
    said: tuple[str, ...]
    departures: tuple[Finding, ...]
    decision: Decision | None = None

    @property
    def answer(self) -> str:  # type: ignore[override]
        """What the planned tests say."""
        return "\n".join(self.said)

    @property
    def counted(self) -> str:  # type: ignore[override]
        """Whether the data are as planned, and who rated what."""
        return f"{'' if self.departures else 'The data are as planned. '}{self.comparison.counted}"

    @property
    def columns(self) -> str:  # type: ignore[override]
        """What was taken for what."""
        return self.comparison.columns

    @property
    def findings(self) -> tuple[Finding, ...]:  # type: ignore[override]
        """Where the data differ from the plan, and what to know of the comparison."""
        of_look = () if self.decision is None else self.decision.findings
        return worst_first((*self.departures, *of_look, *self.comparison.findings))

    @property
    def settings(self) -> Mapping[str, Any]:  # type: ignore[override]
        """What was asked."""
        return self.comparison.settings

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The planned tests, and the tables of the comparison."""
        return {"tests": self.tests, **self.comparison.tables}

    def main(self) -> Sequence[ShownTable]:
        """Return the planned tests."""
        return [ShownTable(self.tests, "Planned tests")]

    def picture(self) -> ShownPicture | None:
        """Return the picture of the comparison."""
        return self.comparison.picture()

    def sections(self) -> Sequence[Section]:
        """Return what goes beyond the plan."""
        beyond = Section(BEYOND, (self.comparison.answer, *self.comparison.main()))
        return [beyond, *self.comparison.sections()]

    def figures(self) -> Figures:
        """Return the pictures of the comparison."""
        return self.comparison.figures()

    def methods(self) -> str:
        """Return the methods paragraph of the comparison."""
        return self.comparison.methods()

    def references(self) -> list[str]:
        """Return its references."""
        return self.comparison.references()


def compare_as_planned(
    data: Any,
    protocol: Protocol,
    *,
    engine: str = "r",
    ledger: Ledger | None = None,
    progress: Callable[..., Any] | None = None,
    **reading: Any,
) -> PlannedComparison:
    """Make the planned analysis: the simulated test at its critical value, or at the boundary of its look.

    Parameters
    ----------
    data
        As for :func:`ordbridge.compare`; ``reading`` has its options of reading.
    protocol
        What :func:`ordbridge.planning.read_protocol` returned.
    engine, progress
        As for :func:`ordbridge.compare`.
    ledger
        Of a plan with looks: those taken so far; this one is recorded, as by :func:`ordbridge.planning.decide`, which
        decides here, too.
    """
    ratings = data if isinstance(data, RatingTable) else read(data, **reading)
    if protocol.goal != "difference":
        raise InputError(f"the plan is for {protocol.goal}; ordbridge fit … has that test, with the margin of the plan")
    table = usable(ratings.table, [name for pair in protocol.pairs for name in pair])
    decision = decide(ratings.table, protocol, engine=engine, ledger=ledger) if protocol.looks else None
    rows = _tests(table, protocol, engine) if decision is None else [_of_look(decision, protocol)]
    found = compare(
        ratings,
        model=protocol.model,
        formula=protocol.formula,
        engine=engine,
        conf_level=1 - protocol.alpha,
        options=CompareOptions(link=protocol.link or "logit", progress=progress),
    )
    if not isinstance(found, Comparison):
        raise InputError("the plan is for ratings, and these are comparisons of two systems")
    for row in rows:
        row["difference"] = _points(found, row["criterion"], row["low"], row["high"])
    tests = pa.Table.from_pylist(rows, schema=SCHEMA)
    sentences = _sentences(rows, protocol) if decision is None else (decision.answer,)
    return PlannedComparison(found, tests, sentences, tuple(departures(ratings, protocol)), decision)


SCHEMA = pa.schema(
    columns(
        "criterion low high: text; difference p_value p_adjusted critical_value: number; found: truth; "
        "estimate conf_low conf_high: number"
    )
)


def _tests(table: pa.Table, protocol: Protocol, engine: str) -> list[dict[str, Any]]:
    """Return the planned tests with Holm's correction over the pairs of the plan and over criteria."""
    rows: list[dict[str, Any]] = []
    for criterion, part in _by_criterion(table):
        there = dict.fromkeys(map(str, part["system"].to_pylist()))
        systems = [name for name in protocol.systems if name in there]
        systems += sorted(name for name in there if name not in protocol.systems)
        tested = PlannedTest(model_of(protocol), part, systems, engine)
        row: dict[str, Any] = {"criterion": criterion, "low": None, "high": None}
        if protocol.test == "lrt":
            rows.append(row | {"p_value": tested.any_difference()[0]})
            continue
        rows += [
            row | {"low": low, "high": high, "p_value": tested.pair(low, high).p_value} for low, high in protocol.pairs
        ]
    for row, p in zip(rows, adjusted_p(np.array([row["p_value"] for row in rows]), "holm").tolist(), strict=True):
        row |= {"p_adjusted": p, "critical_value": protocol.critical_value, "found": p < protocol.critical_value}
    return rows


def _by_criterion(table: pa.Table) -> Iterator[tuple[str | None, pa.Table]]:
    names = table["criterion"].drop_null().unique().to_pylist() if "criterion" in table.column_names else []
    if not names:
        yield None, table
    for name in names:
        yield str(name), table.filter(pc.equal(table["criterion"], name))


def _of_look(decision: Decision, protocol: Protocol) -> dict[str, Any]:
    from scipy.stats import norm

    ((low, high),) = protocol.pairs
    p, critical = (None if z is None else float(2 * norm.sf(abs(z))) for z in (decision.z, decision.critical))
    return {
        "criterion": None,
        "low": low,
        "high": high,
        "p_value": p,
        "p_adjusted": decision.p_value,
        "critical_value": critical,
        "found": decision.found,
        "estimate": decision.estimate,
        "conf_low": decision.conf_low,
        "conf_high": decision.conf_high,
    }


def _points(found: Comparison, criterion: str | None, low: str | None, high: str | None) -> float | None:
    """Return how many rating points the second system is above the first."""
    for row in found.rows("pairs", criterion):
        if {row["system_a"], row["system_b"]} == {low, high}:
            return float(row["difference"] if row["system_a"] == high else -row["difference"])
    return None


def _sentences(rows: list[dict[str, Any]], protocol: Protocol) -> tuple[str, ...]:
    lines = []
    corrected = ", Holm" if len(rows) > 1 else ""
    level = (
        f"critical value {protocol.critical_value:.3g}, which keeps the level of {protocol.alpha:g}"
        if protocol.critical_value != protocol.alpha
        else f"alpha {protocol.alpha:g}"
    )
    for row in rows:
        where = "" if row["criterion"] is None else f"{row['criterion']}: "
        verdict = "found" if row["found"] else "not found"
        p = f"{p_text(row['p_adjusted'])}{corrected}, {level}"
        if row["low"] is None:
            lines.append(f"{where}a difference between any of the systems is {verdict} ({p}).")
            continue
        points = "" if row["difference"] is None else f" of {row['difference']:+.2f} rating points"
        lines.append(f"{where}the planned difference between {row['high']} and {row['low']} is {verdict}: an estimate"
                     f"{points} ({p}).")  # fmt: skip
    return tuple(line[0].upper() + line[1:] for line in lines)


def departures(ratings: RatingTable, protocol: Protocol) -> Iterator[Finding]:
    """Say where the data differ from the plan."""
    table = ratings.table
    columns = {name: table[name].to_pylist() for name in table.column_names}
    there = dict.fromkeys(str(name) for name in columns["system"] if name is not None)
    if extra := [name for name in there if name not in protocol.systems]:
        yield noticed("unplanned-system", systems=listed(extra))
    if missing := [name for name in protocol.systems if name not in there]:
        yield noticed("system-missing", systems=listed(missing))
    criteria = len(set(columns.get("criterion", [None])))
    if criteria != protocol.criteria:
        yield noticed("criteria-differ", planned=protocol.criteria, seen=criteria)
    ratings_each = table.num_rows / criteria
    texts = set(zip(columns.get("item", []), columns["system"], strict=False))
    counts = {
        "participants": (protocol.participants, len(set(columns.get("participant", [])))),
        "items": (protocol.items, len(set(columns.get("item", [])))),
        "ratings": (protocol.ratings, round(ratings_each)),
    }
    for name, (planned, seen) in counts.items():
        if abs(seen - planned) > NEAR * planned:
            yield noticed("count-differs", planned=planned, what=name, seen=seen)
    each = ratings_each / len(texts) if texts else 0.0
    if each and abs(each - protocol.ratings_per_text) > NEAR * protocol.ratings_per_text:
        yield noticed("ratings-per-text-differ", planned=protocol.ratings_per_text, seen=each)
    categories = len(set(columns["rating"]))
    if protocol.levels is not None and categories > protocol.levels:
        yield noticed("categories-differ", planned=protocol.levels, seen=categories)
    seen_twice = table.num_rows - len(set(zip(*(columns[n] for n in _KEY if n in columns), strict=True)))
    if protocol.texts_per_participant is not None and seen_twice:
        yield noticed("item-seen-twice", n=seen_twice)


_KEY = ("participant", "item", "criterion")
