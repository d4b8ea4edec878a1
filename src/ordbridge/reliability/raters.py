"""One row a pair of raters, one row a rater, one row a rater and category: where single raters stand apart."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, compress, pairwise
from typing import Any

import numpy as np

from ordbridge.reliability.agreement import kappa_of_pair
from ordbridge.reliability.bootstrap import pairs_of_raters
from ordbridge.reliability.correlation import gamma_of_pair
from ordbridge.reliability.ratings import GAP, Ratings

__all__ = ["MANY_CATEGORIES", "describe_pairs", "describe_raters", "use_of_categories"]

LOW_CORRELATION = 0.3  # no more than "small" by Rosenthal
FAR_BELOW_OTHERS = 0.2
MANY_CATEGORIES = 20


def describe_pairs(ratings: Ratings, level: str) -> list[dict[str, Any]]:
    """Return one row a pair of raters: κ and γ side by side, with the number of common items."""
    shared = {(a, b): common for a, b, common in pairs_of_raters(ratings.codes)}
    rows = []
    for a, b in combinations(range(len(ratings.raters)), 2):
        names = {"rater_a": str(ratings.raters[a]), "rater_b": str(ratings.raters[b])}
        if (a, b) in shared:
            common = shared[a, b]
            row = _kappa_and_gamma(ratings.codes[common, a], ratings.codes[common, b], len(ratings.categories), level)
        else:
            row = {"n_common": 0, "kappa": None, "gamma": None, "note": "no common items"}
        rows.append(names | row)
    return rows


def _kappa_and_gamma(a: np.ndarray, b: np.ndarray, n_categories: int, level: str) -> dict[str, Any]:
    once = np.ones((1, len(a)))
    with np.errstate(divide="ignore", invalid="ignore"):
        kappa = _defined(kappa_of_pair(a, b, once, np.eye(n_categories)))
        gamma = None if level == "nominal" else _defined(gamma_of_pair(a, b, once))
    undefined = (["κ"] if kappa is None else []) + (["γ"] if gamma is None and level != "nominal" else [])
    note = f"no {' and no '.join(undefined)}: too little variation" if undefined else ""
    return {"n_common": len(a), "kappa": kappa, "gamma": gamma, "note": note}


def _defined(values: np.ndarray) -> float | None:
    return float(values[0]) if np.isfinite(values[0]) else None


def describe_raters(ratings: Ratings, pairs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one row a rater: mean κ and γ with the others, flagged when the rater stands apart."""
    rows: list[dict[str, Any]] = []
    measure = "gamma" if any(pair["gamma"] is not None for pair in pairs) else "kappa"
    for column, label in enumerate(ratings.raters):
        name = str(label)
        involved = [name in (pair["rater_a"], pair["rater_b"]) for pair in pairs]
        own = list(compress(pairs, involved))
        others = _mean(pair[measure] for pair, mine in zip(pairs, involved, strict=True) if not mine)
        reason = _stands_apart(_mean(pair[measure] for pair in own), others, measure)
        given = ratings.codes[:, column] != GAP
        rows.append(
            {
                "rater": name,
                "n_items": int(given.sum()),
                "mean": None if ratings.scores is None else float(ratings.scores[ratings.codes[given, column]].mean()),
                "mean_kappa": _mean(pair["kappa"] for pair in own),
                "mean_gamma": _mean(pair["gamma"] for pair in own),
                "flagged": bool(reason),
                "reason": reason,
            }
        )
    return rows


def _stands_apart(own: float | None, others: float | None, measure: str) -> str:
    symbol = "γ" if measure == "gamma" else "κ"
    if own is None:
        return ""
    if own <= LOW_CORRELATION:
        return f"mean {symbol} with the others is {own:.2f}, no more than {LOW_CORRELATION}"
    if others is not None and own < others - FAR_BELOW_OTHERS:
        return f"mean {symbol} with the others is {own:.2f}, while it is {others:.2f} among the others"
    return ""


def _mean(values: Iterable[float | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return float(np.mean(defined)) if defined else None


def use_of_categories(ratings: Ratings) -> list[dict[str, Any]]:
    """Return one row a rater and category: how often it was used. Many values are put into ten equal steps."""
    codes, labels = ratings.codes, [str(category) for category in ratings.categories]
    if len(labels) > MANY_CATEGORIES and ratings.scores is not None:
        edges = np.linspace(ratings.scores[0], ratings.scores[-1], 11)
        step = np.clip(np.searchsorted(edges, ratings.scores, side="right") - 1, 0, 9)
        codes = np.where(codes == GAP, GAP, step[codes])
        labels = [f"{low:g} to {high:g}" for low, high in pairwise(edges)]
    rows = []
    for column, name in enumerate(ratings.raters):
        counts = np.bincount(codes[codes[:, column] != GAP, column], minlength=len(labels))
        for label, count in zip(labels, counts, strict=True):
            share = float(count / counts.sum())
            rows.append({"rater": str(name), "category": label, "count": int(count), "share": share})
    return rows
