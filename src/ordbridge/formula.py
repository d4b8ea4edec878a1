"""Read an lme4-style formula and refuse everything that is not one.

A formula that reaches R is code, so nothing is passed on that this parser has not understood: R only ever sees the
text that is written back from the tree.

Grammar (precedence as in R: ``^``, unary minus, ``:``, ``* /``, ``+ -``)::

    formula  = response "~" summand { ("+" | "-") summand }
    summand  = term | "(" terms ("|" | "||") group ")"
    term     = sums, products and powers of columns, 0, 1 and calls, with + - * : / ^ and parentheses
    call     = factor | ordered | scale | log | exp | sqrt | poly | I, on arithmetic of columns
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from ordbridge.errors import FormulaError

__all__ = [
    "Bar",
    "Binary",
    "Call",
    "Formula",
    "Name",
    "Node",
    "Number",
    "Paren",
    "Unary",
    "parse",
    "quote",
    "renamed",
    "written",
]

FUNCTIONS = ("factor", "ordered", "scale", "log", "exp", "sqrt", "poly", "I")
RESERVED = re.compile(
    r"if|else|repeat|while|function|for|next|break|in|TRUE|FALSE|NULL|Inf|NaN|NA|NA_(integer|real|complex|character)_"
    r"|\.|\.\.\.|\.\.\d+"
)
SYNTACTIC = re.compile(r"(?:[^\W\d_]|\.(?!\d))[\w.]*")
NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])")
LONGEST, DEEPEST = 10_000, 60


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


def names(node: Node) -> Iterator[str]:
    """Yield the columns in an expression, in order.

    Examples
    --------
    >>> list(names(parse("log(y) ~ a:b").fixed[0].term))
    ['a', 'b']
    """
    match node:
        case Name(name):
            yield name
        case Call(_, arguments):
            for argument in arguments:
                yield from names(argument)
        case Unary(_, inner) | Paren(inner):
            yield from names(inner)
        case Binary(_, left, right):
            yield from names(left)
            yield from names(right)


def renamed(formula: Formula, new: Mapping[str, str]) -> Formula:
    """Return the formula with other names for some columns.

    Examples
    --------
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
    if SYNTACTIC.fullmatch(name) and not RESERVED.fullmatch(name):
        return name
    escaped = name.replace("\\", "\\\\").replace("`", "\\`")
    return f"`{escaped}`"


def parse(text: str, columns: Collection[str] | None = None) -> Formula:
    """Read a formula; refuse, with position and reason, whatever is not one.

    Parameters
    ----------
    text
        For example ``"rating ~ system + (system | participant) + (1 | item)"``.
    columns
        The columns there are; a name that is not among them is refused. ``None`` skips that check.

    Returns
    -------
    Formula

    Examples
    --------
    >>> str(parse("rating ~ system+(system|item)"))
    'rating ~ system + (system | item)'
    >>> parse("y ~ I(system(y))")
    Traceback (most recent call last):
    ...
    ordbridge.errors.FormulaError: formula, position 7: the function 'system' is not allowed; allowed are factor, ordered, scale, log, exp, sqrt, poly, I
    >>> parse("y ~ sytem", columns=["y", "system"])
    Traceback (most recent call last):
    ...
    ordbridge.errors.FormulaError: formula, position 5: there is no column 'sytem'; the table has: y, system
    """  # noqa: E501
    if not isinstance(text, str):
        raise FormulaError(f"the formula is a {type(text).__name__}; give text such as 'rating ~ system + (1 | item)'")
    if len(text) > LONGEST:
        raise FormulaError(f"the formula has {len(text)} characters; at most {LONGEST} are read")
    return _Parser(text, columns).formula()


def written(summands: tuple[Summand, ...]) -> str:
    """Return a sum of terms as R reads it."""
    text = ""
    for sign, term in summands:
        lead = f" {sign} " if text else ("-" if sign == "-" else "")
        text += f"{lead}{term}"
    return text


class _Token(NamedTuple):
    kind: str  # name, quoted, number, an operator, or "end"
    text: str
    position: int  # counted from 1, as people do


