"""The native engine behind the small interface of :mod:`ordbridge.models.problem`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from ordbridge import _core
from ordbridge.errors import FitError
from ordbridge.fast import laplace_shift, lmer
from ordbridge.fast.estimates import (
    clmm_estimates,
    estimate_clm,
    estimate_clmm,
    estimate_lm,
    estimate_lmer,
    term_blocks,
    theta_of,
)
from ordbridge.fast.laplace_shift import Cost
from ordbridge.fast.model_frame import Design, new_matrices
from ordbridge.fast.profiles import ClmmProfile, ClmProfile, LmerProfile, LmProfile, Profile, Quantity
from ordbridge.fast.solving import (
    maximise_clmm,
    maximise_lmer,
    numbers_of,
    ratings_of,
    refuse,
    solve_clmm,
    solve_lmer,
    with_response,
)
from ordbridge.models.columns import Column
from ordbridge.models.links import LINKS
from ordbridge.models.problem import Estimates, Matrices, Problem

__all__ = [
    "degrees_of_freedom",
    "f_test",
    "fit",
    "laplace_cost",
    "log_probabilities",
    "loglik",
    "matrices",
    "missing_loglik",
    "profile",
    "refuse",
    "start",
]

ESTIMATE: dict[str, Callable[[Problem], Estimates]] = {
    "clm": estimate_clm,
    "lm": estimate_lm,
    "lmer": estimate_lmer,
}
MAXIMISE: dict[str, Callable[[Problem, Estimates | None], float]] = {"clmm": maximise_clmm, "lmer": maximise_lmer}


def fit(problem: Problem, near: Estimates | None = None) -> Estimates:
    """Fit a problem natively.

    Parameters
    ----------
    problem
        A checked clm, clmm, lm or lmer.
    near
        Estimates of the same random effects from similar responses, such as those from which these were drawn: a clmm
        is found sooner from there.

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
    with _computable(problem):
        return estimate_clmm(problem, near) if problem.model == "clmm" else ESTIMATE[problem.model](problem)


def loglik(problem: Problem, near: Estimates | None = None) -> float:
    """Return the log likelihood at its maximum and nothing else; arguments as of :func:`fit`.

    For work on many draws, such as the bootstrap of a likelihood ratio, which needs neither standard errors nor
    conditional modes.

    Examples
    --------
    >>> from ordbridge.models.prepare import prepare
    >>> data = {"y": [1, 2, 2, 3, 1, 3, 2, 3], "x": [0, 1] * 4, "g": list("aabbccdd")}
    >>> problem = prepare("clmm", "y ~ x + (1 | g)", data, link="logit", threshold="flexible", nAGQ=1)
    >>> abs(loglik(problem) - fit(problem).loglik) < 1e-6
    True
    """
    if problem.model not in MAXIMISE:
        return fit(problem).loglik
    refuse(problem)
    with _computable(problem):
        return MAXIMISE[problem.model](problem, near)


def log_probabilities(link: str, upper: np.ndarray, lower: np.ndarray) -> np.ndarray:
    """Return log(F(upper) - F(lower)) without cancellation in either tail; -inf where upper is not above lower.

    Examples
    --------
    >>> log_probabilities("logit", np.array([0.0, 40.0]), np.array([-1e150, 39.0])).round(4).tolist()
    [-0.6931, -39.4587]
    """
    return _core.log_probabilities(LINKS[link].number, upper.ravel(), lower.ravel()).reshape(upper.shape)


@contextmanager
def _computable(problem: Problem) -> Iterator[None]:
    try:
        yield
    except np.linalg.LinAlgError:
        raise FitError(
            f"{problem.model} {problem.described} could not be fitted: its numbers are too large, too small "
            "or too much alike to compute with; rescale the predictors, or simplify the formula"
        ) from None


def matrices(problem: Problem, estimates: Estimates, newdata: Mapping[str, Column]) -> Matrices:
    """Return the model matrices of new rows, coded as the rows of the fit were."""
    return new_matrices(with_response(problem)[0], newdata)


