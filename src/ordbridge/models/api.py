"""The four models with the names, options and defaults of R."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ordbridge.errors import ConvergenceWarning, FitError, FitTimeout, InputError, StatisticalWarning
from ordbridge.formula import parse, updated, written
from ordbridge.models.engines import engine_module, engine_name
from ordbridge.models.few_levels import few_levels
from ordbridge.models.fit import Fit
from ordbridge.models.laplace_check import check_laplace, check_quadrature
from ordbridge.models.prepare import prepare
from ordbridge.models.problem import Estimates, Problem
from ordbridge.models.save_load import table_of
from ordbridge.results.finding import found
from ordbridge.support.naming import arg


def clm(
    formula: str,
    data: Any,
    link: str = "logit",
    threshold: str = "flexible",
    *,
    scale: str | None = None,
    nominal: str | None = None,
    weights: str | Sequence[float] | np.ndarray | None = None,
    offset: str | Sequence[float] | np.ndarray | None = None,
    engine: str = "r",
    timeout: float | None = None,
) -> Fit:
    """Fit a cumulative link model (R: ``ordinal::clm``).

    With thresholds θ, coefficients β, nominal effects that make θ depend on predictors, and scale effects ζ,
    P(rating ≤ j) = F((θ_j − xᵀβ − offset) / exp(sᵀζ)).

    Parameters
    ----------
    formula
        ``response ~ terms``; the response is an ordered categorical or integers.
    data
        A pandas or polars DataFrame, an Arrow table, or the path of a CSV or Parquet file. It is never changed.
    link
        ``"logit"``, ``"probit"``, ``"cloglog"``, ``"loglog"`` or ``"cauchit"``.
    threshold
        ``"flexible"``, ``"symmetric"``, ``"symmetric2"`` or ``"equidistant"``.
    scale
        Terms of the logarithm of the residual spread, such as ``"~ system"``: systems whose ratings scatter more.
    nominal
        Terms that move every threshold on its own, such as ``"~ system"``: systems that are better at one end of the
        scale and worse at the other. What is here needs no effect on location, which is dropped as aliased.
    weights
        A column, or a number for every row, 0 or more: how often the row counts.
    offset
        A column, or a number for every row: a part of the linear predictor that is known.
    engine
        ``"r"``: R, the reference. ``"fast"``: the native engine for the same likelihood.
    timeout
        Seconds after which :class:`ordbridge.FitTimeout` is raised.

    References
    ----------
    Christensen, R. H. B. (2022). ordinal: Regression Models for Ordinal Data. R package.
    McCullagh, P. (1980). Regression models for ordinal data. JRSS B 42, 109–142.

    Examples
    --------
    >>> import ordbridge as ob
    >>> ratings = {"rating": [1, 2, 2, 3, 1, 3, 2, 3, 1, 2], "system": list("AABBAABBAB")}
    >>> fit = ob.clm("rating ~ system", ratings)
    >>> fit.tidy()["term"].to_pylist()
    ['1|2', '2|3', 'systemB']
    >>> fit = ob.clm("rating ~ system", ratings, scale="~ system", engine="fast")
    >>> fit.tidy()["effect"].to_pylist()
    ['threshold', 'threshold', 'fixed', 'scale']
    """
    beyond = {"scale": scale, "nominal": nominal, "weights": weights, "offset": offset}
    options = {"link": link, "threshold": threshold, "timeout": timeout} | beyond
    return _fit(prepare("clm", formula, data, **options), engine)


def clmm(
    formula: str,
    data: Any,
    link: str = "logit",
    threshold: str = "flexible",
    nAGQ: int = 1,
    *,
    scale: str | None = None,
    nominal: str | None = None,
    weights: str | Sequence[float] | np.ndarray | None = None,
    offset: str | Sequence[float] | np.ndarray | None = None,
    engine: str = "r",
    start: str | None = None,
    timeout: float | None = None,
) -> Fit:
    """Fit a cumulative link mixed model (R: ``ordinal::clmm``).

    Parameters
    ----------
    formula
        ``response ~ terms + (terms | group)``; the response is an ordered categorical or integers.
    data, link, threshold, engine, timeout
        As for :func:`clm`.
    nAGQ
        1 for the Laplace approximation; more for adaptive quadrature with one scalar random effect, as in R.
    scale, nominal
        As for :func:`clm`, with any random effects: the residual spread divides what is left after them. R's clmm has
        neither, so that they need ``engine="fast"``.
    weights, offset
        As for :func:`clm`.
    start
        ``"fast"``: R's optimiser starts at the optimum of the native engine; R still computes everything it returns.

    References
    ----------
    Christensen, R. H. B. (2022). ordinal: Regression Models for Ordinal Data. R package.
    Howcroft, D. M. & Rieser, V. (2021). What happens if you treat ordinal ratings as interval data? EMNLP.

    Examples
    --------
    >>> import ordbridge as ob
    >>> ratings = {"rating": [1, 2, 1, 3, 2, 3, 3, 3, 1, 1, 2, 2, 1, 3, 2, 2], "system": list("AABB" * 4),
    ...            "participant": list("ppppqqqqrrrrssss")}
    >>> fit = ob.clmm("rating ~ system + (1 | participant)", ratings, link="probit")
    >>> fit.varcorr()["group"].to_pylist()
    ['participant']
    """
    beyond = {"scale": scale, "nominal": nominal, "weights": weights, "offset": offset}
    options = {"link": link, "threshold": threshold, "nAGQ": nAGQ, "start": start, "timeout": timeout} | beyond
    return _fit(prepare("clmm", formula, data, **options), engine)


def lm(formula: str, data: Any, *, engine: str = "r", timeout: float | None = None) -> Fit:
    """Fit a linear model (R: ``stats::lm``).

    Parameters
    ----------
    formula
        ``response ~ terms``; the response is numeric.
    data, engine, timeout
        As for :func:`clm`.

    References
    ----------
    R Core Team (2022). R: A Language and Environment for Statistical Computing.

    Examples
    --------
    >>> import ordbridge as ob
    >>> fit = ob.lm("y ~ x", {"y": [1.0, 2.1, 2.9, 4.2], "x": [1, 2, 3, 4]})
    >>> round(fit.tidy()["estimate"][1].as_py(), 3)
    1.04
    """
    return _fit(prepare("lm", formula, data, timeout=timeout), engine)


def lmer(
    formula: str,
    data: Any,
    REML: bool = True,
    ddf: str = "Satterthwaite",
    *,
    engine: str = "r",
    timeout: float | None = None,
) -> Fit:
    """Fit a linear mixed model (R: ``lmerTest::lmer``).

    Parameters
    ----------
    formula
        ``response ~ terms + (terms | group)``; the response is numeric.
    REML
        Whether to use restricted maximum likelihood.
    ddf
        Degrees of freedom of the t tests: ``"Satterthwaite"`` or ``"Kenward-Roger"``.
    data, engine, timeout
        As for :func:`clm`.

    References
    ----------
    Kuznetsova, A., Brockhoff, P. B. & Christensen, R. H. B. (2017). lmerTest package: tests in linear mixed effects
    models. Journal of Statistical Software 82(13).

    Examples
    --------
    >>> import ordbridge as ob
    >>> data = {"y": [1.0, 2.5, 2.0, 3.9, 1.5, 3.1, 2.2, 4.4], "x": [0, 1] * 4, "g": list("aabbccdd")}
    >>> ob.lmer("y ~ x + (1 | g)", data).tidy()["term"].to_pylist()
    ['(Intercept)', 'x']
    """
    return _fit(prepare("lmer", formula, data, REML=REML, ddf=ddf, timeout=timeout), engine)


def fit_again(fit: Fit, formula: str, data: Any = None) -> Fit:
    """Fit another formula; see :meth:`ordbridge.Fit.update`."""
    before = fit.problem
    options: dict[str, Any] = {
        name: getattr(before, name)
        for name in ("link", "threshold", "nAGQ", "REML", "ddf", "timeout", "start", "weights", "offset")
        if getattr(before, name) is not None
    }
    options |= {name: f"~ {written(part)}" for name in ("scale", "nominal") if (part := getattr(before, name))}
    new = updated(before.formula, formula)
    try:
        problem = prepare(before.model, new, table_of(before) if data is None else data, **options)
    except InputError as refusal:
        if data is None and not set(parse(new).columns) <= set(before.columns):
            raise InputError(f"{refusal}. A fit holds only the columns of its own model: give {arg('data')}") from None
        raise
    return _fit(problem, fit.engine)


def _fit(problem: Problem, engine: str) -> Fit:
    engine = engine_name(engine)
    started = time.perf_counter()
    _ask_about_numbers(problem)
    estimates = _saying_all(_estimates(problem, engine))
    fit = Fit(problem, estimates, engine, time.perf_counter() - started)
    if problem.model == "clmm":
        fit = _checked(fit)
    _warn(fit)
    return fit


def _estimates(problem: Problem, engine: str) -> Estimates:
    """Fit; where R fails from its own start, say which start may do better."""
    fits = engine_module(engine)
    if problem.model != "clmm" or engine != "r" or problem.start is not None:
        estimates: Estimates = fits.fit(problem)
        return estimates
    try:
        estimates = fits.fit(problem)
    except FitTimeout:
        raise
    except FitError as failure:
        raise FitError(
            f"{failure}; R started from its own values; {arg('start', 'fast')} starts it at the native optimum"
        ) from failure
    if estimates.converged:
        return estimates
    return replace(estimates, findings=(*estimates.findings, found("other-start")))


def _saying_all(estimates: Estimates) -> Estimates:
    """Add a finding where a fit has no standard errors or no likelihood, and the engine says nothing about it."""
    if estimates.findings or not estimates.converged:
        return estimates
    said = []
    if estimates.df is not None and (np.asarray(estimates.df) == 0).any():
        said.append(found("no-residual-df"))
    elif not np.isfinite(np.diag(estimates.vcov)).all():
        said.append(found("no-standard-error"))
    if not np.isfinite(estimates.loglik):
        said.append(found("no-likelihood"))
    return replace(estimates, findings=tuple(said))


def _checked(fit: Fit) -> Fit:
    """Add what makes a clmm's printed tests doubtful: the Laplace approximation, which both engines use, few levels."""
    rows = fit.matrices()
    check = check_laplace if fit.problem.nAGQ == 1 else check_quadrature
    said = (*check(fit.problem, fit.estimates, rows), *few_levels(fit.estimates, rows))
    return replace(fit, estimates=replace(fit.estimates, findings=(*fit.estimates.findings, *said)))


