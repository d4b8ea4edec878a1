"""One row per pair of raters, one row per rater, one row per rater and category."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge.reliability import pairs
from ordbridge.reliability.flags import standing
from ordbridge.reliability.pairs import CommonItems, common_items
from ordbridge.reliability.ratings import Ratings

__all__ = ["MANY_CATEGORIES", "describe_pairs", "describe_raters", "use_of_categories"]

MANY_CATEGORIES = 20


def describe_pairs(ratings: Ratings, level: str) -> pa.Table:
    """Return one row per pair of raters with common items: how many, κ and γ side by side."""
    common = common_items(ratings, least=1)
    kappa, gamma = _kappa_and_gamma(common, ratings, level)
    names = np.array([str(rater) for rater in ratings.raters], dtype=object)
    missing = [
        " and no ".join(name for name, lost in (("κ", k), ("γ", g)) if lost)
        for k, g in zip(np.isnan(kappa), np.isnan(gamma) & (level != "nominal"), strict=True)
    ]
    return pa.table(
        {
            "rater_a": pa.array(names[common.a], pa.string()),
            "rater_b": pa.array(names[common.b], pa.string()),
            "n_common": pa.array(common.size, pa.int64()),
            "kappa": pa.array(kappa, pa.float64(), from_pandas=True),
            "gamma": pa.array(gamma, pa.float64(), from_pandas=True),
            "note": pa.array([f"no {what}: too little variation" if what else "" for what in missing], pa.string()),
        }
    )


def _kappa_and_gamma(common: CommonItems, ratings: Ratings, level: str) -> tuple[np.ndarray, np.ndarray]:
    kappa = pairs.kappa(common, None)[0]
    return kappa, np.full(len(kappa), np.nan) if level == "nominal" else pairs.gamma(common)


def describe_raters(ratings: Ratings, level: str) -> list[dict[str, Any]]:
    """Return one row per rater: severity, consistency, mean κ and γ with the others, and whether he stands apart."""
    found = standing(ratings, level)
    common = common_items(ratings, least=1)
    mean_kappa, mean_gamma = (_mean_by_rater(common, values) for values in _kappa_and_gamma(common, ratings, level))
    total = np.bincount(ratings.column, weights=ratings.points[ratings.code], minlength=len(ratings.raters))
    rows = []
    for j, name in enumerate(ratings.raters):
        n = int(ratings.per_rater[j])
        reason = found.reason(j, n)
        rows.append(
            {
                "rater": str(name),
                "n_items": n,
                "mean": None if ratings.scores is None else float(total[j] / n),
                "severity": _number(found.severity[j]),
                "consistency": _number(found.consistency[j]),
                "mean_kappa": _number(mean_kappa[j]),
                "mean_gamma": _number(mean_gamma[j]),
                "severity_p": _number(found.severity_p[j]),
                "consistency_p": _number(found.consistency_p[j]),
                "flagged": bool(reason),
                "reason": reason,
            }
        )
    return rows


def _mean_by_rater(common: CommonItems, of_pair: np.ndarray) -> np.ndarray:
    """Return each rater's mean over the pairs that he is in, weighted by common items."""
    has = np.isfinite(of_pair)
    raters = np.concatenate([common.a[has], common.b[has]])
    weight = np.tile(common.size[has], 2).astype(float)
    total = np.bincount(raters, weights=weight * np.tile(of_pair[has], 2), minlength=common.n_raters)
    with np.errstate(invalid="ignore"):
        return total / np.bincount(raters, weights=weight, minlength=common.n_raters)


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def use_of_categories(ratings: Ratings) -> list[dict[str, Any]]:
    """Return one row per rater and category: how often it was used. Many values are put into ten equal steps."""
    codes, labels = ratings.code, [str(category) for category in ratings.categories]
    if len(labels) > MANY_CATEGORIES and ratings.scores is not None:
        edges = np.linspace(ratings.scores[0], ratings.scores[-1], 11)
        codes = np.clip(np.searchsorted(edges, ratings.scores, side="right") - 1, 0, 9)[codes]
        labels = [f"{low:g} to {high:g}" for low, high in pairwise(edges)]
    q = len(labels)
    counts = np.bincount(ratings.column * q + codes, minlength=len(ratings.raters) * q).reshape(-1, q)
    return [
        {"rater": str(name), "category": label, "count": int(count), "share": float(count / line.sum())}
        for name, line in zip(ratings.raters, counts, strict=True)
        for label, count in zip(labels, line, strict=True)
    ]
