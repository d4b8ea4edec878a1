"""Ratings themselves: codes outside the scale, unused categories, floor and ceiling, no variation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ordbridge.reading.coded_ratings import MOST_CATEGORIES, RatedStudy
from ordbridge.results.finding import Finding, found

__all__ = ["scale_flaws"]

RARE = 0.05  # share of ratings up to which a value far from the others is a code or a slip
EDGE = 0.75  # share of a system's ratings in the lowest or highest category that is called floor or ceiling
ENOUGH = 20  # ratings of a system before floor and ceiling are looked for
MOST_SLIDER = 100.0
FEWEST_BESIDE = 3  # different ratings, beside which a single negative one is a code however often it was given
NINES = (99.0, 999.0, 9999.0, 99999.0)  # codes for no answer among values that were computed
LEGAL = 2.0  # times 100: so much may be a magnitude compared with a reference of 100, but not a code such as 999


def scale_flaws(study: RatedStudy) -> Iterator[Finding]:
    """Yield what is wrong with the values of ratings, criterion by criterion."""
    for criterion, chosen in study.criteria:
        values = study.rating[chosen]
        if not values.size:
            continue
        if np.ptp(values) == 0:
            yield found("no-variation", criterion, n=len(values), value=study.said(values[0]))
            continue
        outside = chosen & _outside(study, chosen)
        if outside.any():
            shown = ", ".join(f"{value:g}" for value in np.unique(study.rating[outside])[:5])
            low, high = _ends(study, chosen & ~outside)
            yield found(
                "outside-scale", criterion, n=int(outside.sum()), low=low, high=high, shown=shown,
                rows=study.rows_of(outside),
            )  # fmt: skip
        inside = chosen & ~outside
        yield from _beyond(study, inside, criterion)
        yield from _between(study, inside, criterion)
        yield from _unused(study, inside, criterion)
        yield from _many(study, inside, criterion)
        yield from _edges(study, inside, criterion)
    yield from _different_scales(study)


def _ends(study: RatedStudy, chosen: np.ndarray) -> tuple[float, float]:
    if study.scale is not None:
        return study.scale
    values = study.rating[chosen]
    return float(values.min()) + 0.0, float(values.max()) + 0.0  # never -0


def _outside(study: RatedStudy, chosen: np.ndarray) -> np.ndarray:
    """Return which ratings are codes such as 99 or −1, or slips such as 44: rare, and far from all others."""
    values = study.rating
    if study.scale is not None:
        return (values < study.scale[0]) | (values > study.scale[1])
    if study.levels is not None:
        return np.zeros(len(values), dtype=bool)
    unique, counts = np.unique(values[chosen], return_counts=True)
    whole = bool((unique == np.round(unique)).all())
    if (
        whole and FEWEST_BESIDE < len(unique) <= MOST_CATEGORIES and unique[0] < 0 < unique[1]
    ):  # one negative, no 0: −1 beside 1 to 5
        return values == unique[0]
    share = np.cumsum(counts) / counts.sum()
    low, high = unique[np.searchsorted(share, RARE)], unique[np.searchsorted(share, 1 - RARE)]
    if low >= 0 and len(unique) > MOST_CATEGORIES + 3:  # a slider
        # most sliders end at 1, 10 or 100
        top = next((end for end in (1.0, 10.0, MOST_SLIDER) if high <= end), float("inf"))
        return (values < 0) | (values > (LEGAL * top if top == MOST_SLIDER else top))
    if unique[0] == -unique[-1] < -1 and whole and len(unique) > 2 * unique[-1]:
        return np.zeros(len(values), dtype=bool)  # from −2 to 2, each of which was given
    span = max(high - low, 1.0)
    computed = unique[-1] <= 0 or (unique != np.round(unique)).mean() > 0.5  # penalties, means, z-scores
    if computed and len(unique) > MOST_CATEGORIES + 3:
        return np.isin(np.abs(values), NINES) & ((values < low - span) | (values > high + span))
    below = values < (0.0 if low >= 0 else low - span)
    above = values >= high + max(span, 3.0)
    rare = (
        counts[unique >= high + max(span, 3.0)].sum() + counts[unique < (0.0 if low >= 0 else low - span)].sum()
    ) / counts.sum()
    return (below | above) if rare <= RARE else np.zeros(len(values), dtype=bool)


def _beyond(study: RatedStudy, chosen: np.ndarray, criterion: str | None) -> Iterator[Finding]:
    """Find few ratings above 100 beside many up to 100: legal magnitudes, or slips on a slider."""
    if study.scale is not None or study.levels is not None:
        return
    above = chosen & (study.rating > MOST_SLIDER)
    many = len(np.unique(study.rating[chosen])) > MOST_CATEGORIES + 3
    if many and study.rating[chosen].min() >= 0 and 0 < above.sum() <= RARE * chosen.sum():
        shown = ", ".join(f"{value:g}" for value in np.unique(study.rating[above])[:5])
        yield found("beyond-scale", criterion, n=int(above.sum()), shown=shown, rows=study.rows_of(above))


def _between(study: RatedStudy, chosen: np.ndarray, criterion: str | None) -> Iterator[Finding]:
    """Find ratings between the categories, such as 3.5 among whole numbers."""
    if study.levels is not None:
        return
    values = study.rating[chosen]
    whole = values == np.floor(values)
    if 1 - RARE <= whole.mean() < 1 and len(np.unique(values[whole])) <= MOST_CATEGORIES:
        odd = chosen & (study.rating != np.floor(study.rating))
        shown = ", ".join(f"{value:g}" for value in np.unique(study.rating[odd])[:5])
        yield found("fractional-ratings", criterion, n=int(odd.sum()), shown=shown, rows=study.rows_of(odd))


def _unused(study: RatedStudy, chosen: np.ndarray, criterion: str | None) -> Iterator[Finding]:
    """Find categories that nobody chose: between those used, of a given scale, or known from other criteria."""
    if not study.is_categorical(chosen):
        return
    used = set(np.unique(study.rating[chosen]).tolist())
    if study.levels is not None:
        expected = range(len(study.levels))
    else:
        everywhere = study.rating[study.rating == np.floor(study.rating)]
        low, high = study.scale or (min(used), max(used))
        if study.scale is None and len(study.criteria) > 1 and np.unique(everywhere).size <= MOST_CATEGORIES:
            low, high = min(low, everywhere.min()), max(high, everywhere.max())
        if high - low > MOST_CATEGORIES:
            return
        expected = range(int(np.ceil(low)), int(high) + 1)
    missing = [value for value in expected if float(value) not in used]
    if missing and len(missing) < len(used) + 2:
        shown = ", ".join(study.said(value) for value in missing)
        yield found("unused-categories", criterion, shown=shown)


def _many(study: RatedStudy, chosen: np.ndarray, criterion: str | None) -> Iterator[Finding]:
    different = len(np.unique(study.rating[chosen]))
    if study.levels is None and different > MOST_CATEGORIES + 3:
        yield found("slider", criterion, n=different)


def _edges(study: RatedStudy, chosen: np.ndarray, criterion: str | None) -> Iterator[Finding]:
    """Find systems whose ratings nearly all lie at one end of the scale."""
    if not study.is_categorical(chosen):
        return
    low, high = study.rating[chosen].min(), study.rating[chosen].max()
    border = EDGE if high - low > 1 else 0.9
    systems = study.names.get("system")
    groups: list[tuple[str | None, np.ndarray]] = [(None, chosen)]
    if systems is not None:
        groups = [(label, chosen & (systems.code == number)) for number, label in enumerate(systems.labels)]
    for problem, end in (("floor", low), ("ceiling", high)):
        crowded = [
            (label, mine, share)
            for label, mine in groups
            if mine.sum() >= ENOUGH and (share := float((study.rating[mine] == end).mean())) >= border
        ]
        if crowded:
            who = "; ".join(
                f"{share:.0%}{f' of {label}' if label is not None else ''}" for label, _, share in crowded[:4]
            )
            yield found(problem, criterion, value=study.said(end), shown=who)


def _different_scales(study: RatedStudy) -> Iterator[Finding]:
    """Find criteria whose ratings cannot be on one scale, such as 1 to 5 and 0 to 100."""
    if len(study.criteria) < 2 or study.levels is not None:
        return
    tops = {
        str(name): float(np.quantile(study.rating[chosen], 0.95)) for name, chosen in study.criteria if chosen.any()
    }
    lowest, highest = min(tops, key=lambda n: tops[n]), max(tops, key=lambda n: tops[n])
    if tops[lowest] <= MOST_CATEGORIES and tops[highest] > 2 * MOST_CATEGORIES:
        yield found("different-scales", lowest=lowest, low=tops[lowest], highest=highest, high=tops[highest])
