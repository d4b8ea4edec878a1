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

from ordbridge.checks import choice
from ordbridge.errors import InputError
from ordbridge.tables import column, to_arrow
from ordbridge.writing import write_text

__all__ = ["TOOLS", "sheets"]

TOOLS = ("csv", "potato", "label-studio")
KEY = "key.csv"


def sheets(
    design: Any, target: str | PathLike[str], *, tool: str | None = None, texts: Any = None, blind: bool = True
) -> list[Path]:
    """Write who rates what, participant by participant, in the order of rating.

    Parameters
    ----------
    design
        A table ``participant, item, system`` with ``order`` if there is one, as the functions of this module make it.
    target
        A folder, which gets a CSV for each participant and ``key.csv``; or a file. ``.jsonl`` and ``.json`` are read by
        Potato and by Label Studio: one task for each rating, with the participant to whom it is assigned.
    tool
        ``"csv"``, ``"potato"`` (a JSON object a line) or ``"label-studio"`` (a list of tasks). Default: by the target's
        ending: a folder, ``.jsonl`` and ``.json``.
    texts
        A table ``item, system, text`` with what is shown. Without it, ``text`` names the item.
    blind
        Whether the system is left out of what annotators see. Potato and Label Studio show what their templates ask
        for, so their tasks always have it, as ``system``, beside ``text``; without ``blind`` the CSV has it, too.

    Returns
    -------
    list of Path
        The files written.

    Examples
    --------
    >>> import tempfile
    >>> from ordbridge.design import latin_square
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = sheets(latin_square(items=4, raters=2), folder)
    ...     print([path.name for path in written], written[0].read_text().splitlines()[0])
    ['P1.csv', 'P2.csv', 'key.csv'] order,task,item,text,rating
    """
    path = Path(target)
    tool = tool or {".jsonl": "potato", ".json": "label-studio"}.get(path.suffix.lower(), "csv")
    choice("tool", tool, TOOLS)
    tasks = list(_tasks(to_arrow(design), _texts(texts)))
    if tool == "csv":
        return _folder(tasks, path, blind)
    if not path.suffix:
        raise InputError(f"{path} is a folder; for {tool} name a file that ends in .jsonl or .json")
    made = [_potato(task) if tool == "potato" else _label_studio(task) for task in tasks]
    if path.suffix.lower() == ".jsonl":
        return [write_text(path, "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in made))]
    return [write_text(path, json.dumps(made, ensure_ascii=False, indent=1) + "\n")]


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
            raise InputError(
                f"the texts have none for item {item} of system {system}; every text of the design needs one"
            )
        shown = f"item {item}" if texts is None else texts[item, system]
        yield {
            "participant": participant,
            "order": seen[participant],
            "task": numbers[item, system],
            "item": item,
            "system": system,
            "text": shown,
        }


def _folder(tasks: list[dict[str, Any]], folder: Path, blind: bool) -> list[Path]:
    if folder.suffix:
        raise InputError(f"{folder} is a file; sheets for each participant need a folder, or a .jsonl or .json file")
    folder.mkdir(parents=True, exist_ok=True)
    shown = ["order", "task", "item", *([] if blind else ["system"]), "text"]
    written = []
    for participant in dict.fromkeys(task["participant"] for task in tasks):
        rows = [task for task in tasks if task["participant"] == participant]
        name = "".join(c if c.isalnum() or c in "-_." else "_" for c in participant)
        written.append(write_text(folder / f"{name}.csv", _csv(rows, shown, ("rating",))))
    key = {task["task"]: task for task in tasks}
    return [*written, write_text(folder / KEY, _csv(list(key.values()), ["task", "item", "system"]))]


def _csv(rows: list[dict[str, Any]], names: list[str], empty: tuple[str, ...] = ()) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*names, *empty])
    writer.writerows([[*(row[name] for name in names), *("" for _ in empty)] for row in rows])
    return text.getvalue()


def _potato(task: Mapping[str, Any]) -> dict[str, Any]:
    """Return an instance of Potato: its id names participant and text, because a text is rated by several."""
    return {"id": f"{task['participant']}-{task['task']}", **task}


def _label_studio(task: Mapping[str, Any]) -> dict[str, Any]:
    return {"data": {"id": f"{task['participant']}-{task['task']}", **task}}
