"""Rankings: Plackett–Luce with preferences of raters and items of their own, by Laplace's method.

A ranking of k systems is k − 1 choices of the best of those that are left. Its pairs are not independent: as k(k − 1)/2
comparisons they would count (k + 1)/3 times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg, optimize

from ordbridge.errors import FitError, InputError
from ordbridge.preferences.fitting import NO_MAXIMUM, WIDEST, Restricted
from ordbridge.preferences.table import PairTable

__all__ = ["Rankings", "best_worst_pairs", "fit_rankings", "rankings_of"]

LARGEST = 2500  # effects and coefficients, which are one dense matrix
STEPS = 60
BOUNDS = (np.log(1e-3), np.log(20.0))
STEP = 0.02


@dataclass(frozen=True, eq=False)
class Rankings:
    """Rankings as rows of systems, the best first; −1 where a ranking has fewer."""

    order: np.ndarray
    systems: int
    groups: tuple[np.ndarray, ...] = ()
    """For each random grouping the level of every ranking."""


def rankings_of(table: PairTable) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the rankings that pairs were made from, and the first row of each; ``None`` where they are not rankings.

    Pairs of one rater and item are a ranking if all of its systems were compared once, without ties and circles.
    """
    if table.item is None or (table.points == 0.5).any():
        return None
    rater = np.zeros(table.n, dtype=np.int64) if table.rater is None else table.rater
    order = np.lexsort((table.item, rater))
    change = (np.diff(rater[order]) != 0) | (np.diff(table.item[order]) != 0)
    found, first = [], []
    for rows in np.split(order, np.flatnonzero(change) + 1):
        better = np.where(table.points[rows] > 0.5, table.first[rows], table.second[rows])
        systems = np.unique(np.concatenate([table.first[rows], table.second[rows]]))
        wins = np.array([(better == one).sum() for one in systems])
        if len(rows) != len(systems) * (len(systems) - 1) // 2 or sorted(wins) != list(range(len(systems))):
            return None
        found.append(systems[np.argsort(-wins)])
        first.append(rows[0])
    width = max(map(len, found))
    padded = np.full((len(found), width), -1, dtype=np.int64)
    for k, one in enumerate(found):
        padded[k, : len(one)] = one
    return padded, np.array(first)


