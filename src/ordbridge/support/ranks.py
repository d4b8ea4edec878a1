"""How sure a ranking is: intervals of ranks, clusters, the best system, and what a repetition of the study would find.

How probably a repetition gives the same order depends on how far apart systems truly are, and estimates are further
apart than what they estimate. So true means are taken as drawn from a normal distribution whose variance has the
uniform shrinkage prior (Daniels 1999), and the sampling variance as known up to a χ² with the degrees of freedom of the
tests. A repetition has the same design, with new raters, items and ratings. How well the probabilities hold is measured
by ``benchmarks/ranking_stability.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

DRAWS = 20_000  # of the joint distribution of the means: a share has an error of at most .004
MOST_NUMBERS = 2_000_000  # draws × pairs
SHRINKAGES, SCALES = 40, 15  # points of the grid of shrinkage factors, and of the estimated variance


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
    random = np.random.default_rng(1)
    drawn = random.standard_normal((DRAWS, len(mean))) @ _root(covariance)
    if np.isfinite(df):
        drawn /= np.sqrt(random.chisquare(df, (DRAWS, 1)) / df)
    winner = np.argmax(mean + drawn, axis=1)
    return np.bincount(winner, minlength=len(mean)) / DRAWS


def clusters(ranked: Sequence[str], better: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Return systems in groups: each has the best system left and those after it that are not significantly below it.

    Unlike groups by letters these do not overlap, so that sixty systems can be read at a glance. A system may be
    in one cluster with another that is clearly below it only if the best of the cluster is not clearly above both.

    Examples
    --------
    >>> clusters(["a", "b", "c", "d"], [("a", "c"), ("a", "d"), ("b", "d")])
    [['a', 'b'], ['c', 'd']]
    """
    below = set(better)
    found: list[list[str]] = []
    for one in ranked:
        if found and (found[-1][0], one) not in below:
            found[-1].append(one)
        else:
            found.append([one])
    return found


@dataclass(frozen=True)
class Stability:
    """What a repetition of a study would find."""

    stable_ranking: float | None
    """The probability that every pair which differs significantly keeps its order; None where no pair differs."""
    same_order: float
    """The probability that all systems are in the same order."""
    same_best: float
    """The probability that the same system is the best."""


def ranking_stability(
    mean: np.ndarray, covariance: np.ndarray, df: float, better: Sequence[tuple[int, int]]
) -> Stability | None:
    """Return how probably a repetition of a study finds what it found; None where errors are not known.

    Parameters
    ----------
    mean, covariance, df
        Estimates, higher is better, with their covariance and the degrees of freedom of their tests.
    better
        Places of the pairs of which the first is significantly better.

    References
    ----------
    Riley, P., Deutsch, D., Foster, G., Ratnakar, V., Dabirmoghaddam, A. & Freitag, M. (2024). Finding replicable human
    evaluations via stable ranking probability. NAACL 2024, 4908–4919.
    Daniels, M. J. (1999). A prior for the variance in hierarchical models. Canadian Journal of Statistics 27, 567–578.

    Examples
    --------
    >>> far = ranking_stability(np.array([3.0, 2.0, 1.0]), np.eye(3) * 0.01, np.inf, [(0, 1), (0, 2), (1, 2)])
    >>> far.stable_ranking > 0.99, far.same_order > 0.99
    (True, True)
    >>> near = ranking_stability(np.array([3.0, 2.99, 2.98]), np.eye(3) * 0.01, np.inf, [])
    >>> near.stable_ranking is None, 0.1 < near.same_order < 0.3  # by chance it is 1 in 6
    (True, True)
    """
    if not np.isfinite(covariance).all() or len(mean) < 2:
        return None
    again = _repetitions(mean, covariance, df)
    order = np.argsort(-mean, kind="stable")
    kept = np.all([again[:, i] > again[:, j] for i, j in better], axis=0).mean() if better else None
    same = (np.diff(again[:, order], axis=1) < 0).all(axis=1)
    best = again.argmax(axis=1) == order[0]
    return Stability(None if kept is None else float(kept), float(same.mean()), float(best.mean()))


