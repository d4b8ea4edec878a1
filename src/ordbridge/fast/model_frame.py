"""A problem made ready for the native engine: complete rows, model matrices, grouping factors, and what R would say.

Everything but the response is prepared once for all problems that share formula and columns, as the datasets of a power
run do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from ordbridge.errors import FitError, InputError
from ordbridge.fast.lm import Basis, basis_of
from ordbridge.fast.matrix import Value, model_matrix, rank_kept
from ordbridge.fast.variables import Memory, Polynomial, evaluate, label
from ordbridge.formula import Bar, Formula, Node, Summand, Terms, expand, expand_bars, group_name, names
from ordbridge.models.columns import Column
from ordbridge.models.groups import grouping, positions
from ordbridge.models.problem import Matrices, Problem
from ordbridge.results.finding import Finding, found
from ordbridge.support.naming import arg

__all__ = ["Design", "RandomPart", "design", "new_matrices", "response"]


def elsewhere() -> str:
    """Return what to do about a model that only R fits."""
    return f"use {arg('engine', 'r')}"


@dataclass(frozen=True, eq=False)
class RandomPart:
    """One random term: its columns, and each row's level of the grouping factor."""

    node: Node
    terms: Terms
    names: tuple[str, ...]
    Z: np.ndarray
    level: np.ndarray
    levels: tuple[str, ...]

    @cached_property
    def group(self) -> str:
        """The grouping factor's name."""
        return group_name(self.node)


@dataclass(frozen=True, eq=False)
class SidePart:
    """Effects on thresholds or on the residual spread: their columns that R keeps, without the intercept."""

    terms: Terms
    names: tuple[str, ...]
    columns: np.ndarray


@dataclass(frozen=True, eq=False)
class Design:
    """Model matrices of the complete rows, with what is needed to code further rows alike.

    ``X`` has the columns that R keeps; for ordinal models without the intercept, for which the thresholds stand.
    ``random`` is in R's order: by falling number of levels. ``dropped`` are columns of X, ``dropped_aside`` those of
    nominal and of scale effects.
    """

    rows: np.ndarray
    X: np.ndarray
    names: tuple[str, ...]
    dropped: tuple[str, ...]
    fixed: Terms
    random: tuple[RandomPart, ...]
    values: Mapping[Node, Value]
    memory: Memory
    findings: tuple[Finding, ...] = ()
    nominal: SidePart | None = None
    scale: SidePart | None = None
    dropped_aside: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    weights: np.ndarray | None = None
    offset: np.ndarray | None = None
    offset_column: str | None = None
    groups: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        """List the different grouping factors in order of the terms."""
        object.__setattr__(self, "groups", tuple(dict.fromkeys(part.group for part in self.random)))

    def terms_of(self, group: str) -> list[RandomPart]:
        """Return the random terms of one grouping factor."""
        return [part for part in self.random if part.group == group]

    @cached_property
    def places(self) -> list[tuple[int, slice]]:
        """Where each random term is: its grouping factor and its columns there."""
        next_column = dict.fromkeys(self.groups, 0)
        found = []
        for part in self.random:
            first = next_column[part.group]
            next_column[part.group] += len(part.names)
            found.append((self.groups.index(part.group), slice(first, next_column[part.group])))
        return found

    @cached_property
    def basis(self) -> Basis:
        """The columns of ``X``, orthonormal."""
        return basis_of(self.X)

    @cached_property
    def crossed(self):  # type: ignore[no-untyped-def]
        """The rows sorted by their levels and the free entries of the Cholesky factors: (Structure, Layout)."""
        from ordbridge.fast.factors import Layout
        from ordbridge.fast.structure import Structure

        parts = [self.terms_of(group) for group in self.groups]
        structure = Structure.build(
            [own[0].level for own in parts], [np.hstack([part.Z for part in own]) for own in parts]
        )
        return structure, Layout.build(structure, [tuple(part.Z.shape[1] for part in own) for own in parts])


def design(problem: Problem, complete: np.ndarray | None = None) -> Design:
    """Prepare everything but the response; ``complete`` marks the rows in which the response is there."""
    used = dict.fromkeys(problem.predictors)
    for bar in problem.formula.random:
        used |= dict.fromkeys(name for summand in bar.summands for name in names(summand.term))
        used |= dict.fromkeys(names(bar.group))
    if problem.weights:
        used[problem.weights] = None
    columns = tuple((name, problem.columns[name]) for name in used)
    mask = None if complete is None or complete.all() else complete.tobytes()
    aside = (problem.nominal, problem.scale, problem.weights, problem.offset)
    return _design(problem.model, problem.formula, aside, columns, problem.n_rows, mask)


Aside = tuple[tuple[Summand, ...], tuple[Summand, ...], str | None, str | None]


