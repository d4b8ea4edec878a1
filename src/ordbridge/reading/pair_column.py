"""Verdicts that are names of systems, where one column lists both systems of a row, or only two are ever named."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from ordbridge.reading.cell_types import is_missing
from ordbridge.reading.sheet import Sheet
from ordbridge.reading.vocabulary import name_words, plain, words_of

__all__ = ["Cells", "pairs_by_name"]

VERDICTS, TIES = words_of("verdicts"), words_of("ties")
BETWEEN = re.compile(r"\s+vs\.?\s+|[_\-]vs[_\-]|\s*[|;,]\s*|\s+/\s+", re.IGNORECASE)
PLACE = re.compile(rf"(?:{'|'.join(sorted(words_of('outputs')))})[ab12]")
MOSTLY = 0.9  # share of rows that must be understood
MOST_NAMES = 100

Cells = Sequence[str | None]


def pairs_by_name(
    sheet: Sheet, words: Mapping[str, Sequence[str]], sides: Collection[str]
) -> list[tuple[Cells, Cells, Cells, str, str]]:
    """Return for each column of verdicts the systems of every row, a, b or tie, the systems' column, and the verdict's.

    Parameters
    ----------
    sheet, words
        The table, and the words of each column's name.
    sides
        What names a place, and so no system.

    Examples
    --------
    >>> import numpy as np
    >>> columns = {"options": ["p,q", "q,p"] * 2, "plot": ["q", "same", "p", "p"], "genre": ["x", "y", "x", "y"]}
    >>> words = {name: [name] for name in columns}
    >>> [(a, b, said) for a, b, said, _, _ in pairs_by_name(Sheet(columns, np.arange(2, 6), "x.csv"), words, ())]
    [(['p', 'q', 'p', 'q'], ['q', 'p', 'q', 'p'], ['b', 'tie', 'a', 'b'])]
    """
    for column in sheet.header:
        both = _split(sheet.columns[column])
        if both is None:
            continue
        found: list[tuple[Cells, Cells, Cells, str, str]] = []
        for name in sheet.header:
            said = None if name == column else _outcome(sheet.columns[name], both, sides)
            if said is not None:
                found.append((*both, said, column, name))
        if found:
            return found
    return _only_two(sheet, words, sides)


def _split(cells: Cells) -> tuple[list[str | None], list[str | None]] | None:
    parts = [[] if is_missing(cell) else BETWEEN.split(str(cell).strip("[]() ")) for cell in cells]
    good = [len(one) == 2 and all(one) and one[0] != one[1] for one in parts]
    names = {name for one, fine in zip(parts, good, strict=True) if fine for name in one}
    if not names or sum(good) < MOSTLY * len(cells) or not 2 <= len(names) <= min(MOST_NAMES, max(2, len(cells) // 2)):
        return None
    first = [one[0].strip(" '\"") if fine else None for one, fine in zip(parts, good, strict=True)]
    return first, [one[1].strip(" '\"") if fine else None for one, fine in zip(parts, good, strict=True)]


def _outcome(
    cells: Cells, both: tuple[Sequence[str | None], Sequence[str | None]], sides: Collection[str]
) -> list[str | None] | None:
    """Return verdicts that name one of both systems, or a tie; ``None`` where a column says something else."""
    out: list[str | None] = []
    present = named = 0
    for cell, a, b in zip(cells, *both, strict=True):
        said = None if is_missing(cell) else plain(str(cell))
        present += said is not None
        found = None
        if said is not None and a is not None and b is not None and said not in sides:
            found = "a" if said == plain(a) else "b" if said == plain(b) else "tie" if said in TIES else None
        named += found is not None
        out.append(found)
    return out if {"a", "b"} <= {*out} and named >= MOSTLY * present else None


def _only_two(
    sheet: Sheet, words: Mapping[str, Sequence[str]], sides: Collection[str]
) -> list[tuple[Cells, Cells, Cells, str, str]]:
    """Find a column that is called a verdict and says one of two names, or a tie, and nothing else."""
    for name, own in words.items():
        labels = {str(cell).strip() for cell in sheet.columns[name] if not is_missing(cell)}
        systems = sorted(one for one in labels if plain(one) not in TIES)
        if (
            not {*own} & VERDICTS
            or len(systems) != 2
            or len(labels) == 2
            or any(plain(one) in sides for one in systems)
            or _are_places(*systems)
        ):
            continue
        both: tuple[list[str | None], list[str | None]] = [systems[0]] * len(sheet), [systems[1]] * len(sheet)
        said = _outcome(sheet.columns[name], both, sides)
        if said is not None:
            return [(*both, said, name, name)]
    return []


def _are_places(*labels: str) -> bool:
    """Tell whether labels say where a text stood, or that it is better, and are not names: A1 better, text 2."""
    return any({*name_words(label)} & VERDICTS or PLACE.fullmatch(plain(label)) for label in labels)
