"""How many ratings by people a study needs with a judge, and what that saves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import ceil, sqrt
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.judges.contrasts import contrast
from ordbridge.judges.judged import Columns, read_judged
from ordbridge.reliability.jackknife import raters_as
from ordbridge.render.layout import ShownTable
from ordbridge.results import Result
from ordbridge.support.arguments import number, proportion, whole
from ordbridge.support.columns import columns
from ordbridge.support.naming import arg

_SCHEMA = pa.schema(
    columns(
        "what: text; correlation: number; "
        "people_only with_judge with_judge_low with_judge_high texts_for_judge: count; "
        "saved cost_people_only cost_with_judge cost_saved: number"
    )
)


@dataclass(frozen=True, repr=False)
class JudgePlan(Result):
    """Result of :func:`plan`.

    Attributes
    ----------
    needed
        One row per mean or difference: the ``correlation`` of people's and the judge's ratings, how many ratings by
        people a system needs without and with the judge (and over the uncertainty of the correlation), on how many of
        its texts the judge is asked, the share ``saved``, and costs where prices are given.
    goal
        What is to be reached, in words.
    """

    kind: ClassVar[str] = "judge-plan"
    title = "What does the judge save?"
    needed: pa.Table
    goal: str

    @property
    def answer(self) -> str:  # type: ignore[override]
        """How many ratings by people are needed without and with the judge."""
        row, *others = self.needed.to_pylist()
        what = f" ({row['what']})" if others else ""
        money = ""
        if row["cost_people_only"] is not None:
            money = f" (cost {row['cost_with_judge']:.2f} instead of {row['cost_people_only']:.2f})"
        saved = f"saves {row['saved']:.0%}" if row["saved"] > 0 else "saves nothing"
        return (
            f"For {self.goal}{what}: {row['people_only']} human ratings per system, or {row['with_judge']} plus the "
            f"judge on {row['texts_for_judge']} texts, which {saved}{money}."
        )

    @property
    def tables(self) -> dict[str, pa.Table]:
        """One row per mean or difference."""
        return {"needed": self.needed}

    def main(self) -> Sequence[ShownTable]:
        """Return what is needed without and with the judge."""
        shown = self.needed.drop_columns(["with_judge_low", "with_judge_high", "cost_saved"])
        return [
            ShownTable(
                shown, f"Ratings by people for {self.goal}", {"people_only": "people alone", "saved": "share saved"}
            )
        ]


def plan(
    data: Any = None,
    judge: str | None = None,
    *,
    width: float | None = None,
    effect: float | None = None,
    power: float = 0.8,
    texts: int | None = None,
    sd: float | None = None,
    correlation: float | None = None,
    cost: Mapping[str, float] | None = None,
    raters: str | None = None,
    conf_level: float = 0.95,
    **columns: Any,
) -> JudgePlan:
    r"""Say how many ratings by people are needed with this judge, and what it saves.

    With a correlation ρ of people's and the judge's ratings, n texts rated by people and T by the judge, the variance
    is :math:`\sigma^2 ((1 - \rho^2)/n + \rho^2/T)`, and :math:`\sigma^2/n` without a judge.

    Parameters
    ----------
    data, judge, raters, **columns
        Ratings of a pilot, see :func:`ordbridge.judges.estimate`: each difference of two systems, or the mean where
        there is one. Or give ``sd`` and ``correlation``.
    width, effect, power
        What is to be reached: an interval of this width; or this ``power`` to find an ``effect`` in points. By default
        the width that people's ratings alone have now.
    texts
        How many texts of a system the judge can rate; by default as many as in the data (ten times as many, if people
        rated them all) or, if prices are given, as many as are cheapest.
    sd, correlation
        Standard deviation of people's ratings of a text (of a difference of two systems: of the difference), and their
        correlation with the judge's, without data.
    cost
        Price of a rating by ``human`` and by ``judge``.
    conf_level
        Level of the interval, and of the test.

    Examples
    --------
    >>> found = plan(sd=1.0, correlation=0.8, width=0.3, texts=1000, cost={"human": 0.5, "judge": 0.01})
    >>> found.answer[:76]
    'For an interval of width 0.3: 171 human ratings per system, or 70 plus the j'
    """
    proportion("conf_level", conf_level)
    proportion("power", power)
    prices = {"human": 0.0, "judge": 0.0} | {
        name: number(f"cost {name}", price) for name, price in (cost or {}).items()
    }
    if set(prices) != {"human", "judge"}:
        raise InputError(f"{arg('cost')} has the prices of a rating by 'human' and by 'judge'")
    if width is not None and effect is not None:
        raise InputError(f"give a width ({arg('width')}) or an effect ({arg('effect')}), not both")
    if texts is not None:
        whole("texts", texts, least=2)
    found = _without_data(sd, correlation) if data is None else _from_data(data, judge, raters, conf_level, columns)
    rows = []
    for one in found:
        variance = _wanted(one, width, effect, power, conf_level)
        rows.append(_row(one, variance, texts, prices if cost else None))
    goal = (
        f"an interval of width {width:g}" if width is not None
        else f"{power:.0%} power to find {effect:g} points" if effect is not None
        else "today's precision"
    )  # fmt: skip
    return JudgePlan(pa.Table.from_pylist(rows, schema=_SCHEMA), goal)


@dataclass(frozen=True)
class _Spread:
    """Standard deviation of one text, correlation with its interval, and numbers of texts in the data."""

    what: str
    sd: float
    correlation: float
    low: float
    high: float
    n: int | None
    texts: int | None
    per_text: float


def _without_data(sd: float | None, correlation: float | None) -> list[_Spread]:
    if sd is None or correlation is None:
        raise InputError(f"give the ratings of a pilot, or both {arg('sd')} and {arg('correlation')}")
    if number("sd", sd) <= 0:
        raise InputError(f"{arg('sd', sd)} must be above 0")
    rho = proportion("correlation", correlation, ends=True)
    return [_Spread("each system", float(sd), rho, rho, rho, None, None, 1.0)]


def _from_data(
    data: Any, judge: str | None, raters: str | None, conf_level: float, columns: dict[str, Any]
) -> list[_Spread]:
    """Return the spread of each difference, or of the mean, from a pilot."""
    from scipy.stats import norm

    read = read_judged(data, judge, Columns(**columns))
    random = raters_as(read.humans.rated_by(1), raters) == "random"
    both = (read.judge_code >= 0) & (read.humans.per_item > 0)
    per_text = float(read.humans.per_item[both].mean()) if both.any() else 1.0
    systems = [name for name in read.systems if (both & (read.system_of == name)).sum() >= 3]
    if not systems:
        raise InputError("no system has three texts that both people and the judge rated")
    wanted: list[dict[str, float]] = [{one: 1.0, other: -1.0} for one, other in combinations(systems, 2)]
    found = []
    for weights in wanted or [{systems[0]: 1.0}]:
        got = contrast(read, weights, dict.fromkeys(weights, read.humans.points), random, conf_level)
        n = int(np.mean([(both & (read.system_of == name)).sum() for name in weights]))
        total = int(min(((read.judge_code >= 0) & (read.system_of == name)).sum() for name in weights))
        rho = sqrt(got.explained)
        z, half = np.arctanh(min(rho, 1 - 1e-9)), norm.ppf((1 + conf_level) / 2) / sqrt(max(got.clusters - 3, 1))
        names = list(weights)
        what = f"{names[0]} − {names[1]}" if len(names) == 2 else names[0]
        low, high = (max(0.0, float(np.tanh(z + sign * half))) for sign in (-1, 1))
        total = total if total > n else 10 * n
        found.append(_Spread(what, sqrt(got.variance * n), rho, low, high, n, total, per_text))
    return found


def _wanted(one: _Spread, width: float | None, effect: float | None, power: float, conf_level: float) -> float:
    """Return the variance that the goal asks for."""
    from scipy.stats import norm

    z = norm.ppf((1 + conf_level) / 2)
    if width is not None:
        if number("width", width) <= 0:
            raise InputError(f"{arg('width', width)} must be above 0")
        return float((width / 2 / z) ** 2)
    if effect is not None:
        if number("effect", effect) == 0:
            raise InputError(f"{arg('effect', 0)} cannot be found; give a difference in points")
        return float((effect / (z + norm.ppf(power))) ** 2)
    if one.n is None:
        raise InputError(f"without data give a width ({arg('width')}) or an effect ({arg('effect')})")
    return one.sd**2 / one.n


def _row(one: _Spread, variance: float, texts: int | None, prices: dict[str, float] | None) -> dict[str, Any]:
    alone = max(2, ceil(one.sd**2 / variance - 1e-9))
    judged = texts or one.texts
    if texts is None and prices and prices["judge"] > 0 and prices["human"] > 0:
        judged = _cheapest(one, variance, prices) or judged
    if judged is None:
        raise InputError(
            f"say how many texts the judge can rate ({arg('texts')}), or the prices of both kinds of ratings "
            f"({arg('cost')})"
        )
    needed = [_people(one.sd, rho, variance, judged, alone) for rho in (one.correlation, one.high, one.low)]
    k = one.per_text
    row: dict[str, Any] = {
        "what": one.what,
        "correlation": one.correlation,
        "people_only": round(alone * k),
        "with_judge": round(needed[0] * k),
        "with_judge_low": round(needed[1] * k),
        "with_judge_high": round(needed[2] * k),
        "texts_for_judge": judged,
        "saved": 1 - needed[0] / alone,
    }
    if prices:
        row["cost_people_only"] = alone * k * prices["human"]
        row["cost_with_judge"] = needed[0] * k * prices["human"] + judged * prices["judge"]
        row["cost_saved"] = row["cost_people_only"] - row["cost_with_judge"]
    return row


def _people(sd: float, rho: float, variance: float, judged: int, alone: int) -> int:
    """Return how many texts people must rate beside a judge who rates so many; never more than without it."""
    rest = variance - sd**2 * rho**2 / judged
    if rest <= 0:
        return alone
    return min(alone, max(2, ceil(sd**2 * (1 - rho**2) / rest - 1e-9)))


def _cheapest(one: _Spread, variance: float, prices: dict[str, float]) -> int | None:
    """Return on how many texts the judge is asked in the cheapest study that has the variance (by Lagrange)."""
    rho = one.correlation
    if rho <= 0:
        return None
    human, judge = prices["human"] * one.per_text, prices["judge"]
    both = sqrt((1 - rho**2) * human) + sqrt(rho**2 * judge)
    return max(2, ceil(one.sd**2 / variance * both * rho / sqrt(judge)))
