"""People and judges in one log of inspect_ai, as ratings that :mod:`ordbridge.judges` reads."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from os import PathLike
from typing import Any

import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.logs.inspect_ai import judges_of, parts_of, read_eval, read_inspect_json
from ordbridge.logs.recognise import log_files
from ordbridge.logs.record import as_number, well_formed
from ordbridge.support.formatting import enumerated
from ordbridge.support.naming import arg

__all__ = ["ratings"]

COLUMNS = ("task", "item", "sample", "system", "participant", "kind", "rating")


def ratings(paths: Any, judge: str | None = None, people: Sequence[str] | None = None) -> pa.Table:
    """Return the scores that people and one judge gave to the same answers.

    A text is one answer, a sample in one epoch; answers to the same sample belong together (``cluster="sample"``).

    Parameters
    ----------
    paths
        Logs of inspect_ai, or folders of them.
    judge
        The scorer that is the judge; by default the only one that the logs show to be a model's, or that people edited.
    people
        Scorers that hold people's scores; by default those whose name begins with ``human``. People who edited the
        judge's scores are found by the history of the scores, which also has what the judge had said.

    Returns
    -------
    pyarrow.Table
        task, item (task/sample/epoch), sample (task/sample), system (the model), participant, kind (``human`` or
        ``judge``), rating.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> scores = {"quality": {"value": 4, "metadata": {"grading": "4"}}, "human_anna": {"value": 5}}
    >>> log = {"eval": {"task_id": "t", "task": "poems", "model": "a"},
    ...        "samples": [{"id": 1, "epoch": 1, "scores": scores}]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "log.json"
    ...     _ = file.write_text(json.dumps(log))
    ...     [(row["participant"], row["kind"], row["rating"]) for row in ratings(file).to_pylist()]
    [('human_anna', 'human', 5.0), ('quality', 'judge', 4.0)]
    """
    arguments = [paths] if isinstance(paths, (str, PathLike)) else list(paths)
    logs = []
    for argument in arguments:
        for path, reader in log_files(argument):
            if reader not in (read_eval, read_inspect_json):
                raise InputError(f"{path} is not a log of inspect_ai; only these can hold people's scores")
            logs.append(parts_of(path))
    if not logs:
        raise InputError(f"{enumerated(map(str, arguments))} has no log of inspect_ai")
    scorers = list(dict.fromkeys(name for _, samples in logs for one in samples for name in one.get("scores") or {}))
    persons = [name for name in scorers if name.startswith("human")] if people is None else list(people)
    judge = _judge(judge, scorers, persons, logs)
    for name in persons:
        if name not in scorers:
            raise InputError(f"no log has the scorer {name!r}; there are {enumerated(scorers)}")
    with well_formed(arguments[0]):
        rows = [row for header, samples in logs for row in _rows(header, samples, judge, persons)]
    table = pa.Table.from_pylist(rows, schema=_SCHEMA)
    if "human" not in table["kind"].to_pylist():
        raise InputError(
            f"the logs have no scores by people beside {judge}: no scorers named human_… (or {arg('people')}), no "
            "edited scores"
        )
    return table


_SCHEMA = pa.schema([(name, pa.float64() if name == "rating" else pa.string()) for name in COLUMNS])


def _judge(
    judge: str | None, scorers: list[str], people: list[str], logs: list[tuple[dict[str, Any], list[Any]]]
) -> str:
    if judge is not None:
        if judge not in scorers:
            raise InputError(f"no log has the scorer {judge!r}; there are {enumerated(scorers)}")
        return judge
    found = {name for header, samples in logs for name in judges_of(header.get("eval") or {}, samples)}
    found |= {
        name
        for _, samples in logs
        for one in samples
        for name, score in (one.get("scores") or {}).items()
        if isinstance(score, dict) and score.get("history")
    }
    found -= set(people)
    if len(found) != 1:
        raise InputError(f"which scorer is the judge? Name one of {enumerated(scorers)}: {arg('judge')}")
    return found.pop()


def _rows(
    header: dict[str, Any], samples: Sequence[Any], judge: str, people: Sequence[str]
) -> Iterator[dict[str, Any]]:
    about = header.get("eval") or {}
    for one in samples:
        sample = f"{about.get('task')}/{one.get('id')}"
        text = {"task": str(about.get("task")), "item": f"{sample}/{one.get('epoch') or 1}", "sample": sample,
                "system": str(about.get("model"))}  # fmt: skip
        scores = one.get("scores") or {}
        for name in people:
            if name in scores:
                yield from _row(text, name, "human", scores[name].get("value"))
        if judge in scores:
            yield from _of_judge(text, judge, scores[judge])


def _of_judge(text: dict[str, str], judge: str, score: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what the judge said, and the last word of each person who edited it."""
    history = [one for one in score.get("history") or [] if isinstance(one, dict)]
    if not history:
        yield from _row(text, judge, "judge", score.get("value"))
        return
    current, edits = None, {}
    for edit in history:
        value = current if edit.get("value") == "UNCHANGED" else edit.get("value")
        if edit.get("provenance"):
            edits[str(edit["provenance"].get("author") or "editor")] = value
        elif current is None:
            yield from _row(text, judge, "judge", value)
        current = value
    for author, value in edits.items():
        yield from _row(text, author, "human", value)


def _row(text: dict[str, str], who: str, kind: str, value: Any) -> Iterator[dict[str, Any]]:
    number = as_number(value)
    if number is not None and not math.isnan(number):
        yield {**text, "participant": who, "kind": kind, "rating": number}
