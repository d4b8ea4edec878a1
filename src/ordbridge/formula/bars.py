"""Random effects written out: nested groups ``a/b`` and uncorrelated terms ``||``, as lme4 expands them.

This happens before any engine sees the formula. lme4 would expand ``||`` by turning names into text and that text into
code again, which is how a column's name could be run as a command.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from ordbridge.formula.terms import expand
from ordbridge.formula.tree import Bar, Binary, Node, Number, Summand, names


def expand_bars(bars: Sequence[Bar]) -> tuple[Bar, ...]:
    """Write ``(x || a/b)`` as the correlated terms with simple groups that it stands for, in lme4's order.

    References
    ----------
    Bates, D., Mächler, M., Bolker, B. & Walker, S. (2015). Fitting linear mixed-effects models using lme4. Journal of
    Statistical Software 67(1), section 2.2.

    Examples
    --------
    >>> from ordbridge.formula import parse
    >>> [str(bar) for bar in expand_bars(parse("y ~ 1 + (x || a/b)").random)]
    ['(1 | b:a)', '(1 | a)', '(0 + x | b:a)', '(0 + x | a)']
    """
    return tuple(
        Bar(summands, group) for bar in bars for summands in _uncorrelated(bar) for group in _nested(bar.group)
    )


def group_name(group: Node) -> str:
    """Return the name under which a grouping factor stands in tables: its columns, joined by colons.

    Examples
    --------
    >>> from ordbridge.formula import parse
    >>> group_name(parse("y ~ 1 + (1 | `my text`:rater)").random[0].group)
    'my text:rater'
    """
    return ":".join(names(group))


def _uncorrelated(bar: Bar) -> list[tuple[Summand, ...]]:
    if bar.correlated:
        return [bar.summands]
    terms = expand(bar.summands)
    zero = Summand("+", Number("0"))
    slopes: list[tuple[Summand, ...]] = [(zero, Summand("+", reduce(_interaction, term))) for term in terms.terms]
    return [(Summand("+", Number("1")),), *slopes] if terms.intercept else slopes


def _interaction(left: Node, right: Node) -> Node:
    return Binary(":", left, right)


def _nested(group: Node) -> list[Node]:
    """Return the groups of ``a/b``: b within a, then a."""
    if isinstance(group, Binary) and group.operator == "/":
        outer = _nested(group.left)
        return [Binary(":", group.right, outer[0]), *outer]
    return [group]
