"""The distribution of the latent residual that each link of ``clm`` and ``clmm`` stands for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Link:
    """A residual with distribution function ``cdf``: P(rating ≤ j) = cdf(threshold_j − linear predictor).

    ``number`` is that of the compiled core (``src/core/links.hpp``).
    """

    number: int

    cdf: Callable[[np.ndarray], np.ndarray]
    draw: Callable[[np.random.RandomState, int], np.ndarray]


def _normal_cdf(x: np.ndarray) -> np.ndarray:
    from scipy.special import ndtr

    return ndtr(x)


def _logistic_cdf(x: np.ndarray) -> np.ndarray:
    from scipy.special import expit

    return expit(x)


LINKS: dict[str, Link] = {
    "logit": Link(1, _logistic_cdf, lambda random, n: random.logistic(size=n)),
    "probit": Link(0, _normal_cdf, lambda random, n: random.standard_normal(n)),
    "cloglog": Link(2, lambda x: -np.expm1(-np.exp(x)), lambda random, n: -random.gumbel(size=n)),
    "loglog": Link(3, lambda x: np.exp(-np.exp(-x)), lambda random, n: random.gumbel(size=n)),
    "cauchit": Link(4, lambda x: 0.5 + np.arctan(x) / np.pi, lambda random, n: random.standard_cauchy(n)),
}
"""By R's names, as in ``ordinal`` (Christensen 2022)."""
