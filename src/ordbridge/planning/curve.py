"""A smooth curve through simulated powers: where to simulate next, and where the contour of the target runs.

With a fixed number of texts per participant, the variance of an estimated effect falls with the items ``m`` and the
ratings per text ``r`` as ``(a + b / r) / m``: ``a`` is what items contribute, ``b`` participants and residuals. So

    power = Φ(effect · √(m / (a + b / r)) − z),   z = Φ⁻¹(1 − alpha / 2),

and the two numbers are estimated from all simulated counts by maximum likelihood. The curve never decides anything:
a design reaches the target if its own simulations say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

PRIOR_SD = 3.0  # of log a and log b around log 5: wide, it only keeps an unidentified parameter in place


@dataclass(frozen=True)
class Curve:
    """The fitted curve."""

    a: float
    b: float
    alpha: float

    def power(self, effect: npt.ArrayLike, items: npt.ArrayLike, ratings_per_text: npt.ArrayLike) -> np.ndarray:
        """Return the power of designs.

        Examples
        --------
        >>> Curve(a=1.0, b=2.0, alpha=0.05).power(0.3, items=[50, 100], ratings_per_text=2).round(3)
        array([0.323, 0.564])
        """
        from scipy.special import ndtr, ndtri

        size, m, r = (np.asarray(values, dtype=float) for values in (effect, items, ratings_per_text))
        shift = np.abs(size) * np.sqrt(m / (self.a + self.b / r))
        found: np.ndarray = ndtr(shift - ndtri(1 - self.alpha / 2))
        return found


def fit_curve(rows: Sequence[tuple[float, float, float, int, int]], alpha: float) -> Curve:
    """Fit the curve to rows ``(effect, items, ratings_per_text, significant, n)``.

    Examples
    --------
    >>> truth = Curve(1.0, 2.0, 0.05)
    >>> rows = [(0.3, m, r, round(10_000 * float(truth.power(0.3, m, r))), 10_000) for m in (50, 200) for r in (1, 8)]
    >>> found = fit_curve(rows, alpha=0.05)
    >>> round(found.a, 1), round(found.b, 1)
    (1.0, 2.0)
    """
    from scipy.optimize import minimize

    effect, items, ratings, hits, n = np.array(rows, dtype=float).reshape(-1, 5).T

    def loss(logs: np.ndarray) -> float:
        a, b = np.exp(logs)
        p = Curve(a, b, alpha).power(effect, items, ratings).clip(1e-9, 1 - 1e-9)
        loglik = hits @ np.log(p) + (n - hits) @ np.log1p(-p)
        return float(-loglik + (((logs - np.log(5.0)) / PRIOR_SD) ** 2).sum() / 2)

    found = minimize(loss, np.log([5.0, 5.0]), method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-6})
    a, b = np.exp(found.x)
    return Curve(float(a), float(b), alpha)
