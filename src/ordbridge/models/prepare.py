"""From what a user wrote to a checked problem: every bad input is met here, with one sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge.errors import FormulaError, InputError
from ordbridge.formula import (
    Bar,
    Call,
    Formula,
    Name,
    Summand,
    expand,
    expand_bars,
    group_name,
    names,
    parse,
    parse_one_side,
)
from ordbridge.models.columns import EXACT_INTEGERS, Column, encode, encode_response
from ordbridge.models.kinds import KINDS
from ordbridge.models.links import LINKS
from ordbridge.models.problem import Problem
from ordbridge.reading.tables import to_arrow, usable
from ordbridge.support.arguments import choice, seconds
from ordbridge.support.formatting import enumerated
from ordbridge.support.naming import arg

THRESHOLDS = ("flexible", "symmetric", "symmetric2", "equidistant")
DDF = ("Satterthwaite", "Kenward-Roger")
MIXED = ("clmm", "lmer")
R_DIGITS = 1e15  # from here on R's text of a number leaves digits out


def prepare(model: str, formula: str, data: Any, **options: Any) -> Problem:
    """Check formula, data and options of one model and return the problem for an engine."""
    table, unusable = usable(data)
    if table.num_rows == 0 and not unusable:
        raise InputError("the table has no rows")
    known = (*table.column_names, *unusable)
    parsed = parse(formula, known)
    _check_bars(model, parsed)
    _check_options(options)
    for name in ("scale", "nominal"):
        given = options.pop(name, None)
        options[name] = () if given is None else parse_one_side(name, given, known)
    beyond = (*options["scale"], *options["nominal"])
    wanted = dict.fromkeys((*parsed.columns, *(name for summand in beyond for name in names(summand.term))))
    for name in wanted:
        if name in unusable:
            raise InputError(unusable[name])
    columns = {name: _encode(model, parsed, name, table[name]) for name in wanted}
    _check_labels(parsed, beyond, columns)
    _check_response(model, parsed, columns)
    _check_parts(parsed, options)
    _check_predictors(parsed, columns)
    for name in ("weights", "offset"):
        options[name] = _numbers_per_row(name, options.get(name), parsed, table, columns)
    return Problem(model=model, formula=parsed, columns=columns, n_rows=table.num_rows, **options)


def _numbers_per_row(
    name: str, given: Any, formula: Formula, table: pa.Table, columns: dict[str, Column]
) -> str | None:
    """Add weights or an offset to the columns, be they a column's name or numbers; return the name."""
    if given is None:
        return None
    if isinstance(given, str):
        where = given
        if given not in table.column_names:
            known = enumerated(table.column_names)
            raise InputError(f"there is no column {given!r} for {name}; the table has: {known}")
        if given in names(formula.response):
            raise InputError(f"{arg(name, given)} is the response; give another column")
        column = columns.get(given) or encode(given, table[given])
    else:
        where = f"({name})"  # as R's model frame calls it
        while where in table.column_names:
            where = f"({where})"
        try:
            values = np.asarray(given, dtype=float)
        except (TypeError, ValueError):
            raise InputError(f"{name} must be the name of a column, or a number for every row") from None
        if values.shape != (table.num_rows,):
            raise InputError(f"{name} has the shape {values.shape}; give one number for each of {table.num_rows} rows")
        column = encode(where, pa.chunked_array([pa.array(values, from_pandas=True)]))
    if column.kind != "numeric" or column.whole is not None:
        raise InputError(f"{arg(name, where)} does not hold numbers; give a column of numbers")
    if column.missing.all():
        raise InputError(f"the column {where!r} of {name} is missing in every row")
    if name == "weights":
        _check_weights(where, column.values)
    columns[where] = column
    return where


def _check_weights(where: str, values: np.ndarray) -> None:
    negative = np.flatnonzero(values < 0)
    if negative.size:
        row = negative[0]
        raise InputError(f"weights: {where!r} is {values[row]:g} in row {row + 1}; a weight is 0 or more")
    if not (values > 0).any():
        raise InputError(f"weights: {where!r} is 0 in every row; some weights must be above 0")


