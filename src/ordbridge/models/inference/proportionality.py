"""What a cumulative link model takes for granted: predictors move all thresholds alike, residuals are equally wide.

Both can be given up for one term after another. A nominal effect moves every threshold on its own (without it, and with
the logit link, odds are proportional), a scale effect makes residuals wider or narrower. Each is a likelihood ratio
test of the larger model,

    Λ = 2 (ℓ(with the effect) − ℓ(without)),  referred to χ² with the number of parameters added,

as ``nominal_test`` and ``scale_test`` of R's ordinal do it for clm. For clmm, where R has neither effect, both models
are fitted natively.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ordbridge.errors import FitError, InputError
from ordbridge.formula import Name, Summand, expand
from ordbridge.formula import names as names_of
from ordbridge.models import predict as prediction
from ordbridge.models.engines import engine_module
from ordbridge.models.fit_factors import factor_column
from ordbridge.models.inference.hypothesis import Term, label, on_rows, summands
from ordbridge.models.inference.marginal_means import delta
from ordbridge.models.inference.reference_rows import level_word, reference_grid
from ordbridge.models.problem import Estimates, Matrices, Problem
from ordbridge.results.finding import has
from ordbridge.support.arguments import proportion
from ordbridge.support.columns import columns
from ordbridge.support.formatting import p_text
from ordbridge.support.naming import arg

if TYPE_CHECKING:
    from ordbridge.models.fit import Fit

LEVEL = 0.05
FEW = 10  # a number with more values is a quantity
INVALID = ("hessian-not-a-number", "hessian-degenerate", "gradient-too-large", "thresholds-not-increasing",
           "optimiser-failed")  # fmt: skip
TEST = columns("term: text; df: count; loglik aic statistic p_value: number; note: text")


@dataclass(frozen=True, eq=False)
class Assumptions:
    """What speaks against a clm or clmm.

    Attributes
    ----------
    nominal_test, scale_test
        One row per term, after ``<none>``, the model as it is: df, loglik, aic, statistic and p_value of the model with
        a nominal or a scale effect of the term, and a note where there is something to say about it.
    factor
        What ``thresholds``, ``spread`` and the sentences are about.
    thresholds
        level, threshold, estimate, std_error, conf_low, conf_high of the thresholds of each level of the factor, less
        its effect on location, in the model that lets the factor move each on its own, and ``moved_alike``, the same in
        the model that does not. :func:`ordbridge.render.figures.thresholds` draws it.
    spread
        level, estimate, conf_low, conf_high: how many times as wide as that of the first level the residual is.
    sentences
        Two answers in words, and, if both are that it does not hold, which of the two describes the ratings better.
    """

    nominal_test: pa.Table
    scale_test: pa.Table
    factor: str | None
    thresholds: pa.Table
    spread: pa.Table
    sentences: tuple[str, ...]

    def __str__(self) -> str:
        """Return the sentences."""
        return "\n".join(self.sentences)


def assumptions(fit: Fit, factor: str | None = None, conf_level: float = 0.95) -> Assumptions:
    """Test nominal and scale effects of every term; see :meth:`ordbridge.Fit.assumptions`."""
    proportion("conf_level", conf_level)
    problem = fit.problem
    if not problem.ordinal:
        raise InputError(f"these assumptions are those of clm and clmm; {problem.model} has no thresholds")
    if problem.threshold == "symmetric2":
        raise InputError(f"assumptions are not known for {arg('threshold', 'symmetric2')}; use another threshold")
    trial = _Trial(fit)
    own = {part: expand(getattr(problem, part)).terms for part in ("nominal", "scale")}
    fixed = expand(problem.formula.fixed).terms
    scopes = {"nominal": dict.fromkeys((*fixed, *own["scale"])), "scale": dict.fromkeys(fixed)}
    tests = {
        part: _table(trial, part, [term for term in scope if term not in own[part]]) for part, scope in scopes.items()
    }
    about, term = _factor(fit, factor)
    thresholds, spread, sentences = _nothing(THRESHOLDS), _nothing(SPREAD), ["The model has no factor to compare."]
    if about is not None and term is not None:
        alike, moved = trial.pair("nominal", term)
        equal, unequal = trial.pair("scale", term)
        thresholds = _thresholds(alike, moved, about, conf_level)
        spread = _spread(unequal, about, conf_level)
        sentences = [_same_meaning(about, alike, moved), _same_spread(about, equal, unequal, spread)]
        sentences += _which(alike, moved, equal, unequal)
    return Assumptions(tests["nominal"], tests["scale"], about, thresholds, spread, tuple(sentences))


@dataclass(frozen=True, eq=False)
class _Attempt:
    """A model that was tried: its fit, or why there is none."""

    fit: Fit | None
    note: str = ""

    @property
    def usable(self) -> Estimates | None:
        return None if self.fit is None else self.fit.estimates


class _Trial:
    """Fits variants of a model, each once, all by one engine."""

    def __init__(self, fit: Fit) -> None:
        self.problem = on_rows(fit.problem, fit.estimates.rows)
        self.engine = "fast" if fit.problem.model == "clmm" else fit.engine
        again = self.engine != fit.engine
        self._known: dict[str, _Attempt] = {} if again else {self.problem.described: _Attempt(fit)}

    def base(self) -> _Attempt:
        return self._fit(self.problem)

    def with_(self, part: str, term: Term) -> _Attempt:
        """Return the model with a nominal or scale effect of a term."""
        terms = expand(getattr(self.problem, part))
        if term in terms.terms:
            return self.base()
        own: tuple[Summand, ...] = getattr(self.problem, part)
        return self._fit(_having(self.problem, part, (*own, *summands([term], True))))

    def pair(self, part: str, term: Term) -> tuple[_Attempt, _Attempt]:
        """Return the models without and with a nominal or scale effect of a term, which keeps that on location."""
        problem = self.problem
        terms = expand(getattr(problem, part))
        if term not in terms.terms:
            return self.base(), self.with_(part, term)
        rest = [other for other in terms.terms if other != term]
        smaller = _having(problem, part, summands(rest, True) if rest else ())
        if part == "nominal" and term not in expand(problem.formula.fixed).terms:
            fixed = expand(problem.formula.fixed)
            smaller = replace(
                smaller, formula=replace(problem.formula, fixed=summands([*fixed.terms, term], fixed.intercept))
            )
        return self._fit(smaller), self.base()

    def _fit(self, problem: Problem) -> _Attempt:
        from ordbridge.models.fit import Fit

        if problem.described not in self._known:
            try:
                found = engine_module(self.engine).fit(problem)
            except (InputError, FitError) as refusal:
                self._known[problem.described] = _Attempt(None, str(refusal))
            else:
                said = "; ".join(one.text for one in found.findings if one.severity == "warning")
                by_r = found.details.get("invalid", self.engine == "r" and not found.converged)
                invalid = by_r or has(found.findings, *INVALID)
                fit = None if invalid else Fit(problem, found, self.engine, 0.0)
                self._known[problem.described] = _Attempt(fit, said)
        return self._known[problem.described]


def _having(problem: Problem, part: str, terms: tuple[Summand, ...]) -> Problem:
    return replace(problem, nominal=terms) if part == "nominal" else replace(problem, scale=terms)


def _table(trial: _Trial, part: str, scope: Sequence[Term]) -> pa.Table:
    """Return R's table: the model as it is, and with the effect of each term."""
    base = trial.base().usable
    if base is None:
        raise FitError(f"{trial.problem.described} could not be fitted: {trial.base().note}")
    rows: list[dict[str, Any]] = [{"term": "<none>", "loglik": base.loglik, "aic": 2.0 * (base.edf - base.loglik)}]
    for term in scope:
        attempt = trial.with_(part, term)
        row: dict[str, Any] = {"term": label(term), "note": attempt.note or None}
        if (found := attempt.usable) is not None:
            row |= {"loglik": found.loglik, "aic": 2.0 * (found.edf - found.loglik)} | _ratio(base, found)
        rows.append(row)
    return pa.Table.from_pylist([{name: row.get(name) for name in TEST} for row in rows], schema=pa.schema(TEST))


