"""The trade-off of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ordbridge.render.figures.style import BLUE, GREY, INK, ORANGE, empty_figure, label_ends, title
from ordbridge.support.escaping import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ordbridge.planning import Plan

ACROSS, UP = 60, 40  # points of the grid under the contours
ENOUGH = 0.99  # a power beyond which nobody plans
ENOUGH_DATASETS = 200  # of a design whose point is drawn
VERDICTS = {"reaches": BLUE, "undecided": GREY, "falls short": ORANGE}


def plan_contours(plan: Plan) -> Figure:
    """Draw the trade-off of a plan: power over items and ratings per text, with the contour of the target.

    Shades and contours are the curve through all simulations; dots are the designs that were simulated, by what their
    own intervals say, and the ring is the recommended one. If only one number of ratings, or one design, was asked
    for, power is drawn over the items, or over the effect.

    Parameters
    ----------
    plan
        What :func:`ordbridge.plan` returned.

    Examples
    --------
    >>> import ordbridge as ob
    >>> from ordbridge.planning import Designs, PlannedAnalysis
    >>> truth = ob.simulate.Truth(effects=(1.0,), thresholds=(-1, 0, 1))
    >>> tried = Designs([10, 20, 40], [1, 2], texts_per_participant=10)
    >>> plan = ob.plan(truth, analysis=PlannedAnalysis("lm"), designs=tried)
    >>> len(plan_contours(plan).axes)
    2
    """
    rows = plan.designs.to_pylist()
    figure = empty_figure(6.6, 4.4)
    panel = figure.subplots()
    target = plan.settings["target"]
    if len({row["ratings_per_text"] for row in rows}) > 1 and len({row["items"] for row in rows}) > 1:
        _contours(figure, panel, plan, rows)
        x, y, what = "items", "ratings_per_text", "Items and ratings"
    else:
        x, y = ("items" if len({row["items"] for row in rows}) > 1 else "effect"), "power"
        _curve_over(panel, plan, rows, x)
        what = "Power over the items" if x == "items" else "Power over the effect"
    _simulated(panel, plan, [row for row in rows if row["n"]], x, y)
    title(panel, what, f"{shortened(plan.settings['test'], 60)}, target {target:.0%}, alpha {plan.settings['alpha']:g}")
    _legend(figure)
    return figure


def _legend(figure: Figure) -> None:
    """Say what the dots are, below everything and as wide as the figure."""
    close = {"handletextpad": 0.2, "columnspacing": 1.0}
    figure.legend(frameon=False, fontsize=8, ncols=4, loc="outside lower center", **close)


def _contours(figure: Figure, panel: Axes, plan: Plan, rows: list[dict[str, Any]]) -> None:
    ratings = np.array(sorted({row["ratings_per_text"] for row in rows}))
    m, r = np.meshgrid(
        np.linspace(*_interesting(rows, plan.settings["target"]), ACROSS), np.linspace(ratings[0], ratings[-1], UP)
    )
    power = plan.curve.power(_distance(plan, rows), m, r)
    shades = panel.contourf(m, r, power, levels=np.linspace(0, 1, 11), cmap="Greys", alpha=0.4)
    figure.colorbar(shades, ax=panel, label="power (curve through all simulations)")
    if power.min() < plan.settings["target"] < power.max():
        line = panel.contour(m, r, power, levels=[plan.settings["target"]], colors=[INK], linewidths=2)
        panel.clabel(line, fmt=lambda level: f"{level:.0%}", fontsize=9)
    _price_lines(panel, plan, m, r)
    panel.set_xlim(m.min(), m.max())
    panel.set_yticks(ratings, [f"{number:g}" for number in ratings])
    panel.set_xlabel("items")
    panel.set_ylabel("ratings per text")


def _interesting(rows: list[dict[str, Any]], target: float) -> tuple[float, float]:
    """Return from how many to how many items a picture goes: as far as simulations, or half of what is left to gain.

    The latter with the fewest ratings per text, so that the line of the target is in the picture from end to end.
    """
    items = sorted({row["items"] for row in rows})
    fewest = min(row["ratings_per_text"] for row in rows)
    plenty = [
        row["items"] for row in rows if row["ratings_per_text"] == fewest and row["predicted"] >= (1 + target) / 2
    ]
    return items[0], max([min(plenty, default=items[-1]), *(row["items"] for row in rows if row["n"])])


def _price_lines(panel: Axes, plan: Plan, m: np.ndarray, r: np.ndarray) -> None:
    """Draw lines of equal cost, or of equally many ratings if there are no prices."""
    asked = plan.settings
    ratings = m * r * len(asked["systems"])
    costs = plan.costs
    if not costs.counted and asked["texts_per_participant"]:
        price = ((costs.rating or 0.0) + (costs.participant or 0.0) / asked["texts_per_participant"]) * ratings
        price = price * (1 + costs.fee) / (1 - costs.loss)
    else:
        price = ratings

    def say(level: float) -> str:
        return f"{level:g} ratings" if price is ratings else costs.say(level)

    lines = panel.contour(m, r, price, levels=_round(price.max()), colors=[BLUE], linewidths=0.6, linestyles="--")
    panel.clabel(lines, fmt=say, fontsize=7)


def _round(most: float) -> list[float]:
    """Return some round numbers up to a number, each about twice the one before."""
    scale = 10.0 ** np.arange(-2, 9)
    every = np.sort(np.concatenate([scale, 2 * scale, 5 * scale]))
    return [float(level) for level in every[every < most][-5:]]


def _distance(plan: Plan, rows: list[dict[str, Any]]) -> float:
    """Return what the curve sees as the effect: the effect, or how far it lies within a margin."""
    inside = plan.settings["inside_margin"]
    return float(rows[0]["effect"] if inside is None else inside)


def _curve_over(panel: Axes, plan: Plan, rows: list[dict[str, Any]], axis: str) -> None:
    low, high = (edge(row[axis] for row in rows) for edge in (min, max))
    if low == high:
        low, high = 0.0, 2 * high
    x = np.linspace(low, high, 200)
    at = {"effect": _distance(plan, rows), "items": rows[0]["items"], axis: x}
    panel.plot(x, plan.curve.power(at["effect"], at["items"], rows[0]["ratings_per_text"]), color=INK, linewidth=1.2)
    panel.axhline(plan.settings["target"], color=GREY, linewidth=0.8, linestyle=":")
    panel.set_ylim(-0.02, 1.02)
    panel.set_xlabel(axis)
    panel.set_ylabel("power")


def _simulated(panel: Axes, plan: Plan, rows: list[dict[str, Any]], x: str, y: str) -> None:
    for verdict, colour in VERDICTS.items():
        here = [row for row in rows if row["verdict"] == verdict]
        if not here:
            continue
        across, up = [row[x] for row in here], [row[y] for row in here]
        hollow = verdict == "undecided"  # to be seen on the grey of the curve
        look: dict[str, Any] = {
            "edgecolor": INK if hollow else "white",
            "linewidth": 0.8,
            "zorder": 3,
            "clip_on": False,
        }
        panel.scatter(across, up, s=28, color="white" if hollow else colour, label=verdict, **look)
        if y == "power":
            panel.vlines(across, [r["conf_low"] for r in here], [r["conf_high"] for r in here], color=colour)
    if (best := plan.recommended) is not None and plan.question != "power":
        ring: dict[str, Any] = {"facecolor": "none", "edgecolor": INK, "linewidth": 1.6, "zorder": 4, "clip_on": False}
        panel.scatter([best[x]], [best[y]], s=150, label="recommended", **ring)


def plan_money(plan: Plan) -> Figure:
    """Draw power against money, or against the number of ratings if there are no prices.

    Each line is one number of ratings of each text, which stands at its end, the darker the more; where two lines
    cross, the other one is the better buy beyond. Dots are designs with enough simulated datasets, with intervals, the
    ring is the recommended one, and a dashed line is the money there is.

    Parameters
    ----------
    plan
        What :func:`ordbridge.plan` returned, for several designs.

    Examples
    --------
    >>> import ordbridge as ob
    >>> from ordbridge.planning import Costs, Designs, PlannedAnalysis
    >>> truth = ob.simulate.Truth(effects=(1.0,), thresholds=(-1, 0, 1))
    >>> tried = Designs([10, 20, 40], [1, 2], texts_per_participant=10)
    >>> plan = ob.plan(truth, analysis=PlannedAnalysis("lm"), designs=tried, costs=Costs(rating=0.1))
    >>> plan_money(plan).axes[0].get_xlabel()
    'cost'
    """
    from matplotlib.ticker import PercentFormatter

    asked, costs = plan.settings, plan.costs
    rows = plan.designs.to_pylist()
    axis = "ratings" if costs.counted else "cost"
    figure = empty_figure(6.6, 4.2)
    panel = figure.subplots()
    most = _dearest(rows, axis, plan)
    ends: list[tuple[str, float, float, dict[str, Any]]] = []
    each_of = sorted({row["ratings_per_text"] for row in rows})
    for each, colour in zip(each_of, _shades(len(each_of)), strict=True):
        line = sorted((row[axis], row["predicted"]) for row in rows if row["ratings_per_text"] == each)
        line = [point for point in line if point[0] <= most]
        if len(line) > 1:
            x, y = zip(*line, strict=True)
            panel.plot(x, y, color=colour, linewidth=1.6)
            ends.append((f"{each:g} per text", x[-1], y[-1], {"color": colour, "linewidth": 0.6}))
    panel.axhline(asked["target"], color=GREY, linewidth=0.8, linestyle=":")
    if costs.budget:
        panel.axvline(costs.budget, color=ORANGE, linewidth=1.0, linestyle="--")
        panel.text(costs.budget, 0.01, " budget", fontsize=8, color=ORANGE, ha="right", rotation=90, va="bottom")
    told = min(ENOUGH_DATASETS, max(row["n"] for row in rows))  # with fewer an interval says nothing
    _simulated(panel, plan, [row for row in rows if row["n"] >= max(told, 1) and row[axis] <= most], axis, "power")
    panel.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol="%"))
    panel.set_ylim(-0.02, 1.02)
    panel.set_xlim(left=0, right=most * 1.03)
    label_ends(panel, ends, 2.8)
    cost = f"cost ({costs.currency})" if costs.currency else "cost"
    panel.set_xlabel("ratings in all" if axis == "ratings" else cost)
    panel.set_ylabel("power")
    what = "Power and cost" if axis == "cost" else "Power and ratings"
    title(panel, what, f"{asked['test']}, target {asked['target']:.0%}, alpha {asked['alpha']:g}")
    _legend(figure)
    return figure


def _shades(number: int) -> list[Any]:
    """Return blues from light to dark, for few to many ratings."""
    from matplotlib import colormaps

    return [colormaps["Blues"](0.35 + 0.6 * k / max(1, number - 1)) for k in range(number)]


def _dearest(rows: list[dict[str, Any]], axis: str, plan: Plan) -> float:
    """Return where the picture ends: where more money hardly buys more power, and all that was simulated is seen."""
    enough = [row[axis] for row in rows if row["predicted"] >= ENOUGH]
    seen = [row[axis] for row in rows if row["n"]] + [plan.costs.budget or 0.0]
    return float(max(min(enough, default=max(row[axis] for row in rows)), *seen))
