"""Power in closed form where several differences are tested at once: Holm's family of pairs, and any difference at all.

The means of systems are taken as normal with known covariance ``raters / P + items / m + diag(residual) / (m r)``, over
the share of the ratings that the parameters leave (:mod:`ordbridge.planning.closed_form`).
That a study only estimates it is left out, because a plan corrects the whole prediction by its simulations
(:class:`ordbridge.planning.forecast_power.PowerForecast`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ordbridge.planning.closed_form import Sources

DRAWS = 500  # of the means of systems: an error of .02, which is the same for all designs
SAME = 1e-9


def every_power(
    sources: Sources,
    pairs: Sequence[tuple[int, int]],
    m: np.ndarray,
    r: np.ndarray,
    raters: np.ndarray,
    left: np.ndarray,
    alpha: float,
) -> np.ndarray:
    """Return how often every pair that truly differs is found after Holm's correction over all pairs.

    References
    ----------
    Holm, S. (1979). A simple sequentially rejective multiple test procedure. *Scandinavian Journal of Statistics* 6,
    65–70.
    """
    from scipy.stats import norm

    covariance = _covariance(sources, m, r, raters, left)
    root = np.linalg.cholesky(covariance + 1e-12 * np.eye(len(sources.location)))
    low, high = (np.array(ends) for ends in zip(*pairs, strict=True))
    means = sources.location + np.einsum("...st,nt->...ns", root, _normal(len(sources.location)))
    variance = np.diagonal(covariance, axis1=-2, axis2=-1)
    error = np.sqrt(variance[..., low] + variance[..., high] - 2 * covariance[..., low, high])
    z = abs(means[..., high] - means[..., low]) / error[..., None, :]
    differ = abs(sources.location[high] - sources.location[low]) > SAME
    if not differ.any():
        return np.full(np.shape(m), alpha)
    steps = norm.isf(alpha / (2 * np.arange(len(pairs), 0, -1)))  # for the largest |z|, the second largest, …
    passed = np.cumprod(-np.sort(-z, axis=-1) > steps, axis=-1).sum(axis=-1)
    needed = (z >= z[..., differ].min(axis=-1, keepdims=True)).sum(axis=-1)
    return np.asarray((needed <= passed).mean(axis=-1))


def any_power(
    sources: Sources, m: np.ndarray, r: np.ndarray, raters: np.ndarray, left: np.ndarray, alpha: float
) -> np.ndarray:
    """Return the power of a likelihood ratio test of any difference: a noncentral χ² with one df less than systems."""
    from scipy.stats import chi2, ncx2

    count = len(sources.location)
    contrasts = np.hstack([-np.ones((count - 1, 1)), np.eye(count - 1)])
    covariance = contrasts @ _covariance(sources, m, r, raters, left) @ contrasts.T
    difference = contrasts @ sources.location
    away = np.einsum("s,...st,t->...", difference, np.linalg.inv(covariance), difference)
    return np.asarray(ncx2.sf(chi2.isf(alpha, count - 1), count - 1, away))


def _covariance(sources: Sources, m: np.ndarray, r: np.ndarray, raters: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Return the covariance of the estimated means of systems: design × system × system."""
    m, r, raters, left = (np.asarray(values)[..., None, None] for values in (m, r, raters, left))
    return np.asarray((sources.raters / raters + sources.items / m + np.diag(sources.residual) / (m * r)) / left)


@lru_cache(maxsize=8)
def _normal(systems: int) -> np.ndarray:
    half = np.random.default_rng(0).standard_normal((DRAWS // 2, systems))
    return np.vstack([half, -half])
