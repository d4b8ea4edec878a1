"""The tables of a comparison, row by row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge.comparison.analysis import Analysis
from ordbridge.comparison.family import Corrected
from ordbridge.comparison.letters import letters
from ordbridge.errors import FitError

__all__ = ["analysis_rows", "design_row", "model_row", "pair_rows", "ranking_rows", "share_rows", "tables"]

TEXT, NUMBER, COUNT, YES = pa.string(), pa.float64(), pa.int64(), pa.bool_()
KINDS: dict[str, dict[str, pa.DataType]] = {
    "ranking": {
        "criterion": TEXT, "rank": COUNT, "system": TEXT, "estimate": NUMBER, "std_error": NUMBER, "conf_low": NUMBER,
        "conf_high": NUMBER, "letters": TEXT, "n": COUNT, "mean": NUMBER,
    },
    "pairs": {
        "criterion": TEXT, "a": TEXT, "b": TEXT, "difference": NUMBER, "conf_low": NUMBER, "conf_high": NUMBER,
        "p_value": NUMBER, "adjusted": NUMBER, "superiority": NUMBER, "superiority_low": NUMBER,
        "superiority_high": NUMBER, "test": TEXT,
    },
    "shares": {"criterion": TEXT, "system": TEXT, "category": TEXT, "n": COUNT, "share": NUMBER},
    "design": {
        "criterion": TEXT, "ratings": COUNT, "participants": COUNT, "items": COUNT, "systems": COUNT, "texts": COUNT,
        "ratings_per_text": NUMBER, "ratings_per_participant": NUMBER, "kind": TEXT, "scale": TEXT,
        "scale_low": NUMBER, "scale_high": NUMBER, "scale_high_label": TEXT,
    },
    "models": {
        "criterion": TEXT, "model": TEXT, "formula": TEXT, "why": TEXT, "engine": TEXT, "test": TEXT, "draws": COUNT,
        "converged": YES, "singular": YES, "seconds": NUMBER,
    },
}  # fmt: skip


def tables(rows: Mapping[str, list[dict[str, Any]]]) -> dict[str, pa.Table]:
    """Return the rows as Arrow tables."""
    return {name: pa.Table.from_pylist(rows[name], schema=pa.schema(kinds)) for name, kinds in KINDS.items()}


def ranking_rows(answer: Analysis, corrected: Corrected, alpha: float, reference: str | None) -> list[dict[str, Any]]:
    """Return the systems, the one with the highest expected rating first."""
    ranked = [answer.systems[k] for k in answer.order]
    different = [
        frozenset((answer.systems[i], answer.systems[j]))
        for (i, j), p in zip(answer.differences.pairs, corrected.p_value, strict=True)
        if p < alpha
    ]
    shown = letters(ranked, different) if reference is None else {}
    numbers, systems = _ratings(answer), np.array(answer.ratings["system"].to_pylist(), dtype=object)
    return [
        {
            "criterion": answer.criterion,
            "rank": place + 1,
            "system": answer.systems[k],
            "estimate": float(answer.mean[k]),
            "std_error": _known(answer.mean_error[k]),
            "conf_low": _known(answer.mean_low[k]),
            "conf_high": _known(answer.mean_high[k]),
            "letters": shown.get(answer.systems[k]),
            "n": int((systems == answer.systems[k]).sum()),
            "mean": float(numbers[systems == answer.systems[k]].mean()),
        }
        for place, k in enumerate(answer.order)
    ]


def pair_rows(answer: Analysis, corrected: Corrected) -> list[dict[str, Any]]:
    """Return the pairs with intervals at the levels of the correction."""
    found = answer.differences
    half = found.half_width(corrected.alpha)
    low, high = _superiority_limits(answer, half)
    return [
        {
            "criterion": answer.criterion,
            "a": answer.systems[i],
            "b": answer.systems[j],
            "difference": float(found.estimate[k]),
            "conf_low": _known(found.estimate[k] - half[k]),
            "conf_high": _known(found.estimate[k] + half[k]),
            "p_value": _known(found.p_value[k]),
            "adjusted": _known(corrected.p_value[k]),
            "superiority": float(answer.superiority[k]),
            "superiority_low": _known(low[k]),
            "superiority_high": _known(high[k]),
            "test": answer.test,
        }
        for k, (i, j) in enumerate(found.pairs)
    ]


def _superiority_limits(answer: Analysis, half: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits of the probabilities, as many standard errors wide as those of the differences.

    Where these would leave ½ on another side than the difference has 0, the interval is as wide for the distance from
    ½ as that of the difference is for its distance from 0.
    """
    from scipy import stats

    chance, d = answer.superiority, answer.differences.estimate
    if not answer.fit.problem.ordinal:
        with np.errstate(divide="ignore", invalid="ignore"):
            unit = np.where(d != 0, stats.norm.ppf(chance) / d, 0.0)
        return stats.norm.cdf((d - half) * unit), stats.norm.cdf((d + half) * unit)
    with np.errstate(divide="ignore", invalid="ignore"):
        width = half / answer.differences.delta_error * answer.superiority_error
        like = np.abs(chance - 0.5) * half / np.abs(d)
    contradicts = (width < np.abs(chance - 0.5)) != (half < np.abs(d))
    width = np.where(contradicts | ~np.isfinite(width), like, width)
    return np.clip(chance - width, 0.0, 1.0), np.clip(chance + width, 0.0, 1.0)


