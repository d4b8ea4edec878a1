"""Degrees of freedom for a clmm: those that a linear mixed model with the same terms has.

Wald's z takes the estimated variances for known. A linear mixed model with the same terms says how many degrees of
freedom they have (Satterthwaite 1946), and so does it approximately for the cumulative link mixed model, whose
variances come from the same participants and items.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ordbridge.errors import FitError, InputError
from ordbridge.formula import names
from ordbridge.models.columns import Column
from ordbridge.models.engines import engine_module
from ordbridge.models.inference.hypothesis import on_rows

if TYPE_CHECKING:
    from ordbridge.models.fit import Fit

LEAST_DF = 1.0


def linear_df(fit: Fit, L: np.ndarray) -> np.ndarray:
    """Return Satterthwaite's degrees of freedom of combinations of coefficients, NaN where there are none.

    Parameters
    ----------
    fit
        A clmm; its categories count as 1, 2, ….
    L
        A row per combination; the first column is that of the intercept, which a clmm does not have.

    References
    ----------
    Satterthwaite, F. E. (1946). An approximate distribution of estimates of variance components. Biometrics Bulletin
    2, 110–114.
    """
    native = engine_module("fast")
    problem = on_rows(fit.problem, fit.estimates.rows)
    [response] = names(problem.formula.response)
    rating = problem.columns[response]
    numbers = Column("numeric", np.where(rating.missing, np.nan, rating.values + 1.0))
    linear = replace(
        problem, model="lmer", columns=dict(problem.columns) | {response: numbers}, link=None, threshold=None,
        nAGQ=None, scale=(), nominal=(), REML=True, ddf="Satterthwaite", start=None,
    )  # fmt: skip
    try:
        df: np.ndarray = native.degrees_of_freedom(native.fit(linear), L)
    except (InputError, FitError, np.linalg.LinAlgError, ValueError):
        return np.full(len(L), np.nan)
    return np.where(np.isfinite(df) & (df > 0), np.maximum(df, LEAST_DF), np.nan)
