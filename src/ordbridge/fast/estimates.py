"""From an optimum to the arrays, names and words that every engine returns."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ordbridge import __version__
from ordbridge.fast.clm import fit_clm
from ordbridge.fast.clmm import ClmmSolution
from ordbridge.fast.flags import (
    clm_conditions,
    clmm_conditions,
    gap_conditions,
    lm_conditions,
    lmer_conditions,
    separated_levels,
    unused_categories,
)
from ordbridge.fast.lm import fit_lm
from ordbridge.fast.model_frame import Design
from ordbridge.fast.p_values import normal_p_value, t_p_value
from ordbridge.fast.ratings import Responses
from ordbridge.fast.solving import (
    more_rows_than_columns,
    numbers_of,
    ratings_of,
    solve_clmm,
    solve_lmer,
    with_response,
)
from ordbridge.formula import Terms
from ordbridge.models import thresholds
from ordbridge.models.columns import Column
from ordbridge.models.problem import Estimates, Problem, RandomTerm
from ordbridge.results.finding import Finding

__all__ = ["clmm_estimates", "estimate_clm", "estimate_clmm", "estimate_lm", "estimate_lmer", "term_blocks", "theta_of"]


def estimate_clm(problem: Problem) -> Estimates:
    """Fit a cumulative link model."""
    ready, value = with_response(problem)
    ratings, levels = ratings_of(problem, ready, value)
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
        max_gradient=float(np.abs(found.gradient).max(initial=0.0)),
        hessian_condition=_condition_number(found.hessian),
        evaluations=found.iterations,
        findings=(*ready.findings, *gap_conditions(problem, levels), *said),
    )


def estimate_clmm(problem: Problem, near: Estimates | None = None) -> Estimates:
    """Fit a cumulative link mixed model; the search starts from random effects like those of ``near``."""
    ready, value = with_response(problem)
    ratings, levels = ratings_of(problem, ready, value)
    return clmm_estimates(problem, ready, ratings, levels, solve_clmm(problem, ready, ratings, near))


def clmm_estimates(
    problem: Problem, ready: Design, ratings: Responses, levels: tuple[str, ...], found: ClmmSolution
) -> Estimates:
    """Return the estimates of a cumulative link mixed model that has been fitted."""
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
        findings=(*ready.findings, *gap_conditions(problem, levels), *said),
        random=_random_terms(ready, found.L, found.modes, found.mode_sd),
        extra_parameters=ready.crossed[1].factor.size,
        details={"starts": found.starts},
    )


def estimate_lm(problem: Problem) -> Estimates:
    """Fit a linear model."""
    ready, value = with_response(problem)
    y = numbers_of(problem, ready, value)
    n, p = more_rows_than_columns(ready)
    beta, vcov, sigma, loglik = fit_lm(y, ready.X, ready.basis)
    return _linear_estimates(
        ready,
        beta,
        vcov,
        np.full(p, float(n - p)),
        sigma,
        loglik=loglik,
        edf=p + 1,
        findings=(*ready.findings, *lm_conditions(y, sigma)),
    )


def estimate_lmer(problem: Problem) -> Estimates:
    """Fit a linear mixed model."""
    ready, value = with_response(problem)
    found = solve_lmer(problem, ready, value)
    said, converged = lmer_conditions(found)
    return _linear_estimates(
        ready,
        found.beta,
        found.vcov,
        found.df,
        found.sigma,
        loglik=found.loglik,
        edf=found.beta.size + found.entries.size + 1,
        findings=(*ready.findings, *said),
        converged=converged,
        singular=found.singular,
        max_gradient=float(np.abs(found.gradient).max(initial=0.0)),
        hessian_condition=_condition_number(found.hessian),
        evaluations=found.evaluations,
        theta=theta_of(ready, found.L),
        random=_random_terms(ready, [found.sigma * L for L in found.L], found.modes, found.mode_sd),
        details={"second_derivatives": found.second_derivatives, "basis": found.basis},
    )


def _separated(ready: Design, ratings: Responses, levels: tuple[str, ...]) -> list[Finding]:
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
    findings: tuple[Finding, ...],
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
    alpha = parameters[: ratings.n_alpha].reshape(1 + ratings.nominal.shape[1], -1)
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
        findings=findings,
        details=details or {},
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
    findings: tuple[Finding, ...],
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
        findings=findings,
        details=details or {},
    )


def theta_of(ready: Design, factors: list[np.ndarray]) -> np.ndarray:
    """Return lme4's theta: per term the lower triangle of the relative Cholesky factor, column by column."""
    return np.concatenate([L[k:, k] for L in term_blocks(ready, factors) for k in range(L.shape[0])])


def term_blocks(ready: Design, factors: list[np.ndarray]) -> list[np.ndarray]:
    """Cut each term's own block out of its grouping factor's matrix, in the order of the design's terms."""
    return [factors[f][own, own] for f, own in ready.places]


def _random_terms(
    ready: Design, L: list[np.ndarray], modes: list[np.ndarray], sds: list[np.ndarray]
) -> tuple[RandomTerm, ...]:
    blocks = zip(ready.random, term_blocks(ready, L), ready.places, strict=True)
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
    if not values.size:
        return 1.0
    return float(abs(values[-1] / values[0])) if values[0] != 0 else float("inf")


def _version() -> str:
    return f"ordbridge {__version__}"
