"""The native engine behind the small interface of :mod:`ordbridge.models.problem`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ordbridge import __version__
from ordbridge.errors import FitError, InputError
from ordbridge.fast.flags import (
    clm_conditions,
    clmm_conditions,
    gap_conditions,
    lm_conditions,
    lmer_conditions,
    separated_levels,
    unused_categories,
)
from ordbridge.fast.memory import check_memory
from ordbridge.fast.model_frame import ELSEWHERE, Design, design, new_matrices, response
from ordbridge.fast.p_values import normal_p_value, t_p_value
from ordbridge.fast.profiles import ClmmProfile, ClmProfile, LmerProfile, LmProfile, Profile, Quantity
from ordbridge.fast.ratings import Responses
from ordbridge.formula import Terms
from ordbridge.models import thresholds
from ordbridge.models.columns import Column
from ordbridge.models.problem import Condition, Estimates, Matrices, Problem, RandomTerm

if TYPE_CHECKING:
    from ordbridge.fast.laplace_shift import Cost

__all__ = [
    "degrees_of_freedom",
    "f_test",
    "fit",
    "laplace_cost",
    "matrices",
    "missing_loglik",
    "profile",
    "refuse",
    "start",
]

CONSTANT = 1e-14  # relative to the largest response: what rounding leaves of no difference
MOST_NODES = 100  # more would have weights that are not positive in double precision


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
    refuse(problem)
    fitters: dict[str, Callable[[Problem], Estimates]] = {"clm": _clm, "clmm": _clmm, "lm": _lm, "lmer": _lmer}
    try:
        return fitters[problem.model](problem)
    except np.linalg.LinAlgError:
        raise FitError(
            f"{problem.model} {problem.described} could not be fitted: its numbers are too large, too small "
            "or too much alike to compute with; rescale the predictors, or simplify the formula"
        ) from None


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
    refuse(problem)
    ready, value = _with_response(problem)
    if problem.model == "lmer":
        return _theta(ready, _solve_lmer(problem, ready, value).L)
    solution = _solve_clmm(problem, ready, _ratings(problem, ready, value)[0])
    n_mean = solution.parameters.size - ready.crossed[1].factor.size
    mean = solution.parameters[:n_mean]
    if len(ready.random) == 1 and ready.random[0].names == ("(Intercept)",):
        return np.append(mean, np.log(max(solution.L[0][0, 0], 1e-3)))
    entries = []
    for L in _term_blocks(ready, solution.L):
        entries += [np.diag(L), *(L[k + 1 :, k] for k in range(L.shape[0]))]
    return [mean, np.concatenate(entries)]


def degrees_of_freedom(found: Estimates, L: np.ndarray) -> np.ndarray:
    """Return Satterthwaite's degrees of freedom of combinations of a native lmer's coefficients, the rows of L.

    Examples
    --------
    >>> from ordbridge.models.prepare import prepare
    >>> data = {"y": [1.0, 2.5, 2.0, 3.9, 1.5, 3.1, 2.2, 4.4], "x": [0, 1] * 4, "g": list("aabbccdd")}
    >>> found = fit(prepare("lmer", "y ~ x + (1 | g)", data, REML=True, ddf="Satterthwaite"))
    >>> degrees_of_freedom(found, np.array([[0.0, 1.0]])).round(6).tolist()
    [3.0]
    """
    from ordbridge.fast.lmer import satterthwaite

    details = found.details
    return satterthwaite(L, found.vcov, float(found.sigma or 0.0), details["second_derivatives"], details["basis"])


def profile(problem: Problem) -> Profile:
    """Return the likelihood of a problem as a function of any one of its parameters; of an lmer never the restricted.

    Examples
    --------
    >>> from ordbridge.models.prepare import prepare
    >>> found = profile(prepare("lm", "y ~ 1", {"y": [1.0, 2.0, 4.0]}))
    >>> [(one.effect, round(one.estimate, 3)) for one in found.quantities], round(found.at(0, 2.0), 3)
    ([('fixed', 2.333), ('sd', 1.528)], -5.023)
    """
    refuse(problem)
    ready, value = _with_response(problem)
    if problem.model == "lm":
        e = _lm(problem)
        sigma = float(e.sigma or 0.0)
        return LmProfile([*_mean_quantities(e), _residual(sigma)], len(e.rows), e.std_error, sigma, e.loglik)
    if problem.model == "lmer":
        ml = replace(problem, REML=False)
        solved = _solve_lmer(ml, ready, value)
        sds = _sd_quantities(ready, [solved.sigma * L for L in solved.L])
        quantities = [*_mean_quantities(_lmer(ml)), *sds, _residual(solved.sigma)]
        y = _numbers(problem, ready, value)
        structure, layout = ready.crossed
        return LmerProfile(quantities, y, ready.X, structure, layout, solved.entries, solved.sigma, solved.loglik)
    e = _clm(problem) if problem.model == "clm" else _clmm(problem)
    ratings, _ = _ratings(problem, ready, value)
    if problem.model == "clm":
        return ClmProfile(_mean_quantities(e), ratings, e.estimate, e.vcov, e.loglik)
    found = _solve_clmm(problem, ready, ratings)
    quantities = [*_mean_quantities(e), *_sd_quantities(ready, found.L)]
    structure, layout = ready.crossed
    return ClmmProfile(
        quantities, ratings, structure, layout, found.parameters, e.vcov, found.loglik, problem.nAGQ or 1
    )


def f_test(found: Estimates, L: np.ndarray) -> tuple[float, float]:
    """Return F and its denominator degrees of freedom (Satterthwaite) of a native lmer, for L @ coefficients = 0."""
    from ordbridge.fast.lmer import satterthwaite_f

    details = found.details
    derivatives, basis = details["second_derivatives"], details["basis"]
    return satterthwaite_f(L, found.estimate, found.vcov, float(found.sigma or 0.0), derivatives, basis)


def laplace_cost(problem: Problem, positions: list[int], pairs: int, seed: int) -> Cost:
    """Return what Laplace's approximation costs a clmm (:mod:`ordbridge.fast.laplace_shift`).

    Parameters
    ----------
    problem
        A clmm with ``nAGQ=1``.
    positions
        Of the asked parameters among the estimates.
    pairs, seed
        Number of pairs of draws, and where they begin.
    """
    from ordbridge.fast import laplace_shift

    refuse(problem)
    ready, value = _with_response(problem)
    ratings, _ = _ratings(problem, ready, value)
    found = _solve_clmm(problem, ready, ratings)
    if not found.converged:
        raise FitError("the model does not converge, so that there is nothing to check")
    structure, layout = ready.crossed
    return laplace_shift.laplace_cost(ratings, structure, layout, found, positions, pairs, seed)


def missing_loglik(
    problem: Problem, parameters: np.ndarray, roots: Sequence[np.ndarray], pairs: int, seed: int
) -> np.ndarray:
    """Return what Laplace's approximation leaves out of a clmm's log likelihood at any parameters.

    Parameters
    ----------
    problem
        A clmm with ``nAGQ=1``.
    parameters
        Points × thresholds and coefficients, in the order of the estimates.
    roots
        Per random term, in the order of the estimates, points × q × q: Cholesky factors of its covariance.
    pairs, seed
        Number of pairs of draws, and where they begin.
    """
    from ordbridge.fast import laplace_shift

    refuse(problem)
    ready, value = _with_response(problem)
    ratings, _ = _ratings(problem, ready, value)
    structure, layout = ready.crossed
    factors = []
    for i in range(len(parameters)):
        sizes = [sum(len(part.names) for part in ready.terms_of(group)) for group in ready.groups]
        own = [np.zeros((size, size)) for size in sizes]
        for (f, columns), root in zip(ready.places, roots, strict=True):
            own[f][columns, columns] = root[i]
        factors.append(own)
    return laplace_shift.missing_loglik(ratings, structure, layout, parameters, factors, pairs, seed)


def _mean_quantities(e: Estimates) -> list[Quantity]:
    """Return thresholds and coefficients, with their standard errors as first steps."""
    step = np.where(np.isfinite(e.std_error), e.std_error, 0.5)
    rows = zip(e.effects, e.terms, e.estimate, step, strict=True)
    return [Quantity(effect, None, term, float(value), float(own)) for effect, term, value, own in rows]


def _sd_quantities(ready: Design, L: list[np.ndarray]) -> list[Quantity]:
    """Return the standard deviations of the random effects, in the order of the layout's diagonals."""
    structure, layout = ready.crossed
    found = []
    for factor, row in zip(layout.factor[layout.diagonal], layout.row[layout.diagonal], strict=True):
        own = structure.factors[factor]
        group = ready.groups[own]
        names = [name for part in ready.terms_of(group) for name in part.names]
        sd = float(np.linalg.norm(L[own][row]))
        found.append(Quantity("sd", group, names[row], sd, max(0.3 * sd, 0.02)))
    return found