def share_rows(answer: Analysis) -> list[dict[str, Any]]:
    """Return how often each system has each category; nothing for a slider."""
    if not answer.scale.ordinal:
        return []
    numbers, systems = _ratings(answer), np.array(answer.ratings["system"].to_pylist(), dtype=object)
    rows = []
    for k in answer.order:
        own = numbers[systems == answer.systems[k]]
        for label, score in zip(answer.scale.labels, answer.scale.scores, strict=True):
            n = int((own == score).sum())
            row = {"criterion": answer.criterion, "system": answer.systems[k], "category": label, "n": n}
            rows.append(row | {"share": n / len(own)})
    return rows


def design_row(answer: Analysis) -> dict[str, Any]:
    """Return who rated what, how often, on which scale."""
    table, scale = answer.ratings, answer.scale
    present = [name for name in ("participant", "item") if name in table.column_names]
    texts = _counts(table, ["item", "system"]) if "item" in present else []
    people = _counts(table, ["participant"]) if "participant" in present else []
    return {
        "criterion": answer.criterion,
        "ratings": table.num_rows,
        "participants": len(people) or None,
        "items": len(_counts(table, ["item"])) if "item" in present else None,
        "systems": len(answer.systems),
        "texts": len(texts) or None,
        "ratings_per_text": float(np.median(texts)) if texts else None,
        "ratings_per_participant": float(np.median(people)) if people else None,
        "kind": scale.kind,
        "scale": scale.in_words,
        "scale_low": scale.scores[0],
        "scale_high": scale.scores[-1],
        "scale_high_label": scale.labels[-1] if scale.labels else None,
    }


def model_row(answer: Analysis) -> dict[str, Any]:
    """Return which model was fitted, why, and by which test systems were compared."""
    fit = answer.fit
    return {
        "criterion": answer.criterion,
        "model": fit.problem.model,
        "formula": str(fit.problem.formula),
        "why": answer.scale.why,
        "engine": fit.engine,
        "test": answer.test,
        "draws": answer.draws,
        "converged": fit.converged,
        "singular": fit.singular,
        "seconds": fit.seconds,
    }


def analysis_rows(checks: pa.Table, failures: Mapping[str | None, Exception]) -> pa.Table:
    """Return what is wrong with the ratings, and below it with the analysis."""
    rows = [
        {
            "severity": "error",
            "problem": "no-answer" if isinstance(failure, FitError) else "not-usable",
            "what": f"{name}: {failure}" if name else str(failure),
            "rows": "",
            "count": 0,
            "remedy": "Give another model or formula, or leave this criterion out.",
        }
        for name, failure in failures.items()
    ]
    return pa.concat_tables([checks, pa.Table.from_pylist(rows, schema=checks.schema)])


def _ratings(answer: Analysis) -> np.ndarray:
    """Return the ratings as the numbers that they count as."""
    column = answer.ratings["rating"].combine_chunks()
    if isinstance(column, pa.DictionaryArray):
        column = column.cast(pa.string())
    numbers: np.ndarray = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return numbers


def _counts(table: pa.Table, columns: list[str]) -> list[int]:
    found: list[int] = table.select(columns).group_by(columns).aggregate([([], "count_all")])["count_all"].to_pylist()
    return found


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
