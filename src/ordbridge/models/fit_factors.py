"""The factors of a fit: which columns they are, their levels, and the level that others are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.formula import Call, Name, expand
from ordbridge.models.groups import grouping

if TYPE_CHECKING:
    from ordbridge.models.fitted import Fitted
    from ordbridge.models.problem import Problem

COLUMNS = {
    "factor": pa.string(),
    "levels": pa.list_(pa.string()),
    "ordered": pa.bool_(),
    "reference": pa.string(),
}


def factor_table(fit: Fitted) -> pa.Table:
    """Return the factors of the fixed part; see :meth:`ordbridge.Fit.factors`."""
    rows: list[dict[str, Any]] = []
    for variable in expand(fit.problem.formula.fixed).variables:
        match variable:
            case Name(name):
                column = fit.problem.columns[name]
            case Call("factor" | "ordered", (Name(name),)):
                column = grouping(Name(name), fit.problem.columns)
            case _:
                continue
        if column.kind == "numeric":
            continue
        labels = column.levels if column.kind == "factor" else ("FALSE", "TRUE")
        levels = [labels[i] for i in np.unique(column.values[fit.estimates.rows])]
        ordered = column.ordered or (isinstance(variable, Call) and variable.function == "ordered")
        reference = None if ordered else _reference(fit.estimates.terms, str(variable), levels)
        rows.append({"factor": str(variable), "levels": levels, "ordered": ordered, "reference": reference})
    return pa.Table.from_pylist(rows, schema=pa.schema(COLUMNS))


def _reference(terms: Sequence[str], factor: str, levels: Sequence[str]) -> str | None:
    """Return the level that has no coefficient, neither alone nor in an interaction."""
    with_colons = [f":{term}:" for term in terms]
    without = [level for level in levels if not any(f":{factor}{level}:" in term for term in with_colons)]
    return without[0] if len(without) == 1 else None


def factor_column(problem: Problem, factor: str) -> str:
    """Return the column of a factor that is not random, which may be named as the formula has it."""
    found = {}
    for variable in expand((*problem.formula.fixed, *problem.nominal, *problem.scale)).variables:
        match variable:
            case Name(name) if problem.columns[name].kind != "numeric":
                found[name] = name
            case Call("factor" | "ordered", (Name(name),)):
                found |= {str(variable): name, name: name}
    if factor not in found:
        raise InputError(f"{factor!r} is not a factor of this model; it has {', '.join(map(repr, found)) or 'none'}")
    return found[factor]
