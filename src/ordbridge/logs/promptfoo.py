"""Results of promptfoo in JSON."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from ordbridge.errors import InputError
from ordbridge.logs.record import EvalLog, as_number
from ordbridge.reading.source import text_of

__all__ = ["read_promptfoo"]

ERROR = 2  # failureReason of a call that failed


def read_promptfoo(path: Path, cluster: str | None = None) -> list[EvalLog]:
    """Read what ``promptfoo eval --output FILE.json`` writes; tests with the same variables are repeats of one item.

    Parameters
    ----------
    path
        The file.
    cluster
        Variable that says which tests belong together.
    """
    try:
        content = json.loads(text_of(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON: {error}") from None
    inner = content.get("results")
    rows = inner.get("results") if isinstance(inner, dict) else inner
    if not isinstance(rows, list) or not rows:
        raise InputError(f"{path} has no results of promptfoo")
    rows = [row for row in rows if isinstance(row, dict)]
    version = str((content.get("metadata") or {}).get("promptfooVersion") or "")
    task = str((content.get("config") or {}).get("description") or "promptfoo")
    prompts = {row.get("promptIdx") for row in rows}
    logs: dict[str, EvalLog] = {}
    seen: dict[tuple[str, str], int] = {}
    for row in rows:
        provider = row.get("provider") or {}
        model = str((provider.get("label") or provider.get("id")) if isinstance(provider, dict) else provider)
        if len(prompts) > 1:
            model = f"{model}, prompt {row.get('promptIdx')}"
        log = logs.setdefault(model, EvalLog(str(path), "promptfoo", model, task, version=version))
        variables = row.get("vars") or (row.get("testCase") or {}).get("vars") or {}
        sample = _key(variables) if variables else f"test {row.get('testIdx')}"
        group = log.asked(sample, None, variables, cluster)
        epoch = seen[(model, sample)] = seen.get((model, sample), 0) + 1
        failed = row.get("failureReason") == ERROR or (bool(row.get("error")) and row.get("failureReason") is None)
        parts = (row.get("gradingResult") or {}).get("componentResults") or []
        unjudged = any((part.get("metadata") or {}).get("graderError") for part in parts)
        scores = {"success": row.get("success"), "score": row.get("score"), **(row.get("namedScores") or {})}
        for name, value in scores.items():
            number = math.nan if failed or unjudged else as_number(value)
            if number is None:
                log.skipped.add(name)
            else:
                trouble = "error" if failed else "unscored" if math.isnan(number) else None
                log.add(sample, epoch, name, number, group, trouble)
    return list(logs.values())


def _key(variables: dict[str, Any]) -> str:
    """Return the variables of a test as one text."""
    if len(variables) == 1:
        return str(next(iter(variables.values())))
    return json.dumps(variables, sort_keys=True, ensure_ascii=False)
