"""The distribution of the latent residual that each link of ``clm`` and ``clmm`` stands for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

__all__ = ["LINKS", "Link"]


@dataclass(frozen=True)
class Link:
    """A residual with distribution function ``cdf``: P(rating ≤ j) = cdf(threshold_j − linear predictor)."""

    cdf: Callable[[np.ndarray], np.ndarray]
    draw: Callable[[np.random.RandomState, int], np.ndarray]


def _normal_cdf(x: np.ndarray) -> np.ndarray:
    from scipy.special import ndtr

    return ndtr(x)


def _logistic_cdf(x: np.ndarray) -> np.ndarray:
    from scipy.special import expit

    return expit(x)


LINKS: dict[str, Link] = {
    "probit": Link(_normal_cdf, lambda random, n: random.standard_normal(n)),
    "logit": Link(_logistic_cdf, lambda random, n: random.logistic(size=n)),
    "cloglog": Link(lambda x: -np.expm1(-np.exp(x)), lambda random, n: -random.gumbel(size=n)),
    "loglog": Link(lambda x: np.exp(-np.exp(-x)), lambda random, n: random.gumbel(size=n)),
    "cauchit": Link(lambda x: 0.5 + np.arctan(x) / np.pi, lambda random, n: random.standard_cauchy(n)),
}
"""By R's names, as in ``ordinal`` (Christensen 2022)."""
