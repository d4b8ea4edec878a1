"""Pairwise differences between the levels of a factor, through R's emmeans."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ordbridge.checks import choice
from ordbridge.errors import InputError, StatisticalWarning
from ordbridge.formula import names
from ordbridge.models import r_engine
from ordbridge.models.fit_factors import factor_column
from ordbridge.models.fit_tables import floats
from ordbridge.models.inference.adjust import ADJUSTMENTS

if TYPE_CHECKING:
    from ordbridge.models.fit import Fit

__all__ = ["pairwise_differences"]


def pairwise_differences(fit: Fit, factor: str, adjust: str, conf_level: float) -> pa.Table:
    """Return all pairwise differences; see :meth:`ordbridge.Fit.contrasts`."""
    choice("adjust", adjust, ADJUSTMENTS)
    problem, estimates = fit.problem, fit.estimates
    column = factor_column(problem, factor)
    if column in {name for summand in problem.nominal for name in names(summand.term)}:
        raise InputError(
            f"{factor} moves every threshold on its own here (nominal), so that there is no single difference; "
            f"use fit.means({factor!r})"
        )
    if estimates.dropped:
        raise InputError(f"columns were dropped as aliased ({', '.join(estimates.dropped)}); simplify the formula")
    found, notes = r_engine.contrasts(problem, estimates, column, adjust, conf_level)
    misleading = [note for note in notes if "interaction" in note]
    if misleading:
        text = f"contrasts of {factor}: {misleading[0][0].lower()}{misleading[0][1:]}"
        warnings.warn(text, StatisticalWarning, stacklevel=3)
    found["df"] = np.where(np.isinf(found["df"]), np.nan, found["df"])
    table = pa.table({name: values if isinstance(values, list) else floats(values) for name, values in found.items()})
    return table.replace_schema_metadata({"notes": "\n".join(notes)})
