"""From the right-hand side of a formula to its terms, in R's order (R's ``terms.formula``).

A term is the set of its variables: column ``a``, call ``log(b)``. Terms come by their number of variables and then in
order of appearance; ``1`` and ``0`` switch the intercept, the last one wins (Chambers & Hastie 1992, chapter 2).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from ordbridge.errors import FormulaError
from ordbridge.formula.tree import Binary, Call, Name, Node, Number, Paren, Summand, Unary

Term = frozenset[Node]
MOST_TERMS = 500


@dataclass(frozen=True)
class Terms:
    """The variables in order of appearance, and the terms as tuples of variables in that order."""

    variables: tuple[Node, ...]
    terms: tuple[tuple[Node, ...], ...]
    intercept: bool


def expand(summands: Sequence[Summand]) -> Terms:
    """Write all operators out.

    Examples
    --------
    >>> from ordbridge.formula import parse
    >>> found = expand(parse("y ~ 0 + a * b - b").fixed)
    >>> [":".join(map(str, term)) for term in found.terms], found.intercept
    (['a', 'a:b'], False)
    """
    reader = _Reader()
    terms: list[Term] = []
    for sign, term in summands:
        terms = reader.add(terms, term) if sign == "+" else reader.delete(terms, term)
    order = {variable: i for i, variable in enumerate(reader.variables)}
    by_size = sorted(terms, key=len)  # stable: order of appearance among terms of one size
    return Terms(
        tuple(reader.variables),
        tuple(tuple(sorted(term, key=order.__getitem__)) for term in by_size),
        reader.intercept,
    )


class _Reader:
    """Reads nodes from left to right, as R does: the intercept is switched on the way."""

    def __init__(self) -> None:
        self.variables: dict[Node, None] = {}
        self.intercept = True
        self.plus = True  # whether a 1 adds the intercept or takes it away

    def add(self, terms: list[Term], node: Node) -> list[Term]:
        return _unique([*terms, *self.read(node)])

    def delete(self, terms: list[Term], node: Node) -> list[Term]:
        self.plus = not self.plus
        gone = set(self.read(node))
        self.plus = not self.plus
        return [term for term in terms if term not in gone]

    def read(self, node: Node) -> list[Term]:
        match node:
            case Number():
                self.intercept = (node.value == 1) == self.plus
                return []
            case Name() | Call():
                self.variables.setdefault(node)
                return [frozenset([node])]
            case Paren(inner):
                return self.read(inner)
            case Unary("-", inner):
                return self.delete([], inner)
            case Unary(_, inner):
                return self.read(inner)
            case Binary("-", left, right):
                return self.delete(self.read(left), right)
            case Binary("^", left, Number() as degree):
                return self._power(self.read(left), int(degree.value))
            case Binary(operator, left, right):
                return self._combine(operator, self.read(left), self.read(right))
        raise TypeError(f"{node!r} is not part of a formula")

    def _combine(self, operator: str, left: list[Term], right: list[Term]) -> list[Term]:
        crossed = (a | b for a in left for b in right)
        if operator == "+":
            return _unique([*left, *right])
        if operator == ":":
            return _unique(crossed)
        if operator == "*":
            return _unique(chain(left, right, crossed))
        inside = frozenset().union(*left)  # a/b: b within every combination of the variables of a
        return _unique([*left, *(inside | b for b in right)])

    def _power(self, terms: list[Term], degree: int) -> list[Term]:
        found = terms
        for _ in range(degree - 1):
            more = _unique(chain(found, (a | b for a in found for b in terms)))
            if len(more) == len(found):
                break
            found = more
        return found


def _unique(terms: Iterable[Term]) -> list[Term]:
    """Return each term once; what multiplies without end is refused before it is written out."""
    found: dict[Term, None] = {}
    for term in terms:
        found[term] = None
        if len(found) > MOST_TERMS:
            raise FormulaError(f"the formula has more than {MOST_TERMS} terms when written out; leave some out")
    return list(found)