SYSTEMS = {"system", "systems", "model", "method", "condition"}
"""Names of columns whose numbers are names."""
FEW_VALUES = 12


def _ask_about_numbers(problem: Problem) -> None:
    """Warn where systems that are called 1, 2 and 3 would be a quantity: the model draws a line through them."""
    for name in problem.predictors:
        column = problem.columns[name]
        if name.lower() not in SYSTEMS or column.kind != "numeric" or f"factor({name})" in problem.described:
            continue
        values = np.unique(column.values[~column.missing])
        if 2 < len(values) <= FEW_VALUES:
            shown = ", ".join(f"{value:g}" for value in values)
            text = f"{name!r} ({shown}) is taken as a quantity; if these are names, write factor({name})"
            warnings.warn(text, StatisticalWarning, stacklevel=4)


def _warn(fit: Fit) -> None:
    """Tell the user in Python's way what the result carries anyway."""
    said = "; ".join(one.what.rstrip(".") for one in fit.estimates.findings if one.severity == "warning")
    if not fit.converged:
        problem = "did not converge: do not trust its numbers"
    elif fit.singular:
        problem = "is singular: a variance is estimated at zero or a correlation at ±1"
    elif said:
        problem = "was fitted with warnings"
    else:
        return
    text = f"{fit.problem.model} {fit.problem.described} {problem}" + (f" ({said})" if said else "")
    warnings.warn(text, ConvergenceWarning, stacklevel=4)
