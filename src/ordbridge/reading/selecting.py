"""Parts of a sheet: columns to leave out, rows that fulfil a condition, names made of two columns."""

from __future__ import annotations

import difflib
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from ordbridge.errors import InputError
from ordbridge.reading.parts import IDS, Asked, listed
from ordbridge.reading.sheet import Sheet
from ordbridge.reading.values import as_numbers
from ordbridge.reading.vocabulary import plain
from ordbridge.results.finding import found as noticed
from ordbridge.support.naming import arg

__all__ = ["column_named", "ignoring", "with_composites", "with_rows"]

_CONDITION = re.compile(r"\s*(.+?)\s*(==|!=|<=|>=|<|>|=|\bin\b)\s*(.+?)\s*", re.DOTALL)
_ORDERED: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def column_named(sheet: Sheet, name: str, what: str) -> str:
    """Return the column that a user means, whose case and blanks need not be exact."""
    for same in (lambda a: a == name, lambda a: plain(a) == plain(name)):
        found = [column for column in sheet.header if same(column)]
        if len(found) == 1:
            return found[0]
    near = difflib.get_close_matches(name, sheet.header, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise InputError(f"there is no column {name!r} for {what}; {sheet.name} has: {listed(sheet.header, most=30)}{hint}")


def ignoring(sheet: Sheet, columns: Sequence[str]) -> Sheet:
    """Return the sheet without some columns."""
    left = {column_named(sheet, name, arg("ignore")) for name in columns}
    return sheet.with_columns({name: cells for name, cells in sheet.columns.items() if name not in left})


def with_rows(sheet: Sheet, where: str) -> Sheet:
    """Return the rows for which a condition holds, such as ``"split == test and score > 2"``.

    Examples
    --------
    >>> import numpy as np
    >>> sheet = Sheet({"split": ["test", "dev", "test"], "n": ["1", "2", "3"]}, np.arange(1, 4), "x.csv")
    >>> with_rows(sheet, "split == test and n > 1").columns["n"]
    ['3']
    >>> with_rows(sheet, "split in dev, train").columns["n"]
    ['2']
    """
    keep = [True] * len(sheet)
    for part in re.split(r"\s+and\s+", where):
        match = _CONDITION.fullmatch(part)
        if match is None:
            raise InputError(
                f"{arg('where', where)} is not a condition; write for example {arg('where', 'split == test')}, with "
                "==, !=, <, <=, >, >=, in and 'and'"
            )
        name, sign, value = match.groups()
        cells = sheet.columns[column_named(sheet, name.strip("`'\""), arg("where"))]
        holds = _holds(cells, sign, value, where)
        keep = [kept and one for kept, one in zip(keep, holds, strict=True)]
    if not any(keep):
        raise InputError(f"no row of {sheet.name} has {where}")
    return sheet.only(keep).noting(noticed("rows-chosen", where=where, n=sum(keep), of=len(keep)))


def _holds(cells: Sequence[str | None], sign: str, value: str, where: str) -> list[bool]:
    if sign in _ORDERED:
        limit = as_numbers([value])[0][0]
        if limit != limit:
            raise InputError(f"{arg('where', where)} compares with {value!r}, which is not a number")
        return [bool(_ORDERED[sign](number, limit)) for number in as_numbers(cells)[0]]
    wanted = {_bare(one) for one in (value.strip("[](){}").split(",") if sign == "in" else [value])}
    there = [_bare(cell or "") in wanted for cell in cells]
    return [not one for one in there] if sign == "!=" else there


def _bare(text: str) -> str:
    bare = text.strip().strip("'\"").strip()
    return re.sub(r"^(-?\d+)\.0+$", r"\1", bare)


def with_composites(sheet: Sheet, asked: Asked) -> tuple[Sheet, Asked]:
    """Put columns together where a role was given as ``"doc,seg"``.

    Examples
    --------
    >>> import numpy as np
    >>> sheet = Sheet({"doc": ["a", "b"], "seg": ["1", "1"]}, np.arange(1, 3), "x.csv")
    >>> sheet, asked = with_composites(sheet, Asked(item="doc,seg"))
    >>> asked.item, sheet.columns[asked.item]
    ('doc + seg', ['a 1', 'b 1'])
    """
    for role in IDS:
        given = getattr(asked, role)
        if given is None or "," not in given or given in sheet.columns:
            continue
        columns = [column_named(sheet, name.strip(), f"the {role}") for name in given.split(",")]
        title = " + ".join(columns)
        rows = zip(*(sheet.columns[name] for name in columns), strict=True)
        cells = [None if None in row else " ".join(str(cell).strip() for cell in row) for row in rows]
        sheet = sheet.with_columns({**sheet.columns, title: cells})
        asked = replace(asked, **{role: title})  # type: ignore[arg-type]
    return sheet, asked