def _residual(sigma: float) -> Quantity:
    return Quantity("sd", "Residual", None, sigma, 0.1 * sigma)


def _theta(ready: Design, factors: list[np.ndarray]) -> np.ndarray:
    """Return lme4's theta: per term the lower triangle of the relative Cholesky factor, column by column."""
    return np.concatenate([L[k:, k] for L in _term_blocks(ready, factors) for k in range(L.shape[0])])


def refuse(problem: Problem) -> None:
    """Refuse what the engine does not know."""
    if problem.model == "clmm" and problem.nAGQ not in (None, 1):
        _check_quadrature(problem)
    if problem.threshold == "symmetric2":
        raise InputError(f"the fast engine does not know threshold='symmetric2'; {ELSEWHERE}")
    if problem.model == "lmer" and problem.ddf == "Kenward-Roger":
        raise InputError(f"the fast engine does not know ddf='Kenward-Roger'; {ELSEWHERE}")


def _check_quadrature(problem: Problem) -> None:
    nAGQ = int(problem.nAGQ or 1)
    if nAGQ < 0:
        raise InputError(f"the fast engine's quadrature is adaptive, nAGQ={nAGQ} asks for another one; {ELSEWHERE}")
    if nAGQ > MOST_NODES:
        raise InputError(f"nAGQ={nAGQ} is more than the {MOST_NODES} points that the fast engine takes; 10 are plenty")
    random = design(problem).random
    if len(random) > 1 or len(random[0].names) > 1:
        effects = ", ".join(f"({' + '.join(part.names)} | {part.group})" for part in random)
        raise InputError(
            f"nAGQ={nAGQ} is for a single random effect such as (1 | participant), and this model has {effects}; "
            "leave nAGQ at 1 and see fit.check_laplace()"
        )


