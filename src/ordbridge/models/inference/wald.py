"""Wald's test: how far the combinations Lβ̂ lie from zero in units of their estimated covariance.

    W = (Lβ̂)ᵀ (L V Lᵀ)⁻¹ (Lβ̂),  referred to χ² with as many degrees of freedom as L has rows

For a single coefficient of a clm or clmm this is the square of the z that R prints, with the same p-value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ordbridge.models.inference.hypothesis import Hypothesis
from ordbridge.models.problem import Estimates

if TYPE_CHECKING:
    from ordbridge.models.fit import Fit


def test(fit: Fit, tested: Hypothesis) -> dict[str, object]:
    """Return statistic and p-value; both are NaN where the fit has no standard errors."""
    from scipy import stats

    value = statistic(fit.estimates, tested.L, tested.effects)
    return {"statistic": value, "df": tested.df, "p_value": float(stats.chi2.sf(value, tested.df))}


def statistic(estimates: Estimates, L: np.ndarray, effects: tuple[str, ...] = ("fixed",)) -> float:
    """Return W of combinations of the coefficients that have these effects.

    References
    ----------
    Wald, A. (1943). Tests of statistical hypotheses concerning several parameters when the number of observations is
    large. Transactions of the American Mathematical Society 54, 426–482.
    """
    meant = np.array([effect in effects for effect in estimates.effects])
    beta, V = estimates.estimate[meant], estimates.vcov[np.ix_(meant, meant)]
    used = np.abs(L).any(axis=0)
    if not np.isfinite(V[np.ix_(used, used)]).all():
        return float("nan")
    L, beta, V = L[:, used], beta[used], V[np.ix_(used, used)]
    distance = L @ beta
    return float(distance @ np.linalg.solve(L @ V @ L.T, distance))
