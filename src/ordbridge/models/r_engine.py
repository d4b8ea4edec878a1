"""R's functions behind the interface of the engines: R sees mangled names, what it answers is translated."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ordbridge import bridge
from ordbridge.errors import FitError, FitTimeout, InputError
from ordbridge.formula import Name, expand, expand_bars, group_name, written
from ordbridge.models.columns import Column
from ordbridge.models.engines import engine_module
from ordbridge.models.groups import positions
from ordbridge.models.kinds import KINDS
from ordbridge.models.name_mangling import MangledProblem, mangle_names
from ordbridge.models.problem import Estimates, Matrices, Problem, RandomTerm
from ordbridge.models.second_opinion import second_opinion
from ordbridge.results.finding import Finding
from ordbridge.results.finding import found as noticed
from ordbridge.support.naming import arg


def fit(problem: Problem) -> Estimates:
    """Fit the problem in R with one call and return everything R found out."""
    refuse(problem)
    bridge.require(*KINDS[problem.model].packages)
    if problem.ddf == "Kenward-Roger":
        bridge.require("pbkrtest")
    hidden = mangle_names(problem, rescaled=True)
    arguments: dict[str, Any] = {"formula": formula_text(hidden.problem), "columns": _columns(hidden.problem.columns)}
    if problem.formula.random:
        arguments |= {"variables": _variables(hidden.problem), "bars": _bars(hidden.problem)}
    if problem.ordinal:
        arguments |= {"link": problem.link, "threshold": problem.threshold, "weights": hidden.problem.weights}
    if problem.model == "clm":
        arguments |= {name: f"~ {text}" if text else None for name, text in _aside(hidden.problem).items()}
    if problem.model == "clmm":
        arguments |= {"nAGQ": problem.nAGQ, "start": _start(hidden.problem)}
    if problem.model == "lmer":
        arguments |= {"REML": problem.REML, "ddf": problem.ddf}
    started = time.perf_counter()
    answer = _call(hidden, f"fit_{problem.model}", arguments, problem.timeout)
    seconds = time.perf_counter() - started
    if answer.status == "timeout":
        raise FitTimeout(
            f"{problem.model} ran longer than {problem.timeout:g} seconds and was stopped: {problem.formula}"
        )
    if answer.status == "error":
        raise FitError(f"R could not fit {problem.formula} ({problem.model}, stage {answer.stage}): {answer.error}")
    said = (noticed(f"r-{kind}", stage=stage, text=text) for stage, kind, text in answer.conditions)
    found = hidden.reveal(_estimates(answer.value, tuple(said)))
    if not problem.formula.random:
        return found
    doubts = second_opinion(problem, found, seconds, hidden.texts(answer.value.get("far_columns") or ()))
    return replace(found, findings=(*found.findings, *doubts))


def matrices(problem: Problem, estimates: Estimates, newdata: Mapping[str, Column]) -> Matrices:
    """Return R's model matrices for new rows."""
    hidden = mangle_names(problem)
    nodes = {group_name(bar.group): bar.group for bar in expand_bars(problem.formula.random)}
    n = len(next(iter(newdata.values())).values)
    offset = np.zeros(n) if problem.offset is None else newdata[problem.offset].values
    known = hidden.problem.columns
    new = {
        hidden.plain[name]: replace(column, levels=known[hidden.plain[name]].levels)
        for name, column in newdata.items()
        if name in hidden.plain
    }
    value = _ask(
        hidden,
        "new_matrices",
        {
            "variables": _variables(hidden.problem),
            "fixed": _fixed(hidden.problem),
            "bars": [bar["terms"] for bar in _bars(hidden.problem)],
            **_aside(hidden.problem),
            "columns": _columns(hidden.problem.columns),
            "new_columns": _columns(new or {"one": Column("numeric", np.ones(n))}),
        },
    )
    X = _kept(hidden, value["X"], value["X_names"], n, _terms_having(estimates, "fixed"))
    nominal = _kept(hidden, value["aside"][0], value["aside_names"][0], n, _nominal_columns(estimates))
    scale = _kept(hidden, value["aside"][1], value["aside_names"][1], n, _terms_having(estimates, "scale"))
    Z, level = [], []
    waiting = list(enumerate(hidden.problem.formula.random))
    for term in estimates.random:  # R orders the terms by their numbers of levels, the formula as it was written
        q = len(term.terms)
        i = next(
            i
            for i, bar in waiting
            if hidden.text(str(bar.group)) == term.group
            and (value["Z_names"][i] is None or hidden.texts(value["Z_names"][i]) == term.terms)
        )
        waiting = [(j, bar) for j, bar in waiting if j != i]
        Z.append(np.zeros((n, q)) if value["Z_names"][i] is None else value["Z"][i].reshape((n, q), order="F"))
        level.append(positions(nodes[term.group], term.levels, newdata, n))
    complete = ~np.isnan(np.column_stack([X, nominal, scale, offset])).any(axis=1)
    X, nominal, scale = (np.where(complete[:, None], matrix, 0.0) for matrix in (X, nominal, scale))
    random = tuple(np.nan_to_num(z) for z in Z)
    return Matrices(X, random, tuple(level), complete, nominal, scale, np.where(complete, offset, 0.0))


