"""One row per pair of raters, one row per rater."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge.reliability import pairs
from ordbridge.reliability.flags import standing
from ordbridge.reliability.pairs import CommonItems, common_items
from ordbridge.reliability.ratings import Ratings
from ordbridge.results import Finding, found

MOST_NAMED = 5  # outlying raters who are findings of their own


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
            "participant_a": pa.array(names[common.a], pa.string()),
            "participant_b": pa.array(names[common.b], pa.string()),
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
    """Return one row per rater: leniency, consistency, mean κ and γ with the others, and why the rater is flagged."""
    place = standing(ratings, level)
    common = common_items(ratings, least=1)
    mean_kappa, mean_gamma = (_mean_by_rater(common, values) for values in _kappa_and_gamma(common, ratings, level))
    total = np.bincount(ratings.column, weights=ratings.points[ratings.code], minlength=len(ratings.raters))
    rows = []
    for j, name in enumerate(ratings.raters):
        n = int(ratings.per_rater[j])
        reasons = place.reasons(j)
        rows.append(
            {
                "participant": str(name),
                "n_items": n,
                "mean": None if ratings.scores is None else float(total[j] / n),
                "leniency": _number(place.leniency[j]),
                "consistency": _number(place.consistency[j]),
                **{f"leniency_{end}": _number(place.leniency_ends[k, j]) for k, end in enumerate(("low", "high"))},
                **{
                    f"consistency_{end}": _number(place.consistency_ends[k, j]) for k, end in enumerate(("low", "high"))
                },
                "mean_kappa": _number(mean_kappa[j]),
                "mean_gamma": _number(mean_gamma[j]),
                "leniency_p": _number(place.leniency_p[j]),
                "consistency_p": _number(place.consistency_p[j]),
                "flagged": bool(reasons),
                "reason": ", ".join(reasons),
            }
        )
    return rows


def _mean_by_rater(common: CommonItems, of_pair: np.ndarray) -> np.ndarray:
    """Return each rater's mean over all pairs with that rater, weighted by common items."""
    has = np.isfinite(of_pair)
    raters = np.concatenate([common.a[has], common.b[has]])
    weight = np.tile(common.size[has], 2).astype(float)
    total = np.bincount(raters, weights=weight * np.tile(of_pair[has], 2), minlength=common.n_raters)
    with np.errstate(invalid="ignore"):
        return total / np.bincount(raters, weights=weight, minlength=common.n_raters)


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def outlying(rows: Sequence[dict[str, Any]], subject: str) -> list[Finding]:
    """Return the outlying raters of a criterion as findings; of many, how many there are."""
    flagged = [row for row in rows if row["flagged"]]
    if len(flagged) > MOST_NAMED:
        return [found("many-outlying-raters", subject, n=len(flagged), of=len(rows))]
    return [
        found(
            f"rater-{reason}",
            subject,
            participant=row["participant"],
            points=None if row["leniency"] is None else abs(row["leniency"]),
            consistency=row["consistency"],
            n=row["n_items"],
        )
        for row in flagged
        for reason in row["reason"].split(", ")
    ]
