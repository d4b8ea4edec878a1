"""Logs of lm-evaluation-harness: a folder for each model with ``results_*.json`` and ``samples_{task}_*.jsonl``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ordbridge.errors import InputError
from ordbridge.logs.record import EvalLog, as_number
from ordbridge.reading.source import text_of

__all__ = ["read_samples"]

NAME = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d{2}-\d{2}T[\d\-.:]+)\.jsonl")
NO_METRIC = frozenset(
    ("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash", "prompt_hash",
     "target_hash")
)  # fmt: skip


def read_samples(path: Path, cluster: str | None = None) -> list[EvalLog]:
    """Read the samples of one task; the results beside them say which model it was.

    Each filter is a scorer of its own (``exact_match,strict-match``), because its lines are other readings of the same
    answers. Repeats are not scored one by one, so there is one epoch.

    Parameters
    ----------
    path
        ``samples_{task}_{date}.jsonl``.
    cluster
        Field of the documents that says which belong together.
    """
    found = NAME.fullmatch(path.name)
    task = found["task"] if found else path.stem.removeprefix("samples_")
    results = _results(path, found["date"] if found else "")
    model = results.get("model_name") or path.parent.name.replace("__", "/")
    log = EvalLog(str(path), "lm_eval", str(model), task, version=str(results.get("lm_eval_version") or ""))
    direction = (results.get("higher_is_better") or {}).get(task) or {}
    seen: dict[tuple[str, str], int] = {}
    for line in _lines(path):
        doc = line.get("doc")
        sample = str(line.get("doc_id"))
        asked = line.get("doc_hash") or json.dumps(doc, sort_keys=True)
        group = log.asked(sample, str(asked), doc if isinstance(doc, dict) else None, cluster)
        which = str(line.get("filter", "none"))
        repeat = seen[(sample, which)] = seen.get((sample, which), 0) + 1
        if repeat > 1:
            log.note("repeated-lines")
            continue
        for metric in line.get("metrics") or [name for name in line if name not in NO_METRIC]:
            name = metric if which == "none" else f"{metric},{which}"
            number = as_number(line.get(metric))
            if number is None:
                log.skipped.add(name)
                continue
            if metric in direction:
                (log.higher if direction[metric] else log.lower).add(name)
            log.add(sample, 1, name, number, group, "unscored" if number != number else None)
    return [log]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(text_of(path).split("\n"), 1):
        if line.strip():
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise InputError(f"line {number} of {path} is not JSON: {error}") from None
            if isinstance(value, dict):
                yield value


def _results(path: Path, date: str) -> dict[str, Any]:
    """Return the results of the same run, or the newest ones beside the samples."""
    beside = sorted(path.parent.glob("results_*.json"))
    same = [one for one in beside if date and date in one.name] or beside[-1:]
    if not same:
        return {}
    try:
        value = json.loads(text_of(same[0]))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
