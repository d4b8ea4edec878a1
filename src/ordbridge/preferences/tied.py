"""Comparisons whose raters and items have preferences of their own: one variance per grouping, by Laplace's method.

η = β_a − β_b + position + σ_r (u_ra − u_rb) + σ_i (v_ia − v_ib), with u, v ~ N(0, 1) for every rater:system and
item:system. The matrix of second derivatives has a block for each level of the larger grouping, which is eliminated,
and a dense rest: the other grouping, and the systems where these are integrated too (``src/core/tied.cpp``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ordbridge import _core
from ordbridge.preferences.rows import RowTerms, cut_points, row_terms

__all__ = ["LARGEST_REST", "Comparisons", "Mode", "Tied", "start_spacings"]

LARGEST_REST = 3000  # columns of the dense rest
STEPS = 60
CLOSE = 1e-11
DIFFERENCE = 1e-5


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Coded comparisons: y from 0 (second much better) to categories − 1 (first much better)."""

    first: np.ndarray
    second: np.ndarray
    y: np.ndarray
    categories: int
    systems: int
    groups: tuple[np.ndarray, ...] = ()
    """For each random grouping the level of every row, from 0."""
    position: bool = False
    link: str = "logit"
    extra: np.ndarray | None = None
    """A column of its own for some pairs of systems: its number for each row, −1 for none."""

    @property
    def n(self) -> int:
        """The number of comparisons."""
        return len(self.y)

    @property
    def coefficients(self) -> int:
        """How many: systems but the first, columns of pairs, and the position."""
        pairs = 0 if self.extra is None else int(self.extra.max()) + 1
        return self.systems - 1 + pairs + self.position


@dataclass(eq=False)
class Mode:
    """The most probable random effects (and coefficients, where these are integrated) at given parameters."""

    value: float
    """Minus the Laplace log likelihood, penalties included."""
    coefficients: np.ndarray
    covariance: np.ndarray
    """Of the coefficients, where they are integrated; otherwise empty."""
    gradient: np.ndarray


