"""A formula that says only what changes: ``". ~ . + length"``."""

from __future__ import annotations

import re

from ordbridge.formula.tree import Formula, written

QUOTED = re.compile(r"(`(?:\\.|[^`\\])*`)")
DOT = re.compile(r"(?<![\w.])\.(?![\w.])")
WITHOUT_BAR = re.compile(r"-\s*\(([^()|]*\|{1,2}[^()|]*)\)")


def updated(old: Formula, new: str) -> str:
    """Return a formula in which a dot stands for the old side, as in R's ``update``.

    A random effect is taken away as it is written: ``. ~ . - (1 | item)``.

    Examples
    --------
    >>> from ordbridge.formula import parse
    >>> updated(parse("rating ~ system + (1 | item)"), ". ~ . + length - (1 | item)")
    'rating ~ system + length'
    """
    response, tilde, right = new.partition("~")
    if not tilde:
        response, right = ".", new
    gone = {_normal(found[1]) for found in WITHOUT_BAR.finditer(right)}
    kept = [str(bar) for bar in old.random if _normal(str(bar)[1:-1]) not in gone]
    before = " + ".join([written(old.fixed) or "1", *kept])
    return f"{_filled(response, str(old.response)).strip()} ~ {_filled(WITHOUT_BAR.sub('', right), before).strip()}"


def _filled(text: str, before: str) -> str:
    parts = QUOTED.split(text)
    return "".join(part if k % 2 else DOT.sub(lambda _: before, part) for k, part in enumerate(parts))


def _normal(bar: str) -> str:
    return re.sub(r"\s+", "", bar)
