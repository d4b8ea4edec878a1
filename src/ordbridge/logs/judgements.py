"""Judgements of MT-bench (points for each answer) and AlpacaEval (preferences over a reference)."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from ordbridge.errors import InputError
from ordbridge.logs.record import EvalLog, as_number
from ordbridge.reading.source import text_of

__all__ = ["read_alpaca_eval", "read_mt_bench"]


def read_mt_bench(path: Path, cluster: str | None = None) -> list[EvalLog]:
    """Read single-answer judgements of MT-bench: each turn is a sample, and the turns of a question are a cluster.

    A score of −1 is a judgement that could not be read. Lines that say the same twice count once; other judgements of
    the same turn are epochs.
    """
    logs: dict[str, EvalLog] = {}
    seen: dict[tuple[str, str, str], list[float]] = {}
    for number, text in enumerate(text_of(path).split("\n"), 1):
        if not text.strip():
            continue
        try:
            line = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"line {number} of {path} is not JSON: {error}") from None
        judge = line.get("judge") or "judge"
        scorer = str(judge[0] if isinstance(judge, list) else judge)
        model = str(line.get("model"))
        log = logs.setdefault(model, EvalLog(str(path), "MT-bench", model, "MT-bench"))
        log.judges[scorer] = scorer
        question = str(line.get("question_id"))
        sample = f"{question}/{line['turn']}" if "turn" in line else question
        score = as_number(line.get("score"))
        if score is None:
            raise InputError(f"line {number} of {path} has the score {line.get('score')!r}, which is not a number")
        score = math.nan if score == -1 else score
        before = seen.setdefault((model, sample, scorer), [])
        if any(one == score or (one != one and score != score) for one in before):
            log.note("repeated-lines")
            continue
        before.append(score)
        group = question if cluster in (None, "question_id") else str(line.get(cluster))
        log.add(sample, len(before), scorer, score, group, "unscored" if score != score else None)
    return list(logs.values())


def read_alpaca_eval(path: Path, cluster: str | None = None) -> list[EvalLog]:
    """Read AlpacaEval's annotations: a score is how far the model was preferred to the reference, from 0 to 1.

    The reference is a model, too, with the rest of each preference; it is left out where several models are compared.
    """
    try:
        rows = json.loads(text_of(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON: {error}") from None
    logs: dict[str, EvalLog] = {}
    for row in rows:
        preference = as_number(row.get("preference"))
        if preference is None or not (preference != preference or preference == 0 or 1 <= preference <= 2):
            raise InputError(f"{path} has the preference {row.get('preference')!r}; AlpacaEval's are from 1 to 2")
        won = 0.5 if preference == 0 else preference - 1  # 0 is an old way to write a draw
        sample, group = str(row.get("instruction")), _group(row, cluster)
        judge = str(row.get("annotator") or "annotator")
        for place, share in (("generator_2", won), ("generator_1", 1 - won)):
            model = str(row.get(place))
            log = logs.setdefault(model, EvalLog(str(path), "AlpacaEval", model, "AlpacaEval"))
            log.judges[judge] = judge
            if place == "generator_1":
                log.status = "reference"
            log.percent.add(judge)
            log.add(sample, 1, judge, share, group, "unscored" if math.isnan(share) else None)
    return list(logs.values())


def _group(row: dict[str, Any], cluster: str | None) -> str | None:
    value = row.get(cluster) if cluster else None
    return None if value is None else str(value)
