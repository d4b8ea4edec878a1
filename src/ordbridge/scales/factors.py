"""What moves the ratings on a scale: analyses of variance, and tests of pairs of systems after them."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from ordbridge.errors import InputError
from ordbridge.models.inference.adjust import adjusted
from ordbridge.reliability.interpretation import stars
from ordbridge.scales.columns import OnScale

POSTHOC = {
    "tukey": "Tukey's HSD (Tukey–Kramer for unequal numbers)",
    "holm": "t tests with pooled variance, Holm's correction",
    "bonferroni": "t tests with pooled variance, Bonferroni's correction",
}


def factor_rows(name: str, scale: OnScale) -> list[dict[str, Any]]:
    """Return the F of a one-way analysis of variance for each factor, and F adjusted for the other factors."""
    from scipy.stats import f, f_oneway

    sides = {"system": scale.system, "rater": scale.participant, "text type": scale.text_type}
    factors = {factor: labels for factor, labels in sides.items() if labels is not None}
    rows = []
    for factor, labels in factors.items():
        groups = list(scale.by(labels).values())
        df2 = len(scale.rating) - len(groups)
        if len(groups) < 2 or df2 < 1:
            raise InputError(f"scale {name!r}: the {factor} needs at least two levels and more ratings than levels")
        if all(np.ptp(group) == 0 for group in groups):
            raise InputError(f"scale {name!r}: all ratings within each {factor} are equal, so there is no F")
        value, p = f_oneway(*groups)
        others = [side for other, side in factors.items() if other != factor]
        adjusted, df1, df_rest = _adjusted_f(scale.rating, labels, others)
        rows.append(
            {
                "scale": name,
                "factor": factor,
                "F": float(value),
                "stars": stars(p),
                "df1": len(groups) - 1,
                "df2": df2,
                "p_value": float(p),
                "F_partial": adjusted,
                "df2_partial": df_rest,
                "p_partial": None if adjusted is None else float(f.sf(adjusted, df1, df_rest)),
                "balanced": all(_balanced(labels, other) for other in others),
            }
        )
    return rows


def _adjusted_f(rating: np.ndarray, labels: np.ndarray, others: list[np.ndarray]) -> tuple[float | None, int, int]:
    """Return F of a factor beyond the others (type II), with both degrees of freedom.

    It compares the sums of squares that remain with and without the factor in an additive model, as R's
    ``anova(lm(y ~ others), lm(y ~ others + factor))`` does.
    """
    without, rank_without = _remaining(rating, others)
    whole, rank_whole = _remaining(rating, [*others, labels])
    df1, df2 = rank_whole - rank_without, len(rating) - rank_whole
    if df1 < 1 or df2 < 1 or whole <= 1e-12:
        return None, df1, df2
    return float((without - whole) / df1 / (whole / df2)), df1, df2


def _remaining(rating: np.ndarray, factors: list[np.ndarray]) -> tuple[float, int]:
    """Return the residual sum of squares of an additive model, and its rank."""
    centred = rating - rating.mean()
    if all(_balanced(one, other) for one, other in combinations(factors, 2)):  # then each takes its share on its own
        levels = [np.unique(labels, return_inverse=True)[1] for labels in factors]
        between = sum((np.bincount(at, centred) ** 2 / np.bincount(at)).sum() for at in levels)
        return float((centred**2).sum() - between), 1 + sum(int(at.max()) for at in levels)
    dummies = [(labels[:, None] == np.unique(labels)[None, 1:]).astype(float) for labels in factors]
    design = np.hstack([np.ones((len(rating), 1)), *dummies])
    fitted, _, rank, _ = np.linalg.lstsq(design.T @ design, design.T @ centred, rcond=1e-10)
    return float(((centred - design @ fitted) ** 2).sum()), int(rank)


def _balanced(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether every level of one factor meets every level of the other equally often."""
    table = np.zeros((len(np.unique(a)), len(np.unique(b))))
    np.add.at(table, (np.unique(a, return_inverse=True)[1], np.unique(b, return_inverse=True)[1]), 1)
    return bool((table == table[0, 0]).all())


def difference_rows(name: str, scale: OnScale, posthoc: str) -> list[dict[str, Any]]:
    """Return every pair of systems with the difference of their means and the post-hoc test's p-value."""
    groups = scale.by(scale.system)
    systems = list(groups)
    pairs = list(combinations(range(len(systems)), 2))
    p_values = _pairwise(list(groups.values()), pairs, posthoc)
    return [
        {
            "scale": name,
            "system_a": systems[i],
            "system_b": systems[j],
            "difference": float(groups[systems[i]].mean() - groups[systems[j]].mean()),
            "p_adjusted": float(p),
            "stars": stars(p),
        }
        for (i, j), p in zip(pairs, p_values, strict=True)
    ]


def _pairwise(groups: list[np.ndarray], pairs: list[tuple[int, int]], correction: str) -> np.ndarray:
    """Return corrected p-values of pairwise t tests whose variance is pooled over all systems."""
    df = sum(len(group) - 1 for group in groups)
    variance = sum(((group - group.mean()) ** 2).sum() for group in groups) / df
    errors = [np.sqrt(variance * (1 / len(groups[i]) + 1 / len(groups[j]))) for i, j in pairs]
    differences = [groups[i].mean() - groups[j].mean() for i, j in pairs]
    return adjusted(np.array(differences) / errors, np.full(len(pairs), df), correction, len(groups))


def sensitivity_row(
    name: str, factors: list[dict[str, Any]], differences: list[dict[str, Any]], alpha: float, posthoc: str
) -> dict[str, Any]:
    """Return how many pairs of systems differ significantly, after a significant analysis of variance."""
    anova = next(row for row in factors if row["scale"] == name and row["factor"] == "system")
    own = [row for row in differences if row["scale"] == name]
    protected = anova["p_value"] < alpha
    return {
        "scale": name,
        "significant": sum(row["p_adjusted"] < alpha for row in own) if protected else 0,
        "of": len(own),
        "alpha": alpha,
        "posthoc": POSTHOC[posthoc],
        "F": anova["F"],
        "p_value": anova["p_value"],
    }
