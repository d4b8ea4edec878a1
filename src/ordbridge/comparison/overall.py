"""Several criteria together: how systems' effects agree across them, and one overall rating with stated weights."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge.comparison.analysis import Analysis
from ordbridge.comparison.scale import read_scale
from ordbridge.errors import InputError
from ordbridge.results.finding import Finding, found
from ordbridge.support.formatting import listed

OVERALL = "overall"
KEY = ("participant", "item", "system")
FEWEST = 3  # systems, for a correlation of their effects
FOR_INTERVAL = 4
ONE_SCALE = 0.6  # of the range of all criteria that each has, where they are on one scale


def weights_of(asked: str | Mapping[str, float] | Sequence[str], criteria: Sequence[str]) -> dict[str, float]:
    """Return the weight of each criterion, which add up to 1.

    Parameters
    ----------
    asked
        ``"equal"``, a mapping, or texts such as ``"fluency=2"``; criteria that are not named have no weight.
    criteria
        Those that there are.

    Examples
    --------
    >>> weights_of(["fluency=3", "coverage=1"], ["fluency", "coverage", "style"])
    {'fluency': 0.75, 'coverage': 0.25}
    """
    if asked == "equal" or list(asked) in ([], ["equal"]):
        return {name: 1 / len(criteria) for name in criteria}
    if isinstance(asked, str):
        asked = [asked]
    pairs = asked.items() if isinstance(asked, Mapping) else [one.rpartition("=")[::2] for one in asked]
    weights: dict[str, float] = {}
    for name, value in pairs:
        if name not in criteria:
            raise InputError(f"overall: there is no criterion {name!r}; there are {listed(list(criteria))}")
        try:
            weights[name] = float(value)
        except ValueError:
            raise InputError(f"overall: give {name!r} a number as its weight, not {value!r}") from None
    if min(weights.values()) < 0 or not 0 < sum(weights.values()) < np.inf:
        raise InputError("overall: weights are positive numbers, such as fluency=2 coverage=1")
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items() if weight > 0}


def overall_ratings(
    parts: Mapping[str, tuple[pa.Table, Sequence[str]]], weights: Mapping[str, float], lower: Collection[str]
) -> tuple[pa.Table, Finding]:
    """Return a table with the weighted mean of the criteria for each rater, item and system that has them all.

    Where scales differ, each criterion is divided by the standard deviation of its ratings. Criteria of which a lower
    rating is better count with the opposite sign. As raters' and items' effects on all criteria are in one number,
    its model knows how errors of the criteria go together.

    Parameters
    ----------
    parts
        The ratings of each criterion, with its labels.
    weights
        That add up to 1.
    lower
        Criteria of which a lower rating is better.
    """
    numbers, ends = {}, {}
    for name in weights:
        table, levels = parts[name]
        scale, response = read_scale(table["rating"], levels)
        ends[name] = (scale.scores[0], scale.scores[-1])
        values = response.cast(pa.string()) if isinstance(response, pa.DictionaryArray) else response
        numbers[name] = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
    known = np.array(list(ends.values()))
    widest = known[:, 1].max() - known[:, 0].min()
    alike = bool(((known[:, 1] - known[:, 0]) >= ONE_SCALE * widest).all()) and not any(
        name in lower for name in weights
    )
    means: dict[str, dict[tuple[Any, ...], float]] = {}
    for name, values in numbers.items():
        if not alike:
            values = values / (np.nanstd(values) or 1.0)
        seen: dict[tuple[Any, ...], list[float]] = {}
        for key, value in zip(_keys(parts[name][0]), values.tolist(), strict=True):
            if np.isfinite(value):
                seen.setdefault(key, []).append(-value if name in lower else value)
        means[name] = {key: float(np.mean(of)) for key, of in seen.items()}
    first = next(iter(weights))
    table = parts[first][0]
    places, rating, told = [], [], set()
    for place, key in enumerate(_keys(table)):
        if key not in told and all(key in one for one in means.values()):
            told.add(key)
            places.append(place)
            rating.append(sum(weight * means[name][key] for name, weight in weights.items()))
    if not places:
        raise InputError("overall: no text has ratings on all criteria by the same rater; leave overall out")
    kept = table.take(pa.array(places))
    kept = kept.set_column(kept.column_names.index("rating"), "rating", pa.array(rating))
    share = [f"{name} {weight:.0%}" for name, weight in weights.items()]
    unit = "points" if alike else "standard deviations of each criterion"
    return kept, found("overall-weights", weights=share, unit=unit, n=len(places))


def _keys(table: pa.Table) -> list[tuple[Any, ...]]:
    names = [name for name in KEY if name in table.column_names]
    return list(zip(*(table[name].to_pylist() for name in names), strict=True))


def criteria_rows(answers: Sequence[Analysis], conf_level: float) -> list[dict[str, Any]]:
    """Return how the systems' expected ratings correlate between criteria, with Fisher's interval.

    References
    ----------
    Fisher, R. A. (1915). Frequency distribution of the values of the correlation coefficient in samples from an
    indefinitely large population. Biometrika 10, 507–521.
    """
    from scipy import stats

    rows = []
    for a, b in combinations([one for one in answers if one.criterion not in (None, OVERALL)], 2):
        common = [name for name in a.systems if name in b.systems]
        x, y = (np.array([one.mean[one.systems.index(name)] for name in common]) for one in (a, b))
        if len(common) < FEWEST or np.ptp(x) == 0 or np.ptp(y) == 0:
            continue
        r = float(np.corrcoef(x, y)[0, 1])
        low = high = None
        if len(common) >= FOR_INTERVAL and abs(r) < 1:
            half = stats.norm.isf((1 - conf_level) / 2) / np.sqrt(len(common) - 3)
            low, high = (float(np.tanh(np.arctanh(r) + side * half)) for side in (-1, 1))
        rows.append({"criterion_a": a.criterion, "criterion_b": b.criterion, "systems": len(common), "correlation": r,
                     "conf_low": low, "conf_high": high})  # fmt: skip
    return rows
