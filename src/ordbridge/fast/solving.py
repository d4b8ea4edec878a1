"""From a problem to its optimum: what is refused, the rows that a model is fitted to, and the search."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from ordbridge.errors import FitError, InputError
from ordbridge.fast.clmm import ClmmSolution, fit_clmm, maximised_clmm
from ordbridge.fast.lmer import LmerSolution, fit_lmer, maximised_lmer
from ordbridge.fast.memory import check_memory
from ordbridge.fast.model_frame import Design, design, elsewhere, response
from ordbridge.fast.ratings import Responses
from ordbridge.models.columns import Column
from ordbridge.models.problem import Estimates, Problem
from ordbridge.support.naming import arg

__all__ = [
    "maximise_clmm",
    "maximise_lmer",
    "more_rows_than_columns",
    "numbers_of",
    "ratings_of",
    "refuse",
    "solve_clmm",
    "solve_lmer",
    "with_response",
]

CONSTANT = 1e-14  # relative to the largest response: what rounding leaves of no difference
Found = TypeVar("Found")
MOST_NODES = 100  # more would have weights that are not positive in double precision


def refuse(problem: Problem) -> None:
    """Refuse what the engine does not know."""
    if problem.model == "clmm" and problem.nAGQ not in (None, 1):
        _check_quadrature(problem)
    if problem.model == "lmer" and problem.ddf == "Kenward-Roger":
        raise InputError(f"the fast engine does not know {arg('ddf', 'Kenward-Roger')}; {elsewhere()}")


def _check_quadrature(problem: Problem) -> None:
    nAGQ = int(problem.nAGQ or 1)
    if nAGQ < 0:
        raise InputError(
            f"the fast engine's quadrature is adaptive, {arg('nAGQ', nAGQ)} asks for another one; {elsewhere()}"
        )
    if nAGQ > MOST_NODES:
        raise InputError(
            f"{arg('nAGQ', nAGQ)} is more than the {MOST_NODES} points that the fast engine takes; 10 are plenty"
        )
    random = design(problem).random
    if len(random) > 1 or len(random[0].names) > 1:
        effects = ", ".join(f"({' + '.join(part.names)} | {part.group})" for part in random)
        raise InputError(
            f"{arg('nAGQ', nAGQ)} is for a single random effect such as (1 | participant), and this model has "
            f"{effects}; leave nAGQ at 1 and see fit.check_laplace()"
        )


def with_response(problem: Problem) -> tuple[Design, Column]:
    """Prepare the problem; return it with the response on its complete rows."""
    value = response(problem)
    if not isinstance(value, Column):
        raise InputError(f"the response {problem.formula.response} has several columns; {elsewhere()}")
    ready = design(problem, ~value.missing)
    return ready, Column(value.kind, value.values[ready.rows], value.levels, value.ordered)


def ratings_of(problem: Problem, ready: Design, value: Column) -> tuple[Responses, tuple[str, ...]]:
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


def numbers_of(problem: Problem, ready: Design, value: Column) -> np.ndarray:
    """Return the response of a linear model."""
    y = value.values.astype(float)
    if value.kind == "factor":
        raise InputError(f"the response {problem.formula.response} is not numeric; {problem.model} needs numbers")
    if not np.isfinite(y).all():
        raise FitError(f"the response {problem.formula.response} is infinite in some row")
    return y


def more_rows_than_columns(ready: Design) -> tuple[int, int]:
    """Return rows and columns of the model matrix; refuse where nothing is left for the residuals."""
    n, p = ready.X.shape
    if n <= p:
        raise FitError(f"{n} complete rows are too few for {p} coefficients; simplify the formula")
    return n, p


def solve_clmm(problem: Problem, ready: Design, ratings: Responses, near: Estimates | None = None) -> ClmmSolution:
    """Find the optimum of a clmm; the search starts from random effects like those of ``near``."""
    structure, layout = ready.crossed
    check_memory(structure, layout)
    return fit_clmm(ratings, structure, layout, problem.timeout, problem.nAGQ or 1, _entries_near(ready, near))


def _entries_near(ready: Design, near: Estimates | None) -> np.ndarray | None:
    """Return the entries of the Cholesky factors of another fit's covariances, if it has the same random effects."""
    if near is None:
        return None
    covariances = {(term.group, term.terms): term.covariance for term in near.random}
    if not all((part.group, part.names) in covariances for part in ready.random):
        return None
    structure, layout = ready.crossed
    factors = [np.zeros((size, size)) for size in (sum(own) for own in layout.blocks)]
    factors = [factors[structure.factors.index(f)] for f in range(len(factors))]
    for part, (f, own) in zip(ready.random, ready.places, strict=True):
        # of a covariance that may be singular: R' of a QR decomposition of its root
        values, vectors = np.linalg.eigh(covariances[part.group, part.names])
        root = np.linalg.qr((vectors * np.sqrt(np.maximum(values, 0.0))).T)[1].T
        factors[f][own, own] = root * np.where(np.diag(root) < 0, -1.0, 1.0)
    places = zip(layout.factor, layout.row, layout.column, strict=True)
    return np.array([factors[structure.factors[f]][a, b] for f, a, b in places])


def solve_lmer(problem: Problem, ready: Design, value: Column) -> LmerSolution:
    """Find the optimum of an lmer."""
    return _of_lmer(fit_lmer, problem, ready, value)


def maximise_clmm(problem: Problem, near: Estimates | None = None) -> float:
    """Return the highest log likelihood of a clmm; the search starts from random effects like those of ``near``."""
    ready, value = with_response(problem)
    structure, layout = ready.crossed
    check_memory(structure, layout)
    ratings, _ = ratings_of(problem, ready, value)
    return maximised_clmm(ratings, structure, layout, problem.timeout, problem.nAGQ or 1, _entries_near(ready, near))


def maximise_lmer(problem: Problem, near: Estimates | None = None) -> float:
    """Return the highest log likelihood of an lmer, or the highest restricted one; it is found soon from anywhere."""
    return _of_lmer(maximised_lmer, problem, *with_response(problem))


def _of_lmer(search: Callable[..., Found], problem: Problem, ready: Design, value: Column) -> Found:
    more_rows_than_columns(ready)
    structure, layout = ready.crossed
    reml = problem.REML is None or bool(problem.REML)
    y = numbers_of(problem, ready, value)
    if np.ptp(y) <= CONSTANT * np.abs(y).max():
        raise FitError(f"the response {problem.formula.response} is {y[0]:g} in every row; there is nothing to explain")
    check_memory(structure, layout, ready.X.shape[1])
    try:
        return search(y, ready.X, structure, layout, reml, problem.timeout, ready.basis)
    except ValueError as error:  # from the compiled core: no deviance where everything is explained
        raise FitError(f"{problem.model} {problem.described} could not be fitted: {error}") from None