def _refuse(position: int, reason: str) -> NoReturn:
    raise FormulaError(f"formula, position {position}: {reason}")


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while at < len(text):
        here, character = at + 1, text[at]
        if character in " \t":
            at += 1
        elif character == "`":
            name, at = _backticked(text, at)
            yield _Token("quoted", name, here)
        elif match := NUMBER.match(text, at):
            at = match.end()
            yield _Token("number", match.group(), here)
        elif match := SYNTACTIC.match(text, at):
            at = match.end()
            yield _Token("name", match.group(), here)
        elif text.startswith("||", at):
            at += 2
            yield _Token("||", "||", here)
        elif character in "~+-*:/^|(),":
            if text.startswith("::", at):
                _refuse(here, "'::' is not allowed in a formula")
            at += 1
            yield _Token(character, character, here)
        elif character in "\r\n":
            _refuse(here, "a formula is one line; take the line break out")
        elif character in "'\"":
            _refuse(here, "text in quotes is not allowed; write a column's name in backticks if it needs quoting")
        else:
            _refuse(here, f"{character!r} is not allowed in a formula")
    yield _Token("end", "the end of the formula", len(text) + 1)


def _backticked(text: str, start: int) -> tuple[str, int]:
    """Read a name in backticks, in which a backslash protects a backtick or a backslash."""
    name, at = "", start + 1
    while at < len(text) and text[at] != "`":
        if text[at] == "\\":
            at += 1
            if at >= len(text) or text[at] not in "`\\":
                _refuse(at, "a backslash in backticks may only stand before a backtick or a backslash")
        if ord(text[at]) < 32:
            _refuse(at + 1, "a control character is not allowed in a name")
        name += text[at]
        at += 1
    if at >= len(text):
        _refuse(start + 1, "this backtick is not closed")
    if not name:
        _refuse(start + 1, "there is no name between these backticks")
    return name, at + 1


