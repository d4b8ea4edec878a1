"""The native engine behind the small interface of :mod:`ordbridge.models.problem`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import version

import numpy as np

from ordbridge.errors import FitError, InputError
from ordbridge.fast import thresholds
from ordbridge.fast.design import ELSEWHERE, Design, design, new_matrices, response
from ordbridge.fast.flags import clm_conditions, clmm_conditions, gap_conditions, lmer_conditions
from ordbridge.models.columns import Column
from ordbridge.models.problem import Condition, Estimates, Matrices, Problem, RandomTerm

__all__ = ["fit", "is_compiled", "matrices", "start"]


def fit(problem: Problem) -> Estimates:
    """Fit a problem natively.

    Parameters
    ----------
    problem
        A checked clm, clmm, lm or lmer.

    Returns
    -------
    Estimates
        The same arrays, names and order as R's engine returns.

    Examples
    --------
    >>> from ordbridge.models.prepare import prepare
    >>> ratings = {"rating": [1, 2, 2, 3, 1, 3, 2, 3, 1, 2], "system": list("AABBAABBAB")}
    >>> found = fit(prepare("clm", "rating ~ system", ratings, link="logit", threshold="flexible"))
    >>> found.terms
    ('1|2', '2|3', 'systemB')
    """
    _refuse(problem)
    fitters: dict[str, Callable[[Problem], Estimates]] = {"clm": _clm, "clmm": _clmm, "lm": _lm, "lmer": _lmer}
    return fitters[problem.model](problem)


def matrices(problem: Problem, estimates: Estimates, newdata: Mapping[str, Column]) -> Matrices:
    """Return the model matrices of new rows, coded as the rows of the fit were."""
    return new_matrices(_with_response(problem)[0], newdata)


def start(problem: Problem) -> np.ndarray | list[np.ndarray]:
    """Return the native optimum of a clmm or lmer as R takes its start.

    For ordinal::clmm that is thresholds and coefficients, and the entries of the Cholesky factors: per term, in
    ordinal's order of terms, the diagonal and then the entries below it, column by column. A single term (1 | group)
    has one vector, with the logarithm of its standard deviation at the end. For lme4::lmer it is theta: per term the
    lower triangle of the relative Cholesky factor, column by column.
    """
    _refuse(problem)
    ready, value = _with_response(problem)
    if problem.model == "lmer":
        triangles = _term_blocks(ready, _solve_lmer(problem, ready, value).L)
        return np.concatenate([L[k:, k] for L in triangles for k in range(L.shape[0])])
    y, levels = _categories(problem, ready, value)
    solution = _solve_clmm(problem, ready, y, levels)
    n_mean = solution.parameters.size - ready.crossed[1].factor.size
    mean = solution.parameters[:n_mean]
    if len(ready.random) == 1 and ready.random[0].names == ("(Intercept)",):
        return np.append(mean, np.log(max(solution.L[0][0, 0], 1e-3)))
    entries = []
    for L in _term_blocks(ready, solution.L):
        entries += [np.diag(L), *(L[k + 1 :, k] for k in range(L.shape[0]))]
    return [mean, np.concatenate(entries)]


def is_compiled() -> bool:
    """Tell whether the engine has been compiled before, so that the first fit need not wait for that."""
    from ordbridge.fast.compiled import is_cached
    from ordbridge.fast.descent import descend
    from ordbridge.fast.laplace import evaluate

    return is_cached(evaluate) and is_cached(descend)


def _refuse(problem: Problem) -> None:
    if problem.model == "clmm" and problem.nAGQ not in (None, 1):
        raise InputError(f"the fast engine has the Laplace approximation only, not nAGQ={problem.nAGQ}; {ELSEWHERE}")
    if problem.threshold == "symmetric2":
        raise InputError(f"the fast engine does not know threshold='symmetric2'; {ELSEWHERE}")
    if problem.model == "lmer" and problem.ddf == "Kenward-Roger":
        raise InputError(f"the fast engine does not know ddf='Kenward-Roger'; {ELSEWHERE}")


def _with_response(problem: Problem) -> tuple[Design, Column]:
    """Prepare the problem; return it with the response on its complete rows."""
    value = response(problem)
    if not isinstance(value, Column):
        raise InputError(f"the response {problem.formula.response} has several columns; {ELSEWHERE}")
    ready = design(problem, ~value.missing)
    return ready, Column(value.kind, value.values[ready.rows], value.levels, value.ordered)


def _categories(problem: Problem, ready: Design, value: Column) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the ratings as positions among the categories that occur in the complete rows, and these."""
    used, y = np.unique(value.values, return_inverse=True)
    if used.size < 2:
        raise InputError(
            f"the response {problem.formula.response} has only one category in the complete rows; "
            "two or more are needed"
        )
    return y, tuple(value.levels[i] for i in used)


