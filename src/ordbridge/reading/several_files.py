"""Several files of one study as one sheet: a file per rater, per system or per batch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ordbridge.errors import InputError
from ordbridge.reading.parts import FILE, listed
from ordbridge.reading.sheet import Sheet
from ordbridge.results.finding import found as noticed

__all__ = ["file_names", "together"]


def together(paths: Sequence[Path], sheets: Sequence[Sheet]) -> Sheet:
    """Return the rows of files with the same columns, and a column ``file`` with their names."""
    first = sheets[0]
    for path, sheet in zip(paths, sheets, strict=True):
        other = [name for name in first.header if name not in sheet.columns]
        other += [name for name in sheet.header if name not in first.columns]
        if other:
            raise InputError(
                f"{paths[0].name} and {path.name} have different columns ({listed(other)}); files that are read together "
                "need the same ones"
            )
    names = file_names(paths)
    title = FILE if FILE not in first.columns else "name of the file"
    columns: dict[str, list[str | None]] = {
        title: [name for name, sheet in zip(names, sheets, strict=True) for _ in range(len(sheet))]
    }
    columns |= {name: [cell for sheet in sheets for cell in sheet.columns[name]] for name in first.header}
    said = noticed("files-together", n=len(paths), column=title, names=listed(names))
    notes = tuple(dict.fromkeys(note for sheet in sheets for note in sheet.notes))
    rows = np.concatenate([sheet.rows for sheet in sheets])
    return Sheet(columns, rows, f"{len(paths)} files", (*notes, said), first.orders, parts=title)


def file_names(paths: Sequence[Path]) -> list[str]:
    """Return what tells files apart: their names without ending, or the folders that they are in.

    Examples
    --------
    >>> file_names([Path("bt5/primary.json"), Path("cyc/primary.json")]), file_names([Path("a.csv"), Path("b.csv")])
    (['bt5', 'cyc'], ['a', 'b'])
    """
    ways = ([path.name.split(".")[0] for path in paths], [path.parent.name for path in paths], [*map(str, paths)])
    return next((names for names in ways if len(set(names)) == len(names)), [f"{p} ({n})" for n, p in enumerate(paths)])