@lru_cache(maxsize=16)
def _design(
    model: str,
    formula: Formula,
    aside: Aside,
    named_columns: tuple[tuple[str, Column], ...],
    n: int,
    mask: bytes | None,
) -> Design:
    columns = dict(named_columns)
    bars = expand_bars(formula.random)
    fixed = expand(formula.fixed)
    random = [expand(bar.summands) for bar in bars]
    nominal, scale = (expand(summands) if summands else None for summands in aside[:2])
    memory: Memory = {}
    parts_of_all = (fixed, *random, *(terms for terms in (nominal, scale) if terms is not None))
    variables = dict.fromkeys(variable for terms in parts_of_all for variable in terms.variables)
    values: dict[Node, Value] = {variable: evaluate(variable, columns, memory) for variable in variables}
    grouped = {bar.group: grouping(bar.group, columns) for bar in bars}
    numbers = [columns[name] if name else None for name in aside[2:]]  # weights, offset
    complete = np.ones(n, dtype=bool) if mask is None else np.frombuffer(mask, dtype=bool).copy()
    for value in (*values.values(), *grouped.values(), *(column for column in numbers if column is not None)):
        complete &= ~value.missing
    rows = np.flatnonzero(complete)
    if rows.size == 0:
        raise InputError("no row is complete: every one has a missing value in some column of the formula")
    kept = {variable: _take(label(variable), value, rows) for variable, value in values.items()}
    parts = [_random_part(bar, terms, kept, grouped[bar.group], rows) for bar, terms in zip(bars, random, strict=True)]
    _check_random(model, parts, rows.size)
    said: list[Finding] = []
    sides = [_side_part(name, terms, kept, rows.size, said) for name, terms in (("nominal", nominal), ("scale", scale))]
    taken = sides[0][0].columns if sides[0][0] is not None else np.empty((rows.size, 0))
    X, columns_of_X, dropped = _fixed_matrix(model, fixed, kept, rows.size, taken, said)
    weights, offset = (None if column is None else column.values[rows] for column in numbers)
    return Design(
        rows,
        X,
        columns_of_X,
        dropped,
        fixed,
        _in_r_order(model, parts),
        kept,
        memory,
        tuple(said),
        nominal=sides[0][0],
        scale=sides[1][0],
        dropped_aside=(sides[0][1], sides[1][1]),
        weights=weights,
        offset=offset,
        offset_column=aside[3],
    )


def _side_part(
    name: str, terms: Terms | None, values: Mapping[Node, Value], n: int, said: list[Finding]
) -> tuple[SidePart | None, tuple[str, ...]]:
    """Return the columns of nominal or scale effects that R keeps, and the names of those it drops."""
    if terms is None:
        return None, ()
    matrix, columns = model_matrix(terms, values, n)
    if not terms.intercept:
        matrix, columns = np.column_stack([np.ones(n), matrix]), ("(Intercept)", *columns)
        said.append(found("intercept-assumed", where=f" in '{name}'"))
    kept = rank_kept(matrix)
    dropped = tuple(columns[j] for j in range(len(columns)) if j not in set(kept.tolist()))
    kept = kept[1:]
    return SidePart(terms, tuple(columns[j] for j in kept), np.ascontiguousarray(matrix[:, kept])), dropped


def _fixed_matrix(
    model: str, terms: Terms, values: Mapping[Node, Value], n: int, taken: np.ndarray, said: list[Finding]
) -> tuple[np.ndarray, tuple[str, ...], tuple[str, ...]]:
    """Return the columns that R keeps beside those of nominal effects, their names, and the names of those it drops.

    What R says about that is added to ``said``.
    """
    X, columns = model_matrix(terms, values, n)
    ordinal = model in ("clm", "clmm")
    if ordinal and not terms.intercept:
        X, columns = np.column_stack([np.ones(n), X]), ("(Intercept)", *columns)
        said.append(found("intercept-assumed", where=""))
    if not X.shape[1]:
        raise InputError(f"the formula has no fixed effects; {elsewhere()}")
    first = X.shape[1] if not ordinal else 1
    kept = rank_kept(np.hstack([X[:, :first], taken, X[:, first:]]))
    kept = np.concatenate([kept[kept < first], kept[kept >= first + taken.shape[1]] - taken.shape[1]])
    dropped = tuple(name for j, name in enumerate(columns) if j not in set(kept.tolist()))
    if dropped:
        words = {
            "clmm": f"design is column rank deficient so dropping {len(dropped)} coef",
            "lmer": f"fixed-effect model matrix is rank deficient so dropping {len(dropped)} "
            f"column{'s' if len(dropped) > 1 else ''} / coefficient{'s' if len(dropped) > 1 else ''}",
        }
        if model in words:
            said.append(found("columns-dropped", text=words[model]))
    if ordinal:
        kept = kept[1:]
    return np.ascontiguousarray(X[:, kept]), tuple(columns[j] for j in kept), dropped


