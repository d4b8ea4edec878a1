"""Model matrices as R's ``model.matrix`` makes them: contrasts, interactions, and the names of the columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np

from ordbridge.errors import InputError
from ordbridge.fast.variables import Polynomial, label
from ordbridge.formula import Node, Terms
from ordbridge.models.columns import Column

__all__ = ["contr_poly", "model_matrix", "rank_kept"]

Value = Column | Polynomial


@dataclass(frozen=True, eq=False)
class _Coded:
    """Columns with the ends of their names."""

    values: np.ndarray
    names: tuple[str, ...]


def model_matrix(terms: Terms, values: Mapping[Node, Value], n: int) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the matrix and its columns' names; ``values`` holds each variable on n rows, unused levels dropped.

    Rows with a missing value are NaN in the columns that depend on it.

    Examples
    --------
    >>> from ordbridge.formula import expand
    >>> from ordbridge.formula import Name, parse
    >>> system = Column("factor", np.array([0, 1, 2]), ("A", "B", "C"))
    >>> model_matrix(expand(parse("y ~ system").fixed), {Name("system"): system}, 3)[1]
    ('(Intercept)', 'systemB', 'systemC')
    """
    blocks, names = [], []
    if terms.intercept:
        blocks.append(np.ones((n, 1)))
        names.append("(Intercept)")
    full = _full_coding(terms, values)
    for i, term in enumerate(terms.terms):
        coded = [_code(values[variable], label(variable), (i, variable) in full) for variable in term]
        product = reduce(_interaction, coded)
        blocks.append(product.values)
        names += product.names
    return (np.hstack(blocks) if blocks else np.empty((n, 0))), tuple(names)


def _full_coding(terms: Terms, values: Mapping[Node, Value]) -> set[tuple[int, Node]]:
    """Say which factors in which terms are coded by all levels, not by contrasts.

    R's rule: a factor is coded by contrasts if some term before contains all other variables of its term; without an
    intercept the first factor of all is coded by its levels.
    """
    full = set()
    for i, term in enumerate(terms.terms):
        for variable in term:
            margin = set(term) - {variable}
            if margin and not any(margin <= set(before) for before in terms.terms[:i]):
                full.add((i, variable))
    if not terms.intercept:
        for i, term in enumerate(terms.terms):
            for variable in term:
                if _is_factor(values[variable]):
                    return full | {(i, variable)}
    return full


def _is_factor(value: Value) -> bool:
    return isinstance(value, Column) and value.kind != "numeric"


def _code(value: Value, name: str, full: bool) -> _Coded:
    if isinstance(value, Polynomial):
        degree = value.values.shape[1]
        ends = ("",) if degree == 1 else tuple(str(k + 1) for k in range(degree))
        return _Coded(value.values, tuple(name + end for end in ends))
    if value.kind == "numeric":
        return _Coded(value.values[:, None], (name,))
    levels = ("FALSE", "TRUE") if value.kind == "logical" else value.levels
    if len(levels) < 2 and not full:
        raise InputError(f"the factor {name} has only one level, {levels[0]!r}, in the complete rows; leave it out")
    if full:
        table, ends = np.eye(len(levels)), levels
    elif value.ordered:
        table, ends = contr_poly(len(levels))
    else:
        table, ends = np.eye(len(levels))[:, 1:], levels[1:]
    coded = table[value.values]
    coded[value.missing] = np.nan
    return _Coded(coded, tuple(name + end for end in ends))


def contr_poly(levels: int) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return R's contrasts for ordered factors, orthonormal polynomials, and the ends of their names.

    Examples
    --------
    >>> contr_poly(3)[1], contr_poly(3)[0].round(4).tolist()
    (('.L', '.Q'), [[-0.7071, 0.4082], [0.0, -0.8165], [0.7071, 0.4082]])
    """
    scores = np.arange(levels) - (levels - 1) / 2
    Q, R = np.linalg.qr(np.vander(scores, levels, increasing=True))
    table = (Q * np.sign(np.diag(R)))[:, 1:]
    names = (".L", ".Q", ".C", *(f"^{k}" for k in range(4, levels)))
    return np.where(np.abs(table) < 1e-15, 0.0, table), names[: levels - 1]


def _interaction(left: _Coded, right: _Coded) -> _Coded:
    """Multiply all pairs of columns, the left ones changing fastest."""
    n = left.values.shape[0]
    values = (right.values[:, :, None] * left.values[:, None, :]).reshape(n, -1)
    return _Coded(values, tuple(f"{a}:{b}" for b in right.names for a in left.names))


def rank_kept(X: np.ndarray, tolerance: float = 1e-7) -> np.ndarray:
    """Return the positions of the columns that R keeps: those that are not combinations of columns kept before them.

    LINPACK's rule (``dqrdc2``): a column goes if less than ``tolerance`` of its length is left beside the kept ones.

    Examples
    --------
    >>> rank_kept(np.array([[1.0, 2.0, 0.0], [1.0, 2.0, 1.0]])).tolist()
    [0, 2]
    """
    basis = np.empty((X.shape[0], 0))
    kept: list[int] = []
    for j, column in enumerate(X.T):
        length = np.linalg.norm(column)
        rest = column - basis @ (basis.T @ column)
        rest -= basis @ (basis.T @ rest)  # once more, against rounding
        left = np.linalg.norm(rest)
        if length > 0 and left >= tolerance * length and len(kept) < X.shape[0]:
            kept.append(j)
            basis = np.column_stack([basis, rest / left])
    return np.array(kept, dtype=np.int64)
