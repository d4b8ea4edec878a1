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
from ordbridge.fast.matrix import Value, model_matrix, rank_kept
from ordbridge.fast.terms import Terms, expand
from ordbridge.fast.variables import Memory, Polynomial, evaluate, label, number
from ordbridge.formula import Bar, Binary, Formula, Name, Node, Number, Summand, names
from ordbridge.models.columns import Column
from ordbridge.models.problem import Condition, Matrices, Problem

__all__ = ["Design", "RandomPart", "design", "new_matrices", "response"]

ELSEWHERE = "use engine='ordinal'"


@dataclass(frozen=True, eq=False)
class RandomPart:
    """One random term: its columns, and each row's level of the grouping factor."""

    group: str
    terms: Terms
    names: tuple[str, ...]
    Z: np.ndarray
    level: np.ndarray
    levels: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Design:
    """Model matrices of the complete rows, with what is needed to code further rows alike.

    ``X`` has the columns that R keeps; for ordinal models without the intercept, for which the thresholds stand.
    ``random`` is in R's order: by falling number of levels.
    """

    rows: np.ndarray
    X: np.ndarray
    names: tuple[str, ...]
    dropped: tuple[str, ...]
    fixed: Terms
    random: tuple[RandomPart, ...]
    values: Mapping[Node, Value]
    memory: Memory
    conditions: tuple[Condition, ...] = ()
    groups: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        """List the different grouping factors in order of the terms."""
        object.__setattr__(self, "groups", tuple(dict.fromkeys(part.group for part in self.random)))

    def terms_of(self, group: str) -> list[RandomPart]:
        """Return the random terms of one grouping factor."""
        return [part for part in self.random if part.group == group]

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
    used = dict.fromkeys(name for summand in problem.formula.fixed for name in names(summand.term))
    for bar in problem.formula.random:
        used |= dict.fromkeys(name for summand in bar.summands for name in names(summand.term))
        used |= dict.fromkeys(names(bar.group))
    columns = tuple((name, problem.columns[name]) for name in used)
    mask = None if complete is None or complete.all() else complete.tobytes()
    return _design(problem.model, problem.formula, columns, problem.n_rows, mask)


@lru_cache(maxsize=16)
def _design(
    model: str, formula: Formula, named_columns: tuple[tuple[str, Column], ...], n: int, mask: bytes | None
) -> Design:
    columns = dict(named_columns)
    bars = _expand_bars(formula.random)
    fixed = expand(formula.fixed)
    random = [expand(bar.summands) for bar in bars]
    memory: Memory = {}
    variables = dict.fromkeys(variable for terms in (fixed, *random) for variable in terms.variables)
    values: dict[Node, Value] = {variable: evaluate(variable, columns, memory) for variable in variables}
    grouping = {str(bar.group): _grouping(bar.group, columns) for bar in bars}
    complete = np.ones(n, dtype=bool) if mask is None else np.frombuffer(mask, dtype=bool).copy()
    for value in (*values.values(), *grouping.values()):
        complete &= ~value.missing
    rows = np.flatnonzero(complete)
    if rows.size == 0:
        raise InputError("no row is complete: every one has a missing value in some column of the formula")
    kept = {variable: _take(label(variable), value, rows) for variable, value in values.items()}
    parts = [_random_part(bar, terms, kept, grouping, rows) for bar, terms in zip(bars, random, strict=True)]
    _check_random(model, parts, rows.size)
    X, columns_of_X, dropped, said = _fixed_matrix(model, fixed, kept, rows.size)
    return Design(rows, X, columns_of_X, dropped, fixed, _in_r_order(model, parts), kept, memory, tuple(said))


def _fixed_matrix(
    model: str, terms: Terms, values: Mapping[Node, Value], n: int
) -> tuple[np.ndarray, tuple[str, ...], tuple[str, ...], list[Condition]]:
    """Return the columns that R keeps, their names, the names of those it drops, and what it says about that."""
    X, columns = model_matrix(terms, values, n)
    said = []
    ordinal = model in ("clm", "clmm")
    if ordinal and not terms.intercept:
        X, columns = np.column_stack([np.ones(n), X]), ("(Intercept)", *columns)
        said.append(Condition("frame", "warning", "an intercept is needed and assumed"))
    if not X.shape[1]:
        raise InputError(f"the formula has no fixed effects; {ELSEWHERE}")
    kept = rank_kept(X)
    dropped = tuple(name for j, name in enumerate(columns) if j not in set(kept.tolist()))
    if dropped:
        words = {
            "clmm": f"design is column rank deficient so dropping {len(dropped)} coef",
            "lmer": f"fixed-effect model matrix is rank deficient so dropping {len(dropped)} "
            f"column{'s' if len(dropped) > 1 else ''} / coefficient{'s' if len(dropped) > 1 else ''}",
        }
        if model in words:
            said.append(Condition("frame", "message", words[model]))
    if ordinal:
        kept = kept[1:]
    return np.ascontiguousarray(X[:, kept]), tuple(columns[j] for j in kept), dropped, said


