"""Pairwise differences between the levels of a factor, through R's emmeans."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ordbridge.errors import InputError, StatisticalWarning
from ordbridge.formula import names
from ordbridge.models import r_engine
from ordbridge.models.fit_factors import factor_column
from ordbridge.models.fit_tables import floats
from ordbridge.models.inference.adjust import ADJUSTMENTS
from ordbridge.models.inference.marginal_means import interactions
from ordbridge.results.finding import found, with_findings
from ordbridge.support.arguments import choice

if TYPE_CHECKING:
    from ordbridge.models.fit import Fit


def pairwise_differences(fit: Fit, factor: str, adjust: str, conf_level: float) -> pa.Table:
    """Return all pairwise differences; see :meth:`ordbridge.Fit.contrasts`."""
    from scipy import stats

    choice("adjust", adjust, ADJUSTMENTS)
    problem, estimates = fit.problem, fit.estimates
    column = factor_column(problem, factor)
    if column in {name for summand in problem.nominal for name in names(summand.term)}:
        raise InputError(
            f"{factor} moves every threshold on its own here (nominal), so there is no single difference; "
            f"use fit.means({factor!r})"
        )
    if estimates.dropped:
        raise InputError(f"columns were dropped as aliased ({', '.join(estimates.dropped)}); simplify the formula")
    values, notes = r_engine.contrasts(problem, estimates, column, adjust, conf_level)
    said = interactions(fit, [column])
    for one in said:
        warnings.warn(one.text, StatisticalWarning, stacklevel=3)
    values["p_adjusted"] = values["p_value"]
    values["p_value"] = 2.0 * stats.t.sf(np.abs(values["statistic"]), values["df"])
    values["df"] = np.where(np.isinf(values["df"]), np.nan, values["df"])
    values["difference"] = values.pop("estimate")
    columns = ("difference", "std_error", "df", "statistic", "p_value", "p_adjusted", "conf_low", "conf_high")
    sides = {name: values[name] for name in ("system_a", "system_b")}
    table = pa.table(sides | {name: floats(values[name]) for name in columns})
    return with_findings(table, [*said, *(found("emmeans", text=note) for note in notes)])
