"""Why each column was taken for what it is: what its name says, and what its cells say."""

from __future__ import annotations

from ordbridge.reading.parts import IDS, short_name
from ordbridge.reading.properties import is_constant, property_of
from ordbridge.reading.rating_table import RatingTable
from ordbridge.reading.sheet import Sheet
from ordbridge.reading.values import as_numbers, without_missing
from ordbridge.reading.vocabulary import is_aside, is_criterion, rank_of
from ordbridge.results.finding import Finding
from ordbridge.results.finding import found as noticed

__all__ = ["evidence"]

MOST_CELLS = 20_000  # rows that are looked at
SURENESS = ("its name says so", "its name is usual for it", "its name may mean it")


def evidence(sheet: Sheet, ratings: RatingTable) -> tuple[Finding, ...]:
    """Return one finding per column: its role with the reasons, or why it has none."""
    if len(sheet) > MOST_CELLS:
        sheet = sheet.only([place < MOST_CELLS for place in range(len(sheet))])
    roles = {name: role for role, names in ratings.taken_from.items() for name in names}
    found = []
    for name, cells in sheet.columns.items():
        content = _content(sheet, name, cells)
        role = roles.get(name, "")
        if not role:
            aside = "its name is that of a remark, time or property; " if is_aside(short_name(name)) else ""
            found.append(noticed("evidence-against", column=name, content=f"{aside}{content}"))
            continue
        rank = rank_of(role, short_name(name))
        said = "it is called a criterion" if is_criterion(short_name(name)) and role == "rating" else (
            "its name does not say it" if rank is None else SURENESS[rank]
        )  # fmt: skip
        found.append(noticed("evidence", column=name, role=role, name=said, content=content))
    return tuple(found)


def _content(sheet: Sheet, name: str, cells: list[str | None]) -> str:
    kept = [cell for cell in without_missing(cells)[0] if cell is not None]
    labels = set(kept)
    if is_constant(cells):
        return "it always holds the same"
    numbers = as_numbers(kept)[0]
    what = f"{len(labels)} different cells in {len(kept)} rows"
    if len(kept) and (numbers == numbers).mean() > 0.8:
        what += f", numbers from {numbers[numbers == numbers].min():g} to {numbers[numbers == numbers].max():g}"
    owner = None if any(rank_of(role, short_name(name)) in (0, 1) for role in IDS) else property_of(sheet, name)
    return f"{what}, the same for every {owner!r}" if owner else what