def _ratio(smaller: Estimates, larger: Estimates) -> dict[str, Any]:
    from scipy import stats

    df = larger.edf - smaller.edf
    statistic = 2.0 * (larger.loglik - smaller.loglik)
    return {"df": df, "statistic": statistic, "p_value": float(stats.chi2.sf(statistic, df)) if df else None}


def _factor(fit: Fit, factor: str | None) -> tuple[str | None, Term | None]:
    """Return the column to look at, the first with levels if none is named, and its own term.

    Numbered systems are levels, too: a number with few values, if there is no factor.
    """
    problem = fit.problem
    parts = (problem.formula.fixed, problem.nominal, problem.scale)
    factors: dict[str, Term] = {}
    numbered: dict[str, Term] = {}
    for term in dict.fromkeys(term for part in parts for term in expand(part).terms if len(term) == 1):
        name = term[0].name if isinstance(term[0], Name) else str(term[0])
        try:
            factors[factor_column(problem, name)] = term
        except InputError:
            values = problem.columns[name].values[fit.estimates.rows] if name in problem.columns else np.empty(0)
            if 2 <= np.unique(values).size <= FEW:
                numbered[name] = term
    known = factors | numbered
    if factor is None:
        return next(iter(known.items()), (None, None))
    column = factor if factor in numbered else factor_column(problem, factor)
    if column not in known:
        raise InputError(f"{factor} has no term of its own in this model; add it to the formula")
    return column, known[column]