def _with_response(problem: Problem) -> tuple[Design, Column]:
    """Prepare the problem; return it with the response on its complete rows."""
    value = response(problem)
    if not isinstance(value, Column):
        raise InputError(f"the response {problem.formula.response} has several columns; {ELSEWHERE}")
    ready = design(problem, ~value.missing)
    return ready, Column(value.kind, value.values[ready.rows], value.levels, value.ordered)


def _ratings(problem: Problem, ready: Design, value: Column) -> tuple[Responses, tuple[str, ...]]:
    """Return the rows of an ordinal model, and the categories that occur in complete rows with a weight above zero."""
    codes = value.values
    used = np.flatnonzero(np.bincount(codes if ready.weights is None else codes[ready.weights > 0]))
    if used.size < 2:
        raise InputError(
            f"the response {problem.formula.response} has only one category in the complete rows; "
            "two or more are needed"
        )
    position = np.zeros(len(value.levels), dtype=np.int64)  # a row without a weight may have any category
    position[used] = np.arange(used.size)
    y = position[codes]
    link, threshold = problem.link or "logit", problem.threshold or "flexible"
    nothing = np.empty((len(y), 0))
    nominal, scale = (nothing if side is None else side.columns for side in (ready.nominal, ready.scale))
    ratings = Responses(y, ready.X, used.size - 1, link, threshold, nominal, scale, ready.weights, ready.offset)
    return ratings, tuple(value.levels[i] for i in used)


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
    ratings, levels = _ratings(problem, ready, value)
    found = fit_clm(ratings)
    said, vcov, converged = clm_conditions(found, ratings, _separated(ready, ratings, levels))
    return _ordinal_estimates(
        ready,
        ratings,
        levels,
        found.parameters,
        vcov,
        loglik=found.loglik,
        converged=converged,
        singular=False,
        max_gradient=float(np.abs(found.gradient).max()),
        hessian_condition=_condition_number(found.hessian),
        evaluations=found.iterations,
        conditions=(*ready.conditions, *gap_conditions(problem, levels), *said),
    )


