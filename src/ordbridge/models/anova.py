"""Two nested models compared by a likelihood ratio test, as R's ``anova`` does it, and what makes them incomparable."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.formula import names
from ordbridge.models.engines import engine_module
from ordbridge.support.naming import arg

if TYPE_CHECKING:
    from ordbridge.models.fit import Fit

NESTED_TOLERANCE = 1e-3  # by how much an optimiser may leave a larger model below a nested one


def anova(smaller: Fit, larger: Fit | None = None) -> pa.Table:
    """Compare two nested models on the same rows by a likelihood ratio test.

    With one lmer alone: an F test of each of its terms (type III), as R's ``anova`` of lmerTest gives it.

    Linear mixed models fitted by REML are first fitted again by maximum likelihood, as R's ``anova`` does. If the
    models differ in a variance, the χ² reference is conservative there (the null lies on the boundary).

    Parameters
    ----------
    smaller, larger
        Two fits of the same kind; the order does not matter. Or one lmer.

    Returns
    -------
    pyarrow.Table
        One row per model: formula, n_obs, edf, loglik, aic, statistic, df, p_value. For one lmer one row per term:
        term, num_df, den_df, statistic, p_value.
    """
    from scipy import stats

    from ordbridge.models.fit import Fit

    if larger is None and isinstance(smaller, Fit):
        return _term_tests(smaller)
    for name, fit in (("smaller", smaller), ("larger", larger)):
        if not isinstance(fit, Fit):
            raise InputError(f"{name} is a {type(fit).__name__}, not a fit of ordbridge")
    smaller, larger = sorted((_by_likelihood(smaller), _by_likelihood(larger)), key=lambda fit: fit.estimates.edf)
    _refuse_incomparable(smaller, larger)
    df = larger.estimates.edf - smaller.estimates.edf
    statistic = max(0.0, 2.0 * (larger.estimates.loglik - smaller.estimates.loglik))
    both = (smaller, larger)
    return pa.table(
        {
            "formula": [fit.problem.described for fit in both],
            "n_obs": [fit.n_obs for fit in both],
            "edf": [fit.estimates.edf for fit in both],
            "loglik": [fit.estimates.loglik for fit in both],
            "aic": [2.0 * fit.estimates.edf - 2.0 * fit.estimates.loglik for fit in both],
            "statistic": pa.array([None, statistic], pa.float64()),
            "df": pa.array([None, df], pa.int64()),
            "p_value": pa.array([None, float(stats.chi2.sf(statistic, df))], pa.float64()),
        }
    )


def _term_tests(fit: Fit) -> pa.Table:
    from ordbridge.models import r_engine

    if fit.problem.model != "lmer":
        raise InputError(
            f"a single {fit.problem.model} has nothing to be compared with; give a smaller and a larger fit"
        )
    return pa.table(r_engine.test_terms(fit.problem, fit.estimates))


def _by_likelihood(fit: Fit) -> Fit:
    if not fit.problem.REML:
        return fit
    problem = replace(fit.problem, REML=False)
    return replace(fit, problem=problem, estimates=engine_module(fit.engine).fit(problem))


def _refuse_incomparable(smaller: Fit, larger: Fit) -> None:
    if smaller.problem.ordinal != larger.problem.ordinal:
        raise InputError("an ordinal and a linear model cannot be compared by likelihood; compare models of one kind")
    if (smaller.problem.link, smaller.problem.threshold) != (larger.problem.link, larger.problem.threshold):
        raise InputError("the models differ in link or threshold; only their terms may differ")
    responses = [str(fit.problem.formula.response) for fit in (smaller, larger)]
    if responses[0] != responses[1]:
        raise InputError(f"the models have different responses, {responses[0]} and {responses[1]}")
    if not np.array_equal(smaller.estimates.rows, larger.estimates.rows) or not _same_response(smaller, larger):
        raise InputError(
            f"the models were not fitted on the same rows ({smaller.n_obs} and {larger.n_obs}); "
            "drop rows with missing values first"
        )
    for name in ("weights", "offset"):
        if not np.array_equal(_numbers(smaller, name), _numbers(larger, name)):
            raise InputError(f"the models differ in their {name}, so their likelihoods cannot be compared")
    if (smaller.problem.nAGQ or 1) != (larger.problem.nAGQ or 1):
        raise InputError(
            f"the models were fitted with {arg('nAGQ', smaller.problem.nAGQ)} and {arg('nAGQ', larger.problem.nAGQ)}, "
            "whose likelihoods are not comparable; fit both with the same"
        )
    if smaller.estimates.edf == larger.estimates.edf:
        raise InputError(f"both models have {smaller.estimates.edf} parameters, so neither is nested in the other")
    if not _is_nested(smaller, larger):
        raise InputError(
            f"{smaller.problem.formula} is not nested in {larger.problem.formula}: it has terms that the larger model "
            "cannot express. A likelihood ratio test of the two has no meaning"
        )
    lost = smaller.estimates.loglik - larger.estimates.loglik
    if lost > NESTED_TOLERANCE:
        raise InputError(
            f"{larger.problem.formula} ended with a log likelihood {lost:.3g} below that of the nested "
            f"{smaller.problem.formula}: it did not reach its optimum, so the comparison means nothing"
        )


def _is_nested(smaller: Fit, larger: Fit) -> bool:
    """Tell whether the larger model can express every term of the smaller one, whatever the terms are called."""
    small, large = smaller.matrices(), larger.matrices()
    ones = np.ones((smaller.n_obs, int(smaller.problem.ordinal)))  # the thresholds
    if not _spans(np.hstack([ones, large.nominal, large.X]), small.X) or not _spans(
        np.hstack([ones, large.nominal]), small.nominal
    ):
        return False
    free = ones[:, : int(smaller.problem.offset is None)]  # all can be stretched alike but for an offset
    if not _spans(np.hstack([free, large.scale]), small.scale):
        return False
    for term, Z in zip(smaller.estimates.random, small.Z, strict=True):
        others = zip(larger.estimates.random, large.Z, strict=True)
        if not any(other.group == term.group and _spans(wider, Z) for other, wider in others):
            return False
    return True


def _spans(columns: np.ndarray, others: np.ndarray) -> bool:
    """Tell whether each of the other columns is a combination of the columns."""
    if not others.size:
        return True
    rest = others - columns @ np.linalg.lstsq(columns, others, rcond=None)[0]
    return bool((np.linalg.norm(rest, axis=0) <= 1e-7 * np.linalg.norm(others, axis=0)).all())


def _numbers(fit: Fit, name: str) -> np.ndarray:
    """Return the weights or the offset of the rows; nothing where there are none."""
    column = getattr(fit.problem, name)
    return np.empty(0) if column is None else fit.problem.columns[column].values[fit.estimates.rows]


def _same_response(a: Fit, b: Fit) -> bool:
    return all(
        np.array_equal(a.problem.columns[name].values, b.problem.columns[name].values, equal_nan=True)
        for name in names(a.problem.formula.response)
    )
