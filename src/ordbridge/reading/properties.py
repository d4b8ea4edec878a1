"""What a column cannot be by its content: properties of texts or raters are not ratings, texts do not name raters."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence

from ordbridge.errors import InputError
from ordbridge.reading.cell_types import is_missing
from ordbridge.reading.parts import listed, short_name
from ordbridge.reading.sheet import Sheet
from ordbridge.reading.values import looks_like_ratings
from ordbridge.reading.verdicts import names_places
from ordbridge.reading.vocabulary import name_words, rank_of, words_of
from ordbridge.support.naming import arg

__all__ = ["is_constant", "may_name_items", "may_name_raters", "property_of", "refuse_unknown", "shared_source"]

ENOUGH = 3  # names with several rows, before a column that never differs within them is called their property
UNLIKELY = 1e-6  # probability that a column never differs within names by chance
MOST_ANSWERS, LONG_ANSWER = 7, 30
BETTER = words_of("better")
LONG = 60  # letters; so long cells are texts

Cells = Sequence[str | None]


def is_constant(cells: Cells) -> bool:
    """Tell whether all cells that are not empty hold the same, as a filler does."""
    return len({cell.strip() for cell in cells if cell is not None and not is_missing(cell)}) < 2


@functools.lru_cache(maxsize=4)  # asked for every column of a sheet
def _owners(sheet: Sheet) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns that may name raters or items, and those that surely name items or systems."""

    def ranks(name: str, *roles: str) -> set[int | None]:
        return {rank_of(role, short_name(name)) for role in roles}

    header = sheet.header
    named = tuple(name for name in header if ranks(name, "participant", "item") - {None})
    texts = [name for name in header if ranks(name, "item", "system") & {0, 1}]
    if not any(ranks(name, "item") & {0, 1} for name in texts):
        texts += [name for name in header if ranks(name, "item") == {2}]
    return named, tuple(texts)


def property_of(sheet: Sheet, name: str) -> str | None:
    """Return the column whose names decide what stands in another one, such as the text that a length belongs to.

    Examples
    --------
    >>> import numpy as np
    >>> texts = [f"t{n}" for n in range(20) for _ in range(2)]
    >>> columns = {"text": texts, "words": [str(9 + n // 2% 4) for n in range(40)], "score": [*"1234512345"] * 4}
    >>> sheet = Sheet(columns, np.arange(40), "x.csv")
    >>> property_of(sheet, "words"), property_of(sheet, "score")
    ('text', None)
    """
    cells = sheet.columns[name]
    counts = Counter(cell for cell in cells if not is_missing(cell))
    by_chance = sum((count / counts.total()) ** 2 for count in counts.values())  # that two cells are the same
    named, texts = _owners(sheet)
    owners: dict[str, Sequence[object]] = {other: sheet.columns[other] for other in named if other != name}
    texts = tuple(other for other in texts if other != name)
    if len(texts) > 1:
        owners["text"] = [*zip(*(sheet.columns[one] for one in texts), strict=True)]
    for other, labels in owners.items():
        first: dict[object, str | None] = {}
        again: Counter[object] = Counter()
        for label, cell in zip(labels, cells, strict=True):
            if is_missing(cell):
                continue
            if first.setdefault(label, cell) != cell:
                break
            again[label] += 1
        else:
            repeats = sum(again.values()) - len(again)
            if sum(count > 1 for count in again.values()) >= ENOUGH and by_chance**repeats < UNLIKELY:
                return other
    return None