THRESHOLDS = columns("level threshold: text; estimate std_error conf_low conf_high moved_alike: number")
SPREAD = {"level": pa.string(), "estimate": pa.float64(), "conf_low": pa.float64(), "conf_high": pa.float64()}


def _nothing(kinds: dict[str, pa.DataType]) -> pa.Table:
    return pa.schema(kinds).empty_table()


def _averages(
    attempt: _Attempt, factor: str, row_values: Callable[[Estimates, Matrices], np.ndarray]
) -> tuple[list[str], np.ndarray, np.ndarray] | None:
    """Return the levels of a factor, averages of what rows have over each (levels × values), and their covariance."""
    if attempt.fit is None:
        return None
    grid = reference_grid(attempt.fit, [factor])

    def value(e: Estimates, rows: Matrices) -> np.ndarray:
        found = row_values(e, rows)
        return np.concatenate([found[own].mean(axis=0) for _, _, own in grid.cells])

    estimate, covariance = delta(attempt.fit, grid, value)
    return [level for _, level, _ in grid.cells], estimate.reshape(len(grid.cells), -1), covariance


def _thresholds(alike: _Attempt, moved: _Attempt, factor: str, conf_level: float) -> pa.Table:
    from scipy import stats

    def boundaries(e: Estimates, rows: Matrices) -> np.ndarray:
        return prediction.cutpoints(e, rows) - prediction.location(e, rows)[:, None]

    both = [_averages(attempt, factor, boundaries) for attempt in (alike, moved)]
    known = next((found for found in both if found is not None), None)
    fitted = alike.fit or moved.fit
    if known is None or fitted is None:
        return _nothing(THRESHOLDS)
    z = stats.norm.ppf(0.5 + conf_level / 2)
    names = [
        f"{low}|{high}" for low, high in zip(fitted.estimates.levels[:-1], fitted.estimates.levels[1:], strict=True)
    ]
    rows, nowhere = [], _at_infinity(fitted, factor)
    for i, level in enumerate(known[0]):
        for j, name in enumerate(names):
            row: dict[str, Any] = {"level": level, "threshold": name}
            if both[0] is not None:
                row["moved_alike"] = float(both[0][1][i, j])
            if both[1] is not None and (level, j) not in nowhere:
                estimate = float(both[1][1][i, j])
                error = float(np.sqrt(max(both[1][2][i * len(names) + j, i * len(names) + j], 0.0)))
                row |= {"estimate": estimate, "std_error": error}
                row |= {"conf_low": estimate - z * error, "conf_high": estimate + z * error}
            rows.append({column: _finite(row.get(column)) for column in THRESHOLDS})
    return pa.Table.from_pylist(rows, schema=pa.schema(THRESHOLDS))


