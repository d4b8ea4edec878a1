"""How many comparisons, raters and items tell a win rate from one half: a closed form; and which pairs to ask next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from scipy import optimize, stats

from ordbridge.errors import InputError
from ordbridge.preferences.analysis import analyse
from ordbridge.preferences.table import pair_table
from ordbridge.preferences.win_rates import NODES, WEIGHTS, WinRates
from ordbridge.render.layout import ShownTable
from ordbridge.results.finding import Finding, found
from ordbridge.results.result import Result
from ordbridge.support.arguments import choice, proportion, whole
from ordbridge.support.naming import arg

__all__ = ["PreferencePlan", "comparison_sheet", "next_pairs", "pilot_of", "plan_comparisons", "points_variances"]

CHOOSE_BY = ("information", "balanced")
REFERENCE = "Bradley, R. A. & Terry, M. E. (1952). Rank analysis of incomplete block designs. Biometrika 39, 324–345."


@dataclass(frozen=True)
class PointsVariances:
    """Variances of the points of one comparison: over raters, over items, and what is left."""

    rater: float
    item: float
    rest: float


def points_variances(
    win_rate: float, rater_sd: float, item_sd: float, ties: float, link: str = "logit"
) -> PointsVariances:
    """Return how much points vary from rater to rater, from item to item, and within both.

    Parameters
    ----------
    win_rate
        Expected points of the better system, ties split, for new raters and items.
    rater_sd, item_sd
        Standard deviations of rater:system and item:system on the latent scale.
    ties
        Share of ties.
    link
        ``"logit"`` or ``"probit"``.

    Examples
    --------
    >>> found = points_variances(0.55, 0.0, 0.0, 0.0)
    >>> round(found.rest, 4), round(found.rater, 4)
    (0.2475, 0.0)
    """
    spread = float(np.sqrt(2 * rater_sd**2 + 2 * item_sd**2))

    def at(tie: float) -> tuple[float, WinRates]:
        rates = WinRates(spread, tie, 0.0, link)
        return float(optimize.brentq(lambda eta: float(rates.points(eta)) - win_rate, -30, 30)), rates

    def missing(tie: float) -> float:
        eta, rates = at(tie)
        return float(rates.ties(eta)) - ties

    tie = 0.0 if ties == 0 else float(optimize.brentq(missing, 1e-9, 20))
    eta, _ = at(tie)

    def between(own: float, other: float) -> float:
        inside = WinRates(float(np.sqrt(2) * other), tie, 0.0, link).points(eta + np.sqrt(2) * own * NODES)
        return float(WEIGHTS @ (inside - WEIGHTS @ inside) ** 2)

    rater, item = between(rater_sd, item_sd), between(item_sd, rater_sd)
    return PointsVariances(rater, item, (1 - ties) / 4 - (win_rate - 0.5) ** 2 - rater - item)


@dataclass(frozen=True, eq=False, repr=False)
class PreferencePlan(Result):
    """How many comparisons are needed.

    Attributes
    ----------
    options
        raters, items, comparisons (null where no number is enough), per_rater, power.
    """

    kind: ClassVar[str] = "preference plan"
    options: pa.Table
    settings: dict[str, Any]
    findings: tuple[Finding, ...] = ()

    def __repr__(self) -> str:
        """Say in one line what was planned."""
        return f"<preference plan: {self.answer}>"

    @property
    def title(self) -> str:  # type: ignore[override]
        """What the report is called."""
        return f"Plan to tell {100 * self.settings['win_rate']:g}% from 50%"

    @property
    def answer(self) -> str:  # type: ignore[override]
        """How many comparisons, in a sentence."""
        s = self.settings
        what = f"{100 * s['win_rate']:g}% from 50% with {100 * s['power']:g}% power"
        rows = [row for row in self.options.to_pylist() if row["comparisons"]]
        if not rows:
            return f"No number of comparisons tells {what} with so few raters or items."
        best = min(rows, key=lambda row: row["comparisons"])
        who = f" by {best['raters']} raters" if best["raters"] else ""
        of = f" of {best['items']} items" if best["items"] else ""
        return f"{best['comparisons']:,} comparisons{who}{of} tell {what}."

    @property
    def counted(self) -> str:  # type: ignore[override]
        """What the plan assumes."""
        s = self.settings
        said = f"Assumes rater SD {s['rater_sd']:.2f}, item SD {s['item_sd']:.2f} and {100 * s['ties']:.0f}% ties"
        return f"{said}; closed form for one pair of systems, two-sided level {s['alpha']:g}."

    @property
    def tables(self) -> dict[str, pa.Table]:
        """All tables by name."""
        return {"options": self.options}

    def main(self) -> Sequence[ShownTable]:
        """Return the options."""
        return [ShownTable(self.options)]

    def references(self) -> list[str]:
        """Return what the plan rests on."""
        return [REFERENCE]


def plan_comparisons(
    win_rate: float = 0.55,
    *,
    raters: int | Sequence[int] | None = None,
    items: int | Sequence[int] | None = None,
    rater_sd: float = 0.5,
    item_sd: float = 0.5,
    ties: float = 0.2,
    power: float = 0.8,
    alpha: float = 0.05,
    link: str = "logit",
) -> PreferencePlan:
    """Say how many comparisons tell a win rate from one half.

    n = τ_e² / (δ²/(z_{1−α/2} + z_power)² − τ_r²/R − τ_i²/I), with δ the win rate above one half and τ² the variances of
    points over raters, items and the rest. Where the denominator is not positive no number of comparisons is enough.

    Parameters
    ----------
    win_rate
        The win rate, ties split, that is to be told from one half.
    raters, items
        How many there are; several are options. ``None``: as many as comparisons.
    rater_sd, item_sd
        Standard deviations of rater:system and item:system, such as :func:`compare` reports; real raters have .4 to .8.
    ties
        Share of ties.
    power, alpha, link
        Power, two-sided level, link.

    References
    ----------
    Satterthwaite, F. E. (1946). An approximate distribution of estimates of variance components. Biometrics Bulletin 2,
    110–114.

    Examples
    --------
    >>> plan_comparisons(0.55, rater_sd=0, item_sd=0, ties=0).answer
    '778 comparisons tell 55% from 50% with 80% power.'
    >>> plan_comparisons(0.55, raters=[40, 150], items=150, ties=0.24).options["comparisons"].to_pylist()
    [None, 2261]
    """
    proportion("win_rate", win_rate)
    proportion("power", power)
    proportion("alpha", alpha)
    if win_rate == 0.5:
        raise InputError(
            f"{arg('win_rate', 0.5)} means equal systems; give the smallest win rate that matters, such as 0.55"
        )
    if not 0 <= ties < 1:
        raise InputError(f"{arg('ties', ties)} must be a share from 0 to below 1")
    for name, value in (("rater_sd", rater_sd), ("item_sd", item_sd)):
        if not 0 <= value < 20:
            raise InputError(f"{arg(name, value)} must be a standard deviation of 0 or more")
    rate = max(win_rate, 1 - win_rate)
    variances = points_variances(rate, rater_sd, item_sd, ties, link)
    rows = []
    for r in _several("raters", raters):
        for i in _several("items", items):
            n = needed(variances, rate - 0.5, r, i, power, alpha)
            each = None if n is None or r is None else int(np.ceil(n / r))
            rows.append({"raters": r, "items": i, "comparisons": n, "per_rater": each})
    schema = pa.schema([(name, pa.int64()) for name in ("raters", "items", "comparisons", "per_rater")])
    settings = {"win_rate": win_rate, "power": power, "alpha": alpha, "rater_sd": rater_sd, "item_sd": item_sd,
                "ties": ties, "link": link}  # fmt: skip
    said = []
    if any(row["comparisons"] is None for row in rows):
        least = int(variances.rater / ((rate - 0.5) / _quantiles(power, alpha)) ** 2) + 1
        said.append(found("too-few-for-plan", raters=least))
    return PreferencePlan(pa.Table.from_pylist(rows, schema), settings, tuple(said))


def _several(name: str, given: int | Sequence[int] | None) -> list[int | None]:
    if given is None:
        return [None]
    return [whole(name, one, least=2) for one in ([given] if isinstance(given, int) else given)]


def _quantiles(power: float, alpha: float) -> float:
    return float(stats.norm.ppf(1 - alpha / 2) + stats.norm.ppf(power))


def needed(
    variances: PointsVariances, delta: float, raters: int | None, items: int | None, power: float, alpha: float
) -> int | None:
    """Return the number of comparisons, or ``None`` where none is enough."""
    room = (delta / _quantiles(power, alpha)) ** 2
    rest = variances.rest
    for variance, count in ((variances.rater, raters), (variances.item, items)):
        if count is None:
            rest += variance  # another one for every comparison
        else:
            room -= variance / count
    return int(np.ceil(rest / room)) if room > 0 else None


def pilot_of(data: Any, **columns: Any) -> dict[str, float]:
    """Return what a pilot says about raters, items and ties, for :func:`plan_comparisons`.

    Parameters
    ----------
    data, **columns
        Comparisons, as for :func:`ordbridge.prefer`; those of several criteria are averaged.

    Examples
    --------
    >>> votes = {"x": list("ABABAB"), "y": list("BABABA"), "v": ["A", "B", "A", "tie", "B", "A"]}
    >>> {name: round(value, 2) for name, value in pilot_of(votes, first="x", second="y", outcome="v").items()}
    {'rater_sd': 0.0, 'item_sd': 0.0, 'ties': 0.17}
    """
    table = pair_table(data, **columns)
    parts = (
        [table] if table.criterion is None else [table.rows(table.criterion == k) for k in range(len(table.criteria))]
    )
    found = [analyse(part, None, "logit", "fast", checks=False) for part in parts]
    sds = {
        name: [float(one.fit.sd[one.groups.index(name)]) for one in found if one.fit and name in one.groups] or [0.0]
        for name in ("rater", "item")
    }
    ties = float(np.mean([(part.points == 0.5).mean() for part in parts]))
    return {"rater_sd": float(np.mean(sds["rater"])), "item_sd": float(np.mean(sds["item"])), "ties": ties}


def comparison_sheet(systems: Sequence[str], items: int, raters: int, per_rater: int, seed: int = 0) -> pa.Table:
    """Return who compares what: pairs and items as even as possible, both orders of every pair equally often.

    Parameters
    ----------
    systems
        Their names.
    items, raters
        How many.
    per_rater
        Comparisons of each rater; nobody gets the same pair of the same item twice.
    seed
        Of the order.

    Returns
    -------
    pyarrow.Table
        rater, item, first, second.

    Examples
    --------
    >>> sheet = comparison_sheet(["A", "B"], items=4, raters=2, per_rater=4)
    >>> sorted(sheet["first"].to_pylist())
    ['A', 'A', 'A', 'A', 'B', 'B', 'B', 'B']
    """
    if len(set(systems)) < 2 or len(set(systems)) < len(systems):
        raise InputError("systems needs two names or more, all different")
    pairs = list(combinations(systems, 2))
    cells = [(item, pair) for item in range(items) for pair in range(len(pairs))]
    if whole("per_rater", per_rater, least=1) > len(cells):
        raise InputError(
            f"{arg('per_rater', per_rater)} is more than the {len(cells)} different comparisons; give fewer"
        )
    rng = np.random.default_rng(seed)
    used, shown = np.zeros(len(cells)), np.zeros((len(pairs), 2))
    of_pair = np.array([pair for _, pair in cells])
    rows = []
    for rater in range(whole("raters", raters, least=1)):
        mine = np.zeros(len(pairs))
        free = np.ones(len(cells), dtype=bool)
        for _ in range(per_rater):
            # the cell, then the rater's pair, that was asked least; chance decides between equals
            cost = np.where(free, used + 0.01 * mine[of_pair] + 0.001 * rng.random(len(cells)), np.inf)
            cell = int(np.argmin(cost))
            item, pair = cells[cell]
            free[cell] = False
            used[cell] += 1
            mine[pair] += 1
            turn = int(shown[pair, 1] < shown[pair, 0] or (shown[pair, 0] == shown[pair, 1] and rng.random() < 0.5))
            shown[pair, turn] += 1
            a, b = pairs[pair] if turn == 0 else pairs[pair][::-1]
            rows.append({"rater": f"rater {rater + 1}", "item": f"item {item + 1}", "first": a, "second": b})
    return pa.Table.from_pylist(rows)


def next_pairs(data: Any, n: int, *, by: str = "information", **columns: Any) -> pa.Table:
    """Say which pairs to ask next.

    Parameters
    ----------
    data, **columns
        The comparisons so far, as for :func:`ordbridge.prefer`.
    n
        How many comparisons to ask.
    by
        ``"information"``: each next pair is the one whose answer is expected to tell most about all strengths (the
        determinant of their covariance), given those before it. ``"balanced"``: the pair that was asked least.

    Returns
    -------
    pyarrow.Table
        first, second (the order that was shown less often), n.

    References
    ----------
    Grasshoff, U. & Schwabe, R. (2008). Optimal design for the Bradley–Terry paired comparison model. Statistical
    Methods and Applications 17, 275–289.

    Examples
    --------
    >>> votes = {"x": list("AABBAB"), "y": list("BBAACC"), "v": list("abaaab")}
    >>> next_pairs(votes, 4, by="balanced", first="x", second="y", outcome="v")["second"].to_pylist()
    ['C', 'C', 'A', 'B']
    """
    choice("by", by, CHOOSE_BY)
    table = pair_table(data, **columns)
    S = len(table.systems)
    pairs = list(combinations(range(S), 2))
    shown = np.zeros((S, S))
    np.add.at(shown, (table.first, table.second), 1.0)
    if by == "information":
        one = analyse(table, None, "logit", "fast", checks=False)
        if one.fit is None or len(one.core) < S:
            raise InputError(
                f"a system always wins or loses, so nothing is known about its strength; use {arg('by', 'balanced')}"
            )
        V = np.zeros((S, S))
        V[1:, 1:] = one.fit.covariance[: S - 1, : S - 1]
        p = np.array([float(one.rates.win(one.strengths[a] - one.strengths[b])) for a, b in pairs])
        weight = np.maximum(p * (1 - p), 1e-3)
    asked = np.zeros((S, S), dtype=int)
    for _ in range(whole("n", n, least=1)):
        if by == "information":
            variance = np.array([V[a, a] + V[b, b] - 2 * V[a, b] for a, b in pairs])
            best = int(np.argmax(weight * variance))
            a, b = pairs[best]
            move = V[:, a] - V[:, b]
            V = V - np.outer(move, move) * weight[best] / (1 + weight[best] * variance[best])
        else:
            a, b = min(pairs, key=lambda pair: shown[pair] + shown[pair[::-1]])
        if shown[a, b] > shown[b, a]:
            a, b = b, a
        shown[a, b] += 1
        asked[a, b] += 1
    rows = [{"first": table.systems[a], "second": table.systems[b], "n": int(asked[a, b])}
            for a, b in np.argwhere(asked)]  # fmt: skip
    return pa.Table.from_pylist(sorted(rows, key=lambda row: -row["n"]))