class Tied:
    """Minus the Laplace log likelihood as a function of (log spacings, log standard deviations[, coefficients]).

    Parameters
    ----------
    data
        The comparisons; the order of its groups is that of the standard deviations.
    integrate
        Whether coefficients are integrated with a flat prior, as restricted maximum likelihood does, in place of being
        parameters (maximum likelihood).
    penalty
        How often log σ is added for each grouping: 1 keeps a standard deviation from being estimated at zero.
    widest
        σ²/(2 widest²) is taken off for each grouping: keeps a standard deviation from running away where the levels
        of a grouping always give the same answer.

    References
    ----------
    Kristensen, K. et al. (2016). TMB: automatic differentiation and Laplace approximation. JSS 70(5).
    Chung, Y. et al. (2013). A nondegenerate penalized likelihood estimator for variance parameters in multilevel
    models. Psychometrika 78, 685–709.

    Examples
    --------
    >>> data = Comparisons(np.zeros(3, int), np.ones(3, int), np.array([0, 1, 1]), 2, 2, (np.array([0, 1, 2]),))
    >>> round(Tied(data).mode(np.array([-9.0, 0.0])).value, 4)  # σ next to 0, no preference: 3 log 2
    2.0794
    """

    def __init__(
        self, data: Comparisons, integrate: bool = False, penalty: float = 0.0, widest: float = np.inf
    ) -> None:
        self.data, self.integrate, self.penalty, self.widest = data, integrate, penalty, widest
        self.spacings = (data.categories - 1) // 2
        self.sds = len(data.groups)
        self.by_size = np.argsort([-int(group.max()) for group in data.groups], kind="stable")
        self._lay_out()
        self.start = np.zeros(self.width + self.rest)

    @property
    def size(self) -> int:
        """The number of parameters."""
        return self.spacings + self.sds + (0 if self.integrate else self.data.coefficients)

    def _lay_out(self) -> None:
        data = self.data
        n, S = data.n, data.systems
        level = data.groups[self.by_size[0]] if self.sds else np.arange(n) // 256
        self.rows = np.argsort(level, kind="stable")
        a, b, level = data.first[self.rows], data.second[self.rows], level[self.rows]
        plus: np.ndarray = np.full(n, -1, dtype=np.int64)
        minus = plus
        self.width = 0
        if self.sds:
            plus, minus, self.width = _pairs(level, a, b, S)
        columns, values = [], []
        self.random_rest = 0
        if self.sds > 1:
            up, down, self.random_rest = _pairs(data.groups[self.by_size[1]][self.rows], a, b, S)
            columns += [up, down]
            values += [np.ones(n), -np.ones(n)]
        # coefficients: all systems but the first, and the position
        system = [np.where(a > 0, a - 1, -1), np.where(b > 0, b - 1, -1)]
        self._coefficient_columns = system
        if self.integrate:
            columns += [np.where(one >= 0, self.random_rest + one, -1) for one in system]
            values += [np.ones(n), -np.ones(n)]
            if data.extra is not None:
                own = data.extra[self.rows]
                columns.append(np.where(own >= 0, self.random_rest + S - 1 + own, -1))
                values.append(np.where(a < b, 1.0, -1.0))
            if data.position:
                columns.append(np.full(n, self.random_rest + data.coefficients - 1))
                values.append(np.ones(n))
        self.rest = self.random_rest + (data.coefficients if self.integrate else 0)
        self.solver = _core.TiedSolver(
            np.ascontiguousarray(level, dtype=np.int64), plus, minus,
            np.column_stack(columns).astype(np.int64).ravel() if columns else np.empty(0, dtype=np.int64),
            np.column_stack(values).ravel() if columns else np.empty(0), self.width, self.rest, self.random_rest,
        )  # fmt: skip
        self.y = data.y[self.rows]

    # -- evaluation, with rows in the order of the blocks

    def split(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return log spacings, standard deviations by grouping, and coefficients."""
        sd = np.exp(x[self.spacings : self.spacings + self.sds])
        return x[: self.spacings], sd, x[self.spacings + self.sds :]

    def _terms(self, spacing: np.ndarray, predictor: np.ndarray) -> RowTerms:
        cuts = cut_points(spacing, self.data.categories)
        return row_terms(cuts[self.y + 1] - predictor, cuts[self.y] - predictor, self.data.link)

    def _scales(self, sd: np.ndarray) -> tuple[float, float]:
        own = float(sd[self.by_size[0]]) if self.sds else 1.0
        return own, float(sd[self.by_size[1]]) if self.sds > 1 else 1.0

    def _offset(self, beta: np.ndarray) -> np.ndarray:
        strength = np.concatenate([beta[: self.data.systems - 1], [0.0]])  # the last one for column −1
        a, b = self._coefficient_columns
        out = strength[a] - strength[b] + (beta[-1] if self.data.position else 0.0)
        if (own := self.data.extra) is not None:
            pairs = np.concatenate([beta[self.data.systems - 1 :], [0.0]])  # the last one for column −1
            out += np.where(a < b, 1.0, -1.0) * pairs[own[self.rows]]
        return np.asarray(out)

    def _pulled_coefficients(self, rows: np.ndarray) -> np.ndarray:
        a, b = self._coefficient_columns
        S = self.data.systems
        by_system = np.bincount(a + 1, rows, S) - np.bincount(b + 1, rows, S)
        by_pair: np.ndarray = np.empty(0)
        if (own := self.data.extra) is not None:
            signed = np.where(a < b, 1.0, -1.0) * rows
            by_pair = np.bincount(own[self.rows] + 1, signed, int(own.max()) + 2)[1:]
        return np.concatenate([by_system[1:], by_pair, [rows.sum()] if self.data.position else []])

    def mode(self, x: np.ndarray, gradient: bool = True) -> Mode:
        """Find the mode and evaluate Laplace's approximation there, with its gradient."""
        spacing, sd, beta = self.split(np.asarray(x, dtype=float))
        scales, solver = self._scales(sd), self.solver
        offset: np.ndarray | float = 0.0 if self.integrate else self._offset(beta)
        prior = np.ones(self.width + self.rest)
        prior[self.width + self.random_rest :] = 0.0

        def at(inner: np.ndarray) -> tuple[np.ndarray, RowTerms, float]:
            eta = offset + solver.predictor(inner, *scales)
            terms = self._terms(spacing, eta)
            return eta, terms, float(0.5 * prior @ inner**2 - terms.value.sum())

        inner = self.start
        eta, terms, loss = at(inner)
        for _ in range(STEPS):
            determinant = solver.factor(terms.weight, *scales)
            slope = solver.pulled(terms.slope, *scales) - prior * inner
            step = solver.solve(slope)
            if not np.isfinite(determinant) or not 0.5 * float(slope @ step) > CLOSE:
                break
            length = 1.0
            while True:
                new = inner + length * step
                moved = at(new)
                if moved[2] <= loss + 1e-13 * abs(loss) or length < 1e-6:
                    break
                length /= 2
            inner, (eta, terms, loss) = new, moved
        if not np.isfinite(determinant) or not np.isfinite(loss):
            return Mode(np.inf, beta, np.empty((0, 0)), np.zeros(self.size))
        self.start = inner
        value = loss + 0.5 * determinant - self.penalty * float(np.log(sd).sum())
        value += 0.5 * float(((sd / self.widest) ** 2).sum())
        if self.integrate:
            value -= 0.5 * self.data.coefficients * np.log(2 * np.pi)
        coefficients = inner[self.width + self.random_rest :] if self.integrate else beta
        covariance = solver.covariance(self.data.coefficients) if self.integrate else np.empty((0, 0))
        slopes = self._gradient(spacing, scales, inner, eta, terms) if gradient else np.empty(0)
        return Mode(float(value), coefficients, covariance, slopes)

    def _gradient(
        self, spacing: np.ndarray, scales: tuple[float, float], inner: np.ndarray, eta: np.ndarray, terms: RowTerms
    ) -> np.ndarray:
        solver = self.solver
        spread, *parts = solver.spread()
        pull = -0.5 * spread * terms.third  # ½ log det by the linear predictor
        back = solver.solve(solver.pulled(pull, *scales))
        shifted = pull - terms.weight * solver.predictor(back, *scales)
        out = np.zeros(self.size)
        for k in range(self.spacings):
            h = np.zeros(self.spacings)
            h[k] = DIFFERENCE
            high, low = self._terms(spacing + h, eta), self._terms(spacing - h, eta)
            by = 0.5 / DIFFERENCE
            slope, weight = (high.slope - low.slope) * by, (high.weight - low.weight) * by
            value = (high.value - low.value).sum() * by
            out[k] = -value + 0.5 * spread @ weight + solver.pulled(slope, *scales) @ back
        pulled = solver.pulled(terms.slope, *scales)
        for place, group in enumerate(self.by_size):
            chosen = slice(0, self.width) if place == 0 else slice(self.width, self.width + self.random_rest)
            only, moved = np.zeros_like(inner), np.zeros_like(inner)
            only[chosen], moved[chosen] = inner[chosen], pulled[chosen]
            direct = solver.predictor(only, *scales)  # by log σ
            out[self.spacings + group] = (
                (shifted - terms.slope) @ direct + terms.weight @ parts[place] + moved @ back - self.penalty
            )
            out[self.spacings + group] += (scales[place] / self.widest) ** 2
        if not self.integrate:
            out[self.spacings + self.sds :] = self._pulled_coefficients(shifted - terms.slope)
        return out


def _pairs(level: np.ndarray, a: np.ndarray, b: np.ndarray, systems: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the number of each row's two pairs of level and system, and how many pairs occur."""
    both = np.concatenate([level * systems + a, level * systems + b]).astype(np.int64)
    used, code = np.unique(both, return_inverse=True)
    n = len(level)
    return np.ascontiguousarray(code[:n], dtype=np.int64), np.ascontiguousarray(code[n:], dtype=np.int64), len(used)


def start_spacings(data: Comparisons) -> np.ndarray:
    """Return log spacings at which categories are as frequent as they are, without any preference.

    Examples
    --------
    >>> data = Comparisons(np.zeros(4, int), np.ones(4, int), np.array([0, 1, 1, 2]), 3, 2)
    >>> np.exp(start_spacings(data)).round(2).tolist()
    [0.98]
    """
    counts = np.bincount(data.y, minlength=data.categories) + 0.5
    both = counts + counts[::-1]
    share = np.cumsum(both) / both.sum()
    cuts = np.log(share[:-1] / (1 - share[:-1]))
    positive = cuts[cuts > 1e-9]
    return np.asarray(np.log(np.maximum(np.diff(positive, prepend=0.0), 1e-3)))