def may_name_raters(sheet: Sheet, name: str) -> bool:
    """Tell whether a column may name people: short names that come again, and no points of a scale."""
    cells = [cell for cell in sheet.columns[name] if not is_missing(cell)]
    labels = set(cells)
    if {*name_words(short_name(name))} & words_of("verdicts"):
        return False
    if not 2 <= len(labels) <= max(2, len(cells) // 2) or any(len(str(label)) > LONG for label in labels):
        return False
    return not looks_like_ratings([*labels]) and property_of(sheet, name) is None


def may_name_items(sheet: Sheet, name: str) -> bool:
    """Tell whether a column may name items: it has several names that come again, and no points of a scale."""
    cells = [cell for cell in sheet.columns[name] if not is_missing(cell)]
    labels = set(cells)
    if not 2 <= len(labels) <= max(2, 0.9 * len(cells)):
        return False
    called = rank_of("item", short_name(name)) is not None or short_name(name).casefold().endswith(("id", "ids"))
    if not called and (
        looks_like_ratings([*labels]) or any("." in str(label) and _is_number(label) for label in labels)
    ):
        return False
    return called or property_of(sheet, name) is None


def _is_number(cell: str | None) -> bool:
    try:
        float(str(cell))
    except ValueError:
        return False
    return True


def refuse_unknown(sheet: Sheet, names: Sequence[str], fewest: int = 1) -> None:
    """Ask about questions that share few answers, which are not a known scale, such as p and n."""
    groups: dict[frozenset[str], list[str]] = {}
    elsewhere = {cell for name in sheet.header if name not in names for cell in sheet.columns[name] if cell}
    for name in names:
        labels = frozenset(cell.strip() for cell in sheet.columns[name] if cell and not is_missing(cell))
        if (
            1 < len(labels) <= MOST_ANSWERS
            and not labels & elsewhere
            and all(len(label) <= LONG_ANSWER for label in labels)
        ):
            groups.setdefault(labels, []).append(name)
    if groups and max(map(len, groups.values())) >= fewest:
        labels, columns = max(groups.items(), key=lambda pair: len(pair[1]))
        if names_places([*labels]) or any(BETTER & {*name_words(label)} for label in labels):
            raise InputError(
                f"{listed(columns)} of {sheet.name} say which of two is better ({listed(sorted(labels))}): preferences "
                "and not ratings. Write the name of the better system, or tie, into a column winner, and both systems "
                "into system_a and system_b"
            )
        raise InputError(
            f"the answers to {listed(columns)} of {sheet.name} are {listed(sorted(labels))}: an unknown scale; if "
            f"these are the ratings, name the columns with {arg('rating')} and give {arg('levels')} with all answers "
            "from low to high"
        )


def shared_source(sheet: Sheet, item: str, system: str, free: Sequence[str]) -> str | None:
    """Return the column that all systems share, where every item belongs to one system only.

    Together with the system it names the item: a source has one text of each system.

    Examples
    --------
    >>> import numpy as np
    >>> columns = {"text": [*"abcd"] * 2, "sys": [*"xyxy"] * 2, "source": [*"1122"] * 2, "list": [*"1111"] * 2}
    >>> shared_source(Sheet(columns, np.arange(8), "x.csv"), "text", "sys", ["source", "list"])
    'source'
    """
    pairs = {*zip(sheet.columns[item], sheet.columns[system], strict=True)}
    items = {one for one, _ in pairs}
    if len(pairs) != len(items) or len({made_by for _, made_by in pairs}) < 2:
        return None
    found: dict[str, int] = {}
    for name in free:
        cells = sheet.columns[name]
        if any(is_missing(cell) for cell in cells):
            continue
        triples = {*zip(cells, sheet.columns[system], sheet.columns[item], strict=True)}
        by_source: dict[str | None, set[str | None]] = {}
        for source, made_by, _ in triples:
            by_source.setdefault(source, set()).add(made_by)
        each = len({(source, made_by) for source, made_by, _ in triples})
        shared = sum(len(systems) > 1 for systems in by_source.values())
        if len(triples) == len(items) and each >= 0.9 * len(items) and shared > 0.5 * len(by_source):
            found[name] = sum(len(str(cell)) for cell in cells)
    return min(found, key=lambda name: found[name]) if found else None
