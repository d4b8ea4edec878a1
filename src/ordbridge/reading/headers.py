"""Names of rating columns taken apart: "fluency_A" is a criterion and a system, "Text 3 [System B]" an item and one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

from ordbridge.reading.vocabulary import label_role, numbered_role

__all__ = ["decompose", "from_pattern", "made_alike"]

MOST_ALIKE = 0.6  # share of names that have a structure, for the others to be something else
PATTERN = re.compile(r"\{(\w+)\}")
_BRACKET = re.compile(r"(.*?)\s*\[([^\]]*)\]\s*", re.DOTALL)
_PARENTHESES = re.compile(r"(.*?\S)\s*\(([^)]*)\)\s*(.*)", re.DOTALL)
_NUMBERED = re.compile(r"(.*?[^\W\d_])[ _\-.]*(\d+)", re.DOTALL)
_LETTERED = re.compile(r"(.*?[a-z])([A-Z])")
_CODED = re.compile(r"([A-Za-z]+\d+)([A-Za-z]+\d+|[A-Z])")  # T3S2, item4B
_STRONG = (" - ", " – ", " — ", " | ", " / ", "::", "__", ", ", ": ")  # nobody writes these inside a name
_WEAK = ("_", ".", "/", "|", "-", " ")
_FIRST_WORD = re.compile(r"([^\W_]+)[_.\-: ]+(.+)", re.DOTALL)
_FILLERS = {"rating", "ratings", "score", "scores", "answer", "answers", "response", "responses", "rate", "likert",
            "value", "bewertung", "note", "puntuacion", "human", "eval", "evaluation"}  # fmt: skip


_HASH = re.compile(r"[0-9a-f]{8}(-?[0-9a-f]{4}){2,}-?[0-9a-f]*|[0-9a-f]{16,}", re.IGNORECASE)
Splitter = Callable[[str], Sequence[str] | None]


def decompose(names: Sequence[str], any_way: bool = False) -> list[list[str]]:
    """Return the factors in which the names of columns differ: for each factor its label in every name.

    Names without a common structure are one factor, and so are names that all stand for one thing, such as systems,
    unless they may be taken apart in any way.

    Examples
    --------
    >>> decompose(["fluency_A", "fluency_B", "adequacy_A", "adequacy_B"])
    [['fluency', 'fluency', 'adequacy', 'adequacy'], ['A', 'B', 'A', 'B']]
    >>> decompose(["Rater 1", "Rater 2"])
    [['Rater 1', 'Rater 2']]
    """
    labels = _without_fillers([name.strip() for name in names])
    role = label_role(list(dict.fromkeys(labels)))
    known = len(set(labels)) < 2 or (role is not None and not any_way)
    for joint, split in _splitters(strong_only=known):
        parts = [split(label) for label in labels]
        if any(part is None for part in parts) or len({len(part) for part in parts if part}) != 1:
            continue
        cells = [[cell.strip() for cell in column] for column in zip(*parts, strict=True)]
        columns = _with_role_words(cells, joint)
        if labels in columns:
            continue  # what was taken off is back
        varying = [column for column in columns if len(set(column)) > 1]
        alone = len(varying) == 1 and len(set(varying[0])) == len(set(labels))
        if alone and (not known or label_role(list(dict.fromkeys(varying[0]))) == role):
            return decompose(varying[0])  # what all names share says nothing
        if len(varying) > 1 and _crossed(varying, len(set(labels))):
            return [factor for column in varying for factor in decompose(column)]
    return [labels]


def made_alike(names: Sequence[str]) -> list[int]:
    """Return the places of the names that have a common structure, where a few others have not; else all of them.

    Examples
    --------
    >>> made_alike(["Text 1 [A]", "Text 1 [B]", "Text 2 [A]", "Text 2 [B]", "How old are you?"])
    [0, 1, 2, 3]
    >>> made_alike(["Rater 1", "Rater 2", "Word count"])
    [0, 1]
    """
    everything = list(range(len(names)))
    labels = _without_fillers([name.strip() for name in names])
    if len(decompose(labels)) > 1:
        return everything
    ids = [place for place in everything if _HASH.fullmatch(labels[place])]
    if MOST_ALIKE * len(names) <= len(ids) < len(names):
        return ids
    roles = [numbered_role(label) for label in labels]
    for role in ("participant", "item"):  # beside System A and System B there may be another system called Human
        same = [place for place in everything if roles[place] == role]
        if 0.5 * len(names) < len(same) < len(names):
            return same
    for _, split in _splitters(strong_only=False):
        parts = {place: part for place, label in enumerate(labels) if (part := split(label))}
        sizes = Counter(map(len, parts.values()))
        width = sizes.most_common(1)[0][0] if sizes else 0
        parts = {place: part for place, part in parts.items() if len(part) == width}
        often = [Counter(part[at] for part in parts.values()) for at in range(width)]
        same = [place for place, part in parts.items() if any(often[at][part[at]] > 1 for at in range(width))]
        if MOST_ALIKE * len(names) <= len(same) < len(names):
            factors = decompose([labels[place] for place in same])
            if len(factors) > 1 and any(label_role(list(dict.fromkeys(factor))) for factor in factors):
                return same
    return everything


def _with_role_words(columns: list[list[str]], joint: str) -> list[list[str]]:
    """Put a word such as System, which all names share, back before the label that follows it."""
    joined: list[list[str]] = []
    before: str | None = None
    for column in columns:
        joined.append([f"{before}{joint}{label}" for label in column] if before else column)
        word = column[0]
        same = len(set(column)) == 1 and label_role([f"{word} 1", f"{word} 2"]) not in (None, "criterion")
        before = word if same and not before else None
    return joined


def _crossed(columns: list[list[str]], names: int) -> bool:
    """Tell whether the labels of several positions occur in most combinations, each once."""
    combinations = 1
    for column in columns:
        combinations *= len(set(column))
    return len(set(zip(*columns, strict=True))) == names and 0.75 * combinations <= names


def _without_fillers(labels: list[str]) -> list[str]:
    """Take off what all names begin with and what says only that they are ratings, such as "rating_"."""
    while True:
        parts = [_FIRST_WORD.fullmatch(label) for label in labels]
        words = {part[1].casefold() if part else "" for part in parts}
        if len(words) != 1 or not words <= _FILLERS:
            return labels
        labels = [part[2] for part in parts if part]


def _splitters(strong_only: bool) -> list[tuple[str, Splitter]]:
    """Return ways to take a name apart, each with what stood between its parts."""

    def bracket(label: str) -> Sequence[str] | None:
        return found.groups() if (found := _BRACKET.fullmatch(label)) else None

    def at_first(separator: str) -> Splitter:
        return lambda label: _both(label.split(separator, 1))

    def at_last(separator: str) -> Splitter:
        return lambda label: _both(label.rsplit(separator, 1))

    def coded(label: str) -> Sequence[str] | None:
        return found.groups() if (found := _CODED.fullmatch(label)) else None

    def numbered(label: str) -> Sequence[str] | None:
        return found.groups() if (found := _NUMBERED.fullmatch(label)) else None

    def lettered(label: str) -> Sequence[str] | None:
        return found.groups() if (found := _LETTERED.fullmatch(label)) else None

    def at(separator: str) -> Splitter:
        def split(label: str) -> Sequence[str] | None:
            parts = label.split(separator)
            return parts if 1 < len(parts) <= 4 and all(part.strip() for part in parts) else None

        return split

    def parentheses(label: str) -> Sequence[str] | None:
        return found.groups() if (found := _PARENTHESES.fullmatch(label)) else None

    def words(label: str) -> Sequence[str] | None:
        parts = re.split(r"\s+", label.rstrip("?!.: "))
        return parts if len(parts) > 1 else None

    strong = [(" ", bracket), (" ", parentheses), *((separator, at(separator)) for separator in _STRONG)]
    weak = [(separator, way(separator)) for way in (at, at_last, at_first) for separator in _WEAK]
    compact = [("", coded), ("", numbered), ("", lettered)]
    return strong if strong_only else [*strong, *weak[: len(_WEAK)], (" ", words), *weak[len(_WEAK) :], *compact]


def _both(parts: list[str]) -> list[str] | None:
    return parts if len(parts) == 2 and all(part.strip() for part in parts) else None


def from_pattern(pattern: str, names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the labels of each column whose name has the form of a pattern such as ``{system}_{criterion}``.

    Examples
    --------
    >>> from_pattern("{system}_{criterion}", ["item", "A_fluency"])
    {'A_fluency': {'system': 'A', 'criterion': 'fluency'}}
    """
    parts = PATTERN.split(pattern)
    expression = "".join(re.escape(part) if place % 2 == 0 else f"(?P<{part}>.+?)" for place, part in enumerate(parts))
    matches = {name: re.fullmatch(expression, name.strip()) for name in names}
    return {
        name: {role: text.strip() for role, text in found.groupdict().items()}
        for name, found in matches.items()
        if found
    }
