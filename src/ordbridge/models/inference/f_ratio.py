"""F tests of linear models: Wald's statistic over its degrees of freedom, referred to F with those of the residuals.

For lm the residuals have n − p degrees of freedom and the test is exact. For lmer they are approximated: by
Satterthwaite's method in the engine of the fit (in R by lmerTest, at the optimum of the fit), or by Kenward and Roger's
in R.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ordbridge.errors import InputError
from ordbridge.models.engines import engine_module
from ordbridge.models.inference import wald
from ordbridge.models.inference.hypothesis import Hypothesis
from ordbridge.support.naming import arg

if TYPE_CHECKING:
    from ordbridge.models.fit import Fit


def test(fit: Fit, tested: Hypothesis) -> dict[str, object]:
    """Return statistic, both degrees of freedom and p-value.

    References
    ----------
    Kuznetsova, A., Brockhoff, P. B. & Christensen, R. H. B. (2017). lmerTest package: tests in linear mixed effects
    models. Journal of Statistical Software 82(13).
    """
    from scipy import stats

    if fit.problem.ordinal:
        raise InputError(f"{arg('method', 'f')} is for lm and lmer; for {fit.problem.model} use 'bootstrap' or 'lrt'")
    if fit.problem.model == "lmer" and fit.engine == "r":
        from ordbridge.models import r_engine

        return r_engine.test_combinations(fit.problem, fit.estimates, tested.L)
    if fit.problem.model == "lmer":
        value, residual = engine_module("fast").f_test(fit.estimates, tested.L)
    else:
        value = wald.statistic(fit.estimates, tested.L) / tested.df
        residual = float(np.unique(fit.estimates.df)[0])
    p_value = float(stats.f.sf(value, tested.df, residual))
    return {"statistic": value, "df": tested.df, "den_df": residual, "p_value": p_value}
