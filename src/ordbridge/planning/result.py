"""The answer of a plan: the recommended design, its alternatives, and the table of all designs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pyarrow as pa

from ordbridge import __version__
from ordbridge.models.kinds import KINDS
from ordbridge.planning.evidence import ENOUGH, Candidate, Rows, everyone, verdict
from ordbridge.planning.forecast_power import Powers, predictions
from ordbridge.planning.looks import Sequential
from ordbridge.planning.money import Costs
from ordbridge.planning.protocol import Protocol
from ordbridge.planning.wording import likely_power
from ordbridge.power.wording import compared, percent, said_once
from ordbridge.render import figures
from ordbridge.render.layout import Block, Figures, Section, ShownPicture, ShownTable
from ordbridge.results import Finding, Result, citations
from ordbridge.support.columns import columns
from ordbridge.support.formatting import as_text

NAMES = {"ratings_per_text": "ratings/text", "participants": "raters", "n": "datasets", "n_failed": "failed fits"}
READ = ["items", "ratings_per_text", "power", "conf_low", "conf_high", "verdict", "participants",
        "ratings", "cost", "effect", "n", "n_failed"]  # fmt: skip
CALIBRATED = ["nominal_power", "critical_value", "size", "size_n"]


@dataclass(frozen=True, repr=False)
class Plan(Result):
    """What a plan found out.

    Attributes
    ----------
    question
        ``"designs"`` (which designs reach the target), ``"power"`` (of one design) or ``"effect"`` (the smallest that
        one design detects).
    answer, counted, findings
        The answer, what it is about, and what a reader should know.
    options
        The designs to choose from: ``option`` (recommended, the cheapest that may be enough, what the budget buys) and
        columns of ``designs``, with ``stable_ranking`` and ``same_order``: how probably a second study of the design
        keeps the order of all pairs that differ significantly in the first (Riley et al. 2024), or of all systems.
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
    settings
        What was asked, as plain values, and the ``protocol``.
    curve
        The curve through all simulations, for pictures.
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

    kind: ClassVar[str] = "plan"
    title = "How many items, how many raters?"
    question: str
    answer: str = field()  # not the empty one of all results
    counted: str = field()
    findings: tuple[Finding, ...] = field()
    options: pa.Table
    designs: pa.Table
    recommended: dict[str, Any] | None
    settings: dict[str, Any] = field()
    curve: Powers
    uncertainty: pa.Table | None = None
    pairs: pa.Table | None = None
    units: pa.Table | None = None
    sensitivity: pa.Table | None = None
    looks: Sequential | None = None
    protocol: Protocol | None = None

    @property
    def costs(self) -> Costs:
        """What ratings and participants cost."""
        return Costs(**self.settings["costs"])

    @property
    def tables(self) -> dict[str, pa.Table]:
        """All tables by name."""
        found = {"options": self.options, "designs": self.designs, "pairs": self.pairs, "units": self.units,
                 "sensitivity": self.sensitivity, "uncertainty": self.uncertainty,
                 "looks": None if self.looks is None else self.looks.looks}  # fmt: skip
        return {name: table for name, table in found.items() if table is not None}

    def main(self) -> Sequence[ShownTable]:
        """Return the designs to choose from."""
        return [ShownTable(_for_people(self.options), names=NAMES | self._cost)] if self.options.num_rows else []

    def on_page(self) -> Sequence[ShownTable]:
        """Return the designs that enough datasets tell about, the cheapest first, and the recommended one marked."""
        return [self._by_cost()] if self.question == "designs" else self.main()

    def picture(self) -> ShownPicture:
        """Return power against cost, or of one design power over the effect or the items."""
        if self.question == "designs":
            what = "ratings" if self.costs.counted else "cost"
            return ShownPicture("money", f"Power against {what}, a line for each number of ratings per text")
        return ShownPicture("designs", "Power: the curve through all simulations, and what was simulated")

    def results(self) -> str:
        """Return nothing: a plan has no results, and its methods paragraph has the answer."""
        return ""

    def paper_tables(self) -> Sequence[ShownTable]:
        """Return the designs that enough datasets tell about."""
        return [self._by_cost()]

    def _by_cost(self) -> ShownTable:
        """Return the designs with enough datasets, or that are options, by cost."""
        told = {
            (row["items"], row["ratings_per_text"], row["effect"]): row["option"] for row in self.options.to_pylist()
        }
        enough = min(ENOUGH, max(self.designs["n"].to_pylist(), default=0))
        rows = [
            (told.get((row["items"], row["ratings_per_text"], row["effect"]), ""), row)
            for row in self._simulated().to_pylist()
            if row["n"] >= enough or (row["items"], row["ratings_per_text"], row["effect"]) in told
        ]
        rows.sort(
            key=lambda one: (one[1]["cost"] if one[1]["cost"] is not None else one[1]["ratings"], one[1]["items"])
        )
        table = {
            "": [option for option, _ in rows],
            **{
                name: [row[name] for _, row in rows]
                for name in ("items", "ratings_per_text", "participants", "ratings")
            },
            "cost": pa.array([row["cost"] for _, row in rows], pa.float64()),
            "power": [_power(row) for _, row in rows],
        }
        if len({row["effect"] for _, row in rows}) > 1:
            table["effect"] = [row["effect"] for _, row in rows]
        best = frozenset(place for place, (_, row) in enumerate(rows) if row["recommended"])
        caption = (
            f"Designs by cost; power to find the difference at alpha {self.settings['alpha']:g}, with 95% intervals"
        )
        return ShownTable(pa.table(table), caption, NAMES | self._cost, marked=best)

    def sections(self) -> Sequence[Section]:
        """Return the designs, pairs and looks; folded, what would change the answer and what was assumed."""
        return [*self._open(), *self._folded()]

    def figures(self) -> Figures:
        """Return power over the designs, and power against money."""
        drawn = {"designs": lambda: figures.plan_contours(self)}
        if self.question == "designs":
            drawn["money"] = lambda: figures.plan_money(self)
        return Figures(drawn)

    def methods(self) -> str:
        """Return the methods paragraph."""
        asked = self.settings
        effect = "the smallest detectable effect" if asked["effect"] == "smallest" else (
            f"an effect of {', '.join(dict.fromkeys(f'{e:.3g}' for e in asked['effect']))} latent units"
        )  # fmt: skip
        source = {"pilot": "the estimates of a pilot study", "truth": "assumed parameters"}.get(
            asked["source"], f"the parameters of {asked['source']}"
        )
        model = f"a {KINDS[asked['model']].name}, {asked['formula']} ({asked['test']}, alpha {asked['alpha']:g})"
        sizes = (
            " Critical values come from datasets without a difference on the same designs: the test keeps its level."
            if asked["calibrated"]
            else ""
        )
        return (
            f"The size of the study was planned by simulation: {asked['datasets']} datasets (seed {asked['seed']}) "
            f"were drawn from {source} with {effect} and analysed by {model}, with "
            f"{citations.software(asked['versions'], asked['engine'])}. A design was simulated until the exact 95% "
            f"interval of its power (Clopper & Pearson 1934) lay on one side of {asked['target']:.0%} or its share of "
            f"the datasets was spent.{compared(asked['names'])}{sizes} {self._chosen()}"
        )

    def _chosen(self) -> str:
        """Return what the answer recommends, as a paper says it."""
        row = self.recommended
        if self.question != "designs" or row is None:
            return " ".join(self.answer.splitlines())
        power = percent(row["power"], row["conf_low"], row["conf_high"])
        found = (
            f"We chose {row['items']:,} items with {row['ratings_per_text']:g} ratings of each text "
            f"({row['ratings']:,} ratings by {row['participants']:,} raters), power {power}."
        )
        return found if self.looks is None else f"{found} {self.looks.answer}"

    def references(self) -> list[str]:
        """Return the references of the methods paragraph."""
        ordinal = [citations.WORKS["mccullagh"]] if KINDS[self.settings["model"]].ordinal else []
        used = citations.of_software(self.settings["versions"])
        return [f"ordbridge {__version__}.", *ordinal, *used, citations.WORKS["clopper"]]

    @property
    def _cost(self) -> dict[str, str]:
        currency = self.costs.currency
        return {"cost": f"cost ({currency})" if currency else "cost"}

    def _simulated(self) -> pa.Table:
        return self.designs.filter(self.designs["n"].to_numpy() > 0)

    def _open(self) -> Iterator[Section]:
        if self.pairs is not None:
            caption = "Power to find each pair, after Holm's correction"
            yield Section("Pairs of systems", (ShownTable(self.pairs, caption),))
        if self.looks is not None:
            caption = f"Critical values, {self.looks.shape} boundary"
            yield Section("Looks at the data", (ShownTable(self.looks.looks, caption, NAMES),))

    def _folded(self) -> Iterator[Section]:
        blocks: dict[str, Block | None] = {}
        said, shown = said_once(self._simulated().select(READ + CALIBRATED * self.settings["calibrated"]))
        every: list[Block] = [*([said] if said else []), ShownTable(shown, names=NAMES | self._cost)]
        yield Section("Every design that was simulated", tuple(every), folded=True)
        blocks |= {
            "If raters or items differ more, or the effect is smaller": _grid(self.sensitivity),
            "How uncertain the pilot is": _grid(self.uncertainty),
            "The effect in other units": _grid(self.units),
        }
        rest = self.designs.filter(self.designs["n"].to_numpy() == 0)
        if self.question == "designs":
            columns = ["items", "ratings_per_text", "participants", "ratings", "cost", "predicted"]
            blocks["Designs that were not simulated: what the curve predicts"] = _grid(rest.select(columns))
        blocks["What was assumed"] = ShownTable(_assumed(self.settings["truth"]))
        for title, block in blocks.items():
            if block is not None:
                yield Section(title, (block,), folded=True)


