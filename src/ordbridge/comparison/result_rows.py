"""The tables of a comparison, row by row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge.comparison.analysis import Analysis
from ordbridge.comparison.family import Corrected
from ordbridge.comparison.scale import Scale
from ordbridge.support.columns import columns
from ordbridge.support.letters import letters
from ordbridge.support.ranks import best_probabilities, clusters, rank_intervals, ranking_stability

TEXT, NUMBER, YES = pa.string(), pa.float64(), pa.bool_()
KINDS: dict[str, dict[str, pa.DataType]] = {
    "ranking": columns(
        "criterion: text; rank: count; system: text; estimate std_error conf_low conf_high: number; "
        "letters: text; rank_low rank_high cluster: count; best_probability: number; n: count; mean: number; "
        "always: text"
    ),
    "stability": columns("criterion: text; pairs_that_differ: count; stable_ranking same_order same_best: number"),
    "pairs": columns(
        "criterion system_a system_b: text; "
        "difference conf_low conf_high std_error df p_value p_adjusted: number; "
        "superiority superiority_low superiority_high: number; "
        "test: text; latent_difference latent_p_value: number; latent_agrees: truth; raw_difference: number"
    ),
    "criteria_together": columns(
        "criterion_a criterion_b: text; systems: count; correlation conf_low conf_high: number"
    ),
    "shares": columns("criterion system category: text; n: count; share: number"),
    "design": columns(
        "criterion: text; ratings participants items systems texts: count; "
        "ratings_per_text ratings_per_participant: number; kind scale: text; scale_low scale_high: number; "
        "scale_high_label: text; only_participants only_items: count"
    ),
    "models": columns(
        "criterion estimand model formula why engine test: text; draws: count; converged singular: truth; "
        "seconds: number"
    ),
}  # fmt: skip


def tables(rows: Mapping[str, list[dict[str, Any]]]) -> dict[str, pa.Table]:
    """Return the rows as Arrow tables."""
    return {name: pa.Table.from_pylist(rows[name], schema=pa.schema(kinds)) for name, kinds in KINDS.items()}


def ranking_rows(answer: Analysis, corrected: Corrected, alpha: float, reference: str | None) -> list[dict[str, Any]]:
    """Return the systems, the one with the highest expected rating first."""
    ranked = [answer.systems[k] for k in answer.order]
    better = [(answer.systems[i], answer.systems[j]) for i, j in _better(answer, corrected, alpha)]
    shown = letters(ranked, [frozenset(pair) for pair in better]) if reference is None else {}
    places = rank_intervals(ranked, better) if reference is None else {}
    groups = clusters(ranked, better) if reference is None else []
    group = {system: number for number, members in enumerate(groups, 1) for system in members}
    sign = -1.0 if answer.lower_is_better else 1.0
    best = best_probabilities(sign * answer.mean, answer.covariance, float(np.nanmin(answer.differences.df)))
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
            "rank_low": places.get(answer.systems[k], (None, None))[0],
            "rank_high": places.get(answer.systems[k], (None, None))[1],
            "cluster": group.get(answer.systems[k]),
            "best_probability": None if best is None else float(best[k]),
            "n": int((systems == answer.systems[k]).sum()),
            "mean": float(numbers[systems == answer.systems[k]].mean()),
            "always": _always(answer.scale, numbers[systems == answer.systems[k]]),
        }
        for place, k in enumerate(answer.order)
    ]


def _better(answer: Analysis, corrected: Corrected, alpha: float) -> list[tuple[int, int]]:
    """Return the places of systems of which the first is significantly better."""
    found = answer.differences
    return [
        (i, j) if (d > 0) != answer.lower_is_better else (j, i)
        for (i, j), d, p in zip(found.pairs, found.estimate, corrected.p_value, strict=True)
        if p < alpha
    ]


def stability_rows(answer: Analysis, corrected: Corrected, alpha: float) -> list[dict[str, Any]]:
    """Return how probably a repetition of the study finds the same; nothing where errors are not known."""
    better = _better(answer, corrected, alpha)
    sign = -1.0 if answer.lower_is_better else 1.0
    found = ranking_stability(sign * answer.mean, answer.covariance, float(np.nanmin(answer.differences.df)), better)
    if found is None:
        return []
    return [{"criterion": answer.criterion, "pairs_that_differ": len(better), **asdict(found)}]


def _always(scale: Scale, ratings: np.ndarray) -> str | None:
    """Return the rating that a system always has, None if it has several."""
    if np.ptp(ratings) > 0:
        return None
    return dict(zip(scale.scores, scale.labels, strict=False)).get(float(ratings[0]), f"{ratings[0]:g}")


def pair_rows(
    answer: Analysis, corrected: Corrected, latent_different: np.ndarray, alpha: float
) -> list[dict[str, Any]]:
    """Return the pairs with intervals at the levels of the correction.

    ``latent_different`` tells which pairs the ordinal model's own test calls different, after the same correction.
    """
    found = answer.differences
    low, high = found.limits(corrected.alpha)
    if answer.estimand == "points":  # no interval leaves the scale
        widest = answer.scale.ends[1] - answer.scale.ends[0]
        low, high = np.maximum(low, -widest), np.minimum(high, widest)
    numbers, systems = _ratings(answer), np.array(answer.ratings["system"].to_pylist(), dtype=object).astype(str)
    plain = [float(numbers[systems == name].mean()) for name in answer.systems]
    spread = np.sqrt([answer.spread[i] + answer.spread[j] for i, j in found.pairs])
    latent = answer.latent
    return [
        {
            "criterion": answer.criterion,
            "system_a": answer.systems[i],
            "system_b": answer.systems[j],
            "difference": float(found.estimate[k]),
            "conf_low": _known(low[k]),
            "conf_high": _known(high[k]),
            "std_error": _known(found.error[k]),
            "df": _known(found.df[k]),
            "p_value": _known(found.p_value[k]),
            "p_adjusted": _known(corrected.p_value[k]) if np.isfinite(found.p_value[k]) else None,
            "superiority": superiority(found.estimate[k], spread[k]),
            "superiority_low": superiority(low[k], spread[k]),
            "superiority_high": superiority(high[k], spread[k]),
            "test": found.tests[k],
            "latent_difference": None if latent is None else _known(latent.difference[k]),
            "latent_p_value": None if latent is None else _known(latent.p_value[k]),
            "latent_agrees": None
            if latent is None or answer.estimand == "latent"
            else _agrees(
                found.estimate[k], corrected.p_value[k] < alpha, latent.difference[k], bool(latent_different[k])
            ),
            "raw_difference": plain[i] - plain[j],
        }
        for k, (i, j) in enumerate(found.pairs)
    ]


def turned(row: dict[str, Any]) -> dict[str, Any]:
    """Return a pair seen from the other system, so that the better one comes first where less is better.

    Examples
    --------
    >>> row = dict.fromkeys(KINDS["pairs"]) | {"system_a": "A", "system_b": "B", "difference": 2.0, "conf_low": 1.0}
    >>> [turned(row)[name] for name in ("system_a", "difference", "conf_low", "conf_high")]
    ['B', -2.0, None, -1.0]
    """

    def minus(value: float | None) -> float | None:
        return None if value is None else -value

    def other(value: float | None) -> float | None:
        return None if value is None else 1.0 - value

    return row | {
        "system_a": row["system_b"],
        "system_b": row["system_a"],
        "difference": minus(row["difference"]),
        "conf_low": minus(row["conf_high"]),
        "conf_high": minus(row["conf_low"]),
        "superiority": other(row["superiority"]),
        "superiority_low": other(row["superiority_high"]),
        "superiority_high": other(row["superiority_low"]),
        "latent_difference": minus(row["latent_difference"]),
        "raw_difference": minus(row["raw_difference"]),
    }


def _agrees(difference: float, differs: bool, latent: float, latent_differs: bool) -> bool:
    """Tell whether both scales say the same: both different in the same direction, or neither."""
    return bool(differs == latent_differs and (not differs or np.sign(difference) == np.sign(latent)))


def superiority(difference: float, spread: float) -> float | None:
    """Return a difference as the probability that a text of the first system is above one of the second.

    Φ(d/√(v₁ + v₂)), with v the variances of single ratings: so it is ½ exactly where the difference is 0, and its
    interval says what that of the difference says.

    References
    ----------
    McGraw, K. O. & Wong, S. P. (1992). A common language effect size statistic. Psychological Bulletin 111, 361–365.

    Examples
    --------
    >>> round(superiority(0.5, 1.0), 4), superiority(1.0, 0.0)
    (0.6915, 1.0)
    """
    from scipy import stats

    if not np.isfinite(difference):
        return None
    if spread == 0:
        return 0.5 if difference == 0 else float(difference > 0)
    return float(stats.norm.cdf(difference / spread))


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
        "only_participants": answer.about.get("participant"),
        "only_items": answer.about.get("item"),
    }


def model_rows(answer: Analysis) -> list[dict[str, Any]]:
    """Return which models were fitted: of the estimand, and the ordinal one beside differences in points."""
    fits = [(answer.estimand, answer.model, answer.formula, answer.fit, tests_of(answer))]
    if answer.estimand == "points" and answer.latent is not None:
        fit = answer.latent.fit
        fits.append(("latent", fit.problem.model, str(fit.problem.formula), fit, "wald"))
    return [
        {
            "criterion": answer.criterion,
            "estimand": estimand,
            "model": model,
            "formula": formula,
            "why": answer.scale.why,
            "engine": None if fit is None else fit.engine,
            "test": test,
            "draws": answer.draws if estimand == answer.estimand else None,
            "converged": None if fit is None else fit.converged,
            "singular": None if fit is None else fit.singular,
            "seconds": None if fit is None else fit.seconds,
        }
        for estimand, model, formula, fit, test in fits
    ]


def tests_of(answer: Analysis) -> str:
    """Return the tests of the pairs: one name, or several with commas."""
    return ", ".join(dict.fromkeys(test for test in answer.differences.tests if test != "none"))


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