def _repetitions(mean: np.ndarray, covariance: np.ndarray, df: float) -> np.ndarray:
    """Return draws of what a repetition estimates, up to a shift of all systems."""
    from scipy import stats

    k = len(mean)
    basis = np.linalg.qr(np.column_stack([np.ones(k), np.eye(k)]))[0][:, 1:]  # differences: one dimension less
    variance, axes = np.linalg.eigh(basis.T @ covariance @ basis)
    variance, axes = np.maximum(variance, 0.0), basis @ axes
    seen = axes.T @ mean
    typical = float(variance.mean()) or 1.0
    factor = (np.arange(SHRINKAGES) + 0.5) / SHRINKAGES
    between = typical * (1 - factor) / factor
    middle = (np.arange(SCALES) + 0.5) / SCALES
    scale = df / stats.chi2.ppf(middle, df) if np.isfinite(df) else np.ones(1)
    noise = np.maximum(scale[:, None] * variance, 1e-12 * typical)  # scale × dimension
    total = noise[:, None, :] + between[None, :, None]
    weight = -0.5 * (np.log(total) + seen**2 / total).sum(axis=-1).ravel()
    weight = np.exp(weight - weight.max())
    random = np.random.default_rng(1)
    chosen = random.choice(weight.size, DRAWS, p=weight / weight.sum())
    row, column = np.divmod(chosen, SHRINKAGES)
    shrunk = between[column, None] / total[row, column]
    spread = np.sqrt(noise[row] * (1 + shrunk))  # of the true mean given the estimate, and of the repetition
    drawn: np.ndarray = (shrunk * seen + spread * (random.standard_normal((DRAWS, k)) @ axes)) @ axes.T
    return drawn


def _root(covariance: np.ndarray) -> np.ndarray:
    """Return the symmetric root: unlike axes, whose signs are free, it moves as little as the covariance does.

    Examples
    --------
    >>> _root(np.array([[5.0, 4.0], [4.0, 5.0]])).round(6).tolist()
    [[2.0, 1.0], [1.0, 2.0]]
    """
    values, axes = np.linalg.eigh(covariance)
    root: np.ndarray = (axes * np.sqrt(np.maximum(values, 0.0))) @ axes.T
    return root


def planned_stability(mean: np.ndarray, covariance: np.ndarray, alpha: float = 0.05) -> Stability:
    """Return how probably two studies of one design agree, where true means and their sampling covariance are known.

    Pairs of the first study differ significantly by a z test with Holm's correction over all pairs.

    Examples
    --------
    >>> found = planned_stability(np.array([0.0, 0.5]), np.eye(2) * 0.02)
    >>> round(found.same_order, 1), found.stable_ranking > 0.98  # Φ(2.5)² + Φ(−2.5)²
    (1.0, True)
    """
    from scipy import stats

    k = len(mean)
    i, j = np.triu_indices(k, 1)
    draws = max(DRAWS // 20, min(DRAWS, MOST_NUMBERS // len(i)))
    random = np.random.default_rng(1)
    root = _root(covariance)
    first, second = (mean + random.standard_normal((draws, k)) @ root for _ in range(2))
    error = np.sqrt(np.maximum(covariance[i, i] + covariance[j, j] - 2 * covariance[i, j], 1e-300))
    before, after = first[:, i] - first[:, j], second[:, i] - second[:, j]
    z = np.abs(before) / error
    ranked = np.argsort(-z, axis=1)
    limit = stats.norm.isf(alpha / 2 / np.arange(len(i), 0, -1))  # of Holm's steps
    past = np.logical_and.accumulate(np.take_along_axis(z, ranked, 1) > limit, axis=1)
    differs = np.zeros_like(past)
    np.put_along_axis(differs, ranked, past, 1)
    agrees = before * after > 0
    found = differs.any(axis=1)
    kept = (agrees | ~differs)[found].all(axis=1)
    same = agrees.all(axis=1)
    best = first.argmax(axis=1) == second.argmax(axis=1)
    return Stability(float(kept.mean()) if found.any() else None, float(same.mean()), float(best.mean()))
