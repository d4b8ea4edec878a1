"""``fit.test``: one row per hypothesis, by any of the methods."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.models.inference import bootstrap, f_ratio, likelihood_ratio, wald
from ordbridge.models.inference.hypothesis import Hypothesis, hypothesis, term_labels
from ordbridge.models.inference.resampling import DrawPlan
from ordbridge.results.finding import Finding, with_findings
from ordbridge.support.arguments import choice
from ordbridge.support.columns import columns

if TYPE_CHECKING:
    from ordbridge.models.fit import Fit

METHODS = ("wald", "lrt", "bootstrap", "bartlett", "f")
COLUMNS = columns(
    "term method: text; statistic: number; df: count; den_df p_value mc_error: number; draws failed: count; "
    "engine: text"
)


def test(
    fit: Fit,
    term: str | Mapping[str, float] | None,
    method: str,
    how: DrawPlan,
) -> pa.Table:
    """Test one term, or every term of the fixed part; see :meth:`ordbridge.Fit.test`."""
    choice("method", method, METHODS)
    terms = term_labels(fit) if term is None else (term,)
    if not terms:
        raise InputError("the model has no term to test")
    rows: list[dict[str, Any]] = []
    notes: list[Finding] = []
    for one in terms:
        tested = hypothesis(fit, one)
        found = _by(method, fit, tested, how)
        notes += (*tested.notes, *found.pop("notes", ()))
        row = {"term": tested.label, "method": method, "engine": fit.engine} | found
        rows.append({name: _known(row.get(name)) for name in COLUMNS})
    table = pa.Table.from_pylist(rows, schema=pa.schema(COLUMNS))
    return with_findings(table, notes)


def _by(method: str, fit: Fit, tested: Hypothesis, how: DrawPlan) -> dict[str, Any]:
    if method == "bootstrap":
        return bootstrap.test(fit, tested, how)
    if method == "bartlett":
        return bootstrap.bartlett(fit, tested, how)
    alone: dict[str, Callable[[Fit, Hypothesis], dict[str, Any]]] = {
        "wald": wald.test,
        "lrt": likelihood_ratio.test,
        "f": f_ratio.test,
    }
    return alone[method](fit, tested)


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
