"""How sure a place in the ranking is: intervals of ranks, and how probably a system is the best."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

DRAWS = 20_000  # of the joint distribution of the means: a share has an error of at most .004


def rank_intervals(systems: Sequence[str], better: Iterable[tuple[str, str]]) -> dict[str, tuple[int, int]]:
    """Return the highest and the lowest place that each system can have.

    Parameters
    ----------
    systems
        All systems.
    better
        Pairs of which the first is significantly better, after a correction over all pairs. As that holds for all
        pairs at once, so do the intervals.

    References
    ----------
    Klein, M., Wright, T. & Wieczorek, J. (2020). A joint confidence region for an overall ranking of populations.
    Journal of the Royal Statistical Society C 69, 589–606.

    Examples
    --------
    >>> rank_intervals(["a", "b", "c"], [("a", "c")])
    {'a': (1, 2), 'b': (1, 3), 'c': (2, 3)}
    """
    pairs = list(better)
    above = {one: sum(second == one for _, second in pairs) for one in systems}
    below = {one: sum(first == one for first, _ in pairs) for one in systems}
    return {one: (1 + above[one], len(systems) - below[one]) for one in systems}


def best_probabilities(mean: np.ndarray, covariance: np.ndarray, df: float) -> np.ndarray | None:
    """Return how probably each system has the highest mean, by the joint t distribution of the means.

    It is the share of draws around the estimates in which a system is highest, None where errors are not known.

    Examples
    --------
    >>> best_probabilities(np.array([3.0, 3.0, 1.0]), np.eye(3) * 0.01, np.inf).round(1).tolist()
    [0.5, 0.5, 0.0]
    """
    if not np.isfinite(covariance).all():
        return None
    values, vectors = np.linalg.eigh(covariance)
    random = np.random.default_rng(1)
    drawn = random.standard_normal((DRAWS, len(mean))) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    if np.isfinite(df):
        drawn /= np.sqrt(random.chisquare(df, (DRAWS, 1)) / df)
    winner = np.argmax(mean + drawn, axis=1)
    return np.bincount(winner, minlength=len(mean)) / DRAWS
