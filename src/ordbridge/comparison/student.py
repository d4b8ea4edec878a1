"""When a clmm's test needs Student's t, and with how many degrees of freedom.

How often such tests reject is measured by ``benchmarks/small_studies.py`` (docs/inference.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ordbridge.models.fit import Fit
from ordbridge.models.inference.linear_df import LEAST_DF, linear_df
from ordbridge.results.finding import Finding
from ordbridge.results.finding import found as noticed

ENOUGH_LEVELS = 30
"""Levels of a group from which on the quantiles of Student's t are nearly those of the normal distribution."""


def needs_student(fit: Fit) -> bool:
    """Tell whether a fit is a clmm with so few levels of a group that Wald's z rejects too often."""
    return fit.problem.model == "clmm" and min(len(term.levels) for term in fit.estimates.random) < ENOUGH_LEVELS


@dataclass(frozen=True, eq=False)
class StudentDf:
    """Degrees of freedom, and what there is to say of them."""

    df: np.ndarray
    notes: tuple[Finding, ...] = ()


def degrees_of_freedom(fit: Fit, L: np.ndarray) -> StudentDf:
    """Return Satterthwaite's degrees of freedom of combinations of a clmm's coefficients.

    Where the linear model gives none, they are the levels of the smallest group less one, and that is said.

    Parameters
    ----------
    fit
        A clmm.
    L
        A row per combination; the first column is that of the intercept, which a clmm does not have.
    """
    group, fewest = min(((term.group, len(term.levels)) for term in fit.estimates.random), key=lambda one: one[1])
    df = linear_df(fit, L)
    if np.isfinite(df).all():
        return StudentDf(df)
    note = noticed("df-from-levels", levels=fewest, group=group)
    return StudentDf(np.where(np.isfinite(df), df, max(fewest - 1.0, LEAST_DF)), (note,))
