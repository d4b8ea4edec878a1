"""Read an lme4-style formula and refuse everything that is not one.

A formula that reaches R is code, so nothing is passed on that the parser has not understood: R only ever sees the text
that is written back from the tree.
"""

from ordbridge.formula.bars import expand_bars, group_name
from ordbridge.formula.parser import parse, parse_one_side
from ordbridge.formula.terms import Terms, expand
from ordbridge.formula.tree import (
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
    quote,
    renamed,
    written,
)
from ordbridge.formula.update import updated

__all__ = [
    "Bar",
    "Binary",
    "Call",
    "Formula",
    "Name",
    "Node",
    "Number",
    "Paren",
    "Summand",
    "Terms",
    "Unary",
    "expand",
    "expand_bars",
    "group_name",
    "names",
    "parse",
    "parse_one_side",
    "quote",
    "renamed",
    "updated",
    "written",
]
