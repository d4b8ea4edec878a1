"""Logs of inspect_ai: ``.eval``, a zip file of JSON, and ``.json``."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ordbridge.errors import InputError
from ordbridge.logs.record import EvalLog, numbers_in
from ordbridge.logs.zipped import Zipped
from ordbridge.reading.source import text_of

__all__ = ["judges_of", "parts_of", "read_eval", "read_inspect_json", "scores_of"]

SUMMARIES = re.compile(r"_journal/summaries/(\d+)\.json")


def read_eval(path: Path, cluster: str | None = None) -> list[EvalLog]:
    """Read a ``.eval`` file: its header and summaries, or the journal where the run was interrupted.

    Parameters
    ----------
    path
        The file.
    cluster
        Field of the samples' metadata that says which belong together.
    """
    header, samples = eval_parts(path, whole=False)
    if cluster is not None and not any("metadata" in one for one in samples):
        header, samples = eval_parts(path, whole=True)  # summaries of old releases have no metadata
    return [_log(path, header, samples, cluster)]


def eval_parts(path: Path, whole: bool) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the header and the samples of a ``.eval`` file, ``whole`` or as their summaries."""
    archive = Zipped(path)
    names = set(archive.names)
    if "header.json" in names:
        header = _json(archive.member("header.json"), path)
    elif "_journal/start.json" in names:
        header = {**_json(archive.member("_journal/start.json"), path), "status": "started"}
    else:
        raise InputError(f"{path} is not a log of inspect_ai: it has neither header.json nor _journal/start.json")
    if whole:
        parts = [[_json(archive.member(name), path)] for name in archive.names if name.startswith("samples/")]
    elif "summaries.json" in names:
        parts = [_json(archive.member("summaries.json"), path)]
    else:
        journal = sorted((int(found[1]), name) for name in names if (found := SUMMARIES.fullmatch(name)))
        parts = [_json(archive.member(name), path) for _, name in journal]
    return header, [sample for part in parts for sample in part if isinstance(sample, dict)]


def read_inspect_json(path: Path, cluster: str | None = None) -> list[EvalLog]:
    """Read a log in one JSON object."""
    return [_log(path, *parts_of(path), cluster)]


def parts_of(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the header and the samples of a log in either format."""
    if path.name.lower().endswith(".eval"):
        return eval_parts(path, whole=False)
    content = _json(text_of(path), path)
    return content, [one for one in content.get("samples") or [] if isinstance(one, dict)]


def _json(content: bytes | str, path: Path) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is damaged: {error}") from None


def _log(path: Path, header: Mapping[str, Any], samples: Iterable[Mapping[str, Any]], cluster: str | None) -> EvalLog:
    about = header.get("eval") or {}
    if not about.get("model") or not about.get("task"):
        raise InputError(f"{path} does not say which model was evaluated in which task")
    log = EvalLog(
        str(path), "inspect_ai", str(about["model"]), str(about["task"]),
        version=str((about.get("packages") or {}).get("inspect_ai", "")), status=str(header.get("status", "success")),
    )  # fmt: skip
    samples = list(samples)
    named = [one.get("name") for one in about.get("scorers") or [] if isinstance(one, dict)]
    scorers = list(
        dict.fromkeys([*filter(None, named), *(name for one in samples for name in one.get("scores") or {})])
    )
    errored: list[tuple[str, int, str | None]] = []
    names: dict[str, None] = {}
    groups: dict[str, str | None] = {}
    for one in samples:
        sample, epoch = str(one.get("id")), int(one.get("epoch") or 1)
        if sample not in groups:
            groups[sample] = log.asked(sample, _text(one.get("input")), one.get("metadata"), cluster)
        group = groups[sample]
        scores = one.get("scores") or {}
        if one.get("error") and not scores:
            errored.append((sample, epoch, group))
            continue
        for scorer in scorers:
            score = scores.get(scorer)
            if isinstance(score, dict) and score.get("history"):
                log.note("edited-scores")
            for name, number, trouble in scores_of(scorer, score):
                if number is None:
                    log.skipped.add(name)
                    continue
                names[name] = None
                if trouble is None and one.get("limit"):
                    trouble = "limit"
                log.add(sample, epoch, name, number, group, trouble)
    log.judges = judges_of(about, samples)
    for sample, epoch, group in errored:  # an error has no score by any scorer
        for name in names or dict.fromkeys(scorers or ["score"]):
            log.add(sample, epoch, name, math.nan, group, "error")
    return log


def judges_of(about: Mapping[str, Any], samples: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the judge of each scorer that is one: by its options, its name, or the grading beside its scores."""
    roles = about.get("model_roles")
    grader = roles.get("grader") if isinstance(roles, dict) else None
    usual = str(grader.get("model") or "") if isinstance(grader, dict) else ""
    found: dict[str, str] = {}
    for one in about.get("scorers") or []:
        options = one.get("options") if isinstance(one, dict) else None
        name = str(one.get("name")) if isinstance(one, dict) else ""
        model = options.get("model") if isinstance(options, dict) else None
        if model or "model_graded" in name:
            found[name] = ", ".join(map(str, model)) if isinstance(model, list) else str(model or usual or "a model")
    for sample in samples:
        for name, score in (sample.get("scores") or {}).items():
            beside = score.get("metadata") if isinstance(score, dict) else None
            if name not in found and isinstance(beside, dict) and "grading" in beside:
                found[name] = str(beside.get("judge") or usual or "a model")
    return found


def scores_of(scorer: str, score: Any) -> Iterable[tuple[str, float | None, str | None]]:
    """Yield name, number and trouble of one score; no number means that it is not a score that can be compared.

    Examples
    --------
    >>> list(scores_of("exact", {"value": "N", "reason": "refusal"}))
    [('exact', 0.0, 'no answer')]
    """
    if not isinstance(score, dict) or "value" not in score:
        yield scorer, math.nan, "unscored"
        return
    value = score["value"]
    for name, number in numbers_in(scorer, value):
        if number is not None and math.isnan(number):
            yield name, number, "unscored"
        else:
            yield name, number, "no answer" if value == "N" else None


def _text(content: Any) -> str | None:
    """Return what was asked, without what changes from run to run, such as ids of messages."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [one.get("content") for one in content if isinstance(one, dict)]
        return "\n".join(one for one in texts if isinstance(one, str)) or None
    return None
