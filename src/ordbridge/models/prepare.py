"""From what a user wrote to a checked problem: every bad input is met here, with one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge.errors import FormulaError, InputError
from ordbridge.formula import Call, Formula, Name, names, parse
from ordbridge.models.columns import Column, encode, encode_response
from ordbridge.models.problem import Problem
from ordbridge.tables import to_arrow

__all__ = ["LINKS", "THRESHOLDS", "choice", "encode_new", "prepare"]

LINKS = ("logit", "probit", "cloglog", "loglog", "cauchit")
THRESHOLDS = ("flexible", "symmetric", "symmetric2", "equidistant")
DDF = ("Satterthwaite", "Kenward-Roger")
MIXED = ("clmm", "lmer")


def prepare(model: str, formula: str, data: Any, **options: Any) -> Problem:
    """Check formula, data and options of one model and return the problem for an engine."""
    table = to_arrow(data)
    if table.num_rows == 0:
        raise InputError("the table has no rows")
    parsed = parse(formula, table.column_names)
    _check_bars(model, parsed)
    _check_options(options)
    columns = {name: _encode(model, parsed, name, table[name]) for name in parsed.columns}
    _check_response(model, parsed, columns)
    _check_predictors(parsed, columns)
    return Problem(model=model, formula=parsed, columns=columns, n_rows=table.num_rows, **options)


def choice(argument: str, value: Any, allowed: tuple[str, ...]) -> str:
    """Return ``value`` if it is one of those allowed, or name them.

    Examples
    --------
    >>> choice("link", "probit", LINKS)
    'probit'
    """
    if value not in allowed:
        raise InputError(f"{argument}={value!r} is not known; choose one of {', '.join(map(repr, allowed))}")
    return str(value)


def encode_new(problem: Problem, data: Any) -> dict[str, Column]:
    """Encode the rows to predict like the rows of the fit; the response is not needed.

    Columns of grouping factors may be absent or hold levels that the fit has never seen.
    """
    table = to_arrow(data)
    groups = set(problem.formula.groups)
    response = set(names(problem.formula.response))
    wanted = {name for summand in problem.formula.fixed for name in names(summand.term)}
    encoded: dict[str, Column] = {}
    for name in problem.formula.columns:
        if name in response - wanted:
            continue
        if name not in table.column_names:
            if name in wanted:
                raise InputError(f"newdata has no column {name!r}; the table has: {', '.join(table.column_names)}")
            continue
        trained = problem.columns[name]
        column = encode(name, table[name])
        if name in groups and name not in wanted:
            encoded[name] = _as_text(column) if trained.kind == "factor" else column
        else:
            encoded[name] = _like(name, column, trained)
    if not encoded:  # a model of the mean alone: newdata only says how many rows there are
        encoded["1"] = Column("numeric", np.ones(table.num_rows))
    return encoded


def _encode(model: str, formula: Formula, name: str, array: pa.ChunkedArray) -> Column:
    if model in ("clm", "clmm") and formula.response == Name(name):
        return encode_response(name, array)
    return encode(name, array)


def _check_bars(model: str, formula: Formula) -> None:
    if model in MIXED and not formula.random:
        simpler = {"clmm": "clm", "lmer": "lm"}[model]
        raise FormulaError(f"the formula has no random effects; add (1 | group), or fit {simpler}")
    if model not in MIXED and formula.random:
        mixed = {"clm": "clmm", "lm": "lmer"}[model]
        raise FormulaError(f"{model} knows no random effects such as {formula.random[0]}; fit {mixed}")
    for bar in formula.random:
        if model == "clmm" and not bar.correlated:
            raise FormulaError(f"clmm does not know '||' as in {bar}; use '|', or fit lmer")
        if model == "clmm" and "/" in str(bar.group):
            raise FormulaError(f"clmm does not know nesting as in {bar}; write (… | a) + (… | a:b)")


def _check_options(options: Mapping[str, Any]) -> None:
    if "link" in options:
        choice("link", options["link"], LINKS)
    if "threshold" in options:
        choice("threshold", options["threshold"], THRESHOLDS)
    if "ddf" in options:
        choice("ddf", options["ddf"], DDF)
    nAGQ = options.get("nAGQ", 1)
    if not isinstance(nAGQ, int) or isinstance(nAGQ, bool) or nAGQ == 0:
        raise InputError(f"nAGQ={nAGQ!r} is not a number of quadrature points; give 1 (Laplace) or more")
    if not isinstance(options.get("REML", True), (bool, np.bool_)):
        raise InputError(f"REML={options['REML']!r} is neither True nor False")
    timeout = options.get("timeout")
    if timeout is not None and not (isinstance(timeout, (int, float)) and timeout > 0):
        raise InputError(f"timeout={timeout!r} is not a number of seconds above 0")
    if options.get("start") is not None:
        choice("start", options["start"], ("fast",))


def _check_response(model: str, formula: Formula, columns: Mapping[str, Column]) -> None:
    response = formula.response
    if model in ("clm", "clmm"):
        if isinstance(response, Call) and response.function in ("factor", "ordered"):
            return
        if not isinstance(response, Name):
            raise InputError(f"the response {response} is no column of categories; give a column, or ordered(column)")
        return
    for name in names(response):
        column = columns[name]
        if column.kind != "numeric":
            raise InputError(
                f"the response {name!r} is not numeric; {model} needs numbers: turn it into them, or fit clmm"
            )
        if column.missing.all():
            raise InputError(f"the response {name!r} is missing in every row")


def _check_predictors(formula: Formula, columns: Mapping[str, Column]) -> None:
    groups, response = set(formula.groups), set(names(formula.response))
    for name, column in columns.items():
        if column.missing.all():
            raise InputError(f"the column {name!r} is missing in every row; leave it out of the formula")
        if name in groups or name in response:
            continue
        present = column.values[~column.missing]
        if (present == present[0]).all():
            shown = column.levels[present[0]] if column.kind == "factor" else present[0]
            raise InputError(f"the predictor {name!r} is {shown} in every row; leave it out of the formula")


def _as_text(column: Column) -> Column:
    if column.kind == "factor":
        return Column("factor", column.values, column.levels)
    labels = [None if gone else f"{value:.15g}" for value, gone in zip(column.values, column.missing, strict=True)]
    return encode("", pa.chunked_array([pa.array(labels, pa.large_string())]))


def _like(name: str, column: Column, trained: Column) -> Column:
    """Recode new values with the levels of the fit."""
    if column.missing.all() and column.kind == "numeric" and trained.kind != "numeric":
        return Column(trained.kind, np.full(column.values.size, -1), trained.levels, trained.ordered)
    if column.kind != trained.kind:
        raise InputError(f"newdata's column {name!r} is {column.kind}, but the fit knows it as {trained.kind}")
    if column.kind != "factor":
        return column
    seen = {column.levels[code] for code in np.unique(column.values[~column.missing])}
    if unknown := sorted(seen - set(trained.levels)):
        raise InputError(
            f"newdata's column {name!r} holds {unknown[0]!r}, which the fit has never seen; "
            f"it knows {', '.join(map(repr, trained.levels))}"
        )
    position = np.array(
        [trained.levels.index(level) if level in trained.levels else -1 for level in column.levels] + [-1]
    )
    return Column("factor", position[column.values], trained.levels, trained.ordered)