class _Parser:
    """Recursive descent, one method a rule of the grammar."""

    def __init__(self, text: str, columns: Collection[str] | None) -> None:
        self.tokens = list(_tokens(text))
        self.at = 0
        self.depth = 0
        self.columns = None if columns is None else list(columns)

    @property
    def token(self) -> _Token:
        return self.tokens[self.at]

    def take(self, *kinds: str) -> _Token | None:
        if self.token.kind not in kinds:
            return None
        self.at += 1
        return self.tokens[self.at - 1]

    def expect(self, kind: str, where: str) -> _Token:
        token = self.take(kind)
        if token is None:
            _refuse(self.token.position, f"expected '{kind}' {where}, found {self.found()}")
        return token

    def found(self) -> str:
        return self.token.text if self.token.kind == "end" else f"'{self.token.text}'"

    def formula(self) -> Formula:
        response = self.arithmetic()
        if not list(names(response)):
            _refuse(1, "the response, left of '~', is no column")
        self.expect("~", "after the response")
        fixed: list[Summand] = []
        random: list[Bar] = []
        sign = self.sign()
        while True:
            part = self.summand()
            if isinstance(part, Bar):
                if sign == "-":
                    _refuse(self.token.position - 1, "random effects cannot be taken away with '-'; leave them out")
                random.append(part)
            else:
                fixed.append(Summand(sign, part))
            operator = self.take("+", "-")
            if operator is None:
                break
            sign = operator.kind
        if self.token.kind != "end":
            _refuse(self.token.position, f"{self.found()} cannot stand here")
        return Formula(response, tuple(fixed), tuple(random))

    def sign(self) -> str:
        token = self.take("+", "-")
        return token.kind if token else "+"

    def summand(self) -> Node | Bar:
        """Read a term, or random effects, which can stand nowhere else."""
        start = self.at
        if self.take("("):
            summands = self.summands()
            if bar := self.take("|", "||"):
                group = self.grouping()
                self.expect(")", "after the grouping factor")
                return Bar(summands, group, correlated=bar.kind == "|")
            self.at = start
        return self.product()

    def summands(self) -> tuple[Summand, ...]:
        found = [Summand(self.sign(), self.product())]
        while operator := self.take("+", "-"):
            found.append(Summand(operator.kind, self.product()))
        return tuple(found)

    def grouping(self) -> Node:
        node: Node = self.column()
        while operator := self.take(":", "/"):
            node = Binary(operator.kind, node, self.column())
        return node

    def product(self) -> Node:
        node = self.interaction()
        while operator := self.take("*", "/"):
            node = Binary(operator.kind, node, self.interaction())
        return node

    def interaction(self) -> Node:
        node = self.power()
        while self.take(":"):
            node = Binary(":", node, self.power())
        return node

    def power(self) -> Node:
        node = self.factor()
        if self.take("^"):
            degree = self.expect("number", "(a whole number) after '^'")
            if not degree.text.isdigit() or int(degree.text) < 1:
                _refuse(degree.position, f"'^' takes a whole number from 1 up, not {degree.text}")
            return Binary("^", node, Number(degree.text))
        return node

    def factor(self) -> Node:
        """Read a column, 0, 1, a call, or terms in parentheses."""
        if number := self.take("number"):
            if number.text not in {"0", "1"}:
                _refuse(number.position, f"only 0 and 1 stand for themselves; write I({number.text} * column) to scale")
            return Number(number.text)
        if parenthesis := self.take("("):
            self.deeper(parenthesis)
            (sign, first), *rest = self.summands()
            node: Node = Unary("-", first) if sign == "-" else first
            for sign, term in rest:
                node = Binary(sign, node, term)
            if self.token.kind in {"|", "||"}:
                _refuse(self.token.position, "random effects stand on their own: … + (terms | group)")
            self.expect(")", "to close the parenthesis")
            self.depth -= 1
            return Paren(node)
        return self.call_or_column()

    def arithmetic(self) -> Node:
        """Read arithmetic of columns, as it stands inside a call or left of ``~``."""
        node = self.arithmetic_product()
        while operator := self.take("+", "-"):
            node = Binary(operator.kind, node, self.arithmetic_product())
        return node

    def arithmetic_product(self) -> Node:
        node = self.arithmetic_sign()
        while operator := self.take("*", "/"):
            node = Binary(operator.kind, node, self.arithmetic_sign())
        return node

    def arithmetic_sign(self) -> Node:
        if operator := self.take("-", "+"):
            self.deeper(operator)
            node = self.arithmetic_sign()
            self.depth -= 1
            return Unary("-", node) if operator.kind == "-" else node
        base = self.arithmetic_atom()
        if power := self.take("^"):
            self.deeper(power)
            node = Binary("^", base, self.arithmetic_sign())
            self.depth -= 1
            return node
        return base

    def arithmetic_atom(self) -> Node:
        if number := self.take("number"):
            return Number(number.text)
        if parenthesis := self.take("("):
            self.deeper(parenthesis)
            node = self.arithmetic()
            self.expect(")", "to close the parenthesis")
            self.depth -= 1
            return Paren(node)
        return self.call_or_column()

    def call_or_column(self) -> Node:
        following = self.tokens[min(self.at + 1, len(self.tokens) - 1)]
        if self.token.kind in {"name", "quoted"} and following.kind == "(":
            return self.call()
        return self.column()

    def call(self) -> Call:
        function = self.tokens[self.at]
        if function.kind == "quoted" or function.text not in FUNCTIONS:
            _refuse(
                function.position,
                f"the function {function.text!r} is not allowed; allowed are {', '.join(FUNCTIONS)}",
            )
        self.at += 2
        self.deeper(function)
        arguments = [self.arithmetic()]
        while self.take(","):
            arguments.append(self.arithmetic())
        self.expect(")", f"to close {function.text}(")
        self.depth -= 1
        self.check_arguments(function, arguments)
        return Call(function.text, tuple(arguments))

    def check_arguments(self, function: _Token, arguments: list[Node]) -> None:
        if function.text == "poly":
            degree = arguments[1] if len(arguments) == 2 else None
            if not (isinstance(degree, Number) and degree.text.isdigit() and int(degree.text) > 0):
                _refuse(function.position, "poly takes a column and a whole number, as in poly(x, 2)")
        elif len(arguments) != 1:
            _refuse(function.position, f"{function.text} takes one argument, not {len(arguments)}")
        if not list(names(arguments[0])):
            _refuse(function.position, f"there is no column inside {function.text}(…)")

    def column(self) -> Name:
        token = self.take("name", "quoted")
        if token is None:
            _refuse(self.token.position, f"expected a column, found {self.found()}")
        if token.kind == "name" and RESERVED.fullmatch(token.text):
            _refuse(token.position, f"'{token.text}' means something else in R; write `{token.text}` if it is a column")
        if self.columns is not None and token.text not in self.columns:
            _refuse(
                token.position,
                f"there is no column {token.text!r}; the table has: {', '.join(map(str, self.columns))}",
            )
        return Name(token.text)

    def deeper(self, token: _Token) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            _refuse(token.position, f"parentheses and signs go deeper than {DEEPEST} levels")
