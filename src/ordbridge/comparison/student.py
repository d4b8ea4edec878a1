"""Student's t for a clmm: the degrees of freedom that a standard error from few participants or items has.

Wald's z takes the estimated variances for known. A linear mixed model with the same terms says how many degrees of
freedom they have (Satterthwaite 1946), and so does it approximately for the cumulative link mixed model, whose
variances come from the same participants and items. How often the test rejects is measured by
``benchmarks/compare_small_studies.py`` (docs/inference.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ordbridge.errors import FitError, InputError
from ordbridge.models.engines import engine_module
from ordbridge.models.fit import Fit
from ordbridge.models.prepare import prepare

__all__ = ["ENOUGH_LEVELS", "StudentDf", "degrees_of_freedom", "needs_student"]

ENOUGH_LEVELS = 30
"""Levels of a group from which on the quantiles of Student's t are nearly those of the normal distribution."""
LEAST_DF = 1.0


def needs_student(fit: Fit) -> bool:
    """Tell whether a fit is a clmm with so few levels of a group that Wald's z rejects too often."""
    return fit.problem.model == "clmm" and min(len(term.levels) for term in fit.estimates.random) < ENOUGH_LEVELS


@dataclass(frozen=True, eq=False)
class StudentDf:
    """Degrees of freedom, and what there is to say of them."""

    df: np.ndarray
    notes: tuple[str, ...] = ()


def degrees_of_freedom(fit: Fit, numbers: pa.Table, L: np.ndarray) -> StudentDf:
    """Return Satterthwaite's degrees of freedom of combinations of coefficients.

    Where the linear model gives none, they are the levels of the smallest group less one, and that is said.

    Parameters
    ----------
    fit
        A clmm.
    numbers
        Its data, with ratings as numbers.
    L
        A row per combination; the first column is that of the intercept, which a clmm does not have.

    References
    ----------
    Satterthwaite, F. E. (1946). An approximate distribution of estimates of variance components. Biometrics Bulletin
    2, 110–114.
    """
    native = engine_module("fast")
    group, fewest = min(((term.group, len(term.levels)) for term in fit.estimates.random), key=lambda one: one[1])
    try:
        linear = prepare("lmer", str(fit.problem.formula), numbers, REML=True, ddf="Satterthwaite")
        df: np.ndarray = native.degrees_of_freedom(native.fit(linear), L)
    except (InputError, FitError, np.linalg.LinAlgError, ValueError):
        df = np.full(len(L), np.nan)
    known = np.isfinite(df) & (df > 0)
    notes = () if known.all() else (
        f"Satterthwaite's degrees of freedom could not be computed: the {fewest} levels of {group} less one were used",
    )  # fmt: skip
    return StudentDf(np.where(known, np.maximum(df, LEAST_DF), max(fewest - 1.0, LEAST_DF)), notes)
