"""The engine that all numbers are judged by: R's ordinal, lmerTest and stats, through the bridge."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ordbridge import bridge
from ordbridge.errors import FitError, FitTimeout
from ordbridge.formula import Bar, Binary, Node, Number, Summand, renamed, written
from ordbridge.models.columns import Column
from ordbridge.models.problem import Condition, Estimates, Matrices, Problem, RandomTerm

__all__ = ["contrasts", "fit", "matrices", "test_terms"]

PACKAGES = {"clm": ("ordinal",), "clmm": ("ordinal",), "lm": (), "lmer": ("lmerTest",)}


def fit(problem: Problem) -> Estimates:
    """Fit the problem in R with one call and return everything R found out."""
    bridge.require(*PACKAGES[problem.model])
    if problem.ddf == "Kenward-Roger":
        bridge.require("pbkrtest")
    arguments: dict[str, Any] = {"formula": str(problem.formula), "columns": _columns(problem.columns)}
    if problem.formula.random:
        arguments |= {"variables": _variables(problem), "bars": _bars(problem)}
    if problem.ordinal:
        arguments |= {"link": problem.link, "threshold": problem.threshold}
    if problem.model == "clmm":
        arguments |= {"nAGQ": problem.nAGQ, "start": _start(problem)}
    if problem.model == "lmer":
        arguments |= {"REML": problem.REML, "ddf": problem.ddf}
    answer = bridge.call(f"fit_{problem.model}", arguments, problem.timeout)
    if answer.status == "timeout":
        raise FitTimeout(
            f"{problem.model} ran longer than {problem.timeout:g} seconds and was stopped: {problem.formula}"
        )
    if answer.status == "error":
        raise FitError(f"R could not fit {problem.formula} ({problem.model}, stage {answer.stage}): {answer.error}")
    return _estimates(answer.value, tuple(Condition(*said) for said in answer.conditions))


def matrices(problem: Problem, estimates: Estimates, newdata: Mapping[str, Column]) -> Matrices:
    """Return R's model matrices for new rows."""
    expanded = expand_bars(problem.formula.random)
    value = _ask(
        "new_matrices",
        {
            "variables": _variables(problem),
            "fixed": _fixed(problem),
            "bars": _bars(problem),
            "columns": _columns(problem.columns),
            "new_columns": _columns(newdata),
        },
    )
    n = int(value["n"][0])
    X = value["X"].reshape((n, -1), order="F")
    kept = [term for term, effect in zip(estimates.terms, estimates.effects, strict=True) if effect == "fixed"]
    X = X[:, [value["X_names"].index(term) for term in kept]]
    Z, level = [], []
    waiting = list(range(len(expanded)))
    for term in estimates.random:  # R orders the terms by their numbers of levels, the formula as it was written
        q = len(term.terms)
        i = next(
            j
            for j in waiting
            if _same_group(term.group, str(expanded[j].group)) and value["Z_names"][j] in (None, list(term.terms))
        )
        waiting.remove(i)
        known = value["Z_names"][i] is not None
        Z.append(value["Z"][i].reshape((n, q), order="F") if known else np.zeros((n, q)))
        level.append(value["level"][i])
    complete = ~np.isnan(X).any(axis=1)
    return Matrices(np.where(complete[:, None], X, 0.0), tuple(np.nan_to_num(z) for z in Z), tuple(level), complete)


def contrasts(problem: Problem, estimates: Estimates, factor: str, adjust: str, level: float) -> dict[str, Any]:
    """Return all pairwise differences between the levels of a factor, from emmeans."""
    bridge.require("emmeans")
    problem, factor = _without_backticks(problem, factor)
    common = {"factor": factor, "columns": _columns(problem.columns), "adjust": adjust, "level": float(level)}
    if problem.model == "lmer":
        bridge.require("lmerTest", "pbkrtest")
        return _ask(
            "pairwise_from_lmer",
            common | {"formula": str(problem.formula), "REML": problem.REML, "ddf": problem.ddf},
        )
    fixed = np.array([effect == "fixed" for effect in estimates.effects])
    coefficients, vcov = estimates.estimate[fixed], estimates.vcov[np.ix_(fixed, fixed)]
    if problem.ordinal:
        coefficients = np.concatenate([[0.0], coefficients])
        vcov = np.pad(vcov, ((1, 0), (1, 0)))
    df = float(estimates.df[fixed][0]) if problem.model == "lm" else float("inf")
    return _ask(
        "pairwise_from_estimates",
        common
        | {
            "fixed": _fixed(problem),
            "variables": _variables(problem),
            "coefficients": coefficients,
            "vcov": vcov.ravel(),
            "df": df,
        },
    )


def test_terms(problem: Problem) -> dict[str, Any]:
    """Return an F test of every term of an lmer, from lmerTest."""
    bridge.require("lmerTest", *(("pbkrtest",) if problem.ddf == "Kenward-Roger" else ()))
    arguments = {"formula": str(problem.formula), "columns": _columns(problem.columns)}
    return _ask("test_terms", arguments | {"REML": problem.REML, "ddf": problem.ddf})


