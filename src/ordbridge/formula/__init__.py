"""Read an lme4-style formula and refuse everything that is not one.

A formula that reaches R is code, so nothing is passed on that the parser has not understood: R only ever sees the text
that is written back from the tree.
"""

from ordbridge.formula.parser import parse
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
    "Unary",
    "names",
    "parse",
    "quote",
    "renamed",
    "written",
]