def refuse(problem: Problem) -> None:
    """Refuse what R has no function for."""
    if problem.model != "clmm":
        return
    for part in ("scale", "nominal"):
        if getattr(problem, part):
            raise InputError(f"R's clmm has no {part} effects; use {arg('engine', 'fast')}")
    if problem.weights and (problem.columns[problem.weights].values == 0).any():
        raise InputError(f"R's clmm does not take weights of 0; leave these rows out, or use {arg('engine', 'fast')}")


def _kept(hidden: MangledProblem, flat: np.ndarray, names: list[str] | None, n: int, kept: list[str]) -> np.ndarray:
    """Return the columns of a model matrix that have a coefficient."""
    columns = hidden.texts(names or ())
    return flat.reshape((n, len(columns)), order="F")[:, [columns.index(name) for name in kept]]


def _terms_having(estimates: Estimates, effect: str) -> list[str]:
    return [term for term, own in zip(estimates.terms, estimates.effects, strict=True) if own == effect]


def _nominal_columns(estimates: Estimates) -> list[str]:
    """Return the columns of nominal effects: in each block, what follows the name of the first threshold and a dot."""
    thresholds, nominal = (_terms_having(estimates, effect) for effect in ("threshold", "nominal"))
    if not nominal:
        return []
    first = thresholds[0].removesuffix(".(Intercept)")
    return [term[len(first) + 1 :] for term in nominal[:: len(thresholds)]]


