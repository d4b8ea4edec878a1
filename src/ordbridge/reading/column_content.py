"""What a column is by what it holds, where its name does not say it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ordbridge.errors import InputError
from ordbridge.reading.parts import RatingColumn, listed
from ordbridge.reading.sheet import Sheet
from ordbridge.reading.values import MOST_LABELS, as_numbers, looks_like_ratings, without_missing
from ordbridge.support.naming import arg

__all__ = ["item_among", "refuse_two_scales", "system_among"]

MOST_SYSTEMS = 12
FEWEST_ITEMS = 3
BEYOND = 18  # a column most of whose numbers are above this is not on a scale of at most 12 categories

Cells = Sequence[str | None]


def item_among(free: Mapping[str, Cells], known: Mapping[str, Cells]) -> str | None:
    """Return the only column whose names several systems and participants share, each combination once.

    Examples
    --------
    >>> known = {"participant": [*"aaaaaabbbbbb"], "system": [*"xyxyxyxyxyxy"]}
    >>> item_among({"zin": [*"112233112233"], "weather": ["dry"] * 12}, known)
    'zin'
    """
    if not {"participant", "system"} <= known.keys():
        return None
    shared = [known["participant"], known["system"]]
    whole = [*shared, known["criterion"]] if "criterion" in known else shared
    found = [name for name, cells in free.items() if _names_items(cells, shared, whole)]
    return found[0] if len(found) == 1 else None


def _names_items(cells: Cells, shared: Sequence[Cells], whole: Sequence[Cells]) -> bool:
    labels = set(cells)
    if None in labels or not FEWEST_ITEMS <= len(labels) <= 0.5 * len(cells):
        return False
    if len(set(zip(cells, *whole, strict=True))) < len(cells):
        return False
    return all(len(set(zip(cells, other, strict=True))) > 1.5 * len(labels) for other in shared)


def system_among(free: Mapping[str, Cells], known: Mapping[str, Cells]) -> str | None:
    """Return the only column of few names that differ within items and within participants.

    Numbers count only where they tell apart what a participant gave to an item: ratings do not.

    Examples
    --------
    >>> known = {"participant": [*"aaaabbbb"], "item": [*"11221122"]}
    >>> system_among({"zzz": [*"xyxyxyxy"], "confidence": [*"34345434"]}, known)
    'zzz'
    """
    if not {"participant", "item"} <= known.keys():
        return None
    given = list(zip(known["participant"], known["item"], strict=True))
    found = [name for name, cells in free.items() if _names_systems(cells, given)]
    return found[0] if len(found) == 1 else None


def _names_systems(cells: Cells, given: Sequence[tuple[str | None, str | None]]) -> bool:
    labels = set(cells)
    if None in labels or not 2 <= len(labels) <= MOST_SYSTEMS:
        return False
    apart = len(set(given)) * 2 <= len(given) == len(set(zip(given, cells, strict=True)))
    if looks_like_ratings(cells) and not apart:
        return False
    people, items = ([pair[place] for pair in given] for place in (0, 1))
    if not _is_crossed(cells, items, len(labels)):
        return False
    if _is_crossed(cells, people, len(labels)):
        return True
    # a crowd, each of whom saw little: every item has all labels, and they are not those of people
    words = all(not str(label).strip().isdigit() for label in labels)
    own = len(set(zip(people, cells, strict=True))) == len(set(people))
    return words and not own and len(set(items)) >= FEWEST_ITEMS and _is_crossed(cells, items, len(labels), 0.9)


def _is_crossed(cells: Cells, groups: Cells, labels: int, share: float = 0.5) -> bool:
    """Tell whether most groups have all labels."""
    seen: dict[str | None, set[str | None]] = {}
    for group, cell in zip(groups, cells, strict=True):
        seen.setdefault(group, set()).add(cell)
    return sum(len(found) == labels for found in seen.values()) > share * len(seen)


def refuse_two_scales(sheet: Sheet, ratings: Sequence[RatingColumn]) -> None:
    """Refuse columns of one criterion of which some have few categories and others go far beyond them."""
    found: dict[str | None, dict[str, tuple[float, float]]] = {}
    for one in ratings:
        numbers = as_numbers(without_missing(sheet.columns[one.column])[0])[0]
        if np.isfinite(numbers).any():
            usual = float(np.nanquantile(numbers, 0.8))  # so that a code such as 99 does not count
            found.setdefault(one.labels.get("criterion"), {})[one.column] = (usual, float(np.nanmax(numbers)))
    for tops in found.values():
        few = {name: highest for name, (_, highest) in tops.items() if highest <= MOST_LABELS}
        many = {name: highest for name, (usual, highest) in tops.items() if usual > BEYOND}
        if few and many:
            likely = list(few if len(few) >= len(many) else many)
            raise InputError(
                f"{listed(list(few))} of {sheet.name} go up to {max(few.values()):g}, but {listed(list(many))} up to "
                f"{max(many.values()):g}; say which are ratings, such as {arg('rating', likely)}"
            )