def encode_new(problem: Problem, data: Any, kind: str = "conditional") -> dict[str, Column]:
    """Encode the rows to predict like the rows of the fit; the response is not needed.

    Columns of grouping factors may be absent or hold levels that the fit has never seen.
    """
    table = to_arrow(data, only=(*problem.formula.columns, *problem.predictors))
    groups = set(problem.formula.groups)
    needed = _needed(problem, set(table.column_names), kind)
    encoded: dict[str, Column] = {}
    for name in dict.fromkeys((*problem.formula.columns, *problem.predictors)):
        if name not in table.column_names:
            if name in needed:
                raise InputError(f"newdata has no column {name!r}; the table has: {enumerated(table.column_names)}")
            continue
        if name in needed:
            encoded[name] = _like(name, encode(name, table[name]), problem.columns[name])
        elif name in groups:
            encoded[name] = encode(name, table[name])
    if not encoded:  # a model of the mean alone: newdata only says how many rows there are
        encoded["1"] = Column("numeric", np.ones(table.num_rows))
    return encoded


def _needed(problem: Problem, given: set[str], kind: str) -> set[str]:
    """Return the columns that a prediction needs: of the fixed part, and of the random effects that it has.

    A marginal prediction has all of them, a conditional one those of groups that newdata names.
    """
    needed = set(problem.predictors)
    for bar in problem.formula.random:
        if kind == "marginal" or (kind == "conditional" and given.issuperset(names(bar.group))):
            needed |= {name for summand in bar.summands for name in names(summand.term)}
    return needed


def _encode(model: str, formula: Formula, name: str, array: pa.ChunkedArray) -> Column:
    if KINDS[model].ordinal and formula.response == Name(name):
        return encode_response(name, array)
    return encode(name, array)


def _check_bars(model: str, formula: Formula) -> None:
    if model in MIXED and not formula.random:
        simpler = {"clmm": "clm", "lmer": "lm"}[model]
        raise FormulaError(f"the formula has no random effects; add (1 | group), or fit {simpler}")
    if model not in MIXED and formula.random:
        mixed = {"clm": "clmm", "lm": "lmer"}[model]
        raise FormulaError(f"{model} has no random effects such as {formula.random[0]}; fit {mixed}")
    terms = expand(formula.fixed)
    if model in ("lm", "lmer") and not (terms.terms or terms.intercept):
        raise FormulaError(f"the formula of {model} has no fixed effects; write 1 for the mean")
    grouping = {name for bar in formula.random for name in names(bar.group)} & set(names(formula.response))
    if grouping:
        raise FormulaError(
            f"{grouping.pop()!r} is the response and also names the groups of a random effect; group by participants "
            "or items"
        )
    _check_effects(formula)


def _check_effects(formula: Formula) -> None:
    """Refuse a bar without a random effect, and the same one twice, which no data can tell apart."""
    for bar in formula.random:
        terms = expand(bar.summands)
        if not (terms.terms or terms.intercept):
            raise FormulaError(f"{bar} has no random effect; write (1 | {bar.group}), or leave it out")
    seen: dict[tuple[str, str], Bar] = {}
    for bar in expand_bars(formula.random):
        terms = expand(bar.summands)
        effects = [":".join(map(str, term)) for term in terms.terms]
        for effect in (["an intercept"] if terms.intercept else []) + effects:
            if earlier := seen.get((group_name(bar.group), effect)):
                raise FormulaError(
                    f"{earlier} and {bar} both have {effect} for {bar.group}, and no data can tell them apart; "
                    "an effect cannot be there twice: keep one of them"
                )
            seen[group_name(bar.group), effect] = bar


