"""Whether comparisons fit together: rankings in disguise, circles of systems, raters on the same pair."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy import stats

from ordbridge.preferences.fitting import fit_tied
from ordbridge.preferences.table import PairTable

__all__ = ["agreement", "circular_triads", "intransitivity", "looks_ranked"]

MOST_SYSTEMS = 10
FEWEST_TRIADS = 30


def intransitivity(table: PairTable, groups: tuple[str, ...], link: str = "logit") -> dict[str, Any] | None:
    """Test whether pairs of systems differ by more than the strengths of the two say.

    The likelihood ratio of a model with a coefficient for each pair against the one with a strength for each system;
    ``None`` where no circle of systems was compared, or more than ten systems.

    References
    ----------
    Kendall, M. G. & Babington Smith, B. (1940). On the method of paired comparisons. Biometrika 31, 324–345.
    """
    S = len(table.systems)
    low, high = np.minimum(table.first, table.second), np.maximum(table.first, table.second)
    code = low * S + high
    met = np.unique(code)
    df = len(met) - (S - 1)
    if S < 3 or S > MOST_SYSTEMS or df < 1:
        return None
    free = _outside_a_tree(met, S)
    place = np.full(S * S, -1, dtype=np.int64)
    place[free] = np.arange(len(free))
    points = {one: table.points[code == one] for one in free}
    if any(value.min() == value.max() != 0.5 for value in points.values()):
        return None  # a pair that one system always wins has no finite coefficient
    data = table.coded(groups, False, link)
    plain, full = fit_tied(data), fit_tied(replace(data, extra=place[code]))
    ratio = max(0.0, 2 * (full.loglik - plain.loglik))
    return {"statistic": ratio, "df": len(free), "p_value": float(stats.chi2.sf(ratio, len(free)))}


def _outside_a_tree(met: np.ndarray, systems: int) -> list[int]:
    """Return the pairs that are left when a tree connects all systems."""
    root = list(range(systems))

    def top(k: int) -> int:
        while root[k] != k:
            k = root[k]
        return k

    free = []
    for one in met:
        a, b = top(int(one) // systems), top(int(one) % systems)
        if a == b:
            free.append(int(one))
        else:
            root[a] = b
    return free


def circular_triads(table: PairTable) -> list[tuple[str, str, str]]:
    """Return triads in which a mostly beats b, b beats c, and c beats a, in direct comparisons."""
    got = table.points_matrix()
    beats = got > got.T
    found = []
    for a, b, c in combinations(range(len(table.systems)), 3):
        for x, y, z in ((a, b, c), (a, c, b)):
            if beats[x, y] and beats[y, z] and beats[z, x]:
                found.append((table.systems[x], table.systems[y], table.systems[z]))
    return found


def looks_ranked(table: PairTable) -> bool:
    """Tell whether pairs were made from rankings: raters compare all of three systems or more, and never in a circle.

    Independent answers about three systems of the same strength are circular once in four.
    """
    if table.in_sets:
        return True
    if table.rater is None or table.item is None or len(table.systems) < 3:
        return False
    triads = 0
    order = np.lexsort((table.item, table.rater))
    key = table.rater[order] * (int(table.item.max()) + 1) + table.item[order]
    sign = np.sign(table.points - 0.5)
    for rows in np.split(order, np.flatnonzero(np.diff(key)) + 1):
        if len(rows) < 3:
            continue
        said = {}
        for k in rows:
            a, b = int(table.first[k]), int(table.second[k])
            if (a, b) in said:
                return False  # asked twice: these are choices
            said[a, b], said[b, a] = sign[k], -sign[k]
        names = sorted({a for a, _ in said})
        for a, b, c in combinations(names, 3):
            if (a, b) in said and (b, c) in said and (a, c) in said:
                triads += 1
                one, two, three = said[a, b], said[b, c], said[a, c]
                # of a ranking: the third follows from the first two wherever these do not disagree
                if one * two >= 0 and three != np.sign(one + two):
                    return False
    return triads >= FEWEST_TRIADS


def agreement(table: PairTable) -> dict[str, Any] | None:
    """Return how often two raters gave the same answer about the same pair of the same item, and chance.

    Chance is ½ without ties, and (1 − t)²/2 + t² with a share t of ties; ``None`` where nobody saw the same pair.
    """
    if table.rater is None or table.item is None:
        return None
    S = len(table.systems)
    flip = table.first > table.second
    low, high = np.where(flip, table.second, table.first), np.where(flip, table.first, table.second)
    answer = np.sign(table.points - 0.5) * np.where(flip, -1, 1)
    cell = (table.item.astype(np.int64) * S + low) * S + high
    _, code = np.unique(cell, return_inverse=True)
    counts = np.column_stack([np.bincount(code, answer == one) for one in (-1, 0, 1)])
    n = counts.sum(axis=1)
    possible = float((n * (n - 1)).sum())
    if not possible:
        return None
    same = float((counts * (counts - 1)).sum()) / possible
    ties = float((counts[:, 1])[n > 1].sum() / n[n > 1].sum())
    chance = (1 - ties) ** 2 / 2 + ties**2
    return {"agreement": same, "chance": chance, "above_chance": (same - chance) / (1 - chance),
            "cells": int((n > 1).sum()), "pairs_of_answers": int(possible / 2)}  # fmt: skip
