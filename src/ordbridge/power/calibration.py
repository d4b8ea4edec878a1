"""Tests made to keep their level: critical values from datasets without an effect, on the same design.

Where equivalence or non-inferiority is to be shown, it is datasets with an effect of just the margin.

A printed p-value is one statistic among others. Where it is too small too often, as Wald's is with few raters, what it
has to fall below is not alpha but the value that it falls below in a share alpha of studies in which nothing differs.
With p(1) ≤ … ≤ p(m) the p-values of m such datasets and k = ⌊alpha (m + 1)⌋, a study is significant where p < p(k): a
further study without an effect is in k/(m + 1) ≤ alpha of all cases, whatever the distribution of p.

A critical value that is estimated adds to the error of a power. The order statistics between which the true one lies
have the shares of significant datasets between which the power would lie; their distance, as that of a normal interval,
is the standard error that is added. It is expressed in datasets: n of them then count as n·weight, with

    weight = v / (v + w),   v = π(1 − π)/n,   w the squared standard error due to the critical value.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ordbridge.power.estimates import clopper_pearson
from ordbridge.power.grid import Cell, cell_label
from ordbridge.power.margins import effects_at_margin
from ordbridge.power.models import Model

NULL = "null: "  # how the names of these cells begin
RESAMPLED = 1000
ROUNDING = 1e-9  # .05 × 100 is 5
COLUMNS = ("size", "size_low", "size_high", "critical_value", "adjusted_power", "adjusted_low", "adjusted_high")


class Critical(NamedTuple):
    """What a p-value has to fall below."""

    value: float
    """NaN where there are too few datasets for one: fewer than 1/alpha − 1."""
    low: float
    high: float
    """Order statistics between which the true one lies with the wanted confidence; 0 and 1 where there is none."""


def critical_value(p_null: np.ndarray, alpha: float, conf_level: float = 0.95) -> Critical:
    """Return the critical value that p-values of datasets without an effect give; a missing one counts as large.

    References
    ----------
    Davison, A. C. & Hinkley, D. V. (1997). Bootstrap methods and their application. Cambridge, section 4.2.
    David, H. A. & Nagaraja, H. N. (2003). Order statistics. Wiley, section 7.1, for the interval of a quantile.

    Examples
    --------
    >>> critical_value(np.arange(1, 100) / 1000, alpha=0.05)
    Critical(value=0.005, low=0.001, high=0.011)
    """
    from scipy.stats import binom

    p = np.sort(np.where(np.isnan(p_null), 1.0, p_null))
    m, k = p.size, math.floor(alpha * (p.size + 1) + ROUNDING)
    if not k:
        return Critical(math.nan, 0.0, 1.0)
    lower, upper = (int(binom.ppf(q, m, alpha)) for q in ((1 - conf_level) / 2, (1 + conf_level) / 2))
    low = float(p[lower - 1]) if lower else 0.0
    return Critical(float(p[k - 1]), low, float(p[upper]) if upper < m else 1.0)


class Adjusted(NamedTuple):
    """A size-adjusted power: how many of n datasets are significant, and what a dataset counts for."""

    n: int
    significant: int
    weight: float

    def interval(self, conf_level: float = 0.95) -> tuple[float, float]:
        """Return the interval of the power, with the error of the critical value in it."""
        return clopper_pearson(self.weight * self.significant, self.weight * self.n, conf_level)


def adjusted_power(p_value: np.ndarray, critical: Critical) -> Adjusted:
    """Count what is significant at a critical value; a missing p-value is not."""
    n = p_value.size
    significant, at_low, at_high = (
        int((p_value < value).sum()) for value in (critical.value, critical.low, critical.high)
    )
    smooth = (significant + 2) / (n + 4)  # so that a power of 0 or 1 has a variance
    binomial = smooth * (1 - smooth) / n
    of_critical = ((at_high - at_low) / n / (2 * 1.96)) ** 2
    return Adjusted(n, significant, binomial / (binomial + of_critical))


def calibrated(p_value: np.ndarray, nulls: Iterable[np.ndarray], alpha: float, conf_level: float) -> dict[str, Any]:
    """Return size and size-adjusted power of one model in one cell; with several nulls, those of the worst."""
    sizes = [(int((p < alpha).sum()), p.size) for p in nulls]
    row: dict[str, Any] = dict.fromkeys(COLUMNS)
    if not sizes or not min(n for _, n in sizes):
        return row
    significant, n = max(sizes, key=lambda size: size[0] / size[1])
    low, high = clopper_pearson(significant, n, conf_level)
    row |= {"size": significant / n, "size_low": low, "size_high": high}
    critical = min((critical_value(p, alpha) for p in nulls), key=lambda c: c.value)
    if math.isnan(critical.value) or not p_value.size:
        return row
    found = adjusted_power(p_value, critical)
    low, high = found.interval(conf_level)
    adjusted = {"adjusted_power": found.significant / found.n, "adjusted_low": low, "adjusted_high": high}
    return row | {"critical_value": critical.value} | adjusted


def calibrated_difference(
    p_a: np.ndarray, p_b: np.ndarray, nulls: Sequence[tuple[np.ndarray, np.ndarray]], alpha: float, row: dict[str, Any]
) -> dict[str, float]:
    """Widen the interval of a difference of two powers by the error of both critical values.

    The datasets without an effect are drawn again, both models together, and the difference is taken at the critical
    values that come out. Its distance from the estimate at the edges of the bootstrap's interval is added to that of
    the given interval, as squares: the two errors are independent (Zou & Donner 2008).

    References
    ----------
    Zou, G. Y. & Donner, A. (2008). Construction of confidence limits about effect measures: a general approach.
    *Statistics in Medicine* 27, 1693–1702.
    """
    random = np.random.default_rng(0)
    at_a, at_b = np.full((2, RESAMPLED), np.inf)
    for a, b in nulls:
        rows = random.integers(a.size, size=(RESAMPLED, a.size))
        k = math.floor(alpha * (a.size + 1) + ROUNDING) - 1
        at_a, at_b = (np.minimum(at, np.partition(p[rows], k, axis=1)[:, k]) for at, p in ((at_a, a), (at_b, b)))
    below_a, below_b = (np.searchsorted(np.sort(p), at) / p.size for p, at in ((p_a, at_a), (p_b, at_b)))
    differences = below_a - below_b
    low, high = np.quantile(differences, [0.025, 0.975])
    d = row["difference"]
    return {
        "conf_low": max(-1.0, d - math.hypot(d - row["conf_low"], max(0.0, d - low))),
        "conf_high": min(1.0, d + math.hypot(row["conf_high"] - d, max(0.0, high - d))),
    }


def nulls_of(cell: Cell, model: Model) -> tuple[Cell, ...]:
    """Return the cells at which the model must not succeed: the same design without an effect, or at the margin.

    Examples
    --------
    >>> from ordbridge.power import Grid
    >>> grid = Grid(preset="howcroft2021", variance="low", items=20, ratings_per_text=3, effect=[0, 0.62])
    >>> (null,) = nulls_of(grid.cells[1], Model("clmm", term="system"))
    >>> null.label, null.content == grid.cells[0].content
    ('null: variance=low items=20 ratings_per_text=3 effect=0', True)
    """
    if model.goal == "difference":
        return (_without_effects(cell),)
    return tuple(at_effects(cell, effects) for effects in effects_at_margin(cell, model))


def _without_effects(cell: Cell) -> Cell:
    """Return the cell with all systems alike; exchangeable ones are at their mean, which is this cell's own."""
    nothing = at_effects(cell, [0.0] * len(cell.truth.effects))
    if cell.truth.slope_coding != "exchangeable" or not any(cell.truth.effects):
        return nothing
    content = {**json.loads(nothing.content), "truth": cell.truth.without_effects().to_dict()}
    return Cell(f"{NULL}{cell_label(dict(cell.axes))}", nothing.axes, json.dumps(content, sort_keys=True))


def at_effects(cell: Cell, effects: Sequence[float]) -> Cell:
    """Return the cell with other effects: the same design, and everything else as it was."""
    content = json.loads(cell.content)
    content["truth"]["effects"] = list(effects)
    axes = {**dict(cell.axes), "effect": tuple(effects) if len(effects) > 1 else effects[0]}
    return Cell(f"{NULL}{cell_label(axes)}", tuple(axes.items()), json.dumps(content, sort_keys=True))


def null_cells(cells: Iterable[Cell], models: Iterable[Model]) -> dict[tuple[Cell, str], tuple[Cell, ...]]:
    """Return the nulls of every cell and model; a cell of the grid that is one serves as such."""
    cells, models = tuple(cells), tuple(models)
    known = {cell.content: cell for cell in cells}
    return {
        (cell, model.name): tuple(known.setdefault(null.content, null) for null in nulls_of(cell, model))
        for cell in cells
        for model in models
    }
