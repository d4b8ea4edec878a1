"""The value of one variable of a formula on a table's columns: a column itself, or one of the allowed functions.

What depends on the data (the centre of ``scale``, the polynomials of ``poly``, the levels of ``factor``) is remembered
from the rows of the fit, so that new rows are coded alike, as R does with ``predvars``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ordbridge.errors import FitError, InputError
from ordbridge.formula import Binary, Call, Name, Node, Number, Paren, Unary
from ordbridge.models.columns import Column, labelled, number_text

__all__ = ["Memory", "Polynomial", "evaluate", "label"]

Memory = dict[Node, Any]


@dataclass(frozen=True, eq=False)
class Polynomial:
    """The columns of ``poly(x, degree)``."""

    values: np.ndarray

    @property
    def missing(self) -> np.ndarray:
        """Whether each row is missing."""
        return np.isnan(self.values).any(axis=1)


def evaluate(node: Node, columns: Mapping[str, Column], memory: Memory) -> Column | Polynomial:
    """Return a variable's values on all rows; what the first call learns from the data is kept in ``memory``.

    Examples
    --------
    >>> from ordbridge.formula import parse
    >>> x = Column("numeric", np.array([1.0, 2.0, 3.0]))
    >>> evaluate(parse("y ~ scale(x)").fixed[0].term, {"x": x}, {}).values.tolist()
    [-1.0, 0.0, 1.0]
    """
    match node:
        case Name(name):
            return columns[name]
        case Call("factor" | "ordered" as function, (inner,)):
            return _factor(node, evaluate(inner, columns, memory), function == "ordered", memory)
        case Call("poly", (inner, degree)):
            return Polynomial(_poly(node, _numbers(inner, columns, memory), int(str(degree)), memory))
        case Call("I", (inner,)) if isinstance(inner, Name):
            return columns[inner.name]
    return Column("numeric", _numbers(node, columns, memory))


def _numbers(node: Node, columns: Mapping[str, Column], memory: Memory) -> np.ndarray:
    """Evaluate arithmetic of columns."""
    with np.errstate(all="ignore"):
        match node:
            case Number():
                return np.array(node.value)
            case Name() | Call("factor" | "ordered" | "poly"):
                value = evaluate(node, columns, memory)
                if isinstance(value, Polynomial) or value.kind == "factor":
                    raise InputError(f"{node} is not a number, so nothing can be computed from it in the formula")
                return np.where(value.missing, np.nan, value.values.astype(float))
            case Paren(inner) | Call("I", (inner,)):
                return _numbers(inner, columns, memory)
            case Unary("-", inner):
                return -_numbers(inner, columns, memory)
            case Binary(operator, left, right):
                a, b = _numbers(left, columns, memory), _numbers(right, columns, memory)
                return np.asarray(_OPERATORS[operator](a, b), dtype=float)
            case Call("scale", (inner,)):
                return _scale(node, _numbers(inner, columns, memory), memory)
            case Call(function, (inner,)):
                return np.asarray(_FUNCTIONS[function](_numbers(inner, columns, memory)))
    raise TypeError(f"{node!r} is not arithmetic of columns")


_OPERATORS = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "^": np.power}
_FUNCTIONS = {"log": np.log, "exp": np.exp, "sqrt": np.sqrt}


def _scale(node: Node, x: np.ndarray, memory: Memory) -> np.ndarray:
    if node not in memory:
        memory[node] = (np.nanmean(x), np.nanstd(x, ddof=1))
    centre, spread = memory[node]
    return (x - centre) / spread


def _factor(node: Node, value: Column | Polynomial, ordered: bool, memory: Memory) -> Column:
    if isinstance(value, Polynomial):
        raise InputError(f"{node}: a polynomial has no categories")
    ordered = ordered or value.ordered
    if value.kind == "numeric":
        codes, levels = labelled(value, number_text)
        known = memory.setdefault(node, levels)
        position = np.array([known.index(level) if level in known else -1 for level in levels] + [-1])
        return Column("factor", position[codes], known, ordered)
    levels = ("FALSE", "TRUE") if value.kind == "logical" else value.levels
    if node not in memory:
        memory[node] = np.unique(value.values[~value.missing])
    used = memory[node]
    position = np.full(len(levels) + 1, -1)
    position[used] = np.arange(used.size)
    return Column("factor", position[value.values], tuple(levels[i] for i in used), ordered)


def _poly(node: Node, x: np.ndarray, degree: int, memory: Memory) -> np.ndarray:
    """Orthogonal polynomials by the three-term recurrence of Kennedy & Gentle (1980, p. 343), as R's ``poly``."""
    if node not in memory:
        if np.isnan(x).any():
            raise FitError(f"missing values are not allowed in {node}")
        if np.unique(x).size <= degree:
            raise FitError(f"{node}: the degree must be less than the number of different values")
        memory[node] = _poly_coefficients(x, degree)
    alpha, norm = memory[node]
    Z = np.ones((x.size, degree + 1))
    for k in range(1, degree + 1):
        Z[:, k] = (x - alpha[k - 1]) * Z[:, k - 1]
        if k > 1:
            Z[:, k] -= norm[k] / norm[k - 1] * Z[:, k - 2]
    return Z[:, 1:] / np.sqrt(norm[2:])


def _poly_coefficients(x: np.ndarray, degree: int) -> tuple[np.ndarray, np.ndarray]:
    centred = x - x.mean()
    Q, R = np.linalg.qr(np.vander(centred, degree + 1, increasing=True))
    raw = Q * np.diag(R)
    norm = (raw**2).sum(axis=0)
    alpha = ((centred[:, None] * raw**2).sum(axis=0) / norm + x.mean())[:degree]
    return alpha, np.concatenate([[1.0], norm])


def label(node: Node) -> str:
    """Write a variable as R deparses it, which is how R names columns.

    Examples
    --------
    >>> from ordbridge.formula import parse
    >>> label(parse("y ~ I(x*100000)").fixed[0].term)
    'I(x * 1e+05)'
    """
    match node:
        case Number():
            return number_text(node.value)
        case Call(function, arguments):
            return f"{function}({', '.join(label(argument) for argument in arguments)})"
        case Unary(operator, inner):
            return f"{operator}{label(inner)}"
        case Paren(inner):
            return f"({label(inner)})"
        case Binary(operator, left, right):
            space = "" if operator in ":^/" else " "
            return f"{label(left)}{space}{operator}{space}{label(right)}"
    return str(node)
