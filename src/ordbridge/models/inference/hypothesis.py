"""What is tested: that a term, a coefficient or a contrast of coefficients is zero.

A hypothesis is a smaller model on the same rows. With X and X₀ the columns of both, the coefficients β of the larger
model obey it where Xβ lies in the span of X₀: Lβ = 0, with L a basis of the rows of what X has beside X₀. So Wald's
test, the likelihood ratio and the bootstrap are about one and the same hypothesis, however factors are coded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from ordbridge.errors import InputError
from ordbridge.formula import Binary, Formula, Name, Node, Number, Summand, expand, names, quote
from ordbridge.models.columns import Column
from ordbridge.models.engines import engine_module
from ordbridge.models.problem import Problem
from ordbridge.results.finding import Finding, found

if TYPE_CHECKING:
    from ordbridge.models.fit import Fit

Term = tuple[Node, ...]
NOTHING = 1e-7  # a column of which less is left beside others is a combination of them, as in R


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """That some combinations of the coefficients are zero."""

    label: str
    null: Problem
    """The model in which they are, on the rows of the fit."""
    L: np.ndarray
    """The combinations, one in each row, over the coefficients of the fit that have one of the ``effects``."""
    notes: tuple[Finding, ...] = ()
    effects: tuple[str, ...] = ("fixed",)

    @property
    def df(self) -> int:
        """How many combinations are tested at once."""
        return int(self.L.shape[0])


def hypothesis(fit: Fit, term: str | Mapping[str, float]) -> Hypothesis:
    """Return the hypothesis that a term, a coefficient or a contrast is zero.

    Parameters
    ----------
    fit
        The larger model.
    term
        A term of the formula, with all of its coefficients and those of the interactions it takes part in; or a
        single coefficient; or a contrast, such as ``{"systemB": 1, "systemC": -1}``.

    Examples
    --------
    >>> import ordbridge as ob
    >>> data = {"y": [1.0, 2.5, 2.0, 3.9, 1.5, 3.1], "system": list("AABBCC")}
    >>> fit = ob.lm("y ~ system", data, engine="fast")
    >>> str(hypothesis(fit, "system").null.formula), hypothesis(fit, "system").df
    ('y ~ 1', 2)
    >>> hypothesis(fit, {"systemB": 1, "systemC": -1}).label
    'systemB - systemC'
    """
    if isinstance(term, Mapping):
        return _of_contrast(fit, term)
    if not isinstance(term, str):
        raise InputError(
            f"{term!r} is neither the name of a term or coefficient nor a contrast such as {{'systemB': 1, "
            "'systemC': -1}"
        )
    for candidate in _terms(fit):
        if term in _spellings(candidate):
            return _of_term(fit, candidate)
    found = [name for name in (term, quote(term)) if name in _coefficients(fit)]
    if not found:
        place = fit.estimates.position(term)
        kind = None if place is None else fit.estimates.effects[place]
        what = {
            "threshold": "a threshold, which is not a coefficient",
            "nominal": "a part of a nominal effect, which is tested as a whole",
        }.get(str(kind), "not in this model")
        raise InputError(
            f"{term!r} is {what}; its terms are {', '.join(map(repr, term_labels(fit))) or 'none'} and its "
            f"coefficients {', '.join(map(repr, _coefficients(fit))) or 'none'}"
        )
    return _of_contrast(fit, {found[0]: 1.0})


def term_labels(fit: Fit) -> tuple[str, ...]:
    """Return the terms of the fixed part, and those of nominal effects, under R's names."""
    return tuple(label(term) for term in _terms(fit))


def _terms(fit: Fit) -> tuple[Term, ...]:
    parts = (fit.problem.formula.fixed, fit.problem.nominal)
    return tuple(dict.fromkeys(term for part in parts for term in expand(part).terms))


def on_rows(problem: Problem, rows: np.ndarray) -> Problem:
    """Return the problem on some of its rows: elsewhere the response is made missing.

    Columns stay whole, because functions such as ``scale(x)`` depend on all of their values.
    """
    other = np.ones(problem.n_rows, dtype=bool)
    other[rows] = False
    if not other.any():
        return problem
    columns = dict(problem.columns)
    for name in names(problem.formula.response):
        column = columns[name]
        missing = np.nan if column.kind == "numeric" else -1
        columns[name] = replace(column, values=np.where(other, missing, column.values))
    return replace(problem, columns=columns)