def _at_infinity(fit: Fit, factor: str) -> set[tuple[str, int]]:
    """Return the thresholds, by level and position, beyond which a level has no rating: they have no estimate."""
    [response] = names_of(fit.problem.formula.response)
    used = fit.estimates.rows
    answers, level = fit.problem.columns[response].values[used], fit.problem.columns[factor].take(used)
    categories = np.searchsorted(np.unique(answers), answers)
    found = set()
    for code in np.unique(level.values):
        own = categories[level.values == code]
        word = level_word(level, code)
        found |= {(word, j) for j in range(categories.max()) if own.max() <= j or own.min() > j}
    return found


def _spread(unequal: _Attempt, factor: str, conf_level: float) -> pa.Table:
    from scipy import stats

    found = _averages(unequal, factor, lambda e, rows: np.log(prediction.spread(e, rows))[:, None])
    if found is None:
        return _nothing(SPREAD)
    levels, logs, covariance = found
    z = stats.norm.ppf(0.5 + conf_level / 2)
    rows = [{"level": levels[0], "estimate": 1.0, "conf_low": None, "conf_high": None}]
    for i in range(1, len(levels)):
        difference = float(logs[i, 0] - logs[0, 0])
        error = float(np.sqrt(max(covariance[i, i] + covariance[0, 0] - 2 * covariance[i, 0], 0.0)))
        ends = np.exp([difference, difference - z * error, difference + z * error]).tolist()
        rows.append(
            {"level": levels[i]} | dict(zip(("estimate", "conf_low", "conf_high"), map(_finite, ends), strict=True))
        )
    return pa.Table.from_pylist(rows, schema=pa.schema(SPREAD))


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _same_meaning(factor: str, alike: _Attempt, moved: _Attempt) -> str:
    question = 'Does "better" mean the same at every point of the scale?'
    if alike.usable is None or moved.usable is None:
        return f"{question} It cannot be said: {(moved.note or alike.note).rstrip('.')}."
    test = _ratio(alike.usable, moved.usable)
    if test["p_value"] is None:
        return f"{question} It cannot be said: the scale has only one threshold."
    if test["p_value"] < LEVEL:
        return f"{question} No: {factor} moves the thresholds by different amounts ({_said(test, moved)})."
    return f"{question} No evidence against it: {factor} may move all thresholds alike ({_said(test, moved)})."


def _same_spread(factor: str, equal: _Attempt, unequal: _Attempt, spread: pa.Table) -> str:
    question = f"Do the levels of {factor} spread differently?"
    if equal.usable is None or unequal.usable is None:
        return f"{question} It cannot be said: {(unequal.note or equal.note).rstrip('.')}."
    test = _ratio(equal.usable, unequal.usable)
    first, second, *others = spread.to_pylist()
    sizes = f"ratings of {second['level']} spread {second['estimate']:.2f} times as wide as those of {first['level']}"
    sizes += "".join(f", of {row['level']} {row['estimate']:.2f} times" for row in others)
    different = test["p_value"] is not None and test["p_value"] < LEVEL
    answer = "Yes: residuals are not equally wide" if different else "No evidence of it"
    return f"{question} {answer} ({_said(test, unequal)}); {sizes}."


def _which(alike: _Attempt, moved: _Attempt, equal: _Attempt, unequal: _Attempt) -> list[str]:
    """Say which of two violations describes the ratings better, because each looks like the other to some extent."""
    found = [attempt.usable for attempt in (alike, moved, equal, unequal)]
    if None in found:
        return []
    a, m, e, u = (estimates for estimates in found if estimates is not None)
    values = [_ratio(a, m)["p_value"], _ratio(e, u)["p_value"]]
    if any(p is None or p >= LEVEL for p in values) or e.edf != a.edf:
        return []
    aic = {"thresholds that move on their own": 2.0 * (m.edf - m.loglik), "unequal spread": 2.0 * (u.edf - u.loglik)}
    better, worse = sorted(aic, key=lambda name: aic[name])
    return [
        f"Of the two, {better} describe{'s' * (better[0] == 'u')} the ratings better: AIC {aic[better]:.1f}, "
        f"against {aic[worse]:.1f} for {worse}."
    ]


def _said(test: dict[str, Any], attempt: _Attempt) -> str:
    doubt = f"; doubtful: {attempt.note}" if attempt.note else ""
    return f"χ²({test['df']}) = {test['statistic']:.2f}, {p_text(test['p_value'])}{doubt}"
