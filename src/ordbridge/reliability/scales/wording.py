"""What a comparison of scales says, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from ordbridge.formats import listed
from ordbridge.reliability.reading import ALL_RATINGS

if TYPE_CHECKING:
    from ordbridge.reliability.scales.result import ScaleComparison

__all__ = ["difference_of", "headline", "sentences"]


def difference_of(a: dict[str, Any], b: dict[str, Any]) -> tuple[float, float, float] | None:
    """Return how far agreement on one scale is above that on another, and its interval, from their own intervals.

    It takes the ratings on both scales as independent; where the same people rated the same texts on both, the interval
    is too wide rather than too narrow. Agreement of different numbers of raters, or over different things, cannot be
    compared: W is larger for few raters.

    References
    ----------
    Zou, G. Y. (2007). Toward using confidence intervals to compare correlations. Psychological Methods 12, 399–413.

    Examples
    --------
    >>> row = {"over": "texts", "n_raters": 6}
    >>> a, b = {"kendall_w": 0.62, "conf_low": 0.55, "conf_high": 0.70}, {"kendall_w": 0.5, "conf_low": 0.4}
    >>> [round(number, 3) for number in difference_of(row | a, row | b | {"conf_high": 0.58})]
    [0.12, 0.014, 0.248]
    """
    if any(row[end] is None for row in (a, b) for end in ("kendall_w", "conf_low", "conf_high")):
        return None
    if (a["over"], a["n_raters"]) != (b["over"], b["n_raters"]):
        return None
    found = a["kendall_w"] - b["kendall_w"]
    down = math.hypot(a["kendall_w"] - a["conf_low"], b["conf_high"] - b["kendall_w"])
    up = math.hypot(a["conf_high"] - a["kendall_w"], b["kendall_w"] - b["conf_low"])
    return found, found - down, found + up


def headline(found: ScaleComparison) -> str:
    """Say on which scale raters agree more, by how much, and how sure that is."""
    if len(found.criteria) == 1:
        return _agreement(_rows(found, "reliability", found.criteria[0]))
    said = [criterion for criterion in found.criteria if _differs(_rows(found, "reliability", criterion))]
    n = len(found.criteria)
    if not said:
        return f"On none of {n} criteria can it be told on which scale raters agree more: {listed(found.scales)}."
    return f"Raters agree more on one scale than on another for {len(said)} of {n} criteria: {listed(said)}."


def sentences(found: ScaleComparison) -> list[str]:
    """Say what else sets the scales apart: the order of the systems, pairs told apart, repeated ratings, validity."""
    said = []
    for criterion in found.criteria:
        before = "" if criterion == ALL_RATINGS else f"{criterion}: "
        own = [_agreement(_rows(found, "reliability", criterion))] if before else []
        own += [
            f"The means of {row['n_systems']} systems on {row['scales']} correlate {row['estimate']:.2f}."
            for row in _rows(found, "interchangeability", criterion)
            if row["coefficient"] == "Pearson's r" and row["estimate"] is not None
        ]
        counted = [f"{row['significant']} of {row['of']} on {row['scale']}"
                   for row in _rows(found, "sensitivity", criterion)]  # fmt: skip
        own.append(f"Pairs of systems that are told apart: {listed(counted)}; counts of one experiment vary much.")
        own += [
            f"Ratings that were given twice on {row['scale']} correlate {row['estimate']:.2f}{_interval(row)}."
            for row in _rows(found, "stability", criterion)
            if row["estimate"] is not None
        ]
        own += [
            f"The means on {row['scale']} correlate {row['estimate']:.2f} with the outside measure "
            f"({row['n_systems']} systems)."
            for row in _rows(found, "validity", criterion)
            if row["estimate"] is not None
        ]
        said += [f"{before}{one}" for one in own]
    return said


def _agreement(rows: Sequence[dict[str, Any]]) -> str:
    known = sorted((row for row in rows if row["kendall_w"] is not None), key=lambda row: -row["kendall_w"])
    if not known:
        return f"How far raters agree on {listed([row['scale'] for row in rows])} cannot be said with these ratings."
    top, last = known[0], known[-1]
    if len(known) == 2 and (difference := difference_of(top, last)) is not None:
        size, low, high = (f"{number:.2f}".replace("-", "−") for number in difference)
        much = f"{top['kendall_w']:.2f} against {last['kendall_w']:.2f}, difference {size} ({low} to {high})"
        if difference[1] > 0:
            return f"Raters agree more on {top['scale']} than on {last['scale']}: {much}."
        return f"It cannot be told whether raters agree more on {top['scale']} than on {last['scale']}: {much}."
    each = [f"{row['kendall_w']:.2f}{_interval(row)} on {row['scale']}" for row in known]
    return f"Agreement of the raters, of which 1 is the most: {listed(each)}."


def _differs(rows: Sequence[dict[str, Any]]) -> bool:
    known = [row for row in rows if row["kendall_w"] is not None]
    found = [difference_of(a, b) for a, b in combinations(known, 2)]
    return any(one is not None and not one[1] <= 0 <= one[2] for one in found)


def _interval(row: dict[str, Any]) -> str:
    if row["conf_low"] is None or row["conf_high"] is None:
        return ""
    return f" ({row['conf_low']:.2f} to {row['conf_high']:.2f})".replace("-", "−")


def _rows(found: ScaleComparison, table: str, criterion: str) -> list[dict[str, Any]]:
    return [row for row in getattr(found, table).to_pylist() if row["criterion"] == criterion]