def _take(name: str, value: Value, rows: np.ndarray) -> Value:
    """Keep complete rows and used levels, as R's model frame does."""
    if isinstance(value, Polynomial):
        return Polynomial(value.values[rows])
    kept = value.values[rows]
    if value.kind == "factor":
        return _used_levels(value, rows)
    if value.kind == "numeric" and not np.isfinite(kept).all():
        raise FitError(f"{name} is infinite in row {rows[np.flatnonzero(~np.isfinite(kept))[0]] + 1}")
    return Column(value.kind, kept, value.levels, value.ordered)


def _used_levels(factor: Column, rows: np.ndarray) -> Column:
    kept = factor.values[rows]
    used = np.unique(kept)
    position = np.full(len(factor.levels), -1)
    position[used] = np.arange(used.size)
    return Column("factor", position[kept], tuple(factor.levels[i] for i in used), factor.ordered)


def _random_part(bar: Bar, terms: Terms, values: Mapping[Node, Value], group: Column, rows: np.ndarray) -> RandomPart:
    factor = _used_levels(group, rows)
    Z, columns = model_matrix(terms, values, rows.size)
    if not columns:
        raise InputError(f"{bar} has no random effect in it; {elsewhere()}")
    return RandomPart(bar.group, terms, columns, Z, factor.values, factor.levels)


def _check_random(model: str, parts: Sequence[RandomPart], n: int) -> None:
    fewest = 3 if model == "clmm" else 2
    for part in parts:
        levels, q = len(part.levels), len(part.names)
        if levels < fewest:
            raise InputError(
                f"the grouping factor {part.group} has {levels} level{'s' if levels != 1 else ''}; random effects need "
                f"at least {fewest}: make it a fixed effect"
            )
        if levels * q > n:
            raise InputError(
                f"({' + '.join(part.names)} | {part.group}) has {levels * q} random effects for {n} observations; "
                "simplify it"
            )


def _in_r_order(model: str, parts: Sequence[RandomPart]) -> tuple[RandomPart, ...]:
    """Sort terms by falling number of levels where ordinal and lme4 do; equal ones then come in reverse order."""
    counts = [len(part.levels) for part in parts]
    changes = np.diff(counts)
    if (changes != 0).any() if model == "clmm" else (changes > 0).any():
        return tuple(parts[i] for i in np.argsort(counts, kind="stable")[::-1])
    return tuple(parts)


def response(problem: Problem) -> Value:
    """Return the response on all rows."""
    memory: Memory = {}
    return evaluate(problem.formula.response, problem.columns, memory)


def new_matrices(fitted: Design, columns: Mapping[str, Column]) -> Matrices:
    """Code new rows as the rows of the fit were coded."""
    n = len(next(iter(columns.values())).values)
    values: dict[Node, Value] = {}
    for variable, known in fitted.values.items():
        if all(name in columns for name in names(variable)):
            values[variable] = _like(label(variable), evaluate(variable, columns, dict(fitted.memory)), known)
    X = _columns_of(fitted.fixed, fitted.names, values, n)
    nominal, scale = (
        np.empty((n, 0)) if side is None else _columns_of(side.terms, side.names, values, n)
        for side in (fitted.nominal, fitted.scale)
    )
    offset = np.zeros(n) if fitted.offset_column is None else columns[fitted.offset_column].values
    complete = ~np.isnan(np.column_stack([X, nominal, scale, offset])).any(axis=1)
    X, nominal, scale = (np.where(complete[:, None], matrix, 0.0) for matrix in (X, nominal, scale))
    Z = []
    for part in fitted.random:
        known_terms = all(variable in values for variable in part.terms.variables)
        matrix = model_matrix(part.terms, values, n)[0] if known_terms else np.zeros((n, len(part.names)))
        Z.append(np.nan_to_num(matrix))
    level = tuple(positions(part.node, part.levels, columns, n) for part in fitted.random)
    return Matrices(X, tuple(Z), level, complete, nominal, scale, np.where(complete, offset, 0.0))


def _columns_of(terms: Terms, kept: tuple[str, ...], values: Mapping[Node, Value], n: int) -> np.ndarray:
    """Return the columns of a model matrix that the fit kept."""
    matrix, columns = model_matrix(terms, values, n)
    return matrix[:, [columns.index(name) for name in kept]]


def _like(name: str, value: Value, known: Value) -> Value:
    """Recode a factor with the levels that the fit used."""
    if isinstance(value, Polynomial) or isinstance(known, Polynomial) or value.kind != "factor":
        return value
    position = {level: i for i, level in enumerate(known.levels)}
    present = np.unique(value.values[~value.missing])
    for code in present:
        if value.levels[code] not in position:
            raise InputError(f"newdata holds {value.levels[code]!r} for {name}, which the fit has never seen")
    recode = np.array([position.get(level, -1) for level in value.levels] + [-1])
    return Column("factor", recode[value.values], known.levels, known.ordered)
