"""The tree of a formula, and the text that R may see."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

RESERVED = re.compile(
    r"if|else|repeat|while|function|for|next|break|in|TRUE|FALSE|NULL|Inf|NaN|NA|NA_(integer|real|complex|character)_"
    r"|\.|\.\.\.|\.\.\d+"
)
SYNTACTIC = re.compile(r"(?:[^\W\d_]|\.(?!\d))[\w.]*")


@dataclass(frozen=True)
class Name:
    """A column."""

    name: str

    def __str__(self) -> str:
        """Return the name as R reads it."""
        return quote(self.name)


@dataclass(frozen=True)
class Number:
    """A number as it was written."""

    text: str

    @property
    def value(self) -> float:
        """The number itself."""
        return float(self.text)

    def __str__(self) -> str:
        """Return the number as it was written."""
        return self.text


@dataclass(frozen=True)
class Call:
    """One of the allowed functions on arithmetic of columns."""

    function: str
    arguments: tuple[Node, ...]

    def __str__(self) -> str:
        """Return the call as R reads it."""
        return f"{self.function}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True)
class Unary:
    """A sign before an expression."""

    operator: str
    operand: Node

    def __str__(self) -> str:
        """Return the expression as R deparses it."""
        return f"{self.operator}{self.operand}"


@dataclass(frozen=True)
class Binary:
    """An operator between two expressions."""

    operator: str
    left: Node
    right: Node

    def __str__(self) -> str:
        """Return the expression as R deparses it."""
        space = "" if self.operator in ":^/" else " "
        return f"{self.left}{space}{self.operator}{space}{self.right}"


@dataclass(frozen=True)
class Paren:
    """An expression in parentheses, kept because R keeps them in the names of terms."""

    inner: Node

    def __str__(self) -> str:
        """Return the expression in its parentheses."""
        return f"({self.inner})"


Node = Name | Number | Call | Unary | Binary | Paren


class Summand(NamedTuple):
    """One term of the fixed part with its sign, ``"+"`` or ``"-"``."""

    sign: str
    term: Node


@dataclass(frozen=True)
class Bar:
    """Random effects ``(terms | group)``, or uncorrelated ones with ``||``."""

    summands: tuple[Summand, ...]
    group: Node
    correlated: bool = True

    def __str__(self) -> str:
        """Return the term as lme4 and ordinal read it."""
        return f"({written(self.summands)} {'|' if self.correlated else '||'} {self.group})"


@dataclass(frozen=True)
class Formula:
    """A checked formula: its parts, and through :func:`str` the text that R may see."""

    response: Node
    fixed: tuple[Summand, ...]
    random: tuple[Bar, ...]

    def __str__(self) -> str:
        """Return the formula as R reads it."""
        parts = [written(self.fixed)] if self.fixed else []
        return f"{self.response} ~ {' + '.join(parts + [str(bar) for bar in self.random])}"

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that the formula uses, in order of appearance."""
        nodes = [self.response, *(s.term for s in self.fixed)]
        for bar in self.random:
            nodes += [*(s.term for s in bar.summands), bar.group]
        return tuple(dict.fromkeys(name for node in nodes for name in names(node)))

    @property
    def groups(self) -> tuple[str, ...]:
        """The columns that occur to the right of a bar."""
        return tuple(dict.fromkeys(name for bar in self.random for name in names(bar.group)))


@lru_cache(maxsize=4096)  # every fit of a simulation asks again
def names(node: Node) -> tuple[str, ...]:
    """Return the columns in an expression, in order.

    Examples
    --------
    >>> from ordbridge.formula import parse
    >>> names(parse("log(y) ~ a:b").fixed[0].term)
    ('a', 'b')
    """
    match node:
        case Name(name):
            return (name,)
        case Call(_, arguments):
            return tuple(name for argument in arguments for name in names(argument))
        case Unary(_, inner) | Paren(inner):
            return names(inner)
        case Binary(_, left, right):
            return (*names(left), *names(right))
        case _:  # a number
            return ()


def renamed(formula: Formula, new: Mapping[str, str]) -> Formula:
    """Return the formula with other names for some columns.

    Examples
    --------
    >>> from ordbridge.formula import parse
    >>> str(renamed(parse("y ~ a + (1 | g)"), {"a": "x"}))
    'y ~ x + (1 | g)'
    """

    def rename(node: Node) -> Node:
        match node:
            case Name(name):
                return Name(new.get(name, name))
            case Call(function, arguments):
                return Call(function, tuple(rename(argument) for argument in arguments))
            case Unary(operator, operand):
                return Unary(operator, rename(operand))
            case Binary(operator, left, right):
                return Binary(operator, rename(left), rename(right))
            case Paren(inner):
                return Paren(rename(inner))
        return node

    def summands(parts: tuple[Summand, ...]) -> tuple[Summand, ...]:
        return tuple(Summand(sign, rename(term)) for sign, term in parts)

    bars = tuple(Bar(summands(bar.summands), rename(bar.group), bar.correlated) for bar in formula.random)
    return Formula(rename(formula.response), summands(formula.fixed), bars)


def quote(name: str) -> str:
    r"""Write a column's name as R reads it, with backticks where it needs them.

    Examples
    --------
    >>> quote("rating"), quote("my rating"), quote("if")
    ('rating', '`my rating`', '`if`')
    """
    # R's idea of a letter depends on its locale, so every name beyond ASCII is quoted
    if name.isascii() and SYNTACTIC.fullmatch(name) and not RESERVED.fullmatch(name):
        return name
    escaped = name.replace("\\", "\\\\").replace("`", "\\`")
    return f"`{escaped}`"


def written(summands: tuple[Summand, ...]) -> str:
    """Return a sum of terms as R reads it."""
    text = ""
    for sign, term in summands:
        lead = f" {sign} " if text else ("-" if sign == "-" else "")
        text += f"{lead}{term}"
    return text