def _numbers(problem: Problem, ready: Design, value: Column) -> np.ndarray:
    y = value.values.astype(float)
    if value.kind == "factor":
        raise InputError(f"the response {problem.formula.response} is not numeric; {problem.model} needs numbers")
    if not np.isfinite(y).all():
        raise FitError(f"the response {problem.formula.response} is infinite in some row")
    return y


def _clm(problem: Problem) -> Estimates:
    from ordbridge.fast.clm import fit_clm

    ready, value = _with_response(problem)
    y, levels = _categories(problem, ready, value)
    link, threshold = _options(problem)
    found = fit_clm(y, ready.X, len(levels) - 1, link, threshold)
    said, vcov, converged = clm_conditions(found, ready.X, thresholds.jacobian(len(levels) - 1, threshold))
    conditions = (*ready.conditions, *gap_conditions(problem, levels), *said)
    return _ordinal_estimates(
        problem,
        ready,
        levels,
        found.parameters,
        vcov,
        loglik=found.loglik,
        converged=converged,
        singular=False,
        max_gradient=float(np.abs(found.gradient).max()),
        hessian_condition=_condition_number(found.hessian),
        evaluations=found.iterations,
        conditions=conditions,
    )


def _options(problem: Problem) -> tuple[str, str]:
    return problem.link or "logit", problem.threshold or "flexible"


def _solve_clmm(problem: Problem, ready: Design, y: np.ndarray, levels: tuple[str, ...]):  # type: ignore[no-untyped-def]
    from ordbridge.fast.clmm import fit_clmm

    structure, layout = ready.crossed
    link, threshold = _options(problem)
    return fit_clmm(y, ready.X, structure, layout, len(levels) - 1, link, threshold, problem.timeout)


def _clmm(problem: Problem) -> Estimates:
    ready, value = _with_response(problem)
    y, levels = _categories(problem, ready, value)
    found = _solve_clmm(problem, ready, y, levels)
    n_mean = found.parameters.size - ready.crossed[1].factor.size
    jacobian = thresholds.jacobian(len(levels) - 1, _options(problem)[1])
    said, vcov, converged, singular = clmm_conditions(found, ready.X, jacobian)
    return _ordinal_estimates(
        problem,
        ready,
        levels,
        found.parameters[:n_mean],
        vcov,
        loglik=found.loglik,
        converged=converged,
        singular=singular,
        max_gradient=float(np.abs(found.gradient[found.free]).max()),
        hessian_condition=_condition_number(found.hessian),
        evaluations=found.evaluations,
        conditions=(*ready.conditions, *gap_conditions(problem, levels), *said),
        random=_random_terms(ready, found.L, found.modes, found.mode_variance),
        extra_parameters=ready.crossed[1].factor.size,
        details={"starts": found.starts},
    )


def _ordinal_estimates(
    problem: Problem,
    ready: Design,
    levels: tuple[str, ...],
    parameters: np.ndarray,
    vcov: np.ndarray,
    *,
    loglik: float,
    converged: bool,
    singular: bool,
    max_gradient: float,
    hessian_condition: float,
    evaluations: int,
    conditions: tuple[Condition, ...],
    random: tuple[RandomTerm, ...] = (),
    extra_parameters: int = 0,
    details: Mapping[str, object] | None = None,
) -> Estimates:
    from scipy.special import ndtr

    _, threshold = _options(problem)
    jacobian = thresholds.jacobian(len(levels) - 1, threshold)
    n_alpha = jacobian.shape[1]
    std_error = np.sqrt(np.diag(vcov))
    statistic = parameters / std_error
    return Estimates(
        terms=thresholds.names(levels, threshold) + ready.names,
        effects=("threshold",) * n_alpha + ("fixed",) * len(ready.names),
        estimate=parameters,
        std_error=std_error,
        df=np.full(parameters.size, np.nan),
        statistic=statistic,
        p_value=2.0 * ndtr(-np.abs(statistic)),
        vcov=vcov,
        random=random,
        rows=ready.rows,
        loglik=loglik,
        edf=parameters.size + extra_parameters,
        converged=converged,
        singular=singular,
        package_version=_version(),
        dropped=ready.dropped,
        levels=levels,
        cutpoints=jacobian @ parameters[:n_alpha],
        max_gradient=max_gradient,
        hessian_condition=hessian_condition,
        evaluations=evaluations,
        conditions=conditions,
        details=details or {},
    )