class _PlackettLuce:
    """The Laplace likelihood with coefficients integrated, as a function of log standard deviations."""

    def __init__(self, data: Rankings, penalty: float) -> None:
        self.data, self.penalty = data, penalty
        S = data.systems
        self.present = data.order >= 0
        code = np.where(self.present, data.order, 0)
        self.columns: list[np.ndarray] = []
        self.sizes: list[int] = []
        start = 0
        for group in data.groups:
            used, place = np.unique(group[:, None] * S + code, return_inverse=True)
            self.columns.append(start + place.reshape(code.shape))
            self.sizes.append(len(used))
            start += len(used)
        self.random = start
        self.width = start + S - 1
        self.fixed = np.where(code > 0, start + code - 1, -1)
        if self.width > LARGEST:
            raise InputError(
                f"rankings with {self.width:,} preferences of raters and items are too many; leave items out"
            )
        self.inner = np.zeros(self.width)

    def scales(self, x: np.ndarray) -> np.ndarray:
        """Return what multiplies each column."""
        return np.concatenate(
            [*(np.full(n, np.exp(v)) for n, v in zip(self.sizes, x, strict=True)), np.ones(self.data.systems - 1)]
        )

    def _rows(self, effects: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return log likelihood, slopes (n × k) and minus the second derivatives (n × k × k) by the utilities."""
        padded = np.append(effects, 0.0)
        utility = padded[self.fixed].copy()
        for columns in self.columns:
            utility += effects[columns]
        utility = np.where(self.present, utility, -np.inf)
        n, k = utility.shape
        slope, weight, value = np.zeros((n, k)), np.zeros((n, k, k)), 0.0
        for stage in range(k - 1):
            going = self.present[:, stage + 1]  # two systems or more are left
            left = utility[going, stage:]
            top = left.max(axis=1, keepdims=True)
            p = np.exp(left - top)
            total = p.sum(axis=1, keepdims=True)
            value += float((left[:, 0] - top[:, 0] - np.log(total[:, 0])).sum())
            p /= total
            slope[going, stage:] -= p
            slope[going, stage] += 1.0
            weight[going, stage:, stage:] -= p[:, :, None] * p[:, None, :]
            at = np.arange(stage, k)
            weight[np.flatnonzero(going)[:, None], at, at] += p
        return value, slope, weight

    def _assembled(self, slope: np.ndarray, weight: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        size = self.width + 1  # the last one for the system that is 0 and for gaps
        gradient, H = np.zeros(size), np.zeros(size * size)
        columns = [*self.columns, self.fixed]
        columns = [np.where(self.present & (one >= 0), one, size - 1) for one in columns]
        for one in columns:
            gradient += np.bincount(one.ravel(), slope.ravel(), size)
            for other in columns:
                index = (one[:, :, None] * size + other[:, None, :]).ravel()
                H += np.bincount(index, weight.ravel(), size * size)
        H = H.reshape(size, size)[:-1, :-1] * scale[:, None] * scale
        H[np.arange(self.random), np.arange(self.random)] += 1.0
        return gradient[:-1] * scale, H

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return minus the log likelihood, coefficients and their covariance."""
        scale = self.scales(x)
        inner = self.inner
        prior = np.append(np.ones(self.random), np.zeros(self.data.systems - 1))
        value, slope, weight = self._rows(scale * inner)
        loss = 0.5 * prior @ inner**2 - value
        for _ in range(STEPS):
            gradient, H = self._assembled(slope, weight, scale)
            gradient -= prior * inner
            try:
                factor = linalg.cho_factor(H, lower=True, check_finite=False)
            except linalg.LinAlgError as failure:
                raise FitError(NO_MAXIMUM) from failure
            step = linalg.cho_solve(factor, gradient, check_finite=False)
            if 0.5 * gradient @ step < 1e-11:
                break
            length = 1.0
            while True:
                new = inner + length * step
                value, slope, weight = self._rows(scale * new)
                if (after := 0.5 * prior @ new**2 - value) <= loss + 1e-12 * abs(loss) or length < 1e-6:
                    break
                length /= 2
            inner, loss = new, after
        if not np.isfinite(loss) or np.abs(inner[self.random :]).max(initial=0.0) > 30:
            raise FitError(NO_MAXIMUM)
        self.inner = inner
        fixed = self.data.systems - 1
        unit = np.zeros((self.width, fixed))
        unit[self.random :] = np.eye(fixed)
        covariance = linalg.cho_solve(factor, unit, check_finite=False)[self.random :]
        determinant = 2.0 * np.log(np.diag(factor[0])).sum()
        total = loss + 0.5 * determinant - 0.5 * fixed * np.log(2 * np.pi) - self.penalty * np.sum(x)
        total += 0.5 * np.sum((np.exp(x) / WIDEST) ** 2)
        return float(total), inner[self.random :].copy(), covariance


def fit_rankings(data: Rankings, penalty: float = 0.1) -> Restricted:
    """Fit Plackett–Luce with coefficients integrated, and variances kept from zero as for comparisons.

    References
    ----------
    Luce, R. D. (1959). Individual Choice Behavior. Wiley.
    Plackett, R. L. (1975). The analysis of permutations. Applied Statistics 24, 193–202.

    Examples
    --------
    >>> orders = np.array([[0, 1, 2], [1, 0, 2], [0, 2, 1], [2, 1, 0]])
    >>> fit_rankings(Rankings(orders, 3)).coefficients.round(4).tolist()
    [-0.266, -0.697]
    """
    model = _PlackettLuce(data, penalty)
    count = len(data.groups)
    x = np.full(count, np.log(0.5))
    settled = True
    if count:
        found = optimize.minimize(
            lambda z: model(z)[0], x, method="L-BFGS-B", bounds=[BOUNDS] * count, options={"eps": 1e-4, "ftol": 1e-10}
        )
        x, settled = found.x, bool(found.success or found.status == 2)
    value, coefficients, covariance = model(x)
    hessian = np.zeros((count, count))
    slopes, moves, ends = [], [], {}
    for k in range(count):
        h = STEP * np.eye(count)[k]
        high, low = model(x + h), model(x - h)
        ends[k] = high[0], low[0]
        hessian[k, k] = (high[0] - 2 * value + low[0]) / STEP**2
        slopes.append((high[2] - low[2]) / (2 * STEP))
        moves.append((high[1] - low[1]) / (2 * STEP))
    if count == 2:
        both = model(x + STEP)[0] - ends[0][0] - ends[1][0] + value
        hessian[0, 1] = hessian[1, 0] = both / STEP**2
    spread = np.empty((0, 0))
    if count:
        values, vectors = np.linalg.eigh(hessian)
        spread = (vectors / np.maximum(values, 1e-2)) @ vectors.T
        J = np.column_stack(moves)
        covariance = covariance + J @ spread @ J.T
    cuts = np.array([-np.inf, 0.0, np.inf])
    return Restricted(coefficients, covariance, np.exp(x), cuts, x, spread, tuple(slopes), settled)


def best_worst_pairs(
    shown: Sequence[Sequence[str]], best: Sequence[str], worst: Sequence[str]
) -> dict[str, list[str] | list[int]]:
    """Return the comparisons that best–worst choices imply: the best before all others, all others before the worst.

    Parameters
    ----------
    shown
        For each choice the systems that were shown.
    best, worst
        Which of them was called best, and which worst.

    Returns
    -------
    dict
        ``choice`` (its number from 0), ``first``, ``second`` and ``outcome`` for :func:`ordbridge.prefer` and
        :func:`compare_preferences`, to which rater and item have to be added: without these the pairs of a choice would
        count as independent.

    Examples
    --------
    >>> best_worst_pairs([["A", "B", "C"]], ["B"], ["C"])
    {'choice': [0, 0, 0], 'first': ['B', 'B', 'A'], 'second': ['A', 'C', 'C'], 'outcome': ['a', 'a', 'a']}
    """
    out: dict[str, list] = {"choice": [], "first": [], "second": [], "outcome": []}
    for number, (names, top, bottom) in enumerate(zip(shown, best, worst, strict=True)):
        if top not in names or bottom not in names or top == bottom:
            raise InputError(f"choice {number + 1}: best and worst must be two of the systems shown")
        pairs = [(top, one) for one in names if one != top]
        pairs += [(one, bottom) for one in names if one not in (top, bottom)]
        for a, b in pairs:
            for name, value in zip(out, (number, a, b, "a"), strict=True):
                out[name].append(value)
    return out