def _check_labels(formula: Formula, beyond: Sequence[Summand], columns: Mapping[str, Column]) -> None:
    """Refuse to compute with whole numbers that a float cannot hold: they are identifiers."""
    summands = (*formula.fixed, *beyond, *(s for b in formula.random for s in b.summands))
    nodes = [formula.response, *(s.term for s in summands)]
    for name in dict.fromkeys(name for node in nodes for name in names(node)):
        if columns[name].whole is not None:
            raise InputError(
                f"the column {name!r} holds whole numbers beyond 2^53, which are labels and not quantities; "
                "make it text, or use it as a group: (1 | …)"
            )
    variables = [v for part in (formula.fixed, *(b.summands for b in formula.random)) for v in expand(part).variables]
    for variable in (formula.response, *variables):
        match variable:
            case Call("factor" | "ordered", (Name(name),)) if columns[name].kind == "numeric":
                if (np.abs(columns[name].values) >= R_DIGITS).any():
                    raise InputError(
                        f"the column {name!r} holds whole numbers of more than 15 digits, which R's factor() cannot "
                        "tell apart; make it text"
                    )
    for name in formula.groups:
        column = columns[name]
        if column.kind == "numeric" and column.whole is None and (np.abs(column.values) > EXACT_INTEGERS).any():
            raise InputError(
                f"the column {name!r} holds floats beyond 2^53, where neighbouring identifiers are the same number. "
                "Read it as text or as whole numbers (pandas: dtype='Int64' where some are missing)"
            )


def _check_options(options: Mapping[str, Any]) -> None:
    if "link" in options:
        choice("link", options["link"], tuple(LINKS))
    if "threshold" in options:
        choice("threshold", options["threshold"], THRESHOLDS)
    if "ddf" in options:
        choice("ddf", options["ddf"], DDF)
    nAGQ = options.get("nAGQ", 1)
    if not isinstance(nAGQ, int) or isinstance(nAGQ, bool) or nAGQ == 0:
        raise InputError(f"{arg('nAGQ', nAGQ)} is not a number of quadrature points; give 1 (Laplace) or more")
    if not isinstance(options.get("REML", True), (bool, np.bool_)):
        raise InputError(f"{arg('REML', options['REML'])} is neither True nor False")
    seconds("timeout", options.get("timeout"))
    if options.get("start") is not None:
        choice("start", options["start"], ("fast",))


def _check_response(model: str, formula: Formula, columns: Mapping[str, Column]) -> None:
    response = formula.response
    if KINDS[model].ordinal:
        if isinstance(response, Call) and response.function in ("factor", "ordered"):
            return
        if not isinstance(response, Name):
            raise InputError(
                f"the response {response} is not a column of categories; give a column, or ordered(column)"
            )
        return
    for name in names(response):
        column = columns[name]
        if column.kind != "numeric":
            raise InputError(
                f"the response {name!r} is not numeric, but {model} needs numbers; convert it, or fit clmm"
            )
        if column.missing.all():
            raise InputError(f"the response {name!r} is missing in every row")


def _check_parts(formula: Formula, options: Mapping[str, Any]) -> None:
    """Refuse the response among its own predictors."""
    for part in ("scale", "nominal"):
        for summand in options[part]:
            for name in names(summand.term):
                if name in names(formula.response):
                    raise InputError(f"the response {name!r} is not allowed in {part}; leave it out")


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


def _like(name: str, column: Column, trained: Column) -> Column:
    """Recode new values with the levels of the fit."""
    if column.missing.all() and column.kind == "numeric" and trained.kind != "numeric":
        return Column(trained.kind, np.full(column.values.size, -1), trained.levels, trained.ordered)
    if column.kind != trained.kind:
        raise InputError(
            f"newdata's column {name!r} is {column.kind}, but it was {trained.kind} when the model was fitted"
        )
    if column.kind != "factor":
        return column
    seen = {column.levels[code] for code in np.unique(column.values[~column.missing])}
    if unknown := sorted(seen - set(trained.levels)):
        raise InputError(
            f"newdata's column {name!r} holds {unknown[0]!r}, which is not a level in the fit; "
            f"the levels are {', '.join(map(repr, trained.levels))}"
        )
    position = np.array(
        [trained.levels.index(level) if level in trained.levels else -1 for level in column.levels] + [-1]
    )
    return Column("factor", position[column.values], trained.levels, trained.ordered)
