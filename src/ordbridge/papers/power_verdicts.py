"""Verdicts on claims about the power of two models, each with the rule by which it is reached.

All functions take rows of :meth:`ordbridge.power.Run.compare` (an ordinal model ``a`` against a linear model ``b`` on
the same datasets) or of :meth:`ordbridge.power.Run.power`, and return what was found, a verdict, and the rule.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ordbridge.papers.reproduction import FAILS, HOLDS, UNDECIDED

Row = dict[str, Any]
MARGIN = 0.05
"""A difference of power below this is "about the same": the Monte Carlo error of the published figures."""
LIBERAL = 0.075
"""Bradley's (1978) liberal limit for a test at 5 %."""
Z = 1.959964


class Verdict(NamedTuple):
    """What was found, the verdict, and the rule."""

    found: str
    verdict: str
    reason: str


class Weighted(NamedTuple):
    """A mean with its standard error."""

    mean: float
    error: float

    @property
    def low(self) -> float:
        """Lower end of the 95 % interval."""
        return self.mean - Z * self.error

    @property
    def high(self) -> float:
        """Upper end of the 95 % interval."""
        return self.mean + Z * self.error

    def __str__(self) -> str:
        """Write the mean with its interval."""
        return f"{self.mean:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"


def advantage(rows: Sequence[Row]) -> Weighted:
    """Return the mean over cells of the difference of power of two models on the same datasets.

    Examples
    --------
    >>> cell = {"n": 100, "difference": 0.1, "only_a": 12, "only_b": 2}
    >>> str(advantage([cell, cell]))
    '+0.100 [+0.050, +0.150]'
    """
    variance = [(r["only_a"] + r["only_b"] - r["n"] * r["difference"] ** 2) / r["n"] ** 2 for r in rows]
    return Weighted(float(np.mean([r["difference"] for r in rows])), math.sqrt(sum(variance)) / len(rows))


def gap(first: Sequence[Row], second: Sequence[Row]) -> Weighted:
    """Return the mean over pairs of cells of the difference of power, where the datasets are different ones."""
    variance = [r["power"] * (1 - r["power"]) / r["n"] for r in (*first, *second)]
    mean = np.mean([a["power"] - b["power"] for a, b in zip(first, second, strict=True)])
    return Weighted(float(mean), math.sqrt(sum(variance)) / len(first))


def never_lower(rows: Sequence[Row]) -> Verdict:
    """Judge whether model ``a`` is nowhere less powerful than ``b``.

    Examples
    --------
    >>> cell = {"n": 100, "difference": -0.1, "only_a": 2, "only_b": 12, "conf_low": -0.17, "p_value": 0.013}
    >>> never_lower([cell]).verdict
    'does not hold'
    """
    lower = [r for r in rows if r["difference"] < 0]
    proven = [r for r in lower if r["p_value"] * len(rows) < 0.05]  # Bonferroni: one such cell refutes the claim
    verdict = FAILS if proven else HOLDS if all(r["conf_low"] > -MARGIN for r in rows) else UNDECIDED
    worst = min(r["difference"] for r in rows)
    found = f"lower in {len(lower)} of {len(rows)} cells, surely in {len(proven)}; " + (
        f"lowest difference {worst:+.3f}, mean {advantage(rows)}"
    )
    rule = f"holds: every interval above −{MARGIN:g}; does not: a cell surely lower (McNemar, Bonferroni)"
    return Verdict(found, verdict, rule)


def small(value: Weighted, what: str) -> Verdict:
    """Judge whether a mean difference is below the margin, in either direction."""
    inside, outside = max(abs(value.low), abs(value.high)) < MARGIN, min(abs(value.low), abs(value.high)) > MARGIN
    verdict = HOLDS if inside else FAILS if outside and value.low * value.high > 0 else UNDECIDED
    return Verdict(f"{what} {value}", verdict, f"holds: interval within ±{MARGIN:g}")


def not_below(value: Weighted) -> Verdict:
    """Judge whether a mean difference is not below minus the margin."""
    verdict = HOLDS if value.low > -MARGIN else FAILS if value.high < -MARGIN else UNDECIDED
    return Verdict(str(value), verdict, f"holds: interval above −{MARGIN:g}; does not: below it")


def at_least_half(value: Weighted, of: Weighted) -> Verdict:
    """Judge whether a mean difference is at least half of another one, from different datasets."""
    excess = Weighted(value.mean - of.mean / 2, math.hypot(value.error, of.error / 2))
    verdict = HOLDS if excess.low > 0 else FAILS if excess.high < 0 else UNDECIDED
    return Verdict(f"{value}, instead of {of}", verdict, "by the interval of the one less half of the other")


def largest(value: Weighted, others: Sequence[Weighted]) -> Verdict:
    """Judge whether a mean difference is above all others, from different datasets."""
    rival = max(others, key=lambda other: other.mean)
    ahead = Weighted(value.mean - rival.mean, math.hypot(value.error, rival.error))
    verdict = HOLDS if ahead.low > 0 else FAILS if ahead.high < 0 else UNDECIDED
    return Verdict(f"{value}, next {rival}", verdict, "by the interval of the distance to the next")


def reaches(row: Row, target: float) -> Verdict:
    """Judge whether a power is at least the target."""
    verdict = HOLDS if row["conf_low"] >= target else FAILS if row["conf_high"] < target else UNDECIDED
    return Verdict(_share(row), verdict, f"holds: exact interval above {target:g}")


def stays_below(row: Row, target: float) -> Verdict:
    """Judge whether a power is below the target."""
    verdict = HOLDS if row["conf_high"] < target else FAILS if row["conf_low"] >= target else UNDECIDED
    return Verdict(_share(row), verdict, f"holds: exact interval below {target:g}")


def keeps_level(rows: Sequence[Row]) -> Verdict:
    """Judge whether the rate of false positives over all cells is about the 5 % of the test.

    References
    ----------
    Bradley, J. V. (1978). Robustness? *British Journal of Mathematical and Statistical Psychology* 31, 144–152.

    Examples
    --------
    >>> keeps_level([{"cell": "x", "n": 1000, "power": 0.1}]).verdict
    'does not hold'
    """
    from ordbridge.power.estimates import clopper_pearson

    n, hits = sum(r["n"] for r in rows), sum(round(r["n"] * r["power"]) for r in rows)
    low, high = clopper_pearson(hits, n)
    verdict = HOLDS if high < LIBERAL else FAILS if low > LIBERAL else UNDECIDED
    worst = max(r["power"] for r in rows)
    found = f"{hits / n:.3f} [{low:.3f}, {high:.3f}] over {len(rows)} cells, at most {worst:.3f} in one"
    return Verdict(found, verdict, f"holds: interval below {LIBERAL:g}, Bradley's liberal limit; does not: above it")


def all_of(verdicts: Sequence[Verdict]) -> str:
    """Return the verdict on all of several statements."""
    said = {v.verdict for v in verdicts}
    return FAILS if FAILS in said else UNDECIDED if UNDECIDED in said else HOLDS


def _share(row: Row) -> str:
    return f"{row['power']:.3f} [{row['conf_low']:.3f}, {row['conf_high']:.3f}]"