def contrasts(
    problem: Problem, estimates: Estimates, factor: str, adjust: str, level: float
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return all pairwise differences between the levels of a factor from emmeans, and what emmeans says about them."""
    bridge.require("emmeans")
    used = {name: column.take(estimates.rows) for name, column in problem.columns.items()}
    hidden = mangle_names(replace(problem, columns=used, n_rows=len(estimates.rows)), rescaled=problem.model == "lmer")
    common = {
        "factor": hidden.plain[factor],
        "columns": _columns(hidden.problem.columns),
        "adjust": adjust,
        "level": float(level),
    }
    if problem.model == "lmer":
        bridge.require("lmerTest", "pbkrtest")
        value = _ask(hidden, "pairwise_from_lmer", common | _at_optimum(hidden.problem, estimates))
        for name in ("estimate", "std_error", "conf_low", "conf_high"):
            value[name] = value[name] / hidden.response_scale
    else:
        fixed = np.array([effect == "fixed" for effect in estimates.effects])
        coefficients, vcov = estimates.estimate[fixed], estimates.vcov[np.ix_(fixed, fixed)]
        if problem.ordinal:  # differences do not depend on the thresholds: the intercept is set to zero
            coefficients = np.concatenate([[0.0], coefficients])
            vcov = np.pad(vcov, ((1, 0), (1, 0)))
        df = float(estimates.df[fixed][0]) if problem.model == "lm" else float("inf")
        estimated = {"coefficients": coefficients, "vcov": vcov.ravel(), "df": df}
        value = _ask(hidden, "pairwise_from_estimates", common | {"fixed": _fixed(hidden.problem)} | estimated)
    notes = hidden.texts(value.pop("notes") or ())
    pairs = [text.partition(" - ") for text in value.pop("contrast")]
    sides = {name: list(hidden.texts([pair[at] for pair in pairs])) for name, at in (("system_a", 0), ("system_b", 2))}
    return sides | value, notes


def test_terms(problem: Problem, estimates: Estimates) -> dict[str, Any]:
    """Return an F test of every term of an lmer, from lmerTest."""
    bridge.require("lmerTest", *(("pbkrtest",) if problem.ddf == "Kenward-Roger" else ()))
    hidden = mangle_names(problem, rescaled=True)
    arguments = {"columns": _columns(hidden.problem.columns)} | _at_optimum(hidden.problem, estimates)
    value = _ask(hidden, "test_terms", arguments)
    return value | {"term": list(hidden.texts(value["term"]))}


def test_combinations(problem: Problem, estimates: Estimates, L: np.ndarray) -> dict[str, Any]:
    """Return a joint F test of combinations of an lmer's coefficients, the rows of L, from lmerTest."""
    bridge.require("lmerTest", *(("pbkrtest",) if problem.ddf == "Kenward-Roger" else ()))
    hidden = mangle_names(problem, rescaled=True)
    arguments = {"columns": _columns(hidden.problem.columns), "L": L.ravel(), "combinations": len(L)}
    value = _ask(hidden, "test_combinations", arguments | _at_optimum(hidden.problem, estimates))
    return {"df": len(L)} | {name: float(value[name][0]) for name in ("statistic", "den_df", "p_value")}


def _at_optimum(hidden: Problem, estimates: Estimates) -> dict[str, Any]:
    """Describe an lmer whose optimum is known, so that R computes tests there and does not look for another."""
    return {"formula": str(hidden.formula), "theta": estimates.theta, "REML": hidden.REML, "ddf": hidden.ddf}


def _call(
    hidden: MangledProblem, function: str, arguments: Mapping[str, Any], timeout: float | None = None
) -> bridge.Answer:
    """Call R and put the user's words into everything it says."""
    try:
        answer = bridge.call(function, arguments, timeout)
    except InputError as refusal:
        raise InputError(hidden.text(str(refusal))) from None
    return answer._replace(error=hidden.text(answer.error))


def _ask(hidden: MangledProblem, function: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    answer = _call(hidden, function, arguments)
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
    parts = [_fixed(problem), *(text for text in _aside(problem).values() if text)]
    parts += [str(Name(column)) for column in (problem.weights, problem.offset) if column]
    for bar in problem.formula.random:
        parts += [written(bar.summands), str(bar.group)]
    return f"{problem.formula.response} ~ {' + '.join(parts)}"


def formula_text(problem: Problem) -> str:
    """Write the formula; an offset comes before the bars, after which clmm takes another column for it."""
    formula = problem.formula
    if problem.offset is None:
        return str(formula)
    parts = [written(formula.fixed) or "1", f"offset({Name(problem.offset)})", *map(str, formula.random)]
    return f"{formula.response} ~ {' + '.join(parts)}"


def _aside(problem: Problem) -> dict[str, str | None]:
    """Write the terms of nominal and scale effects."""
    return {name: written(getattr(problem, name)) or None for name in ("nominal", "scale")}


def _fixed(problem: Problem) -> str:
    """Write the fixed part; the thresholds of an ordinal model stand for its intercept.

    Where the formula takes it away, ordinal codes a factor with all its levels, and drops the last.
    """
    text = written(problem.formula.fixed) or "1"
    terms = expand(problem.formula.fixed)
    return f"{text} + 1" if problem.ordinal and (terms.intercept or not terms.terms) else text


def _bars(problem: Problem) -> list[dict[str, str]]:
    return [{"terms": written(bar.summands), "group": str(bar.group)} for bar in problem.formula.random]


def _start(problem: Problem) -> Any:
    return None if problem.start is None else engine_module("fast").start(problem)


def _estimates(value: Mapping[str, Any], findings: tuple[Finding, ...]) -> Estimates:
    terms = tuple(value["terms"])
    n_thresholds, n_nominal, n_scale = (
        int(value[name][0]) if name in value else 0 for name in ("n_thresholds", "n_nominal", "n_scale")
    )
    n_fixed = len(terms) - n_thresholds - n_nominal - n_scale
    counts = {"threshold": n_thresholds, "nominal": n_nominal, "fixed": n_fixed, "scale": n_scale}
    levels = tuple(value.get("levels") or ())
    cutpoints = np.reshape(value.get("cutpoints", np.empty(0)), (-1, max(len(levels) - 1, 0) or 1))
    return Estimates(
        terms=terms,
        effects=tuple(effect for effect, count in counts.items() for _ in range(count)),
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
        levels=levels,
        cutpoints=cutpoints[0] if levels else np.empty(0),
        cutpoint_shifts=cutpoints[1:] if levels else np.empty((0, 0)),
        sigma=_number(value.get("sigma")),
        theta=value.get("theta"),
        max_gradient=_number(value.get("max_gradient")),
        hessian_condition=_number(value.get("hessian_condition")),
        evaluations=None if value.get("evaluations") is None else int(value["evaluations"][0]),
        r_version=value["r_version"][0],
        findings=findings,
        details={"invalid": bool(value["invalid"][0])} if "invalid" in value else {},
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