def expand_bars(bars: Sequence[Bar]) -> list[Bar]:
    """Write nested groups and uncorrelated terms out as lme4 does.

    Examples
    --------
    >>> from ordbridge.formula import parse
    >>> [str(bar) for bar in expand_bars(parse("y ~ 1 + (x || a/b)").random)]
    ['(1 | a)', '(0 + x | a)', '(1 | a:b)', '(0 + x | a:b)']
    """
    expanded = []
    for bar in bars:
        for group in _nested(bar.group):
            if bar.correlated:
                expanded.append(Bar(bar.summands, group))
                continue
            zero = any(str(s.term) == "0" or (s.sign == "-" and str(s.term) == "1") for s in bar.summands)
            if not zero:
                expanded.append(Bar((Summand("+", Number("1")),), group))
            for summand in bar.summands:
                if not isinstance(summand.term, Number):
                    expanded.append(Bar((Summand("+", Number("0")), summand), group))
    return expanded


def _nested(group: Node) -> list[Node]:
    if isinstance(group, Binary) and group.operator == "/":
        outer = _nested(group.left)
        return [*outer, Binary(":", outer[-1], group.right)]
    return [group]


def _same_group(a: str, b: str) -> bool:
    """Tell whether two grouping factors are the same, whatever their quoting and the order of an interaction."""
    first, second = (re.sub(r"[`\\]", "", text).split(":") for text in (a, b))
    return sorted(first) == sorted(second)


def _without_backticks(problem: Problem, factor: str) -> tuple[Problem, str]:
    """Rename the columns that have a backtick in their name, which emmeans cannot read."""
    new = {name: f"column.{i}" for i, name in enumerate(problem.columns) if "`" in name}
    columns = {new.get(name, name): column for name, column in problem.columns.items()}
    return replace(problem, formula=renamed(problem.formula, new), columns=columns), new.get(factor, factor)


def _ask(function: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    answer = bridge.call(function, arguments)
    if answer.status != "ok":
        raise FitError(f"R could not do {function}: {answer.error}")
    value: dict[str, Any] = answer.value
    return value


def _columns(columns: Mapping[str, Column]) -> dict[str, dict[str, Any]]:
    return {name: _column(column) for name, column in columns.items()}


def _column(column: Column) -> dict[str, Any]:
    if column.kind == "numeric":
        return {"kind": "numeric", "values": column.values}
    missing = np.iinfo(np.int32).min  # R's NA
    if column.kind == "logical":
        return {"kind": "logical", "values": np.where(column.missing, missing, column.values)}
    codes = np.where(column.missing, missing, column.values + 1)
    return {"kind": "factor", "values": codes, "levels": list(column.levels), "ordered": column.ordered}


def _variables(problem: Problem) -> str:
    """Write the formula with every bar replaced by a plus: all the variables a complete row needs."""
    parts = [_fixed(problem)]
    for bar in problem.formula.random:
        parts += [written(bar.summands), str(bar.group)]
    return f"{problem.formula.response} ~ {' + '.join(parts)}"


def _fixed(problem: Problem) -> str:
    """Write the fixed part; the thresholds of an ordinal model stand for its intercept, which cannot be left out."""
    text = written(problem.formula.fixed) or "1"
    return f"{text} + 1" if problem.ordinal else text


def _bars(problem: Problem) -> list[dict[str, str]]:
    return [{"terms": written(bar.summands), "group": str(bar.group)} for bar in expand_bars(problem.formula.random)]


def _start(problem: Problem) -> Any:
    if problem.start is None:
        return None
    from ordbridge.fast import start

    return start(problem)


def _estimates(value: Mapping[str, Any], conditions: tuple[Condition, ...]) -> Estimates:
    terms = tuple(value["terms"])
    k = int(value["n_thresholds"][0])
    return Estimates(
        terms=terms,
        effects=("threshold",) * k + ("fixed",) * (len(terms) - k),
        estimate=value["estimate"],
        std_error=value["std_error"],
        df=value["df"],
        statistic=value["statistic"],
        p_value=value["p_value"],
        vcov=value["vcov"].reshape(len(terms), len(terms)),
        random=tuple(_random_term(term) for term in value["random"]),
        rows=value["rows"] - 1,
        loglik=float(value["loglik"][0]),
        edf=int(value["edf"][0]),
        converged=bool(value["converged"][0]),
        singular=bool(value["singular"][0]),
        package_version=value["package"][0],
        dropped=tuple(value["dropped"] or ()),
        levels=tuple(value.get("levels") or ()),
        cutpoints=value.get("cutpoints", np.empty(0)),
        sigma=_number(value.get("sigma")),
        max_gradient=_number(value.get("max_gradient")),
        hessian_condition=_number(value.get("hessian_condition")),
        evaluations=None if value.get("evaluations") is None else int(value["evaluations"][0]),
        r_version=value["r_version"][0],
        conditions=conditions,
    )


def _random_term(term: Mapping[str, Any]) -> RandomTerm:
    q, n = len(term["terms"]), len(term["levels"])
    return RandomTerm(
        group=term["group"][0],
        terms=tuple(term["terms"]),
        levels=tuple(term["levels"]),
        covariance=term["covariance"].reshape(q, q),
        modes=term["modes"].reshape((n, q), order="F"),
        mode_sd=term["mode_sd"].reshape((n, q), order="F"),
    )


def _number(value: np.ndarray | None) -> float | None:
    return None if value is None or value.size == 0 or np.isnan(value[0]) else float(value[0])
