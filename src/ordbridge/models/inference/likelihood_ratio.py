"""The likelihood ratio test: how much likelihood the model loses without what is tested.

    Λ = 2 (ℓ(larger) − ℓ(smaller)),  referred to χ² with the number of combinations tested

Both models are fitted by the engine of the fit, those by REML by maximum likelihood, as R's ``anova`` does it.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from ordbridge.models.engines import engine_module
from ordbridge.models.inference.hypothesis import Hypothesis, on_rows
from ordbridge.results.finding import found

if TYPE_CHECKING:
    from ordbridge.models.fit import Fit


def test(fit: Fit, tested: Hypothesis) -> dict[str, object]:
    """Return statistic and p-value.

    References
    ----------
    Wilks, S. S. (1938). The large-sample distribution of the likelihood ratio for testing composite hypotheses. Annals
    of Mathematical Statistics 9, 60–62.
    """
    from ordbridge.models.anova import anova
    from ordbridge.models.fit import Fit

    started = time.perf_counter()
    estimates = engine_module(fit.engine).fit(tested.null)
    smaller = Fit(tested.null, estimates, fit.engine, time.perf_counter() - started)
    larger = replace(fit, problem=on_rows(fit.problem, fit.estimates.rows))
    row = anova(smaller, larger).to_pylist()[1]
    notes = () if estimates.converged else (found("smaller-not-converged"),)
    return {"statistic": row["statistic"], "df": row["df"], "p_value": row["p_value"], "notes": notes}