def _separated(ready: Design, ratings: Responses, levels: tuple[str, ...]) -> list[str]:
    """Say which levels of factors leave no room for a maximum."""
    counted = slice(None) if ready.weights is None else ready.weights > 0
    y = ratings.y[counted]
    total = np.bincount(y, minlength=len(levels)).tolist()
    found = separated_levels(levels, _counts_of(ready, ready.fixed, y, counted, len(levels)), total)
    if ready.nominal is not None:
        found += unused_categories(levels, _counts_of(ready, ready.nominal.terms, y, counted, len(levels)))
    return found


def _counts_of(
    ready: Design, terms: Terms, y: np.ndarray, counted: np.ndarray | slice, categories: int
) -> dict[str, list[int]]:
    """Count how often every level of the factors that are terms of their own was given each category."""
    found: dict[str, list[int]] = {}
    for variable in (term[0] for term in terms.terms if len(term) == 1):
        value = ready.values[variable]
        if isinstance(value, Column) and value.kind == "factor":
            cell = value.values[counted] * categories + y
            counts = np.bincount(cell, minlength=len(value.levels) * categories).reshape(-1, categories).tolist()
            found |= {f"{variable} {level}": own for level, own in zip(value.levels, counts, strict=True) if any(own)}
    return found


def _solve_clmm(problem: Problem, ready: Design, ratings: Responses):  # type: ignore[no-untyped-def]
    from ordbridge.fast.clmm import fit_clmm

    structure, layout = ready.crossed
    check_memory(structure, layout)
    return fit_clmm(ratings, structure, layout, problem.timeout, problem.nAGQ or 1)


def _clmm(problem: Problem) -> Estimates:
    ready, value = _with_response(problem)
    ratings, levels = _ratings(problem, ready, value)
    found = _solve_clmm(problem, ready, ratings)
    said, vcov, converged, singular = clmm_conditions(found, ratings, _separated(ready, ratings, levels))
    return _ordinal_estimates(
        ready,
        ratings,
        levels,
        found.parameters[: ratings.size],
        vcov,
        loglik=found.loglik,
        converged=converged,
        singular=singular,
        max_gradient=float(np.abs(found.gradient[found.free]).max()),
        hessian_condition=_condition_number(found.hessian),
        evaluations=found.evaluations,
        conditions=(*ready.conditions, *gap_conditions(problem, levels), *said),
        random=_random_terms(ready, found.L, found.modes, found.mode_sd),
        extra_parameters=ready.crossed[1].factor.size,
        details={"starts": found.starts},
    )


