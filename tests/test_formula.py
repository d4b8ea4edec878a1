"""Formulas: what is read, and what is refused without being run."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ordbridge.errors import FormulaError
from ordbridge.formula import parse, quote

ACCEPTED = [
    "y ~ 1",
    "y ~ a + b",
    "y ~ a * b - 1",
    "y ~ (a + b)^2",
    "y ~ a/b",
    "y ~ 0 + a:b",
    "y ~ a + (1 + a | g) + (0 + b || h)",
    "y ~ (1 | g:h) + (1 | g/h)",
    "log(y + 1) ~ I((a * 2 + 1)^2) + poly(b, 2) + factor(c)",
    "ordered(y) ~ scale(a) + exp(-b) + sqrt(c)",
    "`my y` ~ `if` + `a\\`b` + `größe` + .x",
]


@pytest.mark.parametrize("text", ACCEPTED)
def test_what_is_read_is_written_back(text: str) -> None:
    assert str(parse(text)) == text
    assert parse(str(parse(text))) == parse(text)


def test_parts() -> None:
    formula = parse("y ~ a * b + (a | g) + (1 | h:i)")
    assert formula.columns == ("y", "a", "b", "g", "h", "i")
    assert formula.groups == ("g", "h", "i")
    assert [bar.correlated for bar in formula.random] == [True, True]


@pytest.mark.parametrize(
    "name", ["a b", "a.b", "größe", "if", "TRUE", "a`b", "a\\b", "1st", "_x", "...", "a+b", "日本"]
)
def test_any_name_of_a_column_can_be_quoted(name: str) -> None:
    assert parse(f"y ~ {quote(name)}", columns=["y", name]).columns == ("y", name)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("y ~ a | b", "position 7: '|' is not allowed here"),
        ("y ~", "position 4: expected a column, found the end"),
        ("~ a", "position 1: expected a column, found '~'"),
        ("y", "position 2: expected '~' after the response"),
        ("y ~ (a", "position 7: expected ')'"),
        ("y ~ 2 * a", "position 5: the only numbers allowed as terms are 0 and 1"),
        ("y ~ a^b", "position 7: expected 'number'"),
        ("y ~ a^0", "position 7: '^' takes an integer"),
        ("y ~ poly(a)", "position 5: poly takes a column and a whole number"),
        ("y ~ log(a, b)", "position 5: log takes one argument"),
        ("y ~ I(2)", "position 5: there is no column inside I"),
        ("y ~ .", "position 5: '.' means something else in R"),
        ("y ~ a\n+ b", "position 6: a formula is one line"),
        ("y ~ `a", "position 5: this backtick is not closed"),
        ("y ~ ``", "position 5: there is no name between"),
        ("1 ~ a", "position 1: the response, left of '~', is not a column"),
        ("y ~ ((1 | g))", "random effects must be terms of their own"),
        ("y ~ a - (1 | g)", "random effects cannot be removed"),
        ("y ~ " + "(" * 70 + "a" + ")" * 70, "go deeper than 60 levels"),
        ("y ~ a" + " + a" * 5000, "at most 10000 are read"),
    ],
)
def test_refusals_say_where_and_why(text: str, reason: str) -> None:
    with pytest.raises(FormulaError) as refusal:
        parse(text)
    assert reason in str(refusal.value)


def test_unknown_column() -> None:
    with pytest.raises(FormulaError, match="position 9: there is no column 'sytem'; the table has: y, system"):
        parse("y ~ 1 + sytem", columns=["y", "system"])


@given(st.text(alphabet="ya ~+-*:/^|()0123.,`'\"\\;$@[]{}<>=!%&?#\n\tIlog", max_size=40))
@settings(max_examples=400, deadline=None)
def test_any_text_is_a_formula_or_refused(text: str) -> None:
    try:
        formula = parse(text)
    except FormulaError:
        return
    assert parse(str(formula)) == formula
