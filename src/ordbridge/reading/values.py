"""From text cells to ratings: numbers, numbers with words beside them, or words with an order."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ordbridge.errors import InputError
from ordbridge.reading.cell_types import is_missing
from ordbridge.reading.labels import NON_ANSWERS, is_known_label, normal, order_of_labels
from ordbridge.reading.parts import listed
from ordbridge.reading.vocabulary import plain, words_of
from ordbridge.results.finding import Finding, found
from ordbridge.support.naming import arg

__all__ = ["MOST_LABELS", "UNORDERED", "Parsed", "as_numbers", "looks_like_ratings", "parse_ratings", "without_missing"]

UNORDERED = "unordered"
MOST_LABELS = 12  # more different words are not a rating scale
FEW_SLIPS = 0.05  # so large a share of labels that no known scale has may be slips
NO_NUMBER = "None"  # as Python writes a missing number; among words it may be the label "none"
FEW_BAD = 0.2  # so large a share of cells that are not numbers may be mistakes; with more, the ratings are words
_NUMBER = re.compile(r"[+-]?(\d+(?:[.,]\d+)?|[.,]\d+)(?:e[+-]?\d+)?", re.IGNORECASE)
_WITH_WORDS = re.compile(r"([+-]?\d+(?:[.,]\d+)?)\s*(?:[-–—=:.)(\]|,]|\s)\s*(?=\D)(?=.*[^\W\d_])(.+)", re.DOTALL)
_WORDS_BEFORE = re.compile(r"(?:.*\D)?[\[(](\d+(?:[.,]\d+)?)[\])]", re.DOTALL)
_OUT_OF = re.compile(r"(\d+(?:[.,]\d+)?)\s*(?:/|out of|von|sur|de)\s*(\d+)", re.IGNORECASE)
_MINUS = re.compile(r"^[−–](?=[\d.,])")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(T[\d:.]+)?")
_STARS = re.compile(r"(★+)☆*|(⭐+)|(\*{1,10})")


@dataclass(frozen=True)
class Parsed:
    """Ratings as numbers, or as positions in ``levels``; NaN where there is none."""

    values: np.ndarray
    levels: tuple[str, ...] | None
    missing: dict[str, int]
    """How many cells hold each code for a missing rating; empty cells are under ``""``."""
    bad: tuple[int, ...]
    """Positions of cells that hold something else than a rating."""
    notes: tuple[Finding, ...]
    ordered: bool = True


def without_missing(cells: Sequence[str | None]) -> tuple[list[str | None], dict[str, int]]:
    """Return cells with ``None`` for every code of a missing value, and how often each code stands there.

    Examples
    --------
    >>> without_missing(["3", "N/A", None, "-"])
    (['3', None, None, None], {'N/A': 1, '': 1, '-': 1})
    """
    kept: list[str | None] = []
    codes: Counter[str] = Counter()
    for cell in cells:
        text = "" if cell is None else cell.strip()
        if is_missing(text):
            codes[text] += 1
            kept.append(None)
        else:
            kept.append(text)
    return kept, dict(codes)


def as_numbers(cells: Sequence[str | None]) -> tuple[np.ndarray, bool]:
    """Return the numbers in cells, NaN for what is not a number, and whether commas were decimal.

    Examples
    --------
    >>> as_numbers(["3,5", "4", None])[0].tolist(), as_numbers(["3,5", "4"])[1]
    ([3.5, 4.0, nan], True)
    """
    commas = any(cell is not None and "," in cell and _NUMBER.fullmatch(cell) for cell in cells)
    return np.array([_number(cell) for cell in cells], dtype=float), commas


@functools.lru_cache(maxsize=2**14)  # a column has few ratings, and many rows
def _number(cell: str | None) -> float:
    if cell is None:
        return np.nan
    text = _MINUS.sub("-", cell.strip().removesuffix("%").rstrip())
    return float(text.replace(",", ".")) if _NUMBER.fullmatch(text) else np.nan


@functools.lru_cache(maxsize=2**14)
def _number_with_words(cell: str) -> tuple[float, bool]:
    """Return the number in "4 - good", "good (4)", "4/5", "★★★★", and whether words stand beside it."""
    if not np.isnan(number := _number(cell)):
        return number, False
    if found := _STARS.fullmatch(cell):
        return float(len(next(stars for stars in found.groups() if stars))), True
    for pattern in (_OUT_OF, _WITH_WORDS, _WORDS_BEFORE):
        if found := pattern.fullmatch(cell):
            return _number(found[1]), True
    return np.nan, False


def parse_ratings(cells: Sequence[str | None], levels: Sequence[str] | None, column: str) -> Parsed:
    """Read the cells of one scale.

    Parameters
    ----------
    cells
        The cells.
    levels
        All labels from low to high, where the user says them; ``"unordered"`` for words without an order.
    column
        What the cells are called, for messages.

    Examples
    --------
    >>> parsed = parse_ratings(["Agree", "disagree", "N/A", "agree "], None, "rating")
    >>> parsed.levels, parsed.values.tolist(), parsed.missing
    (('disagree', 'Agree'), [1.0, 0.0, nan, 1.0], {'N/A': 1})
    """
    kept, missing = without_missing(cells)
    for place, cell in enumerate(kept):
        if cell is not None and _is_no_answer(cell) and (not levels or cell not in levels):
            missing[cell] = missing.get(cell, 0) + 1
            kept[place] = None
    present = [cell for cell in kept if cell is not None]
    if levels is not None and levels != UNORDERED:
        return _words(kept, tuple(levels), missing, column)
    if not present:
        return Parsed(np.full(len(kept), np.nan), None, missing, (), ())
    numbers, commas = as_numbers(kept)
    notes = [found("decimal-commas")] if commas else []
    if np.isfinite(numbers).sum() >= (1 - FEW_BAD) * len(present):
        numbers, plus = _fill_from_words(kept, numbers)
        bad = [place for place, cell in enumerate(kept) if cell is not None and np.isnan(numbers[place])]
        if python := [place for place in bad if kept[place] == NO_NUMBER]:
            missing[NO_NUMBER] = len(python)
            bad = [place for place in bad if kept[place] != NO_NUMBER]
        return _upright(kept, Parsed(numbers, None, missing, tuple(bad), (*notes, *plus)))
    labelled, plus = _fill_from_words(kept, numbers)
    if np.isfinite(labelled).sum() >= (1 - FEW_BAD) * len(present):
        bad = [place for place, cell in enumerate(kept) if cell is not None and np.isnan(labelled[place])]
        return _upright(kept, Parsed(labelled, None, missing, tuple(bad), (*notes, *plus)))
    if levels == UNORDERED and len(set(map(normal, present))) > 1:
        labels = {normal(label): label for label in present[::-1]}
        return replace(_words(kept, tuple(sorted(labels.values())), missing, column), ordered=False)
    return _words(kept, _known_order(present, column), missing, column)


def _is_no_answer(cell: str) -> bool:
    """Tell whether a cell is an answer without a rating: "don't know", "N/A: no such claim"."""
    return normal(cell) in NON_ANSWERS or cell.casefold().startswith(("n/a:", "n/a -", "n/a ("))


def _upright(cells: list[str | None], parsed: Parsed) -> Parsed:
    """Turn a scale round whose words say that its low numbers are the good ones, as in "1 - excellent"."""
    beside = {word: number for cell in set(cells) if cell and (word := _word_beside(cell)) for number in [_of(cell)]}
    order = order_of_labels(beside) or ()
    numbers = [beside[word] for word in order]
    if len(numbers) < 2 or numbers != sorted(numbers, reverse=True):
        return parsed
    used = np.unique(parsed.values[np.isfinite(parsed.values)])
    whole = (used == np.floor(used)).all() and used[-1] - used[0] < MOST_LABELS
    points = np.arange(used[0], used[-1] + 1) if whole else used
    worded = {_of(cell): cell for cell in sorted({cell for cell in cells if cell}) if _word_beside(cell)}
    levels = tuple(worded.get(float(point), f"{point:g}") for point in points[::-1])
    places = len(points) - 1.0 - np.searchsorted(points, parsed.values)
    note = found("scale-turned-round", best=levels[-1])
    values = np.where(np.isfinite(parsed.values), places, np.nan)
    return Parsed(values, levels, parsed.missing, parsed.bad, (*parsed.notes, note))


def _of(cell: str) -> float:
    return _number_with_words(cell)[0]


def _word_beside(cell: str) -> str:
    """Return the words beside a number: good in "4 - good" and in "good (4)"."""
    if found := _WITH_WORDS.fullmatch(cell):
        return found[2].strip(" ()[]")
    return re.sub(r"[\[(][^\[(]*$", "", cell).strip(" -–:=") if _WORDS_BEFORE.fullmatch(cell) else ""


def _fill_from_words(cells: list[str | None], numbers: np.ndarray) -> tuple[np.ndarray, list[Finding]]:
    filled, example = numbers.copy(), ""
    for place, cell in enumerate(cells):
        if cell is not None and np.isnan(numbers[place]):
            filled[place], worded = _number_with_words(cell)
            example = example or (cell if worded else "")
    return filled, [found("number-in-text", example=example)] if example else []


def _known_order(present: list[str], column: str) -> tuple[str, ...]:
    spelled: dict[str, Counter[str]] = {}
    for label in present:
        spelled.setdefault(normal(label), Counter())[label] += 1
    if len(spelled) > MOST_LABELS:
        raise InputError(
            f"column {column!r} is not a column of ratings: it has {len(spelled)} different texts, such as "
            f"{present[0][:60]!r}; name the column with {arg('rating')}"
        )
    labels = [counts.most_common(1)[0][0] for counts in spelled.values()]
    if all(_DATE.fullmatch(label) for label in labels):
        raise InputError(
            f"the ratings in column {column!r} are dates, such as {labels[0]!r}: a spreadsheet has made them of "
            "answers such as 4/5 or 1-5; enter the answers again, in cells that are formatted as text"
        )
    order = order_of_labels(labels) or _order_but_for_slips(spelled)
    if order is None:
        ties = [label for label in labels if plain(label) in words_of("ties")]
        if len(labels) == 3 and len(ties) == 1:
            raise InputError(
                f"column {column!r} says {listed(labels)}: if that is which of two systems is better, call the column "
                f"winner; if these are ratings, give {arg('levels')} with these labels from low to high"
            )
        raise InputError(
            f"the ratings in column {column!r} are words whose order is not known: {', '.join(map(repr, labels))}; "
            f"give {arg('levels')} with these labels from low to high, or {arg('rating')} with another column if these "
            "are not ratings"
        )
    return order


def _order_but_for_slips(spelled: dict[str, Counter[str]]) -> tuple[str, ...] | None:
    """Return the order of labels of a known scale beside which there are few others."""
    known = {name: counts for name, counts in spelled.items() if is_known_label(name)}
    slips = sum(counts.total() for name, counts in spelled.items() if name not in known)
    if slips > FEW_SLIPS * sum(counts.total() for counts in spelled.values()):
        return None
    return order_of_labels(counts.most_common(1)[0][0] for counts in known.values())


def _words(cells: list[str | None], levels: tuple[str, ...], missing: dict[str, int], column: str) -> Parsed:
    if len({normal(level) for level in levels}) < len(levels) or len(levels) < 2:
        raise InputError(f"{arg('levels', list(levels))} needs at least two labels from low to high, each once")
    place_of = {normal(level): place for place, level in enumerate(levels)}
    values = np.full(len(cells), np.nan)
    bad = []
    for place, cell in enumerate(cells):
        if cell is None:
            continue
        if (found := place_of.get(normal(cell))) is None:
            bad.append(place)
        else:
            values[place] = found
    if bad and len(bad) == sum(cell is not None for cell in cells):
        found_labels = list(dict.fromkeys(cell for cell in cells if cell is not None))[:MOST_LABELS]
        raise InputError(
            f"none of the labels {', '.join(map(repr, levels))} is in column {column!r}; it has "
            f"{', '.join(map(repr, found_labels))}"
        )
    return Parsed(values, levels, missing, tuple(bad), ())


def looks_like_ratings(cells: Sequence[str | None]) -> bool:
    """Tell whether cells could be ratings: few different numbers or known labels, or numbers from 0 to 100.

    Examples
    --------
    >>> [looks_like_ratings(cells) for cells in (["1", "5", None], ["agree", "disagree"], ["a text", "b"])]
    [True, True, False]
    """
    present = Counter(cell.strip() for cell in cells if cell is not None and not is_missing(cell))
    present = Counter({cell: count for cell, count in present.items() if not _is_no_answer(cell)})
    if not present:
        return False
    numbers = np.array([_number_with_words(cell)[0] for cell in present])
    counts = np.array(list(present.values()), dtype=float)
    finite = np.isfinite(numbers)
    if counts[finite].sum() >= (1 - FEW_BAD) * counts.sum():
        usual = finite & (numbers >= -10) & (numbers <= 100)
        return bool(counts[usual].sum() >= (1 - FEW_BAD) * counts[finite].sum())
    spelled: dict[str, Counter[str]] = {}
    for cell, count in present.items():
        spelled.setdefault(normal(cell), Counter())[cell] += count
    return len(spelled) <= MOST_LABELS and (
        order_of_labels(spelled) is not None
        or _order_but_for_slips(spelled) is not None
        or (len(spelled) == 1 and is_known_label(next(iter(spelled))))
    )
