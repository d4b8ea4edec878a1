"""``ob.logs.read``: logs of one or several harnesses as one Arrow table."""

from __future__ import annotations

import gc
import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.logs.recognise import log_files
from ordbridge.logs.record import EvalLog, well_formed
from ordbridge.results.finding import Finding, found, worst_first
from ordbridge.support.arguments import choice
from ordbridge.support.formatting import enumerated
from ordbridge.support.naming import arg

__all__ = ["RUNS", "about", "as_table", "log_table"]

COLUMNS = ("model", "task", "sample", "epoch", "scorer", "score", "cluster", "error")
RUNS = ("ask", "epochs", "latest")
KEY = b"ordbridge.logs"
GROUPS = ("passage", "document", "context", "article", "story", "paragraph", "group", "cluster", "topic_id", "group_id")
"""Fields that usually say which items belong together."""


def log_table(paths: Any, *, cluster: str | None = None, runs: str = "ask") -> pa.Table:
    """Read logs of evaluations; see :func:`ordbridge.logs.read`."""
    choice("runs", runs, RUNS)
    arguments = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    logs: list[EvalLog] = []
    for argument in arguments:
        if not Path(argument).exists():
            raise InputError(f"there is no file {argument}")
        files = list(log_files(argument))
        if not files:
            raise InputError(f"{argument} has no log of inspect_ai, lm-eval, promptfoo, MT-bench or AlpacaEval")
        for path, reader in files:
            with well_formed(path), _collector_off():
                read = reader(path, cluster)
            for log in read:
                log.argument = str(argument)
                logs.append(log)
    noticed: list[Finding] = []
    logs = _without_reference(logs)
    logs = _one_per_task(logs, runs, noticed)
    if _are_versions({log.argument for log in logs}):  # the first argument first
        logs.sort(key=lambda log: ([str(one) for one in arguments].index(log.argument), log.model, log.task))
    else:  # names of files may be random
        logs.sort(key=lambda log: (log.model, log.task))
    _same_content(logs, noticed)
    _clusters(logs, cluster, noticed)
    noticed += _noticed(logs)
    return as_table(logs, noticed)


@contextmanager
def _collector_off() -> Iterator[None]:
    """Let Python not look for cycles while a log is parsed: it has none, and looking takes as long as parsing."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def about(table: pa.Table) -> dict[str, Any]:
    """Return what :func:`log_table` noted beside the rows: the logs, directions of scorers, findings."""
    kept = (table.schema.metadata or {}).get(KEY)
    if kept is None or not set(COLUMNS) <= set(table.column_names):
        raise InputError("this table does not come from ordbridge.logs.read; give the logs themselves")
    value: dict[str, Any] = json.loads(kept)
    value["findings"] = [Finding(*one) for one in value["findings"]]
    return value


def _without_reference(logs: list[EvalLog]) -> list[EvalLog]:
    """Leave out AlpacaEval's reference where there are several other models."""
    others = {log.model for log in logs if log.status != "reference"}
    return [log for log in logs if log.status != "reference"] if len(others) > 1 else logs


def _one_per_task(logs: list[EvalLog], runs: str, noticed: list[Finding]) -> list[EvalLog]:
    """Settle what several logs of the same model and task are: unfinished runs, two versions, or repetitions."""
    logs = _finished(logs, noticed)
    again = [same for same in _grouped(logs, "model", "task") if len(same) > 1]
    apart = all(len({log.argument for log in same}) == len(same) for same in again)
    if again and apart and runs == "ask" and _are_versions({log.argument for log in logs}):
        twice = {log.model for same in again for log in same}  # the same model in two folders: two versions of it
        for log in logs:
            if log.model in twice:
                log.model = f"{log.model} ({log.argument})"
        return logs
    kept: list[EvalLog] = []
    for same in _grouped(logs, "model", "task"):
        model, task = same[0].model, same[0].task
        if len(same) > 1 and runs == "latest":
            noticed.append(found("older-runs", task, n=len(same) - 1, model=model))
            same = same[-1:]
        elif len(same) > 1 and runs == "epochs":
            noticed.append(found("runs-as-epochs", task, n=len(same), model=model))
            for number, log in enumerate(same):
                log.epoch = [number * 100_000 + epoch for epoch in log.epoch]
        elif len(same) > 1:
            files = enumerated([Path(log.source).name for log in same], most=4)
            raise InputError(
                f"{model} has {len(same)} logs of the task {task} ({files}); give one of them, {arg('runs', 'epochs')} "
                f"if they are repetitions, or {arg('runs', 'latest')}"
            )
        kept += same
    return kept


def _are_versions(arguments: set[str]) -> bool:
    """Tell whether arguments stand for themselves, as two files or folders do, and not a pattern of the shell."""
    return len(arguments) == 2 or all(Path(one).is_dir() for one in arguments)


