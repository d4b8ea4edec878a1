"""Participants who did not rate what they were shown: constant, alternating, too fast, reversed, copied answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ordbridge.reading.coded_ratings import RatedStudy
from ordbridge.results.finding import Finding
from ordbridge.results.finding import found as noticed

__all__ = ["people_flaws"]

FEWEST = 10  # ratings of a participant before a pattern is looked for
CHANCE = 1e-4  # how likely a pattern may be by chance, over all participants
CYCLES = 3  # times that a cycle of three or more ratings must come
FAST_RATIO, FAST_DISTANCE = 1 / 4, 4.0  # of the usual time; in robust standard deviations of its logarithm
PACE = (0.3, 0.6)  # least and most that people's pace is taken to differ, as that standard deviation
REVERSED = -0.5  # correlation with the others
SAME = 12  # texts that two participants rated in common before equal ratings are remarkable
MOST_PAIRS = 400  # participants; with more, pairs are not compared


def people_flaws(study: RatedStudy) -> Iterator[Finding]:
    """Yield participants whose answers do not look like ratings."""
    if "participant" not in study.names:
        return
    yield from _patterns(study)
    yield from _fast(study)
    yield from _reversed(study)
    yield from _twins(study)


def _own(study: RatedStudy) -> Iterator[tuple[int, np.ndarray]]:
    """Yield each participant with the positions of the ratings, in the order of the file."""
    code = study.names["participant"].code
    order = np.argsort(code, kind="stable")
    starts = np.searchsorted(code[order], np.arange(len(study.names["participant"].labels) + 1))
    for place in range(len(starts) - 1):
        yield place, order[starts[place] : starts[place + 1]]


def _patterns(study: RatedStudy) -> Iterator[Finding]:
    constant, alternating = [], []
    n_people = len(study.names["participant"].labels)
    for person, mine in _own(study):
        values = study.rating[mine]
        if len(values) < FEWEST:
            continue
        if np.ptp(values) == 0:
            others = np.delete(study.rating, mine)
            share = max(float((others == values[0]).mean()), 1e-3) if others.size else 1.0
            if share ** (len(values) / 2) < CHANCE:  # raters differ, so half as many ratings count
                constant.append(person)
        elif _alternates(study, mine) and n_people:
            alternating.append(person)
    yield from _flaw(study, constant, "constant-rater")
    yield from _flaw(study, alternating, "alternating-rater")


def _alternates(study: RatedStudy, mine: np.ndarray) -> bool:
    """Tell whether ratings go a, b, a, b, … or through a longer cycle, and not because systems or criteria do."""
    values = study.rating[mine]
    for period in range(2, 6):
        if len(values) < max(FEWEST, CYCLES * period) or len(np.unique(values[:period])) < 2:
            continue
        if (values[period:] == values[:-period]).all():
            return not any(
                _follows(names.code[mine], values)
                for role, names in study.names.items()
                if role in ("system", "criterion")
            )
    return False


def _follows(labels: np.ndarray, values: np.ndarray) -> bool:
    """Tell whether ratings depend on a label alone."""
    pairs = {(int(label), float(value)) for label, value in zip(labels, values, strict=True)}
    return len({label for label, _ in pairs}) == len(pairs)


def _fast(study: RatedStudy) -> Iterator[Finding]:
    if study.seconds is None:
        return
    usual = np.full(len(study.names["participant"].labels), np.nan)
    for person, mine in _own(study):
        times = study.seconds[mine]
        times = times[np.isfinite(times) & (times >= 0)]
        if len(times) >= 1:
            usual[person] = np.median(times)
    known = np.isfinite(usual)
    if known.sum() < 5:
        return
    logs = np.log(np.maximum(usual, 0.01))
    centre = np.median(logs[known])
    spread = float(np.clip(1.4826 * np.median(np.abs(logs[known] - centre)), *PACE))
    fast = known & (logs - centre < -FAST_DISTANCE * spread) & (usual < FAST_RATIO * np.exp(centre))
    yield from _flaw(study, np.flatnonzero(fast).tolist(), "fast-rater", seconds=float(np.exp(centre)))


def _reversed(study: RatedStudy) -> Iterator[Finding]:
    """Find participants whose ratings go against those of the others of the same texts."""
    if study.text is None:
        return
    found = []
    key = study.text
    if "criterion" in study.names:
        key = np.where(key < 0, -1, key * len(study.names["criterion"].labels) + study.names["criterion"].code)
    given = key >= 0
    _, code = np.unique(key[given], return_inverse=True)
    values = study.rating[given]
    total, number = np.bincount(code, weights=values), np.bincount(code)
    people = study.names["participant"].code[given]
    n_people = max(len(study.names["participant"].labels), 1)
    for person in range(n_people):
        mine = np.flatnonzero((people == person) & (number[code] > 1))
        if len(mine) < FEWEST:
            continue
        others = (total[code[mine]] - values[mine]) / (number[code[mine]] - 1)
        own = values[mine]
        if np.ptp(own) == 0 or np.ptp(others) == 0:
            continue
        r = float(np.corrcoef(own, others)[0, 1])
        t = r * np.sqrt((len(mine) - 2) / max(1 - r * r, 1e-12))
        if r < REVERSED and t < -4:
            found.append(person)
    yield from _flaw(study, found, "reversed-rater")


def _twins(study: RatedStudy) -> Iterator[Finding]:
    """Find two participants who gave all their common texts the same ratings, though ratings vary."""
    n = len(study.names["participant"].labels)
    if study.text is None or not 2 <= n <= MOST_PAIRS or not (study.text >= 0).any():
        return
    key = study.text
    if "criterion" in study.names:
        key = np.where(key < 0, -1, key * len(study.names["criterion"].labels) + study.names["criterion"].code)
    people, rated = study.names["participant"].code, (study.names["participant"].code >= 0) & (key >= 0)
    _, text = np.unique(key[rated], return_inverse=True)
    _, first = np.unique(people[rated] * (int(text.max(initial=0)) + 1) + text, return_index=True)
    person, text, rating = people[rated][first], text[first], study.rating[rated][first]
    _, value = np.unique(rating, return_inverse=True)
    _, answer = np.unique(text * (int(value.max(initial=0)) + 1) + value, return_inverse=True)
    common, equal = (_shared(person, what, n) for what in (text, answer))
    found: set[int] = set()
    for one, other in np.argwhere(np.tril((common >= SAME) & (common == equal), -1)).tolist():
        both = np.intersect1d(answer[person == one], answer[person == other])
        if len({*value[np.isin(answer, both)].tolist()}) > 2:
            found |= {one, other}
    yield from _flaw(study, sorted(found), "identical-raters")


def _shared(person: np.ndarray, what: np.ndarray, n: int) -> np.ndarray:
    """Return how many things each two of n participants have in common."""
    from scipy import sparse

    table = sparse.csr_array(
        (np.ones(len(person), dtype=np.int32), (person, what)), shape=(n, int(what.max(initial=0)) + 1)
    )
    return np.asarray((table @ table.T).toarray())


def _flaw(study: RatedStudy, people: list[int], code: str, **values: Any) -> Iterator[Finding]:
    if not people:
        return
    labels = study.names["participant"].labels
    shown = ", ".join(repr(labels[person]) for person in people[:4]) + (
        f" and {len(people) - 4} more" if len(people) > 4 else ""
    )
    rows = study.rows_of(np.isin(study.names["participant"].code, people))
    yield noticed(code, who=f"{'participants' if len(people) > 1 else 'participant'} {shown}", rows=rows, **values)
