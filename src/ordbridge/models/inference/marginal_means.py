"""Effects that people can say: mean ratings of systems, differences in points, probabilities.

For each combination of levels of the factors, with numeric predictors at their means (emmeans' reference grid), the
model gives the probability of each category, for clmm integrated over new participants and items:

    P(y ≤ j) = ∫ F((θ_j − η − √v·x) / σ) φ(x) dx,   v = zᵀΣz

with the thresholds θ and the residual spread σ of the levels, where nominal and scale effects move them. Means are
averages over the levels of other factors with equal weights, on the scale that is asked for. Standard errors are by the
delta method from the covariance of thresholds and coefficients; the variances of random effects are taken as known
there. What few participants or items cost is made up for by Student's t, with Satterthwaite's degrees of freedom of the
linear mixed model with the same terms; the bootstrap knows that variances are estimated.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ordbridge.errors import InputError, StatisticalWarning
from ordbridge.formula import expand, names
from ordbridge.models import predict as prediction
from ordbridge.models import thresholds
from ordbridge.models.engines import engine_module
from ordbridge.models.fit_factors import factor_column
from ordbridge.models.fit_tables import floats
from ordbridge.models.inference.adjust import ADJUSTMENTS, adjusted, quantile
from ordbridge.models.inference.hypothesis import on_rows
from ordbridge.models.inference.linear_df import linear_df
from ordbridge.models.inference.reference_rows import ReferenceGrid, parts_of, reference_grid
from ordbridge.models.inference.resampling import (
    FAILURES,
    DrawPlan,
    Source,
    by_likelihood,
    native,
    native_notes,
    percentiles,
    results,
    with_response,
)
from ordbridge.models.problem import Estimates, Matrices, Problem
from ordbridge.render.layout import ShownTable
from ordbridge.results.finding import Finding, findings_of, found, with_findings
from ordbridge.results.result import Result
from ordbridge.support.arguments import choice, number, proportion
from ordbridge.support.naming import arg

if TYPE_CHECKING:
    from ordbridge.models.fit import Fit

SCALES = ("rating", "latent", "probability")
METHODS = ("delta", "bootstrap")
DEGREES = ("satterthwaite", "asymptotic")
STEP = 1e-5  # of differences, in standard errors of a parameter


@dataclass(frozen=True, repr=False)
class Means(Result):
    """Means of a factor's levels, and their pairwise differences.

    Attributes
    ----------
    table
        All rows; see :meth:`ordbridge.Fit.means`.
    """

    kind = "means"
    table: pa.Table

    def __repr__(self) -> str:
        """Show the tables, which are the answer."""
        return str(self).strip()

    @property
    def title(self) -> str:  # type: ignore[override]
        """What the report is called."""
        return "Means and differences"

    @property
    def means(self) -> pa.Table:
        """Means of the levels; with ``on="probability"`` the probability of each category."""
        return self._rows("mean", "probability", without=("system_a", "system_b", "p_value", "p_adjusted", "statistic"))

    @property
    def differences(self) -> pa.Table:
        """Differences of all pairs; with ``on="probability"`` how probably one is rated above the other."""
        return self._rows("difference", "superiority", without=("level", "category"))

    def _rows(self, *what: str, without: tuple[str, ...]) -> pa.Table:
        import pyarrow.compute as pc

        rows = self.table.filter(pc.is_in(self.table["what"], pa.array(what)))
        return rows.drop_columns([name for name in ("what", *without) if name in rows.column_names])

    @property
    def findings(self) -> tuple[Finding, ...]:  # type: ignore[override]
        """What a reader should know."""
        return findings_of(self.table)

    @property
    def tables(self) -> dict[str, pa.Table]:
        """Both tables by name."""
        return {"means": self.means, "differences": self.differences}

    def main(self) -> list[ShownTable]:
        """Return both tables."""
        less = ("statistic", "p_value")
        shown = {
            name: table.drop_columns([column for column in less if column in table.column_names])
            for name, table in self.tables.items()
        }
        return [ShownTable(table, name.capitalize()) for name, table in shown.items() if table.num_rows]


@dataclass(frozen=True)
class Line:
    """One row of the table: what it is about, where 0 (or ½) means no difference."""

    what: str  # "mean", "probability", "difference" or "superiority"
    by: tuple[str, ...]
    level: str | None = None
    pair: tuple[str | None, str | None] = (None, None)
    category: str | None = None
    null: float | None = None


@dataclass(frozen=True, eq=False)
class Effects:
    """Means and differences with their joint covariance, and the combinations of coefficients behind the means."""

    lines: list[Line]
    estimate: np.ndarray
    covariance: np.ndarray
    df: np.ndarray  # NaN for z
    cells: tuple[str, ...]  # the levels
    pairs: list[tuple[int, int]]  # of cells
    combinations: np.ndarray  # a row for each cell, over the fixed coefficients


def effects(fit: Fit, factor: str, on: str = "rating") -> Effects:
    """Return the means of a factor's levels, or probabilities, and all pairwise comparisons, by the delta method.

    Examples
    --------
    >>> import ordbridge as ob
    >>> found = effects(ob.lm("y ~ s", {"y": [1.0, 2.0, 4.0, 5.0], "s": list("AABB")}, engine="fast"), "s")
    >>> found.cells, found.estimate.round(6).tolist(), found.covariance.diagonal().round(6).tolist()
    (('A', 'B'), [1.5, 4.5, -3.0], [0.25, 0.25, 0.5])
    """
    choice("on", on, SCALES)
    _refuse(fit.problem, on)
    grid = reference_grid(fit, _wanted(fit, factor, None))
    lines, value = _asked(fit.problem, fit.estimates.levels, grid, on)
    rows = fit.matrices(grid.columns)
    combinations = _combinations(rows, grid)
    if fit.problem.ordinal:
        estimate, covariance = delta(fit, grid, value)
    else:  # means of a linear model are combinations of its coefficients
        L = _with_differences(combinations, grid)
        estimate, covariance = value(fit.estimates, rows), L @ fit.estimates.vcov @ L.T
    df = _df(fit, grid, combinations, len(lines), "asymptotic")
    names = tuple(level for _, level, _ in grid.cells)
    return Effects(lines, estimate, covariance, df, names, grid.pairs(), combinations)


def means(
    fit: Fit,
    factor: str,
    on: str,
    by: str | Sequence[str] | None,
    adjust: str,
    conf_level: float,
    method: str,
    df: str,
    how: DrawPlan,
) -> Means:
    """Return means and pairwise differences; see :meth:`ordbridge.Fit.means`."""
    choice("on", on, SCALES)
    choice("adjust", adjust, ADJUSTMENTS)
    choice("method", method, METHODS)
    choice("df", df, DEGREES)
    proportion("conf_level", conf_level)
    _refuse(fit.problem, on)
    wanted = _wanted(fit, factor, by)
    grid = reference_grid(fit, wanted)
    lines, value = _asked(fit.problem, fit.estimates.levels, grid, on)
    estimate, covariance = delta(fit, grid, value)
    error = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    combinations = _combinations(fit.matrices(grid.columns), grid)
    own, notes = _df(fit, grid, combinations, len(lines), df), []
    if fit.problem.model == "clmm" and df == "satterthwaite" and np.isnan(own).any():
        notes.append(found("z-instead-of-t"))
    low, high, p_value, p_adjusted, statistic = _inferred(lines, estimate, error, own, adjust, conf_level)
    if method == "bootstrap":
        low, high = _bootstrap(fit, grid, value, conf_level, how, notes)
        p_value = p_adjusted = statistic = np.full(len(lines), np.nan)
    table = pa.table(
        {
            "what": [line.what for line in lines],
            **{name: [line.by[i] for line in lines] for i, name in enumerate(_listed(by))},
            "level": pa.array([line.level for line in lines], pa.string()),
            "system_a": pa.array([line.pair[0] for line in lines], pa.string()),
            "system_b": pa.array([line.pair[1] for line in lines], pa.string()),
            "category": pa.array([line.category for line in lines], pa.string()),
            "estimate": estimate,
            "std_error": error,
            "df": floats(own),
            "statistic": floats(statistic),
            "p_value": floats(p_value),
            "p_adjusted": floats(p_adjusted),
            "conf_low": low,
            "conf_high": high,
        }
    )
    return Means(with_findings(table, [*interactions(fit, wanted), *notes]))


def equivalence(
    fit: Fit, factor: str, margin: float, on: str, by: str | Sequence[str] | None, alpha: float, df: str
) -> pa.Table:
    """Return two one-sided tests of every difference; see :meth:`ordbridge.Fit.equivalence`."""
    from scipy import stats

    choice("on", on, ("rating", "latent"))
    proportion("alpha", alpha)
    if number("margin", margin) <= 0:
        raise InputError(f"{arg('margin', margin)} must be above 0: how large a difference would still not matter")
    found = means(fit, factor, on, by, "none", 1 - 2 * alpha, "delta", df, DrawPlan(0))
    rows = found.differences.to_pylist()
    out = []
    for row in rows:
        d, se = row["estimate"], row["std_error"]
        reference = stats.norm() if row["df"] is None else stats.t(row["df"])
        above = float(reference.sf((d + margin) / se))  # against d ≤ −margin
        below = float(reference.cdf((d - margin) / se))  # against d ≥ margin
        out.append(
            {name: row[name] for name in _listed(by)}
            | {"system_a": row["system_a"], "system_b": row["system_b"], "difference": d, "std_error": se}
            | {"df": row["df"], "margin": float(margin)}
            | {"p_above": above, "p_below": below, "p_value": max(above, below)}
            | {"equivalent": max(above, below) < alpha, "conf_low": row["conf_low"], "conf_high": row["conf_high"]}
        )
    kinds = [(name, pa.string()) for name in (*_listed(by), "system_a", "system_b")]
    kinds += [
        (name, pa.float64()) for name in ("difference", "std_error", "df", "margin", "p_above", "p_below", "p_value")
    ]
    kinds += [("equivalent", pa.bool_()), ("conf_low", pa.float64()), ("conf_high", pa.float64())]
    return pa.Table.from_pylist(out, schema=pa.schema(kinds))


def _refuse(problem: Problem, on: str) -> None:
    if on == "probability" and not problem.ordinal:
        raise InputError(f"{problem.model} has no categories; {arg('on', 'probability')} is for clm and clmm")
    if problem.threshold == "symmetric2":
        raise InputError(f"means are not known for {arg('threshold', 'symmetric2')}; use another threshold")


def _listed(by: str | Sequence[str] | None) -> tuple[str, ...]:
    return () if by is None else (by,) if isinstance(by, str) else tuple(by)


def _wanted(fit: Fit, factor: str, by: str | Sequence[str] | None) -> list[str]:
    """Return the columns of ``by`` and of the factor."""
    wanted = [factor_column(fit.problem, name) for name in (*_listed(by), factor)]
    if len(set(wanted)) < len(wanted):
        raise InputError(f"{factor!r} is in by, too; give other factors there")
    for one in interactions(fit, wanted):
        warnings.warn(one.text, StatisticalWarning, stacklevel=4)
    return wanted


def interactions(fit: Fit, wanted: Sequence[str]) -> list[Finding]:
    """Say with what the last of these factors interacts that is not among them: means over it may mislead."""
    said = []
    for term in dict.fromkeys(term for part in parts_of(fit.problem) for term in expand(part).terms):
        inside = {name for variable in term for name in names(variable)}
        if wanted[-1] in inside and inside - set(wanted):
            others = ", ".join(sorted(inside - set(wanted)))
            said.append(found("means-over-interaction", factor=wanted[-1], others=others))
    return said


def _asked(
    problem: Problem, levels: tuple[str, ...], grid: ReferenceGrid, on: str
) -> tuple[list[Line], Callable[[Estimates, Matrices], np.ndarray]]:
    """Return what is asked for, and the function of estimates that it is, in the same order."""
    pairs = grid.pairs()
    differences = [
        Line("difference", grid.cells[i][0], pair=(grid.cells[i][1], grid.cells[j][1]), null=0.0) for i, j in pairs
    ]
    if on == "probability":

        def probabilities(e: Estimates, rows: Matrices) -> np.ndarray:
            p = np.array([_probability(problem, e, rows)[own].mean(axis=0) for _, _, own in grid.cells])
            above = [p[i] @ (np.cumsum(p[j]) - 0.5 * p[j]) for i, j in pairs]
            return np.concatenate([p.ravel(), above])

        lines = [
            Line("probability", by, level, category=category) for by, level, _ in grid.cells for category in levels
        ]
        lines += [
            Line("superiority", grid.cells[i][0], pair=(grid.cells[i][1], grid.cells[j][1]), null=0.5) for i, j in pairs
        ]
        return lines, probabilities

    def averages(e: Estimates, rows: Matrices) -> np.ndarray:
        value = _scale(problem, e, rows, on)
        m = np.array([value[own].mean() for _, _, own in grid.cells])
        return np.concatenate([m, [m[i] - m[j] for i, j in pairs]])

    return [Line("mean", by, level) for by, level, _ in grid.cells] + differences, averages


def _scale(problem: Problem, e: Estimates, rows: Matrices, on: str) -> np.ndarray:
    """Return each row's mean: its latent quality above the mean of its thresholds, or its expected rating."""
    eta = prediction.location(e, rows)
    if not problem.ordinal:
        return eta
    if on == "latent":
        return eta - prediction.cutpoints(e, rows).mean(axis=1)
    return _probability(problem, e, rows) @ scores(e.levels)


