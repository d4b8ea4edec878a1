"""Which files are logs of evaluations, and of which harness."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ordbridge.errors import InputError
from ordbridge.logs import inspect_ai, judgements, lm_eval, promptfoo
from ordbridge.logs.record import EvalLog

__all__ = ["is_log", "log_files"]

HEAD = 65_536  # bytes that show what a JSON file is
Reader = Callable[[Path, str | None], list[EvalLog]]

_PROMPTFOO = re.compile(rb'"results"\s*:\s*\{.{0,2000}?"(?:results|prompts|version)"\s*:', re.DOTALL)
_PROMPTFOO_ROW = re.compile(rb'"(?:promptIdx|promptId|evalId|gradingResult)"\s*:')
_INSPECT = re.compile(rb'"eval"\s*:\s*\{')
_SAMPLES = re.compile(rb'"(?:task_id|run_id|eval_id|task_version)"\s*:')


def reader_of(path: Path) -> Reader | None:
    """Return what reads a file, or None if it is not a log."""
    name = path.name.lower()
    if name.endswith(".eval"):
        return inspect_ai.read_eval
    if not name.endswith((".json", ".jsonl")):
        return None
    try:
        with open(path, "rb") as stream:
            head = stream.read(HEAD)
    except OSError:
        return None
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if name.endswith(".jsonl") or not text.startswith((b"{", b"[")):
        return _of_lines(text)
    if text.startswith(b"["):
        return judgements.read_alpaca_eval if b'"generator_2"' in head and b'"preference"' in head else None
    if _INSPECT.search(head) and _SAMPLES.search(head):
        return inspect_ai.read_inspect_json
    if _PROMPTFOO.search(head) and _PROMPTFOO_ROW.search(head):
        return promptfoo.read_promptfoo
    return None


def _of_lines(text: bytes) -> Reader | None:
    first = text.partition(b"\n")[0]
    names = _names(first)
    if {"doc_id", "resps"} <= names or {"doc_id", "filtered_resps"} <= names:
        return lm_eval.read_samples
    return judgements.read_mt_bench if {"question_id", "model", "judge", "score"} <= names else None


def _names(line: bytes) -> set[str]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):  # a line longer than what was read
        return {found.decode("utf-8", "replace") for found in re.findall(rb'"(\w+)"\s*:', line)}
    return set(value) if isinstance(value, dict) else set()


def log_files(argument: Any) -> Iterator[tuple[Path, Reader]]:
    """Yield the logs that an argument means: itself, or those in the folder, each with what reads it."""
    path = Path(argument)
    if not path.is_dir():
        reader = reader_of(path)
        if reader is not None:
            yield path, reader
        return
    for folder, below, names in os.walk(path):
        below.sort()
        for name in sorted(names):
            reader = reader_of(Path(folder) / name)
            if reader is not None:
                yield Path(folder) / name, reader


def is_log(paths: Any) -> bool:
    """Tell whether these are logs of an evaluation harness: a file, a folder, or several of them.

    Parameters
    ----------
    paths
        A path or a sequence of paths; anything else is not a log.

    Examples
    --------
    >>> is_log("ratings.csv"), is_log(["run.eval"])
    (False, True)
    """
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    if not isinstance(paths, Sequence) or not paths or not all(isinstance(one, (str, os.PathLike)) for one in paths):
        return False
    try:
        found = [next(log_files(one), None) is not None for one in paths]
    except (OSError, ValueError):
        return False
    if any(found) and not all(found):
        other = paths[found.index(False)]
        raise InputError(f"{other} is not a log of an evaluation, although others are; give logs only")
    return all(found)
