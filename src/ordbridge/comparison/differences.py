"""Differences of pairs of systems, whatever the estimand: estimates, tests, and intervals that say the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

Interval = Callable[[float], tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Differences:
    """Differences of pairs of systems, with their tests."""

    pairs: tuple[tuple[int, int], ...]
    """Places of the systems; a difference is the first's minus the second's."""
    estimate: np.ndarray
    error: np.ndarray
    """Standard errors; NaN where the test has none."""
    p_value: np.ndarray
    """NaN where the design cannot tell two systems apart."""
    df: np.ndarray
    """Degrees of freedom, infinite for z."""
    correlation: np.ndarray
    tests: tuple[str, ...]
    """Which test each pair has."""
    intervals: tuple[Interval | None, ...] = ()
    """Where an interval is not estimate ± quantile × error: the function that returns it for a level α."""
    least: tuple[float, ...] = ()
    """The smallest p-value that each pair's test can have; none for tests that can have any."""

    def limits(self, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the interval of each pair, of level 1 − α."""
        from scipy import stats

        half = stats.t.isf(alpha / 2, self.df) * self.error
        low, high = self.estimate - half, self.estimate + half
        for row, interval in enumerate(self.intervals):
            if interval is not None:
                low[row], high[row] = interval(float(alpha[row]))
        return low, high


def ranked_pairs(estimate: np.ndarray, reference: int | None) -> list[tuple[int, int]]:
    """Return the pairs to compare, the higher estimate first, or every other system with the reference.

    Examples
    --------
    >>> ranked_pairs(np.array([1.0, 3.0, 2.0]), None)
    [(1, 2), (1, 0), (2, 0)]
    >>> ranked_pairs(np.array([1.0, 3.0, 2.0]), 0)
    [(1, 0), (2, 0)]
    """
    order = [int(k) for k in np.argsort(-estimate, kind="stable")]
    if reference is not None:
        return [(k, reference) for k in order if k != reference]
    return [(i, j) for n, i in enumerate(order) for j in order[n + 1 :]]


def correlation(covariance: np.ndarray, pairs: Sequence[tuple[int, int]]) -> np.ndarray:
    """Return the correlations of differences of means with a covariance; independent where it is not known.

    Examples
    --------
    >>> correlation(np.eye(3), [(1, 0), (2, 0)]).round(2).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    C = np.zeros((len(pairs), len(covariance)))
    for row, (i, j) in enumerate(pairs):
        C[row, i], C[row, j] = 1.0, -1.0
    between = C @ (covariance if np.isfinite(covariance).all() else np.eye(len(covariance))) @ C.T
    sd = np.sqrt(np.maximum(np.diag(between), 1e-300))
    found: np.ndarray = between / sd[:, None] / sd
    np.fill_diagonal(found, 1.0)
    return found
