"""A clmm whose printed test rests on few participants or items says so.

The printed test takes the estimated variances for known. What a coefficient's test depends on is the number of levels
over which its column varies as a random slope, or between which alone it varies; with few of them it rejects true null
hypotheses too often. The shares are measured by ``benchmarks/small_studies.py`` (docs/inference.md).
"""

from __future__ import annotations

import numpy as np

from ordbridge.models.problem import Estimates, Matrices
from ordbridge.results.finding import Finding, found

FEW_LEVELS = "few-levels"
"""Code of the condition that the printed test rests on few participants or items."""

SIZES = ((5, 0.13), (10, 0.10))
"""With fewer levels than the first number, how often Wald's test at the 5% level rejects a true null hypothesis: the
means over all cells of the grid with 3 and with 5 raters and two systems."""
SIZES_AT_ONCE = {5: 0.29, 10: 0.20}
"""The same for the test of several coefficients at once: the cells with four systems."""
PEOPLE_AND_TEXTS = ("annotator", "evaluator", "item", "judge", "participant", "rater", "subject", "worker")


def few_levels(estimates: Estimates, rows: Matrices) -> tuple[Finding, ...]:
    """Return a message for each grouping factor with too few levels for Wald's test."""
    said = []
    for group in dict.fromkeys(term.group for term in estimates.random):
        mine = [k for k, term in enumerate(estimates.random) if term.group == group]
        levels = len(estimates.random[mine[0]].levels)
        limit, size = next(((limit, share) for limit, share in SIZES if levels < limit), (0, 0.0))
        if not limit or not rows.X.shape[1]:
            continue
        slopes = {name for k in mine for name in estimates.random[k].terms} - {"(Intercept)"}
        if slopes:
            how = f"in about {100 * size:.0f}% of such studies"
            if len(slopes) > 1:
                how += f", and that of several coefficients at once in about {100 * SIZES_AT_ONCE[limit]:.0f}%"
        elif _between(rows.X, rows.level[mine[0]], levels):
            how = "too often, because a predictor varies only between them"
        else:
            continue
        who = f"{levels} {group}s" if group in PEOPLE_AND_TEXTS else f"{levels} levels of {group}"
        said.append(found(FEW_LEVELS, who=who, how=how))
    return tuple(said)


def _between(X: np.ndarray, level: np.ndarray, levels: int) -> bool:
    """Tell whether some column is constant within every level."""
    first = np.zeros(levels, dtype=int)
    first[level[::-1]] = np.arange(len(level))[::-1]  # a row of each level
    return bool((X[first[level]] == X).all(axis=0).any())