def _finished(logs: list[EvalLog], noticed: list[Finding]) -> list[EvalLog]:
    """Leave out runs that did not finish where one that did is beside them."""
    kept: list[EvalLog] = []
    for same in _grouped(logs, "folder", "model", "task"):
        whole = [log for log in same if log.status in ("success", "reference")]
        if whole and len(whole) < len(same):
            noticed.append(found("failed-runs", same[0].task, n=len(same) - len(whole), model=same[0].model))
            same = whole
        kept += same
    return kept


def _grouped(logs: list[EvalLog], *names: str) -> list[list[EvalLog]]:
    groups: dict[tuple[str, ...], list[EvalLog]] = {}
    for log in logs:
        groups.setdefault(tuple(getattr(log, name) for name in names), []).append(log)
    return list(groups.values())


def _same_content(logs: list[EvalLog], noticed: list[Finding]) -> None:
    """Keep samples apart that have the same id but asked different things in different logs."""
    for task in dict.fromkeys(log.task for log in logs):
        contents: dict[str, set[int]] = {}
        mine = [log for log in logs if log.task == task]
        for log in mine:
            for sample, key in log.content.items():
                contents.setdefault(sample, set()).add(key)
        changed = {sample for sample, keys in contents.items() if len(keys) > 1}
        if changed:
            noticed.append(found("items-differ", task, n=len(changed), items=sorted(changed)[:3]))
            for log in mine:
                log.sample = [
                    f"{one}#{log.content[one]:08x}" if one in changed and one in log.content else one
                    for one in log.sample
                ]


def _clusters(logs: list[EvalLog], cluster: str | None, noticed: list[Finding]) -> None:
    """Check that the named field is there, or say that there is one that could be named."""
    if cluster is not None:
        missing = [log for log in logs if any(one is None for one in log.cluster)]
        if missing:
            fields = sorted({name for log in missing for name in log.fields})
            there = f"; there are {enumerated(fields, most=12)}" if fields else ""
            raise InputError(f"{missing[0].source} has samples without the field {cluster!r}{there}")
        return
    for log in logs:
        samples = len(set(log.sample))
        for name in GROUPS:
            if 1 < len(log.fields.get(name, ())) <= samples / 2 and log.cluster[:1] == [None]:
                noticed.append(found("clusters-possible", field=name, n=len(log.fields[name]), items=samples))
                return


def _noticed(logs: list[EvalLog]) -> list[Finding]:
    notes: list[Finding] = []
    for log in logs:
        if log.status not in ("success", "reference"):
            answers = len(set(zip(log.sample, log.epoch, strict=True)))
            notes.append(found("log-unfinished", log.task, model=log.model, status=log.status, n=answers))
        for code, n in log.notes.items():
            notes.append(found(code, log.task, model=log.model, n=n))
    skipped = sorted({name for log in logs for name in log.skipped} - {name for log in logs for name in log.scorer})
    if skipped:
        notes.append(found("scorers-not-numbers", names=skipped[:5]))
    return notes


def as_table(logs: Sequence[EvalLog], noticed: Sequence[Finding]) -> pa.Table:
    """Return logs as one table, which carries what is known about them."""
    try:
        parts = [
            pa.table(
                {
                    "model": pa.repeat(pa.scalar(log.model), len(log.score)),
                    "task": pa.repeat(pa.scalar(log.task), len(log.score)),
                    "sample": pa.array(log.sample, pa.string()),
                    "epoch": pa.array(log.epoch, pa.int64()),
                    "scorer": pa.array(log.scorer, pa.string()),
                    "score": pa.array(np.array(log.score, dtype=float), pa.float64(), from_pandas=True),
                    "cluster": pa.array(log.cluster, pa.string()),
                    "error": pa.array(log.trouble, pa.string()),
                }
            )
            for log in logs
        ]
        kept = {
            "logs": [_row(log) for log in logs],
            "lower": sorted({name for log in logs for name in log.lower}),
            "higher": sorted({name for log in logs for name in log.higher}),
            "percent": sorted({name for log in logs for name in log.percent}),
            "judges": {name: judge for log in logs for name, judge in log.judges.items()},
            "findings": [[one.code, one.severity, one.subject, dict(one.values)] for one in worst_first(noticed)],
        }
        metadata = {KEY: json.dumps(kept, ensure_ascii=False).encode()}
    except UnicodeEncodeError:
        raise InputError("a log holds text that is not valid Unicode (half of a character); correct it") from None
    return pa.concat_tables(parts).replace_schema_metadata(metadata)


def _row(log: EvalLog) -> dict[str, Any]:
    """Return what one log is, for the first line of an answer."""
    answers = set(zip(log.sample, log.epoch, strict=True))
    troubled = {row for row in zip(log.sample, log.epoch, log.trouble, strict=True) if row[2]}
    counted = Counter(trouble for _, _, trouble in troubled)
    return {
        "file": log.source, "harness": log.harness, "version": log.version or None, "model": log.model,
        "task": log.task, "status": log.status, "answers": len(answers),
        "items": len(set(log.sample)), "errors": counted["error"], "limits": counted["limit"],
        "no_answers": counted["no answer"], "unscored": counted["unscored"],
    }  # fmt: skip
