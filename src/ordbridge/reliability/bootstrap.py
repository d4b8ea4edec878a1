"""One formula for the estimate and for all resamples of items at once.

Items with the same row of ratings contribute the same amount to every coefficient here. So a coefficient is written
as a function of the distinct rows (``codes``, patterns × raters) and of how often each occurs (``counts``, one line
for the data and one for each resample). Drawing items with replacement is then one multinomial draw of counts, and
Flickr-8k's 5822 items are 20 patterns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ordbridge.errors import InputError
from ordbridge.reliability.ratings import GAP, Ratings
from ordbridge.reliability.records import Coefficient

__all__ = ["each_pair", "estimate", "margin", "mean_defined", "pairs_of_raters", "resample"]

Statistic = Callable[[np.ndarray, np.ndarray], np.ndarray]
PairStatistic = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]

CELLS_AT_ONCE = 4_000_000  # of the largest array that a statistic makes: 32 MB


def resample(codes: np.ndarray, draws: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows of ``codes`` and their counts: first in the data, then in each resample of the rows."""
    patterns, frequency = np.unique(codes, axis=0, return_counts=True)
    drawn = np.random.default_rng(seed).multinomial(len(codes), frequency / len(codes), size=draws)
    return patterns, np.vstack([frequency, drawn]).astype(float)


def estimate(
    ratings: Ratings,
    statistic: Statistic,
    *,
    name: str,
    definition: str,
    undefined: str,
    draws: int = 1000,
    seed: int = 1,
    confidence: float = 0.95,
    note: str = "",
    **test: Any,
) -> Coefficient:
    """Compute a coefficient and its percentile interval from resampled items.

    Parameters
    ----------
    ratings
        The items that enter.
    statistic
        ``statistic(codes, counts)`` with one value a line of ``counts``, or lines × pairs of raters, which are
        averaged over the pairs that have a value; NaN where there is none.
    name, definition
        For the record.
    undefined
        Why the coefficient has no value, if it has none.
    draws, seed, confidence
        Number of resamples, their seed, level of the interval.
    note, **test
        Further fields of the record.
    """
    if draws < 0 or int(draws) != draws:
        raise InputError(f"draws={draws!r} must be a whole number, 0 for no interval")
    if not 0 < confidence < 1:
        raise InputError(f"confidence={confidence!r} must lie between 0 and 1, as 0.95 does")
    patterns, counts = resample(ratings.codes, int(draws), seed)
    values, n_averaged = _values(statistic, patterns, counts)
    if not np.isfinite(values[0]):
        raise InputError(f"{name} has no value here: {undefined}")
    n_pairs = _pairs_with_common_items(ratings) if n_averaged is None else n_averaged
    all_pairs = len(ratings.raters) * (len(ratings.raters) - 1) // 2
    if n_averaged is not None and n_averaged < all_pairs:
        left_out = f"{all_pairs - n_averaged} of {all_pairs} pairs of raters have no common items or no variation"
        note = f"{note}; {left_out} and are left out" if note else f"{left_out} and are left out"
    record = Coefficient(
        value=float(values[0]),
        low=None,
        high=None,
        name=name,
        definition=definition,
        n_items=len(ratings.items),
        n_raters=len(ratings.raters),
        n_pairs=n_pairs,
        n_missing=ratings.n_missing,
        confidence=confidence,
        draws=int(draws),
        note=note,
        **test,
    )
    return _with_interval(record, values[1:])


def pairs_of_raters(codes: np.ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
    """Yield every pair of columns that share a row, with the rows that they share."""
    given = codes != GAP
    for a in range(codes.shape[1]):
        for b in range(a + 1, codes.shape[1]):
            common = given[:, a] & given[:, b]
            if common.any():
                yield a, b, common


def each_pair(statistic: PairStatistic) -> Statistic:
    """Turn a statistic of two raters, ``statistic(codes_a, codes_b, counts)``, into one of all pairs of raters."""

    def over_pairs(codes: np.ndarray, counts: np.ndarray) -> np.ndarray:
        columns = [
            statistic(codes[common, a], codes[common, b], counts[:, common]) for a, b, common in pairs_of_raters(codes)
        ]
        return np.column_stack(columns) if columns else np.full((len(counts), 1), np.nan)

    return over_pairs


def mean_defined(values: np.ndarray) -> np.ndarray:
    """Return the mean of each line over the columns that have a value, NaN where none has."""
    defined = np.isfinite(values)
    return np.where(defined, values, 0.0).sum(axis=1) / defined.sum(axis=1)


def margin(codes: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return lines × used categories: how often each category occurs, in the categories' order."""
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    return np.add.reduceat(counts[:, order], starts, axis=1)


def _values(statistic: Statistic, patterns: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, int | None]:
    """Return the value for each line of counts, in portions that fit in memory, and the number of pairs averaged."""
    portion = max(1, CELLS_AT_ONCE // patterns.size)
    values, n_averaged = [], None
    with np.errstate(divide="ignore", invalid="ignore"):
        for start in range(0, len(counts), portion):
            part = statistic(patterns, counts[start : start + portion])
            if part.ndim == 2:
                n_averaged = int(np.isfinite(part[0]).sum()) if start == 0 else n_averaged
                part = mean_defined(part)
            values.append(part)
    return np.concatenate(values), n_averaged


def _pairs_with_common_items(ratings: Ratings) -> int:
    given = (ratings.codes != GAP).astype(np.int32)
    return int(np.triu(given.T @ given > 0, k=1).sum())


def _with_interval(record: Coefficient, draws: np.ndarray) -> Coefficient:
    """Add the percentile interval, or the reason why there is none."""
    if not len(draws):
        return record
    defined = draws[np.isfinite(draws)]
    degenerate = len(draws) - len(defined)
    notes = [record.note] if record.note else []
    if degenerate:
        notes.append(f"{degenerate} of {len(draws)} resamples had no value and are left out of the interval")
    if 2 * degenerate > len(draws):
        notes[-1] = f"no interval: {degenerate} of {len(draws)} resamples of the items had no value"
        return replace(record, degenerate=degenerate, note="; ".join(notes))
    tail = (1 - record.confidence) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    return replace(record, low=float(low), high=float(high), degenerate=degenerate, note="; ".join(notes))
