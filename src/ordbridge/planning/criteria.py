"""Several criteria at once: every criterion has its test, and Holm's correction goes over all of them.

A plan simulates one criterion. That criteria are rated by the same people about the same texts makes their tests
correlate; how much nobody knows before the study, so it is assumed and said. The p-values of one criterion are brought
into the order that gives two or more copies of them this correlation (Iman & Conover 1982), which keeps their
distribution as it was simulated. Power is the share of studies in which the difference is found on every criterion.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

DRAWS = 2000


def of_criteria(p_values: np.ndarray, criteria: int, correlation: float, *, differ: bool) -> np.ndarray:
    """Return one corrected p-value for each study, from the p-values of one criterion.

    Parameters
    ----------
    p_values
        Of one criterion, a dataset each; NaN where a fit failed.
    criteria, correlation
        How many criteria there are, and how their test statistics correlate.
    differ
        Whether something differs: the study succeeds if all criteria do, and its p-value is Holm's largest. If nothing
        differs, one false alarm is too many, and it is the smallest.

    References
    ----------
    Iman, R. L. & Conover, W. J. (1982). A distribution-free approach to inducing rank correlation among input
    variables. *Communications in Statistics: Simulation and Computation* 11, 311–334.

    Examples
    --------
    >>> p = np.linspace(0.001, 0.999, 999)
    >>> found = of_criteria(p, 2, 0.0, differ=False)
    >>> round(float((found < 0.05).mean()), 2)
    0.05
    """
    if criteria == 1 or not p_values.size:
        return p_values
    ascending = np.sort(np.where(np.isnan(p_values), 1.0, p_values))
    order = np.argsort(np.argsort(-_scores(p_values.size, criteria, correlation), axis=0), axis=0)
    together = np.sort(ascending[order], axis=1)
    steps = np.maximum.accumulate(together * np.arange(criteria, 0, -1), axis=1).clip(max=1.0)
    found: np.ndarray = steps[:, -1 if differ else 0]
    return np.where(np.isnan(p_values), np.nan, found)


def every_criterion(power: np.ndarray, criteria: int, correlation: float, alpha: float) -> np.ndarray:
    """Return how often all criteria are found after Holm's correction, if each by itself has this power at alpha.

    Examples
    --------
    >>> every_criterion(np.array([0.8, 0.95]), 2, 0.5, 0.05).round(1)
    array([0.7, 0.9])
    """
    from scipy.special import ndtri

    if criteria == 1:
        return power
    limits = ndtri(1 - alpha / (2 * np.arange(criteria, 0, -1)))
    shift = ndtri(np.asarray(power)) + limits[-1]
    z = -np.sort(-_scores(DRAWS, criteria, correlation), axis=1)
    return np.asarray((z + shift[..., None, None] > limits).all(axis=-1).mean(axis=-1))


@lru_cache(maxsize=16)
def _scores(n: int, criteria: int, correlation: float) -> np.ndarray:
    """Return correlated normal scores, a row for each study."""
    random = np.random.default_rng(0)
    shared = random.standard_normal((n, 1))
    found: np.ndarray = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * random.standard_normal((n, criteria))
    return found