def _take(name: str, value: Value, rows: np.ndarray) -> Value:
    """Keep complete rows and used levels, as R's model frame does."""
    if isinstance(value, Polynomial):
        return Polynomial(value.values[rows])
    kept = value.values[rows]
    if value.kind == "factor":
        used = np.unique(kept)
        position = np.full(len(value.levels), -1)
        position[used] = np.arange(used.size)
        return Column("factor", position[kept], tuple(value.levels[i] for i in used), value.ordered)
    if value.kind == "numeric" and not np.isfinite(kept).all():
        raise FitError(f"{name} is infinite in row {rows[np.flatnonzero(~np.isfinite(kept))[0]] + 1}")
    return Column(value.kind, kept, value.levels, value.ordered)


def _expand_bars(bars: Sequence[Bar]) -> list[Bar]:
    """Write uncorrelated terms out as lme4 does; refuse what this engine does not do."""
    expanded = []
    for bar in bars:
        if "/" in _operators(bar.group):
            raise InputError(f"the fast engine knows no nested terms such as {bar}; {ELSEWHERE}")
        if bar.correlated:
            expanded.append(bar)
            continue
        if expand(bar.summands).intercept:
            expanded.append(Bar((Summand("+", Number("1")),), bar.group))
        for summand in bar.summands:
            if not isinstance(summand.term, Number):
                expanded.append(Bar((Summand("+", Number("0")), summand), bar.group))
    groups = dict.fromkeys(str(bar.group) for bar in expanded)
    if len(groups) > 2:
        raise InputError(f"the fast engine takes two grouping factors, not {len(groups)}; {ELSEWHERE}")
    return expanded


def _operators(node: Node) -> set[str]:
    if isinstance(node, Binary):
        return {node.operator} | _operators(node.left) | _operators(node.right)
    return set()


def _grouping(node: Node, columns: Mapping[str, Column]) -> Column:
    """Return a grouping factor: a column as a factor, or the combinations of several."""
    if isinstance(node, Binary):
        left, right = _grouping(node.left, columns), _grouping(node.right, columns)
        codes = left.values * len(right.levels) + right.values
        levels = tuple(f"{a}:{b}" for a in left.levels for b in right.levels)
        return Column("factor", np.where(left.missing | right.missing, -1, codes), levels)
    if not isinstance(node, Name):
        raise InputError(f"the grouping factor {node} is no column; {ELSEWHERE}")
    column = columns[node.name]
    if column.kind == "factor":
        return column
    if column.kind == "logical":
        return Column("factor", column.values, ("FALSE", "TRUE"))
    known = np.unique(column.values[~column.missing])
    codes = np.where(column.missing, -1, np.searchsorted(known, column.values))
    return Column("factor", codes, tuple(number(value) for value in known))


def _random_part(
    bar: Bar, terms: Terms, values: Mapping[Node, Value], grouping: Mapping[str, Column], rows: np.ndarray
) -> RandomPart:
    group = str(bar.group)
    factor = _take(group, grouping[group], rows)
    if not isinstance(factor, Column):
        raise InputError(f"the grouping factor {group} is no factor")
    Z, columns = model_matrix(terms, values, rows.size)
    if not columns:
        raise InputError(f"{bar} has no random effect in it; {ELSEWHERE}")
    return RandomPart(group.replace("`", ""), terms, columns, Z, factor.values, factor.levels)


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
    X, columns_of_X = model_matrix(fitted.fixed, values, n)
    X = X[:, [columns_of_X.index(name) for name in fitted.names]]
    complete = ~np.isnan(X).any(axis=1)
    Z = []
    for part in fitted.random:
        known_terms = all(variable in values for variable in part.terms.variables)
        matrix = model_matrix(part.terms, values, n)[0] if known_terms else np.zeros((n, len(part.names)))
        Z.append(np.nan_to_num(matrix))
    level = tuple(_levels_of(part, columns, n) for part in fitted.random)
    return Matrices(np.where(complete[:, None], X, 0.0), tuple(Z), level, complete)


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


def _levels_of(part: RandomPart, columns: Mapping[str, Column], n: int) -> np.ndarray:
    """Return the positions of new rows' levels among those of the fit, −1 where the fit has never seen them."""
    group = part.group.split(":")
    if not all(name in columns for name in group):
        return np.full(n, -1)
    position = {level: i for i, level in enumerate(part.levels)}
    factors = [_grouping(Name(name), columns) for name in group]
    found = np.full(n, -1)
    for i in range(n):
        if all(factor.values[i] >= 0 for factor in factors):
            found[i] = position.get(":".join(factor.levels[factor.values[i]] for factor in factors), -1)
    return found
