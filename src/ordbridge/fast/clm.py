"""Cumulative link models without random effects: Newton's method on the exact likelihood, as ordinal::clm does it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ordbridge import _core
from ordbridge.fast.ratings import Responses
from ordbridge.models import thresholds

__all__ = ["ClmSolution", "fit_clm"]


@dataclass(frozen=True, eq=False)
class ClmSolution:
    """Parameters (thresholds, nominal, location and scale effects) with what the likelihood says about them."""

    parameters: np.ndarray
    hessian: np.ndarray
    gradient: np.ndarray
    loglik: float
    iterations: int
    converged: bool


def fit_clm(ratings: Responses) -> ClmSolution:
    """Fit a cumulative link model; scale and nominal effects start from the fit without them, as in ordinal.

    References
    ----------
    Christensen, R. H. B. (2019). Cumulative link models for ordinal regression with the R package ordinal.

    Examples
    --------
    >>> rows = Responses.plain(np.array([0, 0, 0, 1]), np.empty((4, 0)), 1, "logit", "flexible")
    >>> fit_clm(rows).parameters.round(4).tolist()
    [1.0986]
    """
    plain = ratings.location()
    n_alpha = plain.n_alpha
    start = np.concatenate([thresholds.start(ratings.cuts, ratings.threshold), np.zeros(ratings.X.shape[1])])
    parameters, hessian, gradient, loss, iterations, converged = _core.fit_clm(start=start, **plain.arguments())
    if ratings.size > plain.size:
        first = np.zeros(ratings.size)
        first[:n_alpha] = parameters[:n_alpha]
        first[ratings.n_alpha : ratings.n_alpha + ratings.X.shape[1]] = parameters[n_alpha:]
        before = iterations
        parameters, hessian, gradient, loss, iterations, converged = _core.fit_clm(start=first, **ratings.arguments())
        iterations += before
    return ClmSolution(parameters, hessian, gradient, -loss, iterations, converged)
