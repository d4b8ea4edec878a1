"""The likelihood of ordinal ratings given their random effects, for numpy and for jax alike.

With cut-points θ, linear predictor η and the link's distribution function F, a rating in category j has probability
F(θ_j − η) − F(θ_{j−1} − η). The logarithms below lose no digits in either tail, and none has a branch whose
derivative is not a number, which automatic differentiation would pick up:

    logit     F(u) − F(l) = F(u) F(−l) (1 − exp(l − u))
    probit    F(u) (1 − F(l) / F(u)), mirrored to where both are in the lower tail
    cloglog   exp(−exp(l)) (1 − exp(−(exp(u) − exp(l)))); loglog is its mirror image
    cauchit   the angle between the directions of u and l, over π
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ordbridge.formula import names
from ordbridge.models.fit import Fit

MIRRORED = {"probit": "probit", "logit": "logit", "cauchit": "cauchit", "cloglog": "loglog", "loglog": "cloglog"}
HIGHEST = 50.0  # exp(-exp(50)) is zero in double precision, and exp(50) is finite


@dataclass(frozen=True, eq=False)
class RatedRows:
    """The rows that count: their categories from 0 and model matrices; per random term columns, levels, their number.

    ``X`` has no intercept, for which the cut-points stand.
    """

    link: str
    y: np.ndarray
    cuts: int
    X: np.ndarray
    Z: tuple[np.ndarray, ...]
    level: tuple[np.ndarray, ...]
    levels: tuple[int, ...]
    weights: np.ndarray
    offset: np.ndarray


def rows_of(fit: Fit) -> RatedRows:
    """Return the rows of a clm or clmm as the engines code them.

    Examples
    --------
    >>> import ordbridge as ob
    >>> ratings = {"rating": [1, 2, 2, 3, 1, 3, 2, 3, 1, 2], "system": list("AABBAABBAB")}
    >>> rows = rows_of(ob.clm("rating ~ system", ratings, engine="fast"))
    >>> rows.y.tolist(), rows.cuts, rows.X.shape
    ([0, 1, 1, 2, 0, 2, 1, 2, 0, 1], 2, (10, 1))
    """
    problem, found, matrices = fit.problem, fit.estimates, fit.matrices()
    [response] = names(problem.formula.response)
    answers = problem.columns[response].values[found.rows]
    weights = np.ones(len(answers)) if problem.weights is None else problem.columns[problem.weights].values[found.rows]
    counted = weights > 0
    return RatedRows(
        link=str(problem.link),
        y=np.searchsorted(np.unique(answers[counted]), answers[counted]),
        cuts=len(found.levels) - 1,
        X=matrices.X[counted],
        Z=tuple(Z[counted] for Z in matrices.Z),
        level=tuple(level[counted] for level in matrices.level),
        levels=tuple(len(term.levels) for term in found.random),
        weights=weights[counted].astype(float),
        offset=matrices.offset[counted],
    )


def log_likelihood(rows: RatedRows, cutpoints: Any, eta: Any, numpy: Any = np) -> Any:
    """Return the log likelihood given the linear predictor of every row, random effects and offset included.

    ``numpy`` is the module to compute with: numpy or ``jax.numpy``.

    Examples
    --------
    >>> rows = RatedRows("logit", np.array([0, 1]), 1, np.empty((2, 0)), (), (), (), np.ones(2), np.zeros(2))
    >>> round(float(log_likelihood(rows, np.array([0.0]), np.zeros(2))), 6)
    -1.386294
    """
    lowest, highest = np.flatnonzero(rows.y == 0), np.flatnonzero(rows.y == rows.cuts)
    inner = np.flatnonzero((rows.y > 0) & (rows.y < rows.cuts))
    upper, lower = (cutpoints[rows.y[inner] - shift] - eta[inner] for shift in (0, 1))
    return (
        (rows.weights[lowest] * log_below(rows.link, cutpoints[0] - eta[lowest], numpy)).sum()
        + (rows.weights[highest] * log_below(MIRRORED[rows.link], eta[highest] - cutpoints[-1], numpy)).sum()
        + (rows.weights[inner] * log_between(rows.link, upper, lower, numpy)).sum()
    )


def log_below(link: str, x: Any, numpy: Any = np) -> Any:
    """Return log F(x)."""
    if link == "logit":
        return -numpy.logaddexp(0.0, -x)
    if link == "probit":
        return _log_normal(numpy)(x)
    if link == "cloglog":
        return numpy.log(-numpy.expm1(-numpy.exp(numpy.clip(x, -700.0, HIGHEST))))
    if link == "loglog":
        return -numpy.exp(-x)
    return numpy.log(numpy.arctan2(1.0, -x) / np.pi)


def log_between(link: str, upper: Any, lower: Any, numpy: Any = np) -> Any:
    """Return log(F(upper) − F(lower)).

    Examples
    --------
    >>> [round(float(log_between(link, 1.0, 0.0)), 4) for link in ("logit", "probit", "cloglog", "loglog", "cauchit")]
    [-1.4651, -1.0749, -1.1977, -1.126, -1.3863]
    """
    if link == "logit":
        inside = numpy.log(-numpy.expm1(lower - upper))
        return log_below("logit", upper, numpy) + log_below("logit", -lower, numpy) + inside
    if link == "probit":
        mirrored = upper + lower > 0
        a, b = numpy.where(mirrored, -lower, upper), numpy.where(mirrored, -upper, lower)
        high, low = _log_normal(numpy)(a), _log_normal(numpy)(b)
        return high + numpy.log(-numpy.expm1(low - high))
    if link == "loglog":
        return log_between("cloglog", -lower, -upper, numpy)
    if link == "cloglog":
        at, width = numpy.exp(numpy.clip(lower, -700.0, HIGHEST)), numpy.minimum(upper - lower, HIGHEST)
        return -at + numpy.log(-numpy.expm1(-at * numpy.expm1(width)))
    return numpy.log(numpy.arctan2(upper - lower, 1.0 + upper * lower) / np.pi)


def _log_normal(numpy: Any) -> Any:
    if numpy is np:
        from scipy.special import log_ndtr
    else:
        from jax.scipy.special import log_ndtr
    return log_ndtr
