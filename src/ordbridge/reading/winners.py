"""Columns that say the winner other than by a verdict on two sides: chosen and not chosen, is_A_selected, a loser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from ordbridge.errors import InputError
from ordbridge.reading.cell_types import is_missing
from ordbridge.reading.sheet import Sheet
from ordbridge.reading.verdicts import SIDES
from ordbridge.reading.vocabulary import plain, rank_of, words_of

__all__ = ["LOST", "NO", "NOT", "TAGS", "YES", "flag_outcomes", "names_the_worse", "winner_and_loser"]

YES, NO = {"true", "yes", "ja", "oui", "si", "1"}, {"false", "no", "nein", "non", "0"}
TAGS = {"tag", "id", "name", "type", "label", "origin", "version", "from", "by", "source", "kind", "group", "condition"}
VERDICTS = words_of("verdicts")
LOST = {"loser", "losing", "lost", "rejected", "unchosen", "unselected", "dispreferred", "worse", "verlierer"}
NOT = {"not", "non", "nicht", "least", "less"}
WON = {*VERDICTS, "winning", "won", "win", "chose"}
FORCED = {"selected", "chosen", "chose", "preferred", "picked", "choice"}  # one of the two: "no" is the other one
TIE = {"tie", "ties", "tied", "draw"}
THINGS = {*TAGS, "option", "alternative", "item", "script", "stimulus", "player", "team", "entity", "person"}

Cells = Sequence[str | None]


def names_the_worse(words: Sequence[str]) -> bool:
    """Tell whether a verdict of this name says which is worse.

    Examples
    --------
    >>> [names_the_worse(name.split("_")) for name in ("winner", "loser", "not_preferred", "not_rejected")]
    [False, True, True, False]
    """
    worse = bool({*words} & LOST)
    said = {*WON, *LOST}
    return worse != any(one in NOT and other in said for one, other in pairwise(words))


def winner_and_loser(sheet: Sheet, words: Mapping[str, Sequence[str]]) -> tuple[str, str, Cells, Cells, Cells] | None:
    """Return the columns of winner and loser, and two systems per row with who won.

    Systems stand in the order they were shown where a choice says left or right, otherwise in that of the alphabet: the
    winner's place says nothing.

    Examples
    --------
    >>> import numpy as np
    >>> sheet = Sheet({"chosen": ["q", "p"], "not_chosen": ["p", "q"]}, np.array([2, 3]), "x.csv")
    >>> winner_and_loser(sheet, {"chosen": ["chosen"], "not_chosen": ["not", "chosen"]})
    ('chosen', 'not_chosen', ['p', 'p'], ['q', 'q'], ['b', 'a'])
    """
    stems: dict[tuple[str, ...], dict[bool, list[str]]] = {}
    for name, own in words.items():
        if not {*own} & {*WON, *LOST} or _says_side(sheet.columns[name]):
            continue
        stem = tuple(word for word in own if word not in WON | LOST | NOT)
        if all(word in THINGS or rank_of("system", word) in (0, 1, 2) for word in stem):
            stems.setdefault(stem, {}).setdefault(names_the_worse(own), []).append(name)
    for _, both in sorted(stems.items(), key=lambda pair: len(pair[0])):
        if len(both) != 2 or any(len(names) > 1 for names in both.values()):
            continue
        (winner,), (loser,) = both[False], both[True]
        won, lost = sheet.columns[winner], sheet.columns[loser]
        labels = [{str(cell) for cell in cells if not is_missing(cell)} for cells in (won, lost)]
        names = labels[0] | labels[1]
        shared = bool(labels[0] & labels[1]) or len(names) == 2
        short = max((len(name) for name in names), default=99) <= 80
        if not shared or not short or len(names) > max(4, len(sheet) // 2) or {plain(one) for one in names} <= {*SIDES}:
            continue
        side = _sides(sheet, words, {winner, loser})
        firsts: list[str | None] = []
        seconds: list[str | None] = []
        outcome: list[str | None] = []
        for row, (a, b) in enumerate(zip(won, lost, strict=True)):
            if is_missing(a) or is_missing(b):
                first, second, said = a, b, None
            elif (str(a) <= str(b)) if side is None else side[row] == 0:
                first, second, said = a, b, "a"
            else:
                first, second, said = b, a, "b"
            firsts.append(first)
            seconds.append(second)
            outcome.append(said)
        return winner, loser, firsts, seconds, outcome
    return None


def _sides(sheet: Sheet, words: Mapping[str, Sequence[str]], used: set[str]) -> list[int] | None:
    """Return on which side the winner stood, where a choice says left or right in every row."""
    for name, own in words.items():
        verdict = name not in used and {*own} & {*VERDICTS} and not names_the_worse(own)
        if verdict and _says_side(sheet.columns[name]):
            return [SIDES[plain(str(cell))] for cell in sheet.columns[name]]
    return None


def _says_side(cells: Cells) -> bool:
    return {plain(str(cell)) for cell in cells} == {"left", "right"}


def flag_outcomes(
    sheet: Sheet, words: Mapping[str, Sequence[str]], sides: tuple[str, str], systems: Sequence[str]
) -> tuple[str, Cells] | None:
    """Return columns that say yes or no to one side being better, and who won in each row.

    Examples
    --------
    >>> import numpy as np
    >>> columns = {"winner_model_a": ["1", "0", "0"], "winner_model_b": ["0", "1", "0"], "winner_tie": ["0", "0", "1"]}
    >>> words = {name: name.split("_") for name in columns}
    >>> flag_outcomes(Sheet(columns, np.array([2, 3, 4]), "x.csv"), words, ("a", "b"), ())
    ('winner_model_a, winner_model_b, winner_tie', ['a', 'b', 'tie'])
    """
    found: dict[str, str] = {}
    for name, own in words.items():
        if name in systems or not _is_flag(sheet.columns[name]):
            continue
        side = {side for side in sides if side in own}
        if len(side) == 1 and {*own} & WON and not names_the_worse(own):
            found.setdefault(side.pop(), name)
        elif not side and {*own} & TIE:
            found.setdefault("tie", name)
    mine = [found.get(side) for side in sides]
    flags = {name: [_yes(cell) for cell in sheet.columns[name]] for name in found.values()}
    n = len(sheet)
    nothing: list[bool | None] = [None] * n
    a, b = (flags[name] if name else nothing for name in mine)
    if mine == [None, None]:
        return None
    one = mine[0] or mine[1]
    if None in mine and "tie" not in found and one is not None and not {*words[one]} & FORCED:
        raise InputError(
            f"{one} of {sheet.name} says yes or no, and no may mean a tie or that the other system is better; write "
            "a, b and tie into one column"
        )
    a = [None if other is None else not other for other in b] if mine[0] is None else a
    b = [None if other is None else not other for other in a] if mine[1] is None else b
    tied = flags.get(found.get("tie", ""), [False] * n)
    outcome = [
        "tie" if tie else "a" if first and not second else "b" if second and not first else None
        for first, second, tie in zip(a, b, tied, strict=True)
    ]
    return ", ".join(name for name in (*mine, found.get("tie")) if name), outcome


def _is_flag(cells: Cells) -> bool:
    return {plain(str(cell)) for cell in cells if not is_missing(cell)} | {"0", "1"} <= {*YES, *NO} and any(
        _yes(cell) for cell in cells
    )


def _yes(cell: str | None) -> bool | None:
    """Return whether a cell says yes; numbers may be written as 1.0."""
    return None if is_missing(cell) else plain(str(cell)) in YES
