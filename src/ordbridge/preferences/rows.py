"""The likelihood of comparisons, row by row: how often each answer is given at a linear predictor, and derivatives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

__all__ = ["LINKS", "RowTerms", "cut_points", "row_terms", "spacings"]

LINKS = ("logit", "probit")
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class RowTerms:
    """Log likelihood of each row, and its first three derivatives by the linear predictor."""

    value: np.ndarray
    slope: np.ndarray
    weight: np.ndarray
    """Minus the second derivative."""
    third: np.ndarray


def cut_points(spacing: np.ndarray, categories: int) -> np.ndarray:
    """Return cut-points symmetric about zero from the logarithms of their distances, with infinite ends.

    Examples
    --------
    >>> cut_points(np.log([0.5, 1.0]), 5).tolist()
    [-inf, -1.5, -0.5, 0.5, 1.5, inf]
    >>> cut_points(np.empty(0), 2).tolist()
    [-inf, 0.0, inf]
    """
    above = np.cumsum(np.exp(spacing))
    middle = [0.0] if categories % 2 == 0 else []
    return np.concatenate([[-np.inf], -above[::-1], middle, above, [np.inf]])


def spacings(cuts: np.ndarray) -> np.ndarray:
    """Return the logarithms of the distances of positive cut-points, the inverse of :func:`cut_points`."""
    positive = cuts[np.isfinite(cuts) & (cuts > 0)]
    return np.asarray(np.log(np.diff(positive, prepend=0.0)))


def _density(x: np.ndarray, link: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the density of the link and its first two derivatives; zero at infinity."""
    finite = np.where(np.isfinite(x), x, 0.0)
    if link == "probit":
        f = np.exp(-0.5 * finite**2) / np.sqrt(2 * np.pi)
        parts = f, -finite * f, (finite**2 - 1) * f
    else:
        p = special.expit(finite)
        f = p * special.expit(-finite)
        parts = f, f * (1 - 2 * p), f * (1 - 6 * f)
    keep = np.isfinite(x)
    return tuple(np.where(keep, part, 0.0) for part in parts)  # type: ignore[return-value]


def row_terms(upper: np.ndarray, lower: np.ndarray, link: str) -> RowTerms:
    """Return what rows say whose answer lies between ``lower`` and ``upper``, cut-points minus linear predictor.

    Examples
    --------
    >>> terms = row_terms(np.array([np.inf]), np.array([0.0]), "logit")
    >>> terms.value.round(4).tolist(), terms.slope.tolist(), terms.weight.tolist()
    ([-0.6931], [0.5], [0.25])
    """
    # the same for both tails: differences of small probabilities lose no digits
    flip = lower > 0
    top, bottom = np.where(flip, -lower, upper), np.where(flip, -upper, lower)
    cdf = special.expit if link == "logit" else special.ndtr
    p = np.maximum(cdf(top) - cdf(bottom), TINY)
    up, low = _density(upper, link), _density(lower, link)
    first, second, third = (-(up[0] - low[0]) / p, (up[1] - low[1]) / p, -(up[2] - low[2]) / p)
    return RowTerms(np.log(p), first, first**2 - second, third - 3 * first * second + 2 * first**3)
