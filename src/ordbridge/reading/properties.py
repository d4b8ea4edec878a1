"""What a column cannot be by its content: a property of texts or raters is no rating, a text is no rater."""

from __future__ import annotations

from collections.abc import Sequence

from ordbridge.reading.cell_types import is_missing
from ordbridge.reading.parts import short_name
from ordbridge.reading.sheet import Sheet
from ordbridge.reading.values import as_numbers
from ordbridge.reading.vocabulary import rank_of

__all__ = ["is_constant", "may_name_raters", "property_of", "shared_source"]

ENOUGH = 8  # names with several rows, before a column that never differs within them is called their property
LONG = 60  # letters; so long cells are texts

Cells = Sequence[str | None]


def is_constant(cells: Cells) -> bool:
    """Tell whether all cells that are not empty hold the same, as a filler does."""
    return len({cell.strip() for cell in cells if cell is not None and not is_missing(cell)}) < 2


def property_of(sheet: Sheet, name: str) -> str | None:
    """Return the column whose names decide what stands in another one, such as the text that a length belongs to.

    Examples
    --------
    >>> import numpy as np
    >>> texts = [f"t{n}" for n in range(10) for _ in range(2)]
    >>> columns = {"text": texts, "words": [str(9 + n // 2 % 4) for n in range(20)], "score": [*"1234512345"] * 2}
    >>> sheet = Sheet(columns, np.arange(20), "x.csv")
    >>> property_of(sheet, "words"), property_of(sheet, "score")
    ('text', None)
    """
    cells = sheet.columns[name]
    for other in sheet.header:
        if other == name or not any(rank_of(role, short_name(other)) is not None for role in ("participant", "item")):
            continue
        seen: dict[str | None, set[str | None]] = {}
        rows: dict[str | None, int] = {}
        for label, cell in zip(sheet.columns[other], cells, strict=True):
            seen.setdefault(label, set()).add(cell)
            rows[label] = rows.get(label, 0) + 1
        several = [label for label, count in rows.items() if count > 1]
        if len(several) >= ENOUGH and all(len(seen[label]) == 1 for label in several):
            return other
    return None


def may_name_raters(sheet: Sheet, name: str) -> bool:
    """Tell whether a column may name people: short names that come again, and no fractions."""
    cells = [cell for cell in sheet.columns[name] if not is_missing(cell)]
    labels = set(cells)
    if not 2 <= len(labels) <= max(2, len(cells) // 2) or any(len(str(label)) > LONG for label in labels):
        return False
    numbers = as_numbers([*labels])[0]
    return not bool((numbers % 1 > 0).any()) and property_of(sheet, name) is None


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
