"""What every coefficient of reliability returns."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Coefficient"]


@dataclass(frozen=True)
class Coefficient:
    """One coefficient on one set of ratings, with all that a paper has to say about it.

    Attributes
    ----------
    value
        The coefficient.
    low, high
        Percentile interval from resampling items; ``None`` where too few resamples had a value (see ``note``).
    name, definition
        What it is called, and exactly which variant was computed.
    n_items, n_raters, n_pairs
        Items that entered, raters, and pairs of raters: those averaged over, or those that share items.
    n_missing
        Empty cells of the items × raters table.
    confidence, draws, degenerate
        Level of the interval, number of resamples, and how many of them had no value (they are left out).
    statistic, df, p_value
        Test against "no association", for the coefficients that come with one.
    note
        What to know about this value; empty when there is nothing.
    """

    value: float
    low: float | None
    high: float | None
    name: str
    definition: str
    n_items: int
    n_raters: int
    n_pairs: int
    n_missing: int
    confidence: float = 0.95
    draws: int = 0
    degenerate: int = 0
    statistic: float | None = None
    df: float | None = None
    p_value: float | None = None
    note: str = ""
