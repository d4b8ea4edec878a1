"""Recursive descent over the text of a formula; whatever is not in the grammar is refused with position and reason.

Grammar (precedence as in R: ``^``, unary minus, ``:``, ``* /``, ``+ -``)::

    formula  = response "~" summand { ("+" | "-") summand }
    one side = "~" terms
    summand  = term | "(" terms ("|" | "||") group ")"
    term     = sums, products and powers of columns, 0, 1 and calls, with + - * : / ^ and parentheses
    call     = factor | ordered | scale | log | exp | sqrt | poly | I, on arithmetic of columns
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator
from typing import NamedTuple, NoReturn

from ordbridge.errors import FormulaError
from ordbridge.formula.tree import (
    RESERVED,
    SYNTACTIC,
    Bar,
    Binary,
    Call,
    Formula,
    Name,
    Node,
    Number,
    Paren,
    Summand,
    Unary,
    names,
)
from ordbridge.support.formatting import enumerated
from ordbridge.support.naming import arg

FUNCTIONS = ("factor", "ordered", "scale", "log", "exp", "sqrt", "poly", "I")
NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])")
LONGEST, DEEPEST = 10_000, 60
MOST_COLUMNS = 300  # mentioned, be they the same or not; R's stack ends with some hundred more, and Python with it
HIGHEST = 20  # degree of '^'


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


def parse_one_side(name: str, text: str, columns: Collection[str] | None = None) -> tuple[Summand, ...]:
    """Read terms such as ``~ system``, without a response and without random effects.

    Parameters
    ----------
    name
        What the terms are called in a refusal.
    text, columns
        As for :func:`parse`.

    Examples
    --------
    >>> from ordbridge.formula import written
    >>> written(parse_one_side("scale", "~ system + length"))
    'system + length'
    >>> parse_one_side("scale", "rating ~ system")
    Traceback (most recent call last):
    ...
    ordbridge.errors.FormulaError: scale='rating ~ system' must begin with '~', such as '~ system'
    """
    if not isinstance(text, str) or not text.lstrip().startswith("~"):
        raise FormulaError(f"{arg(name, text)} must begin with '~', such as '~ system'")
    if len(text) > LONGEST:
        raise FormulaError(f"{name} has {len(text)} characters; at most {LONGEST} are read")
    try:
        return _Parser(text, columns).one_side()
    except FormulaError as refusal:
        raise FormulaError(str(refusal).replace("formula,", f"{name},", 1)) from None


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
            _refuse(here, "a formula is one line; remove the line break")
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
                _refuse(at, "a backslash in backticks is only allowed before a backtick or a backslash")
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
    """Recursive descent, one method per rule of the grammar."""

    def __init__(self, text: str, columns: Collection[str] | None) -> None:
        self.tokens = list(_tokens(text))
        mentioned = [token for token in self.tokens if token.kind in ("name", "quoted", "number")]
        if len(mentioned) > MOST_COLUMNS:
            _refuse(
                mentioned[MOST_COLUMNS].position,
                f"a formula mentions at most {MOST_COLUMNS} columns and numbers, and this one {len(mentioned)}; "
                "leave some out",
            )
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
            _refuse(1, "the response, left of '~', is not a column")
        self.expect("~", "after the response")
        fixed: list[Summand] = []
        random: list[Bar] = []
        sign = self.sign()
        while True:
            part = self.summand()
            if isinstance(part, Bar):
                if sign == "-":
                    _refuse(self.token.position - 1, "random effects cannot be removed with '-'; leave them out")
                random.append(part)
            else:
                fixed.append(Summand(sign, part))
            operator = self.take("+", "-")
            if operator is None:
                break
            sign = operator.kind
        if self.token.kind != "end":
            _refuse(self.token.position, f"{self.found()} is not allowed here")
        return Formula(response, tuple(fixed), tuple(random))

    def one_side(self) -> tuple[Summand, ...]:
        self.expect("~", "at the beginning")
        found = self.summands()
        if self.token.kind in {"|", "||"}:
            _refuse(self.token.position, "there are no random effects here; put them into the formula")
        if self.token.kind != "end":
            _refuse(self.token.position, f"{self.found()} is not allowed here")
        return found

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
            if not degree.text.isdecimal() or not degree.text.strip("0"):
                _refuse(degree.position, f"'^' takes an integer ≥ 1, not {degree.text}")
            if len(degree.text) > 2 or int(degree.text) > HIGHEST:
                _refuse(degree.position, f"'^' takes at most {HIGHEST}, not {degree.text}")
            return Binary("^", node, Number(degree.text))
        return node

    def factor(self) -> Node:
        """Read a column, 0, 1, a call, or terms in parentheses."""
        if number := self.take("number"):
            if number.text not in {"0", "1"}:
                _refuse(
                    number.position,
                    f"the only numbers allowed as terms are 0 and 1; write I({number.text} * column) to scale",
                )
            return Number(number.text)
        if parenthesis := self.take("("):
            self.deeper(parenthesis)
            (sign, first), *rest = self.summands()
            node: Node = Unary("-", first) if sign == "-" else first
            for sign, term in rest:
                node = Binary(sign, node, term)
            if self.token.kind in {"|", "||"}:
                _refuse(self.token.position, "random effects must be terms of their own: … + (terms | group)")
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
            if math.isinf(float(number.text)):
                _refuse(number.position, f"the number {number.text} is beyond every number of a computer")
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
                f"there is no column {token.text!r}; the table has: {enumerated(self.columns)}",
            )
        return Name(token.text)

    def deeper(self, token: _Token) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            _refuse(token.position, f"parentheses and signs go deeper than {DEEPEST} levels")
