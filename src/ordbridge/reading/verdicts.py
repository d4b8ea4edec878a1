"""What verdicts on two texts say: which is better, and by how much; numbers that do not say which are asked about."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ordbridge.errors import InputError
from ordbridge.reading.cell_types import is_missing
from ordbridge.reading.vocabulary import plain, words_of

__all__ = ["SIDES", "grades", "names_places", "refuse_undirected"]

SIDES = {"a": 0, "b": 1, "1": 0, "2": 1, "left": 0, "right": 1, "first": 0, "second": 1, "links": 0, "rechts": 1}
TIES = words_of("ties")
MOST_ANSWERS = 15  # of a scale of verdicts; more numbers are something else
MOSTLY = 0.9  # share of verdicts that must be understood
THING = r"(?:(?:system|model|assistant|response|answer|option|text|summary|output|translation)[ _]*)?"
SIGNS = re.compile(rf"{THING}([ab12])\s*(>{{1,3}}|<{{1,3}}|={{1,2}}|≈|~)\s*{THING}([ab12])")
WEAK = {"slightly", "weakly", "somewhat", "marginally", "little", "bit", "barely", "slight", "weak", "etwas"}
STRONG = {"much", "strongly", "significantly", "far", "definitely", "clearly", "considerably", "strong", "viel"}
BETWEEN = {"is", "are", "better", "the", "than", "system", "model", "assistant", "response", "answer", "option", "text",
           "summary", "output", "translation", "preferred", "prefer", "preference", "i", "by", "good", "one",
           "besser", "ist"}  # fmt: skip


def names_places(cells: Sequence[str | None]) -> bool:
    """Tell whether answers only name the places of two texts, or a tie: A and B, 1 and 2, left and right.

    Examples
    --------
    >>> names_places(["A", "B", None, "tie"]), names_places(["1", "2"]), names_places(["1", "2", "3"])
    (True, True, False)
    """
    said = {plain(str(cell)) for cell in cells if not is_missing(cell)}
    places = {SIDES[one] for one in said if one in SIDES}
    return places == {0, 1} and all(one in SIDES or (one in TIES and not one.isdigit()) for one in said)


def refuse_undirected(name: str, cells: Sequence[str | None], source: str) -> None:
    """Ask about numbers such as −3 to 3, 1 to 7 or 0, 1, 2: either end may mean that the first is better, or a tie."""
    try:
        values = {float(str(cell).replace("−", "-")) for cell in cells if not is_missing(cell)}
    except ValueError:
        return
    whole = all(value == round(value) for value in values)
    if not 2 <= len(values) <= MOST_ANSWERS or values == {1.0, 2.0}:
        return
    low, high = min(values), max(values)
    if -10 <= low <= 0 <= high <= 10 or (whole and low >= 1 and 3 <= high <= 10):
        raise InputError(
            f"{name} of {source} has answers from {low:g} to {high:g}, which do not say which of them prefer the first "
            "system; write names of systems and tie, or words such as 'A is much better'; in Python "
            "compare_preferences(table, first=…, second=…, outcome=…) takes numbers, high ones for the first"
        )


def grades(cells: Sequence[str | None]) -> list[int | None] | None:
    """Return how much better the first is, from 1, or the second, from −1 down; ``None`` where there are no grades.

    Examples
    --------
    >>> grades(["A>>B", "[[B>A]]", "A=B", "A>B"])
    [2, -1, 0, 1]
    >>> grades(["A is slightly better", "B is much better", "tie", "right"])
    [1, -3, 0, -2]
    >>> grades(["A", "B", "tie"]) is None  # one grade: better
    True
    """
    found: list[tuple[int, int] | None] = [None if is_missing(cell) else _graded(str(cell)) for cell in cells]
    present = sum(not is_missing(cell) for cell in cells)
    steps = sorted({one[1] for one in found if one and one[0]})
    if len(steps) < 2 or sum(one is not None for one in found) < MOSTLY * present:
        return None
    return [None if one is None else one[0] and one[0] * (steps.index(one[1]) + 1) for one in found]


def _graded(cell: str) -> tuple[int, int] | None:
    """Return the sign and the strength of a verdict."""
    text = cell.strip(" []{}()'\"").casefold()
    if signs := SIGNS.fullmatch(text):
        first, sign, second = signs.groups()
        if SIDES[first] == SIDES[second]:
            return None
        turn = 1 if SIDES[first] == 0 else -1
        return (0, 0) if sign[0] in "=≈~" else (turn if sign[0] == ">" else -turn, len(sign))
    if plain(text) in TIES:
        return 0, 0
    words = re.findall(r"[^\W\d_]+|\d+", text)
    sides = {SIDES[word] for word in words if word in SIDES}
    if len(sides) != 1 or not all(word in SIDES or word in BETWEEN | WEAK | STRONG for word in words):
        return None
    strength = 1 if {*words} & WEAK else 3 if {*words} & STRONG else 2
    return (1 if sides == {0} else -1), strength