def _of_term(fit: Fit, term: Term) -> Hypothesis:
    """Leave a term out, and with it the interactions that contain it: they would not mean anything without it.

    A term with nominal effects, too, is left out of the thresholds as well.
    """
    problem = fit.problem
    gone = [other for other in _terms(fit) if set(term) <= set(other)]
    nominal = [other for other in gone if other in expand(problem.nominal).terms]
    smaller = replace(
        problem,
        formula=replace(problem.formula, fixed=_without(problem.formula.fixed, gone)),
        nominal=_without(problem.nominal, gone) if nominal else problem.nominal,
    )
    null = on_rows(smaller, fit.estimates.rows)
    notes: tuple[Finding, ...] = ()
    if len(gone) > 1:
        higher = ", ".join(label(other) for other in gone[1:])
        notes = (found("interactions-left-out", term=label(term), higher=higher),)
    if nominal:
        moved = ", ".join(map(label, nominal))
        notes += (found("nominal-tested", terms=moved),)
    if stays := [other for other in gone if other in expand(problem.scale).terms]:
        notes += (found("scale-stays", terms=", ".join(map(label, stays))),)
    here = {name: column.take(fit.estimates.rows) for name, column in problem.columns.items()}
    own, other = fit.matrices(), engine_module("fast").matrices(null, fit.estimates, here)
    L = _beside(fit, own.X, np.hstack([other.nominal, other.X]))
    if nominal:
        rows = int(fit.estimates.having("threshold").sum())
        of_thresholds = np.kron(_beside(fit, own.nominal, other.nominal), np.eye(rows))
        L = _block_diagonal(of_thresholds, L)
    if not L.size:
        raise InputError(f"{label(term)} has no coefficient of its own in this fit: its columns are aliased")
    effects = ("nominal", "fixed") if nominal else ("fixed",)
    return Hypothesis(" + ".join(map(label, gone)), null, L, notes, effects)


def _without(part: Sequence[Summand], gone: Sequence[Term]) -> tuple[Summand, ...]:
    terms = expand(part)
    return summands([term for term in terms.terms if term not in gone], terms.intercept)


def _block_diagonal(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.block(
        [
            [first, np.zeros((first.shape[0], second.shape[1]))],
            [np.zeros((second.shape[0], first.shape[1])), second],
        ]
    )


def _of_contrast(fit: Fit, weights: Mapping[str, float]) -> Hypothesis:
    """Keep the columns in which the contrast is zero: where wᵀβ = 0, every x_j but x_k becomes x_j − (w_j/w_k) x_k."""
    coefficients = _coefficients(fit)
    w = np.zeros(len(coefficients))
    for name, weight in weights.items():
        if name not in coefficients:
            raise InputError(f"there is no coefficient {name!r}; the coefficients are {', '.join(coefficients)}")
        if isinstance(weight, bool) or not isinstance(weight, (int, float, np.number)) or not np.isfinite(weight):
            raise InputError(f"the weight of {name} is {weight!r}, which is not a number")
        w[coefficients.index(name)] = weight
    if not w.any():
        raise InputError("all weights of the contrast are zero, so there is nothing to test")
    X = fit.matrices().X
    k = int(np.argmax(np.abs(w)))
    rest = np.delete(X - np.outer(X[:, k], w / w[k]), k, axis=1)
    columns = dict(fit.problem.columns)
    others = [] if fit.problem.ordinal else [Summand("+", Number("0"))]
    for j, values in enumerate(rest.T):
        name = f"column {j + 1}"
        whole = np.full(fit.problem.n_rows, np.nan)
        whole[fit.estimates.rows] = values
        columns[name] = Column("numeric", whole)
        others.append(Summand("+", Name(name)))
    formula = Formula(
        fit.problem.formula.response, tuple(others) or (Summand("+", Number("1")),), fit.problem.formula.random
    )
    null = on_rows(replace(fit.problem, formula=formula, columns=columns), fit.estimates.rows)
    return Hypothesis(_contrast_label(weights), null, w[None, :])


def _beside(fit: Fit, X: np.ndarray, X0: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of the combinations of coefficients that X₀ cannot express."""
    if fit.problem.ordinal:  # the thresholds stand for an intercept
        X0 = np.column_stack([np.ones(len(X)), X0])
    if not X.shape[1]:
        return np.empty((0, 0))
    length = np.linalg.norm(X, axis=0)
    scaled = X / length
    known = X0 / np.linalg.norm(X0, axis=0)
    rest = scaled - known @ np.linalg.lstsq(known, scaled, rcond=None)[0]
    rest[:, np.linalg.norm(rest, axis=0) < NOTHING] = 0.0
    _, size, directions = np.linalg.svd(rest, full_matrices=False)
    return directions[size > NOTHING] * length


def _coefficients(fit: Fit) -> tuple[str, ...]:
    e = fit.estimates
    return tuple(term for term, effect in zip(e.terms, e.effects, strict=True) if effect == "fixed")


def summands(terms: Sequence[Term], intercept: bool) -> tuple[Summand, ...]:
    """Write terms as a part of a formula."""
    nodes: list[Node] = [] if intercept else [Number("0")]
    nodes += [reduce(lambda left, right: Binary(":", left, right), term) for term in terms]
    return tuple(Summand("+", node) for node in nodes or [Number("1")])


def label(term: Term) -> str:
    """Return R's name of a term."""
    return ":".join(map(str, term))


def _spellings(term: Term) -> set[str]:
    """Return how a term may be written: its variables in any order, with or without backticks."""
    plain = [variable.name if isinstance(variable, Name) else str(variable) for variable in term]
    return {":".join(words) for way in (plain, list(map(str, term))) for words in permutations(way)}


def _contrast_label(weights: Mapping[str, float]) -> str:
    text = ""
    for name, weight in weights.items():
        if weight:
            size = "" if abs(weight) == 1 else f"{abs(weight):g} "
            sign = ("-" if weight < 0 else "") if not text else (" - " if weight < 0 else " + ")
            text += f"{sign}{size}{name}"
    return text