def _ordinal_estimates(
    ready: Design,
    ratings: Responses,
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
    terms = {
        "threshold": thresholds.names(levels, ratings.threshold),
        "nominal": (),
        "fixed": ready.names,
        "scale": () if ready.scale is None else ready.scale.names,
    }
    dropped = ready.dropped
    if ready.nominal is not None:  # in R's words
        own = terms["threshold"]
        shifted = {name: tuple(f"{threshold}.{name}" for threshold in own) for name in ready.nominal.names}
        terms |= {
            "threshold": tuple(f"{threshold}.(Intercept)" for threshold in own),
            "nominal": sum(shifted.values(), ()),
        }
        dropped = (*(f"{threshold}.{name}" for name in ready.dropped_aside[0] for threshold in own), *dropped)
    dropped = (*dropped, *ready.dropped_aside[1])
    alpha = parameters[: ratings.n_alpha].reshape(-1, ratings.jacobian.shape[1])
    cutpoints = alpha @ ratings.jacobian.T
    std_error = np.sqrt(np.diag(vcov))
    statistic = parameters / std_error
    return Estimates(
        terms=tuple(name for names in terms.values() for name in names),
        effects=tuple(effect for effect, names in terms.items() for _ in names),
        estimate=parameters,
        std_error=std_error,
        df=np.full(parameters.size, np.nan),
        statistic=statistic,
        p_value=normal_p_value(statistic),
        vcov=vcov,
        random=random,
        rows=ready.rows,
        loglik=loglik,
        edf=parameters.size + extra_parameters,
        converged=converged,
        singular=singular,
        package_version=_version(),
        dropped=dropped,
        levels=levels,
        cutpoints=cutpoints[0],
        cutpoint_shifts=cutpoints[1:],
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
    n, p = _more_rows_than_columns(ready)
    beta, vcov, sigma, loglik = fit_lm(y, ready.X, ready.basis)
    return _linear_estimates(
        ready,
        beta,
        vcov,
        np.full(p, float(n - p)),
        sigma,
        loglik=loglik,
        edf=p + 1,
        conditions=(*ready.conditions, *lm_conditions(y, sigma)),
    )


def _more_rows_than_columns(ready: Design) -> tuple[int, int]:
    n, p = ready.X.shape
    if n <= p:
        raise FitError(f"{n} complete rows are too few for {p} coefficients; simplify the formula")
    return n, p


def _solve_lmer(problem: Problem, ready: Design, value: Column):  # type: ignore[no-untyped-def]
    from ordbridge.fast.lmer import fit_lmer

    _more_rows_than_columns(ready)
    structure, layout = ready.crossed
    reml = problem.REML is None or bool(problem.REML)
    y = _numbers(problem, ready, value)
    if np.ptp(y) <= CONSTANT * np.abs(y).max():
        raise FitError(f"the response {problem.formula.response} is {y[0]:g} in every row; there is nothing to explain")
    check_memory(structure, layout, ready.X.shape[1])
    try:
        return fit_lmer(y, ready.X, structure, layout, reml, problem.timeout, ready.basis)
    except ValueError as error:  # from the compiled core: no deviance where everything is explained
        raise FitError(f"{problem.model} {problem.described} could not be fitted: {error}") from None


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
        theta=_theta(ready, found.L),
        random=_random_terms(ready, [found.sigma * L for L in found.L], found.modes, found.mode_sd),
        details={"second_derivatives": found.second_derivatives, "basis": found.basis},
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
    theta: np.ndarray | None = None,
    random: tuple[RandomTerm, ...] = (),
    details: Mapping[str, object] | None = None,
) -> Estimates:
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
        p_value=t_p_value(statistic, df),
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
        theta=theta,
        max_gradient=max_gradient,
        hessian_condition=hessian_condition,
        evaluations=evaluations,
        conditions=conditions,
        details=details or {},
    )


def _term_blocks(ready: Design, factors: list[np.ndarray]) -> list[np.ndarray]:
    """Cut each term's own block out of its grouping factor's matrix, in the order of the design's terms."""
    return [factors[f][own, own] for f, own in ready.places]


def _random_terms(
    ready: Design, L: list[np.ndarray], modes: list[np.ndarray], sds: list[np.ndarray]
) -> tuple[RandomTerm, ...]:
    blocks = zip(ready.random, _term_blocks(ready, L), ready.places, strict=True)
    return tuple(
        RandomTerm(
            group=part.group,
            terms=part.names,
            levels=part.levels,
            covariance=block @ block.T,
            modes=np.ascontiguousarray(modes[f][:, own]),
            mode_sd=np.ascontiguousarray(sds[f][:, own]),
        )
        for part, block, (f, own) in blocks
    )


def _condition_number(hessian: np.ndarray) -> float:
    values = np.linalg.eigvalsh(hessian)
    return float(abs(values[-1] / values[0])) if values[0] != 0 else float("inf")


def _version() -> str:
    return f"ordbridge {__version__}"