def _lm(problem: Problem) -> Estimates:
    from ordbridge.fast.lm import fit_lm

    ready, value = _with_response(problem)
    y = _numbers(problem, ready, value)
    n, p = ready.X.shape
    if n <= p:
        raise FitError(f"{n} complete rows are too few for {p} coefficients; simplify the formula")
    beta, vcov, sigma, loglik = fit_lm(y, ready.X)
    return _linear_estimates(
        ready, beta, vcov, np.full(p, float(n - p)), sigma, loglik=loglik, edf=p + 1, conditions=ready.conditions
    )


def _solve_lmer(problem: Problem, ready: Design, value: Column):  # type: ignore[no-untyped-def]
    from ordbridge.fast.lmer import fit_lmer

    structure, layout = ready.crossed
    reml = problem.REML is None or bool(problem.REML)
    return fit_lmer(_numbers(problem, ready, value), ready.X, structure, layout, reml, problem.timeout)


def _lmer(problem: Problem) -> Estimates:
    ready, value = _with_response(problem)
    found = _solve_lmer(problem, ready, value)
    said, converged = lmer_conditions(found)
    return _linear_estimates(
        ready,
        found.beta,
        found.vcov,
        found.df,
        found.sigma,
        loglik=found.loglik,
        edf=found.beta.size + found.entries.size + 1,
        conditions=(*ready.conditions, *said),
        converged=converged,
        singular=found.singular,
        max_gradient=float(np.abs(found.gradient).max()),
        hessian_condition=_condition_number(found.hessian),
        evaluations=found.evaluations,
        random=_random_terms(ready, [found.sigma * L for L in found.L], found.modes, found.mode_variance),
    )


def _linear_estimates(
    ready: Design,
    beta: np.ndarray,
    vcov: np.ndarray,
    df: np.ndarray,
    sigma: float,
    *,
    loglik: float,
    edf: int,
    conditions: tuple[Condition, ...],
    converged: bool = True,
    singular: bool = False,
    max_gradient: float | None = None,
    hessian_condition: float | None = None,
    evaluations: int | None = None,
    random: tuple[RandomTerm, ...] = (),
) -> Estimates:
    from scipy.special import stdtr

    std_error = np.sqrt(np.diag(vcov))
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = beta / std_error
    return Estimates(
        terms=ready.names,
        effects=("fixed",) * beta.size,
        estimate=beta,
        std_error=std_error,
        df=df,
        statistic=statistic,
        p_value=2.0 * stdtr(df, -np.abs(statistic)),
        vcov=vcov,
        random=random,
        rows=ready.rows,
        loglik=loglik,
        edf=edf,
        converged=converged,
        singular=singular,
        package_version=_version(),
        dropped=ready.dropped,
        sigma=sigma,
        max_gradient=max_gradient,
        hessian_condition=hessian_condition,
        evaluations=evaluations,
        conditions=conditions,
    )


def _term_blocks(ready: Design, factors: list[np.ndarray]) -> list[np.ndarray]:
    """Cut each term's own block out of its grouping factor's matrix, in the order of the design's terms."""
    return [factors[f][own, own] for f, own in _places(ready)]


def _places(ready: Design) -> list[tuple[int, slice]]:
    """Return where each term is: its grouping factor and its columns there."""
    next_column = dict.fromkeys(ready.groups, 0)
    places = []
    for part in ready.random:
        first = next_column[part.group]
        next_column[part.group] += len(part.names)
        places.append((ready.groups.index(part.group), slice(first, next_column[part.group])))
    return places


def _random_terms(
    ready: Design, L: list[np.ndarray], modes: list[np.ndarray], variances: list[np.ndarray]
) -> tuple[RandomTerm, ...]:
    blocks = zip(ready.random, _term_blocks(ready, L), _places(ready), strict=True)
    return tuple(
        RandomTerm(
            group=part.group,
            terms=part.names,
            levels=part.levels,
            covariance=block @ block.T,
            modes=np.ascontiguousarray(modes[f][:, own]),
            mode_sd=np.sqrt(np.maximum(variances[f][:, own], 0.0)),
        )
        for part, block, (f, own) in blocks
    )


def _condition_number(hessian: np.ndarray) -> float:
    values = np.linalg.eigvalsh(hessian)
    return float(abs(values[-1] / values[0])) if values[0] != 0 else float("inf")


@cache
def _version() -> str:
    return f"ordbridge {version('ordbridge')}"