def scores(levels: Sequence[str]) -> np.ndarray:
    """Return the ratings as numbers: their own, or 1, 2, … where categories are words.

    Examples
    --------
    >>> scores(("0", "50", "100")).tolist(), scores(("bad", "good")).tolist()
    ([0.0, 50.0, 100.0], [1.0, 2.0])
    """
    try:
        return np.array([float(level) for level in levels])
    except ValueError:
        return np.arange(1.0, len(levels) + 1)


def _probability(problem: Problem, e: Estimates, rows: Matrices) -> np.ndarray:
    return prediction.probabilities(problem, e, rows, "marginal")


def delta(
    fit: Fit, grid: ReferenceGrid, value: Callable[[Estimates, Matrices], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the estimates and their covariance: G V Gᵀ, with G by central differences."""
    e, rows = fit.estimates, fit.matrices(grid.columns)
    step = STEP * np.where(np.isfinite(e.std_error) & (e.std_error > 0), e.std_error, 1.0)
    G = np.column_stack(
        [(value(_moved(fit, k, h), rows) - value(_moved(fit, k, -h), rows)) / (2 * h) for k, h in enumerate(step)]
    )
    return value(e, rows), G @ e.vcov @ G.T


def _moved(fit: Fit, k: int, h: float) -> Estimates:
    e = fit.estimates
    estimate = e.estimate.copy()
    estimate[k] += h
    if e.effects[k] not in ("threshold", "nominal"):
        return replace(e, estimate=estimate)
    J = thresholds.jacobian(len(e.levels) - 1, fit.problem.threshold or "flexible")
    blocks = estimate[e.having("threshold") | e.having("nominal")].reshape(-1, J.shape[1]) @ J.T
    return replace(e, estimate=estimate, cutpoints=blocks[0], cutpoint_shifts=blocks[1:])


def _combinations(rows: Matrices, grid: ReferenceGrid) -> np.ndarray:
    """Return for each cell the weights of the coefficients in its mean."""
    return np.array([rows.X[own].mean(axis=0) for _, _, own in grid.cells])


def _with_differences(combinations: np.ndarray, grid: ReferenceGrid) -> np.ndarray:
    return np.array([*combinations, *(combinations[i] - combinations[j] for i, j in grid.pairs())])


def _df(fit: Fit, grid: ReferenceGrid, combinations: np.ndarray, n: int, wanted: str) -> np.ndarray:
    """Return the degrees of freedom of each row: from the fit's engine for lmer, infinite (NaN) for clm.

    A clmm has those of the linear mixed model with the same terms, unless asymptotic ones are wanted.
    """
    if fit.problem.model == "lm":
        return np.full(n, float(fit.estimates.df[0]))
    small = fit.problem.model == "clmm" and wanted == "satterthwaite"
    if fit.problem.ordinal and not small:
        return np.full(n, np.nan)
    rows = _with_differences(combinations, grid)
    if small:
        levels = np.repeat([1.0, 0.0], [len(grid.cells), len(grid.pairs())])
        return _of_lines(linear_df(fit, np.column_stack([levels, rows])), n, len(grid.cells))
    if fit.engine == "fast":
        found: np.ndarray = engine_module("fast").degrees_of_freedom(fit.estimates, rows)
        return found
    from ordbridge.models import r_engine

    return np.array([r_engine.test_combinations(fit.problem, fit.estimates, row[None, :])["den_df"] for row in rows])


def _of_lines(df: np.ndarray, n: int, cells: int) -> np.ndarray:
    """Return the degrees of freedom of each line: a level has as many lines as categories if these are asked for."""
    categories = (n - (len(df) - cells)) // cells
    return np.concatenate([np.repeat(df[:cells], categories), df[cells:]])


def _inferred(
    lines: list[Line], estimate: np.ndarray, error: np.ndarray, df: np.ndarray, adjust: str, conf_level: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return limits, p-values, corrected ones and statistics; comparisons within a level of ``by`` are one family."""
    from scipy import stats

    statistic, p_adjusted, width = np.full((3, len(lines)), np.nan)
    single = np.where(np.isnan(df), np.inf, df)
    for k, line in enumerate(lines):
        width[k] = stats.t.ppf(0.5 + conf_level / 2, single[k])
        if line.null is not None:
            statistic[k] = (estimate[k] - line.null) / error[k]
    for by in dict.fromkeys(line.by for line in lines):
        family = [k for k, line in enumerate(lines) if line.null is not None and line.by == by]
        if family:
            levels = round((1 + math.sqrt(1 + 8 * len(family))) / 2)
            p_adjusted[family] = adjusted(statistic[family], single[family], adjust, levels)
            width[family] = quantile(conf_level, single[family], adjust, levels)
    p_value = 2.0 * stats.t.sf(np.abs(statistic), single)
    return estimate - width * error, estimate + width * error, p_value, p_adjusted, statistic


@dataclass(frozen=True, eq=False)
class Values:
    """Draws responses from a fitted model, fits it to them, and computes the means from each fit."""

    source: Source
    grid: ReferenceGrid
    value: Callable[[Estimates, Matrices], np.ndarray]
    count: int

    @property
    def fingerprint(self) -> str:
        """What tells these draws from any other."""
        return self.source.fingerprint("means", str(self.grid.cells), str(self.count))

    def one(self, draw: int) -> list[float]:
        """Return the means of one draw; NaN where it could not be fitted, or lacks a category."""
        engine = engine_module("fast")
        try:
            problem = with_response(self.source.problem, self.source.response(draw))
            found = engine.fit(problem)
        except FAILURES:
            return [math.nan] * self.count
        if len(found.levels) != len(self.source.estimates.levels):
            return [math.nan] * self.count
        return [float(v) for v in self.value(found, engine.matrices(problem, found, self.grid.columns))]


def _bootstrap(
    fit: Fit,
    grid: ReferenceGrid,
    value: Callable[[Estimates, Matrices], np.ndarray],
    conf_level: float,
    how: DrawPlan,
    notes: list[Finding],
) -> tuple[np.ndarray, np.ndarray]:
    problem = by_likelihood(on_rows(fit.problem, fit.estimates.rows))
    found = native(arg("method", "bootstrap"), problem, instead="delta")
    notes += native_notes(fit, found)
    source = Source.of(problem, found, how.at_least(19).seed)
    work = Values(source, grid, value, len(value(found, engine_module("fast").matrices(problem, found, grid.columns))))
    drawn = np.array(list(results(work, how)))
    return percentiles(drawn, conf_level, notes)