def _grid(table: pa.Table | None) -> ShownTable | None:
    return ShownTable(table, names=NAMES) if table is not None and table.num_rows else None


def _for_people(options: pa.Table) -> pa.Table:
    """Return the designs to choose from in a few columns: power with its interval in one."""
    kept = ["option", "items", "ratings_per_text", "participants", "cost"]
    return options.select(kept).append_column("power", pa.array([_power(row) for row in options.to_pylist()]))


def _power(row: Mapping[str, Any]) -> str:
    if row["power"] is None:
        return f"about {row['predicted']:.0%} (not simulated)"
    if row["verdict"] == "undecided":
        open_ = "undecided" if row["n"] < ENOUGH else "too close to call"
        return f"{likely_power(row['power'], row['predicted'], row['n'])} ({open_})"
    return percent(row["power"], row["conf_low"], row["conf_high"])


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


def options_of(designs: pa.Table, chosen: Sequence[tuple[str, int]]) -> pa.Table:
    """Return some designs under the name of what they are for; ``chosen`` has names and places, each place once."""
    places = {place: name for name, place in reversed(chosen)}
    rows = [(name, place) for name, place in chosen if places[place] == name]
    table = designs.take(pa.array([place for _, place in rows], pa.int64()))
    kept = [name for name in designs.column_names if name not in ("recommended", "n_failed") and "size" not in name]
    return table.select(kept).add_column(0, "option", pa.array([name for name, _ in rows], pa.string()))


def table_of(
    rows: Rows,
    best: Candidate | None,
    curve: Powers,
    asked: Mapping[str, Any],
    enough: int = ENOUGH,
) -> pa.Table:
    """Return all candidates as a table."""
    records = []
    candidates, priced = list(everyone(rows)), not Costs(**asked["costs"]).counted
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
                "cost": round(c.price, 2) if priced else None,
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
    columns(
        "items: count; ratings_per_text: number; participants ratings: count; cost effect: number; "
        "n n_failed: count; power conf_low conf_high predicted: number; verdict: text; recommended: truth; "
        "nominal_power critical_value size size_low size_high: number; size_n: count"
    )
)
