"""Best–worst choices: which of the systems that a row shows is best, and which is worst."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ordbridge.errors import InputError
from ordbridge.reading.cell_types import is_missing
from ordbridge.reading.sheet import Sheet
from ordbridge.reading.values import looks_like_ratings
from ordbridge.reading.verdicts import SIDES
from ordbridge.reading.vocabulary import plain, words_of

__all__ = ["best_worst_sets"]

BEST, WORST = words_of("best"), words_of("worst")
MOSTLY = 0.9  # share of choices that must be among what the row shows
SLIPS = 0.02  # so small a share of choices may be slips
FEWEST = 3  # where choices are places
RANKS = {"best": "1", "between": "2", "worst": "3"}

Cells = Sequence[str | None]


def best_worst_sets(
    sheet: Sheet, words: Mapping[str, Sequence[str]]
) -> list[tuple[list[str], tuple[Cells, ...], str, str]]:
    """Return columns of the systems shown, the rank of each (1 best, 2 between, 3 worst), and both columns of choices.

    Choices name a system of the row, or its place: 1 to k, or A, B, C.

    Examples
    --------
    >>> import numpy as np
    >>> columns = {"sys1": ["p", "p"], "sys2": ["q", "q"], "sys3": ["r", "r"], "best": ["q", "p"], "worst": ["r", "q"]}
    >>> words = {name: [name.rstrip("123"), *name[3:]] if name[-1].isdigit() else [name] for name in columns}
    >>> best_worst_sets(Sheet(columns, np.array([2, 3]), "x.csv"), words)
    [(['sys1', 'sys2', 'sys3'], (['2', '1'], ['1', '3'], ['3', '2']), 'best', 'worst')]
    """
    best = [name for name, own in words.items() if {*own} & BEST]
    worst = [name for name, own in words.items() if {*own} & WORST]
    found = []
    for top in best:
        stem = [word for word in words[top] if word not in BEST]
        for bottom in worst:
            if [word for word in words[bottom] if word not in WORST] != stem or _text(sheet, top, bottom):
                continue
            for names in _shown(sheet, words, (top, bottom)):
                ranks = _ranks(sheet, names, top, bottom)
                if ranks is not None:
                    found.append((names, ranks, top, bottom))
                    break
            else:
                _refuse_unshown(sheet, top, bottom)
    return found


def _text(sheet: Sheet, *names: str) -> bool:
    """Tell whether columns say the same in every row, such as the question, or hold numbers of a scale."""
    return any(len({cell for cell in sheet.columns[name] if not is_missing(cell)}) < 2 for name in names)


def _shown(sheet: Sheet, words: Mapping[str, Sequence[str]], choices: tuple[str, str]) -> list[list[str]]:
    """Return groups of two columns or more whose names differ in a number or a letter alone."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, own in words.items():
        for place, word in enumerate(own):
            if name not in choices and (word.isdigit() or (len(word) == 1 and word.isalpha())):
                groups.setdefault((*own[:place], "*", *own[place + 1 :]), []).append(name)
    return sorted((group for group in groups.values() if len(group) > 1), key=lambda group: -len(group))


def _ranks(sheet: Sheet, names: list[str], top: str, bottom: str) -> tuple[Cells, ...] | None:
    shown = [[None if is_missing(cell) else plain(str(cell)) for cell in sheet.columns[name]] for name in names]
    chosen = [
        [None if is_missing(cell) else plain(str(cell)) for cell in sheet.columns[name]] for name in (top, bottom)
    ]
    k = len(names)
    numbers, letters = [str(place + 1) for place in range(k)], [chr(ord("a") + place) for place in range(k)]
    said = {cell for cells in chosen for cell in cells if cell is not None}
    places = next((one for one in (numbers, letters) if k >= FEWEST and said <= {*one}), None)
    out: list[list[str | None]] = [[None] * len(sheet) for _ in names]
    good = present = 0
    for row, (first, last) in enumerate(zip(*chosen, strict=True)):
        if first is None or last is None:
            continue
        present += 1
        labels = [cells[row] for cells in shown]
        here = places if places is not None and first not in labels else labels
        if first not in here or last not in here or first == last:
            continue
        good += 1
        for place, label in enumerate(labels):
            if label is not None:
                rank = "best" if here[place] == first else "worst" if here[place] == last else "between"
                out[place][row] = RANKS[rank]
    return tuple(out) if present and good >= MOSTLY * present else None


def _usual(labels: Sequence[str]) -> set[str]:
    """Return the labels that are not slips."""
    return {label for label, n in Counter(labels).items() if n > SLIPS * len(labels)}


def _refuse_unshown(sheet: Sheet, top: str, bottom: str) -> None:
    """Ask where both columns name one of three systems or more, and no columns say which were shown."""
    both = [_usual([plain(str(c)) for c in sheet.columns[name] if not is_missing(c)]) for name in (top, bottom)]
    few = FEWEST <= len(both[0] | both[1]) <= 40 and len(both[0] & both[1]) >= 2 and not both[0] & {*SIDES}
    if few and not any(looks_like_ratings(sheet.columns[name]) for name in (top, bottom)):
        raise InputError(
            f"{top} and {bottom} of {sheet.name} say which is best and which is worst, but not among which; add a "
            "column for each system that was shown: option1, option2, option3"
        )
