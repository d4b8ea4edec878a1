"""Assignment sheets for annotators: a CSV for each participant, or one file that an annotation tool imports.

What to rate is known by item and system; where the texts themselves are given, the sheets have them. System names stay
out of what annotators see: a text has a number instead, and a key says which text it was.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.reading.tables import column, to_arrow
from ordbridge.support.escaping import for_spreadsheet
from ordbridge.support.writing import write_text

KEY = "key.csv"


def sheets(design: Any, target: str | PathLike[str], *, texts: Any = None) -> list[Path]:
    """Write who rates what, participant by participant, in the order of rating.

    Parameters
    ----------
    design
        A table ``participant, item, system`` with ``order`` if there is one, as the functions of this module make it.
    target
        A folder gets a CSV for each participant, without the names of the systems, and ``key.csv``, which has them. A
        file has one task for each rating, with its ``participant``: ``.jsonl`` (a task a line) is imported by Potato
        and by Label Studio's storages, ``.json`` (a list) by Label Studio's upload. These tasks have the ``system``
        beside the ``text``; what annotators see is up to the tool's template.
    texts
        A table ``item, system, text`` with what is shown. Without it, ``text`` names the item.

    Returns
    -------
    list of Path
        The files written.

    Examples
    --------
    >>> import tempfile
    >>> from ordbridge.design import latin_square
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = sheets(latin_square(items=4, raters=2, systems=2), folder)
    ...     print([path.name for path in written], written[0].read_text().splitlines()[0])
    ['P01.csv', 'P02.csv', 'key.csv'] order,task,item,text,rating
    """
    path = Path(target)
    tasks = list(_tasks(to_arrow(design), _texts(texts)))
    kind = path.suffix.lower()
    if kind == ".jsonl":
        return [write_text(path, "".join(json.dumps(task, ensure_ascii=False) + "\n" for task in tasks))]
    if kind == ".json":
        return [write_text(path, json.dumps(tasks, ensure_ascii=False, indent=1) + "\n")]
    if kind and not path.is_dir():
        raise InputError(f"cannot write sheets to {path}; name a folder, or a file that ends in .jsonl or .json")
    return _folder(tasks, path)


def _texts(texts: Any) -> dict[tuple[str, str], str] | None:
    if texts is None:
        return None
    table = to_arrow(texts)
    columns = [[str(v) for v in column(table, name, name).to_pylist()] for name in ("item", "system", "text")]
    return {(item, system): text for item, system, text in zip(*columns, strict=True)}


def _tasks(table: pa.Table, texts: Mapping[tuple[str, str], str] | None) -> Iterator[dict[str, Any]]:
    """Go through the ratings to be made, participant by participant, and number the texts."""
    rows = [[str(v) for v in column(table, name, name).to_pylist()] for name in ("participant", "item", "system")]
    order = table["order"].to_pylist() if "order" in table.column_names else list(range(table.num_rows))
    first = {name: place for place, name in reversed(list(enumerate(rows[0])))}
    numbers: dict[tuple[str, str], str] = {}
    for text in sorted({(item, system) for _, item, system in zip(*rows, strict=True)}):
        numbers[text] = f"T{len(numbers) + 1}"
    seen: dict[str, int] = {}
    by_participant = sorted(zip(order, *rows, strict=True), key=lambda row: (first[row[1]], row[0]))
    for _, participant, item, system in by_participant:
        seen[participant] = seen.get(participant, 0) + 1
        if texts is not None and (item, system) not in texts:
            raise InputError(f"there is no text for item {item} of system {system}; every text of the design needs one")
        shown = f"item {item}" if texts is None else texts[item, system]
        task = numbers[item, system]
        yield {
            "id": f"{participant}-{task}",  # a text is rated by several, and tools want an id for each task
            "participant": participant,
            "order": seen[participant],
            "task": task,
            "item": item,
            "system": system,
            "text": shown,
        }


def _folder(tasks: list[dict[str, Any]], folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    shown = ["order", "task", "item", "text"]
    written = []
    for participant in dict.fromkeys(task["participant"] for task in tasks):
        rows = [task for task in tasks if task["participant"] == participant]
        name = "".join(c if c.isalnum() or c in "-_." else "_" for c in participant)
        written.append(write_text(folder / f"{name}.csv", _csv(rows, shown, ("rating",))))
    key = {task["task"]: task for task in tasks}
    return [*written, write_text(folder / KEY, _csv(list(key.values()), ["task", "item", "system"]))]


def _csv(rows: list[dict[str, Any]], names: list[str], empty: tuple[str, ...] = ()) -> str:
    text = io.StringIO()
    writer, empty_cells = csv.writer(text, lineterminator="\n"), [""] * len(empty)
    writer.writerow([*names, *empty])
    for row in rows:
        cells = (row[name] for name in names)
        writer.writerow([*(for_spreadsheet(cell) if isinstance(cell, str) else cell for cell in cells), *empty_cells])
    return text.getvalue()