def start(problem: Problem) -> np.ndarray | list[np.ndarray]:
    """Return the native optimum of a clmm or lmer as R takes its start.

    For ordinal::clmm that is thresholds and coefficients, and the entries of the Cholesky factors: per term, in
    ordinal's order of terms, the diagonal and then the entries below it, column by column. A single term (1 | group)
    has one vector, with the logarithm of its standard deviation at the end. For lme4::lmer it is theta: per term the
    lower triangle of the relative Cholesky factor, column by column.
    """
    refuse(problem)
    ready, value = with_response(problem)
    if problem.model == "lmer":
        return theta_of(ready, solve_lmer(problem, ready, value).L)
    solution = solve_clmm(problem, ready, ratings_of(problem, ready, value)[0])
    n_mean = solution.parameters.size - ready.crossed[1].factor.size
    mean = solution.parameters[:n_mean]
    if len(ready.random) == 1 and ready.random[0].names == ("(Intercept)",):
        return np.append(mean, np.log(max(solution.L[0][0, 0], 1e-3)))
    entries = []
    for L in term_blocks(ready, solution.L):
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
    details = found.details
    return lmer.satterthwaite(L, found.vcov, float(found.sigma or 0.0), details["second_derivatives"], details["basis"])


def f_test(found: Estimates, L: np.ndarray) -> tuple[float, float]:
    """Return F and its denominator degrees of freedom (Satterthwaite) of a native lmer, for L @ coefficients = 0."""
    details = found.details
    derivatives, basis = details["second_derivatives"], details["basis"]
    return lmer.satterthwaite_f(L, found.estimate, found.vcov, float(found.sigma or 0.0), derivatives, basis)


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
    ready, value = with_response(problem)
    if problem.model == "lm":
        e = estimate_lm(problem)
        sigma = float(e.sigma or 0.0)
        return LmProfile([*_mean_quantities(e), _residual(sigma)], len(e.rows), e.std_error, sigma, e.loglik)
    if problem.model == "lmer":
        ml = replace(problem, REML=False)
        solved = solve_lmer(ml, ready, value)
        sds = _sd_quantities(ready, [solved.sigma * L for L in solved.L])
        quantities = [*_mean_quantities(estimate_lmer(ml)), *sds, _residual(solved.sigma)]
        y = numbers_of(problem, ready, value)
        structure, layout = ready.crossed
        return LmerProfile(quantities, y, ready.X, structure, layout, solved.entries, solved.sigma, solved.loglik)
    ratings, levels = ratings_of(problem, ready, value)
    if problem.model == "clm":
        e = estimate_clm(problem)
        return ClmProfile(_mean_quantities(e), ratings, e.estimate, e.vcov, e.loglik)
    found = solve_clmm(problem, ready, ratings)
    e = clmm_estimates(problem, ready, ratings, levels, found)
    quantities = [*_mean_quantities(e), *_sd_quantities(ready, found.L)]
    structure, layout = ready.crossed
    return ClmmProfile(
        quantities,
        ratings,
        structure,
        layout,
        found.parameters,
        e.vcov,
        found.loglik,
        problem.nAGQ or 1,
        found.free,
        found.hessian,
    )


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
    refuse(problem)
    ready, value = with_response(problem)
    ratings, _ = ratings_of(problem, ready, value)
    found = solve_clmm(problem, ready, ratings)
    if not found.converged:
        raise FitError("the model does not converge, so there is nothing to check")
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
    refuse(problem)
    ready, value = with_response(problem)
    ratings, _ = ratings_of(problem, ready, value)
    structure, layout = ready.crossed
    factors = []
    for i in range(len(parameters)):
        sizes = [sum(len(part.names) for part in ready.terms_of(group)) for group in ready.groups]
        own = [np.zeros((size, size)) for size in sizes]
        for (f, columns), root in zip(ready.places, roots, strict=True):
            own[f][columns, columns] = root[i]
        factors.append(own)
    return laplace_shift.missing_loglik(ratings, structure, layout, parameters, factors, pairs, seed)
